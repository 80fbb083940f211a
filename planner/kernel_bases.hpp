#pragma once

#include "core/spec/hardware_profile.hpp"
#include "core/spec/kernel_constants.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

/// Whose measurements stand behind the constants of a kernel on a device, the nearest first.
enum class KernelBasis : std::uint8_t {
    device,      ///< its own, or a calibration that was given
    generation,  ///< others of its generation
    others,      ///< another generation, whose kernels it runs
    any          ///< any device: nobody measured one that is near
};

/// Of one kernel, as `choose_kernel` takes its constants: those of the 16-bit format that runs as this one count too.
KernelBasis kernel_basis(AcceleratorProfile const& accelerator, KernelKind kind, std::string_view variant);

/// Of products and of attention, whose times make up a step or an iteration.
struct KernelBases {
    KernelBasis format = KernelBasis::any;     ///< products in the format asked for
    KernelBasis products = KernelBasis::any;   ///< in that format or in two bytes, the nearer
    KernelBasis attention = KernelBasis::any;  ///< over prompts, and over a cache where one is read: the farther
    [[nodiscard]] KernelBasis farthest() const { return products > attention ? products : attention; }
    /// What is of `basis` or farther: "kernels", "products" or "attention".
    [[nodiscard]] std::string_view farther(KernelBasis basis) const;
};
KernelBases training_kernels(AcceleratorProfile const& accelerator, std::string_view format);
KernelBases serving_kernels(AcceleratorProfile const& accelerator, std::string_view format);

}  // namespace sextant
