#pragma once

#include "planner/search.hpp"

namespace sextant {

/// Times the plans of a search that kept what is to be refined (`Kept::to_refine`) by walking their schedules
/// (`PipelineMethod::walk`), where the search took lower bounds.
///
/// Plans are walked in the order of their bounds, until the next bound is above the last place of those walked, and in
/// a layout until it is above the layout's best. Where the search left out plans before that, the spaces are searched
/// once more for all whose bounds are no more than the last place. So no other plan of the spaces can be better. `best`
/// then has at most `options.top`, in the order of these times; `fastest_misfit` is the fastest of `quick_misfits`; the
/// front is that of its own plans and of all that were walked for `best`.
/// @param spaces, limit, options those of the search; `form` has its model, workload, cluster and framework.
void refine(SearchResult& result, ClosedForm& form, std::vector<SearchSpace> const& spaces, MemoryLimit const& limit,
            SearchOptions const& options);

}  // namespace sextant
