#include "simulator/critical_path.hpp"

#include "simulator/rank_activity.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace sextant {
namespace {

std::vector<std::uint32_t> chain(TaskGraph const& graph, TaskTimes const& times) {
    std::vector<std::uint32_t> tasks;
    std::int64_t at = -1;
    for (std::size_t id = 0; id < graph.tasks.size(); ++id)
        if (times.end[id] >= 0 && (at < 0 || times.end[id] > times.end[static_cast<std::size_t>(at)]))
            at = static_cast<std::int64_t>(id);
    while (at >= 0) {
        auto const id = static_cast<std::uint32_t>(at);
        tasks.push_back(id);
        at = -1;
        for (std::uint32_t const before : graph.dependencies_of(id)) {
            double const end = times.end[before];
            double const latest = at < 0 ? -1 : times.end[static_cast<std::size_t>(at)];
            if (end > latest || (at >= 0 && end == latest && before < at)) at = before;
        }
    }
    std::reverse(tasks.begin(), tasks.end());
    return tasks;
}

/// On a stream of what a rank does one after another.
bool in_line(Task const& task) {
    return task.stream == Stream::compute || task.stream == Stream::layer_communication ||
           task.stream == Stream::pipeline;
}

/// What the time of a task on the path counts for.
class Bookings {
public:
    Bookings(TaskGraph const& graph, TaskTimes const& times) : graph_(graph), times_(times) {}

    /// Calls `book(task, seconds)` for the parts of [from, to] of a task.
    template <class Book>
    void visit(std::uint32_t id, double from, double to, Book const& book) {
        if (in_line(graph_.tasks[id])) {
            book(id, to - from);
            return;
        }
        std::vector<RankSpan> const& spans = spans_of(static_cast<std::size_t>(graph_.tasks[id].rank));
        auto span = std::upper_bound(spans.begin(), spans.end(), from,
                                     [](double time, RankSpan const& s) { return time < s.end; });
        double own = to - from;
        for (; span != spans.end() && span->start < to; ++span) {
            if (span->task < 0 || !in_line(graph_.tasks[static_cast<std::size_t>(span->task)])) continue;
            double const length = std::min(to, span->end) - std::max(from, span->start);
            book(static_cast<std::uint32_t>(span->task), length);
            own -= length;
        }
        book(id, std::max(0.0, own));
    }

private:
    std::vector<RankSpan> const& spans_of(std::size_t rank) {
        if (!tasks_) tasks_.emplace(graph_, times_);
        auto const [found, is_new] = spans_.try_emplace(rank);
        if (is_new) found->second = rank_spans(graph_, times_, (*tasks_)[rank], 0);
        return found->second;
    }

    TaskGraph const& graph_;
    TaskTimes const& times_;
    std::optional<TasksByRank> tasks_;
    std::map<std::size_t, std::vector<RankSpan>> spans_;
};

}  // namespace

CriticalPath critical_path(TaskGraph const& graph, TaskTimes const& times) {
    CriticalPath path;
    path.tasks = chain(graph, times);
    path.length = times.makespan();
    path.ranks.resize(graph.ranks.size());
    std::vector<PathOp> ops(graph.names.size());
    Bookings bookings(graph, times);
    double now = 0;
    for (std::uint32_t const id : path.tasks) {
        Task const& task = graph.tasks[id];
        path.waiting += std::max(0.0, times.start[id] - now) * units::s;
        double const start = std::max(now, times.start[id]);
        now = times.end[id];
        path.ranks[static_cast<std::size_t>(task.rank)] += (now - start) * units::s;
        bookings.visit(id, start, now, [&](std::uint32_t counted, double seconds) {
            Task const& what = graph.tasks[counted];
            path.parts[what.part] += seconds * units::s;
            ops[what.name].time += seconds * units::s;
            ++ops[what.name].count;
        });
        Seconds const delay = (times.end[id] - times.start[id] - task.duration) * units::s;
        (computes(task) ? path.compute_delay : path.network_delay) += delay;
    }
    for (std::size_t name = 0; name < ops.size(); ++name) {
        if (ops[name].count == 0) continue;
        ops[name].name = graph.names[name];
        path.ops.push_back(std::move(ops[name]));
    }
    std::stable_sort(path.ops.begin(), path.ops.end(),
                     [](PathOp const& a, PathOp const& b) { return a.time > b.time; });
    return path;
}

}  // namespace sextant
