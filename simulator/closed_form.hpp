#pragma once

#include "core/graph/stage_layout.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/schedule_traits.hpp"
#include "cost_models/block_price.hpp"
#include "cost_models/memory_footprint.hpp"
#include "simulator/data_parallel.hpp"
#include "simulator/held_passes.hpp"
#include "simulator/pipeline_formula.hpp"
#include "simulator/pipeline_walk.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace sextant {

/// Where a step's time goes, on the slowest pipeline stage. The parts add up to the step time.
struct StepBreakdown {
    Seconds gemm;
    Seconds attention;
    Seconds memory_bound;
    Seconds host;       ///< kernel gaps and waiting for the host
    Seconds recompute;  ///< all that recompute runs again
    Seconds tp;
    Seconds cp;
    Seconds ep;
    Seconds pp;  ///< exposed point-to-point transfers
    Seconds bubble;
    Seconds dp;  ///< exposed gradient reduction and weight gathers
    Seconds optimizer;
    Seconds offload;    ///< exposed transfers to and from the host
    Seconds reference;  ///< forward passes of a frozen reference
    Seconds fixed;      ///< per step, whatever the plan
    [[nodiscard]] Seconds total() const;
};

/// What the closed form says of one plan.
struct StepEstimate {
    Seconds time;
    StepBreakdown breakdown;
    std::int64_t slowest_stage = 0;
    std::int64_t fullest_stage = 0;
    StageMemory memory;  ///< of the fullest stage
    [[nodiscard]] Bytes peak() const { return memory.reserved(); }
};

/// How the time of a pipeline is found. `quick`: the closed form of the schedules that have one; the others are walked,
/// the first rounds of microbatches only where there are many. `walk`: every schedule is walked, which is exact where
/// stages differ too; beyond 500,000 slots the first rounds only, and the closed form where those are too many.
/// `rounds`: the same beyond 5,000 slots already, which moves a step time by less than 1e-6.
enum class PipelineMethod : std::uint8_t { quick, walk, rounds };

/// A run of pipeline ranks with the same content, priced for one microbatch; the mean over microbatches where a rank
/// holds the stages of both directions.
struct StageCost {
    std::int64_t first = 0;
    std::int64_t count = 1;
    PassTime forward;
    PassTime backward;  ///< without recompute
    PassTime weight;    ///< the part of `backward` that is weight gradients
    PassTime rerun;
    Seconds forward_ends;               ///< of `forward`, embedding and head; where every microbatch sends (ZeRO 2, 3)
    Seconds backward_ends;              ///< the same of `backward`
    double alternating = 0;             ///< of layers with experts, those that come after one without
    Seconds forward_experts;            ///< of `forward`, layers with experts, where some come after one without
    Seconds backward_experts;           ///< the same of `backward` with what runs again
    StageLoad load;                     ///< for the first of these ranks, which holds the most microbatches
    std::vector<double> chunk_shares;   ///< of each chunk in what the rank keeps of a microbatch; empty: all are equal
    std::vector<double> device_shares;  ///< in what of it stays on the device where some is offloaded
    std::vector<double> offloaded_shares;  ///< and in what does not
    [[nodiscard]] bool has_unequal_chunks() const { return !chunk_shares.empty() || !device_shares.empty(); }
};

/// All stages of a pipeline, and the transfers between them.
struct PipelineCost {
    std::vector<StageCost> stages;
    std::int64_t microbatches = 1;
    Seconds transfer;          ///< one send of a microbatch's activations to the next stage
    Seconds transfer_latency;  ///< the part of it in which no bytes move
    DataParallelCurves data_parallel;
    std::vector<ChunkCost> chunks;  ///< in model order, where the schedule is walked
    WalkedSchedule schedule;        ///< none: the closed form, which the schedule then has
};

/// One plan shape priced: what is the same for all plans that differ only in dp, pp, vpp, ZeRO, recompute, schedule and
/// offload.
struct ShapeCost {
    PricedBlocks blocks;
    std::vector<LayerKind> kinds;
    std::int64_t mtp_modules = 0;  ///< that `blocks.mtp` is
};

