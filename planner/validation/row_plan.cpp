#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "core/graph/usual_stages.hpp"
#include "core/is_one_of.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "cost_models/block_price.hpp"
#include "cost_models/token_dispatch.hpp"
#include "planner/validation/row_adapters.hpp"
#include "planner/validation/row_pipeline.hpp"
#include "planner/validation/row_spelling.hpp"
#include "planner/validation/row_state.hpp"
#include "planner/validation/training_case.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace sextant {
namespace {

bool is_gpt(ModelSpec const& model) { return model.norm == NormKind::layer && model.position == PositionKind::learned; }

/// Models with layer norms in fp16 are older than fused attention in DeepSpeed's Megatron, as GPT-NeoX-20B.
bool predates_flash(TrainingCase const& c) {
    return c.model.norm == NormKind::layer &&
           (c.model.position == PositionKind::learned || c.plan.precision == Precision::fp16);
}

bool is_megatron_test(TrainingRow const& row) { return row.source_id.starts_with("megatron-ci"); }

/// Sailor's runs state neither kernels nor dropout. Time and memory grow with the microbatch as with scores in fp32,
/// six bytes of each kept, and not as with a fused softmax and dropout.
bool is_sailor(TrainingRow const& row) { return row.source_id.starts_with("sailor"); }

bool name_has(TrainingRow const& row, std::string_view word) {
    return lower_case(row.model).find(word) != std::string::npos;
}

bool shards_weights(TrainingCase const& c) { return c.framework->usual.zero == 3; }

/// Replicas alone: each accelerator holds the model, or a shard of its state.
bool is_only_replicated(TrainingRow const& row, TrainingCase const& c) {
    bool const shards_state = row.zero_stage.value_or(0) > 0 && !is_framework(*c.framework, "megatron");
    bool const has_no_other = c.framework->usual.pipelines == Pipelines::none;
    return row.zero_stage.value_or(0) == 3 || shards_weights(c) || shards_state || has_no_other ||
           row.framework_has("ddp") || row.framework_has("flash-attn training code");
}

/// tp and pp, which a row may leave out where the rest of it tells: what the accelerators and the other degrees leave,
/// one where the framework has no other way of running, and one where the source states the other of the two.
std::pair<std::int64_t, std::int64_t> model_degrees(TrainingRow const& row, std::int64_t gpus, TrainingCase& out) {
    if (row.tp && row.pp) return {TrainingRow::need(row.tp, "tp"), TrainingRow::need(row.pp, "pp")};
    std::string_view const open = row.tp ? "pp" : "tp";
    std::int64_t const stated = row.tp ? TrainingRow::need(row.tp, "tp") : row.pp ? TrainingRow::need(row.pp, "pp") : 1;
    auto const with_open = [&](std::int64_t value) {
        return row.tp ? std::pair(stated, value) : std::pair(value, stated);
    };
    bool const both_open = !row.tp && !row.pp;
    if (row.dp && *row.dp > 0) {
        std::int64_t const others = *row.dp * stated * std::max<std::int64_t>(1, row.cp.value_or(1));
        std::int64_t const left = gpus % others == 0 ? gpus / others : 0;
        if (left == 1 || (left > 1 && !both_open)) return with_open(left);
    }
    if (gpus == 1) return {1, 1};
    if (is_only_replicated(row, out)) {
        out.assumptions.emplace_back(both_open ? "tp and pp 1 where only data parallelism is stated"
                                               : fmt::format("{} 1 where only data parallelism is stated", open));
    } else if (!both_open) {
        out.assumptions.emplace_back(fmt::format("{} 1 where only {} is stated", open, row.tp ? "tp" : "pp"));
        out.has_to_fit = fmt::format("{} is not stated, and the model does not fit with 1", open);
    } else {
        throw OpenCellSkip(OpenCell::degrees);
    }
    return with_open(1);
}

void apply_degrees(TrainingRow const& row, TrainingCase& out) {
    ParallelPlan& plan = out.plan;
    if (row.notes_have("treat layout as unreliable"))
        throw RowSkip("the source's own layout does not add up to its GPU count");
    std::int64_t const gpus = TrainingRow::need(row.num_gpus, "num_gpus");
    std::tie(plan.tp, plan.pp) = model_degrees(row, gpus, out);
    plan.cp = row.cp ? TrainingRow::need(row.cp, "cp") : 1;
    plan.ep = row.ep ? TrainingRow::need(row.ep, "ep") : 1;
    // All that DeepSpeed has.
    bool const by_heads =
        is_framework(*out.framework, "deepspeed") || has(lower_case(row.framework + ";" + row.notes), "ulysses");
    if (plan.cp > 1 && by_heads && out.model.attention.heads % (plan.tp * plan.cp) == 0) {
        plan.cp_mode = ContextParallel::ulysses;
        out.assumptions.emplace_back("context parallelism by heads, as DeepSpeed's Ulysses");
    }
    if (plan.cp > 1 && row.notes_have("cp-comm-type=all_gather")) plan.cp_mode = ContextParallel::all_gather;
    if (!row.ep && out.model.moe) {
        out.assumptions.emplace_back("no expert parallelism where none is stated");
        out.has_to_fit = "ep is not stated, and the model does not fit with 1";
    }
    std::int64_t const replica = plan.tp * plan.pp * plan.cp;
    if (gpus % replica != 0) throw RowSkip("tp x pp x cp does not divide the number of accelerators");
    plan.dp = gpus / replica;
    if (row.dp && *row.dp != plan.dp) throw RowSkip("stated dp is not GPUs / (tp x pp x cp)");
    if (out.model.moe) {
        // Megatron-LM's own default is the degree of the dense part; recipes of NeMo and Megatron-Bridge set 1.
        auto const stated = row.note_number("expert-tensor-parallel-size=");
        // MaxText cuts experts over its tensor axis.
        bool const cut = is_megatron_test(row) || is_framework(*out.framework, "maxtext");
        plan.expert_tp = stated ? *stated : cut ? plan.tp : 1;
    }
}

/// NVIDIA's fine-tuning rows train on packed SQuAD: the speed pages of NeMo say so, and it is the dataset of the same
/// recipes' performance mode, which the recipes of DGX Cloud run.
bool is_packed_squad(TrainingRow const& row) {
    bool const tuned = row.notes_have("SFT fine-tun") || row.notes_have("LoRA fine-tun");
    return tuned && row.source_id.starts_with("nvidia-") && row.framework_has("nemo");
}
/// A context, a question and an answer.
constexpr std::int64_t squad_tokens = 200;

void apply_batch(TrainingRow const& row, TrainingCase& out) {
    ParallelPlan& plan = out.plan;
    out.workload.sequence = TrainingRow::need(row.seq_len, "seq_len");
    if (is_packed_squad(row)) {
        out.workload.document = std::min(squad_tokens, out.workload.sequence);
        out.assumptions.push_back(fmt::format("documents of {} tokens, as SQuAD's packed examples are", squad_tokens));
    }
    if (row.micro_batch)
        plan.micro_batch = TrainingRow::need(row.micro_batch, "micro_batch");
    else if (row.global_batch && *row.global_batch == plan.dp)
        plan.micro_batch = 1;
    else if (auto const steps = row.accumulation_steps(); steps && *steps > 0 &&
                                                          row.global_batch.value_or(0) >= plan.dp * *steps &&
                                                          *row.global_batch % (plan.dp * *steps) == 0)
        plan.micro_batch = *row.global_batch / (plan.dp * *steps);
    else
        throw OpenCellSkip(OpenCell::micro_batch);
    // MaxText's per_device_batch_size: the ranks of a group that shares sequences have those of all of them at once.
    bool const per_device = is_framework(*out.framework, "maxtext") && plan.pp == 1 &&
                            row.global_batch == plan.micro_batch * plan.world_size();
    if (per_device) plan.micro_batch *= plan.tp * plan.cp;
    if (row.global_batch) {
        out.workload.global_batch = TrainingRow::need(row.global_batch, "global_batch_seqs");
        return;
    }
    if (trains_adapters(row) && plan.pp == 1) {
        out.workload.global_batch = plan.dp * plan.micro_batch;
        out.assumptions.emplace_back("one microbatch a step: what is done once a step is for adapters only");
        return;
    }
    // A rate hardly depends on how many microbatches a step has, once there is no pipeline to fill.
    bool const states_a_rate = !row.iter_time_s && (row.tokens_per_s || row.tokens_per_s_per_gpu ||
                                                    row.model_tflops_per_gpu || row.hw_tflops_per_gpu || row.mfu_pct);
    if (plan.pp == 1 && states_a_rate) out.open_cell = OpenCell::global_batch;
    out.workload.global_batch = 4 * plan.pp * plan.dp * plan.micro_batch;  // enough microbatches to fill the pipeline
    out.predicts_time = false;
    out.time_reason = "global batch is not stated";
    out.assumptions.emplace_back("enough microbatches to fill the pipeline (memory only)");
}

void apply_sharding(TrainingRow const& row, TrainingCase& out) {
    ParallelPlan& plan = out.plan;
    std::string const& family = family_name(*out.framework);
    if (row.zero_stage) {
        plan.zero = static_cast<int>(std::min<std::int64_t>(*row.zero_stage, 9));
        // What it gathers it then keeps, as torchtitan does by itself.
        if (!zero_suits_pipeline(plan)) {
            plan.zero = 1;
            out.assumptions.emplace_back("ZeRO-1 with a pipeline, whose microbatches share weights and gradients");
        }
    } else if (row.notes_have("Deepspeed ZeRO") && plan.pp == 1 && plan.dp * plan.cp > 1) {
        // BigScience's chronicle: 52 B parameters on V100-32GB without pipelining, which lesser stages do not hold.
        plan.zero = 3;
        out.assumptions.emplace_back("ZeRO-3, the only stage whose state fits");
        out.memory_reason = "partitioned or offloaded checkpoints are not stated";
    } else {
        plan.zero = shards_weights(out) ? usual_zero_stage(*out.framework, plan)
                    : family == "megatron" && !is_early_megatron(row) && !is_megatron_test(row) ? 1
                                                                                                : 0;
        if (plan.dp * plan.cp > 1) {
            bool const early = family == "megatron" && is_early_megatron(row);
            bool const tests = family == "megatron" && !early && is_megatron_test(row);
            bool const staged = shards_weights(out) && plan.zero != out.framework->usual.zero;
            out.assumptions.emplace_back(early   ? std::string("ZeRO-0: Megatron-LM before its distributed optimizer")
                                         : tests ? std::string("ZeRO-0, as Megatron-LM's tests run unless they say")
                                                 : fmt::format("ZeRO-{} as usual for {}{}", plan.zero, family,
                                                               staged ? " with a pipeline" : ""));
            out.zero_is_stated = false;
        }
    }
    std::int64_t const ranks = plan.dp * plan.cp;
    auto const instances = row.note_number("num-distributed-optimizer-instances=").value_or(1);
    if (instances > 1 && ranks % instances == 0) plan.shard_group = ranks / instances;
    for (std::string_view const key : {"shard group ", "sharded over ", "FSDP="})
        if (auto const group = row.note_number(key); group && *group > 0 && *group < ranks && ranks % *group == 0)
            plan.shard_group = *group;
    // "hardware 2x v5p-128": weights are sharded within each slice.
    if (auto const slices = row.note_number("hardware "); is_framework(*out.framework, "maxtext") &&
                                                          row.notes_have("slices, data parallel") && slices &&
                                                          ranks % *slices == 0)
        plan.shard_group = ranks / *slices;
    if (plan.shard_group == 0 && (row.notes_have("; HSDP;") || row.shards_in_node)) {
        plan.shard_group = std::min(ranks, std::max<std::int64_t>(1, out.cluster->domain_size / plan.tp));
        out.assumptions.emplace_back("HSDP shards inside a node");
    }
    apply_offload(row, out);
    apply_optimizer(row, out);
}

bool runs_lightning_fsdp(TrainingRow const& row) {
    constexpr std::array names{std::string_view("lit-gpt"), std::string_view("litgpt"), std::string_view("lit-llama")};
    return has_any(lower_case(row.framework), names) && row.framework_has("fsdp");
}

/// Whose gradients are in bf16 where the framework's usually are not; empty: not the row's.
std::string_view why_bf16_gradients(TrainingRow const& row, ParallelPlan const& plan) {
    // Its optimizer, as that of ColossalAI which it comes from, holds and reduces gradients in the weights' format.
    if (row.framework_has("internevo") && plan.precision == Precision::bf16) return "InternEvo's optimizer has them";
    if (plan.precision == Precision::fp16) return {};
    // grad_reduce_in_fp32 is False in the recipes whose speed NVIDIA publishes (NeMo's scripts/performance, those of
    // Megatron-Bridge) and in its submissions to MLPerf (pretrain.py of training_results_v5.0).
    if (row.source_id.starts_with("nvidia-") || is_mlperf(row))
        return plan.adapters.on() ? std::string_view() : "in NVIDIA's performance recipes";
    // mixed_precision PURE, its default, has a reduce_dtype of bf16 (composer, trainer/mosaic_fsdp_utils.py).
    if (row.source_id.starts_with("llm-foundry")) return "the policy PURE of llm-foundry reduces them";
    // FSDPPrecision of Lightning: reduce_dtype is bf16 with bf16-mixed and with bf16-true.
    if (runs_lightning_fsdp(row)) return "Lightning's FSDP reduces them";
    bool const shards = row.notes_have("Megatron-FSDP") && plan.zero == 3;
    return shards && !is_megatron_test(row) ? "Megatron-FSDP's guide recommends" : std::string_view();
}

void apply_kernels(TrainingRow const& row, TrainingCase& out) {
    ParallelPlan& plan = out.plan;
    bool const early = is_early_megatron(row);
    bool const by_megatron = is_framework(*out.framework, "megatron") || is_framework(*out.framework, "deepspeed");
    if (row.flash_attention) {
        plan.attention = *row.flash_attention == 1 ? AttentionKernel::flash : AttentionKernel::unfused;
    } else if (is_megatron_test(row)) {
        // The columns do not tell. Deterministic runs had no fused kernel once; test files of resumed jobs were stored
        // later, with it.
        bool const engine = row.notes_have("transformer-impl=transformer_engine");
        bool const fused = name_has(row, "resume") || plan.cp > 1 || !row.notes_have("deterministic-mode=True");
        plan.attention = engine && fused ? AttentionKernel::flash : AttentionKernel::unfused;
        out.assumptions.emplace_back("attention kernel by the kind of test");
    } else {
        bool const unfused = early || (is_framework(*out.framework, "deepspeed") && predates_flash(out));
        plan.attention = unfused ? AttentionKernel::unfused : AttentionKernel::flash;
        if (unfused && is_sailor(row)) plan.attention = AttentionKernel::eager;
        out.assumptions.emplace_back(fmt::format("{} attention", name_of(plan.attention)));
    }
    if (row.sequence_parallel) {
        plan.sequence_parallel = *row.sequence_parallel == 1 && plan.tp > 1 ? Switch::on : Switch::off;
    } else if (plan.tp > 1) {
        // The tensor axis of MaxText's mesh divides what lies between layers, too (docs/memory.md).
        bool const usual = is_framework(*out.framework, "torchtitan") || is_framework(*out.framework, "maxtext") ||
                           (is_framework(*out.framework, "megatron") && !early);
        bool const divides = out.workload.sequence % (plan.cp * plan.tp) == 0;
        plan.sequence_parallel = usual && divides ? Switch::on : Switch::off;
        out.assumptions.emplace_back(usual && divides ? "sequence parallelism on" : "sequence parallelism off");
    }
    if (out.model.moe && plan.ep > 1) {
        // DeepSeek's own stack sends a token once to a node, as DeepEP, which came of it (arXiv:2412.19437).
        constexpr std::array dispatchers{std::string_view("deepep"), std::string_view("hybridep"),
                                         std::string_view("hybrid-ep"), std::string_view("hai-llm")};
        bool const named = has_any(lower_case(row.framework + ";" + row.notes), dispatchers);
        // But for gpt-oss, whose recipes leave the dispatcher as it is (scripts/performance/configs/gpt_oss).
        bool const recipe = lower_case(row.framework).find("megatron-bridge") != std::string::npos &&
                            !row.notes_have("dispatcher=") && !out.model.moe->expert_bias &&
                            sends_once(*out.cluster, place(GroupKind::expert, plan, *out.cluster));
        if (named || recipe) plan.dispatcher = Dispatcher::deduplicated;
        if (recipe && !named)
            out.assumptions.emplace_back("tokens dispatched once per domain, as in the recipes of Megatron-Bridge");
    }
    if (by_megatron && is_gpt(out.model) && !is_sailor(row)) plan.dropout = Switch::on;
    if (is_megatron_test(row)) plan.dropout = Switch::on;
    if (row.source_id == "vtrain-single") {  // vocab_size // world_size of its src/model/gpt_modeling.py
        plan.vocab_multiple = 1;
        out.assumptions.emplace_back("vocabulary not padded, as in vTrain's model");
    }
    if (row.notes_have("cross-entropy-loss-fusion=True")) plan.fused_cross_entropy = Switch::on;
    for (std::string_view const key : {"loss_chunks=", "num_vocab_tiling="})
        if (auto const chunks = row.note_number(key)) plan.loss_chunks = *chunks;
    // loss_fn of MPT models is 'fused_crossentropy' where a configuration does not say otherwise.
    if (row.source_id.starts_with("llm-foundry")) {
        plan.fused_cross_entropy = Switch::on;
        out.assumptions.emplace_back("fused cross entropy, the default of llm-foundry");
    }
    if (std::string_view const why = why_bf16_gradients(row, plan); !why.empty()) {
        plan.gradients = GradientFormat::bf16;
        out.assumptions.push_back(fmt::format("gradients in bf16, as {}", why));
    }
    apply_recompute(row, out);
    // Where scores are in memory a policy that keeps attention's output spares nothing.
    if (plan.attention != AttentionKernel::flash)
        plan.kept_activations = plan.kept_activations.without({ActivationGroup::context});
}

MemoryQuantity quantity_of(TrainingRow const& row) {
    auto const from = [&](std::string_view source) { return row.source_id.starts_with(source); };
    if (from("megatron-ci") || row.notes_have("mem-max-allocated-bytes of the LAST rank"))
        return MemoryQuantity::allocated_last_rank;
    if (from("hf-ultrascale") || row.notes_have("max_memory_RESERVED on rank 0"))
        return MemoryQuantity::reserved_first_rank;
    if (from("sailor") || from("bigscience") || row.notes_have("nvidia-smi")) return MemoryQuantity::device_fullest;
    if (from("sail-vocab") || row.notes_have("peak memory ACTIVE") || row.notes_have("peak is max allocated"))
        return MemoryQuantity::allocated_fullest;
    if (from("korthikanti") || row.notes_have("analytic/accounted memory"))
        return MemoryQuantity::state_and_activations_first;
    return MemoryQuantity::reserved_fullest;
}

void apply_scoring(TrainingRow const& row, TrainingCase& out) {
    out.memory_quantity = quantity_of(row);
    if (row.notes_have("SUSPECT")) throw RowSkip("marked SUSPECT by the collection");
    if (is_megatron_test(row)) out.time_reason = "test models of hidden size 512 to 1024: launch bound, memory only";
    if (row.notes_have("NET=degraded")) out.time_reason = "network degraded during the run";
    // An identical test took up to 40 % more or less at another hour, by what else the network carried.
    if (row.source_ref.find("bigscience@9e64ede:experiments/gpt2.md") != std::string::npos)
        out.time_reason = "the page says of its own times that they are right within 40 %";
    if (row.notes_have("(unpacked)")) out.time_reason = "sequences not packed: its tokens are fewer than its batches'";
    if (row.notes_have("cuda-graph-impl=")) out.memory_reason = "CUDA graphs keep buffers of their own";
    // One 8 B model at one batch takes 16 GiB on one device and 30 GiB on another, where it runs too fast for
    // recompute.
    if (row.framework_has("torchtune") && trains_adapters(row))
        out.time_reason = "torchtune's rows differ in recompute, which they do not state";
    if (row.framework_has("torchtune"))
        out.memory_reason = "torchtune recipes differ by row in optimizer format, packing and loss chunks";
    if (row.notes_have("only given as prediction error")) out.memory_reason = "memory is not printed";
}

}  // namespace

