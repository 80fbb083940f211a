#include "core/error.hpp"
#include "core/graph/stage_layout.hpp"
#include "planner/importers/argument_reader.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "planner/importers/read_values.hpp"
#include "planner/importers/toml_values.hpp"
#include "planner/torchtitan_models.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

struct ScheduleClass {
    std::string_view name;
    Schedule schedule;
    std::int64_t chunks;  ///< per rank where the file does not say
};
constexpr std::array schedule_classes{ScheduleClass{"1F1B", Schedule::one_f_one_b, 1},
                                      ScheduleClass{"GPipe", Schedule::gpipe, 1},
                                      ScheduleClass{"Interleaved1F1B", Schedule::interleaved, 2},
                                      ScheduleClass{"LoopedBFS", Schedule::breadth_first, 2},
                                      ScheduleClass{"ZBVZeroBubble", Schedule::zb_v, 2},
                                      ScheduleClass{"DualPipeV", Schedule::dualpipe_v, 2},
                                      ScheduleClass{"InterleavedZeroBubble", Schedule::interleaved, 2}};

void check_flavor(TomlValues& in, ForeignPlan& out, ModelSpec const& model) {
    auto const name = in.text("model.name");
    auto const flavor = in.text("model.flavor");
    auto const found = std::find_if(torchtitan_models.begin(), torchtitan_models.end(), [&](TorchtitanModel const& m) {
        return name == m.family && flavor == m.flavor && m.is_in(TorchtitanRelease::v0_2);
    });
    if (found == torchtitan_models.end()) {
        if (flavor) out.ignored.emplace_back("model.flavor");
        return;
    }
    check_model_size({.layers = found->layers,
                      .hidden = found->hidden,
                      .heads = found->heads,
                      .experts = found->experts,
                      .kv_heads = found->kv_heads},
                     model, in.where() + ": model.flavor: " + std::string(found->flavor));
}

ScheduleClass schedule_class(TomlValues& in, ForeignPlan& out) {
    std::string const name = in.text("parallelism.pipeline_parallel_schedule").value_or("1F1B");
    for (ScheduleClass const& entry : schedule_classes)
        if (entry.name == name) {
            if (name == "InterleavedZeroBubble")
                out.warnings.emplace_back("InterleavedZeroBubble is counted as Interleaved1F1B");
            return entry;
        }
    throw InputError(
        "{}: parallelism.pipeline_parallel_schedule: '{}' is not known (1F1B, GPipe, Interleaved1F1B, "
        "LoopedBFS, ZBVZeroBubble, DualPipeV or InterleavedZeroBubble)",
        in.where(), name);
}

std::vector<std::int64_t> layers_of_parts(std::vector<std::vector<std::string>> const& parts) {
    std::vector<std::int64_t> layers;
    for (auto const& part : parts)
        layers.push_back(
            std::count_if(part.begin(), part.end(), [](auto const& m) { return m.starts_with("layers."); }));
    return layers;
}

/// Layers that embedding and output stand for where torchtitan spreads the layers itself.
struct EndWeights {
    std::int64_t first = 1;
    std::int64_t last = 1;
};

EndWeights read_weights(TomlValues& in) {
    auto const weight = [&](char const* end) {
        return in.integer(fmt::format("parallelism.pipeline_parallel_{}_stage_less_layers", end), 0).value_or(1);
    };
    return {.first = weight("first"), .last = weight("last")};
}

/// Layers of each stage as torchtitan spreads them: embedding and output count as layers of the first and of the last
/// stage, and what is left over goes to the first stages. Empty where it refuses to: a stage without as many layers as
/// an end counts for. Source: generate_llm_fqn_per_model_part of torchtitan 0.2, distributed/pipeline_parallel.py.
std::vector<std::int64_t> spread_layers(std::int64_t layers, std::int64_t stages, EndWeights const& ends) {
    std::int64_t const units = layers + ends.first + ends.last;
    std::int64_t const each = units / stages;
    if (each < 1 || ends.first > each || ends.last > each) return {};
    std::vector<std::int64_t> held(static_cast<std::size_t>(stages), each);
    for (std::size_t i = 0; i < static_cast<std::size_t>(units % stages); ++i)
        ++held[i];
    held.front() -= ends.first;
    held.back() -= ends.last;
    return held;
}

