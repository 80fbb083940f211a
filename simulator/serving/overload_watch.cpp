#include "simulator/serving/overload_watch.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

void OverloadWatch::sample(Seconds now, std::int64_t arrived, std::int64_t waiting, std::int64_t in_system) {
    samples_.push_back({now, arrived, waiting, in_system});
}

bool OverloadWatch::enough() const {
    return samples_.size() >= least_samples && samples_.back().arrived >= least_arrivals &&
           samples_.back().at > samples_[samples_.size() / 2].at;
}

bool OverloadWatch::grows(std::int64_t Sample::*what, Proof proof) const {
    std::size_t const last = samples_.size() - 1;
    Sample const& first = samples_[last / 2];
    Sample const& middle = samples_[last * 3 / 4];
    Sample const& end = samples_[last];
    constexpr double least_share = 0.02;
    auto const arrivals = static_cast<double>(end.arrived - first.arrived);
    auto const growth = static_cast<double>(end.*what - first.*what);
    if (!(first.*what < middle.*what && middle.*what < end.*what)) return false;
    double const chance = std::max(1.0, variation_) * std::sqrt(arrivals);
    if (proof == Proof::beyond_doubt ? growth <= std::max(3 * chance, least_share * arrivals) : growth <= 0.5 * chance)
        return false;
    return std::all_of(samples_.begin() + static_cast<std::ptrdiff_t>(last / 2 + 1), samples_.end(),
                       [what](Sample const& s) { return s.*what > 0; });
}

bool OverloadWatch::overloaded() const { return enough() && grows(&Sample::waiting, Proof::beyond_doubt); }

SteadyState OverloadWatch::verdict() const {
    if (!enough()) return SteadyState::unsettled;
    if (grows(&Sample::waiting, Proof::beyond_doubt)) return SteadyState::overloaded;
    bool const rises = grows(&Sample::waiting, Proof::likely) || grows(&Sample::in_system, Proof::beyond_doubt);
    return rises ? SteadyState::unsettled : SteadyState::steady;
}

Seconds OverloadWatch::onset() const {
    Seconds since{};
    for (Sample const& s : samples_)
        if (s.waiting == 0) since = s.at;
    return since;
}

double OverloadWatch::arrived_per_second() const {
    Sample const& first = samples_[(samples_.size() - 1) / 2];
    Sample const& end = samples_.back();
    return static_cast<double>(end.arrived - first.arrived) / (end.at - first.at).base();
}

}  // namespace sextant
