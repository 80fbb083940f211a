#pragma once

#include "core/json/object_reader.hpp"
#include "core/spec/kernel_constants.hpp"
#include "core/spec/residual_grid.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Error of predictions for rows that no constant was fitted to.
struct HeldOutError {
    std::int64_t rows = 0;
    double median_pct = 0;
    double p95_pct = 0;
    double bias_pct = 0;
};

/// 80 % interval of a time, as factors on the prediction.
struct TimeInterval {
    double low = 1;
    double high = 1;
};

/// The same for predictions from `from` seconds on, up to that of the next band.
struct KernelInterval {
    double from_seconds = 0;
    TimeInterval factors;
};

/// Bounds of what a calibration may say: of an interval's factors, and of a grid's logarithms. Beyond, the rows
/// contradict one another.
inline constexpr double most_interval_factor = 1e3;
inline constexpr double most_grid_value = 6;

/// One kernel in one variant, fitted: the constants of its model, and what they leave unexplained.
struct KernelFit {
    KernelKind kind = KernelKind::gemm;
    std::string variant;                         ///< of a product its format, of attention "bf16/fp8" (compute/cache)
    std::vector<double> constants;               ///< in the order of `kernel_constants(kind)`
    std::vector<std::optional<double>> spreads;  ///< one standard deviation of each logarithm; absent: not identified
    ResidualGrid residual;                       ///< over the shape: logarithm of a factor on the time
    ResidualGrid waves;                          ///< of products, over `gemm_wave_coordinates`: of another such factor
    double large_efficiency = 0;                 ///< median fraction of peak of the largest shapes; 0: not known
    /// Of prefill: `attention_forward_efficiency` of the devices measured, their median; 0: not stated.
    double profile_efficiency = 0;
    /// Of products in a format that quantises: whether the rows hold the quantising, to which the grids belong then.
    bool with_quantising = true;
    std::int64_t doubted = 0;          ///< rows of attention too far from the others for the residual to follow them
    std::int64_t rows = 0;             ///< that the constants were fitted to
    std::vector<std::string> sources;  ///< of its rows; empty: all of the calibration's
    std::vector<std::uint32_t> seen;   ///< their shapes, each a `shape_mark`, ascending; empty: not stated
    HeldOutError held_out;
    std::vector<KernelInterval> intervals;  ///< inside the residual's range and near a row, by predicted time
    /// Of rows of one's own, where they lie: a `shape_cell` for each row, two at most of one cell, ascending; empty:
    /// everywhere inside the residual's range.
    std::vector<std::uint32_t> cells;
    std::vector<KernelInterval> apart;  ///< inside the range, but near none of the cells; empty: `outside`
    TimeInterval outside{0.6, 1.8};     ///< elsewhere

    /// Whether two rows lie within about an octave along every axis of the residual.
    [[nodiscard]] bool is_near_rows(std::span<double const> at) const;
};

/// The octave of a point along each axis of a residual (at most four), six bits each.
std::uint32_t shape_cell(std::span<double const> at);

/// What variants of attention end in that are of the backward pass: "bf16 sextant-bench/backward".
inline constexpr std::string_view backward_variant = "/backward";
/// Whose kernel a variant of attention is, as a training step runs it: "sdpa_flash" of "bf16 sdpa_flash/backward";
/// empty: no training library's.
std::string_view training_library(std::string_view variant);
/// PyTorch's FlashAttention-2, which has Ampere's instructions on later devices too.
inline constexpr std::string_view flash_attention_2 = "sdpa_flash";

/// What the profiles of the devices of a class say, the median over them: against it the profile of another device
/// scales the constants of the class. 0: not stated, nothing is scaled.
struct ClassProfile {
    double memory_efficiency = 0;
    double vector_share = 0;     ///< vector peak over that of products in two bytes
    double flops_per_joule = 0;  ///< peak of products in two bytes over the power
};

/// What the profile said of a device when its kernels were fitted: rates are fractions of these.
struct FittedSheet {
    std::map<Precision, FlopsPerSecond> peak;
    BytesPerSecond memory_bandwidth;
    Bytes l2;
    std::int64_t multiprocessors = 0;
};

/// Fitted kernels of one device, or of a class of devices.
struct KernelCalibration {
    std::string name;
    std::string title;
    std::vector<std::string> devices;  ///< accelerators by name; empty: a class
    std::string generation;            ///< of a class: its generation, "*": any
    /// Of a class whose measured devices have as many multiprocessors, the same chip in all likelihood: their number.
    /// Its grids belong to devices of about so many. 0: it has no grids.
    std::int64_t grid_multiprocessors = 0;
    ClassProfile profile;              ///< of a class
    std::optional<FittedSheet> sheet;  ///< of a device, where its file says so
    std::string command;               ///< that fitted it
    std::vector<std::string> sources;  ///< of the rows
    std::vector<KernelFit> fits;

    [[nodiscard]] bool is_class() const { return devices.empty(); }
    /// Whether its grids belong to a device of so many multiprocessors.
    [[nodiscard]] bool grids_hold(std::int64_t multiprocessors) const;
    /// The fit of this kernel and variant, or null.
    [[nodiscard]] KernelFit const* find(KernelKind kind, std::string_view variant) const;
};

/// Reads format `kernel-calibration`, version 1.
/// @throws InputError: an unknown or missing key, a constant outside of its bounds, a grid that does not fit.
KernelCalibration read_kernel_calibration(ObjectReader in);
/// The same from a file. @throws InputError also when it cannot be read.
KernelCalibration read_kernel_calibration_file(std::string const& path);
/// The text that `read_kernel_calibration` reads back with equal values (to the digits written).
std::string kernel_calibration_json(KernelCalibration const& calibration);

}  // namespace sextant
