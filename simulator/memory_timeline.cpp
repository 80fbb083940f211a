#include "simulator/memory_timeline.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace sextant {
namespace {

/// From the first start to the last end of some tasks.
struct Extent {
    double start = std::numeric_limits<double>::infinity();
    double end = -1;
    [[nodiscard]] bool empty() const { return end < 0; }
    void include(double from, double to) {
        start = std::min(start, from);
        end = std::max(end, to);
    }
};

/// One microbatch of one training step on one stage of one rank.
struct ChunkPass {
    Extent forward;
    Extent backward;  ///< of a whole backward or its input half
    Extent weight;
};

/// One training step on one rank.
struct RankStep {
    Extent passes;
    double end = -1;  ///< of its last task
};

bool counts(Task const& task) {
    return task.stream == Stream::compute && task.stage >= 0 && task.microbatch >= 0 && task.pass != TaskPass::step;
}

/// The chunk passes of all ranks in one array: for each rank its stages, for each stage all microbatches of all steps.
class ChunkPasses {
public:
    ChunkPasses(TaskGraph const& graph, TaskTimes const& times) {
        std::int64_t last_stage = -1;
        for (Task const& task : graph.tasks) {
            last_stage = std::max<std::int64_t>(last_stage, task.stage);
            microbatches_ = std::max<std::size_t>(microbatches_, static_cast<std::size_t>(task.microbatch + 1));
        }
        stages_ = static_cast<std::size_t>(last_stage + 1);
        passes_of_stage_ = microbatches_ * (graph.steps.size() + 1);
        slot_of_.assign(graph.ranks.size() * stages_, none);
        steps_of_rank_ = graph.steps.size() + 1;
        steps_.resize(graph.ranks.size() * steps_of_rank_);
        std::size_t step = 0;
        for (std::size_t id = 0; id < graph.tasks.size(); ++id) {
            if (step < graph.steps.size() && id == graph.steps[step]) ++step;
            if (times.start[id] < 0) continue;
            RankStep& whole = steps_[static_cast<std::size_t>(graph.tasks[id].rank) * steps_of_rank_ + step];
            whole.end = std::max(whole.end, times.end[id]);
            if (!counts(graph.tasks[id])) continue;
            whole.passes.include(times.start[id], times.end[id]);
            include(graph.tasks[id], times, id, step);
        }
    }

    /// Calls `visit(start, end)` for what follows the last pass of each step of a rank, up to the next step's first.
    template <class Visit>
    void visit_updates(std::size_t rank, Visit const& visit) const {
        for (std::size_t i = 0; i < steps_of_rank_; ++i) {
            RankStep const& step = steps_[rank * steps_of_rank_ + i];
            if (step.passes.empty()) continue;
            bool const last = i + 1 == steps_of_rank_;
            double const next = last ? step.end : steps_[rank * steps_of_rank_ + i + 1].passes.start;
            visit(step.passes.end, std::min(step.end, next));
        }
    }

    /// Calls `visit(stage, pass)` for every chunk pass of a rank.
    template <class Visit>
    void visit_rank(std::size_t rank, Visit const& visit) const {
        for (std::size_t stage = 0; stage < stages_; ++stage) {
            std::size_t const slot = slot_of_[rank * stages_ + stage];
            if (slot == none) continue;
            for (std::size_t i = 0; i < passes_of_stage_; ++i)
                if (ChunkPass const& pass = passes_[slot + i]; !pass.forward.empty() || !pass.backward.empty())
                    visit(stage, pass);
        }
    }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    void include(Task const& task, TaskTimes const& times, std::size_t id, std::size_t step) {
        std::size_t const place = static_cast<std::size_t>(task.rank) * stages_ + static_cast<std::size_t>(task.stage);
        if (slot_of_[place] == none) {
            slot_of_[place] = passes_.size();
            passes_.resize(passes_.size() + passes_of_stage_);
        }
        std::size_t const within = step * microbatches_ + static_cast<std::size_t>(task.microbatch);
        ChunkPass& pass = passes_[slot_of_[place] + within];
        Extent& extent = task.pass == TaskPass::forward           ? pass.forward
                         : task.pass == TaskPass::backward_weight ? pass.weight
                                                                  : pass.backward;
        extent.include(times.start[id], std::max(times.start[id], times.end[id]));
    }

    std::size_t microbatches_ = 0;
    std::size_t passes_of_stage_ = 0;
    std::size_t stages_ = 0;
    std::vector<std::size_t> slot_of_;  ///< by rank and stage
    std::vector<ChunkPass> passes_;
    std::size_t steps_of_rank_ = 1;
    std::vector<RankStep> steps_;
};

struct Change {
    double time = 0;
    double bytes = 0;
};

MemoryTimeline timeline_of(Bytes fixed, std::vector<Change>& changes) {
    std::sort(changes.begin(), changes.end(),
              [](Change const& a, Change const& b) { return a.time != b.time ? a.time < b.time : a.bytes < b.bytes; });
    MemoryTimeline timeline{.steps = {{0, fixed}}, .peak = fixed, .peak_time = {}};
    double change = 0;  // since the start; sums of whole bytes are exact
    for (std::size_t i = 0; i < changes.size();) {
        double const time = changes[i].time;
        for (; i < changes.size() && changes[i].time == time; ++i)
            change += changes[i].bytes;
        Bytes const bytes = fixed + change * units::B;
        if (timeline.steps.back().time == time)
            timeline.steps.back().bytes = bytes;
        else if (timeline.steps.back().bytes != bytes)
            timeline.steps.push_back({time, bytes});
        if (bytes > timeline.peak) {
            timeline.peak = bytes;
            timeline.peak_time = time * units::s;
        }
    }
    return timeline;
}

}  // namespace

std::vector<MemoryTimeline> memory_timelines(TaskGraph const& graph, TaskTimes const& times, MemoryInput const& input) {
    assert(input.fixed.size() == graph.ranks.size());
    ChunkPasses const passes(graph, times);
    std::vector<MemoryTimeline> timelines;
    std::vector<Change> changes;
    for (std::size_t rank = 0; rank < graph.ranks.size(); ++rank) {
        changes.clear();
        auto const hold = [&](double start, double end, Bytes bytes) {
            if (bytes == Bytes{} || end <= start) return;
            changes.push_back({start, bytes.base()});
            changes.push_back({end, -bytes.base()});
        };
        passes.visit_rank(rank, [&](std::size_t stage, ChunkPass const& pass) {
            assert(stage < input.stages.size());
            StageActivations const& needs = input.stages[stage];
            Extent back = pass.backward;
            if (!pass.weight.empty()) back.include(pass.weight.start, pass.weight.end);
            Extent all = pass.forward;
            if (!back.empty()) all.include(back.start, back.end);
            hold(all.start, all.end, needs.kept - needs.offloaded);
            hold(pass.forward.start, pass.forward.end, needs.passing);
            bool const split = !pass.weight.empty();
            hold(back.start, back.end, split ? needs.offloaded + needs.waiting : needs.passing);
            hold(pass.forward.start, pass.forward.end, needs.forward);
            hold(pass.backward.start, pass.backward.end, split ? needs.input_half : needs.backward);
            if (!pass.backward.empty()) hold(pass.forward.end, pass.backward.start, needs.logits);
            if (split) hold(pass.backward.end, pass.weight.end, needs.gradients);
        });
        if (!input.updating.empty())
            passes.visit_updates(rank, [&](double start, double end) { hold(start, end, input.updating[rank]); });
        timelines.push_back(timeline_of(input.fixed[rank], changes));
    }
    return timelines;
}

}  // namespace sextant
