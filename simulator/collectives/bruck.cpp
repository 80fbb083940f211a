#include "simulator/collectives/algorithm.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace sextant {
namespace {

constexpr std::array kinds{CollectiveKind::all_gather};

// Before the round over distance d rank r has the blocks r to r + d - 1; it sends them to rank r - d, in two pieces
// where they wrap, and the last round only as many as are missing.
CollectiveProgram program(CollectiveShape const& shape) {
    auto const n = static_cast<std::int32_t>(shape.ranks);
    CollectiveProgram result{.chunks = n, .slots = n, .phases = {}, .rounds = {}};
    for (std::int32_t distance = 1; distance < n; distance *= 2) {
        std::int32_t const count = std::min(distance, n - distance);
        std::vector<Transfer> transfers;
        for (std::int32_t rank = 0; rank < n; ++rank) {
            std::int32_t const to = (rank - distance + n) % n;
            std::int32_t const before_wrap = std::min(count, n - rank);
            transfers.push_back({rank, to, rank, rank, before_wrap, TransferOperation::copy});
            if (before_wrap < count)
                transfers.push_back({rank, to, 0, 0, count - before_wrap, TransferOperation::copy});
        }
        result.add_phase("distance " + std::to_string(distance), std::move(transfers));
    }
    return result;
}

std::optional<std::string> unsupported(CollectiveShape const& shape) {
    return unless_too_many(shape, shape.ranks * std::bit_width(static_cast<std::uint64_t>(shape.ranks - 1)));
}

}  // namespace

extern constinit CollectiveAlgorithm const bruck_algorithm;
constinit CollectiveAlgorithm const bruck_algorithm{
    .name = "bruck",
    .summary = "all-gather that doubles what each rank has, for any number of ranks",
    .source = "Bruck et al., IEEE Trans. Parallel Distrib. Syst. 8(11), 1997",
    .kinds = kinds,
    .unsupported = unsupported,
    .program = program,
};

}  // namespace sextant
