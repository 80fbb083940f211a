#pragma once

#include "cli/sweep/ranks.hpp"
#include "cli/sweep/worker_pool.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace sextant::cli {

/// Which points, in which order: first, first + stride, ... as many as count.
struct PointSequence {
    std::int64_t first = 0;
    std::int64_t stride = 1;
    std::int64_t count = 0;
};

/// Evaluates all points of the sequence on the pool (and on the other ranks, if there are any) and gives the rows to
/// `sink` in the order of the sequence, however they come. False when `stop` was set: after a moment for the points
/// under way, what lies before the first gap was given.
/// @param idle is called a few times a second.
bool run_points(PointSequence const& sequence, WorkerPool& pool, Ranks* ranks, std::atomic<bool> const& stop,
                std::function<void(SweepRow&&)> const& sink, std::function<void()> const& idle);

/// Tells every other rank that this is all.
void release_ranks(Ranks& ranks);

/// What every rank but 0 does: evaluates the points that rank 0 sends until it says that this is all.
void serve_points(WorkerPool& pool, Ranks& ranks, std::atomic<bool> const& stop);

}  // namespace sextant::cli
