#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace sextant {

/// How often to write a checkpoint (docs/goodput.md).
struct CheckpointPlan {
    Seconds interval{};
    std::int64_t steps = 0;  ///< of training in one interval, at least one
    std::string basis;       ///< "every 12 min: ..."
};

/// What the launch files need besides the plan; nothing of it changes the prediction.
struct LaunchSettings {
    std::string data = "REPLACE_WITH_DATA_PATH";
    std::string tokenizer = "REPLACE_WITH_TOKENIZER_PATH";
    std::string checkpoints = "REPLACE_WITH_CHECKPOINT_FOLDER";
    std::string image = "REPLACE_WITH_CONTAINER_IMAGE";
    std::int64_t steps = 1000;      ///< placeholder unless given
    double learning_rate = 3.0e-4;  ///< placeholder unless given
    std::optional<std::int64_t> per_node{};
};

/// A plan to be written in another program's words.
struct LaunchPlan {
    ModelSpec model;
    ClusterSpec cluster;
    Workload workload;
    ParallelPlan plan;
    LaunchSettings settings;
    CheckpointPlan checkpoint;
    std::string summary;  ///< one line on what was predicted, empty: nothing

    std::int64_t nodes = 1;
    std::int64_t per_node = 1;  ///< processes of a node, one per accelerator

    [[nodiscard]] std::int64_t microbatches() const { return workload.global_batch / (plan.dp * plan.micro_batch); }
};

/// Checks the texts and divides the accelerators over nodes: `per_node` each. Without a number, a scale-up domain is a
/// node if it has at most eight accelerators, else nodes have four, as in NVL72 racks and on TPU hosts (assumed;
/// `--gpus-per-node` overrides it); fewer where these do not divide them evenly, or cut a tensor-parallel group.
/// @throws InputError: the plan breaks a structural rule of the model, a text that no file can hold.
LaunchPlan make_launch_plan(ModelSpec model, ClusterSpec cluster, Workload const& workload, ParallelPlan const& plan,
                            LaunchSettings settings);

/// The interval between checkpoints that loses least under the failure rates of Llama 3, for a step of this length
/// (`run_goodput`).
CheckpointPlan checkpoint_plan(ClusterSpec const& cluster, struct FrameworkProfile const& framework,
                               ModelSpec const& model, ParallelPlan const& plan, Seconds step_time);

/// The same plan with one spelling for what makes no difference: a shard group of all ranks is 0, a balanced split of
/// the layers is empty, ZeRO over groups of one rank is 0, and so on. Two plans with the same normal form are the same
/// plan: they take the same time and memory.
ParallelPlan normal_form(ParallelPlan plan, ModelSpec const& model);

/// Layers of each chunk in model order, balanced where the plan does not say.
std::vector<std::int64_t> chunk_layers(ParallelPlan const& plan, ModelSpec const& model);
/// Layers of the pipeline rank that has most.
std::int64_t most_layers_of_stage(ParallelPlan const& plan, ModelSpec const& model);

/// Names of the fields in which two plans differ, as in the JSON of a plan.
std::vector<std::string> differing_fields(ParallelPlan const& a, ParallelPlan const& b);

}  // namespace sextant
