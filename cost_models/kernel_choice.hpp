#pragma once

#include "core/spec/hardware_profile.hpp"
#include "core/spec/kernel_calibration.hpp"

#include <array>
#include <memory>
#include <span>
#include <string_view>

namespace sextant {

/// The constants to use for one kernel on one device.
struct KernelChoice {
    static constexpr std::size_t most_constants = 20;
    std::array<double, most_constants> values{};
    std::size_t count = 0;
    KernelFit const* fit = nullptr;
    bool own = false;
    bool sister = false;                            ///< own, but of a format that runs as this one
    bool borrowed = false;                          ///< the fit is of products in a format that runs otherwise
    bool gridded = false;                           ///< the fit's grids belong to this device
    std::shared_ptr<KernelCalibration const> keep;  ///< holds what `fit` points into
    [[nodiscard]] bool of_device() const { return own || sister; }
    [[nodiscard]] bool of_class() const { return fit != nullptr && keep->is_class(); }
    /// Whether the fit is that of any device.
    [[nodiscard]] bool of_any() const { return of_class() && keep->generation == "*"; }
    [[nodiscard]] std::span<double> changeable() { return std::span(values).first(count); }
    [[nodiscard]] std::span<double const> constants() const { return std::span(values).first(count); }
};

/// The fit of the device itself, else of its class, else of any device, of this variant or of what it resembles most,
/// as far as the profile scales them at once; the starts of the constants where there is none.
KernelChoice choose_kernel(AcceleratorProfile const& accelerator, KernelKind kind, std::string_view variant);

/// The other 16-bit format of products, where the device multiplies both at one rate: the tiles and the bytes are the
/// same. Empty: there is none.
std::string_view sister_format(AcceleratorProfile const& accelerator, std::string_view variant);

/// Of what large products reach in the format that they multiply in, those reach whose narrow weights are widened to
/// it: the mean over the shipped devices that were measured in both; 1: none was.
double widened_share(GemmFormat const& format);

/// Head sizes that the fit has no rows of, by what they are to one another on any device.
void fill_head_sizes_of(KernelChoice& choice, std::string_view variant);

}  // namespace sextant
