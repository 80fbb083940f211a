#pragma once

#include "core/ops/op.hpp"
#include "simulator/collectives/shape.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {

enum class TransferOperation : std::uint8_t {
    copy,    ///< replaces what the destination had
    reduce,  ///< adds to it
};

/// `count` chunks from one rank's memory into another's.
struct Transfer {
    std::int32_t source = 0;
    std::int32_t destination = 0;
    std::int32_t from = 0;  ///< first slot at the source
    std::int32_t to = 0;    ///< first slot at the destination
    std::int32_t count = 1;
    TransferOperation operation = TransferOperation::copy;
    bool operator==(Transfer const&) const = default;
};

/// Transfers that run at the same time: each reads what was there before the round.
struct Round {
    std::int32_t phase = 0;
    std::vector<Transfer> transfers;
};

/// A collective, transfer by transfer.
///
/// Each rank has `slots` slots of one chunk each; the buffer (see `Collective::bytes`) is the first `chunks` of them.
/// An all-to-all has its output in the next `chunks`, where a rank's own block already lies; what follows is scratch.
/// Rounds of one phase are pipelined: they run between the same pairs again and again, and a rank waits only for the
/// chunks that it passes on. A rank begins a phase when its part in the one before is done.
struct CollectiveProgram {
    std::int64_t chunks = 1;
    std::int64_t slots = 1;
    std::vector<std::string> phases;
    std::vector<Round> rounds;

    /// One more phase, of one round.
    void add_phase(std::string name, std::vector<Transfer> transfers) {
        rounds.push_back({static_cast<std::int32_t>(phases.size()), std::move(transfers)});
        phases.push_back(std::move(name));
    }
};

/// Steps that a transfer's last byte has behind it, by the network that they cross.
struct Hops {
    std::int32_t out = 0;  ///< between scale-up domains
    std::int32_t up = 0;   ///< inside one
    auto operator<=>(Hops const&) const = default;
    friend Hops operator+(Hops a, Hops b) { return {a.out + b.out, a.up + b.up}; }
};

/// What one transfer from a to b adds to a chain.
Hops step_between(CollectiveShape const& shape, std::int32_t a, std::int32_t b);

/// All transfers of one phase between one pair of ranks.
struct CollectiveFlow {
    std::int32_t phase = 0;
    std::int32_t source = 0;
    std::int32_t destination = 0;
    double share = 0;  ///< bytes as a part of the buffer
    /// Steps one after the other from the beginning of the phase until the last of them has arrived, at most.
    Hops hops;
};

/// A collective as one transfer per phase and pair of ranks: what is left of the rounds when they are pipelined.
struct CollectiveFlows {
    std::int64_t rounds = 0;
    std::vector<std::string> phases;
    std::vector<CollectiveFlow> flows;  ///< sorted by phase, source, destination; each once
};

/// A published algorithm. An entry is one file and one line of the catalog.
struct CollectiveAlgorithm {
    std::string_view name;
    std::string_view summary;
    std::string_view source;
    std::span<CollectiveKind const> kinds;

    /// The sentence why this shape cannot run, or nothing. @pre the kind is among `kinds`.
    std::optional<std::string> (*unsupported)(CollectiveShape const&) = nullptr;
    /// @pre the shape is supported.
    CollectiveProgram (*program)(CollectiveShape const&) = nullptr;
    /// The same as `flows_of(shape, program(shape))`, without the rounds, where those would be too many; null: they
    /// never are.
    CollectiveFlows (*flows)(CollectiveShape const&) = nullptr;
};

/// Most transfers between two ranks, phase by phase, that one description may have: gigabytes beyond.
inline constexpr std::int64_t most_transfers = 500'000;
/// A sentence when there would be more, else nothing.
std::optional<std::string> unless_too_many(CollectiveShape const& shape, std::int64_t transfers);

/// The flows that a program comes to. A flow of a phase with one round has its own step alone; of a phase with more the
/// longest chain of transfers, each of which passes on what the one before brought, by steps between domains first.
CollectiveFlows flows_of(CollectiveShape const& shape, CollectiveProgram const& program);

/// The algorithm's flows by the cheaper way. @pre the shape is supported.
CollectiveFlows flows_of(CollectiveAlgorithm const& algorithm, CollectiveShape const& shape);

/// Sorts flows and merges those of the same phase and pair: shares add up, the longer chain counts.
void merge_flows(std::vector<CollectiveFlow>& flows);

}  // namespace sextant
