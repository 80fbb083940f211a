#pragma once

#include "simulator/task_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sextant {

inline constexpr std::size_t task_part_count = static_cast<std::size_t>(TaskPart::compute) + 1;

/// Moves data instead of working on it: tp, cp, ep, pp, dp and offload.
bool is_communication(TaskPart part);
/// Keeps the arithmetic units of its rank busy: on the compute stream, and no communication that waits there.
bool computes(Task const& task);

/// The simulated ranks that a task keeps busy: the members of its group, or the one rank it is on.
std::span<std::int32_t const> ranks_of(TaskGraph const& graph, Task const& task);

/// For each rank the tasks that ran there, ordered by start, then by id. Left out: those that took no time, did not
/// start or did not end.
class TasksByRank {
public:
    TasksByRank(TaskGraph const& graph, TaskTimes const& times);
    [[nodiscard]] std::span<std::uint32_t const> operator[](std::size_t rank) const {
        return {tasks_.data() + first_[rank], tasks_.data() + first_[rank + 1]};
    }

private:
    std::vector<std::size_t> first_;
    std::vector<std::uint32_t> tasks_;
};

/// Which of the tasks that run on a rank at one instant the instant counts for, lowest first: compute; then what keeps
/// compute waiting most directly, tp, cp, ep, pp, dp, offload; then anything else.
int precedence_of(Task const& task);

/// Calls `visit(start, end, owner, active)` for every span of time in which the same tasks run on a rank, in order and
/// without gaps from the first task to the last: `active` are their ids, `owner` the one that the span counts for, -1
/// where nothing runs. `tasks` as `TasksByRank` orders them.
template <class Visit>
void visit_spans(TaskGraph const& graph, TaskTimes const& times, std::span<std::uint32_t const> tasks,
                 Visit const& visit) {
    std::vector<std::uint32_t> active;
    double now = 0;
    for (std::size_t next = 0; next < tasks.size() || !active.empty();) {
        double until = next < tasks.size() ? times.start[tasks[next]] : times.end[active.front()];
        std::int32_t owner = -1;
        int best = 0;
        for (std::uint32_t const id : active) {
            until = std::min(until, times.end[id]);
            int const precedence = precedence_of(graph.tasks[id]);
            if (owner >= 0 && (precedence > best || (precedence == best && static_cast<std::int32_t>(id) > owner)))
                continue;
            owner = static_cast<std::int32_t>(id);
            best = precedence;
        }
        if (until > now) {
            visit(now, until, owner, std::span<std::uint32_t const>(active));
            now = until;
        }
        std::erase_if(active, [&](std::uint32_t id) { return times.end[id] <= now; });
        for (; next < tasks.size() && times.start[tasks[next]] <= now; ++next)
            active.push_back(tasks[next]);
    }
}

/// A span of time of one rank and the task it counts for; -1: nothing ran.
struct RankSpan {
    double start = 0;  ///< seconds
    double end = 0;
    std::int32_t task = -1;
};

/// What a rank does from 0 to `until`, without gaps; neighbours that count for the same task are one.
std::vector<RankSpan> rank_spans(TaskGraph const& graph, TaskTimes const& times, std::span<std::uint32_t const> tasks,
                                 double until);

}  // namespace sextant
