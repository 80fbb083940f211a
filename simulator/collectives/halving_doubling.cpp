#include "simulator/collectives/algorithm.hpp"

#include <array>
#include <bit>

namespace sextant {
namespace {

constexpr std::array kinds{CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather};

/// First block of the aligned run of `length` blocks that has block `rank`.
std::int32_t run_of(std::int32_t rank, std::int32_t length) { return rank / length * length; }

void add_halving(CollectiveProgram& program, std::int32_t ranks) {
    for (std::int32_t distance = ranks / 2; distance >= 1; distance /= 2) {
        std::vector<Transfer> transfers;
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            std::int32_t const partner = rank ^ distance;
            std::int32_t const first = run_of(partner, distance);
            transfers.push_back({rank, partner, first, first, distance, TransferOperation::reduce});
        }
        program.add_phase("halving over distance " + std::to_string(distance), std::move(transfers));
    }
}

void add_doubling(CollectiveProgram& program, std::int32_t ranks) {
    for (std::int32_t distance = 1; distance < ranks; distance *= 2) {
        std::vector<Transfer> transfers;
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            std::int32_t const first = run_of(rank, distance);
            transfers.push_back({rank, rank ^ distance, first, first, distance, TransferOperation::copy});
        }
        program.add_phase("doubling over distance " + std::to_string(distance), std::move(transfers));
    }
}

/// Of an all-reduce: what rank answers for when it has halved with the ranks at distances 1 to `distance`.
std::int32_t first_kept(std::int32_t rank, std::int32_t distance, std::int32_t chunks) {
    std::int32_t first = 0;
    for (std::int32_t bit = 1; bit <= distance; bit *= 2)
        if ((rank & bit) != 0) first += chunks / (2 * bit);
    return first;
}

/// An all-reduce may leave its blocks in any order in between, so that the large halves go to near ranks.
void add_near_first(CollectiveProgram& program, std::int32_t ranks) {
    for (std::int32_t distance = 1; distance < ranks; distance *= 2) {
        std::vector<Transfer> transfers;
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            std::int32_t const first = first_kept(rank ^ distance, distance, ranks);
            transfers.push_back(
                {rank, rank ^ distance, first, first, ranks / (2 * distance), TransferOperation::reduce});
        }
        program.add_phase("halving over distance " + std::to_string(distance), std::move(transfers));
    }
    for (std::int32_t distance = ranks / 2; distance >= 1; distance /= 2) {
        std::vector<Transfer> transfers;
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            std::int32_t const first = first_kept(rank, distance, ranks);
            transfers.push_back({rank, rank ^ distance, first, first, ranks / (2 * distance), TransferOperation::copy});
        }
        program.add_phase("doubling over distance " + std::to_string(distance), std::move(transfers));
    }
}

// Ranks beyond the largest power of two hand their buffer to a partner before and take the sum from it afterwards.
CollectiveProgram program(CollectiveShape const& shape) {
    auto const power = static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint64_t>(shape.ranks)));
    auto const rest = static_cast<std::int32_t>(shape.ranks) - power;
    CollectiveProgram result{.chunks = power, .slots = power, .phases = {}, .rounds = {}};
    if (shape.kind == CollectiveKind::reduce_scatter) {
        add_halving(result, power);
        return result;
    }
    if (shape.kind == CollectiveKind::all_gather) {
        add_doubling(result, power);
        return result;
    }
    std::vector<Transfer> before;
    std::vector<Transfer> after;
    for (std::int32_t i = 0; i < rest; ++i) {
        before.push_back({power + i, i, 0, 0, power, TransferOperation::reduce});
        after.push_back({i, power + i, 0, 0, power, TransferOperation::copy});
    }
    if (rest > 0) result.add_phase("extra ranks hand over", std::move(before));
    add_near_first(result, power);
    if (rest > 0) result.add_phase("extra ranks take the sum", std::move(after));
    return result;
}

std::optional<std::string> unsupported(CollectiveShape const& shape) {
    bool const reduces_all = shape.kind == CollectiveKind::all_reduce;
    if (!reduces_all && !std::has_single_bit(static_cast<std::uint64_t>(shape.ranks)))
        return std::to_string(shape.ranks) + " ranks (a power of two is needed, but for an all-reduce)";
    std::int64_t const rounds = std::bit_width(static_cast<std::uint64_t>(shape.ranks - 1));
    return unless_too_many(shape, (reduces_all ? 2 : 1) * rounds * shape.ranks);
}

}  // namespace

extern constinit CollectiveAlgorithm const halving_doubling_algorithm;
constinit CollectiveAlgorithm const halving_doubling_algorithm{
    .name = "halving-doubling",
    .summary = "recursive halving, then doubling: log2 n rounds each and no byte more than the ring",
    .source = "Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005",
    .kinds = kinds,
    .unsupported = unsupported,
    .program = program,
};

}  // namespace sextant
