#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

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
    std::vector<Offload> offload;
    std::vector<ContextParallel> cp_modes;
    std::optional<Switch> sequence_parallel;
    UsualPlan usual{};  ///< of the framework: other context parallelism and pipelines only where they are named
    ParallelPlan base;  ///< precision, optimizer, attention kernel, dropout, cross entropy, expert tp, shard group
    enum class Width : std::uint8_t {
        standard,  ///< tensor parallelism inside a domain, no offload, power-of-two micro-batches
        full,      ///< every degree, divisor, chunk count, partial recompute, offload
    } width = Width::standard;
};

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
        std::int64_t layers;  ///< 0: all
    };
    std::vector<Recomputation> recompute;
    std::vector<int> zero;
    std::vector<Offload> offload;
    std::optional<AxisFilter> dp;
    ParallelPlan base;
};

/// Tokens per document that are asked for, 0 where none are. @throws InputError: none, or more than a sequence has.
std::int64_t document_tokens(std::optional<std::int64_t> const& asked, std::int64_t sequence);

/// @throws InputError when a constraint leaves an axis empty, saying which and what it may be.
SearchSpace make_search_space(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                              std::int64_t accelerators, SearchConstraints const& constraints);

/// Positive divisors, ascending.
std::vector<std::int64_t> divisors(std::int64_t n);

}  // namespace sextant
