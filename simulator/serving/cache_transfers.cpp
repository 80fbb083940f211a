#include "simulator/serving/cache_transfers.hpp"

#include <cmath>
#include <utility>

namespace sextant {
namespace {

std::vector<BytesPerSecond> bandwidths_of(std::span<FabricLink const> links) {
    std::vector<BytesPerSecond> out;
    for (FabricLink const& link : links)
        out.push_back(link.bandwidth);
    return out;
}

}  // namespace

CacheTransfers::CacheTransfers(NetworkMode sharing, std::span<FabricLink const> links, Carrier carrier)
    : sharing_(sharing), carrier_(carrier), links_(bandwidths_of(links)) {}

void CacheTransfers::send(Sent sent, EventQueue& events) {
    bool const alone = sharing_ == NetworkMode::ideal || sent.what.links.empty();
    if (!alone && carrier_ == Carrier::elsewhere) {
        CacheToCarry carried{.arrival = {},
                             .departs = sent.at + sent.what.latency,
                             .from = sent.from_place,
                             .to = sent.to_place,
                             .rate = sent.what.rate,
                             .bytes = sent.what.bytes};
        carried.arrival = events.plan_away(ServingEvent::Kind::transferred, transfers_.put(std::move(sent)));
        to_carry_.push_back(carried);
        return;
    }
    Seconds const departs = sent.at + (alone ? sent.what.alone() : sent.what.latency);
    events.plan(departs, ServingEvent::Kind::departed, transfers_.put(std::move(sent)));
}

bool CacheTransfers::depart(std::int32_t number, Seconds now, EventQueue& events) {
    CacheTransfer const& what = transfers_.at(number).what;
    if (sharing_ == NetworkMode::ideal || what.links.empty()) return true;
    auto const flow = static_cast<std::size_t>(links_.start(now, what.links, what.rate, what.bytes));
    if (flow >= transfer_of_.size()) transfer_of_.resize(flow + 1);
    transfer_of_[flow] = number;
    plan(events);
    return false;
}

std::vector<std::int32_t> CacheTransfers::arrivals(std::int32_t index, EventQueue& events) {
    if (carrier_ == Carrier::elsewhere) return {index};
    std::vector<std::int32_t> numbers;
    if (index != stamp_) return numbers;
    for (std::int32_t const flow : links_.take_ended())
        numbers.push_back(transfer_of_[static_cast<std::size_t>(flow)]);
    plan(events);
    return numbers;
}

void CacheTransfers::plan(EventQueue& events) {
    ++stamp_;
    if (std::isfinite(links_.next_end().base()))
        events.plan(links_.next_end(), ServingEvent::Kind::transferred, stamp_);
}

}  // namespace sextant
