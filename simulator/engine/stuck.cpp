#include "simulator/engine/stuck.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace sextant {
namespace {

constexpr std::size_t named = 3;

/// "rank 3 reduce-scatter (microbatch 2, stage 1)".
std::string describe(TaskGraph const& graph, std::size_t index) {
    Task const& task = graph.tasks[index];
    std::vector<std::string> where;
    if (task.microbatch >= 0) where.push_back(fmt::format("microbatch {}", task.microbatch));
    if (task.stage >= 0) where.push_back(fmt::format("stage {}", task.stage));
    std::int64_t const rank = graph.ranks.empty() ? task.rank : graph.ranks[static_cast<std::size_t>(task.rank)].rank;
    return fmt::format("rank {} {}{}", rank, graph.name_of_task(index),
                       where.empty() ? "" : fmt::format(" ({})", fmt::join(where, ", ")));
}

/// Whether a task's flows go over any of these links.
bool goes_over(EngineRun const& run, Task const& task, std::vector<std::int32_t> const& links) {
    if (task.demand < 0) return false;
    for (Flow const& flow : run.fabric.flows_of(static_cast<std::size_t>(task.demand)))
        for (std::int32_t const link : flow.links)
            if (std::find(links.begin(), links.end(), link) != links.end()) return true;
    return false;
}

}  // namespace

std::string stuck_message(EngineRun const& run) {
    std::vector<std::size_t> started;
    std::size_t waiting = 0;
    for (std::size_t task = 0; task < run.end.size(); ++task) {
        if (run.end[task] >= 0) continue;
        if (run.start[task] >= 0)
            started.push_back(task);
        else
            ++waiting;
    }
    if (started.empty() && waiting == 0) return {};

    std::vector<std::string> causes;
    for (LinksOff const& failure : run.failures) {
        bool const to_blame = std::any_of(started.begin(), started.end(), [&](std::size_t task) {
            return goes_over(run, run.graph.tasks[task], failure.links);
        });
        if (!to_blame) continue;
        std::string link = run.fabric.links()[static_cast<std::size_t>(failure.links.front())].name;
        if (failure.links.size() > 1) link += fmt::format(" and {} more", failure.links.size() - 1);
        causes.push_back(fmt::format("link {} failed at {:g} s", link, failure.at));
    }
    std::vector<std::string> tasks;
    for (std::size_t i = 0; i < std::min(named, started.size()); ++i)
        tasks.push_back(describe(run.graph, started[i]));
    std::string const more =
        started.size() > named ? fmt::format(" and {} more", started.size() - named) : std::string();
    std::string text = causes.empty() ? "the simulation ended early" : fmt::format("{}", fmt::join(causes, ", "));
    text += fmt::format("; {} task{} never finish{}: {}{}", started.size(), started.size() == 1 ? "" : "s",
                        started.size() == 1 ? "es" : "", fmt::join(tasks, ", "), more);
    if (waiting > 0) text += fmt::format("; {} more wait for {}", waiting, started.size() == 1 ? "it" : "them");
    return text;
}

}  // namespace sextant