/// Evaluates plans of one model, workload, cluster and framework in closed form, reusing what they share. Not
/// thread-safe: one per thread. Holds references: all four must outlive it.
class ClosedForm {
public:
    ClosedForm(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
               FrameworkProfile const& framework, Precision precision);

    /// Everything at once. @throws InputError when the plan breaks a structural rule.
    StepEstimate evaluate(ParallelPlan const& plan, PipelineMethod method = PipelineMethod::quick);

    // The same in three steps, for a search that visits many plans with common parts.
    ShapeCost price_shape(ParallelPlan const& plan);
    PipelineCost assemble(ShapeCost const& shape, ParallelPlan const& plan,
                          PipelineMethod method = PipelineMethod::quick);
    [[nodiscard]] StepEstimate finish(PipelineCost const& pipeline, ParallelPlan const& plan) const;
    /// The two halves of `finish`: memory of the fullest stage, and time.
    void fill_memory(StepEstimate& estimate, PipelineCost const& pipeline, ParallelPlan const& plan) const;
    void fill_time(StepEstimate& estimate, PipelineCost const& pipeline, ParallelPlan const& plan) const;

    /// Of unequal sequences, whose mean the workload's is: a microbatch has to hold one of so many tokens whole. Memory
    /// is that of such microbatches, time that of the mean.
    void hold_longest(std::int64_t tokens) { longest_ = tokens; }
    [[nodiscard]] std::int64_t longest() const { return longest_; }

    [[nodiscard]] Pricer& pricer() { return pricer_; }
    [[nodiscard]] FrameworkTiming const& timing() const { return timing_; }
    [[nodiscard]] ModelSpec const& model() const { return model_; }
    [[nodiscard]] Workload const& workload() const { return workload_; }
    [[nodiscard]] ClusterSpec const& cluster() const { return cluster_; }
    [[nodiscard]] FrameworkProfile const& framework() const { return framework_; }
    /// Of the microbatches of a plan, those whose gradients are added to others.
    [[nodiscard]] double added_share(ParallelPlan const& plan) const;

private:
    struct StageRun {
        StageContent content;
        std::int64_t first = 0;
        std::int64_t count = 1;
        std::vector<StageContent> chunks;  ///< of one of the ranks, in model order
        /// Layers of these chunks, and of all of them, that recompute runs again, by kind; empty: all.
        std::vector<std::vector<std::int64_t>> again_of_chunks;
        std::vector<std::int64_t> again;
        [[nodiscard]] bool continues(StageRun const& before) const {
            return content == before.content && chunks == before.chunks && again_of_chunks == before.again_of_chunks;
        }
    };
    struct Layout {
        StageLayout stages;
        std::vector<std::vector<std::int64_t>> again;  ///< of each chunk of the model, as in a run
        std::vector<StageRun> runs;
    };
    Layout const& layout_of(ParallelPlan const& plan);
    StageCost cost_of(ShapeCost const& shape, Layout const& layout, StageRun const& run,
                      ParallelPlan const& plan) const;
    PipelineTime time_of_pipeline(PipelineCost const& pipeline, ParallelPlan const& plan,
                                  std::span<StageTimes const> stages, PairSavings& saved) const;

    ModelSpec const& model_;
    Workload workload_;
    ClusterSpec const& cluster_;
    FrameworkProfile const& framework_;
    FrameworkTiming const& timing_;
    Pricer pricer_;
    std::int64_t longest_ = 0;  ///< tokens of the longest sequence, 0: all are equal
    /// By placement, pp, vpp, layers that run again (0: all that the policy names) and layers of chunks.
    std::map<std::tuple<ChunkPlacement, std::int64_t, std::int64_t, std::int64_t, std::vector<std::int64_t>>, Layout>
        layouts_;
    ScheduleStore schedules_;
    MomentStore moments_;
};

/// Memory of every pipeline rank, in order: the budget sheet.
std::vector<StageMemory> memory_by_stage(ClosedForm& form, ParallelPlan const& plan);

}  // namespace sextant
