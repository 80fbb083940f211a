#pragma once

#include "simulator/network/fabric.hpp"

#include <string>
#include <vector>

namespace sextant {

/// What goes over a link from `time` on.
struct LinkStep {
    double time = 0;  ///< seconds
    BytesPerSecond rate;
};

/// How busy one link is over time.
struct LinkSeries {
    std::string name;
    BytesPerSecond bandwidth;
    std::vector<LinkStep> steps;  ///< at each change; times ascend
};

/// Use over time of the `most` links that carry most of what they could, fullest first (of equals the first of the
/// fabric). Each transfer counts with its mean rate between the end of its latency and its end, all of them with no
/// more than the link's bandwidth; what max-min sharing does within one transfer is not seen.
std::vector<LinkSeries> link_series(TaskGraph const& graph, TaskTimes const& times, Fabric const& fabric,
                                    std::size_t most);

}  // namespace sextant
