#pragma once

#include "calibrate/collective_measurement.hpp"
#include "calibrate/least_squares.hpp"
#include "calibrate/network_parameters.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sextant {

/// Rows by reference: fits that leave some out copy none.
using MeasurementList = std::vector<CollectiveMeasurement const*>;

/// Standard deviation of what the structure leaves of a row, against which priors are weighed (docs/collectives.md: 4 %
/// in the median of a joint fit of one platform).
inline constexpr double row_spread = 0.1;

/// Constants of the scale-up network from those of `rows` in one domain. Rows of several clusters share all constants:
/// that is how a class is fitted. Constants that no row depends on stay at `start`, and so do the gains of few ranks on
/// PCIe where none of more ranks tells them from the rate that all have.
/// Residual of a row: log(predicted / measured); loss: Huber's beyond 10 %.
/// @throws InputError when no row is in one domain.
NetworkSection<ScaleUpConstants> fit_scale_up(MeasurementList const& rows, ScaleUpConstants const& start,
                                              NetworkPriorSpreads const& spreads, FitOptions const& options);

/// The scale-up constants of a row's machine.
using ScaleUpOf = std::function<ScaleUpConstants(CollectiveMeasurement const&)>;

/// Constants of the scale-out network from the rows over several domains.
NetworkSection<ScaleOutConstants> fit_scale_out(MeasurementList const& rows, ScaleOutConstants const& start,
                                                ScaleUpOf const& up_of, NetworkPriorSpreads const& spreads,
                                                FitOptions const& options);

/// As calibration files have factors, errors and their logarithms.
double four_decimals(double value);

/// Of a row by constants alone, without corrections.
CollectiveCurve structural_curve(CollectiveMeasurement const& row, ScaleUpConstants const& up,
                                 ScaleOutConstants const* out);
Seconds structural_time(CollectiveMeasurement const& row, ScaleUpConstants const& up, ScaleOutConstants const* out);

/// The curve of a row's collective on its machine.
using CurveOf = std::function<CollectiveCurve(CollectiveMeasurement const&)>;

/// What the structure leaves unexplained, per collective and arrangement of ranks: knots every other octave with a
/// prior at no correction, and jumps at single sizes where at least two timings that count in full (of two runs, or in
/// place and out of place) are off the corrected curve to the same side by more than a seventh. `curve_of`: by
/// constants alone. All-reduces that ran without the switch's reduction have none: others run with it.
std::vector<NetworkCorrection> fit_corrections(MeasurementList const& rows, CurveOf const& curve_of,
                                               FitOptions const& options);

/// How a calibration is made.
struct NetworkFitChoices {
    std::string name;
    std::string title;
    std::string command;
    NetworkScope scope;
    /// Start and prior of the constants; absent: `tuner_scale_up`, `tuner_scale_out`.
    std::optional<ScaleUpConstants> up_start{};
    std::optional<ScaleOutConstants> out_start{};
    /// Scale-up constants that a scale-out section stands on when `rows` have none; absent: the cluster's network
    /// model, else the tuner's.
    ScaleUpOf up_of{};
    /// What is known of these ranks: the constants are fitted to what it leaves of times, and it stays for collectives
    /// and arrangements of ranks that the rows do not have.
    std::vector<NetworkCorrection> known{};
    NetworkPriorSpreads spreads{};
    FitOptions options{};
};

/// Constants and corrections from all of `rows`: a scale-up section where rows lie in one domain, a scale-out section
/// where rows lie over several. A class has no corrections. Intervals and held-out errors are added by whoever holds
/// rows out (`collective_score.hpp`).
/// @throws InputError when there are no rows.
NetworkCalibration fit_network(MeasurementList const& rows, NetworkFitChoices const& choices);

}  // namespace sextant
