#include "core/graph/plan_check.hpp"

#include "core/error.hpp"
#include "core/graph/stage_layout.hpp"
#include "core/spec/schedule_traits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sextant {
namespace {

using Fault = std::optional<PlanFault>;

/// Whether the sentence is wanted; a search only counts the kinds of problems.
enum class Detail : std::uint8_t { problem, message };

template <class... Args>
Fault fault(Detail detail, PlanProblem problem, fmt::format_string<Args...> format, Args&&... args) {
    if (detail == Detail::problem) return PlanFault{problem, {}};
    return PlanFault{problem, fmt::format(format, std::forward<Args>(args)...)};
}

Fault check_positive(Detail detail, ModelSpec const& model, ParallelPlan const& plan, Workload const& workload) {
    struct Named {
        char const* name;
        std::int64_t value;
    };
    for (auto const& [name, value] : {Named{"dp", plan.dp},
                                      {"tp", plan.tp},
                                      {"pp", plan.pp},
                                      {"cp", plan.cp},
                                      {"ep", plan.ep},
                                      {"expert-tp", plan.expert_tp},
                                      {"vpp", plan.vpp},
                                      {"micro-batch", plan.micro_batch},
                                      {"loss-chunks", plan.loss_chunks},
                                      {"seq", workload.sequence},
                                      {"global-batch", workload.global_batch}}) {
        constexpr std::int64_t largest = std::int64_t{1} << 31;
        if (value < 1 || value > largest)
            return fault(detail, PlanProblem::not_positive, "{} is {} (it must be between 1 and {})", name, value,
                         largest);
    }
    double const ranks = static_cast<double>(plan.dp) * static_cast<double>(plan.tp) * static_cast<double>(plan.pp) *
                         static_cast<double>(plan.cp);
    if (ranks > 1e9)
        return fault(detail, PlanProblem::not_positive, "dp * tp * pp * cp = {:g} accelerators (at most 1e9)", ranks);
    if (static_cast<double>(plan.ep) * static_cast<double>(plan.expert_tp) > 1e9)
        return fault(detail, PlanProblem::not_positive, "ep * expert-tp is larger than 1e9");
    if (plan.gradients == GradientFormat::bf16 && !takes_bf16_gradients(plan.precision))
        return fault(detail, PlanProblem::not_positive,
                     "gradients in bf16 with precision {} (bf16, fp8 or fp4, whose weights are in bf16)",
                     name_of(plan.precision));
    if (plan.fp8_activation_input == Switch::on && !model.mlp.gated)
        return fault(detail, PlanProblem::not_positive,
                     "the input of an activation in fp8 is for gated feed-forwards (SwiGLU), which {} does not have",
                     model.name);
    if (plan.narrow_copies == Switch::on) {
        if (!is_narrow(plan.precision))
            return fault(detail, PlanProblem::not_positive,
                         "narrow copies of weights with precision {} (fp8, fp8-block, mxfp8 or fp4)",
                         name_of(plan.precision));
        if (plan.zero >= 3 || plan.adapters.on())
            return fault(detail, PlanProblem::zero,
                         "narrow copies of weights that {} are not modelled (leave the copies out)",
                         plan.adapters.on() ? "adapters freeze" : "ZeRO 3 shards");
    }
    if (!goes_with(plan.optimizer, plan.precision))
        return fault(detail, PlanProblem::not_positive, "{}", optimizer_refusal(plan.optimizer, plan.precision));
    if (plan.optimizer == Optimizer::muon && offloads_optimizer(plan))
        return fault(detail, PlanProblem::not_positive,
                     "Muon's state in host memory is not modelled: its update multiplies matrices (offload none or "
                     "activations, or another optimizer)");
    if (plan.optimizer == Optimizer::adafactor && offloads_optimizer(plan))
        return fault(detail, PlanProblem::not_positive,
                     "Adafactor's state in host memory is not modelled: no optimizer on the host updates by rows and "
                     "columns (offload none or activations, or another optimizer)");
    if (plan.zero < 0 || plan.zero > 3) return fault(detail, PlanProblem::zero, "zero is {} (0, 1, 2 or 3)", plan.zero);
    return {};
}

Fault check_tensor(Detail detail, ModelSpec const& model, ParallelPlan const& plan) {
    std::int64_t const tp = plan.tp;
    for (bool const sliding : {false, true}) {
        AttentionSpec const& a = model.attention_of({.sliding = sliding});
        if (a.heads % tp != 0)
            return fault(detail, PlanProblem::heads,
                         "tp {} does not divide the {} attention heads of {} (a divisor of {} is expected)", tp,
                         a.heads, model.name, a.heads);
        if (!a.latent && a.kv_heads % tp != 0 && tp % a.kv_heads != 0)
            return fault(detail, PlanProblem::kv_heads,
                         "tp {} and the {} key/value heads of {} do not divide one another", tp, a.kv_heads,
                         model.name);
    }
    if (model.recurrent) {
        RecurrentSpec const& r = *model.recurrent;
        if (r.heads % tp != 0)
            return fault(detail, PlanProblem::heads, "tp {} does not divide the {} recurrent heads of {}", tp, r.heads,
                         model.name);
        // Source: Megatron-Core, mamba_mixer.py ("ngroups must be evenly divisible by tp_size"), gated_delta_net.py.
        if (r.key_heads % tp != 0)
            return fault(detail, PlanProblem::kv_heads,
                         "tp {} does not divide the {} key heads of the recurrent layers of {} (groups, in Mamba-2)",
                         tp, r.key_heads, model.name);
    }
    bool const dense = std::any_of(model.layers.begin(), model.layers.end(),
                                   [](LayerKind kind) { return kind.feed_forward && !kind.moe; });
    if (model.hidden % tp != 0 || (dense && model.mlp.intermediate % tp != 0))
        return fault(detail, PlanProblem::width, "tp {} does not divide hidden {} and feed-forward {} of {}", tp,
                     model.hidden, model.mlp.intermediate, model.name);
    if (model.moe && model.moe->shared_intermediate % tp != 0)
        return fault(detail, PlanProblem::width, "tp {} does not divide the shared experts' {} of {}", tp,
                     model.moe->shared_intermediate, model.name);
    if (plan.sequence_parallel == Switch::on && tp == 1)
        return fault(detail, PlanProblem::sequence_parallel,
                     "sequence parallelism splits over the tensor-parallel group (it needs tp > 1)");
    return {};
}

/// Documents packed into a sequence.
Fault check_documents(Detail detail, ParallelPlan const& plan, Workload const& workload) {
    if (workload.document == 0) return {};
    if (workload.document < 0 || workload.document > workload.sequence)
        return fault(detail, PlanProblem::sequence,
                     "documents of {} tokens in sequences of {} (1 up to the tokens of a sequence)", workload.document,
                     workload.sequence);
    if (workload.document < plan.cp)
        return fault(detail, PlanProblem::sequence,
                     "documents of {} tokens over cp {} (at least a token of each document on every rank)",
                     workload.document, plan.cp);
    bool const packed = workload.preference == Preference::none && workload.shape().documents() > 1;
    if (plan.attention != AttentionKernel::flash && packed)
        return fault(detail, PlanProblem::sequence,
                     "packed documents, which {} attention knows nothing of (attention must be flash)",
                     name_of(plan.attention));
    return {};
}

Fault check_sequence(Detail detail, ModelSpec const& model, ParallelPlan const& plan, Workload const& workload) {
    std::int64_t const split = plan.cp * (plan.sequence_parallel == Switch::on ? plan.tp : 1);
    if (workload.positions() % split != 0)
        return fault(detail, PlanProblem::sequence, "sequence {} is not divisible by cp{} = {}", workload.positions(),
                     plan.sequence_parallel == Switch::on ? " * tp" : "", split);
    if (auto found = check_documents(detail, plan, workload)) return found;
    if (model.position == PositionKind::learned && workload.positions() > model.max_positions)
        return fault(detail, PlanProblem::positions, "sequence {} is longer than the {} learned positions of {}",
                     workload.positions(), model.max_positions, model.name);
    if (plan.attention != AttentionKernel::flash && model.attention.index &&
        workload.shape().attended() > model.attention.index->chosen)
        return fault(
            detail, PlanProblem::sequence,
            "sparse attention, which {} has for sequences of more than {} tokens, is a fused kernel (attention "
            "must be flash, not {})",
            model.name, model.attention.index->chosen, name_of(plan.attention));
    if (plan.cp > 1 && model.attention.index)
        return fault(detail, PlanProblem::sequence,
                     "context parallelism of sparse attention, which {} has, is not modelled (cp must be 1)",
                     model.name);
    if (plan.cp > 1 && model.recurrent)
        return fault(detail, PlanProblem::sequence,
                     "context parallelism of recurrent layers, which {} has, is not modelled (cp must be 1)",
                     model.name);
    if (plan.cp > 1 && plan.cp_mode == ContextParallel::ulysses && (model.attention.heads / plan.tp) % plan.cp != 0)
        return fault(detail, PlanProblem::sequence,
                     "Ulysses needs cp {} to divide the {} heads of a tensor-parallel rank", plan.cp,
                     model.attention.heads / plan.tp);
    return {};
}

Fault check_experts(Detail detail, ModelSpec const& model, ParallelPlan const& plan) {
    if (plan.dispatcher == Dispatcher::deduplicated && !model.moe)
        return fault(detail, PlanProblem::experts,
                     "a deduplicating dispatcher, but {} has no experts (leave --moe-dispatcher out)", model.name);
    if (!model.moe && (plan.ep > 1 || plan.expert_tp > 1 || plan.expert_imbalance != 1))
        return fault(detail, PlanProblem::experts,
                     "ep {}, expert tp {} and an expert imbalance of {:g}, but {} has no experts (all must be 1)",
                     plan.ep, plan.expert_tp, plan.expert_imbalance, model.name);
    if (!model.moe) return {};
    if (!(plan.expert_imbalance >= 1 && plan.expert_imbalance <= static_cast<double>(model.moe->experts)))
        return fault(detail, PlanProblem::experts,
                     "expert imbalance {:g} (tokens of the busiest rank over the mean: from 1 to the {} experts of {})",
                     plan.expert_imbalance, model.moe->experts, model.name);
    if (model.moe->experts % plan.ep != 0)
        return fault(detail, PlanProblem::experts, "ep {} does not divide the {} experts of {}", plan.ep,
                     model.moe->experts, model.name);
    if (model.moe->intermediate % plan.expert_tp != 0)
        return fault(detail, PlanProblem::experts, "expert tp {} does not divide the expert width {}", plan.expert_tp,
                     model.moe->intermediate);
    if (std::int64_t const ranks = plan.dp * plan.cp * plan.tp; ranks % (plan.ep * plan.expert_tp) != 0)
        return fault(detail, PlanProblem::experts, "ep * expert tp = {} does not divide dp * cp * tp = {}",
                     plan.ep * plan.expert_tp, ranks);
    return {};
}

/// What to do about chunks that cannot be of equal size.
std::string instead_of_vpp(ModelSpec const& model, ParallelPlan const& plan) {
    std::vector<std::int64_t> possible;
    for (std::int64_t v = 2; v * plan.pp <= model.layer_count(); ++v)
        if (traits_of(plan.schedule).takes_chunks(v) && can_split(model, plan.pp, v)) possible.push_back(v);
    std::string const other = possible.empty() ? "" : fmt::format("vpp {}, or ", fmt::join(possible, ", "));
    return fmt::format(" ({}state the layers of each chunk, --stage-layers)", other);
}

/// Schedule, stages and chunks.
Fault check_schedule(Detail detail, ParallelPlan const& plan) {
    ScheduleTraits const& traits = traits_of(plan.schedule);
    constexpr PlanProblem problem = PlanProblem::schedule;
    if (!traits.takes_chunks(plan.vpp)) {
        if (traits.most_chunks == 1)
            return fault(detail, problem,
                         "vpp {} with schedule {} (it takes exactly 1; interleaved and breadth-first take more)",
                         plan.vpp, name_of(plan.schedule));
        if (traits.most_chunks == traits.least_chunks)
            return fault(detail, problem, "vpp {} with schedule {} (it takes exactly {})", plan.vpp,
                         name_of(plan.schedule), traits.least_chunks);
        return fault(detail, problem, "the {} schedule needs pp > 1 and vpp > 1 (pp {}, vpp {})",
                     name_of(plan.schedule), plan.pp, plan.vpp);
    }
    if (plan.vpp > 1 && plan.pp == 1)
        return fault(detail, problem, "the {} schedule needs pp > 1 and vpp > 1 (pp {}, vpp {})",
                     name_of(plan.schedule), plan.pp, plan.vpp);
    if (traits.even == Switch::on && plan.pp % 2 != 0)
        return fault(detail, problem,
                     "schedule {} cannot run {} ranks (microbatches enter from both ends: an even number)",
                     name_of(plan.schedule), plan.pp);
    return {};
}

/// Schedule and microbatches. @pre the batch divides.
Fault check_microbatches(Detail detail, ParallelPlan const& plan, Workload const& workload) {
    ScheduleTraits const& traits = traits_of(plan.schedule);
    constexpr PlanProblem problem = PlanProblem::schedule;
    std::int64_t const count = microbatches(plan, workload);
    if (traits.even == Switch::on && count % 2 != 0)
        return fault(detail, problem,
                     "schedule {} cannot run {} microbatches (half of them enter from each end: an even number)",
                     name_of(plan.schedule), count);
    std::int64_t const least = traits.microbatches_per_stage * plan.pp;
    if (count < least)
        return fault(detail, problem,
                     "schedule {} cannot run {} microbatches on {} ranks (at least twice as many as ranks, {})",
                     name_of(plan.schedule), count, plan.pp, least);
    return {};
}

Fault check_pipeline(Detail detail, ModelSpec const& model, ParallelPlan const& plan, Workload const& workload) {
    if (auto found = check_schedule(detail, plan)) return found;
    if (!zero_suits_pipeline(plan) && plan.pp == 1)
        return fault(detail, PlanProblem::zero,
                     "ZeRO-{} with schedule {} would gather and reduce beside every pair of passes (use ZeRO 0 or 1)",
                     plan.zero, name_of(plan.schedule));
    if (!zero_suits_pipeline(plan))
        return fault(detail, PlanProblem::zero,
                     "ZeRO-{} with pp {} would reduce gradients in every microbatch (use ZeRO 0 or 1 with "
                     "pipeline parallelism)",
                     plan.zero, plan.pp);
    if (plan.recompute_layers < 0 || plan.recompute_layers > model.layer_count())
        return fault(detail, PlanProblem::layers, "recompute of {} layers a stage (0 for all, up to the {} of {})",
                     plan.recompute_layers, model.layer_count(), model.name);
    if (plan.offload_layers < 0 || plan.offload_layers > model.layer_count())
        return fault(detail, PlanProblem::layers, "offload of {} layers (0 for all, up to the {} of {})",
                     plan.offload_layers, model.layer_count(), model.name);
    if (!plan.stage_layers.empty()) {
        auto const chunks = static_cast<std::size_t>(plan.pp * plan.vpp);
        if (plan.stage_layers.size() != chunks)
            return fault(detail, PlanProblem::layers, "stage layers has {} entries (pp * vpp = {})",
                         plan.stage_layers.size(), chunks);
        std::int64_t const sum = std::accumulate(plan.stage_layers.begin(), plan.stage_layers.end(), std::int64_t{0});
        for (std::int64_t const n : plan.stage_layers)
            if (n < 0) return fault(detail, PlanProblem::layers, "stage layers has a negative entry {}", n);
        if (sum != model.layer_count())
            return fault(detail, PlanProblem::layers, "stage layers add up to {} ({} has {})", sum, model.name,
                         model.layer_count());
    } else if (!can_split(model, plan.pp, plan.vpp)) {
        if (detail == Detail::problem) return PlanFault{PlanProblem::layers, {}};
        return fault(detail, PlanProblem::layers, "{} layers cannot be split into pp {} x vpp {} chunks{}",
                     model.layer_count(), plan.pp, plan.vpp,
                     plan.vpp > 1 ? " of equal size" + instead_of_vpp(model, plan) : "");
    }
    if (plan.loss_chunks > 1 && model.head != OutputHead::vocabulary)
        return fault(detail, PlanProblem::not_positive,
                     "{} loss chunks of a model without logits over a vocabulary (1: there is nothing to cut)",
                     plan.loss_chunks);
    if (std::int64_t const tokens = plan.micro_batch * (workload.sequence / plan.cp); plan.loss_chunks > tokens)
        return fault(detail, PlanProblem::not_positive, "{} loss chunks of a microbatch that has {} tokens on a rank",
                     plan.loss_chunks, tokens);
    std::int64_t const replica = plan.dp * plan.micro_batch;
    if (workload.global_batch % replica != 0)
        return fault(detail, PlanProblem::batch,
                     "global batch {} is not a multiple of dp * micro-batch = {} * {} = {} (the nearest: {})",
                     workload.global_batch, plan.dp, plan.micro_batch, replica,
                     std::max<std::int64_t>(1, (workload.global_batch + replica / 2) / replica) * replica);
    if (plan.shard_group < 0 || (plan.shard_group > 0 && (plan.dp * plan.cp) % plan.shard_group != 0))
        return fault(detail, PlanProblem::zero, "shard group {} does not divide dp * cp = {}", plan.shard_group,
                     plan.dp * plan.cp);
    if (!offload_suits_sharding(plan))
        return fault(
            detail, PlanProblem::zero,
            "offload {} with {}, but parameters come from host memory as shards are gathered (use ZeRO 3 {}or "
            "offload {})",
            name_of(plan.offload),
            plan.shard_group == 1 ? std::string("shard groups of one rank") : fmt::format("ZeRO {}", plan.zero),
            plan.shard_group == 1 ? "and larger groups " : "", name_of(without_parameters(plan.offload)));
    if (std::int64_t const held = plan.shard_group * plan.tp, experts = plan.ep * plan.expert_tp;
        model.moe && plan.shard_group > 0 && held % experts != 0 && experts % held != 0)
        return fault(
            detail, PlanProblem::zero,
            "a shard group has {} ranks (shard group * tp), which is neither a multiple nor a part of the {} of "
            "an expert group (ep * expert tp)",
            held, experts);
    return check_microbatches(detail, plan, workload);
}

Fault check_all(Detail detail, ModelSpec const& model, ParallelPlan const& plan, Workload const& workload) {
    if (auto found = check_positive(detail, model, plan, workload)) return found;
    if (auto found = check_tensor(detail, model, plan)) return found;
    if (auto found = check_sequence(detail, model, plan, workload)) return found;
    if (auto found = check_experts(detail, model, plan)) return found;
    return check_pipeline(detail, model, plan, workload);
}

}  // namespace

