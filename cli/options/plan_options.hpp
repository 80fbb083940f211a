#pragma once

#include "cli/command.hpp"
#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "planner/report.hpp"
#include "planner/search_space.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// The options that `plan`, `estimate`, `memory` and `flops` share (DESIGN: the same flags mean the same everywhere).
/// Integer axes are kept as text: `estimate` wants one number, `plan` also takes lists and ranges.
struct PlanOptions {
    std::string model;
    std::string cluster;
    std::string framework = "megatron";
    std::string accelerators;
    std::optional<std::int64_t> sequence;
    std::optional<std::int64_t> global_batch;
    std::optional<std::int64_t> document;  ///< tokens per packed document
    std::string preference = "none";       ///< training on pairs of sequences
    std::string dp, tp, pp, cp, ep, vpp, micro_batch, zero;
    std::optional<std::int64_t> expert_tp;
    double expert_imbalance = 1;
    std::int64_t shard_group = 0;
    std::optional<std::int64_t> recompute_layers;  ///< 0: all of a stage
    std::int64_t offload_layers = 0;
    std::string recompute, recompute_modules, keep_activations, schedule, offload, offload_activations, cp_mode,
        moe_dispatcher, gradients;
    std::string precision;  ///< empty: the first of bf16, fp16, fp32 that the accelerator has
    std::string optimizer = "adamw";
    std::optional<bool> sequence_parallel;
    std::string attention;  ///< kernel; empty: as the flag says, else flash
    std::optional<bool> flash_attention;
    bool dropout = false;
    bool fused_cross_entropy = false;
    bool fp8_activation_input = false;
    bool narrow_copies = false;
    std::int64_t loss_chunks = 1;
    std::vector<std::int64_t> stage_layers;
    std::optional<std::int64_t> lora_rank;  ///< absent: every weight is trained
    std::string lora_targets, base_weights;
    std::string max_memory;
    std::optional<double> price;
    std::optional<std::int64_t> mtp_modules;  ///< that a file of others states; absent: the model's
    /// Files of others (cli/export/plan_import.hpp).
    std::string from_megatron, from_deepspeed, from_torchtitan, from_accelerate;
};

enum class Axes : std::uint8_t {
    single,  ///< one plan: each degree is a number
    search,  ///< each degree is a number, a list or a range
};

enum class Machine : std::uint8_t {
    required,  ///< --cluster must be given
    none,      ///< the command asks nothing of a machine: no --cluster, --framework, --price, --max-memory
};

/// Adds the shared options to a command.
void add_plan_options(CLI::App& app, PlanOptions& options, Axes axes, Machine machine = Machine::required);

/// Adds the options of adapters on frozen weights (LoRA, QLoRA).
void add_adapter_options(CLI::App& app, PlanOptions& options);

/// What the options name, found and checked.
struct Subject {
    ModelSpec model;
    ClusterSpec cluster;
    FrameworkProfile framework;
    Workload workload;
    MemoryLimit limit;
};

/// Accelerators that the options name; a list only for `plan --gpus 64,128`.
std::vector<std::int64_t> accelerator_counts(PlanOptions const& options, ClusterSpec const& cluster);

/// The workload that the options describe, with the defaults below.
Workload find_workload(PlanOptions const& options, ModelSpec const& model);

/// The part of the options that knows no model.
struct MachineSubject {
    ClusterSpec cluster;  ///< with the price asked for
    FrameworkProfile framework;
    MemoryLimit limit;
};
MachineSubject find_machine(PlanOptions const& options);

/// Looks everything up. Defaults: the longest sequence up to 8192 that the model was built for; a global batch of about
/// four million tokens, a multiple of what the plan needs. @throws InputError for anything unknown or out of range.
Subject find_subject(PlanOptions const& options);

/// The optimizer of --optimizer. @throws InputError: no such one, or its state does not go with the precision.
Optimizer optimizer_for(std::string const& text, Precision precision);

/// The one plan that the options describe, dp being what is left of the accelerators (of `cluster`, if there is one).
ParallelPlan single_plan(PlanOptions const& options, ClusterSpec const* cluster);
/// The same with the schedule, the ZeRO stage and the layers on stages that the framework usually has, where the
/// options leave them open.
ParallelPlan single_plan(PlanOptions const& options, Subject const& subject);

/// The constraints that the options put on a search over this cluster.
SearchConstraints search_constraints(PlanOptions const& options, ClusterSpec const& cluster,
                                     FrameworkProfile const& framework);

}  // namespace sextant::cli
