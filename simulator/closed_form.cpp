#include "simulator/closed_form.hpp"

#include "core/graph/plan_check.hpp"
#include "cost_models/fsdp_memory.hpp"
#include "simulator/content_cost.hpp"
#include "simulator/forward_pass.hpp"
#include "simulator/held_activations.hpp"
#include "simulator/schedules/orders.hpp"
#include "simulator/send_time.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <vector>

namespace sextant {
namespace {

double as_double(std::int64_t n) { return static_cast<double>(n); }

/// Slots of a schedule that is walked to its end: in a search, where thousands are, and for a report.
constexpr std::int64_t most_slots_of_a_search = 5'000;
constexpr std::int64_t most_slots_of_a_report = 500'000;

/// How the chunks of a run of ranks take turns: `sink(turns)` for each way that they do.
template <class Sink>
void each_turns(PipelineCost const& pipeline, ParallelPlan const& plan, StageCost const& run, Sink const& sink) {
    if (plan.vpp == 1 && traits_of(plan.schedule).parameter_copies() == 1) {
        sink(ChunkTurns{});
        return;
    }
    if (!pipeline.schedule) {
        orders::MicrobatchGroups const groups(
            {.ranks = plan.pp, .microbatches = pipeline.microbatches, .chunks = plan.vpp});
        sink(chunk_turns(plan.vpp, groups.largest(), groups.last()));
        return;
    }
    auto const begin = pipeline.schedule.turns->begin() + run.first;
    for (auto rank = begin; rank != begin + run.count; ++rank)
        if (rank == begin || *rank != *std::prev(rank)) sink(*rank);
}

/// Of the layers of a model with experts, the share that come after one without.
double alternating_share(StageLayout const& stages) {
    double experts = 0, after_others = 0;
    bool before = true;
    for (std::size_t const kind : stages.layer_kinds) {
        bool const has = stages.kinds[kind].moe;
        if (has) ++experts;
        if (has && !before) ++after_others;
        before = has;
    }
    return experts > 0 ? after_others / experts : 0;
}

/// Fills the times of each stage's passes, `transfer` to and from its neighbours in both. @return data parallelism and
/// update of the stage that takes longest for them: stages reduce at the same time, and the step waits for the slowest.
DataParallelTime time_stages(PipelineCost const& pipeline, ParallelPlan const& plan, Seconds transfer,
                             AcceleratorProfile const& accelerator, FrameworkTiming const& timing,
                             std::span<StageTimes> times) {
    bool const split = traits_of(plan.schedule).split_backward == Switch::on;
    DataParallelTime data;
    Seconds begun, ended;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        StageCost const& stage = pipeline.stages[i];
        Seconds const forward = stage.forward.total();
        Seconds const backward = stage.backward.total() + stage.rerun.total();
        Seconds const weight = split ? stage.weight.total() : backward;
        Bytes const offloaded = stage.load.offloaded / as_double(traits_of(plan.schedule).parameter_copies());
        Seconds const forward_wait = offload_wait(plan, accelerator, offloaded, forward);
        Seconds const backward_wait = offload_wait(plan, accelerator, offloaded, split ? backward - weight : backward);
        times[i] = {.forward = forward + transfer + forward_wait,
                    .backward = backward + transfer + backward_wait,
                    .count = stage.count};
        PassesBeside beside{.forward = forward,
                            .backward = backward,
                            .weight = weight,
                            .forward_ends = stage.forward_ends,
                            .weight_ends = split ? Seconds{} : stage.backward_ends,
                            .alternating = split ? 0 : stage.alternating,
                            .forward_experts = stage.forward_experts,
                            .weight_experts = stage.backward_experts,
                            .forward_wait = forward_wait,
                            .backward_wait = backward_wait,
                            .begins_later = begun,
                            .ends_earlier = ended,
                            .chunks = as_double(plan.vpp)};
        // The first microbatch comes down the pipeline, the last one goes back up, a chunk on every rank. With halves
        // of backwards the last of them fill the way back, and a pipeline that runs both ways begins and ends at both.
        bool const one_way = traits_of(plan.schedule).parameter_copies() == 1;
        auto const ranks = as_double(stage.count) / as_double(plan.vpp);
        if (one_way) begun += ranks * times[i].forward;
        if (one_way && !split) ended += ranks * times[i].backward;
        each_turns(pipeline, plan, stage, [&](ChunkTurns const& turns) {
            beside.turns = turns;
            DataParallelTime const d =
                data_parallel_time(stage.load, plan, beside, pipeline.data_parallel, accelerator, timing);
            if (d.total() > data.total()) data = d;
        });
    }
    return data;
}

/// What the passes of the slowest stage add to a step of `m` microbatches, less what pairs of passes that run side by
/// side save: expert and pipeline communication that hides, and waiting for the host. @return how much longer the stage
/// is busy than with its passes.
Seconds add_passes(StepBreakdown& b, StageCost const& slowest, double m, Seconds transfer, Seconds busy,
                   PairSavings const& saved) {
    PassTime passes = slowest.forward;
    passes += slowest.backward;
    passes = m * passes;
    b.gemm = passes.gemm;
    b.attention = passes.attention;
    b.memory_bound = passes.streaming;
    b.host = passes.gaps;
    b.tp = passes.tp;
    b.cp = passes.cp;
    b.ep = passes.ep;
    b.recompute = m * slowest.rerun.total();
    b.pp = 2 * m * transfer;
    Seconds const longer = busy + saved.hidden + saved.waiting - passes.total() - b.recompute - b.pp;
    if (saved.hidden > Seconds{}) {
        Seconds const rerun = m * slowest.rerun.ep;
        double const share = saved.hidden / (b.ep + b.pp + rerun);
        b.ep -= share * b.ep;
        b.pp -= share * b.pp;
        b.recompute -= share * rerun;
    }
    if (saved.waiting > Seconds{}) {
        Seconds const rerun = m * slowest.rerun.waiting;
        double const share = saved.waiting / (passes.waiting + rerun);
        b.host -= share * passes.waiting;
        b.recompute -= share * rerun;
    }
    return longer;
}

/// What the pairs of a step save, if all ranks were as the slowest stage. @return how much less long it is busy.
Seconds save_in_pairs(PipelineCost const& pipeline, StageCost const& slowest, ParallelPlan const& plan,
                      Seconds transfer, AcceleratorProfile const& accelerator, PairSavings& saved) {
    double const part = 1 / as_double(plan.vpp);
    StageDurations const chunk = chunk_times({.forward = part * slowest.forward,
                                              .backward = part * slowest.backward,
                                              .weight = part * slowest.weight,
                                              .rerun = part * slowest.rerun,
                                              .kept = part * slowest.load.kept,
                                              .offloaded = part * slowest.load.offloaded},
                                             plan, transfer, accelerator);
    PairTime const pair = pair_time(chunk.paired_forward, chunk.paired_backward);
    double const pairs = as_double(pairs_on_rank(plan.pp, plan.vpp, pipeline.microbatches, plan.pp - 1));
    saved = {.hidden = pairs * pair.hidden, .waiting = pairs * pair.spared};
    return pairs * (chunk.forward + chunk.backward - pair.time);
}

}  // namespace