/// Source: pipeline_llm of torchtitan 0.2, distributed/pipeline_parallel.py; PipelineScheduleMulti and the V-shaped
/// schedules of torch/distributed/pipelining/schedules.py.
void check_stage_count(TomlValues const& in, ScheduleClass const& schedule, std::int64_t stages, std::int64_t pp,
                       char const* key) {
    auto const refuse = [&](std::string const& why) {
        throw InputError("{}: parallelism.{}: {} (torchtitan refuses it)", in.where(), key, why);
    };
    if (stages % pp != 0) refuse(fmt::format("{} stages are no multiple of the {} ranks of the pipeline", stages, pp));
    std::int64_t const each = stages / pp;
    bool const folds = schedule.schedule == Schedule::zb_v || schedule.schedule == Schedule::dualpipe_v;
    if (schedule.chunks == 1 && each != 1)
        refuse(fmt::format("{} has one stage on each rank, and not {}", schedule.name, each));
    if (folds && each != 2) refuse(fmt::format("{} has two stages on each rank, and not {}", schedule.name, each));
    if (schedule.chunks > 1 && each < 2)
        refuse(fmt::format("{} has at least two stages on each rank, and not {}", schedule.name, each));
}

void read_pipeline(TomlValues& in, ForeignPlan& out, ModelSpec const& model) {
    ParallelPlan& p = out.plan;
    p.pp = in.degree("parallelism.pipeline_parallel_degree");
    ScheduleClass const schedule = schedule_class(in, out);
    auto const parts = in.lists("parallelism.module_fqns_per_model_part");
    auto const each = in.integer("parallelism.pipeline_parallel_layers_per_stage", 1);
    EndWeights const ends = read_weights(in);
    if (in.text("parallelism.pipeline_parallel_schedule_csv").value_or("") != "")
        out.warnings.emplace_back(
            "parallelism.pipeline_parallel_schedule_csv: 'sextant simulate --schedule-file' reads it; not counted "
            "here");
    if (p.pp == 1) return;
    p.schedule = schedule.schedule;
    p.vpp = schedule.chunks;
    if (!parts.empty()) {
        p.stage_layers = layers_of_parts(parts);
        auto const stages = static_cast<std::int64_t>(parts.size());
        check_stage_count(in, schedule, stages, p.pp, "module_fqns_per_model_part");
        p.vpp = stages / p.pp;
    } else {
        if (each) {
            std::int64_t const units = model.layer_count() + ends.first + ends.last;
            std::int64_t const stages = (units + *each - 1) / *each;
            check_stage_count(in, schedule, stages, p.pp, "pipeline_parallel_layers_per_stage");
            p.vpp = stages / p.pp;
        }
        p.stage_layers = spread_layers(model.layer_count(), p.pp * p.vpp, ends);
        if (p.stage_layers.empty())
            throw InputError(
                "{}: parallelism.pipeline_parallel_degree: {} layers on {} stages, whose ends count as {} and {} more",
                in.where(), model.layer_count(), p.pp * p.vpp, ends.first, ends.last);
    }
    bool const balanced = !p.stage_layers.empty() && can_split(model, p.pp, p.vpp) &&
                          p.stage_layers == balanced_split(model, p.pp, p.vpp);
    if (balanced) p.stage_layers.clear();
}

void read_experts(TomlValues& in, ForeignPlan& out, ModelSpec const& model) {
    ParallelPlan& p = out.plan;
    std::int64_t const ep = in.degree("parallelism.expert_parallel_degree");
    std::int64_t const expert_tp = in.degree("parallelism.expert_tensor_parallel_degree");
    bool const deepep = in.text("parallelism.expert_parallel_comm_backend") == "deepep";
    if (!model.moe) return;
    p.ep = ep;
    p.expert_tp = ep == 1 ? p.tp : expert_tp;
    p.dispatcher = deepep && ep > 1 ? Dispatcher::deduplicated : Dispatcher::all_to_all;
}

