#include "simulator/serving/shared_links.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace sextant {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double rounding = 1e-12;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

SharedLinks::SharedLinks(std::vector<BytesPerSecond> bandwidths)
    : left_(bandwidths.size(), 0), uses_(bandwidths.size(), 0), next_end_(never * units::s) {
    for (BytesPerSecond const bandwidth : bandwidths)
        bandwidths_.push_back(bandwidth.base());
}

std::int32_t SharedLinks::start(Seconds now, std::vector<std::int32_t> const& links, BytesPerSecond rate, Bytes bytes) {
    assert(rate > BytesPerSecond{} && bytes > Bytes{});
    move_on(now);
    std::int32_t flow = static_cast<std::int32_t>(flows_.size());
    if (free_.empty()) {
        flows_.emplace_back();
    } else {
        flow = free_.back();
        free_.pop_back();
    }
    flows_[at(flow)] = {.links = links, .own_rate = rate.base(), .left = bytes.base()};
    active_.push_back(flow);
    share();
    return flow;
}

void SharedLinks::stop(Seconds now, std::int32_t flow) {
    move_on(now);
    remove(flow);
    share();
}

std::vector<std::int32_t> SharedLinks::take_ended() {
    Seconds const now = next_end_;
    std::vector<std::int32_t> ended;
    for (std::int32_t const flow : active_) {
        Flow const& f = flows_[at(flow)];
        // To the precision of the clock, so that one ends at least.
        if (f.left / f.rate <= soonest_ + rounding * (soonest_ + now.base())) ended.push_back(flow);
    }
    move_on(now);
    for (std::int32_t const flow : ended)
        remove(flow);
    share();
    return ended;
}

void SharedLinks::move_on(Seconds now) {
    double const span = (now - now_).base();
    for (std::int32_t const flow : active_)
        flows_[at(flow)].left = std::max(0.0, flows_[at(flow)].left - flows_[at(flow)].rate * span);
    now_ = now;
}

void SharedLinks::remove(std::int32_t flow) {
    active_.erase(std::find(active_.begin(), active_.end(), flow));
    free_.push_back(flow);
}

void SharedLinks::share() {
    for (std::int32_t const link : used_)
        uses_[at(link)] = 0;
    used_.clear();
    for (std::int32_t const flow : active_) {
        Flow& f = flows_[at(flow)];
        f.growing = true;
        f.rate = 0;
        for (std::int32_t const link : f.links) {
            if (uses_[at(link)]++ > 0) continue;
            used_.push_back(link);
            left_[at(link)] = bandwidths_[at(link)];
        }
    }
    fill();
    soonest_ = never;
    for (std::int32_t const flow : active_)
        soonest_ = std::min(soonest_, flows_[at(flow)].left / flows_[at(flow)].rate);
    next_end_ = now_ + soonest_ * units::s;
}

void SharedLinks::fill() {
    for (std::size_t growing = active_.size(); growing > 0;) {
        double step = never;
        for (std::int32_t const flow : active_)
            if (flows_[at(flow)].growing) step = std::min(step, flows_[at(flow)].own_rate - flows_[at(flow)].rate);
        for (std::int32_t const link : used_)
            if (uses_[at(link)] > 0) step = std::min(step, left_[at(link)] / uses_[at(link)]);
        for (std::int32_t const link : used_)
            left_[at(link)] -= step * uses_[at(link)];
        for (std::int32_t const flow : active_) {
            Flow& f = flows_[at(flow)];
            if (!f.growing) continue;
            f.rate += step;
            bool full = f.rate >= f.own_rate * (1 - rounding);
            for (std::int32_t const link : f.links)
                full = full || left_[at(link)] <= rounding * bandwidths_[at(link)];
            if (!full) continue;
            f.growing = false;
            --growing;
            for (std::int32_t const link : f.links)
                --uses_[at(link)];
        }
    }
}

}  // namespace sextant
