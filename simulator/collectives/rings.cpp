#include "simulator/collectives/rings.hpp"

#include <algorithm>

namespace sextant::rings {
namespace {

std::int64_t steps_of(Task task, std::size_t members) {
    auto const round_trip = static_cast<std::int64_t>(members) - 1;
    return task == Task::all_reduce ? 2 * round_trip : round_trip;
}

/// Position whose block the member at `position` sends in step `step` of a task.
std::size_t block_sent(std::size_t members, Task task, std::size_t position, std::size_t step) {
    bool const reducing = task != Task::all_gather && step < members - 1;
    std::size_t const behind = reducing ? step + 1 : (task == Task::all_reduce ? step - (members - 1) : step);
    return (position + 2 * members - behind) % members;
}

TransferOperation operation_in(std::size_t members, Task task, std::size_t step) {
    return task != Task::all_gather && step < members - 1 ? TransferOperation::reduce : TransferOperation::copy;
}

}  // namespace

void add_phase(CollectiveProgram& program, std::string name, std::span<Ring const> rings, Task task,
               BlocksOf const& blocks_of) {
    std::int64_t steps = 0;
    for (Ring const& ring : rings)
        steps = std::max(steps, steps_of(task, ring.size()));
    if (steps == 0) return;
    auto const phase = static_cast<std::int32_t>(program.phases.size());
    program.phases.push_back(std::move(name));
    for (std::size_t step = 0; step < static_cast<std::size_t>(steps); ++step) {
        Round round{.phase = phase, .transfers = {}};
        for (std::size_t r = 0; r < rings.size(); ++r) {
            Ring const& ring = rings[r];
            std::size_t const n = ring.size();
            if (static_cast<std::int64_t>(step) >= steps_of(task, n)) continue;
            for (std::size_t p = 0; p < n; ++p)
                for (SlotRange const& block : blocks_of(r, block_sent(n, task, p, step)))
                    round.transfers.push_back({ring[p], ring[(p + 1) % n], block.first, block.first, block.count,
                                               operation_in(n, task, step)});
        }
        program.rounds.push_back(std::move(round));
    }
}

void add_phase(CollectiveFlows& flows, CollectiveShape const& shape, std::string name, std::span<Ring const> rings,
               Task task, std::span<double const> block_shares) {
    std::int64_t steps = 0;
    for (Ring const& ring : rings)
        steps = std::max(steps, steps_of(task, ring.size()));
    if (steps == 0) return;
    auto const phase = static_cast<std::int32_t>(flows.phases.size());
    flows.phases.push_back(std::move(name));
    flows.rounds += steps;
    for (std::size_t r = 0; r < rings.size(); ++r) {
        Ring const& ring = rings[r];
        std::int64_t const length = steps_of(task, ring.size());
        if (length == 0) continue;
        Hops const hops = longest_walk(shape, ring, length);
        double const share = static_cast<double>(length) * block_shares[r];
        for (std::size_t p = 0; p < ring.size(); ++p)
            flows.flows.push_back({phase, ring[p], ring[(p + 1) % ring.size()], share, hops});
    }
}

Hops longest_walk(CollectiveShape const& shape, Ring const& ring, std::int64_t length) {
    std::size_t const n = ring.size();
    std::vector<Hops> steps(n);
    for (std::size_t p = 0; p < n; ++p)
        steps[p] = step_between(shape, ring[p], ring[(p + 1) % n]);
    auto const minus = [](Hops a, Hops b) { return Hops{a.out - b.out, a.up - b.up}; };
    Hops window;
    for (std::int64_t i = 0; i < length; ++i)
        window = window + steps[static_cast<std::size_t>(i) % n];
    Hops longest = window;
    for (std::size_t first = 0; first + 1 < n; ++first) {
        window = minus(window + steps[(first + static_cast<std::size_t>(length)) % n], steps[first]);
        longest = std::max(longest, window);
    }
    return longest;
}

}  // namespace sextant::rings
