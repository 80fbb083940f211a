#include "simulator/network/flow_pattern.hpp"

#include <algorithm>

namespace sextant {

void RateLimit::apply(std::vector<Flow>& flows) {
    for (Flow const& flow : flows)
        for (auto const link : flow.links)
            asked_[static_cast<std::size_t>(link)] += flow.rate;
    std::vector<double> left(flows.size(), 1.0);
    for (std::size_t i = 0; i < flows.size(); ++i)
        for (auto const link : flows[i].links) {
            auto const at = static_cast<std::size_t>(link);
            if (asked_[at] > links_[at].bandwidth) left[i] = std::min(left[i], links_[at].bandwidth / asked_[at]);
        }
    for (std::size_t i = 0; i < flows.size(); ++i) {
        for (auto const link : flows[i].links)
            asked_[static_cast<std::size_t>(link)] = {};
        flows[i].rate *= left[i];
    }
}

}  // namespace sextant
