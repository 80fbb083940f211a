#pragma once

#include "planner/exporters/launch_plan.hpp"

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {

struct ExportedFile {
    std::string name;
    std::string text;
};

/// Something of a plan that a framework has no words for.
struct NotExpressed {
    std::string field;    ///< as in the JSON of a plan, "schedule"
    std::string message;  ///< what is missing, and what the file has instead
};

/// What an exporter made of a plan.
struct Export {
    std::vector<ExportedFile> files;  ///< the first is the main one
    std::vector<NotExpressed> not_expressed{};
    ParallelPlan expressed{};            ///< the plan that the files describe
    std::vector<std::string> command{};  ///< what a node runs, in the folder of the files
    /// The command reads where the other nodes are from JAX_COORDINATOR_IP, JAX_COORDINATOR_PORT, NNODES and NODE_RANK,
    /// which a job has to set.
    bool reads_coordinator = false;
    /// Whether `expressed` is what the files run; where not, no plan is, and nothing is predicted of them.
    bool predictable = true;
};

struct ExporterEntry;

/// A plan on its way into another program's words: what cannot be said is noted, and taken out of the plan.
class Translation {
public:
    explicit Translation(LaunchPlan const& launch) : plan(normal_form(launch.plan, launch.model)) {}

    template <class... Args>
    void cannot(std::string_view field, fmt::format_string<Args...> format, Args&&... args) {
        notes.push_back({std::string(field), fmt::format(format, std::forward<Args>(args)...)});
    }

    /// The same of what no plan is: what the files run then is not predicted.
    template <class... Args>
    void runs_otherwise(std::string_view field, fmt::format_string<Args...> format, Args&&... args) {
        cannot(field, format, std::forward<Args>(args)...);
        predictable = false;
    }

    /// Notes it unless `plan.*member` is `kept` already, and sets it to that.
    template <class T, class... Args>
    void replace(T ParallelPlan::*member, T kept, std::string_view field, fmt::format_string<Args...> format,
                 Args&&... args) {
        if (plan.*member == kept) return;
        cannot(field, format, std::forward<Args>(args)...);
        plan.*member = kept;
    }

    /// For a framework that trains every weight: notes that the plan trains adapters only.
    void leave_out_adapters();
    /// For a framework whose selective recompute is that of the attention core.
    void recompute_attention_core();
    /// For a framework that runs all of a layer again or nothing, and offloads all that it keeps.
    void leave_out_named_activations();
    /// For a framework that offloads the activations of all layers alike.
    void leave_out_offload_layers();
    /// For a framework that offloads the optimizer's state by FSDP's CPU offload, here called `setting`, which takes
    /// weights and gradients along.
    void offload_as_fsdp(std::string_view setting);
    /// For a framework that offloads no weights. Before all else: one rank then has no use for ZeRO.
    void leave_parameters_here(ModelSpec const& model);
    /// For a framework without Lion and Adafactor.
    void leave_out_other_optimizers(std::string_view framework);
    void leave_out_activation_input();
    void leave_out_narrow_copies();
    /// For a framework whose files do not say what gradients are added up in.
    void leave_out_gradients();

    /// The normal form of what is left; a field that changed only because others did is noted as well, and machines
    /// that the framework does not run on.
    void settle(ExporterEntry const& entry, LaunchPlan const& launch);

    ParallelPlan plan;
    std::vector<NotExpressed> notes;
    bool predictable = true;  ///< whether `plan` is what the files run
};

/// One format. Each file of exporters/ defines one as `extern constinit ExporterEntry const ..._exporter`, and
/// `exporter_catalog.cpp` lists it.
struct ExporterEntry {
    char const* name;                           ///< of `--format`
    char const* title;                          ///< "Megatron-LM arguments"
    char const* written;                        ///< the version of the framework whose words these are
    std::span<std::string_view const> vendors;  ///< whose accelerators these files run on
    Export (*write)(LaunchPlan const& launch);
};

std::span<ExporterEntry const* const> exporter_catalog();
/// @throws InputError with the known names and the nearest one.
ExporterEntry const& find_exporter(std::string_view name, std::string_view where);

/// Comment lines for the top of a file: what it is for, what was predicted, the checkpoint interval, what is a
/// placeholder, what is not expressed. Every line begins with "# ", none comes from outside unchecked.
std::string file_header(ExporterEntry const& entry, LaunchPlan const& launch, std::vector<NotExpressed> const& notes);

/// A shell script for one node of a run under torchrun: header, variables for the placeholders, a bash array
/// `arguments`, and the launch of `program` (as written into the script) with them.
struct TorchrunScript {
    std::string header;
    std::vector<std::pair<std::string, std::string>> environment{};  ///< exported, name and value
    std::string arguments{};                                         ///< lines of the array, from `ArgumentLines`
    std::string program;                                             ///< "pretrain_gpt.py", or "-m torchtitan.train"
};
std::string torchrun_script(LaunchPlan const& launch, TorchrunScript const& script);

/// Lines of a bash array: one option and its values a line.
class ArgumentLines {
public:
    void comment(std::string_view text);
    void flag(std::string_view option);
    /// Values are quoted.
    void option(std::string_view option, std::string_view value);
    void option(std::string_view option, std::int64_t value);
    /// Names of identifiers with blanks between, each a value of its own.
    void words(std::string_view option, std::string_view names);
    /// The value is a variable of the script, in double quotes.
    void variable(std::string_view option, std::string_view name);
    [[nodiscard]] std::string const& text() const { return text_; }

private:
    std::string text_;
};

}  // namespace sextant
