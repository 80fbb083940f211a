#pragma once

#include "calibrate/scaling/batch_laws.hpp"
#include "calibrate/scaling/envelope.hpp"
#include "calibrate/scaling/isoflop.hpp"
#include "calibrate/scaling/law_study.hpp"
#include "calibrate/scaling/loss_table.hpp"
#include "cli/output.hpp"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// What `sextant scaling fit` was asked.
struct ScalingFitRequest {
    std::string law;
    std::string data;
    LossColumns columns;  ///< part -> column, as given
    std::string group;    ///< bootstrap by this column; empty: row by row
    std::vector<std::string> conditions;
    std::string objective = "huber:0.001";
    std::vector<std::string> fixed;
    std::vector<std::string> tied;
    std::string base = "muennighoff-c4";
    int starts = 10;
    int resamples = 1000;
    std::uint64_t seed = 1;
    unsigned threads = 0;
    std::string at;
    std::string cuts;
    std::string budgets;
    double budget_tolerance = 0.05;
    std::string window = "all";
    std::string parabola_of = "loss";
    int levels = 200;
    double size_tolerance = 1e-3;
    double overhead = 0.2;
    double linear_from = 256;
    double flat = 0.0025;
    bool quick = false;
    std::string plot;
    OutputOptions output;
};

/// What it answers. One of `study`, `isoflop`, `envelope`, `allocation`, `batch` and `tuning` is there.
struct ScalingFitReport {
    std::string law;
    std::string formula;
    std::string source;
    LossTable table;
    LossColumns columns;  ///< that were read
    std::vector<ParameterInterval> parameters;
    std::vector<ParameterInterval> quantities;
    std::size_t rows_used = 0;
    std::vector<std::vector<double>> resamples;
    std::optional<LawStudy> study;
    std::optional<IsoflopFit> isoflop;
    std::optional<PowerLaw> surface_size;  ///< the same construction over the losses of a fitted surface: its bias
    double surface_exponent = 0;           ///< what that surface has
    std::optional<EnvelopeFit> envelope;
    std::optional<std::pair<PowerLaw, PowerLaw>> allocation;  ///< N* and D* over C, through optima that were given
    std::optional<CriticalBatchFit> batch;
    std::optional<TuningLaws> tuning;
    std::vector<std::string> assumptions;
    std::vector<std::string> warnings;
};

/// Laws that `scaling fit` knows, in the order of its help, with one line each.
struct FittableLaw {
    char const* name;
    char const* what;
};
std::vector<FittableLaw> fittable_laws();

/// Reads the data and fits. @param told is given a line before what takes long. @throws InputError.
ScalingFitReport fit_scaling_law(ScalingFitRequest const& request, std::atomic<bool> const& stop,
                                 std::function<void(std::string const&)> const& told = {});

/// Fits of one curve through a table of rows (`isoflop`, `envelope`, `allocation`, `critical-batch`, `lr-batch`), with
/// intervals from rows drawn within their level (`envelope`: from whole training curves). @throws InputError.
void fit_isoflop_law(ScalingFitRequest const& request, ScalingFitReport& report);
void fit_envelope_law(ScalingFitRequest const& request, ScalingFitReport& report);
void fit_allocation_law(ScalingFitRequest const& request, ScalingFitReport& report);
void fit_critical_batch_law(ScalingFitRequest const& request, ScalingFitReport& report);
void fit_lr_batch_law(ScalingFitRequest const& request, ScalingFitReport& report);

std::string scaling_fit_text(ScalingFitReport const& report);
/// A law file (format "scaling-law"): the other scaling commands read it.
std::string scaling_fit_json(ScalingFitReport const& report);
/// Parameters and intervals, for csv and markdown.
Table scaling_fit_table(ScalingFitReport const& report);
/// Losses over compute with the fitted curve, or the parabolas of an IsoFLOP study, as a stand-alone SVG.
std::string scaling_fit_svg(ScalingFitReport const& report);

}  // namespace sextant::cli
