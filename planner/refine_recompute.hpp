#pragma once

#include "planner/search.hpp"

namespace sextant {

/// `refine`, and then less recompute: a search tries powers of two of the layers of a stage that run again. Of the
/// plans that it kept, those that may take a place get the fewest that fit (time and memory grow with each), or run
/// again the modules of `SearchSpace::sets_to_refine` where that fits and is faster.
///
/// Nothing is changed where memory is the objective: it has all layers run again.
void refine_with_recompute(SearchResult& result, ClosedForm& form, std::vector<SearchSpace> const& spaces,
                           MemoryLimit const& limit, SearchOptions const& options);

}  // namespace sextant
