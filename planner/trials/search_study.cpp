#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "core/quantile.hpp"
#include "planner/trials/search_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace sextant {

double mean_slowdown(SearchMachine const& m) {
    return std::exp(m.jitter * m.jitter / 2) * (1 + m.straggler_chance * (m.straggler_factor - 1));
}

void check_search_machine(SearchMachine const& m) {
    auto const in = [](char const* what, double value, double least, double most) {
        if (!(value >= least && value <= most))
            throw InputError("{}: {} is out of range ({} to {})", what, value, least, most);
    };
    in("--workers", static_cast<double>(m.workers), 1, 1e6);
    in("time of a unit", m.unit_s, 1e-9, 1e12);
    in("start time", m.start_s, 0, 1e9);
    in("--jitter", m.jitter, 0, 3);
    in("--straggler-chance", m.straggler_chance, 0, 1);
    in("--straggler-factor", m.straggler_factor, 1, 1000);
    in("--rank-noise", m.rank_noise, 0, 100);
}

SearchStudy study_search(SearchPlan const& plan, SearchMachine const& machine, std::int64_t runs, std::uint64_t seed,
                         unsigned threads, std::atomic<bool> const* stop,
                         std::function<void(std::int64_t)> const& progress) {
    check_search_machine(machine);
    std::vector<std::optional<SearchOutcome>> outcomes(static_cast<std::size_t>(runs));
    std::atomic<std::int64_t> done{0};
    parallel_for(runs, threads, [&](std::int64_t i) {
        if (stop != nullptr && *stop) return;
        outcomes[static_cast<std::size_t>(i)] = simulate_search(plan, machine, seed, static_cast<std::uint64_t>(i));
        std::int64_t const count = ++done;
        if (progress) progress(count);
    });
    SearchStudy study;
    std::vector<double> walls, first_full;
    double capacity = 0;
    for (auto const& outcome : outcomes) {
        if (!outcome) {
            study.interrupted = true;
            continue;
        }
        ++study.runs;
        walls.push_back(outcome->wall_s);
        study.busy_s += outcome->busy_s;
        capacity += outcome->wall_s * static_cast<double>(machine.workers);
        study.units += outcome->units;
        if (outcome->first_full_s) first_full.push_back(*outcome->first_full_s);
        study.winner_z += outcome->winner_z;
        study.winner_rank += outcome->winner_rank;
        study.by_rung.resize(std::max(study.by_rung.size(), outcome->by_rung.size()));
        for (std::size_t i = 0; i < outcome->by_rung.size(); ++i)
            study.by_rung[i] += static_cast<double>(outcome->by_rung[i]);
    }
    if (study.runs == 0) return study;
    auto const n = static_cast<double>(study.runs);
    study.idle_share = 1 - study.busy_s / capacity;
    for (double* sum : {&study.busy_s, &study.units, &study.winner_z, &study.winner_rank})
        *sum /= n;
    for (double& count : study.by_rung)
        count /= n;
    if (!first_full.empty())
        study.first_full_s =
            std::accumulate(first_full.begin(), first_full.end(), 0.0) / static_cast<double>(first_full.size());
    std::sort(walls.begin(), walls.end());
    for (double const wall : walls)
        study.wall_s += wall / n;
    study.wall_p5_s = quantile(walls, 0.05);
    study.wall_p50_s = quantile(walls, 0.5);
    study.wall_p95_s = quantile(walls, 0.95);
    return study;
}

}  // namespace sextant
