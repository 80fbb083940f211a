#include "planner/search_space.hpp"

#include "core/error.hpp"
#include "core/graph/stage_layout.hpp"
#include "core/graph/usual_stages.hpp"
#include "core/is_one_of.hpp"
#include "core/spec/gradient_bytes.hpp"
#include "core/spec/parameters.hpp"
#include "core/spec/schedule_traits.hpp"
#include "planner/degrees.hpp"
#include "planner/remat_policies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sextant {
namespace {

using Values = std::vector<std::int64_t>;

bool anything(std::int64_t) { return true; }

/// Default values that pass the filter, and the values it names if they are possible at all.
Values filtered(Values values, std::optional<AxisFilter> const& filter, std::string_view flag, auto&& possible) {
    if (!filter) return values;
    Values const offered = values;
    for (std::int64_t const v : filter->named())
        if (possible(v)) values.push_back(v);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    std::erase_if(values, [&](std::int64_t v) { return !filter->allows(v); });
    if (values.empty())
        throw InputError("{}: nothing of '{}' can be searched (the values here are {})", flag, filter->text(),
                         fmt::join(offered, ", "));
    return values;
}

Values keep_if(Values values, auto&& predicate) {
    std::erase_if(values, [&](std::int64_t v) { return !predicate(v); });
    return values;
}

bool interleaves(Pipelines framework) { return framework == Pipelines::interleaved || framework == Pipelines::uneven; }

/// Chunk counts for which some pipeline depth of the space gives equal chunks, or such as the framework has for models
/// that have none.
Values chunk_counts(ModelSpec const& model, Values const& pipelines, Pipelines framework, bool full) {
    bool const uneven = framework == Pipelines::uneven;
    Values values;
    for (std::int64_t v = 2; v <= model.layer_count(); ++v) {
        bool const possible = std::any_of(pipelines.begin(), pipelines.end(), [&](std::int64_t pp) {
            return pp > 1 && (can_split(model, pp, v) || (uneven && !uneven_chunks(model, pp, v).empty()));
        });
        if (possible && (full || v <= 16)) values.push_back(v);
    }
    return values;
}

/// Adds selective recompute of sets of modules, where the framework has it and nobody names others: for experts and
/// torchtitan's own; those of Megatron-Core for dense models are for the best plans alone.
void add_module_sets(SearchSpace& space, SearchConstraints const& c, ModelSpec const& model) {
    if (c.recompute_modules || !c.recompute.empty() || c.base.recompute_modules != attention_core) return;
    std::vector<RecomputeModules> sets;
    if (model.moe && c.experts.recomputes_modules == Switch::on) sets = module_sets_to_try(model, c.base.precision);
    if (!model.moe && c.launcher == Launcher::megatron && !c.recompute_layers)
        space.sets_to_refine = module_sets_to_try(model, c.base.precision);
    if (c.launcher == Launcher::torchtitan && modules_of(model).has(RecomputeModule::op))
        sets = {RecomputeModules{RecomputeModule::op}};
    for (RecomputeModules const set : sets) {
        space.recompute.push_back({Recompute::selective, 0, space.module_sets.size()});
        space.module_sets.push_back(set);
    }
}

/// Adds what MaxText's policies keep of a layer, where nobody names a policy.
void add_kept_sets(SearchSpace& space, SearchConstraints const& c, ModelSpec const& model) {
    if (c.launcher != Launcher::maxtext || !c.recompute.empty() || !c.base.kept_activations.empty()) return;
    for (auto const& [name, policy] : remat_policies) {
        ActivationGroups const kept = policy.kept & activations_of(model);
        if (!policy.offloaded.empty() || is_one_of(space.kept_sets, kept)) continue;
        space.recompute.push_back({Recompute::full, 0, 0, space.kept_sets.size()});
        space.kept_sets.push_back(kept);
    }
}

/// Without a name: none, but where every policy runs something again (MaxText); the attention core's where running it
/// again frees something; and all of a layer.
std::vector<Recompute> policies_to_try(SearchConstraints const& c, bool full) {
    if (!c.recompute.empty()) return c.recompute;
    constexpr std::array of_their_own{Launcher::torchtitan, Launcher::fsdp2, Launcher::maxtext};
    // With a fused kernel the attention core keeps nothing that running it again would free.
    bool const core = (c.base.attention != AttentionKernel::flash || full) && !is_one_of(of_their_own, c.launcher);
    std::vector<Recompute> policies;
    if (c.launcher != Launcher::maxtext) policies.push_back(Recompute::none);
    if (core || c.base.recompute_modules != attention_core) policies.push_back(Recompute::selective);
    policies.push_back(Recompute::full);
    return policies;
}

std::vector<SearchSpace::Recomputation> recomputations(SearchConstraints const& c, ModelSpec const& model, bool full) {
    bool const some_layers = !c.recompute_layers && c.launcher != Launcher::maxtext;
    std::vector<SearchSpace::Recomputation> list;
    for (Recompute const policy : policies_to_try(c, full)) {
        list.push_back({policy, 0});
        if (policy == Recompute::full && some_layers)
            for (std::int64_t n = 1; n < model.layer_count(); n *= 2)
                list.push_back({policy, n});
    }
    return list;
}

NamedAxes named_axes(SearchConstraints const& c, ModelSpec const& model) {
    auto const named = [](std::optional<AxisFilter> const& filter) { return filter && !filter->named().empty(); };
    return {.tp = named(c.tp),
            .pp = named(c.pp),
            .cp = named(c.cp),
            .ep = named(c.ep),
            .expert_tp = c.expert_tp.has_value() || !model.moe,  // without experts it is 1
            .vpp = named(c.vpp),
            .zero = named(c.zero),
            .sequence_parallel = c.sequence_parallel.has_value(),
            .recompute_layers = c.recompute_layers.has_value(),
            .offload = !c.offload.empty()};
}

/// Degrees of the model's axes and micro-batches, each a divisor of what it splits.
void set_degrees(SearchSpace& space, ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                 SearchConstraints const& c) {
    bool const full = c.width == SearchConstraints::Width::full;
    std::int64_t const accelerators = space.accelerators;
    Values const all = divisors(accelerators);
    auto const splits_heads = [&](std::int64_t v) { return accelerators % v == 0 && divides_heads(model, v); };
    space.tp =
        filtered(keep_if(all, [&](std::int64_t v) { return splits_heads(v) && (full || v <= cluster.domain_size); }),
                 c.tp, "--tp", splits_heads);
    auto const splits_layers = [&](std::int64_t v) { return accelerators % v == 0 && v <= model.layer_count(); };
    bool const has_pipelines = c.usual.pipelines != Pipelines::none;
    space.pp = filtered(keep_if(all, [&](std::int64_t v) { return splits_layers(v) && (v == 1 || has_pipelines); }),
                        c.pp, "--pp", splits_layers);
    // Splitting the sequence pays once a rank's share is long.
    std::int64_t const shortest_share = full ? 512 : 2048;
    auto const splits_sequence = [&](std::int64_t v) { return accelerators % v == 0 && workload.sequence % v == 0; };
    bool const whole_sequences = model.recurrent || model.attention.index;  // the others are not modelled
    space.cp = filtered(keep_if(all,
                                [&](std::int64_t v) {
                                    return v == 1 || (!whole_sequences && workload.sequence / v >= shortest_share &&
                                                      splits_sequence(v));
                                }),
                        c.cp, "--cp", splits_sequence);
    Values experts{1};
    if (model.moe) experts = keep_if(divisors(model.moe->experts), [&](std::int64_t v) { return v <= accelerators; });
    space.ep = filtered(experts, c.ep, "--ep",
                        [&](std::int64_t v) { return std::find(experts.begin(), experts.end(), v) != experts.end(); });
    std::int64_t const largest_micro_batch = full ? 256 : 32;
    Values const micro_batches = full ? divisors(workload.global_batch) : powers_of_two(largest_micro_batch);
    space.micro_batch =
        filtered(keep_if(micro_batches,
                         [&](std::int64_t v) { return v <= std::min(largest_micro_batch, workload.global_batch); }),
                 c.micro_batch, "--micro-batch", [&](std::int64_t v) { return workload.global_batch % v == 0; });
}

/// Those of the framework that are not slower than others of it with as much memory.
std::vector<Schedule> schedules_to_try(SearchConstraints const& c, bool divides_experts) {
    if (!c.schedules.empty()) return c.schedules;
    if (c.launcher == Launcher::maxtext) return {Schedule::gpipe, Schedule::breadth_first};
    constexpr std::array with_gpipe{Launcher::any, Launcher::torchtitan, Launcher::nanotron};
    bool const full = c.width == SearchConstraints::Width::full;
    bool const overlaps = c.experts.overlaps == Switch::on || (full && c.launcher == Launcher::any);
    std::vector<Schedule> schedules{Schedule::one_f_one_b};
    if (interleaves(c.usual.pipelines) || c.vpp) schedules.push_back(Schedule::interleaved);
    if (full && is_one_of(with_gpipe, c.launcher)) schedules.push_back(Schedule::gpipe);
    if (overlaps && divides_experts) schedules.push_back(Schedule::overlapped);
    return schedules;
}

/// How the ranks of a context-parallel group share keys and values: as the framework does, or in the full space in
/// every way that it has.
std::vector<ContextParallel> cp_modes_to_try(SearchConstraints const& c, ModelSpec const& model) {
    if (!c.cp_modes.empty()) return c.cp_modes;
    if (auto const only = only_cp_mode(model); only && c.launcher == Launcher::megatron) return {*only};
    constexpr std::array with_one_way{Launcher::deepspeed, Launcher::maxtext};
    if (c.width == SearchConstraints::Width::standard || is_one_of(with_one_way, c.launcher))
        return {usual_cp_mode(c.usual.cp_mode, model)};
    std::vector<ContextParallel> modes{ContextParallel::all_gather};
    if (!slides(model)) modes.insert(modes.begin(), ContextParallel::ring);
    if (c.launcher != Launcher::torchtitan) modes.push_back(ContextParallel::ulysses);
    return modes;
}

/// Schedules with the chunks per rank that each takes. Takes pp = 1 out of the space where one chunk is not allowed.
void set_pipelining(SearchSpace& space, ModelSpec const& model, SearchConstraints const& c) {
    bool const full = c.width == SearchConstraints::Width::full;
    std::vector<Schedule> const schedules = schedules_to_try(c, model.moe && space.ep.back() > 1);
    Values chunks = chunk_counts(model, space.pp, c.usual.pipelines, full);
    if (c.vpp) {
        chunks.insert(chunks.begin(), 1);
        chunks = filtered(chunks, c.vpp, "--vpp", [&](std::int64_t v) { return v <= model.layer_count(); });
    }
    bool const one_chunk = !c.vpp || c.vpp->allows(1);
    if (!one_chunk) {  // without a pipeline there is one chunk
        std::erase(space.pp, 1);
        if (space.pp.empty())
            throw InputError("--vpp: '{}' needs a pipeline, and pp can only be 1 here", c.vpp->text());
    }
    for (Schedule const schedule : schedules) {
        ScheduleTraits const& traits = traits_of(schedule);
        bool const is_gpipe = c.schedules.empty() && schedule == Schedule::breadth_first;  // of one chunk
        if (traits.takes_chunks(1) && one_chunk && !is_gpipe) space.pipelining.push_back({schedule, 1});
        if (traits.usual_chunks() > 1) {  // a fixed number, whatever else is searched
            if (!c.vpp || c.vpp->allows(traits.usual_chunks()))
                space.pipelining.push_back({schedule, traits.usual_chunks()});
            continue;
        }
        for (std::int64_t const v : chunks)
            if (v > 1 && traits.takes_chunks(v)) space.pipelining.push_back({schedule, v});
    }
    if (space.pipelining.empty())
        throw InputError(
            "--vpp: no schedule is left (interleaved needs vpp > 1, breadth-first and 1f1b-overlap take any, zb-v and "
            "dualpipe-v need 2, the others 1)");
}

/// What is switched on or off or kept where, for every degree.
void set_choices(SearchSpace& space, ModelSpec const& model, ClusterSpec const& cluster, SearchConstraints const& c) {
    bool const full = c.width == SearchConstraints::Width::full;
    if (c.sequence_parallel)
        space.sequence_parallel = {*c.sequence_parallel};
    else
        space.sequence_parallel = full ? std::vector{Switch::off, Switch::on} : std::vector{Switch::on};
    space.cp_modes = cp_modes_to_try(c, model);
    space.recompute = recomputations(c, model, full);
    space.recompute_layers = c.recompute_layers;
    space.module_sets = {c.base.recompute_modules};
    add_module_sets(space, c, model);
    space.kept_sets = {c.base.kept_activations};
    add_kept_sets(space, c, model);
    bool const open = model.moe && !c.dispatcher && c.base.dispatcher == Dispatcher::all_to_all;
    space.dispatchers = open ? dispatchers_to_try(cluster, space.accelerators, c.experts)
                             : std::vector{c.dispatcher.value_or(c.base.dispatcher)};
    for (std::int64_t const z : filtered({0, 1, 2, 3}, c.zero, "--zero", anything)) {
        if (z > 3) throw InputError("--zero: {} is no ZeRO stage (0, 1, 2 or 3)", z);
        if (z < 3 || c.base.narrow_copies == Switch::off) space.zero.push_back(static_cast<int>(z));
    }
    if (space.zero.empty())
        throw InputError("--narrow-copies: those of weights that ZeRO 3 shards are not modelled (--zero 0 to 2)");
    space.offload = c.offload;
    if (space.offload.empty())
        space.offload = full ? std::vector{Offload::none,        Offload::optimizer,
                                           Offload::activations, Offload::optimizer_and_activations,
                                           Offload::parameters,  Offload::parameters_and_activations}
                             : std::vector{Offload::none};
    auto const needs_shards = [](Offload offload) { return offloads_parameters(offload); };
    if (!is_one_of(space.zero, 3) && std::all_of(space.offload.begin(), space.offload.end(), needs_shards))
        throw InputError("--offload: parameters come from host memory as ZeRO 3 gathers them (--zero 3)");
}

}  // namespace

