#include "planner/run_plan/global_batch.hpp"

#include "cost_models/scaling/rate_laws.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string_view>

namespace sextant {

double critical_batch_tokens(double tokens) {
    auto const laws = rate_laws();
    auto const zhang = std::find_if(laws.begin(), laws.end(),
                                    [](RateLaw const& law) { return std::string_view(law.name) == "zhang"; });
    assert(zhang != laws.end());
    return zhang->critical_batch({.tokens = tokens});
}

std::int64_t usual_global_batch(double tokens, std::int64_t sequence) {
    double const sequences = std::max(1.0, critical_batch_tokens(tokens) / static_cast<double>(sequence));
    return std::int64_t{1} << std::min(30, static_cast<int>(std::floor(std::log2(sequences))));
}

}  // namespace sextant
