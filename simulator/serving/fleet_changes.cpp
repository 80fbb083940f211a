#include "simulator/serving/fleet_changes.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

std::int64_t ScaleDecision::wanted(Seconds now, std::int64_t ready, std::int64_t there, double metric) {
    constexpr double tolerance = 0.1;
    double const ratio = metric / rules_.target;
    double const change = std::abs(ratio - 1) <= tolerance ? 1 : ratio;
    auto const raw =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(std::max<std::int64_t>(1, ready)) * change));
    std::int64_t const now_wanted = std::clamp(raw, rules_.least, rules_.most);
    recommended_.emplace_back(now, now_wanted);
    while (recommended_.front().first < now - rules_.down_after)
        recommended_.pop_front();
    if (now_wanted >= there) return now_wanted;
    std::int64_t highest = now_wanted;
    for (auto const& [at, number] : recommended_)
        highest = std::max(highest, number);
    return std::min(highest, there);
}

}  // namespace sextant
