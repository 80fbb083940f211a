#pragma once

#include "calibrate/kernel_fit.hpp"
#include "calibrate/least_squares.hpp"

#include <vector>

namespace sextant {

/// The constants of one kernel's rows as unknowns, each with what is believed of it: nearly nothing about the start of
/// `kernel_constants`, little about the constants of like kernels or of the class, much about those of the device
/// itself. Of a class much, too, where no row is bound by the constant: rows of other sizes cannot say it, and would
/// give it what the formula leaves of them. @pre there are rows
std::vector<FitParameter> kernel_parameters(std::vector<KernelMeasurement const*> const& rows,
                                            KernelFitChoices const& choices);

/// The most that a row's time moves with a constant: 1 where it is proportional to it.
double most_moved(std::vector<KernelMeasurement const*> const& rows, std::vector<double> const& constants,
                  std::size_t constant);

}  // namespace sextant
