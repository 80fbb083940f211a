#pragma once

#include "planner/search.hpp"

namespace sextant {

/// Places that a search keeps beside the `top` that are asked for: walking schedules may turn the first few round.
std::size_t reserve_for(std::size_t top);

/// Times the plans that a search has found by walking their schedules (`PipelineMethod::walk`), where the search took
/// the lower bound of a closed form: `best` in the order of these times, at most `options.top` of them; the front
/// without plans that are beaten now; the misfits.
void refine(SearchResult& result, ClosedForm& form, SearchOptions const& options);

}  // namespace sextant
