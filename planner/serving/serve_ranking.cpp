#include "planner/serving/serve_ranking.hpp"

#include "core/parallel_for.hpp"
#include "planner/serving/serve_candidates.hpp"
#include "planner/serving/serve_confirm.hpp"
#include "planner/serving/serve_trials.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>

namespace sextant {
namespace {

using Candidates = std::vector<ServeCandidate>;
using Ranking = std::vector<std::size_t>;

/// Whether a candidate does the same as one above it, or nothing but the same bound is known of both: one is enough.
bool repeats(Candidates const& all, Ranking const& ranked, ServeCandidate const& c) {
    return std::any_of(ranked.begin(), ranked.end(), [&](std::size_t i) {
        ServeCandidate const& above = all[i];
        if (!alike(above, c)) return false;
        if (above.trial && c.trial)
            return above.replicas == c.replicas && above.accelerators(0) == c.accelerators(0) &&
                   above.trial->ttft_p99 == c.trial->ttft_p99 && above.trial->tpot_p50 == c.trial->tpot_p50 &&
                   above.trial->tpot_p99 == c.trial->tpot_p99;
        return !above.peaks && !c.peaks && above.least_replicas == c.least_replicas;
    });
}

/// Makes room at the end for the first of each machine that is not among the first.
void keep_each_machine(ServeQuestion const& q, Candidates const& all, Ranking& ranked) {
    auto const shown = static_cast<std::size_t>(q.shown);
    std::vector<int> listed(q.machines.size(), 0);
    for (std::size_t i = 0; i < std::min(shown, ranked.size()); ++i)
        ++listed[all[ranked[i]].machine];
    Ranking others;
    for (std::size_t i = shown; i < ranked.size(); ++i)
        if (listed[all[ranked[i]].machine]++ == 0) others.push_back(ranked[i]);
    if (ranked.size() > shown) ranked.resize(shown);
    for (std::size_t const other : others) {
        auto const last = std::find_if(ranked.rbegin(), ranked.rend(), [&](std::size_t i) {
            return std::count_if(ranked.begin(), ranked.end(),
                                 [&](std::size_t same) { return all[same].machine == all[i].machine; }) > 1;
        });
        if (last == ranked.rend()) return;  // fewer are shown than there are machines
        ranked.erase(std::next(last).base());
        ranked.push_back(other);
    }
}

Ranking ranking(ServeQuestion const& q, Candidates const& all) {
    Ranking order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        auto const key = [&](ServeCandidate const& c) {
            return std::tuple(!c.trial.has_value(), cost_of(q, c, c.trial ? c.replicas : c.least_replicas),
                              c.trial ? c.trial->tpot_p50.base() : c.at_bound.tpot.base());
        };
        return key(all[a]) < key(all[b]);
    });
    Ranking out;
    for (std::size_t const i : order)
        if (!repeats(all, out, all[i])) out.push_back(i);
    keep_each_machine(q, all, out);
    return out;
}

}  // namespace

std::vector<std::size_t> confirmed_ranking(ServeQuestion const& q, std::vector<ServeCandidate>& candidates) {
    for (;;) {
        Ranking ranked = ranking(q, candidates);
        Ranking open;
        for (std::size_t const i : ranked)
            if (can_be_confirmed(q, candidates[i])) open.push_back(i);
        if (open.empty()) return ranked;
        // Of one machine what costs more than a tenth above the best is not worth seeing.
        ServeCandidate const& first = candidates[ranked.front()];
        double const most = q.machines.size() > 1 ? std::numeric_limits<double>::infinity()
                                                  : 1.1 * cost_of(q, first, first.replicas) + 1e-9;
        parallel_for(static_cast<std::int64_t>(open.size()), q.threads,
                     [&](std::int64_t i) { confirm(q, candidates[open[static_cast<std::size_t>(i)]], most); });
        if (is_stopped(q)) return ranking(q, candidates);
    }
}

}  // namespace sextant
