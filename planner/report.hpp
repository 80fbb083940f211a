#pragma once

#include "simulator/closed_form.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// How much of an accelerator's memory a plan may take.
struct MemoryLimit {
    Bytes capacity;     ///< of the device
    Bytes usable;       ///< what the allocator may reserve before a run is called out of memory
    Bytes host;         ///< host memory per accelerator, for what is offloaded
    Bytes of_device{};  ///< what the framework can use of it, whatever the user allows
    [[nodiscard]] bool admits(StageMemory const& memory) const {
        return memory.reserved() <= usable && memory.host <= host;
    }
};

/// The device's capacity, and the framework's usable fraction of it.
MemoryLimit default_memory_limit(ClusterSpec const& cluster, FrameworkProfile const& framework);
/// The same with what the user allows: "90%", "70 GB". @throws InputError: not a size nor a percentage, or outside (0,
/// capacity].
MemoryLimit parse_memory_limit(std::string_view text, ClusterSpec const& cluster, FrameworkProfile const& framework,
                               std::string_view where);

/// What one step costs in money; absent when neither cluster nor user names a price.
std::optional<DollarsPerSecond> price_of(ClusterSpec const& cluster, std::int64_t accelerators);

/// Everything a step report says of one plan.
struct StepReport {
    ParallelPlan plan;
    Workload workload;
    std::int64_t accelerators = 1;
    std::int64_t microbatches = 1;
    StepEstimate estimate;
    double tokens_per_second = 0;
    FlopsPerSecond model_rate;     ///< model FLOPs per second and accelerator (attention over the full square)
    FlopsPerSecond hardware_rate;  ///< executed FLOPs, so: causal attention without its masked half, with recompute
    double mfu = 0;  ///< model_rate over the dense peak at the plan's precision; attention's over `attention_peak`
    double hfu = 0;  ///< hardware_rate over the same peaks
    MemoryLimit limit;
    bool fits = false;
    std::optional<Sourced<double>> price;  ///< US dollars per accelerator and hour
    std::optional<Dollars> step_cost;
    std::optional<Dollars> million_tokens_cost;
    StepInterval interval;                 ///< 80 % interval of the step's time, as factors on it
    std::vector<std::string> unsupported;  ///< terms of its time that no measurement supports
    std::vector<std::string> assumptions;  ///< the assumed terms that its time and memory stand on
    /// Of a plan that a search shows: what its framework refuses or has no words for.
    std::vector<std::string> not_expressed;
    std::int64_t trained_parameters = 0;  ///< of adapters; 0: all
    std::string digest;
    std::vector<std::string> measured;  ///< what a step that ran says beside it (`measured_gap`); empty: none is given
};

/// Where the upper end of what a fitting plan takes is more than the device has: the limit that leaves room for it, if
/// memory is spread alike.
std::optional<Bytes> roomier_limit(StepReport const& report);

/// What a report stands on: whose price it is, then the assumed terms.
std::vector<std::string> all_assumptions(StepReport const& report);

/// Schedules are walked (`PipelineMethod::walk`). @throws InputError when the plan breaks a structural rule.
StepReport make_report(ClosedForm& form, ParallelPlan const& plan, MemoryLimit const& limit);
/// The same of a plan that has been evaluated.
StepReport make_report(ClosedForm& form, ParallelPlan const& plan, MemoryLimit const& limit,
                       StepEstimate const& estimate);

/// The assumed values behind a report: "gemm_scale 0.85 (framework megatron): <why>". Only terms that this plan uses.
std::vector<std::string> collect_assumptions(ModelSpec const& model, ClusterSpec const& cluster,
                                             FrameworkProfile const& framework, FrameworkTiming const& timing,
                                             ParallelPlan const& plan);

}  // namespace sextant