std::int64_t document_tokens(std::optional<std::int64_t> const& asked, std::int64_t sequence) {
    if (asked && (*asked < 1 || *asked > sequence))
        throw InputError("--document-tokens: {} is out of range (1 to the {} tokens of a sequence, --seq)", *asked,
                         sequence);
    return asked.value_or(0);
}

SearchConstraints constraints_of(FrameworkProfile const& framework) {
    SearchConstraints c;
    c.usual = framework.usual;
    c.launcher = launcher_of(framework);
    c.experts = expert_choices(framework);
    return c;
}

std::int64_t recompute_step(FrameworkProfile const& framework, ParallelPlan const& plan) {
    return is_framework(framework, "megatron") ? plan.vpp : 1;
}

SearchSpace make_search_space(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                              std::int64_t accelerators, SearchConstraints const& c) {
    if (model.position == PositionKind::learned && workload.positions() > model.max_positions)
        throw InputError("--seq: {} is longer than the {} learned positions of {}", workload.positions(),
                         model.max_positions, model.name);
    require_adapters(model, c.base.adapters, "lora");
    if (c.base.recompute_modules != attention_core)
        require_modules(model, c.base.recompute_modules, "--recompute-modules");
    require_activations(model, c.base.kept_activations, "--keep-activations");
    if (c.base.fp8_activation_input == Switch::on && !model.mlp.gated)
        throw InputError("--fp8-activation-input: {} has no gated feed-forward (SwiGLU), whose input it is for",
                         model.name);
    if (c.base.narrow_copies == Switch::on && (!is_narrow(c.base.precision) || c.base.adapters.on()))
        throw InputError(
            "--narrow-copies: {} (it goes with --precision fp8, fp8-block, mxfp8 or fp4, without adapters)",
            c.base.adapters.on() ? "adapters freeze the weights"
                                 : fmt::format("weights of {} have none", name_of(c.base.precision)));
    if (c.base.offloaded_activations != all_activations)
        require_activations(model, c.base.offloaded_activations, "--offload-activations");
    SearchSpace space;
    space.accelerators = accelerators;
    space.base = c.base;
    if (c.expert_tp) space.base.expert_tp = *c.expert_tp;
    space.rules = FrameworkRules(c.launcher, named_axes(c, model));
    space.dp = c.dp;
    set_degrees(space, model, workload, cluster, c);
    if (c.sequence_parallel == Switch::on && space.tp == Values{1})
        throw InputError(
            "--sequence-parallel: splits over the tensor-parallel group, and tp can only be 1 here (it needs tp > 1)");
    set_pipelining(space, model, c);
    set_choices(space, model, cluster, c);
    return space;
}

bool serves_one_rank(int zero, Offload offload, FrameworkProfile const& framework) {
    bool const leave = kept_gradients(framework.memory).to_host == Switch::on;
    return zero == 3 ? offloads_parameters(offload) : zero == 2 && offloads_optimizer(offload) && leave;
}

}  // namespace sextant
