#pragma once

#include "simulator/schedules/catalog.hpp"
#include "simulator/task_graph.hpp"

#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

/// Task graphs of small pipelines, built slot by slot, without any price.
namespace sextant::fixtures {

/// Seconds of the pieces of a sample step; nothing is added for those that are 0.
struct SampleTimes {
    double forward = 1;
    double backward = 2;   ///< of a whole backward; its halves take half each
    double transfer = 0;   ///< between stages on different ranks
    double layer = 0;      ///< tensor-parallel collective in the middle of each slot, which compute waits for
    double gradients = 0;  ///< reduction behind each rank's last backward of each stage
    double optimizer = 0;  ///< of each rank, after its reductions
};

class SampleGraph {
public:
    SampleGraph(PipelineSchedule const& schedule, SampleTimes const& times, std::int64_t stands_for = 1)
        : times_(times), last_(schedule.ranks.size(), -1), sent_(schedule.ranks.size(), -1) {
        graph.names = {"forward", "backward", "transfer", "all-reduce \"tp\"", "gradients", "optimizer"};
        for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
            graph.ranks.push_back(
                {static_cast<std::int64_t>(rank) * stands_for, static_cast<std::int64_t>(rank), stands_for});
        std::vector<std::size_t> next(schedule.ranks.size());
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
                while (next[rank] < schedule.ranks[rank].size() &&
                       run(schedule, static_cast<std::int32_t>(rank), schedule.ranks[rank][next[rank]])) {
                    ++next[rank];
                    moved = true;
                }
        }
        for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
            if (next[rank] < schedule.ranks[rank].size()) throw std::logic_error("the sample schedule deadlocks");
        finish();
    }

    TaskGraph graph;

private:
    using Key = std::tuple<TaskPass, std::int64_t, std::int64_t>;  // pass, stage, microbatch

    bool run(PipelineSchedule const& schedule, std::int32_t rank, Slot const& slot) {
        bool const pair = slot.kind == SlotKind::forward_backward;
        bool const forward = pair || slot.kind == SlotKind::forward;
        if (forward && !ready(TaskPass::forward, slot.stage - 1, slot.microbatch, slot.stage > 0)) return false;
        std::int64_t const stage = pair ? slot.backward_stage : slot.stage;
        std::int64_t const microbatch = pair ? slot.backward_microbatch : slot.microbatch;
        bool const back = pair || slot.kind == SlotKind::backward || slot.kind == SlotKind::backward_input;
        bool const is_last = stage + 1 == schedule.stages;
        if (back && !ready(is_last ? TaskPass::forward : TaskPass::backward_input, is_last ? stage : stage + 1,
                           microbatch, true))
            return false;
        if (forward) pass(rank, slot.stage, slot.microbatch, TaskPass::forward, schedule.stages);
        if (back)
            pass(rank, stage, microbatch,
                 slot.kind == SlotKind::backward_input ? TaskPass::backward_input : TaskPass::backward,
                 schedule.stages);
        if (slot.kind == SlotKind::backward_weight)
            pass(rank, stage, microbatch, TaskPass::backward_weight, schedule.stages);
        return true;
    }

    bool ready(TaskPass pass, std::int64_t stage, std::int64_t microbatch, bool needed) const {
        return !needed || done_.contains({pass, stage, microbatch});
    }

    void pass(std::int32_t rank, std::int64_t stage, std::int64_t microbatch, TaskPass pass, std::int64_t stages) {
        bool const forward = pass == TaskPass::forward;
        bool const whole = pass == TaskPass::forward || pass == TaskPass::backward;
        double const time = (forward ? times_.forward : times_.backward) * (whole ? 1 : 0.5);
        std::vector<std::int64_t> needs{last_[static_cast<std::size_t>(rank)]};
        if (forward && stage > 0) needs.push_back(arrival({TaskPass::forward, stage - 1, microbatch}, rank));
        if (pass == TaskPass::backward || pass == TaskPass::backward_input) {
            if (stage + 1 < stages) needs.push_back(arrival({TaskPass::backward_input, stage + 1, microbatch}, rank));
            needs.push_back(done_.at({TaskPass::forward, stage, microbatch}));
        }
        Task task{.duration = time,
                  .rank = rank,
                  .microbatch = static_cast<std::int32_t>(microbatch),
                  .stage = static_cast<std::int16_t>(stage),
                  .name = static_cast<std::uint16_t>(forward ? 0 : 1),
                  .pass = pass};
        std::int64_t end = -1;
        if (times_.layer > 0) {
            task.duration = time / 2;
            end = add(task, needs);
            Task wait = task;
            wait.duration = times_.layer;
            wait.stream = Stream::layer_communication;
            wait.part = TaskPart::tp;
            wait.name = 3;
            needs = {add(wait, {end})};
        }
        end = add(task, needs);
        last_[static_cast<std::size_t>(rank)] = end;
        done_[{pass == TaskPass::backward ? TaskPass::backward_input : pass, stage, microbatch}] = end;
        if (!forward) last_backward_[{rank, stage}] = end;
    }

