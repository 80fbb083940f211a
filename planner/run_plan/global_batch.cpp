#include "planner/run_plan/global_batch.hpp"

#include "core/spec/parameters.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

double critical_batch_tokens(double parameters) { return 512 * 93.1968 * std::pow(parameters / 1e6, 0.468278); }

std::int64_t usual_global_batch(ModelSpec const& model, std::int64_t sequence) {
    double const tokens = critical_batch_tokens(static_cast<double>(count_parameters(model).active));
    double const sequences = std::max(1.0, tokens / static_cast<double>(sequence));
    return std::int64_t{1} << std::min(30, static_cast<int>(std::floor(std::log2(sequences))));
}

}  // namespace sextant
