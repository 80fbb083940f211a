#include "core/json/json_text.hpp"
#include "planner/deepspeed_bucket.hpp"
#include "planner/exporters/deepspeed_settings.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

Json zero_section(LaunchPlan const& launch, ParallelPlan const& p, int stage) {
    Json zero{{"stage", stage}};
    if (stage > 0) zero["reduce_bucket_size"] = std::llround(largest_layer_parameters(launch.model, p));
    if (p.dp * p.cp > 1) zero["overlap_comm"] = true;
    if (p.zero == 3 && p.shard_group > 0) zero["mics_shard_size"] = p.shard_group;
    if (offloads_optimizer(p)) zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
    if (offloads_parameters(p)) zero["offload_param"] = {{"device", "cpu"}, {"pin_memory", true}};
    return zero;
}

}  // namespace

int deepspeed_stage(LaunchPlan const& launch, ParallelPlan const& p) {
    if (p.zero > 0 || !offloads_optimizer(p)) return p.zero;
    int const most = launch.model.moe ? 2 : 3;  // ZeRO 3 is refused with experts
    return std::clamp(launch.plan.zero, 1, most);
}

std::string deepspeed_config(LaunchPlan const& launch, ParallelPlan const& p) {
    Json json{{"train_batch_size", launch.workload.global_batch},
              {"train_micro_batch_size_per_gpu", p.micro_batch},
              {"gradient_accumulation_steps", launch.workload.global_batch / (p.dp * p.micro_batch)}};
    if (p.optimizer == Optimizer::sgd)
        json["optimizer"] = {{"type", "SGD"}, {"params", {{"lr", launch.settings.learning_rate}, {"momentum", 0.9}}}};
    else
        json["optimizer"] = {{"type", "AdamW"}, {"params", {{"lr", launch.settings.learning_rate}}}};
    json["bf16"] = {{"enabled", p.precision == Precision::bf16}};
    json["fp16"] = {{"enabled", p.precision == Precision::fp16}};
    int const stage = deepspeed_stage(launch, p);
    json["zero_optimization"] = zero_section(launch, p, stage);
    // DeepSpeed's ZeRO refuses optimizers that it was not tested with, SGD among them.
    if (p.optimizer == Optimizer::sgd && stage > 0) json["zero_allow_untested_optimizer"] = true;
    if (p.cp > 1) {
        json["sequence_parallel_size"] = p.cp;
        json["data_parallel_size"] = p.dp;
    }
    if (p.recompute == Recompute::full)
        json["activation_checkpointing"] = {{"partition_activations", false},
                                            {"cpu_checkpointing", offloads_activations(p)}};
    json["gradient_clipping"] = 1.0;
    return json_text(json, 2) + "\n";
}

}  // namespace sextant
