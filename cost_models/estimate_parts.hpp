#pragma once

#include "core/units.hpp"
#include "cost_models/kernel_choice.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/kernel_rates.hpp"

#include <span>

// What the estimates of products and of attention are made of.
namespace sextant {

/// The model's time with the residual and the interval that belong to the choice.
KernelEstimate finish(Seconds time, KernelChoice const& choice, std::span<double const> at);

/// The interval of shapes beyond those that were measured. @pre there is a fit, of this format.
TimeInterval outside_of(KernelChoice const& choice);

/// Multiplies the rate of a kernel that was not measured on this device by what its profile says of it. `reached`: what
/// `efficiency` is of the devices that were; 0: not known.
double profile_scale(KernelChoice const& choice, double efficiency, double start, double reached);

/// The estimate and its interval no quicker than this.
void keep_above(KernelEstimate& estimate, Seconds least);

/// Grids of the same chip at a higher clock or power know nothing of this device's peak, nor do those of small products
/// of its own what large ones reach. A device that was measured above its peak is taken at that.
void keep_below_peak(KernelEstimate& estimate, double work, double peak, KernelChoice const& choice);

/// No quicker than memory brings what has to come from there.
void keep_within_bandwidth(KernelEstimate& estimate, Bytes least_read, KernelRates const& rates);

}  // namespace sextant
