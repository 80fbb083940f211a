#pragma once

#include "planner/report.hpp"
#include "planner/search_space.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

/// A question without an answer, changed in one thing so that it has one.
struct Relaxation {
    std::string change;  ///< "without --tp", "--gpus 64"
    std::vector<std::int64_t> accelerators;
    SearchConstraints constraints;
    MemoryLimit limit;
    ParallelPlan plan;  ///< the best that fits
};

/// "without --tp would give an answer, such as tp8 pp4 mb1 zero1".
std::string relaxation_sentence(Relaxation const& relaxation);

/// The options that fix what the search would choose, as they are typed: "--tp", "--zero".
std::vector<std::string> fixed_options(SearchConstraints const& constraints);
SearchConstraints without_fixed_options(SearchConstraints constraints);

/// When nothing fits: which single fixed constraint, if dropped, would give an answer, whether a loss in parts or a
/// fused one would, how much host memory, and how many accelerators; where none of the first would, which training that
/// keeps less. Empty if none would.
std::vector<Relaxation> relaxations(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                                    FrameworkProfile const& framework, std::vector<std::int64_t> const& accelerators,
                                    SearchConstraints const& constraints, MemoryLimit const& limit);

}  // namespace sextant
