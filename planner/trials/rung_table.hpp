#pragma once

#include <cstdint>
#include <vector>

namespace sextant {

/// One rung of successive halving: so many trials, each taken to so many units.
struct Rung {
    std::int64_t trials = 0;
    double units = 0;      ///< of training since the start of a trial
    double new_units = 0;  ///< beyond the rung before, when a trial goes on from its checkpoint
};

/// Successive halving of some trials.
struct Bracket {
    int early = 0;  ///< how many halvings come before the full length (Hyperband's s)
    std::vector<Rung> rungs;

    [[nodiscard]] double units() const;          ///< every rung trained from the start
    [[nodiscard]] double units_resumed() const;  ///< every rung goes on from the one before
    [[nodiscard]] std::int64_t started() const { return rungs.empty() ? 0 : rungs.front().trials; }
    [[nodiscard]] std::int64_t finished() const { return rungs.empty() ? 0 : rungs.back().trials; }
};

/// Rung i: floor(n / eta^i) trials at min(r eta^i, R) units, at least one, until R is reached: the last one left goes
/// on. n = 81, r = 1, eta = 3, R = 81: 405 units, 297 resumed. Source: Jamieson and Talwalkar, arXiv:1502.07943; of the
/// last one Ray Tune, schedulers/async_hyperband.py (who passes the last milestone trains to max_t).
/// @throws InputError: n < 1, eta < 2, r or R not positive, r > R.
Bracket successive_halving(std::int64_t n, double r, std::int64_t eta, double R);

/// s_max = floor(log_eta(R / r)); for s = s_max ... 0: successive halving of ceil((s_max + 1) / (s + 1) eta^s) trials
/// from R eta^-s units. R = 81, r = 1, eta = 3: 405, 363, 351, 378, 405 units.
/// Source: Li et al., arXiv:1603.06560, algorithm 1.
/// @throws InputError as above.
std::vector<Bracket> hyperband(double r, std::int64_t eta, double R);

/// The most that asynchronous successive halving of n trials can come to: when each trial is better than all before it,
/// all but eta - 1 of a rung are promoted, at least one. Source: arXiv:1810.05934, algorithm 2; docs/trials.md has the
/// argument.
Bracket asha_worst_case(std::int64_t n, double r, std::int64_t eta, double R);

}  // namespace sextant
