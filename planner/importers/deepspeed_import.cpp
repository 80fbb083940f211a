#include "core/error.hpp"
#include "planner/deepspeed_bucket.hpp"
#include "planner/importers/argument_reader.hpp"
#include "planner/importers/deepspeed_settings.hpp"
#include "planner/importers/shell_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// Arguments of Megatron-DeepSpeed: how the model is split, and what is recomputed.
void read_launch(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model) {
    ParallelPlan& p = out.plan;
    read_common_arguments(in, out, model);
    check_megatron_model(in, out, model, MegatronDialect::deepspeed);
    p.cp = in.degree("--ds-sequence-parallel-size");
    p.ep = model.moe ? in.degree("--moe-expert-parallel-size") : 1;
    p.expert_tp = in.flag("--enable-expert-tensor-parallelism") && model.moe ? p.tp : 1;
    if (auto const zero = in.integer("--zero-stage", 0, 3)) p.zero = static_cast<int>(*zero);
    bool const flash = in.flag("--use-flash-attn-v2") || in.flag("--use-flash-attn") || in.flag("--use-flash-attn-v1");
    bool const by_operation = in.flag("--no-masked-softmax-fusion");
    p.attention = flash ? AttentionKernel::flash : by_operation ? AttentionKernel::eager : AttentionKernel::unfused;
    if (in.text("--optimizer") == "sgd") p.optimizer = Optimizer::sgd;
    static_cast<void>(in.flag("--no-pipeline-parallel"));
    static_cast<void>(in.flag("--create-moe-param-group"));
    static_cast<void>(in.flag("--cpu-optimizer"));  // where it runs is the JSON's to say
    if (!in.flag("--disable-moe-token-dropping") && model.moe)
        out.warnings.emplace_back(
            "tokens beyond the capacity of an expert are dropped without --disable-moe-token-dropping; all are "
            "counted");
    in.finish(out, megatron_without_effect(), megatron_not_counted());
}

/// Whether the launch script says it.
enum class MicroBatch : std::uint8_t { open, said };

/// Where only the JSON is there, the replicas are known and how many accelerators each takes is not.
void read_batches(DeepSpeedSettings const& s, std::string_view launch, MicroBatch of_launch, ForeignPlan& out,
                  std::string_view where) {
    ParallelPlan& p = out.plan;
    std::int64_t const inner = p.tp * p.pp * p.cp;
    if (s.micro_batch) p.micro_batch = *s.micro_batch;
    if (s.train_batch) out.global_batch = s.train_batch;
    if (s.train_batch && s.micro_batch && s.accumulation_steps) {
        std::int64_t const replica = *s.micro_batch * *s.accumulation_steps;
        if (*s.train_batch % replica != 0)
            throw InputError("{}: train_batch_size: {} is no multiple of micro-batch x accumulation steps = {} x {}",
                             where, *s.train_batch, *s.micro_batch, *s.accumulation_steps);
        std::int64_t const said = *s.train_batch / replica * inner;
        if (out.accelerators && *out.accelerators != said)
            throw InputError(
                "{}: train_batch_size: {} / ({} x {}) replicas of {} ranks are {} accelerators, but the "
                "launch has {}",
                where, *s.train_batch, *s.micro_batch, *s.accumulation_steps, inner, said, *out.accelerators);
        p.dp = *s.train_batch / replica;
        if (!launch.empty()) out.accelerators = said;
    }
    set_data_parallel(out);
    bool const says_micro_batch = s.micro_batch || out.rank_batch;
    out.rank_batch.reset();
    if (!out.global_batch && says_micro_batch) out.rank_batch = p.micro_batch * s.accumulation_steps.value_or(1);
    bool const fixes_batch = s.train_batch || s.accumulation_steps;
    if (fixes_batch && !s.micro_batch && of_launch == MicroBatch::open)
        out.accumulation = s.accumulation_steps.value_or(1);
}

/// Bytes per gradient that DeepSpeed keeps where those of 16 bit are added up in fp32: with ZeRO 2 and 3 the shard of
/// them is wider; with ZeRO 0 and 1 BF16_Optimizer, which offloads nothing, has an fp32 array of all beside those that
/// a microbatch leaves. Source: DeepSpeed, runtime/engine.py (`grad_accum_dtype`), stage_1_and_2.py, bf16_optimizer.py
/// (`fp32_groups_gradients_flat`).
int kept_bytes_of(ParallelPlan const& p) { return p.zero <= 1 && !offloads_optimizer(p) ? 6 : 4; }

