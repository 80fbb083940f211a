#include "simulator/collectives/symbolic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace sextant {
namespace {

/// Ranks, one bit each.
using RankSet = std::vector<std::uint64_t>;

/// What a slot holds: a piece of data and whose contributions are in it. Piece -1: nothing.
struct Content {
    std::int64_t piece = -1;
    RankSet from{};
    bool operator==(Content const&) const = default;
};

std::int64_t count(RankSet const& set) {
    std::int64_t ranks = 0;
    for (std::uint64_t const word : set)
        ranks += std::popcount(word);
    return ranks;
}

class Machine {
public:
    Machine(CollectiveShape const& shape, CollectiveProgram const& program)
        : shape_(shape), program_(program), memory_(static_cast<std::size_t>(shape.ranks * program.slots)) {
        for (std::int64_t rank = 0; rank < shape.ranks; ++rank)
            for (std::int64_t chunk = 0; chunk < program.chunks; ++chunk)
                fill(rank, chunk);
    }

    /// The first fault of a round, or nothing.
    std::optional<std::string> run(Round const& round) {
        struct Write {
            std::size_t slot;
            Transfer const* transfer;
            Content content;
        };
        std::vector<Write> writes;
        for (Transfer const& t : round.transfers) {
            if (auto fault = fault_of(t)) return fault;
            for (std::int32_t i = 0; i < t.count; ++i) {
                Content const& content = memory_[at(t.source, t.from + i)];
                if (content.piece < 0)
                    return fmt::format("rank {} sends slot {} to rank {}, but holds nothing there", t.source,
                                       t.from + i, t.destination);
                writes.push_back({at(t.destination, t.to + i), &t, content});
            }
        }
        std::stable_sort(writes.begin(), writes.end(), [](Write const& a, Write const& b) { return a.slot < b.slot; });
        for (std::size_t i = 0; i < writes.size(); ++i) {
            Write& write = writes[i];
            auto const slot = static_cast<std::int64_t>(write.slot) % program_.slots;
            if (i > 0 && writes[i - 1].slot == write.slot)
                return fmt::format("slot {} of rank {} is written by ranks {} and {} at once", slot,
                                   write.transfer->destination, writes[i - 1].transfer->source, write.transfer->source);
            if (auto fault = store(write.slot, *write.transfer, std::move(write.content))) return fault;
        }
        return std::nullopt;
    }

    /// What the collective should have brought and did not, or nothing.
    [[nodiscard]] std::optional<std::string> fault_at_end() const {
        for (std::int64_t rank = 0; rank < shape_.ranks; ++rank)
            for (std::int64_t chunk = 0; chunk < program_.chunks; ++chunk)
                if (auto fault = fault_at_end(rank, chunk)) return fault;
        return std::nullopt;
    }

private:
    [[nodiscard]] std::size_t at(std::int64_t rank, std::int64_t slot) const {
        return static_cast<std::size_t>(rank * program_.slots + slot);
    }
    [[nodiscard]] RankSet only(std::int64_t rank) const {
        RankSet set(static_cast<std::size_t>(shape_.ranks + 63) / 64);
        set[static_cast<std::size_t>(rank / 64)] = std::uint64_t{1} << (rank % 64);
        return set;
    }
    [[nodiscard]] std::int64_t block_of(std::int64_t chunk) const { return chunk / (program_.chunks / shape_.ranks); }
    [[nodiscard]] bool reduces() const {
        return shape_.kind == CollectiveKind::all_reduce || shape_.kind == CollectiveKind::reduce_scatter;
    }
    /// Piece of an all-to-all: chunk of the data that rank `from` sends.
    [[nodiscard]] std::int64_t piece_from(std::int64_t from, std::int64_t chunk) const {
        return from * program_.chunks + chunk;
    }
    /// The chunk of its sender's buffer that belongs into chunk `chunk` of rank `rank`'s output.
    [[nodiscard]] std::int64_t counterpart(std::int64_t rank, std::int64_t chunk) const {
        std::int64_t const per_block = program_.chunks / shape_.ranks;
        return rank * per_block + chunk % per_block;
    }

