#pragma once

#include "calibrate/network_catalogue.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// A row that was predicted by a fit which did not see its run (or, `by_class`, its platform).
struct HeldOutRow {
    CollectiveMeasurement const* row = nullptr;
    std::string entry;  ///< of `network_entries()`
    CalibrationRange range = CalibrationRange::inside;
    Seconds predicted;
    [[nodiscard]] double log_ratio() const;  ///< measured over predicted
};

/// Leaves each platform of the catalogue out of the classes and predicts its rows by them, then each run out of its
/// platform and predicts it by the others. `known`: scale-up calibrations from all rows, for the scale-out fits.
/// `report(entry)` is called before each platform.
std::vector<HeldOutRow> score_entries(MeasurementList const& rows, std::vector<NetworkCalibration> const& known,
                                      FitOptions const& options, std::function<void(std::string const&)> const& report);

/// Growth: four ranks of a domain and less predict up to eight, two domains predict up to eight.
std::vector<HeldOutRow> score_growth(MeasurementList const& rows, std::vector<NetworkCalibration> const& known,
                                     FitOptions const& options);

/// Leaves a fifth of the rows of each platform, by a hash of what was run, out of its fit in turn and predicts them by
/// the rest: how far another size of a run is off whose like was fitted.
std::vector<HeldOutRow> score_rows(MeasurementList const& rows, std::vector<NetworkCalibration> const& known,
                                   FitOptions const& options);

/// Sizes from which bands of intervals and errors begin.
std::vector<Bytes> const& size_bands();

/// 6 and 94 % quantiles of measured over predicted, by range, network and size band: of the entry's own held-out rows
/// where a band has at least 30, else of all rows of that range on networks of its kind, in which every platform weighs
/// the same; where fewer than five platforms have any, of all kinds. Widened to hold 1. `entry` is a platform or a
/// class.
std::vector<NetworkInterval> intervals_from(std::vector<HeldOutRow> const& rows, std::string const& entry,
                                            NetworkPart part);

/// Fewer held-out rows have no interval of their own.
inline constexpr std::size_t enough_for_interval = 30;

/// Rows of fewer runs say nothing of other collectives and groups, which an interval holds for, too (assumed).
inline constexpr std::size_t enough_runs = 3;

/// What `intervals_from` takes of one platform's own rows of the range, network and sizes of `like`. Of arrangements
/// that were measured (`inside`), where there are fewer than 30 or of fewer than three runs the sizes next to them are
/// taken in, until there are. Absent: there are too few.
std::optional<NetworkInterval> own_interval(NetworkInterval const& like, std::vector<HeldOutRow> const& rows);

/// Widens an interval until it holds what `intervals_from` would take of these rows: those of its network and sizes,
/// where they are few those of all sizes.
void widen_to(NetworkInterval& interval, std::vector<HeldOutRow> const& rows);

/// Median, 95 % quantile and bias of |predicted / measured - 1| by range, network and size band. Robustness rows are
/// left out.
std::vector<NetworkHeldOut> errors_from(std::vector<HeldOutRow> const& rows, std::string const& entry);

/// Puts the intervals and errors of `rows` into a calibration: those of its entry, or all `by_class` ones into a class.
void add_scores(NetworkCalibration& calibration, std::vector<HeldOutRow> const& rows, NetworkPart part);

/// A line per row: run, entry, collective, ranks, domains, bytes, measured and predicted time, range.
std::string held_out_csv(std::vector<HeldOutRow> const& rows);

/// How the calibration of one machine is fitted and judged.
struct FitChoices {
    double held_out = 0;  ///< share of the runs that are never fitted, chosen by a hash of their names
    std::string command;
    FitOptions options{.starts_from = StartsFrom::priors};
};

/// FNV-1a, mixed once more: the same on every machine.
std::uint64_t name_hash(std::string_view name);

/// Whether a run is held out: by a hash of its name.
bool is_held_out(std::string_view run, double share);

/// Constants of `cluster` from rows measured on it, starting at those that ship for it, else of its class. All rows are
/// fitted; errors and, where there are enough, intervals are those of leaving out each run in turn (of more than ten
/// runs a fifth). Of arrangements that one run alone has, `inside` intervals are those of leaving out every fourth size
/// in turn. Runs that are held out by `held_out` are never fitted, and alone give errors and intervals; where
/// none hashes so, or all do, it is as without.
/// @throws InputError when nothing is left to fit.
NetworkCalibration fit_with_held_out(MeasurementList const& rows, ClusterSpec const& cluster,
                                     FitChoices const& choices);

}  // namespace sextant