/// Layers whose gradients fit in a bucket.
double bucket_layers_of(DeepSpeedSettings const& s, ParallelPlan const& p, ModelSpec const& model) {
    auto const hidden = static_cast<double>(model.hidden);
    double const elements = s.is_auto_bucket ? hidden * hidden : s.reduce_bucket.value_or(usual_reduce_bucket);
    return std::min(10000.0, elements / std::max(1.0, largest_layer_parameters(model, p)));
}

/// The framework with the constants that the file sets otherwise.
std::string framework_of(DeepSpeedSettings const& s, ParallelPlan const& p, ModelSpec const& model) {
    std::string framework = "deepspeed";
    bool const has_16_bits = p.precision != Precision::fp32 && p.precision != Precision::tf32;
    if (s.sums_in_fp32 && has_16_bits && p.precision != Precision::fp16)
        framework += fmt::format(":gradient_bytes={}", kept_bytes_of(p));
    if (s.sent_bytes == 4.0 && has_16_bits) framework += ":gradient_bytes_sent=4";
    if (s.cp_sent_bytes == 2.0 && p.cp > 1) framework += ":cp_gradient_bytes_sent=2";
    if (s.reduces_by_rank && (p.zero == 1 || p.zero == 2)) framework += ":all_reduces_gradients=0";
    constexpr double alike = 0.001;  // elements of a file are whole
    double const layers = bucket_layers_of(s, p, model);
    if (p.zero > 0 && p.pp == 1 && std::abs(layers - 1) > alike)
        framework += fmt::format(":reduce_bucket_layers={:.4g}", layers);
    return framework;
}

/// Source: DeepSpeed, runtime/zero/stage3.py ("parameter offload is only available with optimizer state offload"),
/// config.py (`offload_param`: valid with stage 3).
void read_parameter_offload(DeepSpeedSettings const& s, ForeignPlan& out, std::string_view where) {
    if (out.plan.zero != 3) {
        out.warnings.emplace_back("zero_optimization.offload_param: without effect but with stage 3");
        return;
    }
    if (!s.offloads_optimizer)
        throw InputError(
            "{}: zero_optimization.offload_param: without offload_optimizer, which DeepSpeed refuses (add "
            "offload_optimizer with device cpu)",
            where);
    out.plan.offload = Offload::parameters;
}

void apply_settings(DeepSpeedSettings const& s, ForeignPlan& out, std::string_view where, ModelSpec const& model) {
    ParallelPlan& p = out.plan;
    if (s.tensor_parallel) p.tp = *s.tensor_parallel;
    if (s.sequence_parallel) p.cp = *s.sequence_parallel;
    p.cp_mode = p.cp > 1 ? ContextParallel::ulysses : ContextParallel::ring;
    if (s.zero) p.zero = *s.zero;
    if (s.precision) p.precision = *s.precision;
    if (s.optimizer) p.optimizer = *s.optimizer;
    p.offload = s.offloads_optimizer ? Offload::optimizer : Offload::none;
    if (s.offloads_parameters) read_parameter_offload(s, out, where);
    if (s.offloads_checkpoints && p.recompute == Recompute::full) p.offload = with_activations(p.offload);
    out.framework = framework_of(s, p, model);
}

void read_shard_group(DeepSpeedSettings const& s, ParallelPlan& p) {
    if (s.shard_group && p.zero == 3 && *s.shard_group != p.dp * p.cp) p.shard_group = *s.shard_group;
}

}  // namespace

ForeignPlan import_deepspeed(std::string_view json, std::string_view launch, std::string_view where,
                             ModelSpec const& model) {
    ForeignPlan out;
    DeepSpeedSettings const s = read_deepspeed_settings(json, where, out);
    MicroBatch of_launch = MicroBatch::open;
    bool tf32 = false;
    if (!launch.empty()) {
        ShellScript const script = read_script(launch, where);
        tf32 = script.value_of(tf32_variable) == "1";
        ArgumentReader in(script, where);
        if (in.flag("--micro-batch-size")) of_launch = MicroBatch::said;
        read_launch(in, out, model);
    } else {
        out.warnings.emplace_back(
            "the JSON does not say how the model is split nor what is recomputed: --tp, --pp, --recompute and the like "
            "do, or name the launch script instead");
    }
    if (!s.zero && launch.empty()) out.plan.zero = 0;
    apply_settings(s, out, where, model);
    if (tf32 && out.plan.precision == Precision::fp32) out.plan.precision = Precision::tf32;
    read_batches(s, launch, of_launch, out, where);
    read_shard_group(s, out.plan);
    return out;
}

void add_deepspeed(ForeignPlan& out, std::string_view json, std::string_view where, ModelSpec const& model) {
    DeepSpeedSettings const s = read_deepspeed_settings(json, where, out);
    apply_settings(s, out, where, model);
    read_batches(s, "", MicroBatch::open, out, where);
    read_shard_group(s, out.plan);
}

}  // namespace sextant
