#include "simulator/serving/request_paths.hpp"

#include <utility>

namespace sextant {

RequestPaths::RequestPaths(ServingSetup const& setup, ServiceModel const& service, Fleet& fleet, EventQueue& events,
                           ServingTotals& totals, Carrier carrier)
    : setup_(setup),
      turns_(static_cast<std::size_t>(setup.replicas), 0),
      service_(service),
      fleet_(fleet),
      events_(events),
      totals_(totals),
      transfers_(setup.network, service.links(), carrier),
      to_prompts_(setup.router, 0,
                  static_cast<std::size_t>(setup.prefill_replicas > 0 ? setup.prefill_replicas : setup.replicas)),
      to_decodes_(setup.router, static_cast<std::size_t>(setup.prefill_replicas),
                  static_cast<std::size_t>(setup.replicas - setup.prefill_replicas)) {}

void RequestPaths::enter(ServingRequest const& request, std::int64_t number) {
    if (auto const to = to_prompts_.route(fleet_.replicas(), fleet_.takes(), request))
        fleet_.change(*to).enter(request, number);
    else
        stranded_.push_back({.number = number, .request = request, .scheduled = FinishedRequest::never});
}

void RequestPaths::again(std::vector<FinishedRequest> const& requests) {
    for (FinishedRequest request : requests) {
        auto const to = to_prompts_.route(fleet_.replicas(), fleet_.takes(), request.request);
        if (!to) {
            stranded_.push_back(request);
            continue;
        }
        if (request.begun()) {
            ++request.restarts;
            ++restarted_;
            restarted_tokens_ += request.request.prompt + request.tokens;
        }
        fleet_.change(*to).enter_again(request);
    }
}

void RequestPaths::resume() {
    again(std::exchange(stranded_, {}));
    std::vector<FinishedRequest> const waiting = std::exchange(stranded_caches_, {});
    for (FinishedRequest const& request : waiting)
        if (fleet_.replicas()[static_cast<std::size_t>(request.replica)].holds(request.number))
            send(request);
        else
            again({request});
}

void RequestPaths::send(FinishedRequest const& request) {
    auto const found = to_decodes_.route(fleet_.replicas(), fleet_.takes(), {});  // a cache brings its prefix along
    if (!found) {
        stranded_caches_.push_back(request);
        return;
    }
    std::size_t const to = *found;
    fleet_.change(to).expect();
    // The groups of the receiver take turns: which one it joins is seen only then.
    CachePlace const from_place{request.replica, request.group};
    CachePlace const to_place{static_cast<std::int64_t>(to), turns_[to]++ % setup_.limits.groups};
    CacheTransfer transfer = service_.transfer(request.request.prompt + request.tokens, from_place, to_place);
    totals_.transferring_alone += transfer.alone();
    ++totals_.transfers;
    transfers_.send({.request = request,
                     .to = static_cast<std::int32_t>(to),
                     .from_place = number_of(from_place),
                     .to_place = number_of(to_place),
                     .from_life = fleet_.life(static_cast<std::size_t>(request.replica)),
                     .to_life = fleet_.life(to),
                     .at = totals_.at,
                     .what = std::move(transfer)},
                    events_);
}

void RequestPaths::departed(ServingEvent const& event) {
    if (transfers_.depart(event.index, event.at, events_)) arrived_cache(event.index);
}

void RequestPaths::transferred(ServingEvent const& event) {
    for (std::int32_t const number : transfers_.arrivals(event.index, events_))
        arrived_cache(number);
}

void RequestPaths::arrived_cache(std::int32_t number) {
    CacheTransfers::Sent const sent = transfers_.take(number);
    totals_.transferring += totals_.at - sent.at;
    auto const to = static_cast<std::size_t>(sent.to);
    bool const there = sent.to_life == fleet_.life(to);
    auto const from = static_cast<std::size_t>(sent.request.replica);
    bool const left = sent.from_life == fleet_.life(from);
    if (there && left) {
        fleet_.change(to).enter_prefilled(sent.request);
        return;
    }
    if (there) fleet_.change(to).expect_no_more();
    if (left) fleet_.let_go(from, sent.request.number);
    again({sent.request});
}

void RequestPaths::conclude(ServingOutcome& out) const {
    out.restarted = restarted_;
    out.restarted_tokens = restarted_tokens_;
}

}  // namespace sextant