Seconds StepBreakdown::total() const {
    return gemm + attention + memory_bound + host + recompute + tp + cp + ep + pp + bubble + dp + optimizer + offload +
           reference + fixed;
}

ClosedForm::ClosedForm(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                       FrameworkProfile const& framework, Precision precision)
    : model_(model),
      workload_(workload),
      cluster_(cluster),
      framework_(framework),
      timing_(timing_for(framework, cluster.accelerator.generation, precision)),
      pricer_(cluster, timing_, kept_formats(framework.memory), kept_gradients(framework.memory)) {
    static_cast<void>(cluster.accelerator.peak_of(precision));  // a device without it is an error
}

double ClosedForm::added_share(ParallelPlan const& plan) const {
    return sextant::added_share(pricer_.gradients(), plan, microbatches(plan, workload_));
}

ShapeCost ClosedForm::price_shape(ParallelPlan const& plan) {
    BlockSet const blocks = build_blocks(model_, plan, workload_.shape());
    return {.blocks = pricer_.price(blocks, plan), .kinds = blocks.kinds, .mtp_modules = model_.mtp_modules};
}

StageCost ClosedForm::cost_of(ShapeCost const& shape, Layout const& layout, StageRun const& run,
                              ParallelPlan const& plan) const {
    StageCost stage;
    stage.first = run.first;
    stage.count = run.count;
    double const added = added_share(plan);
    ChunkCost const passes = passes_of(shape, run.content, plan, run.again, added);
    double const mean = 1 / as_double(layout.stages.copies);
    stage.forward = mean * passes.forward;
    stage.backward = mean * passes.backward;
    stage.weight = mean * passes.weight;
    stage.rerun = mean * passes.rerun;
    if (plan.zero >= 2) {
        StageContent const ends{.layers_of_kind = std::vector<std::int64_t>(run.content.layers_of_kind.size(), 0),
                                .embedding = run.content.embedding,
                                .head = run.content.head};
        ChunkCost const of_ends = passes_of(shape, ends, plan, {}, added);
        stage.forward_ends = mean * of_ends.forward.total();
        stage.backward_ends = mean * (of_ends.backward.total() + of_ends.rerun.total());
        stage.alternating = alternating_share(layout.stages);
        if (stage.alternating > 0) {
            StageContent experts{.layers_of_kind = run.content.layers_of_kind};
            for (std::size_t k = 0; k < shape.kinds.size(); ++k)
                if (!shape.kinds[k].moe) experts.layers_of_kind[k] = 0;
            ChunkCost const of_experts = passes_of(shape, experts, plan, run.again, added);
            stage.forward_experts = mean * of_experts.forward.total();
            stage.backward_experts = mean * (of_experts.backward.total() + of_experts.rerun.total());
        }
    }
    StageLoad& load = stage.load;
    load.kept = passes.kept;
    load.offloaded = passes.offloaded;
    auto const tp = as_double(plan.tp);
    double const tokens = as_double(plan.micro_batch) * as_double(workload_.sequence) / as_double(plan.cp);
    load.layers = as_double(run.content.layers);
    load.leads = run.first == 0;
    load.offloaded_share = offloaded_share(plan, model_.layer_count());
    add_weights(load, shape, run.content, plan, run.again);
    if (run.content.head) {
        if (model_.head == OutputHead::vocabulary)
            load.logits =
                tokens * as_double(padded_vocabulary(model_.vocab, plan)) / tp * as_double(1 + model_.mtp_modules);
        load.postponed_logits =
            as_double(postponed_head_weights(plan.schedule, plan.pp, microbatches(plan, workload_)));
        load.capped_logits = model_.capped_logits ? Switch::on : Switch::off;
    }
    load.reference = workload_.has_reference() ? Switch::on : Switch::off;
    load.narrow_copies = narrow_copies_of(plan.precision, cluster_.accelerator);
    if (load.layers > 0) load.kept_by_layer = load.kept / load.layers;
    load.microbatches = as_double(microbatches(plan, workload_));
    load.in_flight = microbatches_in_flight(plan.schedule, plan.pp, plan.vpp, microbatches(plan, workload_), run.first);
    load.pairs = traits_of(plan.schedule).pairs == Switch::on &&
                 (plan.schedule != Schedule::overlapped ||
                  pairs_on_rank(plan.pp, plan.vpp, microbatches(plan, workload_), run.first) > 0);
    if (load.pairs) load.between_halves[2] = 0;
    stage.chunk_shares = shares_of(shape, run.chunks, run.again_of_chunks, plan);
    if (would_offload_in_part(plan)) {
        stage.device_shares = shares_of(shape, run.chunks, run.again_of_chunks, plan, Activations::on_device);
        stage.offloaded_shares = shares_of(shape, run.chunks, run.again_of_chunks, plan, Activations::offloaded);
    }
    load.hidden_tokens = tokens * as_double(model_.hidden);
    load.sharded_hidden_tokens = load.hidden_tokens / tp;
    return stage;
}

