#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// What `calibrate fit --kernels` was asked to do.
struct KernelFitRequest {
    std::vector<std::string> tables;  ///< of kernel times (docs/formats.md)
    std::string device;               ///< whose; empty: every device that the rows name
    std::string out;                  ///< file of one device's calibration
    std::string catalogue;            ///< or folder of every calibration that ships
    unsigned threads = 0;
};

/// Fits the rows' kernels and writes the calibration, or with a catalogue one per device, per generation and for all.
int fit_kernel_tables(KernelFitRequest const& request, CommandContext& context);

}  // namespace sextant::cli
