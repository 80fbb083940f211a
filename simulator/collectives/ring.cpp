#include "simulator/collectives/rings.hpp"

#include <algorithm>
#include <array>

// Over several domains one ring for each rank of a domain, so that each NIC carries its part: ring c enters a domain at
// its rank c and leaves it at c - 1, and the next one the other way round, so that cables run between NICs of one rail.
// On a mesh, in one domain too: ring c zigzags through it as c, c + 1, c - 1, c + 2, ..., c + m / 2. For an even m no
// two rings then go from one rank to the same other one (Walecki's decomposition), so that every link carries as much.

namespace sextant {
namespace {

using rings::Ring;

constexpr std::array kinds{CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                           CollectiveKind::broadcast};

std::int64_t ring_count(CollectiveShape const& shape) {
    return shape.domains() > 1 || shape.scale_up == ScaleUpKind::mesh ? shape.ranks_per_domain : 1;
}

/// The i-th place that a ring visits in a domain of `size`, from where it enters.
std::int64_t place_after(CollectiveShape const& shape, std::int64_t i, std::int64_t size) {
    if (shape.scale_up != ScaleUpKind::mesh) return i;
    return i % 2 == 1 ? (i + 1) / 2 : (size - i / 2) % size;
}

std::vector<Ring> rings_of(CollectiveShape const& shape) {
    std::vector<Ring> all;
    for (std::int64_t c = 0; c < ring_count(shape); ++c) {
        Ring ring;
        for (std::int64_t d = 0; d < shape.domains(); ++d) {
            std::int64_t const size = shape.size_of_domain(d);
            std::int64_t const first = d * shape.ranks_per_domain;
            for (std::int64_t i = 0; i < size; ++i) {
                std::int64_t const place = c + place_after(shape, d % 2 == 0 ? i : size - 1 - i, size);
                ring.push_back(static_cast<std::int32_t>(first + place % size));
            }
        }
        all.push_back(std::move(ring));
    }
    return all;
}

rings::Task task_of(CollectiveKind kind) {
    if (kind == CollectiveKind::all_gather) return rings::Task::all_gather;
    if (kind == CollectiveKind::reduce_scatter) return rings::Task::reduce_scatter;
    return rings::Task::all_reduce;
}

std::string phase_name(CollectiveShape const& shape) {
    return ring_count(shape) == 1 ? "ring" : std::to_string(ring_count(shape)) + " rings";
}

/// The ring from the root (rank 0) on, as a chain.
Ring chain_from_root(Ring ring) {
    std::rotate(ring.begin(), std::find(ring.begin(), ring.end(), 0), ring.end());
    return ring;
}

CollectiveProgram broadcast(CollectiveShape const& shape) {
    std::vector<Ring> const all = rings_of(shape);
    auto const parts = static_cast<std::int32_t>(shape.ranks);  // of a ring's share, so that a chain fills its ranks
    auto const last = static_cast<std::int32_t>(shape.ranks) - 1;
    CollectiveProgram program{.chunks = parts * ring_count(shape), .slots = 0, .phases = {}, .rounds = {}};
    program.slots = program.chunks;
    if (last == 0) return program;
    program.phases = {phase_name(shape)};
    for (std::int32_t step = 0; step < parts + last - 1; ++step) {
        Round round;
        for (std::size_t c = 0; c < all.size(); ++c) {
            Ring const chain = chain_from_root(all[c]);
            for (std::int32_t p = std::max(0, step - parts + 1); p <= std::min(step, last - 1); ++p) {
                std::int32_t const slot = static_cast<std::int32_t>(c) * parts + step - p;
                auto const at = static_cast<std::size_t>(p);
                round.transfers.push_back({chain[at], chain[at + 1], slot, slot, 1, TransferOperation::copy});
            }
        }
        program.rounds.push_back(std::move(round));
    }
    return program;
}

CollectiveProgram program(CollectiveShape const& shape) {
    if (shape.kind == CollectiveKind::broadcast) return broadcast(shape);
    std::vector<Ring> const all = rings_of(shape);
    auto const parts = static_cast<std::int32_t>(ring_count(shape));
    CollectiveProgram result{.chunks = shape.ranks * parts, .slots = shape.ranks * parts, .phases = {}, .rounds = {}};
    rings::add_phase(result, phase_name(shape), all, task_of(shape.kind), [&](std::size_t ring, std::size_t position) {
        return std::vector<rings::SlotRange>{{all[ring][position] * parts + static_cast<std::int32_t>(ring), 1}};
    });
    return result;
}

CollectiveFlows flows(CollectiveShape const& shape) {
    std::vector<Ring> const all = rings_of(shape);
    auto const count = static_cast<double>(ring_count(shape));
    CollectiveFlows result;
    if (shape.kind == CollectiveKind::broadcast && shape.ranks > 1) {
        result = {.rounds = 2 * shape.ranks - 2, .phases = {phase_name(shape)}, .flows = {}};
        for (Ring const& ring : all) {
            Ring const chain = chain_from_root(ring);
            Hops hops;
            for (std::size_t p = 0; p + 1 < chain.size(); ++p)
                hops = hops + step_between(shape, chain[p], chain[p + 1]);
            for (std::size_t p = 0; p + 1 < chain.size(); ++p)
                result.flows.push_back({0, chain[p], chain[p + 1], 1 / count, hops});
        }
    } else if (shape.ranks > 1) {
        std::vector<double> const shares(all.size(), 1 / (count * static_cast<double>(shape.ranks)));
        rings::add_phase(result, shape, phase_name(shape), all, task_of(shape.kind), shares);
    }
    merge_flows(result.flows);
    return result;
}

std::optional<std::string> unsupported(CollectiveShape const&) { return std::nullopt; }

}  // namespace

extern constinit CollectiveAlgorithm const ring_algorithm;
constinit CollectiveAlgorithm const ring_algorithm{
    .name = "ring",
    .summary = "blocks go round a ring of all ranks, one ring per NIC of a domain",
    .source = "Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009",
    .kinds = kinds,
    .unsupported = unsupported,
    .program = program,
    .flows = flows,
};

}  // namespace sextant
