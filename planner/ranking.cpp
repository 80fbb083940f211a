#include "planner/ranking.hpp"

#include <algorithm>

namespace sextant {

std::array<std::int64_t, 24> plan_key(ParallelPlan const& p) {
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
            p.recompute_modules.bits()};
}

double accelerator_price(ClusterSpec const& cluster) {
    auto const price = price_of(cluster, 1);
    return price ? price->base() : 1;
}

double score_of(Candidate const& candidate, Objective objective, double accelerator_price) {
    double const time = candidate.estimate.time.base();
    switch (objective) {
        case Objective::time: return time;
        case Objective::memory: return candidate.estimate.peak().base();
        // Every plan of a search processes the same tokens, so the most tokens per dollar is the least cost.
        case Objective::cost:
        case Objective::tokens_per_dollar:
            return time * static_cast<double>(candidate.plan.world_size()) * accelerator_price;
    }
    return 0;
}

bool Candidate::before(Candidate const& other) const {
    if (score != other.score) return score < other.score;
    if (estimate.peak() != other.estimate.peak()) return estimate.peak() < other.estimate.peak();
    return plan_key(plan) < plan_key(other.plan);
}

Ranking::Key Ranking::key_of(Candidate const& candidate) const {
    Key key = plan_key(candidate.plan);
    if (grouping_ == Grouping::layout) std::fill(key.begin() + 6, key.end(), 0);
    return key;
}

void Ranking::offer(Candidate const& candidate) {
    if (top_ == 0) return;
    if (groups_.size() == top_ && candidate.score > worst_score_) return;
    auto const [found, is_new] = groups_.try_emplace(key_of(candidate), candidate);
    if (!is_new) {
        if (!candidate.before(found->second)) return;
        found->second = candidate;
    }
    auto const worst = [&] {
        return std::max_element(groups_.begin(), groups_.end(),
                                [](auto const& a, auto const& b) { return a.second.before(b.second); });
    };
    if (groups_.size() > top_) groups_.erase(worst());
    if (groups_.size() == top_) worst_score_ = worst()->second.score;
}

void Ranking::merge(Ranking const& other) {
    for (auto const& [key, candidate] : other.groups_)
        offer(candidate);
}

std::vector<Candidate> Ranking::sorted() const {
    std::vector<Candidate> list;
    for (auto const& [key, candidate] : groups_)
        list.push_back(candidate);
    std::sort(list.begin(), list.end(), [](Candidate const& a, Candidate const& b) { return a.before(b); });
    return list;
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

}  // namespace sextant