    void fill(std::int64_t rank, std::int64_t chunk) {
        Content& content = memory_[at(rank, chunk)];
        switch (shape_.kind) {
            case CollectiveKind::all_reduce:
            case CollectiveKind::reduce_scatter: content = {chunk, only(rank)}; break;
            case CollectiveKind::all_gather:
                if (block_of(chunk) == rank) content = {chunk, only(rank)};
                break;
            case CollectiveKind::all_to_all:
                content = {piece_from(rank, chunk), only(rank)};
                if (block_of(chunk) == rank) memory_[at(rank, program_.chunks + chunk)] = content;
                break;
            case CollectiveKind::broadcast:
            case CollectiveKind::send_receive:
                if (rank == 0) content = {chunk, only(rank)};
                break;
        }
    }

    [[nodiscard]] std::optional<std::string> fault_of(Transfer const& t) const {
        auto const inside = [&](std::int64_t rank, std::int64_t first) {
            return rank >= 0 && rank < shape_.ranks && first >= 0 && first + t.count <= program_.slots;
        };
        if (t.count < 1 || !inside(t.source, t.from) || !inside(t.destination, t.to))
            return fmt::format("transfer of {} slots from rank {} slot {} to rank {} slot {}: there are {} ranks of {}",
                               t.count, t.source, t.from, t.destination, t.to, shape_.ranks, program_.slots);
        if (t.source == t.destination) return fmt::format("rank {} sends to itself", t.source);
        return std::nullopt;
    }

    std::optional<std::string> store(std::size_t slot, Transfer const& t, Content content) {
        Content& target = memory_[slot];
        if (t.operation == TransferOperation::copy) {
            target = std::move(content);
            return std::nullopt;
        }
        if (target.piece != content.piece)
            return fmt::format("rank {} adds piece {} of rank {} to piece {}", t.destination, content.piece, t.source,
                               target.piece);
        for (std::size_t word = 0; word < target.from.size(); ++word) {
            if (std::uint64_t const twice = target.from[word] & content.from[word]; twice != 0)
                return fmt::format("rank {} gets the contribution of rank {} to piece {} twice, from rank {}",
                                   t.destination, static_cast<std::int64_t>(word) * 64 + std::countr_zero(twice),
                                   content.piece, t.source);
            target.from[word] |= content.from[word];
        }
        return std::nullopt;
    }

    [[nodiscard]] std::optional<std::string> fault_at_end(std::int64_t rank, std::int64_t chunk) const {
        bool const exchange = shape_.kind == CollectiveKind::all_to_all;
        if (shape_.kind == CollectiveKind::reduce_scatter && block_of(chunk) != rank) return std::nullopt;
        if (shape_.kind == CollectiveKind::send_receive && rank != shape_.ranks - 1) return std::nullopt;
        Content const& content = memory_[at(rank, exchange ? program_.chunks + chunk : chunk)];
        std::int64_t const wanted = exchange ? piece_from(block_of(chunk), counterpart(rank, chunk)) : chunk;
        if (content.piece != wanted)
            return fmt::format("in the end rank {} has {} in chunk {} (piece {} belongs there)", rank,
                               content.piece < 0 ? "nothing" : fmt::format("piece {}", content.piece), chunk, wanted);
        if (reduces() && count(content.from) != shape_.ranks)
            return fmt::format("in the end rank {} has {} of {} contributions in chunk {}", rank, count(content.from),
                               shape_.ranks, chunk);
        return std::nullopt;
    }

    CollectiveShape const& shape_;
    CollectiveProgram const& program_;
    std::vector<Content> memory_;
};

}  // namespace

std::optional<std::string> find_fault(CollectiveShape const& shape, CollectiveProgram const& program) {
    bool const by_blocks = shape.kind == CollectiveKind::all_gather || shape.kind == CollectiveKind::reduce_scatter ||
                           shape.kind == CollectiveKind::all_to_all;
    std::int64_t const least = program.chunks * (shape.kind == CollectiveKind::all_to_all ? 2 : 1);
    if (program.chunks < 1 || program.slots < least || (by_blocks && program.chunks % shape.ranks != 0))
        return fmt::format("{} chunks in {} slots do not do for {} ranks", program.chunks, program.slots, shape.ranks);
    Machine machine(shape, program);
    std::int32_t phase = 0;
    for (std::size_t i = 0; i < program.rounds.size(); ++i) {
        Round const& round = program.rounds[i];
        if (round.phase < phase || round.phase >= static_cast<std::int32_t>(program.phases.size()))
            return fmt::format("round {}: phase {} after phase {} of {}", i, round.phase, phase, program.phases.size());
        phase = round.phase;
        if (auto const fault = machine.run(round)) return fmt::format("round {}: {}", i, *fault);
    }
    return machine.fault_at_end();
}

}  // namespace sextant
