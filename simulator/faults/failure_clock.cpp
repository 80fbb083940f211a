#include "simulator/faults/failure_clock.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

FailureClock::FailureClock(FailureProcess const& process, FleetAge age, RandomStream random)
    : random_(random),
      components_(process.components),
      mtbf_(process.mtbf.base()),
      shape_(process.shape),
      scale_(mtbf_ / std::tgamma(1 + 1 / process.shape)) {
    if (!std::isfinite(mtbf_)) return;
    if (shape_ == 1) {
        next_ = 0;
        pop();
        return;
    }
    heap_.reserve(static_cast<std::size_t>(components_));
    for (std::int64_t i = 0; i < components_; ++i) {
        // In equilibrium the life at time zero is length-biased (scale G^(1/k), G ~ Gamma(1 + 1/k)), and what is left
        // of it is uniform. Source: Cox, Renewal Theory, 1962, section 5.4.
        double const first = age == FleetAge::fresh
                                 ? lifetime()
                                 : random_.uniform() * scale_ * std::pow(random_.gamma(1 + 1 / shape_), 1 / shape_);
        heap_.push_back({first, i});
    }
    std::make_heap(heap_.begin(), heap_.end());
    show_top();
}

double FailureClock::lifetime() { return scale_ * std::pow(-std::log(random_.uniform()), 1 / shape_); }

void FailureClock::show_top() {
    next_ = heap_.front().at;
    component_ = heap_.front().component;
}

void FailureClock::pop() {
    if (heap_.empty()) {
        next_ += random_.exponential(mtbf_ / static_cast<double>(components_));
        component_ = random_.below(components_);
        return;
    }
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.back().at += lifetime();
    std::push_heap(heap_.begin(), heap_.end());
    show_top();
}

}  // namespace sextant