void read_sharding(TomlValues& in, ForeignPlan& out) {
    ParallelPlan& p = out.plan;
    std::int64_t const replicas = in.degree("parallelism.data_parallel_replicate_degree");
    std::int64_t const shards = in.integer("parallelism.data_parallel_shard_degree", -1).value_or(-1);
    if (shards == 0) throw InputError("{}: parallelism.data_parallel_shard_degree: 0 (-1, or at least 1)", in.where());
    std::string const reshard = in.text("parallelism.fsdp_reshard_after_forward").value_or("default");
    bool const keeps = reshard == "never" || (reshard == "default" && p.pp > 1);
    if (p.pp > 1 && !keeps)
        out.warnings.emplace_back(
            "parallelism.fsdp_reshard_after_forward: weights are counted as kept between microbatches");
    p.zero = p.pp > 1 ? 1 : keeps ? 2 : 3;
    if (shards == -1) {
        if (replicas > 1)
            out.warnings.emplace_back(
                "parallelism.data_parallel_shard_degree: say --shard-group, since -1 leaves it open");
        return;
    }
    p.dp = replicas * shards;
    out.accelerators = p.dp * p.tp * p.pp * p.cp;
    std::int64_t const group = shards * p.cp;
    if (group == 1 && (replicas > 1 || p.ep == 1)) p.zero = 0;
    p.shard_group = group > 1 && replicas > 1 ? group : 0;
}

void read_recompute(TomlValues& in, ForeignPlan& out, ModelSpec const& model) {
    ParallelPlan& p = out.plan;
    std::string const mode = in.text("activation_checkpoint.mode").value_or("selective");
    std::string const option = in.text("activation_checkpoint.selective_ac_option").value_or("2");
    p.recompute = mode == "full" ? Recompute::full : mode == "none" ? Recompute::none : Recompute::selective;
    if (mode == "memory_budget") {
        out.warnings.emplace_back("activation_checkpoint.mode: a memory budget is counted as selective");
    } else if (mode != "full" && mode != "none" && mode != "selective") {
        throw InputError("{}: activation_checkpoint.mode: '{}' (none, selective, full or memory_budget)", in.where(),
                         mode);
    } else if (mode == "selective" && option == "op") {
        p.recompute_modules = {RecomputeModule::op};
    } else if (mode == "selective") {
        bool const digits =
            !option.empty() && option.size() < 6 && option.find_first_not_of("0123456789") == std::string::npos;
        std::int64_t const every = digits ? std::stoll(option) : 0;
        if (every < 1)
            throw InputError("{}: activation_checkpoint.selective_ac_option: '{}' ('op' or a number)", in.where(),
                             option);
        std::int64_t const layers = model.layer_count() / p.pp;
        p.recompute = layers / every > 0 ? Recompute::full : Recompute::none;
        p.recompute_layers = every == 1 ? 0 : layers / every;
    }
}

void read_training(TomlValues& in, ForeignPlan& out) {
    ParallelPlan& p = out.plan;
    out.sequence = in.integer("training.seq_len", 1).value_or(2048);
    constexpr std::int64_t usual_batch = 8;
    auto const old_name = in.integer("training.batch_size", 1);  // before torchtitan 0.1
    std::int64_t const local = in.integer("training.local_batch_size", 1).value_or(old_name.value_or(usual_batch));
    std::int64_t const global = in.integer("training.global_batch_size", -1).value_or(-1);
    p.micro_batch = p.pp > 1 ? in.integer("parallelism.pipeline_parallel_microbatch_size", 1).value_or(1) : local;
    if (p.pp > 1 && global > 0) out.pipeline_batch = local;
    if (global > 0)
        out.global_batch = global;
    else
        out.rank_batch = local;
    std::string const type = in.text("training.mixed_precision_param").value_or("bfloat16");
    if (type != "bfloat16" && type != "float32")
        throw InputError("{}: training.mixed_precision_param: '{}' (bfloat16 or float32)", in.where(), type);
    p.precision = type == "bfloat16" ? Precision::bf16 : Precision::fp32;
    std::string const state = in.text("training.dtype").value_or("float32");
    if (state != "bfloat16" && state != "float32")
        throw InputError("{}: training.dtype: '{}' (bfloat16 or float32)", in.where(), state);
    if (state == "bfloat16" && type == "float32")
        throw InputError("{}: training.dtype: bfloat16 with mixed_precision_param float32 (bfloat16)", in.where());
    if (state == "bfloat16") p.optimizer = Optimizer::adamw_pure_bf16;
    if (in.has_text("model.converters", "quantize.linear.float8") || in.has_text("model.converters", "float8"))
        p.precision = Precision::fp8;
    if (in.has_text("model.converters", "quantize.linear.mx") || in.has_text("model.converters", "mx"))
        p.precision = Precision::mxfp8;
    std::string const optimizer = in.text("optimizer.name").value_or("AdamW");
    if (optimizer != "Adam" && optimizer != "AdamW")
        throw InputError("{}: optimizer.name: '{}' is not modelled (Adam or AdamW)", in.where(), optimizer);
    if (in.flag("training.enable_cpu_offload")) offload_by_fsdp(out, "training.enable_cpu_offload");
}

