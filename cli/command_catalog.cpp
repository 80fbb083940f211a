#include "cli/command.hpp"

#include <array>

namespace sextant::cli {

extern constinit CommandEntry const plan_command;
extern constinit CommandEntry const estimate_command;
extern constinit CommandEntry const simulate_command;
extern constinit CommandEntry const collective_command;
extern constinit CommandEntry const memory_command;
extern constinit CommandEntry const flops_command;
extern constinit CommandEntry const hardware_command;
extern constinit CommandEntry const models_command;
extern constinit CommandEntry const validate_command;
extern constinit CommandEntry const calibrate_command;
extern constinit CommandEntry const goodput_command;
extern constinit CommandEntry const trials_command;
extern constinit CommandEntry const run_plan_command;
extern constinit CommandEntry const scaling_command;
extern constinit CommandEntry const serve_command;
extern constinit CommandEntry const rl_command;
extern constinit CommandEntry const export_command;
extern constinit CommandEntry const sweep_command;
extern constinit CommandEntry const merge_command;
extern constinit CommandEntry const completion_command;
extern constinit CommandEntry const man_command;
extern constinit CommandEntry const doctor_command;
extern constinit CommandEntry const tables_command;

namespace {

constexpr std::array catalog{
    // A training step, the run it is part of, serving, and what these rest on.
    &plan_command,
    &estimate_command,
    &simulate_command,
    &run_plan_command,
    &goodput_command,
    &trials_command,
    &scaling_command,
    &serve_command,
    &rl_command,
    &export_command,
    &collective_command,
    &memory_command,
    &flops_command,
    &validate_command,
    &calibrate_command,
    &models_command,
    &hardware_command,
    &sweep_command,
    &merge_command,
    // About the program itself.
    &completion_command,
    &man_command,
    &doctor_command,
    &tables_command,
};

}  // namespace

std::span<CommandEntry const* const> command_catalog() { return catalog; }

}  // namespace sextant::cli