PipelineCost ClosedForm::assemble(ShapeCost const& shape, ParallelPlan const& plan, PipelineMethod method) {
    PipelineCost pipeline;
    pipeline.microbatches = microbatches(plan, workload_);
    Layout const& layout = layout_of(plan);
    bool const has_walk = !has_closed_form(plan.schedule) || (plan.pp > 1 && method != PipelineMethod::quick);
    pipeline.stages.reserve(layout.runs.size());
    for (StageRun const& run : layout.runs)
        pipeline.stages.push_back(cost_of(shape, layout, run, plan));
    if (has_walk) {
        pipeline.schedule =
            schedules_.get(plan, pipeline.microbatches,
                           method == PipelineMethod::walk ? most_slots_of_a_report : most_slots_of_a_search);
        std::vector<StageContent> const& chunks = layout.stages.chunks;
        double const added = added_share(plan);
        for (std::size_t c = 0; c < chunks.size(); ++c) {
            bool const in_part = !layout.again.empty();
            bool const repeats =
                c > 0 && chunks[c] == chunks[c - 1] && (!in_part || layout.again[c] == layout.again[c - 1]);
            std::span<std::int64_t const> const again = in_part ? layout.again[c] : std::span<std::int64_t const>{};
            pipeline.chunks.push_back(repeats ? pipeline.chunks.back()
                                              : passes_of(shape, chunks[c], plan, again, added));
        }
    }
    for (StageCost& stage : pipeline.stages)
        if (stage.has_unequal_chunks()) set_in_flight(stage.load, stage, pipeline, plan, stage.first, moments_);
    if (plan.pp > 1) {
        SendTime const send = send_time(pipeline.stages.front().load, plan, framework_, pricer_);
        pipeline.transfer = send.time;
        pipeline.transfer_latency = send.latency;
    }
    pipeline.data_parallel = data_parallel_curves(plan, pricer_);
    if (is_framework(framework_, "megatron")) pipeline.data_parallel.bucket = gradient_bucket(plan);
    pipeline.data_parallel.shards_weights = shards_weights(plan, framework_.memory);
    pipeline.data_parallel.in_units = plan.zero >= 2 && shards_units(plan, framework_.memory);
    return pipeline;
}

