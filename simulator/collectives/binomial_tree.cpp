#include "simulator/collectives/algorithm.hpp"

#include <array>

namespace sextant {
namespace {

constexpr std::array kinds{CollectiveKind::all_reduce, CollectiveKind::broadcast};

// Rank r's lowest bit that is set says in which round it hands its sum on, to r without that bit; the broadcast goes
// the same way back.
CollectiveProgram program(CollectiveShape const& shape) {
    CollectiveProgram result;
    auto const n = static_cast<std::int32_t>(shape.ranks);
    std::int32_t top = 1;
    while (top < n)
        top *= 2;
    if (shape.kind == CollectiveKind::all_reduce)
        for (std::int32_t bit = 1; bit < top; bit *= 2) {
            std::vector<Transfer> transfers;
            for (std::int32_t rank = bit; rank < n; rank += 2 * bit)
                transfers.push_back({rank, rank - bit, 0, 0, 1, TransferOperation::reduce});
            result.add_phase("reduce over distance " + std::to_string(bit), std::move(transfers));
        }
    for (std::int32_t bit = top / 2; bit >= 1; bit /= 2) {
        std::vector<Transfer> transfers;
        for (std::int32_t rank = bit; rank < n; rank += 2 * bit)
            transfers.push_back({rank - bit, rank, 0, 0, 1, TransferOperation::copy});
        result.add_phase("broadcast over distance " + std::to_string(bit), std::move(transfers));
    }
    return result;
}

std::optional<std::string> unsupported(CollectiveShape const&) { return std::nullopt; }

}  // namespace

extern constinit CollectiveAlgorithm const binomial_tree_algorithm;
constinit CollectiveAlgorithm const binomial_tree_algorithm{
    .name = "binomial-tree",
    .summary = "the whole buffer up and down a binomial tree: fewest rounds, for small messages",
    .source = "Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005",
    .kinds = kinds,
    .unsupported = unsupported,
    .program = program,
};

}  // namespace sextant
