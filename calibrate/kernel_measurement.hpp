#pragma once

#include "core/measurements/held_out.hpp"
#include "core/measurements/kernel_row.hpp"
#include "core/spec/hardware_profile.hpp"
#include "core/spec/kernel_calibration.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sextant {

/// One measured kernel on one device, ready to be fitted.
struct KernelMeasurement {
    KernelCase row;
    AcceleratorProfile const* device = nullptr;  ///< outlives the fit
    KernelKind kind = KernelKind::gemm;
    std::string variant;  ///< as `KernelFit::variant`
    std::string place{};  ///< "rows.csv line 7"; empty: not known
};

/// The row as a measurement; nothing for one that no model here is fitted to (published attention figures, rows without
/// a time, formats the device has no peak for, latent attention, products in a batch).
std::optional<KernelMeasurement> kernel_measurement(KernelCase const& row, AcceleratorProfile const& device);

/// Whether decodes of these rows that read several times what the last-level cache holds do so faster than memory can
/// bring it, one in four or more: their kernel cannot have read what the table says.
bool outruns_memory(std::vector<KernelMeasurement> const& rows);

/// Rows grouped by kernel and variant, in the order of `KernelKind` and of the variants' names.
struct KernelGroup {
    KernelKind kind = KernelKind::gemm;
    std::string variant;
    std::vector<KernelMeasurement> rows;
};
std::vector<KernelGroup> group_kernels(std::vector<KernelMeasurement> const& rows);

/// Predicted seconds of a row by constants alone, in the order of `kernel_constants`.
double model_seconds(KernelMeasurement const& row, std::span<double const> constants);

}  // namespace sextant
