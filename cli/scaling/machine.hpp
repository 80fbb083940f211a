#pragma once

#include "core/spec/precision.hpp"
#include "cost_models/scaling/training_budget.hpp"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sextant::cli {

/// The options that say what a FLOP takes and costs.
struct ScalingMachineOptions {
    std::string cluster;
    std::optional<double> gpus;
    std::optional<double> price;
    std::optional<double> mfu;
    std::string precision = "bf16";
};
void add_machine_options(CLI::App& app, ScalingMachineOptions& options);

/// Machines with where their numbers come from.
struct ScalingMachine {
    TrainingMachines machines;
    std::string cluster;
    std::optional<double> usd_per_hour;    ///< of an accelerator, where a price is known
    std::string text;                      ///< "h100-sxm: 989.4 TFLOP/s bf16, MFU 40 %, 2.50 USD/h"
    std::vector<std::string> assumptions;  ///< what was not given
};

/// MFU when none is given. Source: assumed, between the 0.38-0.43 of Llama 3 (arXiv:2407.21783, table 4) and careful
/// dense runs above it.
inline constexpr double usual_mfu = 0.4;

/// Nothing without --cluster. @throws InputError: an unknown cluster, a price, share or number out of range, or a
/// flag that needs --cluster without it.
std::optional<ScalingMachine> machine_from(ScalingMachineOptions const& options);

/// An option whose value zero means "not given" inside: from the command line zero is refused like a negative number.
CLI::Option* add_positive(CLI::App& app, std::string const& flag, double& target, std::string const& what);

}  // namespace sextant::cli
