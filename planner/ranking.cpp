#include "planner/ranking.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "simulator/pipeline_formula.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace sextant {
PlanKey plan_key(ParallelPlan const& p) {
    return {p.world_size(),
            p.tp,
            p.cp,
            p.pp,
            p.dp,
            p.ep,
            p.expert_tp,
            p.vpp,
            p.micro_batch,
            static_cast<std::int64_t>(p.schedule),
            p.zero,
            p.shard_group,
            static_cast<std::int64_t>(p.recompute),
            p.recompute_layers,
            static_cast<std::int64_t>(p.sequence_parallel),
            static_cast<std::int64_t>(p.cp_mode),
            static_cast<std::int64_t>(p.offload),
            static_cast<std::int64_t>(p.attention),
            static_cast<std::int64_t>(p.optimizer),
            static_cast<std::int64_t>(p.precision),
            static_cast<std::int64_t>(p.dropout),
            static_cast<std::int64_t>(p.fused_cross_entropy),
            static_cast<std::int64_t>(p.dispatcher),
            p.recompute_modules.bits(),
            p.kept_activations.bits()};
}

double accelerator_price(ClusterSpec const& cluster) {
    auto const price = price_of(cluster, 1);
    return price ? price->base() : 1;
}

double score_of(Candidate const& candidate, Seconds time, Objective objective, double accelerator_price) {
    switch (objective) {
        case Objective::time: return time.base();
        case Objective::memory: return candidate.estimate.peak().base();
        // Every plan of a search processes the same tokens, so the most tokens per dollar is the least cost.
        case Objective::cost:
        case Objective::tokens_per_dollar:
            return time.base() * static_cast<double>(candidate.plan.world_size()) * accelerator_price;
    }
    return 0;
}

Seconds least_walked_time(StepEstimate const& estimate, ParallelPlan const& plan) {
    // Sums in another order; and what is walked in rounds is off by less than 1e-6 (`PipelineMethod`).
    double const rounding = has_closed_form(plan.schedule) ? 1e-9 : 2e-6;
    constexpr double most_too_long = 0.08;  // of a step; 0.05 is the most of 250,000 plans that were walked
    bool const chunks_differ = plan.vpp > 1 && has_closed_form(plan.schedule);
    Seconds const doubt = std::min(estimate.breakdown.bubble, most_too_long * estimate.time);
    return (1 - rounding) * (chunks_differ ? estimate.time - doubt : estimate.time);
}

bool Candidate::before(Candidate const& other) const {
    if (score != other.score) return score < other.score;
    if (estimate.peak() != other.estimate.peak()) return estimate.peak() < other.estimate.peak();
    return plan_key(plan) < plan_key(other.plan);
}

PlanKey Ranking::key_of(Candidate const& candidate) const {
    PlanKey key = plan_key(candidate.plan);
    if (grouping_ == Grouping::layout) std::fill(key.begin() + 6, key.end(), 0);
    return key;
}

void Ranking::offer(Candidate const& candidate) {
    if (top_ == 0 || is_closed_to(candidate.score)) return;
    Group& group = groups_[key_of(candidate)];
    if (group.size() == variants_) {
        auto const last = std::prev(group.end());
        if (!candidate.before(*last)) return;
        group.erase(last);
    }
    auto const at = group.insert(candidate);
    if (at != group.begin()) return;  // the groups' order is what it was
    auto const worst = [&] {
        return std::max_element(groups_.begin(), groups_.end(), [](auto const& a, auto const& b) {
            return a.second.begin()->before(*b.second.begin());
        });
    };
    if (groups_.size() > top_) groups_.erase(worst());
    if (groups_.size() == top_) worst_score_ = worst()->second.begin()->score;
}

void Ranking::merge(Ranking const& other) {
    for (auto const& [key, group] : other.groups_)
        for (Candidate const& candidate : group)
            offer(candidate);
}

