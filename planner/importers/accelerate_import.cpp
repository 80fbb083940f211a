#include "core/error.hpp"
#include "planner/importers/argument_reader.hpp"
#include "planner/importers/deepspeed_settings.hpp"
#include "planner/importers/read_values.hpp"
#include "planner/importers/yaml_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

// Keys of `accelerate config`: accelerate/utils/dataclasses.py and parallelism_config.py of Accelerate 1.10.

namespace sextant {
namespace {

std::string upper_case(std::string text) {
    for (char& c : text)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return text;
}

Precision mixed_precision(YamlValues& in) {
    std::string const name = upper_case(in.text("mixed_precision").value_or("no"));
    if (name == "BF16") return Precision::bf16;
    if (name == "FP16") return Precision::fp16;
    if (name == "FP8") return Precision::fp8;
    if (name == "NO" || name == "FALSE") return Precision::fp32;
    throw InputError("{}: mixed_precision: '{}' (no, fp16, bf16 or fp8)", in.where(), name);
}

struct ShardingStrategy {
    std::string_view name;
    std::string_view number;  ///< as torch.distributed.fsdp.ShardingStrategy counts them
    int zero;
    bool hybrid;
};
constexpr std::array sharding_strategies{
    ShardingStrategy{"FULL_SHARD", "1", 3, false}, ShardingStrategy{"SHARD_GRAD_OP", "2", 2, false},
    ShardingStrategy{"NO_SHARD", "3", 0, false}, ShardingStrategy{"HYBRID_SHARD", "4", 3, true},
    ShardingStrategy{"HYBRID_SHARD_ZERO2", "5", 2, true}};

/// FSDP 1 shards as its strategy says, within a machine where that is a hybrid.
void read_first_fsdp(YamlValues& in, ForeignPlan& out, std::optional<std::int64_t> processes) {
    auto const strategy = in.text("fsdp_config.fsdp_sharding_strategy");
    auto const newer = in.text("fsdp_config.fsdp_reshard_after_forward");
    std::string const name = upper_case(strategy ? *strategy : newer.value_or("FULL_SHARD"));
    auto const found = std::find_if(sharding_strategies.begin(), sharding_strategies.end(),
                                    [&](ShardingStrategy const& s) { return s.name == name || s.number == name; });
    if (found == sharding_strategies.end())
        throw InputError(
            "{}: fsdp_config.fsdp_sharding_strategy: '{}' (FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD or "
            "HYBRID_SHARD_ZERO2)",
            in.where(), name);
    out.plan.zero = found->zero;
    std::int64_t const machines = in.degree("num_machines");
    if (!found->hybrid || machines == 1) return;
    if (processes && *processes % machines != 0)
        throw InputError("{}: num_processes: {} are no multiple of the {} machines", in.where(), *processes, machines);
    if (processes)
        out.plan.shard_group = *processes / machines;
    else
        out.warnings.push_back(
            "fsdp_config.fsdp_sharding_strategy: say --shard-group, since the file has no num_processes");
}

/// FSDP 1 alone: weights for the backward are gathered ahead of it where it fetches before or after the layer at work.
/// Source: PyTorch, notes on FSDP (explicit backward prefetching); accelerate/utils/dataclasses.py (none by default).
void warn_of_prefetch(YamlValues& in, ForeignPlan& out) {
    std::string const when = upper_case(in.text("fsdp_config.fsdp_backward_prefetch").value_or("NO_PREFETCH"));
    if (when == "NO_PREFETCH")
        out.warnings.emplace_back(
            "fsdp_config.fsdp_backward_prefetch: with NO_PREFETCH, Accelerate's default, no layer's weights are "
            "gathered ahead of its backward; they are counted as gathered ahead, as with BACKWARD_PRE, so a step that "
            "ran may have taken longer");
}

void read_fsdp(YamlValues& in, ForeignPlan& out, std::optional<std::int64_t> processes) {
    ParallelPlan& p = out.plan;
    std::int64_t const version = in.integer("fsdp_config.fsdp_version", 1).value_or(1);
    if (version > 2) throw InputError("{}: fsdp_config.fsdp_version: {} (1 or 2)", in.where(), version);
    if (version == 2)
        p.zero = in.flag("fsdp_config.fsdp_reshard_after_forward").value_or(true) ? 3 : 2;
    else
        read_first_fsdp(in, out, processes);
    if (version == 1) warn_of_prefetch(in, out);
    if (in.flag("fsdp_config.fsdp_activation_checkpointing").value_or(false)) p.recompute = Recompute::full;
}

/// What Accelerate gives DeepSpeed where the file names no JSON.
std::string deepspeed_json(YamlValues& in) {
    auto const device = [&](char const* name) {
        std::string const text = in.text(std::string("deepspeed_config.") + name).value_or("none");
        if (text != "none" && text != "cpu" && text != "nvme")
            throw InputError("{}: deepspeed_config.{}: '{}' (none, cpu or nvme)", in.where(), name, text);
        return text;
    };
    std::int64_t const stage = in.integer("deepspeed_config.zero_stage", 0).value_or(2);
    std::string const steps = "deepspeed_config.gradient_accumulation_steps";
    std::string accumulation = "\"auto\"";
    if (in.text(steps).value_or("auto") != "auto") accumulation = std::to_string(*in.integer(steps, 1));
    return fmt::format(
        R"({{"gradient_accumulation_steps": {},
            "zero_optimization": {{"stage": {}, "offload_optimizer": {{"device": "{}"}},
            "offload_param": {{"device": "{}"}}}}}})",
        accumulation, stage, device("offload_optimizer_device"), device("offload_param_device"));
}

