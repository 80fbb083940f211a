#include "core/json/json_text.hpp"
#include "planner/exporters/deepspeed_settings.hpp"

#include <nlohmann/json.hpp>

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

Json zero_section(ParallelPlan const& p) {
    Json zero{{"stage", p.zero}};
    if (p.dp * p.cp > 1) zero["overlap_comm"] = true;
    if (p.zero == 3 && p.shard_group > 0) zero["mics_shard_size"] = p.shard_group;
    if (offloads_optimizer(p)) zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
    return zero;
}

}  // namespace

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
    json["zero_optimization"] = zero_section(p);
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
