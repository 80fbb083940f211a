#pragma once

#include "core/measurements/held_out.hpp"
#include "core/measurements/kernel_row.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/hardware_profile.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "planner/validation/score.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// Constants that leave a kernel's time as it is when it runs alone: every factor 1, nothing hidden, no gaps.
FrameworkTiming kernel_alone();

/// assumed: the 80 % interval of attention of another library than those of the fits.
inline constexpr TimeInterval other_library_factors{.low = 0.6, .high = 1.6};

/// Of the devices whose constants a kernel of this case runs by: that of the device, or of another whose instructions
/// it multiplies by (cards of Blackwell: "ada").
std::string generation_of_kernels(KernelCase const& c, AcceleratorProfile const& accelerator);

/// Time of the kernel on an otherwise idle accelerator, by `cost_models/kernel_estimate.hpp`, as a benchmark that
/// repeats it sees it: operands in cache where they fit, and the quantisation of activations included where the tables
/// include it.
/// @throws RowSkip when the device has no matrix products in this format, or not the kernel's instructions.
KernelEstimate predicted_time(KernelCase const& c, AcceleratorProfile const& accelerator);

/// Whether it is attention of a training library that the device has no fit of: its interval is
/// `other_library_factors`.
bool is_of_other_library(KernelCase const& c, AcceleratorProfile const& accelerator);

/// How the row stands to the constants that predict it: whether the device's fit saw it.
RowGroup split_of(KernelCase const& c, AcceleratorProfile const& accelerator);

/// Predictions for tables of kernel times.
class KernelPredictor {
public:
    /// `profile`: an accelerator by name or file that replaces the one of every row; empty: by the row's device.
    /// `calibration`: a file of format kernel-calibration, for the devices that it names (of a class: for `profile`)
    /// instead of what ships. @throws InputError when it is of another device than `profile`.
    explicit KernelPredictor(std::string const& profile = "", std::string const& calibration = "");

    /// In the order of the rows. @throws InputError when it is no table of kernel times, or for a cell that is no
    /// number, negative or not finite.
    [[nodiscard]] std::vector<ScoredRow> predict(CsvTable const& table) const;

private:
    [[nodiscard]] ScoredRow predict(KernelTable kind, RowCells const& row, std::optional<KernelCase>& read) const;
    [[nodiscard]] AcceleratorProfile const* accelerator_of(std::string const& device) const;
    std::optional<AcceleratorProfile> profile_;
    std::vector<AcceleratorProfile> calibrated_;  ///< devices whose constants are those of the file
};

}  // namespace sextant