/// Whether ranks with other data share their state.
enum class DataRanks : std::uint8_t { replicate, shard };

/// dp_replicate x dp_shard x cp (or sp) x tp; weights are sharded over the context-parallel ranks as well.
void read_mesh(YamlValues& in, ForeignPlan& out, std::optional<std::int64_t> processes, DataRanks data) {
    ParallelPlan& p = out.plan;
    auto const size = [&](char const* axis) {
        return fmt::format("parallelism_config.parallelism_config_{}_size", axis);
    };
    auto const replicas = in.integer(size("dp_replicate"), 1);
    auto const shard = in.integer(size("dp_shard"), 1);
    p.tp = in.degree(size("tp"));
    std::int64_t const rings = in.degree(size("cp")), exchanges = in.degree(size("sp"));
    if (rings > 1 && exchanges > 1)
        throw InputError("{}: parallelism_config: cp {} and sp {} at once (one of them)", in.where(), rings, exchanges);
    if (rings * exchanges > 1) p.cp = rings * exchanges;
    std::string const way = in.text("parallelism_config.parallelism_config_cp_comm_strategy").value_or("allgather");
    if (rings > 1) p.cp_mode = way == "alltoall" ? ContextParallel::ring : ContextParallel::all_gather;
    if (exchanges > 1) p.cp_mode = ContextParallel::ulysses;
    if (!replicas && !shard) return;
    std::int64_t const ranks = replicas.value_or(1) * shard.value_or(1);
    if (processes && ranks * p.tp * p.cp != *processes)
        throw InputError(
            "{}: parallelism_config: dp_replicate x dp_shard x tp x cp = {} x {} x {} x {} ranks, but num_processes is "
            "{}",
            in.where(), replicas.value_or(1), shard.value_or(1), p.tp, p.cp, *processes);
    std::int64_t const group = shard.value_or(1) * p.cp;
    if (data == DataRanks::replicate) return;
    if (group == 1) p.zero = 0;
    if (group > 1 && replicas.value_or(1) > 1) p.shard_group = group;
}

