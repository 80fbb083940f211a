#pragma once

#include "cli/options/plan_options.hpp"
#include "planner/importers/foreign_plan.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sextant::cli {

/// Adds --from-megatron, --from-deepspeed and --from-torchtitan.
void add_import_options(CLI::App& app, PlanOptions& options);

/// Whether the command line has an option, "--tp".
using Given = std::function<bool(char const* option)>;
Given given_options(CLI::App const& app);

/// `options` with a plan in every option that is not given. What is left of the accelerators stays open, so that
/// another --tp or --gpus changes --dp.
PlanOptions with_plan(PlanOptions options, ParallelPlan const& plan, std::optional<std::int64_t> accelerators,
                      Given const& given);

/// The options with what the foreign file says, in all that is not given; the same where none is named. What the file
/// says besides goes to standard error. @throws InputError: unreadable, or what cannot be read in it.
PlanOptions with_import(PlanOptions const& options, CLI::App const& app, CommandContext& context);

/// A search takes the workload, the accelerators, precision and optimizer of the file and leaves the degrees open;
/// `present` has all of it.
struct SearchImport {
    PlanOptions search;
    std::optional<PlanOptions> present{};  ///< absent: no file is named
};
SearchImport import_for_search(PlanOptions const& options, CLI::App const& app, CommandContext& context);

/// Whether a foreign file is named, by whichever option.
bool names_import(PlanOptions const& options);

/// "; train.sh goes with llama-2-70b": the presets that a foreign file goes with, where no model is named. Empty
/// without a file, and where its sizes say too little.
std::string presets_of_import(CLI::App const& app);

/// The line that says how to ask for something better than an imported plan, for the same workload and machine as on
/// this command line; empty if none was imported. @param filled by `with_import`
std::string better_plan_line(PlanOptions const& filled, CLI::App const& app);

}  // namespace sextant::cli
