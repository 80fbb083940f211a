#pragma once

#include "calibrate/least_squares.hpp"
#include "core/spec/engine_profile.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// One measured figure of a served row: a time, or the time of an output token of all sequences together.
enum class ServedQuantity : std::uint8_t { ttft, tpot, token_time };
std::string_view name_of(ServedQuantity quantity);

struct ServedMeasurement {
    std::string group;  ///< model, device and engine: rows of one group share their errors
    ServedQuantity quantity = ServedQuantity::tpot;
    double seconds = 0;
    double in_flight = 0;  ///< requests of one replica at a time, where the measurement kept that constant
    std::function<double(EngineProfile const&)> predict;  ///< seconds; thread-safe
};

struct ServedErrors {
    ServedQuantity quantity;
    std::size_t rows = 0;
    double median_pct = 0;
    double p90_pct = 0;
    double bias_pct = 0;
};

/// A figure and what a fit says of it that has not seen its group.
struct JudgedFigure {
    ServedMeasurement const* row;
    double predicted;
};

struct EngineFit {
    EngineProfile profile;  ///< with the provenance of each constant that was fitted
    std::vector<FittedParameter> constants;
    std::vector<bool> identified;  ///< of each constant: whether the rows say more of it than its prior
    std::size_t rows = 0;
    std::size_t groups = 0;
    std::vector<JudgedFigure> held_out;
    std::vector<ServedErrors> fitted_errors;
    std::vector<ServedErrors> held_out_errors;
};

/// Of each quantity that the figures have.
std::vector<ServedErrors> errors_of(std::vector<JudgedFigure> const& figures);

/// What is believed of an engine before any of its rows is seen, as logarithms of factors and times. Of each constant
/// in the order of `EngineFit::constants`; the gap's mean is in us, and an infinite spread says that nothing is
/// believed.
struct EnginePriors {
    std::vector<FitPrior> constants;
    FitPrior kernel_gap;
    std::string source;  ///< the provenance of constants that the rows do not identify
    /// Of a row: residuals are not divided by it, so priors are multiplied by it. assumed
    double typical_error = 0.2;
    /// Rows of a group of model, device and engine share the errors of whoever measured them, and weigh the less the
    /// more there are.
    bool shares_errors = true;
};

/// Of any engine: factors 1, times that are common; assumed. Engines that put iterations together ahead capture decodes
/// as graphs, with gaps of 1 us; of others nothing is believed of the gap.
EnginePriors common_priors(EngineProfile const& engine);

/// Of one engine among others: a constant is that of all engines and something of its own, of either half of the common
/// prior's variance, and each other engine whose rows identify it says what the first is.
EnginePriors priors_beside(EngineProfile const& engine, std::vector<EngineFit const*> const& others);

/// Whether a row states more than the time to the first token.
bool states_output(std::vector<ServedMeasurement> const& rows);

/// Of an engine whose profile is known, somewhere else: that profile, within half of the common prior's variance. Rows
/// of first tokens alone say little of what the host takes for an iteration: it is held four times as closely then
/// (assumed).
EnginePriors priors_around(EngineProfile const& known, std::vector<ServedMeasurement> const& rows);

struct EngineFitOptions {
    std::optional<EnginePriors> priors{};  ///< default: the common ones
    std::size_t folds = 4;  ///< groups are divided into so many parts, each of which is held out once; 1: none
    std::vector<double> kernel_gaps_us{0.2, 0.5, 1, 1.5, 2.5, 4};  ///< each is tried
    unsigned threads = 0;
    std::string command = "sextant calibrate fit --serving";
};

/// The part that a group belongs to: FNV-1a of its name, so that the same groups are together in every fit.
std::size_t fold_of(std::string const& group, std::size_t folds);

/// The profile with every constant where its prior is: what a fit begins with.
EngineProfile without_fit(EngineProfile engine);

/// Fits scales (of products, of experts' products, of attention over prompts and caches, of communication) and times
/// (to launch kernels of prompts, of the host per iteration and sequence, of a request before its first iteration) to
/// log(predicted / measured) with priors, for each of a few gaps between kernels, and keeps the best. A group weighs as
/// the square root of its rows. Constants that the rows do not identify stay with their prior and `assumed`. Each part
/// of the groups is then left out once, and predicted by a fit to the others: these are the errors to trust, and the
/// 80 % interval is theirs. Rows must outlive the result.
/// @throws InputError without rows.
EngineFit fit_engine(EngineProfile const& start, std::vector<ServedMeasurement> const& rows,
                     EngineFitOptions const& options);

}  // namespace sextant