Fault find_fault(ModelSpec const& model, ParallelPlan const& plan, Workload const& workload) {
    return check_all(Detail::message, model, plan, workload);
}

std::optional<PlanProblem> find_problem(ModelSpec const& model, ParallelPlan const& plan, Workload const& workload) {
    if (auto const found = check_all(Detail::problem, model, plan, workload)) return found->problem;
    return {};
}

namespace {

/// @throws InputError: activations that full recompute is to keep, and that the model has not or no plan keeps so.
void require_kept(ModelSpec const& model, ParallelPlan const& plan) {
    ActivationGroups const kept = plan.kept_activations;
    require_activations(model, kept, "kept activations");
    if (kept.has(ActivationGroup::context) && plan.attention != AttentionKernel::flash)
        throw InputError(
            "plan: kept activations: context needs a fused attention kernel; where scores are in memory, what makes "
            "them runs again and its output with it (leave context out)");
    if (!kept.without(keepable_activations).empty())
        throw InputError("plan: full recompute keeps {} of a layer, if asked to, and not {}",
                         activations_text(keepable_activations, ", "), activations_text(kept, ", "));
}

}  // namespace

void require_valid(ModelSpec const& model, ParallelPlan const& plan, Workload const& workload) {
    if (auto const found = find_fault(model, plan, workload)) throw InputError("plan: {}", found->message);
    require_adapters(model, plan.adapters, "lora");
    if (plan.recompute == Recompute::selective) require_modules(model, plan.recompute_modules, "recompute modules");
    if (keeps_activations(plan)) require_kept(model, plan);
    if (offloads_some_activations(plan))
        require_activations(model, plan.offloaded_activations, "offloaded activations");
}

