#include "simulator/step_analysis.hpp"

#include <numeric>

namespace sextant {
namespace {

constexpr unsigned part_bit(TaskPart part) { return 1U << static_cast<unsigned>(part); }

RankAnalysis analyse_rank(TaskGraph const& graph, TaskTimes const& times, std::span<std::uint32_t const> tasks,
                          Seconds makespan) {
    RankAnalysis result;
    bool computed = false;
    Seconds idle;  // since the last compute, or the start
    Seconds covered;
    visit_spans(graph, times, tasks, [&](double start, double end, std::int32_t owner, auto active) {
        Seconds const length = (end - start) * units::s;
        covered = end * units::s;
        if (owner < 0) {
            idle += length;
            return;
        }
        Task const& task = graph.tasks[static_cast<std::size_t>(owner)];
        bool const computing = computes(task);
        (computing ? result.compute : result.exposed)[task.part] += length;
        if (computing) {
            (computed ? result.idle.between : result.idle.before) += idle;
            idle = Seconds{};
            computed = true;
        }
        unsigned seen = 0;
        for (std::uint32_t const id : active) {
            TaskPart const part = graph.tasks[id].part;
            if (!is_communication(part) || (seen & part_bit(part)) != 0) continue;
            seen |= part_bit(part);
            Overlap& overlap = result.overlap[static_cast<std::size_t>(part)];
            overlap.total += length;
            if (computing) overlap.hidden += length;
        }
    });
    result.idle.after = idle + (makespan - covered);
    return result;
}

void add(PartTimes& sum, PartTimes const& more, double weight) {
    for (std::size_t part = 0; part < task_part_count; ++part)
        sum.time[part] += weight * more.time[part];
}

void add(RankAnalysis& sum, RankAnalysis const& more, double weight) {
    add(sum.compute, more.compute, weight);
    add(sum.exposed, more.exposed, weight);
    sum.idle.before += weight * more.idle.before;
    sum.idle.between += weight * more.idle.between;
    sum.idle.after += weight * more.idle.after;
    for (std::size_t part = 0; part < task_part_count; ++part) {
        sum.overlap[part].total += weight * more.overlap[part].total;
        sum.overlap[part].hidden += weight * more.overlap[part].hidden;
    }
}

double share(Seconds part, Seconds whole) { return whole > Seconds{} ? part / whole : 0; }

}  // namespace

Seconds PartTimes::total() const { return std::accumulate(time.begin(), time.end(), Seconds{}); }

double StepAnalysis::bubble_share() const { return share(mean.idle.total(), makespan); }

double StepAnalysis::least_bubble_share() const {
    return ranks.empty() ? 0 : share(ranks[busiest].idle.total(), makespan);
}

StepAnalysis analyse(TaskGraph const& graph, TaskTimes const& times) {
    StepAnalysis analysis;
    analysis.makespan = times.makespan();
    TasksByRank const tasks(graph, times);
    double all = 0;
    for (SimulatedRank const& rank : graph.ranks)
        all += static_cast<double>(rank.stands_for);
    for (std::size_t rank = 0; rank < graph.ranks.size(); ++rank) {
        analysis.ranks.push_back(analyse_rank(graph, times, tasks[rank], analysis.makespan));
        RankAnalysis const& here = analysis.ranks.back();
        add(analysis.mean, here, static_cast<double>(graph.ranks[rank].stands_for) / all);
        if (here.idle.total() < analysis.ranks[analysis.busiest].idle.total()) analysis.busiest = rank;
        if (here.idle.total() > analysis.ranks[analysis.idlest].idle.total()) analysis.idlest = rank;
    }
    return analysis;
}

}  // namespace sextant
