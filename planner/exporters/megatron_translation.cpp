#include "planner/exporters/megatron_translation.hpp"

#include "core/spec/usual_node.hpp"
#include "cost_models/weight_copies.hpp"
#include "planner/expert_overlap.hpp"
#include "planner/exporters/megatron_attention.hpp"
#include "planner/exporters/megatron_model.hpp"
#include "planner/framework_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

/// Megatron-LM's order of chunks is the round robin of interleaving; V-shapes and second copies have no place.
void translate_schedule(Translation& t, ModelSpec const& model) {
    Schedule const kept = t.plan.vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
    if (t.plan.schedule != Schedule::overlapped)
        t.replace(&ParallelPlan::schedule, kept, "schedule",
                  "Megatron-LM runs 1F1B, interleaved where a stage has several chunks, and no {}; the file runs {}",
                  name_of(t.plan.schedule), name_of(kept));
    else if (!overlaps_experts(t.plan))
        t.replace(
            &ParallelPlan::schedule, kept, "schedule",
            "Megatron-Core hides exchanges with expert parallelism only, several chunks where there is a pipeline, "
            "products in 16 bits or fewer and without full recompute; the file runs {}",
            name_of(kept));
    if (t.plan.recompute_layers % t.plan.vpp == 0) return;
    std::int64_t const each = (t.plan.recompute_layers + t.plan.vpp - 1) / t.plan.vpp;
    t.replace(&ParallelPlan::recompute_layers, each * t.plan.vpp, "recompute_layers",
              "layers are recomputed per chunk, {} in each of the {} chunks of a stage", each, t.plan.vpp);
    t.plan = normal_form(t.plan, model);
}

/// Megatron-Core knows the modules by the names that they have here, but for two of other frameworks.
void translate_recompute(Translation& t) {
    if (t.plan.recompute != Recompute::selective) return;
    constexpr RecomputeModules known{RecomputeModule::core_attn,     RecomputeModule::layernorm,
                                     RecomputeModule::mlp,           RecomputeModule::mla_up_proj,
                                     RecomputeModule::moe,           RecomputeModule::moe_act,
                                     RecomputeModule::shared_experts};
    RecomputeModules kept = t.plan.recompute_modules & known;
    if (kept.empty()) kept = attention_core;
    t.replace(&ParallelPlan::recompute_modules, kept, "recompute_modules",
              "Megatron-Core's modules have no mlp_act or op: the file recomputes {}", modules_text(kept));
}

void keep_optimizer_here(Translation& t, char const* why) {
    if (!offloads_optimizer(t.plan)) return;
    t.replace(&ParallelPlan::offload, without_optimizer(t.plan.offload), "offload", "{}", why);
}

/// What neither of Megatron-Core's ways to share the state takes.
/// Source: Megatron-Core 0.15, distrib_optimizer.py (its optimizers) and megatron_fsdp.py (no group for copies of
/// experts).
void translate_sharing(Translation& t, ModelSpec const& model) {
    ParallelPlan& p = t.plan;
    if (p.optimizer == Optimizer::sgd) {
        t.replace(
            &ParallelPlan::zero, 0, "zero",
            "Megatron-Core's distributed optimizer is Adam's, and no SGD: every rank keeps the whole state, which "
            "takes more memory (--optimizer adamw shares it)");
        t.replace(&ParallelPlan::shard_group, std::int64_t{0}, "shard_group", "SGD's state is whole on every rank");
    }
    if (model.moe && p.ep > 1 && p.zero >= 2)
        t.cannot("zero",
                 "Megatron FSDP shards experts beside expert parallelism in releases after Megatron-Core 0.15: a later "
                 "one is needed (--zero 1 does without)");
}

void translate_state(Translation& t, ModelSpec const& model) {
    ParallelPlan& p = t.plan;
    t.leave_out_other_optimizers("Megatron-Core 0.15");
    translate_sharing(t, model);
    if (p.optimizer == Optimizer::adamw_pure_bf16)
        t.replace(&ParallelPlan::optimizer, Optimizer::adamw_bf16, "optimizer",
                  "Megatron-Core keeps a copy of the weights in fp32, which takes more time and memory: moments and "
                  "gradients alone are in bf16");
    if (p.optimizer == Optimizer::muon) {
        if (p.zero >= 2)
            t.replace(&ParallelPlan::zero, 1, "zero", "Muon runs with its layer-wise distributed optimizer at most");
        t.replace(&ParallelPlan::shard_group, std::int64_t{0}, "shard_group",
                  "Muon's distributed optimizer spreads its state over all data-parallel ranks");
    }
    if (p.optimizer == Optimizer::muon || p.optimizer == Optimizer::sgd)
        keep_optimizer_here(t, "only Adam's state can be offloaded; it stays");
    if (p.zero == 0 && most_copies(p, model) > 1) {
        keep_optimizer_here(t, "the state is offloaded with the distributed optimizer (ZeRO 1) only; it stays");
        if (precision_aware(p))
            t.replace(&ParallelPlan::optimizer, Optimizer::adamw, "optimizer",
                      "the precision-aware optimizer needs the distributed optimizer (ZeRO 1); moments stay in fp32");
    }
    if (offloads_activations(p) && !megatron_offloads_activations(p))
        t.replace(&ParallelPlan::offload, without_activations(p.offload), "offload",
                  "activations are offloaded without pipeline stages and without recompute only; they stay");
}

