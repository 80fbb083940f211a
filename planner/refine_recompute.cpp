#include "planner/refine_recompute.hpp"

#include "planner/exporters/launch_plan.hpp"
#include "planner/ranking.hpp"
#include "planner/refine.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace sextant {
namespace {

/// A plan with full recompute that fits while the search's next smaller number of layers does not.
struct Reducible {
    Candidate plan;
    std::int64_t tried = 0;    ///< layers of a stage, that smaller number; 0: none
    double least_of_some = 0;  ///< score with so many layers
    double least = 0;          ///< score with the least recompute that is tried
};

class RecomputeReducer {
public:
    RecomputeReducer(ClosedForm& form, std::vector<SearchSpace> const& spaces, MemoryLimit const& limit)
        : form_(form), spaces_(spaces), limit_(limit) {}

    /// Those of the plans that may do with less recompute.
    [[nodiscard]] std::vector<Reducible> reducible(std::vector<Candidate> const& kept) const {
        std::set<PlanKey> keys;
        for (Candidate const& c : kept)
            keys.insert(plan_key(c.plan));
        std::vector<Reducible> list;
        for (Candidate const& c : kept) {
            if (c.plan.recompute != Recompute::full || keeps_activations(c.plan)) continue;
            SearchSpace const& space = space_of(c.plan);
            if (space.recompute_layers) continue;
            std::int64_t const step = recompute_step(form_.framework(), c.plan);
            std::int64_t const layers = layers_again(c.plan);
            auto const steps = static_cast<std::uint64_t>((layers + step - 1) / step);
            std::int64_t const tried = steps <= 1 ? 0 : static_cast<std::int64_t>(std::bit_floor(steps - 1)) * step;
            if (keys.contains(plan_key(with_layers(c.plan, tried)))) continue;  // it fits
            StepBreakdown const& b = c.estimate.breakdown;
            double const all = c.score * (b.recompute / (c.estimate.time - b.bubble));
            double const some = static_cast<double>(layers - tried) / static_cast<double>(layers) * all;
            bool const has_modules = !space.sets_to_refine.empty();
            list.push_back({c, tried, c.score - some, c.score - (has_modules ? all : some)});
        }
        std::stable_sort(list.begin(), list.end(),
                         [](Reducible const& a, Reducible const& b) { return a.least < b.least; });
        return list;
    }

    /// Adds it with the fewest layers that fit, by the closed form; nothing where no fewer do.
    void add_fewest_layers(std::vector<Candidate>& out, Reducible const& r) {
        ParallelPlan const& plan = r.plan.plan;
        std::int64_t const step = recompute_step(form_.framework(), plan);
        std::vector<std::int64_t> numbers;
        for (std::int64_t n = r.tried + step; n < layers_again(plan); n += step)
            if (space_of(plan).rules.recomputes(with_layers(plan, n), form_.model())) numbers.push_back(n);
        std::optional<Candidate> fewest;
        static_cast<void>(std::partition_point(numbers.begin(), numbers.end(), [&](std::int64_t n) {
            Candidate next = estimated(with_layers(plan, n));
            bool const fits = limit_.admits(next.estimate.memory);
            if (fits) fewest = std::move(next);  // each that fits is of fewer layers than the one before
            return !fits;
        }));
        if (fewest) out.push_back(*std::move(fewest));
    }

    /// Adds it with modules that run again, where that fits.
    void add_modules(std::vector<Candidate>& out, Reducible const& r) {
        for (RecomputeModules const set : space_of(r.plan.plan).sets_to_refine) {
            ParallelPlan plan = r.plan.plan;
            plan.recompute = Recompute::selective;
            plan.recompute_layers = 0;
            plan.recompute_modules = set;
            Candidate next = estimated(plan);
            if (limit_.admits(next.estimate.memory)) out.push_back(std::move(next));
        }
    }

private:
    [[nodiscard]] SearchSpace const& space_of(ParallelPlan const& plan) const {
        return *std::find_if(spaces_.begin(), spaces_.end(),
                             [&](SearchSpace const& s) { return s.accelerators == plan.world_size(); });
    }

    /// Of a stage, where it is all of them: as the search counts them.
    [[nodiscard]] std::int64_t layers_again(ParallelPlan const& plan) const {
        if (plan.recompute_layers > 0) return plan.recompute_layers;
        ModelSpec const& model = form_.model();
        if (plan.stage_layers.empty() && model.mtp_modules == 0) return (model.layer_count() + plan.pp - 1) / plan.pp;
        return most_layers_of_stage(plan, model);
    }

    /// Of full recompute; none: without it.
    static ParallelPlan with_layers(ParallelPlan plan, std::int64_t layers) {
        plan.recompute_layers = layers;
        if (layers == 0) plan.recompute = Recompute::none;
        return plan;
    }

    Candidate estimated(ParallelPlan const& plan) {
        ParallelPlan shape = plan;
        shape.dp = shape.pp = shape.vpp = 1;
        shape.zero = 0;
        shape.recompute_layers = 0;
        shape.schedule = Schedule::one_f_one_b;
        shape.offload = Offload::none;
        auto const [known, is_new] = shapes_.try_emplace(plan_key(shape));
        if (is_new) known->second = form_.price_shape(plan);
        return {.plan = plan, .estimate = form_.finish(form_.assemble(known->second, plan), plan)};
    }

    ClosedForm& form_;
    std::vector<SearchSpace> const& spaces_;
    MemoryLimit limit_;
    std::map<PlanKey, ShapeCost> shapes_;
};

}  // namespace

void refine_with_recompute(SearchResult& result, ClosedForm& form, std::vector<SearchSpace> const& spaces,
                           MemoryLimit const& limit, SearchOptions const& options) {
    RecomputeReducer reducer(form, spaces, limit);
    bool const for_memory = options.objective == Objective::memory;
    std::vector<Reducible> const plans = for_memory ? std::vector<Reducible>{} : reducer.reducible(result.best);
    refine(result, form, spaces, limit, options);
    Ranking places(options.top, options.grouping);
    ParetoFront front;
    for (Candidate const& candidate : result.best)
        places.offer(candidate);
    for (Candidate const& candidate : result.pareto)
        front.offer(candidate);
    double const price = accelerator_price(form.cluster());
    for (Reducible const& r : plans) {
        if (places.is_closed_to(r.least)) break;
        auto const may_lead = [&](double score) {
            Candidate const* const leader = places.best_beside(r.plan);
            return !places.is_closed_to(score) && (leader == nullptr || score < leader->score);
        };
        if (!may_lead(r.least)) continue;
        std::vector<Candidate> reduced;
        if (may_lead(r.least_of_some)) reducer.add_fewest_layers(reduced, r);
        reducer.add_modules(reduced, r);
        for (Candidate& c : reduced) {
            if (!may_lead(score_of(c, least_walked_time(c.estimate, c.plan), options.objective, price))) continue;
            c.estimate = form.evaluate(c.plan, PipelineMethod::walk);
            if (!limit.admits(c.estimate.memory)) continue;
            c.score = score_of(c, c.estimate.time, options.objective, price);
            places.offer(c);
            if (!result.pareto.empty()) front.offer(c);
        }
    }
    result.best = places.sorted();
    result.pareto = front.sorted();
}

}  // namespace sextant