/// Whose constants a run without torch.compile has: layers that run op by op are FSDP2's in eager PyTorch, in
/// torchtitan's units and with its attention, and an eager loss has wider logits. Source: docs/memory.md, "torchtitan".
void read_compile(TomlValues& in, ForeignPlan& out) {
    ParallelPlan& p = out.plan;
    bool const compiled = in.flag("compile.enable") || in.flag("training.compile");
    auto const compiles = [&](char const* component) {
        bool const named = !in.has("compile.components") || in.has_text("compile.components", component);
        return compiled && named;
    };
    bool const model = compiles("model");
    bool const loss = compiles("loss");
    p.fused_cross_entropy = loss ? Switch::on : Switch::off;
    if (model && loss) return;
    if (!model)
        out.framework = "fsdp:end_units=1:repeated_key_value_bytes=0:norm_copy_bytes=0";
    else
        out.framework += ":logits_bytes=12:logits_bytes_reserved=12";
    if (p.tp > 1) out.framework += fmt::format(":split_logits_bytes={}", loss ? 10 : 38);
    out.warnings.push_back(
        fmt::format("compile: {} not compiled, so counted as --framework {} (compile.enable = true with \"model\" and "
                    "\"loss\" among the components is faster and needs less memory)",
                    model  ? "the loss is"
                    : loss ? "the model is"
                           : "model and loss are",
                    out.framework));
}

void sort_rest(TomlValues const& in, ForeignPlan& out) {
    constexpr std::array<std::string_view, 22> harmless{"job.",
                                                        "profiling.",
                                                        "metrics.",
                                                        "model.",
                                                        "lr_scheduler.",
                                                        "checkpoint.",
                                                        "comm.",
                                                        "validation.",
                                                        "experimental.",
                                                        "debug.",
                                                        "fault_tolerance.",
                                                        "memory_estimation.",
                                                        "optimizer.",
                                                        "training.dataset",
                                                        "training.steps",
                                                        "training.max_norm",
                                                        "training.seed",
                                                        "training.gc_",
                                                        "training.deterministic",
                                                        "training.mixed_precision_reduce",
                                                        "quantize.",
                                                        "float8."};
    note_values_left(out, in.not_asked(), in.missing(), harmless);
}

}  // namespace

ForeignPlan import_torchtitan(std::string_view text, std::string_view where, ModelSpec const& model) {
    TomlValues in(text, where);
    ForeignPlan out;
    out.framework = "torchtitan";
    check_flavor(in, out, model);
    ParallelPlan& p = out.plan;
    p.tp = in.degree("parallelism.tensor_parallel_degree");
    p.sequence_parallel = p.tp > 1 ? Switch::on : Switch::off;
    p.cp = in.degree("parallelism.context_parallel_degree");
    std::string const rotate = in.text("parallelism.context_parallel_rotate_method").value_or("allgather");
    if (p.cp > 1) p.cp_mode = rotate == "alltoall" ? ContextParallel::ring : ContextParallel::all_gather;
    read_pipeline(in, out, model);
    read_experts(in, out, model);
    read_sharding(in, out);
    read_recompute(in, out, model);
    read_training(in, out);
    read_compile(in, out);
    if (in.flag("parallelism.enable_async_tensor_parallel"))
        out.warnings.emplace_back(
            "parallelism.enable_async_tensor_parallel: overlap of tensor parallelism; the profile's own is counted");
    sort_rest(in, out);
    return out;
}

}  // namespace sextant
