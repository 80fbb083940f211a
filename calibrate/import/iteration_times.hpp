#pragma once

#include <cstdint>
#include <vector>

namespace sextant {

/// What a training program prints now and then: the figure is the mean over the iterations since the line before.
struct LoggedIterations {
    std::int64_t last = 0;   ///< number of the last of them
    std::int64_t count = 1;  ///< of iterations
    double figure = 0;       ///< a time, or a rate
    std::int64_t batch = 0;  ///< sequences of each; 0: not said
};

/// The first iterations of a run compile, plan and fill caches: no step like the others. assumed: that many.
inline constexpr std::int64_t warm_up_iterations = 5;

/// The median figure of the lines behind the warm-up, of those with the last one's batch. A single mean is taken with
/// its warm-up where that is little of it (a twentieth). @throws RowSkip where nothing else is left.
double steady_figure(std::vector<LoggedIterations> const& lines);

}  // namespace sextant
