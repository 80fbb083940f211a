#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"
#include "planner/expert_choices.hpp"
#include "planner/framework_rules.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// A constraint on an integer axis, as the user writes it: "8", "1,2,4", "2..16", "<=8", ">=2".
class AxisFilter {
public:
    /// @throws InputError when the text is none of the forms, or names values below `least`.
    static AxisFilter parse(std::string_view text, std::string_view where, std::int64_t least = 1);
    [[nodiscard]] bool allows(std::int64_t value) const;
    /// The values named one by one, if they are: they are searched even where the default space would leave them out.
    [[nodiscard]] std::vector<std::int64_t> const& named() const { return named_; }
    [[nodiscard]] std::string const& text() const { return text_; }

private:
    std::string text_;
    std::vector<std::int64_t> named_;
    std::int64_t least_ = 0;
    std::int64_t most_ = INT64_MAX;
};

/// What the user fixed; everything else is searched.
struct SearchConstraints {
    std::optional<AxisFilter> dp, tp, pp, cp, ep, vpp, micro_batch, zero;
    std::vector<Schedule> schedules;
    std::vector<Recompute> recompute;
    std::optional<std::int64_t> recompute_layers;  ///< of a stage, with full recompute; 0: all
    std::vector<Offload> offload;
    std::vector<ContextParallel> cp_modes;
    std::optional<Switch> sequence_parallel;
    std::optional<Dispatcher> dispatcher;
    std::optional<RecomputeModules> recompute_modules;  ///< of selective recompute
    std::optional<std::int64_t> expert_tp;  ///< inside an expert; none: as the framework has it, else the base's
    ExpertChoices experts{};  ///< of the framework: what is tried with models that have experts where nothing is fixed
    UsualPlan usual{};        ///< of the framework: other context parallelism and pipelines only where they are named
    Launcher launcher = Launcher::any;  ///< what it does not run is left out, unless it is named
    /// Precision, optimizer, attention kernel, dropout, cross entropy, expert tp, shard group; dispatcher and modules
    /// where they are not searched.
    ParallelPlan base;
    enum class Width : std::uint8_t {
        standard,  ///< tensor parallelism inside a domain, no offload, power-of-two micro-batches; with experts also
                   ///< what the framework has for them (`ExpertChoices`)
        full,      ///< every degree, divisor, chunk count, partial recompute, offload
    } width = Width::standard;
};
/// Nothing fixed but what the framework does by itself, with all that it offers for experts.
SearchConstraints constraints_of(FrameworkProfile const& framework);

/// Values of every axis that the search visits. The product of the axes, less what cannot differ (vpp without a
/// pipeline, ZeRO without data parallelism, ...), is what a search enumerates.
struct SearchSpace {
    std::int64_t accelerators = 0;
    std::vector<std::int64_t> tp, cp, pp, ep, micro_batch;
    std::vector<Switch> sequence_parallel;
    std::vector<ContextParallel> cp_modes;
    struct Pipelining {
        Schedule schedule;
        std::int64_t vpp;
    };
    std::vector<Pipelining> pipelining;  ///< for pp > 1
    struct Recomputation {
        Recompute policy;
        std::int64_t layers;      ///< 0: all; else as many times what `recompute_step` says
        std::size_t modules = 0;  ///< with `selective`: which of `module_sets`
        std::size_t kept = 0;     ///< with `full`: which of `kept_sets`
    };
    std::vector<Recomputation> recompute;
    std::optional<std::int64_t> recompute_layers;  ///< of a stage, with full recompute; 0: all; none: searched
    std::vector<RecomputeModules> module_sets;     ///< the first is the base's
    std::vector<ActivationGroups> kept_sets;       ///< the same
    std::vector<RecomputeModules> sets_to_refine;  ///< for `refine_with_recompute`
    std::vector<Dispatcher> dispatchers;           ///< several: the second where a group of experts spans domains
    std::vector<int> zero;
    std::vector<Offload> offload;
    std::optional<AxisFilter> dp;
    FrameworkRules rules;
    ParallelPlan base;
};

/// Tokens per document that are asked for, 0 where none are. @throws InputError: none, or more than a sequence has.
std::int64_t document_tokens(std::optional<std::int64_t> const& asked, std::int64_t sequence);

/// @throws InputError when a constraint leaves an axis empty, saying which and what it may be.
SearchSpace make_search_space(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                              std::int64_t accelerators, SearchConstraints const& constraints);

/// The fewest layers of a stage that can run again: Megatron-Core runs as many again in every chunk of it.
std::int64_t recompute_step(FrameworkProfile const& framework, ParallelPlan const& plan);

/// Whether ZeRO is of use to one rank: gradients leave with every microbatch, or parameters come from host memory.
bool serves_one_rank(int zero, Offload offload, FrameworkProfile const& framework);

/// Positive divisors, ascending.
std::vector<std::int64_t> divisors(std::int64_t n);

}  // namespace sextant
