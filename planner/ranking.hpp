#pragma once

#include "planner/search.hpp"

#include <array>
#include <map>
#include <vector>

namespace sextant {

/// The best plans seen so far, one per group, at most `top` groups: insertion is cheap for plans that do not make it.
class Ranking {
public:
    Ranking(std::size_t top, Grouping grouping) : top_(top), grouping_(grouping) {}
    void offer(Candidate const& candidate);
    void merge(Ranking const& other);
    [[nodiscard]] std::vector<Candidate> sorted() const;

private:
    using Key = std::array<std::int64_t, 24>;
    [[nodiscard]] Key key_of(Candidate const& candidate) const;

    std::size_t top_;
    Grouping grouping_;
    std::map<Key, Candidate> groups_;
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
/// What the objective makes of a plan: smaller is better.
double score_of(Candidate const& candidate, Objective objective, double accelerator_price);

/// Numbers that tell two plans apart, in a fixed order.
std::array<std::int64_t, 24> plan_key(ParallelPlan const& plan);

}  // namespace sextant