void warn_of_the_rest(YamlValues& in, ForeignPlan& out) {
    out.warnings.push_back(fmt::format(
        "micro-batch, {}sequence and gradient checkpointing are the training script's to say: --micro-batch, "
        "{}--seq and --recompute (for plan, --micro-batch restricts the search)",
        out.accumulation ? "" : "accumulation, ", out.accumulation ? "" : "--global-batch, "));
    for (char const* key : {"dynamo_backend", "dynamo_config.dynamo_backend"}) {
        std::string const backend = upper_case(in.text(key).value_or("NO"));
        if (backend != "NO" && backend != "EAGER")
            out.warnings.push_back(fmt::format("{}: compiled layers are counted as run op by op", key));
    }
    constexpr std::array harmless = std::to_array<std::string_view>({"compute_environment",
                                                                     "debug",
                                                                     "downcast_bf16",
                                                                     "enable_cpu_affinity",
                                                                     "gpu_ids",
                                                                     "machine_rank",
                                                                     "main_process_ip",
                                                                     "main_process_port",
                                                                     "main_training_function",
                                                                     "rdzv_backend",
                                                                     "same_network",
                                                                     "tpu_",
                                                                     "deepspeed_config.deepspeed_",
                                                                     "deepspeed_config.gradient_clipping",
                                                                     "deepspeed_config.zero3_",
                                                                     "deepspeed_config.offload_",
                                                                     "dynamo_config.",
                                                                     "fsdp_config.fsdp_auto_wrap_policy",
                                                                     "fsdp_config.fsdp_backward_prefetch",
                                                                     "fsdp_config.fsdp_cpu_ram",
                                                                     "fsdp_config.fsdp_forward_prefetch",
                                                                     "fsdp_config.fsdp_min_num_params",
                                                                     "fsdp_config.fsdp_state_dict_type",
                                                                     "fsdp_config.fsdp_sync_module_states",
                                                                     "fsdp_config.fsdp_transformer_layer_cls",
                                                                     "fsdp_config.fsdp_use_orig_params",
                                                                     "parallelism_config.parallelism_config_sp_",
                                                                     "use_parallelism_config",
                                                                     "fp8_config."});
    note_values_left(out, in.not_asked(), in.missing(), harmless);
}

}  // namespace

std::optional<std::string> accelerate_deepspeed_file(std::string_view yaml, std::string_view where) {
    return YamlValues(yaml, where).text("deepspeed_config.deepspeed_config_file");
}

ForeignPlan import_accelerate(std::string_view yaml, std::string_view deepspeed, std::string_view where,
                              ModelSpec const& model) {
    YamlValues in(yaml, where);
    auto const type = in.text("distributed_type");
    auto processes = in.integer("num_processes", 1);
    if (!type && !processes)
        throw InputError("{}: neither distributed_type nor num_processes (what `accelerate config` writes is expected)",
                         where);
    std::string const name = upper_case(type.value_or("NO"));
    if (name == "NO" && !processes) processes = 1;
    if (in.flag("use_cpu").value_or(false)) throw InputError("{}: use_cpu: training on processors is not read", where);
    static_cast<void>(in.degree("num_machines"));  // of use to some strategies alone
    ForeignPlan out;
    out.accelerators = processes;
    out.plan.precision = mixed_precision(in);
    if (name == "FSDP") {
        read_fsdp(in, out, processes);
        read_mesh(in, out, processes, DataRanks::shard);
        if (in.flag("fsdp_config.fsdp_offload_params").value_or(false))
            offload_by_fsdp(out, "fsdp_config.fsdp_offload_params");
    } else if (name == "DEEPSPEED" || name == "NO" || (name.starts_with("MULTI_") && name != "MULTI_CPU")) {
        read_mesh(in, out, processes, DataRanks::replicate);
    } else {
        throw InputError("{}: distributed_type: '{}' is not read (NO, MULTI_GPU, FSDP or DEEPSPEED)", where, name);
    }
    if (name == "DEEPSPEED") {
        add_deepspeed(out, deepspeed.empty() ? deepspeed_json(in) : std::string(deepspeed), where, model);
    } else {
        out.framework = "transformers";
        set_data_parallel(out);
    }
    warn_of_the_rest(in, out);
    return out;
}

}  // namespace sextant