bool is_early_megatron(TrainingRow const& row) {
    std::string const precision = lower_case(row.precision);
    bool const half = precision.find("fp16") != std::string::npos;
    // Devices that there were; fused attention came later, too.
    constexpr std::array<std::string_view, 6> generations{"pascal", "volta", "turing", "ampere", "cdna", "cdna2"};
    AcceleratorProfile const* const device = known_accelerator(row.gpu);
    bool const is_later =
        row.flash_attention == 1 || (device != nullptr && !is_one_of(generations, device->generation));
    return (row.framework_has("megatron") || row.framework_has("oneflow")) && half && !is_later &&
           !is_megatron_test(row);
}

void plan_of(TrainingRow const& row, TrainingCase& out) {
    out.plan.precision = precision_of(row, out);
    apply_degrees(row, out);
    apply_batch(row, out);
    apply_pipeline(row, out);
    apply_sharding(row, out);
    apply_kernels(row, out);
    apply_adapters(row, out);
    apply_scoring(row, out);
    if (auto const fault = find_fault(out.model, out.plan, out.workload))
        throw RowSkip("plan rejected: " + fault->message);
    try {
        require_adapters(out.model, out.plan.adapters, "plan rejected");
    } catch (InputError const& error) {
        throw RowSkip(error.what());
    }
    narrow_until_it_fits(row, out);
}

}  // namespace sextant
