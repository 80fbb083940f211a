#include "planner/refine.hpp"

#include "planner/ranking.hpp"

#include <algorithm>

namespace sextant {

std::size_t reserve_for(std::size_t top) { return std::max<std::size_t>(top, 9); }

void refine(SearchResult& result, ClosedForm& form, SearchOptions const& options) {
    double const price = accelerator_price(form.cluster());
    auto const time_again = [&](Candidate& candidate) {
        candidate.estimate = form.evaluate(candidate.plan, PipelineMethod::walk);
        candidate.score = score_of(candidate, options.objective, price);
    };
    for (Candidate& candidate : result.best)
        time_again(candidate);
    std::sort(result.best.begin(), result.best.end(),
              [](Candidate const& a, Candidate const& b) { return a.before(b); });
    if (result.best.size() > options.top) result.best.resize(options.top);
    ParetoFront front;
    for (Candidate& candidate : result.pareto) {
        time_again(candidate);
        front.offer(candidate);
    }
    result.pareto = front.sorted();
    if (result.fastest_misfit) time_again(*result.fastest_misfit);
    if (result.smallest_misfit) time_again(*result.smallest_misfit);
}

}  // namespace sextant