/// The kernel that has it is SwiGLU's. Source: Megatron-LM, `megatron/core/transformer/mlp.py` and the arguments that
/// `megatron/training/arguments.py` makes of TransformerConfig.
void translate_activation(Translation& t, ModelSpec const& model) {
    if (t.plan.fp8_activation_input == Switch::off) return;
    if (activation_of(model) != Activation::silu)
        t.leave_out_activation_input();
    else
        t.cannot("fp8_activation_input",
                 "releases that do not yet make arguments of every field of TransformerConfig refuse "
                 "--activation-func-fp8-input-store: there the field is set in the script");
}

/// Weights are in the narrow format with the distributed optimizer alone, and not beside every one in host memory.
/// Source: Megatron-LM, what `megatron/training/arguments.py` asks of --fp8-param-gather.
void translate_narrow_copies(Translation& t) {
    ParallelPlan const& p = t.plan;
    if (!is_narrow(p.precision) || p.narrow_copies == Switch::on || holds_narrow_weights(p)) return;
    std::string const why = shares_optimizer(p)
                                ? fmt::format("beside an optimizer in host memory, with the scales of {},",
                                              scales_at_once(p) ? "the values at hand" : name_of(p.precision))
                                : "without the distributed optimizer (ZeRO 1)";
    if (p.adapters.on() || p.zero >= 3)
        t.cannot("narrow_copies",
                 "{} weights stay in 16 bit, and Transformer Engine keeps narrow copies beside them, which are not "
                 "counted",
                 why);
    else
        t.replace(&ParallelPlan::narrow_copies, Switch::on, "narrow_copies",
                  "{} weights stay in 16 bit, and Transformer Engine keeps narrow copies beside them, which take more "
                  "memory",
                  why);
}

void translate_loss(Translation& t) {
    t.replace(&ParallelPlan::loss_chunks, std::int64_t{1}, "loss_chunks",
              "Megatron-Core has all logits of a microbatch at once");
}

/// DeepEP sends between ranks with experts of their own, or there is nothing to send.
void translate_dispatcher(Translation& t) {
    if (t.plan.ep * t.plan.expert_tp > 1) return;
    t.replace(&ParallelPlan::dispatcher, Dispatcher::all_to_all, "moe_dispatcher",
              "Megatron-Core refuses DeepEP where each rank holds all experts: the file has alltoall");
}

void note_heads(Translation& t, ModelSpec const& model) {
    std::int64_t const groups = model.attention.latent ? model.attention.heads : model.attention.kv_heads;
    if (groups % t.plan.tp == 0) return;
    t.cannot("tp",
             "Megatron-Core 0.15 refuses {} key-value heads on {} tensor-parallel ranks; later releases take them",
             groups, t.plan.tp);
}

/// What Megatron-Core stops at when it starts; the files say it all the same.
void note_refusals(Translation& t, LaunchPlan const& launch) {
    ParallelPlan const& p = t.plan;
    std::int64_t const microbatches = launch.microbatches();
    if (!has_microbatches_to_interleave(p, microbatches))
        t.cannot("micro_batch",
                 "interleaving wants as many microbatches as the {} stages at least: Megatron-Core refuses {}", p.pp,
                 microbatches);
    else if (std::int64_t const group = chunk_group(p, microbatches); group > 0) {
        std::int64_t const rounds = microbatches / p.pp;
        if (std::int64_t const planned = (microbatches + rounds - 1) / rounds; group != planned)
            t.cannot("micro_batch",
                     "of {} microbatches on {} stages Megatron-Core takes {} at a time through a chunk, where the plan "
                     "has {}: more activations are held",
                     microbatches, p.pp, group, planned);
    }
    note_heads(t, launch.model);
    if (p.cp > 1 && launch.workload.sequence % (2 * p.cp) != 0)
        t.cannot(
            "cp",
            "each of {} context-parallel ranks takes two equal parts of the sequence: Megatron-LM refuses {} tokens "
            "(a multiple of {})",
            p.cp, launch.workload.sequence, 2 * p.cp);
    if (std::int64_t const instances = p.shard_group > 0 ? p.dp * p.cp / p.shard_group : 1;
        launch.model.moe && p.expert_dp() % instances != 0)
        t.cannot("shard_group",
                 "Megatron-Core refuses {} instances of the distributed optimizer for {} copies of an expert: a shard "
                 "group of all {} ranks (--shard-group 0), or fewer --ep",
                 instances, p.expert_dp(), p.dp * p.cp);
    if (launch.model.moe && p.tp > 1 && p.sequence_parallel == Switch::off)
        t.cannot("sequence_parallel", "Megatron-Core refuses experts with tensor parallelism and without it");
}

}  // namespace

