#include "simulator/critical_path.hpp"

#include <algorithm>

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

}  // namespace

CriticalPath critical_path(TaskGraph const& graph, TaskTimes const& times) {
    CriticalPath path;
    path.tasks = chain(graph, times);
    path.length = times.makespan();
    path.ranks.resize(graph.ranks.size());
    std::vector<PathOp> ops(graph.names.size());
    double now = 0;
    for (std::uint32_t const id : path.tasks) {
        Task const& task = graph.tasks[id];
        path.waiting += std::max(0.0, times.start[id] - now) * units::s;
        Seconds const time = (times.end[id] - std::max(now, times.start[id])) * units::s;
        now = times.end[id];
        path.parts[task.part] += time;
        path.ranks[static_cast<std::size_t>(task.rank)] += time;
        ops[task.name].time += time;
        ++ops[task.name].count;
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
