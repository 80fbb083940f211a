#pragma once

#include "core/spec/parallel_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

/// A pipeline schedule carried out task by task: slow, without any formula, and so a judge of the formulas.
namespace sextant::fixtures {

struct WalkTask {
    bool forward;
    std::size_t place;  ///< position in the model: chunk * p + rank
    std::size_t microbatch;
};

struct WalkResult {
    double makespan = 0;
    std::vector<std::size_t>
        most_held;  ///< per rank: chunks whose forward has run and whose backward has not ended, at the peak
};

/// Tasks of one rank in the order that it runs them.
inline std::vector<WalkTask> walk_order(Schedule schedule, std::size_t rank, std::size_t p, std::size_t v,
                                        std::size_t m) {
    std::size_t const total = m * v;
    auto const forward = [&](std::size_t k) {
        std::size_t const chunk = k % (p * v) / p;
        return WalkTask{true, chunk * p + rank, k / (p * v) * p + k % p};
    };
    auto const backward = [&](std::size_t k) {
        std::size_t const chunk = v - 1 - k % (p * v) / p;
        return WalkTask{false, chunk * p + rank, k / (p * v) * p + k % p};
    };
    std::size_t warm_up = total;
    if (schedule == Schedule::one_f_one_b) warm_up = std::min(total, p - 1 - rank);
    if (schedule == Schedule::interleaved) warm_up = std::min(total, 2 * (p - 1 - rank) + (v - 1) * p);
    std::vector<WalkTask> order;
    std::size_t next_forward = 0, next_backward = 0;
    while (next_forward < warm_up)
        order.push_back(forward(next_forward++));
    while (next_backward < total) {
        if (next_forward < total) order.push_back(forward(next_forward++));
        order.push_back(backward(next_backward++));
    }
    return order;
}

/// Runs the schedule on p = forward.size() ranks; `forward[r]`, `backward[r]`: time of one microbatch on all chunks of
/// rank r. Interleaved schedules need m to be a multiple of p.
inline WalkResult walk_pipeline(Schedule schedule, std::vector<double> const& forward,
                                std::vector<double> const& backward, std::size_t m, std::size_t v) {
    std::size_t const p = forward.size();
    std::size_t const places = p * v;
    double const pending = -1;
    std::vector<std::vector<double>> forward_end(places, std::vector<double>(m, pending)), backward_end = forward_end;
    std::vector<std::vector<WalkTask>> orders;
    for (std::size_t rank = 0; rank < p; ++rank)
        orders.push_back(walk_order(schedule, rank, p, v, m));
    std::vector<std::size_t> position(p, 0);
    std::vector<double> free_at(p, 0);
    WalkResult result;
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t rank = 0; rank < p; ++rank) {
            while (position[rank] < orders[rank].size()) {
                WalkTask const& task = orders[rank][position[rank]];
                double ready = 0;
                if (task.forward && task.place > 0) ready = forward_end[task.place - 1][task.microbatch];
                if (!task.forward)
                    ready = task.place + 1 < places ? backward_end[task.place + 1][task.microbatch]
                                                    : forward_end[task.place][task.microbatch];
                if (ready == pending) break;
                double const duration = (task.forward ? forward[rank] : backward[rank]) / static_cast<double>(v);
                free_at[rank] = std::max(free_at[rank], ready) + duration;
                (task.forward ? forward_end : backward_end)[task.place][task.microbatch] = free_at[rank];
                ++position[rank];
                moved = true;
            }
        }
    }
    for (std::size_t rank = 0; rank < p; ++rank) {
        if (position[rank] != orders[rank].size()) throw std::logic_error("the schedule waits for itself");
        result.makespan = std::max(result.makespan, free_at[rank]);
        std::size_t held = 0, most = 0;
        for (WalkTask const& task : orders[rank]) {
            if (task.forward)
                most = std::max(most, ++held);
            else
                --held;
        }
        result.most_held.push_back(most);
    }
    return result;
}

}  // namespace sextant::fixtures
