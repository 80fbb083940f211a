#pragma once

#include "planner/report.hpp"

#include <vector>

namespace sextant {

/// One line of the choice between few large and many small microbatches.
struct MicrobatchRow {
    std::int64_t micro_batch = 1;
    std::int64_t microbatches = 1;
    Seconds time;       ///< of the step, every communication alone
    double bubble = 0;  ///< idle share of the step, mean over ranks
    Bytes peak;
    bool fits = true;
};

/// The plan with every power of two (and its own micro-batch) that divides the sequences of a replica: larger ones fill
/// kernels better, smaller ones make a smaller bubble and hold fewer activations. At most `most` rows.
std::vector<MicrobatchRow> microbatch_table(ClosedForm& form, ParallelPlan const& plan, MemoryLimit const& limit,
                                            std::size_t most = 12);

}  // namespace sextant