void ClosedForm::fill_memory(StepEstimate& estimate, PipelineCost const& pipeline, ParallelPlan const& plan) const {
    bool first = true;
    auto const note = [&](StageLoad const& load, std::int64_t rank) {
        StageMemory const memory =
            stage_memory(load_of_longest(load, plan, workload_.sequence, longest_), plan, framework_.memory);
        if (first || memory.reserved() > estimate.memory.reserved()) {
            estimate.memory = memory;
            estimate.fullest_stage = rank;
        }
        first = false;
    };
    // What waits for weight halves, of activations that are offloaded or run again, is not the most on the first rank;
    // nor, where not all is interleaved, what is held of chunks that differ.
    bool const waits = (offloads_activations(plan) && traits_of(plan.schedule).split_backward == Switch::on) ||
                       waits_with_reruns(plan);
    for (StageCost const& cost : pipeline.stages) {
        bool const differ = waits || (cost.has_unequal_chunks() && !has_closed_form(plan.schedule));
        if (!differ) note(cost.load, cost.first);
        for (std::int64_t rank = cost.first; differ && rank < cost.first + cost.count; ++rank)
            note(load_of_rank(cost, pipeline, plan, rank), rank);
    }
}

PipelineTime ClosedForm::time_of_pipeline(PipelineCost const& pipeline, ParallelPlan const& plan,
                                          std::span<StageTimes const> stages, PairSavings& saved) const {
    bool const paired = plan.schedule == Schedule::overlapped;
    if (!pipeline.schedule && !paired) return pipeline_time(plan.schedule, stages, pipeline.microbatches, plan.vpp);
    Seconds const transfer = (1 - timing_.pp_overlap.value) * pipeline.transfer;
    if (!pipeline.schedule) {
        PipelineTime time = pipeline_time(Schedule::interleaved, stages, pipeline.microbatches, plan.vpp);
        time.busy -=
            save_in_pairs(pipeline, pipeline.stages[time.slowest], plan, transfer, cluster_.accelerator, saved);
        return time;
    }
    PipelineWalk const walk =
        walk_pipeline(pipeline.schedule, chunk_costs(pipeline.chunks, plan, transfer, cluster_.accelerator));
    PipelineTime time{.busy = walk.busy, .bubble = std::max(Seconds{}, walk.total - walk.busy)};
    while (time.slowest + 1 < pipeline.stages.size() && pipeline.stages[time.slowest + 1].first <= walk.slowest)
        ++time.slowest;
    saved = walk.saved;
    return time;
}