    /// The task after which `rank` has what another pass made: the pass itself, or its transfer.
    std::int64_t arrival(Key const& made, std::int32_t rank) {
        std::int64_t const maker = done_.at(made);
        std::int32_t const from = graph.tasks[static_cast<std::size_t>(maker)].rank;
        if (from == rank || times_.transfer == 0) return maker;
        Task send = graph.tasks[static_cast<std::size_t>(maker)];
        send.duration = times_.transfer;
        send.stream = Stream::pipeline;
        send.part = TaskPart::pp;
        send.name = 2;
        send.demand = static_cast<std::int32_t>(graph.demands.size());
        graph.demands.push_back({.kind = CollectiveKind::send_receive,
                                 .group = GroupKind::pipeline,
                                 .members = {from, rank},
                                 .shares = {.scale_out = 1}});
        auto& before = sent_[static_cast<std::size_t>(from)];
        return before = add(send, {maker, before});
    }

    void finish() {
        std::vector<std::int64_t> reduced = last_;
        for (auto const& [place, end] : last_backward_) {
            if (times_.gradients == 0) break;
            auto const rank = static_cast<std::size_t>(place.first);
            Task reduce{.duration = times_.gradients,
                        .rank = place.first,
                        .stage = static_cast<std::int16_t>(place.second),
                        .name = 4,
                        .stream = Stream::data_parallel,
                        .part = TaskPart::dp};
            reduced[rank] = add(reduce, {end, reduced[rank] == last_[rank] ? -1 : reduced[rank]});
        }
        for (std::size_t rank = 0; rank < last_.size() && times_.optimizer > 0; ++rank)
            add({.duration = times_.optimizer,
                 .rank = static_cast<std::int32_t>(rank),
                 .name = 5,
                 .part = TaskPart::optimizer},
                {reduced[rank], last_[rank]});
    }

    std::int64_t add(Task task, std::vector<std::int64_t> const& needs) {
        task.first_dependency = static_cast<std::uint32_t>(graph.dependencies.size());
        for (std::int64_t const before : needs)
            if (before >= 0) graph.dependencies.push_back(static_cast<std::uint32_t>(before));
        graph.tasks.push_back(task);
        return static_cast<std::int64_t>(graph.tasks.size()) - 1;
    }

    SampleTimes times_;
    std::vector<std::int64_t> last_;  ///< compute of each rank
    std::vector<std::int64_t> sent_;  ///< transfer of each rank
    std::map<Key, std::int64_t> done_;
    std::map<std::pair<std::int32_t, std::int64_t>, std::int64_t> last_backward_;
};

inline TaskGraph sample_graph(std::string_view schedule, ScheduleShape shape, SampleTimes const& times,
                              std::int64_t stands_for = 1) {
    return SampleGraph(build_schedule(find_schedule(schedule, "test"), shape, "test"), times, stands_for).graph;
}

/// A supported shape of each schedule of the catalog.
inline std::vector<std::pair<std::string, ScheduleShape>> sample_shapes() {
    std::vector<std::pair<std::string, ScheduleShape>> all;
    for (ScheduleEntry const* entry : schedule_catalog())
        for (ScheduleShape const shape : {ScheduleShape{4, 8, 1}, ScheduleShape{4, 8, 2}, ScheduleShape{2, 6, 2}})
            if (!entry->unsupported(shape)) all.emplace_back(std::string(entry->name), shape);
    return all;
}

}  // namespace sextant::fixtures
