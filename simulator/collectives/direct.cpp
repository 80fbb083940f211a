#include "simulator/collectives/algorithm.hpp"

#include <array>

namespace sextant {
namespace {

constexpr std::array kinds{CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                           CollectiveKind::all_to_all, CollectiveKind::send_receive};

/// Every rank adds its part of each block to the block's owner: one sum at a time, but nobody waits for another rank.
void add_reduce_scatter(CollectiveProgram& program, std::int32_t n) {
    auto const phase = static_cast<std::int32_t>(program.phases.size());
    program.phases.emplace_back("reduce-scatter");
    for (std::int32_t k = 1; k < n; ++k) {
        Round round{.phase = phase, .transfers = {}};
        for (std::int32_t rank = 0; rank < n; ++rank) {
            std::int32_t const owner = (rank + k) % n;
            round.transfers.push_back({rank, owner, owner, owner, 1, TransferOperation::reduce});
        }
        program.rounds.push_back(std::move(round));
    }
}

/// Every rank sends to every other: its own block, or of an all-to-all the other's.
void add_exchange(CollectiveProgram& program, std::int32_t n, CollectiveKind kind) {
    bool const exchange = kind == CollectiveKind::all_to_all;
    Round round{.phase = static_cast<std::int32_t>(program.phases.size()), .transfers = {}};
    program.phases.emplace_back(exchange ? "all-to-all" : "all-gather");
    for (std::int32_t rank = 0; rank < n; ++rank)
        for (std::int32_t to = 0; to < n; ++to)
            if (to != rank)
                round.transfers.push_back(
                    {rank, to, exchange ? to : rank, exchange ? n + rank : rank, 1, TransferOperation::copy});
    program.rounds.push_back(std::move(round));
}

CollectiveProgram program(CollectiveShape const& shape) {
    auto const n = static_cast<std::int32_t>(shape.ranks);
    CollectiveKind const kind = shape.kind;
    CollectiveProgram result{.chunks = n, .slots = n, .phases = {}, .rounds = {}};
    if (kind == CollectiveKind::all_to_all) result.slots = 2 * n;
    if (n == 1) return result;
    if (kind == CollectiveKind::send_receive) {
        result = {.chunks = 1, .slots = 1, .phases = {"send"}, .rounds = {}};
        result.rounds = {{0, {{0, n - 1, 0, 0, 1, TransferOperation::copy}}}};
        return result;
    }
    if (kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter) add_reduce_scatter(result, n);
    if (kind != CollectiveKind::reduce_scatter) add_exchange(result, n, kind);
    return result;
}

std::optional<std::string> unsupported(CollectiveShape const& shape) {
    if (shape.kind == CollectiveKind::send_receive) return std::nullopt;
    std::int64_t const phases = shape.kind == CollectiveKind::all_reduce ? 2 : 1;
    return unless_too_many(shape, phases * shape.ranks * (shape.ranks - 1));
}

}  // namespace

extern constinit CollectiveAlgorithm const direct_algorithm;
constinit CollectiveAlgorithm const direct_algorithm{
    .name = "direct",
    .summary = "every rank sends to every other at once (send-receive: the first to the last)",
    .source = "Chan et al., Concurrency Computat. Pract. Exper. 19(13), 2007",
    .kinds = kinds,
    .unsupported = unsupported,
    .program = program,
};

}  // namespace sextant
