#include "simulator/held_activations.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sextant {

namespace {

Bytes sum_of(ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan,
             std::span<std::int64_t const> again, std::array<Bytes, 3> BlockPrice::*which) {
    auto const policy = static_cast<std::size_t>(plan.recompute);
    Bytes kept;
    for (std::size_t k = 0; k < shape.blocks.layers.size(); ++k) {
        std::array<Bytes, 3> const& layer = shape.blocks.layers[k].*which;
        std::int64_t const n = content.layers_of_kind[k];
        std::int64_t const dropping = again.empty() ? n : again[k];
        kept += static_cast<double>(dropping) * layer[policy];
        if (dropping < n) kept += static_cast<double>(n - dropping) * layer[0];
    }
    if (content.embedding) kept += (shape.blocks.embedding.*which)[0];
    if (content.head)
        kept +=
            (shape.blocks.head.*which)[0] + (shape.blocks.mtp.*which)[static_cast<std::size_t>(recompute_of_mtp(plan))];
    return kept;
}

/// Whether a rank holds every microbatch of every chunk before the first backward, so that it does not matter what each
/// chunk keeps. A schedule that is walked as far as it repeats is too short to tell.
bool holds_all_microbatches(Schedule schedule) {
    return schedule == Schedule::gpipe || schedule == Schedule::breadth_first;
}

}  // namespace

Bytes kept_of(ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan,
              std::span<std::int64_t const> again, Activations which) {
    auto const sum = [&](auto member) { return sum_of(shape, content, plan, again, member); };
    switch (which) {
        case Activations::kept: return sum(&BlockPrice::kept);
        case Activations::offloaded: return sum(&BlockPrice::offloaded);
        case Activations::waiting: return sum(&BlockPrice::waiting);
        case Activations::on_device: return sum(&BlockPrice::kept) - sum(&BlockPrice::offloaded);
    }
    return {};
}

std::vector<double> shares_of(ShapeCost const& shape, std::span<StageContent const> contents,
                              std::span<std::vector<std::int64_t> const> again, ParallelPlan const& plan,
                              Activations which) {
    bool const alike = std::equal(contents.begin() + 1, contents.end(), contents.begin());
    if (contents.size() == 1 || (alike && again.empty())) return {};
    std::vector<double> shares;
    double sum = 0;
    for (std::size_t c = 0; c < contents.size(); ++c) {
        std::span<std::int64_t const> const here = again.empty() ? std::span<std::int64_t const>{} : again[c];
        shares.push_back(kept_of(shape, contents[c], plan, here, which).base());
        sum += shares.back();
    }
    if (std::equal(shares.begin() + 1, shares.end(), shares.begin())) return {};
    for (double& share : shares)
        share /= sum;
    return shares;
}

double held_at_most(std::vector<double> const& chunk_shares, PipelineCost const& pipeline, ParallelPlan const& plan,
                    std::int64_t rank, MomentStore& moments) {
    if (chunk_shares.empty() || holds_all_microbatches(plan.schedule))
        return microbatches_in_flight(plan.schedule, plan.pp, plan.vpp, pipeline.microbatches, rank);
    if (has_closed_form(plan.schedule)) {
        ScheduleShape const shape{.ranks = plan.pp, .microbatches = pipeline.microbatches, .chunks = plan.vpp};
        return held_microbatches(moments.get(plan.schedule, shape, rank), chunk_shares);
    }
    return held_microbatches(fullest_moments(pipeline.schedule.first->ranks[static_cast<std::size_t>(rank)],
                                             chunks_on_rank(plan.schedule, plan.pp, plan.vpp, rank)),
                             chunk_shares);
}

void set_in_flight(StageLoad& load, StageCost const& run, PipelineCost const& pipeline, ParallelPlan const& plan,
                   std::int64_t rank, MomentStore& moments) {
    load.in_flight = held_at_most(run.chunk_shares, pipeline, plan, rank, moments);
    if (would_offload_in_part(plan))
        load.in_flight_on_device = held_at_most(run.device_shares, pipeline, plan, rank, moments);
}

namespace {

/// Enters what the passes of a rank have run again and wait with, at most, beside what all in flight keep.
void set_waiting(StageLoad& load, PipelineCost const& pipeline, ParallelPlan const& plan, std::span<Slot const> order,
                 std::span<std::int64_t const> chunks) {
    // Offloaded activations come and go by themselves: the most of both is at one moment, if there is a worst one.
    bool const apart = offloads_activations(plan);
    std::vector<HeldBytes> bytes;
    for (std::int64_t const chunk : chunks) {
        ChunkCost const& cost = pipeline.chunks[static_cast<std::size_t>(chunk)];
        bool const trains = cost.weight.total() > Seconds{};
        bytes.push_back({.kept = apart ? Bytes{} : cost.kept,
                         .waiting = trains ? cost.waiting : Bytes{},
                         .working = cost.waiting > Bytes{} ? load.waiting_layer : Bytes{}});
    }
    load.waits = Switch::on;
    Bytes const alone = apart ? Bytes{} : load.in_flight * load.kept;
    load.waiting = std::max(Bytes{}, most_bytes_held(order, chunks, bytes) - alone);
}

}  // namespace

StageLoad load_of_rank(StageCost const& run, PipelineCost const& pipeline, ParallelPlan const& plan,
                       std::int64_t rank) {
    StageLoad load = run.load;
    MomentStore moments;
    set_in_flight(load, run, pipeline, plan, rank, moments);
    if (traits_of(plan.schedule).split_backward == Switch::off) return load;
    std::vector<std::int64_t> const chunks = chunks_on_rank(plan.schedule, plan.pp, plan.vpp, rank);
    std::vector<double> shares = would_offload_in_part(plan) ? run.offloaded_shares : run.chunk_shares;
    if (shares.empty()) shares.assign(chunks.size(), 1 / static_cast<double>(chunks.size()));
    // Where a chunk trains nothing, nothing waits for the weight half.
    for (std::size_t c = 0; c < chunks.size(); ++c)
        if (pipeline.chunks[static_cast<std::size_t>(chunks[c])].weight.total() == Seconds{}) shares[c] = 0;
    std::span<Slot const> const order = pipeline.schedule.first->ranks[static_cast<std::size_t>(rank)];
    load.between_halves = most_between_halves(order, chunks, shares);
    if (waits_with_reruns(plan)) set_waiting(load, pipeline, plan, order, chunks);
    return load;
}

StageLoad load_of_longest(StageLoad load, ParallelPlan const& plan, std::int64_t sequence, std::int64_t longest) {
    double const longer = static_cast<double>(longest) / static_cast<double>(plan.micro_batch * sequence);
    if (longer <= 1) return load;
    double const kept = plan.attention == AttentionKernel::flash ? longer : longer * longer;
    for (Bytes StageLoad::*bytes :
         {&StageLoad::kept, &StageLoad::kept_by_layer, &StageLoad::offloaded, &StageLoad::working_layer,
          &StageLoad::waiting_layer, &StageLoad::waiting, &StageLoad::workspace})
        load.*bytes *= kept;
    for (double StageLoad::*elements :
         {&StageLoad::hidden_tokens, &StageLoad::sharded_hidden_tokens, &StageLoad::logits})
        load.*elements *= longer;
    return load;
}

}  // namespace sextant