void ClosedForm::fill_time(StepEstimate& estimate, PipelineCost const& pipeline, ParallelPlan const& plan) const {
    constexpr std::size_t on_stack = 16;
    std::array<StageTimes, on_stack> few;
    std::vector<StageTimes> many(pipeline.stages.size() > on_stack ? pipeline.stages.size() : 0);
    std::span<StageTimes> const times(many.empty() ? few.data() : many.data(), pipeline.stages.size());

    // Every microbatch enters and leaves a stage once per chunk and pass.
    Seconds const transfer = as_double(plan.vpp) * (1 - timing_.pp_overlap.value) * pipeline.transfer;
    DataParallelTime const data = time_stages(pipeline, plan, transfer, cluster_.accelerator, timing_, times);
    PairSavings saved;
    PipelineTime const pipe = time_of_pipeline(pipeline, plan, times, saved);
    StageCost const& slowest = pipeline.stages[pipe.slowest];
    StepBreakdown& b = estimate.breakdown;
    Seconds const longer = add_passes(b, slowest, as_double(pipeline.microbatches), transfer, pipe.busy, saved);
    b.bubble = pipe.bubble;
    b.dp = data.exposed;
    b.optimizer = data.optimizer;
    b.offload = data.copies + data.offload;
    // Below that it is what sums of the same times differ by.
    constexpr double rounding = 1e-12;
    if (offloads_activations(plan) && longer > rounding * pipe.busy) b.offload += longer;
    if (workload_.has_reference()) b.reference = reference_pass(pipeline, plan, timing_);
    b.fixed = timing_.fixed_per_step.value;
    estimate.time = b.total();
    estimate.slowest_stage = slowest.first;
}

StepEstimate ClosedForm::finish(PipelineCost const& pipeline, ParallelPlan const& plan) const {
    StepEstimate estimate;
    fill_memory(estimate, pipeline, plan);
    fill_time(estimate, pipeline, plan);
    return estimate;
}

StepEstimate ClosedForm::evaluate(ParallelPlan const& plan, PipelineMethod method) {
    require_valid(model_, plan, workload_);
    return finish(assemble(price_shape(plan), plan, method), plan);
}

std::vector<StageMemory> memory_by_stage(ClosedForm& form, ParallelPlan const& plan) {
    require_valid(form.model(), plan, form.workload());
    PipelineCost const pipeline = form.assemble(form.price_shape(plan), plan);
    std::vector<StageMemory> memory;
    for (StageCost const& run : pipeline.stages)
        for (std::int64_t rank = run.first; rank < run.first + run.count; ++rank)
            memory.push_back(stage_memory(load_of_longest(load_of_rank(run, pipeline, plan, rank), plan,
                                                          form.workload().sequence, form.longest()),
                                          plan, form.framework().memory));
    return memory;
}

}  // namespace sextant
