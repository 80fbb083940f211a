#pragma once

#include "simulator/rank_activity.hpp"

#include <array>

namespace sextant {

/// A time for each part of the step.
struct PartTimes {
    std::array<Seconds, task_part_count> time{};
    Seconds& operator[](TaskPart part) { return time[static_cast<std::size_t>(part)]; }
    Seconds const& operator[](TaskPart part) const { return time[static_cast<std::size_t>(part)]; }
    [[nodiscard]] Seconds total() const;
};

/// How long one kind of communication ran on a rank, and for how much of that the rank computed beside it. Two of the
/// same kind at once count once.
struct Overlap {
    Seconds total;
    Seconds hidden;
    /// hidden / total; 0 where nothing was communicated.
    [[nodiscard]] double share() const { return total > Seconds{} ? hidden / total : 0; }
};

/// Time in which nothing runs on a rank, by where it lies among the rank's compute.
struct IdleTime {
    Seconds before;   ///< its first compute
    Seconds between;  ///< its computes
    Seconds after;    ///< its last compute
    [[nodiscard]] Seconds total() const { return before + between + after; }
};

/// Where one rank's time goes: compute + exposed + idle = makespan.
///
/// Every instant counts for one thing: compute if the rank computes; else the communication that runs there then (tp
/// before cp, ep, pp, dp, offload: `precedence_of`); else it is idle. A group's task runs on each of its members; a
/// transfer between two ranks on both.
struct RankAnalysis {
    PartTimes compute;                               ///< on the compute stream
    PartTimes exposed;                               ///< while the compute stream waits
    IdleTime idle;                                   ///< pipeline bubble, waiting for others
    std::array<Overlap, task_part_count> overlap{};  ///< of communication parts
    [[nodiscard]] Seconds busy() const { return compute.total() + exposed.total(); }
};

struct StepAnalysis {
    Seconds makespan;
    std::vector<RankAnalysis> ranks;  ///< as in the graph
    RankAnalysis mean;                ///< each rank as often as it stands for others
    std::size_t busiest = 0;          ///< the rank that idles least: it decides the pace
    std::size_t idlest = 0;
    /// Idle share of the step, on average over all ranks and of the busiest.
    [[nodiscard]] double bubble_share() const;
    [[nodiscard]] double least_bubble_share() const;
};

/// Adds up what each rank did in `times`. Tasks that did not run to their end count as not run.
StepAnalysis analyse(TaskGraph const& graph, TaskTimes const& times);

}  // namespace sextant
