#include "simulator/rank_activity.hpp"

namespace sextant {
namespace {

bool ran(TaskTimes const& times, std::size_t id) { return times.start[id] >= 0 && times.end[id] > times.start[id]; }

}  // namespace

bool is_communication(TaskPart part) {
    switch (part) {
        case TaskPart::tp:
        case TaskPart::cp:
        case TaskPart::ep:
        case TaskPart::pp:
        case TaskPart::dp:
        case TaskPart::offload: return true;
        default: return false;
    }
}

bool computes(Task const& task) { return task.stream == Stream::compute && !is_communication(task.part); }

std::span<std::int32_t const> ranks_of(TaskGraph const& graph, Task const& task) {
    if (task.demand >= 0) {
        auto const& members = graph.demands[static_cast<std::size_t>(task.demand)].members;
        if (!members.empty()) return members;
    }
    return {&task.rank, 1};
}

int precedence_of(Task const& task) {
    if (computes(task)) return 0;
    switch (task.part) {
        case TaskPart::tp: return 1;
        case TaskPart::cp: return 2;
        case TaskPart::ep: return 3;
        case TaskPart::pp: return 4;
        case TaskPart::dp: return 5;
        case TaskPart::offload: return 6;
        default: return 7;
    }
}

TasksByRank::TasksByRank(TaskGraph const& graph, TaskTimes const& times) : first_(graph.ranks.size() + 1) {
    for (std::size_t id = 0; id < graph.tasks.size(); ++id)
        if (ran(times, id))
            for (std::int32_t const rank : ranks_of(graph, graph.tasks[id]))
                ++first_[static_cast<std::size_t>(rank) + 1];
    for (std::size_t rank = 1; rank < first_.size(); ++rank)
        first_[rank] += first_[rank - 1];
    tasks_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::size_t id = 0; id < graph.tasks.size(); ++id)
        if (ran(times, id))
            for (std::int32_t const rank : ranks_of(graph, graph.tasks[id]))
                tasks_[next[static_cast<std::size_t>(rank)]++] = static_cast<std::uint32_t>(id);
    auto const earlier = [&](std::uint32_t a, std::uint32_t b) {
        return times.start[a] != times.start[b] ? times.start[a] < times.start[b] : a < b;
    };
    for (std::size_t rank = 0; rank + 1 < first_.size(); ++rank) {
        auto const begin = tasks_.begin() + static_cast<std::ptrdiff_t>(first_[rank]);
        auto const end = tasks_.begin() + static_cast<std::ptrdiff_t>(first_[rank + 1]);
        if (!std::is_sorted(begin, end, earlier)) std::sort(begin, end, earlier);
    }
}

std::vector<RankSpan> rank_spans(TaskGraph const& graph, TaskTimes const& times, std::span<std::uint32_t const> tasks,
                                 double until) {
    std::vector<RankSpan> spans;
    spans.reserve(tasks.size() + 1);
    visit_spans(graph, times, tasks, [&](double start, double end, std::int32_t owner, auto) {
        if (!spans.empty() && spans.back().task == owner)
            spans.back().end = end;
        else
            spans.push_back({start, end, owner});
    });
    double const covered = spans.empty() ? 0 : spans.back().end;
    if (covered < until) spans.push_back({covered, until, -1});
    return spans;
}

}  // namespace sextant
