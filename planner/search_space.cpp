#include "planner/search_space.hpp"

#include "core/error.hpp"
#include "core/graph/stage_layout.hpp"
#include "core/graph/usual_stages.hpp"
#include "core/spec/parameters.hpp"
#include "core/spec/schedule_traits.hpp"
#include "planner/degrees.hpp"

#include <fmt/format.h>

#include <algorithm>

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

/// Adds selective recompute of sets of modules, where the framework has it for experts and nobody names others.
void add_module_sets(SearchSpace& space, SearchConstraints const& c, ModelSpec const& model) {
    bool const fixed = c.recompute_modules || !c.recompute.empty() || c.base.recompute_modules != attention_core;
    if (!model.moe || c.experts.recomputes_modules == Switch::off || fixed) return;
    for (RecomputeModules const set : module_sets_to_try(model, c.base.precision)) {
        space.recompute.push_back({Recompute::selective, 0, space.module_sets.size()});
        space.module_sets.push_back(set);
    }
}

std::vector<SearchSpace::Recomputation> recomputations(SearchConstraints const& c, ModelSpec const& model, bool full) {
    std::vector<Recompute> policies = c.recompute;
    if (policies.empty()) {
        policies = {Recompute::none};
        // With a fused kernel the attention core keeps nothing that running it again would free.
        if (c.base.attention != AttentionKernel::flash || c.base.recompute_modules != attention_core || full)
            policies.push_back(Recompute::selective);
        policies.push_back(Recompute::full);
    }
    std::vector<SearchSpace::Recomputation> list;
    for (Recompute const policy : policies) {
        list.push_back({policy, 0});
        if (policy == Recompute::full && !c.recompute_layers)
            for (std::int64_t n = 1; n < model.layer_count(); n *= 2)
                list.push_back({policy, n});
    }
    return list;
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

/// Schedules with the chunks per rank that each takes. Takes pp = 1 out of the space where one chunk is not allowed.
void set_pipelining(SearchSpace& space, ModelSpec const& model, SearchConstraints const& c) {
    bool const full = c.width == SearchConstraints::Width::full;
    std::vector<Schedule> schedules = c.schedules;
    if (schedules.empty()) {
        schedules = {Schedule::one_f_one_b};
        if (interleaves(c.usual.pipelines) || c.vpp) schedules.push_back(Schedule::interleaved);
        if (full) schedules.push_back(Schedule::gpipe);
        if (model.moe && (full || (c.experts.overlaps == Switch::on && space.ep.back() > 1)))
            schedules.push_back(Schedule::overlapped);
    }
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
        if (traits.takes_chunks(1) && one_chunk) space.pipelining.push_back({schedule, 1});
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
    space.cp_modes = c.cp_modes;
    if (space.cp_modes.empty() && full) {
        space.cp_modes = {ContextParallel::all_gather, ContextParallel::ulysses};
        if (!slides(model)) space.cp_modes.insert(space.cp_modes.begin(), ContextParallel::ring);
    } else if (space.cp_modes.empty()) {
        space.cp_modes = {usual_cp_mode(c.usual.cp_mode, model)};
    }
    space.recompute = recomputations(c, model, full);
    space.recompute_layers = c.recompute_layers;
    space.module_sets = {c.base.recompute_modules};
    add_module_sets(space, c, model);
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
        space.offload = full ? std::vector{Offload::none, Offload::optimizer, Offload::activations,
                                           Offload::optimizer_and_activations}
                             : std::vector{Offload::none};
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
    c.experts = expert_choices(framework);
    return c;
}

std::int64_t recompute_step(FrameworkProfile const& framework, ParallelPlan const& plan) {
    return is_framework(framework, "megatron") ? plan.vpp : 1;
}

SearchSpace make_search_space(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                              std::int64_t accelerators, SearchConstraints const& c) {
    if (model.position == PositionKind::learned && workload.sequence > model.max_positions)
        throw InputError("--seq: {} is longer than the {} learned positions of {}", workload.sequence,
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
    space.dp = c.dp;
    set_degrees(space, model, workload, cluster, c);
    if (c.sequence_parallel == Switch::on && space.tp == Values{1})
        throw InputError(
            "--sequence-parallel: splits over the tensor-parallel group, and tp can only be 1 here (it needs tp > 1)");
    set_pipelining(space, model, c);
    set_choices(space, model, cluster, c);
    return space;
}

}  // namespace sextant