bool takes_bf16_gradients(Precision precision) { return precision == Precision::bf16 || is_narrow(precision); }

bool goes_with(Optimizer optimizer, Precision precision) {
    return optimizer != Optimizer::adamw_pure_bf16 || takes_bf16_gradients(precision);
}

std::string optimizer_refusal(Optimizer optimizer, Precision precision) {
    return fmt::format(
        "optimizer {} with precision {} (it goes with bf16, fp8 or fp4, whose weights are in bf16; adamw-bf16 keeps "
        "fp32 weights and goes with any)",
        name_of(optimizer), name_of(precision));
}

std::int64_t microbatches(ParallelPlan const& plan, Workload const& workload) {
    return workload.global_batch / (plan.dp * plan.micro_batch);
}

std::string_view name_of(PlanProblem problem) {
    switch (problem) {
        case PlanProblem::not_positive: return "range";
        case PlanProblem::heads: return "heads";
        case PlanProblem::kv_heads: return "kv heads";
        case PlanProblem::width: return "width";
        case PlanProblem::layers: return "layers";
        case PlanProblem::schedule: return "schedule";
        case PlanProblem::batch: return "batch";
        case PlanProblem::sequence: return "sequence";
        case PlanProblem::experts: return "experts";
        case PlanProblem::sequence_parallel: return "sequence parallel";
        case PlanProblem::zero: return "zero";
        case PlanProblem::positions: return "positions";
    }
    return "?";
}

}  // namespace sextant
