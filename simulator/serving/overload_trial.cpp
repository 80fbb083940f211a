#include "simulator/serving/overload_trial.hpp"

#include <cmath>

namespace sextant {

void OverloadTrial::look(ServingTotals const& totals, std::int64_t waiting, std::int64_t running) {
    watch_.sample(totals.at, totals.arrived, waiting, totals.arrived - totals.finished);
    most_running_ = std::max(most_running_, running);
    if (!sign_ && watch_.overloaded()) sign_ = totals.finished;
}

std::optional<ServingTotals> OverloadTrial::measured() const {
    if (!start_ || end_.at <= start_->at) return std::nullopt;
    return end_ - *start_;
}

std::optional<double> OverloadTrial::capacity() const {
    auto const served = measured();
    if (!served) return std::nullopt;
    return static_cast<double>(served->finished) / served->at.base();
}

std::int64_t OverloadTrial::next_snapshot() const {
    return start_ ? start_->finished + round_ : *sign_ + std::max(most_running_, least_round);
}

void OverloadTrial::measure(ServingTotals const& totals) {
    if (!start_) {
        start_ = end_ = totals;
        round_ = std::max(most_running_, least_round);
        imbalance_ = nearly_balanced;
        return;
    }
    ServingTotals const served = totals - *start_;
    auto const out = static_cast<double>(served.counters.tokens_out);
    double const imbalance = std::abs(out - static_cast<double>(served.finished_tokens)) / out;
    if (imbalance > std::max(balanced, imbalance_)) return;
    end_ = totals;
    imbalance_ = imbalance;
}

bool OverloadTrial::over(Queue queue) const {
    if (queue == Queue::ended) return true;
    if (!start_) return false;
    bool const enough = end_.finished >= start_->finished + rounds * round_ && imbalance_ <= balanced;
    return enough || seen_ >= start_->finished + most_rounds * round_;
}

bool OverloadTrial::believed() {
    auto const served = capacity();
    refuted_ = served && *served >= watch_.arrived_per_second();
    if (watch_.overloaded() && !refuted_) return true;
    sign_.reset();
    start_.reset();
    return false;
}

}  // namespace sextant
