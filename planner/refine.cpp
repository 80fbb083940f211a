#include "planner/refine.hpp"

#include "planner/ranking.hpp"

#include <algorithm>
#include <map>

namespace sextant {
namespace {

/// Times plans by walking their schedules, each once.
class Walker {
public:
    Walker(ClosedForm& form, Objective objective)
        : form_(form), objective_(objective), price_(accelerator_price(form.cluster())) {}

    /// Gives a candidate its time and score.
    void walk(Candidate& candidate) {
        auto const [known, is_new] = walked_.try_emplace(plan_key(candidate.plan));
        if (is_new) known->second = form_.evaluate(candidate.plan, PipelineMethod::walk);
        candidate.estimate = known->second;
        candidate.score = score_of(candidate, candidate.estimate.time, objective_, price_);
    }

private:
    ClosedForm& form_;
    Objective objective_;
    double price_;
    std::map<PlanKey, StepEstimate> walked_;
};

/// Whether a plan with this lower bound can be the best of its group.
bool can_lead(Ranking const& places, Candidate const& bounded) {
    Candidate const* const best = places.best_beside(bounded);
    return best == nullptr || bounded.score <= best->score;
}

/// Walks `kept`, in the order of its lower bounds, as far as one of them can take a place of the ranking. `walk` says
/// whether a plan may have one.
template <class Walk>
void walk_in_order(Ranking& places, std::vector<Candidate> const& kept, Walk const& walk) {
    for (Candidate const& candidate : kept) {
        if (places.is_closed_to(candidate.score)) break;
        if (!can_lead(places, candidate)) continue;
        Candidate walked = candidate;
        if (walk(walked)) places.offer(walked);
    }
}

/// Whether no plan that was left out can take a place.
bool is_complete(Ranking const& places, KeptUpTo const& end) {
    if (end.score && !places.is_closed_to(*end.score)) return false;
    return std::none_of(end.variants.begin(), end.variants.end(), [&](Candidate const& last) {
        return !places.is_closed_to(last.score) && can_lead(places, last);
    });
}

}  // namespace

void refine(SearchResult& result, ClosedForm& form, std::vector<SearchSpace> const& spaces, MemoryLimit const& limit,
            SearchOptions const& options) {
    Walker walker(form, options.objective);
    ParetoFront front;
    // What a rank holds of a schedule walked to its end may be more than the search had seen of it.
    bool some_misfit = false;
    auto const walk_for_both = [&](Candidate& candidate) {
        walker.walk(candidate);
        bool const fits = limit.admits(candidate.estimate.memory);
        if (fits) front.offer(candidate);
        some_misfit = some_misfit || !fits;
        return fits;
    };
    Ranking places(options.top, options.grouping);
    walk_in_order(places, result.best, walk_for_both);
    if (!result.interrupted && !is_complete(places, result.kept_up_to)) {
        SearchOptions wider = options;
        if (some_misfit && !places.is_full())
            wider.top *= 4;  // no score bounds what may take the places that are left
        else
            wider.at_most = places.sorted().back().score;
        SearchResult const again =
            search(form.model(), form.workload(), form.cluster(), form.framework(), spaces, limit, wider);
        walk_in_order(places, again.best, walk_for_both);
        result.interrupted = again.interrupted;
        result.share_done = again.share_done;
    }
    result.best = places.sorted();
    for (Candidate& candidate : result.pareto)
        walk_for_both(candidate);
    result.pareto = front.sorted();

    Ranking fastest(1, Grouping::none);
    walk_in_order(fastest, result.quick_misfits, [&](Candidate& candidate) {
        walker.walk(candidate);
        candidate.score = candidate.estimate.time.base();
        return true;
    });
    result.quick_misfits = fastest.sorted();
    if (!result.quick_misfits.empty()) result.fastest_misfit = result.quick_misfits.front();
    if (result.smallest_misfit) walker.walk(*result.smallest_misfit);
}

}  // namespace sextant