std::int64_t chunk_group(ParallelPlan const& p, std::int64_t microbatches) {
    if (p.vpp == 1 || microbatches < p.pp || microbatches % p.pp == 0) return 0;
    std::int64_t group = p.pp + 1;
    while (microbatches % group != 0 && microbatches % group < p.pp)
        ++group;
    return group;
}

bool overlaps_experts(ParallelPlan const& p) { return p.schedule == Schedule::overlapped && can_overlap_experts(p); }

bool precision_aware(ParallelPlan const& p) {
    return p.optimizer == Optimizer::adamw_bf16 || p.optimizer == Optimizer::adamw_8bit || offloads_optimizer(p);
}

bool shares_optimizer(ParallelPlan const& p) {
    return (p.zero >= 1 || precision_aware(p)) && p.optimizer != Optimizer::muon;
}

bool scales_at_once(ParallelPlan const& p) {
    constexpr RecomputeModules refused{RecomputeModule::layernorm, RecomputeModule::moe_act};
    return p.precision == Precision::fp8 && p.recompute == Recompute::selective &&
           !(p.recompute_modules & refused).empty();
}

bool offloads_beside_narrow_weights(ParallelPlan const& p) {
    bool const delayed = p.precision == Precision::fp8 && !scales_at_once(p);
    return !offloads_optimizer(p) || unscaled(p.precision) != Precision::fp8 || delayed;
}

bool holds_narrow_weights(ParallelPlan const& p) {
    return is_narrow(p.precision) && p.narrow_copies == Switch::off && shares_optimizer(p) &&
           offloads_beside_narrow_weights(p);
}

bool divides_evenly(ParallelPlan const& p, ModelSpec const& model) {
    if (!p.stage_layers.empty()) return false;
    std::vector<std::int64_t> const chunks = chunk_layers(p, model);
    return std::all_of(chunks.begin(), chunks.end(), [&](std::int64_t n) { return n == chunks.front(); });
}

std::int64_t hybrid_ep_ranks(ParallelPlan const& p, LaunchPlan const& launch) {
    if (!launch.model.moe || p.dispatcher != Dispatcher::deduplicated || !has_domains_of_nodes(launch.cluster))
        return 0;
    std::int64_t const group = p.ep * p.expert_tp;
    std::int64_t ranks = std::min(group, launch.cluster.domain_size);
    while (group % ranks != 0)  // as HybridEP wants it
        --ranks;
    return ranks;
}

std::vector<std::pair<std::string, std::string>> megatron_environment(ParallelPlan const& p, LaunchPlan const& launch) {
    std::vector<std::pair<std::string, std::string>> out;
    if (p.precision == Precision::fp32) out.emplace_back("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "0");
    if (p.precision == Precision::tf32) out.emplace_back("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1");
    if (p.tp * p.cp > 1 && p.zero < 2)
        out.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS", overlaps_experts(p) ? "32" : "1");
    if (p.attention == AttentionKernel::eager) out.emplace_back("NVTE_MASKED_SOFTMAX_FUSION", "0");
    if (std::int64_t const ranks = hybrid_ep_ranks(p, launch); ranks > 0) {
        out.emplace_back("NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN", fmt::format("{}", ranks));
        out.emplace_back("NVLINK_DOMAIN_SIZE", fmt::format("{}", launch.cluster.domain_size));
        out.emplace_back("USE_MNNVL", "1");
    }
    return out;
}

void translate_for_megatron(Translation& t, LaunchPlan const& launch) {
    t.leave_parameters_here(launch.model);
    translate_schedule(t, launch.model);
    t.leave_out_named_activations();
    translate_recompute(t);
    translate_state(t, launch.model);
    translate_dispatcher(t);
    translate_activation(t, launch.model);
    translate_narrow_copies(t);
    translate_loss(t);
    translate_megatron_attention(t, launch);
    note_refusals(t, launch);
}

}  // namespace sextant
