#pragma once

#include "core/spec/hardware_profile.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/kernel_constants.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <span>

namespace sextant {

/// Scales the `memory` constant of a kernel by the profile's `memory_efficiency` over that of the class's devices; to
/// no more than the whole bandwidth where it was no more.
void scale_memory(std::span<double> constants, KernelKind kind, ClassProfile const& of_class,
                  AcceleratorProfile const& accelerator);

/// Vector peak over that of products in two bytes.
double vector_share(AcceleratorProfile const& accelerator);

/// Scales the `efficiency` constant of decodes where the device has more vector units beside its matrix units than the
/// class's devices: such kernels are bound by the instructions of a multiprocessor rather than by its matrix units. An
/// H20 has 0.15 of an H100's matrix peak, but 0.66 of its vector peak. Never above the matrix peak.
void scale_decode_compute(std::span<double> constants, ClassProfile const& of_class,
                          AcceleratorProfile const& accelerator);

/// Peak of products in two bytes over the power, in flop per joule; 0: no power is stated.
double flops_per_joule(AcceleratorProfile const& accelerator);

/// Scales what `heat` takes of products where the device does fewer flop for each joule that it may draw than the
/// class's devices: it has less to lose (an H20 a quarter of an H100's). A product of 8192 x 8192 x 8192, at which
/// profiles state what a device reaches, takes as long as before. Never more than the class's: what a device loses to a
/// lower power limit is in its stated share.
void scale_heat(std::span<double> constants, ClassProfile const& of_class, AcceleratorProfile const& accelerator);

/// The `efficiency` constant with which a product of 8192 x 8192 x 8192 reaches the share `stated` of the device's
/// peak, with the quantisation in the time; at most 1. To first order about the constants given.
double efficiency_for(double stated, GemmFormat const& format, KernelRates const& rates,
                      std::span<double const> constants);

}  // namespace sextant
