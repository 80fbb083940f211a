#pragma once

#include "planner/trials/rung_table.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

enum class SearchMethod : std::uint8_t { random, grid, successive_halving, hyperband, asha, pbt };
std::string_view name_of(SearchMethod method);
/// @throws InputError with the known names and the nearest one.
SearchMethod search_method_from(std::string_view name, std::string_view where);

/// How a search is run, in units of training (steps, tokens, epochs: whatever one unit is).
struct SearchPlan {
    SearchMethod method = SearchMethod::asha;
    std::int64_t trials = 81;  ///< started; the population of pbt; what hyperband makes of it is its own
    double least = 1;          ///< units of the first rung; between two exchanges of pbt
    double full = 81;          ///< units of a whole trial
    std::int64_t eta = 3;
    enum class Resume : std::uint8_t { from_checkpoint, from_start } resume = Resume::from_checkpoint;
};

/// What the search runs on.
struct SearchMachine {
    std::int64_t workers = 8;     ///< trials at the same time
    double unit_s = 1;            ///< seconds of one unit on one worker
    double start_s = 0;           ///< before each piece of a trial: scheduling, loading
    double jitter = 0;            ///< standard deviation of the logarithm of a piece's time
    double straggler_chance = 0;  ///< of a piece ...
    double straggler_factor = 1;  ///< ... to take this many times as long
    /// How far the order at a rung is from the order at full length: a trial of quality z ~ N(0,1) looks like z + N(0,
    /// sd), sd = noise (sqrt(full / units) - 1). An assumption about learning curves; 0: every rung is right.
    double rank_noise = 0.2;
};

/// What jitter and stragglers make of the time of a piece, on the mean: exp(jitter^2 / 2) (1 + chance (factor - 1)).
double mean_slowdown(SearchMachine const& machine);

/// @throws InputError naming the first value that is out of range.
void check_search_machine(SearchMachine const& machine);

/// Cost without chance.
struct SearchCost {
    std::vector<Bracket> brackets;  ///< one, or Hyperband's
    double units = 0;               ///< as resumed or not
    double worst_units = 0;         ///< asha can take more, all others take `units`
    double pieces = 0;              ///< jobs: a trial from one rung to the next
    double worst_pieces = 0;        ///< as `worst_units`
    std::int64_t started = 0;
    std::int64_t finished = 0;  ///< reached full length
    double critical_units = 0;  ///< with as many workers as there are trials: no search is faster
};
/// @throws InputError: a plan out of range.
SearchCost search_cost(SearchPlan const& plan);

/// One simulated search.
struct SearchOutcome {
    double wall_s = 0;
    double busy_s = 0;                   ///< of all workers together
    double units = 0;                    ///< trained
    std::int64_t pieces = 0;             ///< jobs: a trial from one rung to the next
    std::vector<std::int64_t> by_rung;   ///< trials that ended each rung, all brackets together
    std::optional<double> first_full_s;  ///< when the first trial reached full length; absent: none did
    double winner_z = 0;                 ///< true quality of the one that is chosen, lower is better
    double winner_rank = 0;              ///< its place among all that were started, 1 is best
};

/// Runs the search event by event: idle workers take the next piece by the method's rule; synchronous halving waits for
/// the last of a rung (Hyperband fills the wait with the next bracket), ASHA and PBT never wait. Depends on plan,
/// machine, seed and trial alone.
SearchOutcome simulate_search(SearchPlan const& plan, SearchMachine const& machine, std::uint64_t seed,
                              std::uint64_t trial);

/// Mean over many simulated searches, and the spread of the wall clock.
struct SearchStudy {
    std::int64_t runs = 0;
    double wall_s = 0, wall_p5_s = 0, wall_p50_s = 0, wall_p95_s = 0;
    double idle_share = 0;
    double busy_s = 0;  ///< of all workers together
    double units = 0;
    std::optional<double> first_full_s;  ///< of the searches that have a whole trial; absent: none has
    double winner_z = 0;
    double winner_rank = 0;
    std::vector<double> by_rung;
    bool interrupted = false;
};
/// @throws InputError: a machine out of range.
SearchStudy study_search(SearchPlan const& plan, SearchMachine const& machine, std::int64_t runs, std::uint64_t seed,
                         unsigned threads, std::atomic<bool> const* stop = nullptr,
                         std::function<void(std::int64_t)> const& progress = {});

}  // namespace sextant
