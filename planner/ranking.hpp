#pragma once

#include "planner/search.hpp"

#include <array>
#include <map>
#include <set>
#include <vector>

namespace sextant {

/// Numbers that tell two plans of a search apart, in a fixed order.
using PlanKey = std::array<std::int64_t, 25>;
PlanKey plan_key(ParallelPlan const& plan);

/// The best plans seen so far: at most `variants` of a group, of the `top` groups whose first plans are best. Insertion
/// is cheap for plans that do not make it.
class Ranking {
public:
    Ranking(std::size_t top, Grouping grouping, std::size_t variants = 1)
        : top_(top), variants_(variants), grouping_(grouping) {}
    void offer(Candidate const& candidate);
    void merge(Ranking const& other);
    /// In order; of several variants those that come before the last group does, whatever the order of the offers was.
    [[nodiscard]] std::vector<Candidate> sorted() const;
    [[nodiscard]] KeptUpTo kept_up_to() const;
    /// Whether all places are taken by plans with smaller scores.
    [[nodiscard]] bool is_closed_to(double score) const { return groups_.size() == top_ && score > worst_score_; }
    [[nodiscard]] bool is_full() const { return groups_.size() == top_; }
    /// The best plan of the candidate's group; null: there is none.
    [[nodiscard]] Candidate const* best_beside(Candidate const& candidate) const;

private:
    [[nodiscard]] PlanKey key_of(Candidate const& candidate) const;

    std::size_t top_;
    std::size_t variants_;
    Grouping grouping_;
    struct InOrder {
        bool operator()(Candidate const& a, Candidate const& b) const { return a.before(b); }
    };
    using Group = std::multiset<Candidate, InOrder>;  // a candidate is a kilobyte: nothing moves for another one
    std::map<PlanKey, Group> groups_;
    double worst_score_ = 0;  ///< of the last place, once all are taken
};

/// Plans that no other plan beats in time, peak memory and cost at once (cost: time times accelerators).
class ParetoFront {
public:
    void offer(Candidate const& candidate);
    void merge(ParetoFront const& other);
    [[nodiscard]] std::vector<Candidate> sorted() const;

private:
    std::map<std::int64_t, std::vector<Candidate>>
        by_accelerators_;  ///< each a staircase: time ascending, peak descending
};

/// US dollars per accelerator and second; one where nobody names a price.
double accelerator_price(ClusterSpec const& cluster);
/// What the objective makes of a plan that takes `time`: smaller is better.
double score_of(Candidate const& candidate, Seconds time, Objective objective, double accelerator_price);

/// A time that no walk of the plan's schedule is below, from the closed form.
///
/// With one chunk a rank the closed form is such a bound itself. Where a rank has several, and they differ, its bubble
/// can be too long, by less than 0.05 of a step where that was measured: then the bound leaves out 0.08 of a step, or
/// the bubble where that is less.
Seconds least_walked_time(StepEstimate const& estimate, ParallelPlan const& plan);

}  // namespace sextant