std::vector<Candidate> Ranking::sorted() const {
    std::vector<Candidate> list;
    for (auto const& [key, group] : groups_)
        for (Candidate const& candidate : group)
            // What comes later may have been turned away while other groups held the places.
            if (&candidate == &*group.begin() || groups_.size() < top_ || candidate.score < worst_score_)
                list.push_back(candidate);
    std::sort(list.begin(), list.end(), InOrder{});
    return list;
}

KeptUpTo Ranking::kept_up_to() const {
    KeptUpTo end;
    if (groups_.size() == top_) end.score = worst_score_;
    if (grouping_ == Grouping::none) return end;
    for (auto const& [key, group] : groups_)
        if (group.size() == variants_) end.variants.push_back(*group.rbegin());
    return end;
}

Candidate const* Ranking::best_beside(Candidate const& candidate) const {
    auto const found = groups_.find(key_of(candidate));
    return found == groups_.end() ? nullptr : &*found->second.begin();
}

void ParetoFront::offer(Candidate const& candidate) {
    auto& stairs = by_accelerators_[candidate.plan.world_size()];
    Seconds const time = candidate.estimate.time;
    Bytes const peak = candidate.estimate.peak();
    // First step that is not faster; everything before it is faster, so only its memory matters.
    auto const at = std::lower_bound(stairs.begin(), stairs.end(), time,
                                     [](Candidate const& c, Seconds t) { return c.estimate.time < t; });
    if (at != stairs.begin() && std::prev(at)->estimate.peak() <= peak) return;
    if (at != stairs.end() && at->estimate.time == time) {
        if (at->estimate.peak() < peak) return;
        if (at->estimate.peak() == peak && !candidate.before(*at)) return;
    }
    auto last = at;
    while (last != stairs.end() && last->estimate.peak() >= peak)
        ++last;
    auto const position = stairs.erase(at, last);
    stairs.insert(position, candidate);
}

void ParetoFront::merge(ParetoFront const& other) {
    for (auto const& [accelerators, stairs] : other.by_accelerators_)
        for (Candidate const& candidate : stairs)
            offer(candidate);
}

std::vector<Candidate> ParetoFront::sorted() const {
    std::vector<Candidate> all;
    for (auto const& [accelerators, stairs] : by_accelerators_)
        all.insert(all.end(), stairs.begin(), stairs.end());
    auto const cost = [](Candidate const& c) {
        return c.estimate.time.base() * static_cast<double>(c.plan.world_size());
    };
    std::vector<Candidate> front;
    for (Candidate const& c : all) {
        bool const beaten = std::any_of(all.begin(), all.end(), [&](Candidate const& other) {
            bool const as_good = other.estimate.time <= c.estimate.time && other.estimate.peak() <= c.estimate.peak() &&
                                 cost(other) <= cost(c);
            bool const better = other.estimate.time < c.estimate.time || other.estimate.peak() < c.estimate.peak() ||
                                cost(other) < cost(c);
            return as_good && better;
        });
        if (!beaten) front.push_back(c);
    }
    std::sort(front.begin(), front.end(), [](Candidate const& a, Candidate const& b) {
        if (a.estimate.time != b.estimate.time) return a.estimate.time < b.estimate.time;
        return a.before(b);
    });
    return front;
}

std::string_view name_of(Objective objective) {
    switch (objective) {
        case Objective::time: return "time";
        case Objective::cost: return "cost";
        case Objective::memory: return "memory";
        case Objective::tokens_per_dollar: return "tokens-per-dollar";
    }
    return "?";
}

Objective objective_from(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (Objective const o : {Objective::time, Objective::cost, Objective::memory, Objective::tokens_per_dollar}) {
        if (name == name_of(o)) return o;
        known.emplace_back(name_of(o));
    }
    throw InputError("{}: unknown objective '{}' (known: {}{})", where, name, join(known), did_you_mean(name, known));
}

}  // namespace sextant
