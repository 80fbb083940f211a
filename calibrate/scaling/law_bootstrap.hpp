#pragma once

#include "calibrate/scaling/law_fit.hpp"
#include "core/random_stream.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

namespace sextant {

struct BootstrapOptions {
    int resamples = 1000;
    std::uint64_t seed = 1;
    unsigned threads = 0;
    /// A row belongs to a group, and groups are drawn whole (rows of one model size share its luck); empty: rows are
    /// drawn one by one.
    std::vector<std::size_t> groups{};
    std::atomic<bool> const* stop = nullptr;  ///< ends early with the resamples that are done
};

struct Bootstrap {
    std::vector<std::vector<double>> values;  ///< parameters of each resample, in order of the draws
    int failed = 0;                           ///< resamples without a solution
    int too_few = 0;                          ///< that drew fewer different rows than there are unknowns

    [[nodiscard]] int drawn() const { return failed + too_few + static_cast<int>(values.size()); }
    /// False where more than a fifth are lost: what is left of few rows holds nearly all of them and varies too little.
    [[nodiscard]] bool enough() const { return 5 * (failed + too_few) <= drawn(); }
};

/// Refits the law to rows drawn with replacement, each from the fit and its other basins. The same for any number of
/// threads. Under a robust objective and with few rows per parameter the refits are drawn towards the fit, so that 80 %
/// intervals hold the truth in 80 % of synthetic tables (docs/scaling.md). Source: Efron & Tibshirani, An Introduction
/// to the Bootstrap, chapters 6 and 13.
Bootstrap bootstrap_law(LawProblem const& problem, LawFit const& fit, BootstrapOptions const& options);

/// Random numbers of one resample.
RandomStream resample_stream(std::uint64_t seed, std::uint64_t resample);

/// Positions of rows drawn with replacement within each stratum (rows of one compute level, or of one model), so that
/// every stratum keeps its size.
std::vector<std::size_t> stratified_draw(std::vector<std::size_t> const& strata, RandomStream random);

/// Equal-tailed interval between quantiles of resampled values. @pre not empty.
struct ResampleInterval {
    double low = 0;
    double high = 0;
};
ResampleInterval resample_interval(std::vector<double> values, double level);

}  // namespace sextant
