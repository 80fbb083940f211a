#include "planner/refine.hpp"

#include "planner/ranking.hpp"

#include <array>
#include <map>

namespace sextant {
namespace {

/// Walks `kept`, in the order of its lower bounds, as far as one of them can take a place of the ranking.
/// @param walk gives a candidate its time and score.
template <class Walk>
void walk_in_order(Ranking& places, std::vector<Candidate> const& kept, Walk const& walk) {
    for (Candidate const& candidate : kept) {
        if (places.is_closed_to(candidate.score)) break;
        Candidate const* const best = places.best_beside(candidate);
        if (best != nullptr && candidate.score > best->score) continue;
        Candidate walked = candidate;
        walk(walked);
        places.offer(walked);
    }
}

}  // namespace

void refine(SearchResult& result, ClosedForm& form, SearchOptions const& options) {
    double const price = accelerator_price(form.cluster());
    ParetoFront front;
    std::map<std::array<std::int64_t, 24>, StepEstimate> walked;
    auto const walk = [&](Candidate& candidate) {
        auto const [known, is_new] = walked.try_emplace(plan_key(candidate.plan));
        if (is_new) known->second = form.evaluate(candidate.plan, PipelineMethod::walk);
        candidate.estimate = known->second;
        candidate.score = score_of(candidate, candidate.estimate.time, options.objective, price);
    };
    auto const walk_for_both = [&](Candidate& candidate) {
        walk(candidate);
        front.offer(candidate);
    };
    Ranking places(options.top, options.grouping);
    walk_in_order(places, result.best, walk_for_both);
    result.best = places.sorted();
    for (Candidate& candidate : result.pareto)
        walk_for_both(candidate);
    result.pareto = front.sorted();

    Ranking fastest(1, Grouping::none);
    walk_in_order(fastest, result.quick_misfits, [&](Candidate& candidate) {
        walk(candidate);
        candidate.score = candidate.estimate.time.base();
    });
    result.quick_misfits = fastest.sorted();
    if (!result.quick_misfits.empty()) result.fastest_misfit = result.quick_misfits.front();
    if (result.smallest_misfit) walk(*result.smallest_misfit);
}

}  // namespace sextant
