#include "simulator/collectives/algorithm.hpp"

#include <array>

namespace sextant {
namespace {

constexpr std::array kinds{CollectiveKind::all_to_all};

std::int32_t partner(CollectiveShape const& shape, std::int64_t rank, std::int64_t round) {
    return static_cast<std::int32_t>((rank + round) % shape.ranks);
}

std::string phase_name(std::int64_t distance) { return "distance " + std::to_string(distance); }

// In round k rank r sends block r + k to rank r + k and receives one from rank r - k.
CollectiveProgram program(CollectiveShape const& shape) {
    CollectiveProgram result{.chunks = shape.ranks, .slots = 2 * shape.ranks, .phases = {}, .rounds = {}};
    auto const n = static_cast<std::int32_t>(shape.ranks);
    for (std::int32_t k = 1; k < n; ++k) {
        std::vector<Transfer> transfers;
        for (std::int32_t rank = 0; rank < n; ++rank) {
            std::int32_t const to = partner(shape, rank, k);
            transfers.push_back({rank, to, to, n + rank, 1, TransferOperation::copy});
        }
        result.add_phase(phase_name(k), std::move(transfers));
    }
    return result;
}

std::optional<std::string> unsupported(CollectiveShape const& shape) {
    return unless_too_many(shape, shape.ranks * (shape.ranks - 1));
}

}  // namespace

extern constinit CollectiveAlgorithm const pairwise_algorithm;
constinit CollectiveAlgorithm const pairwise_algorithm{
    .name = "pairwise",
    .summary = "in round k every rank exchanges with the ranks at distance k",
    .source = "Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005",
    .kinds = kinds,
    .unsupported = unsupported,
    .program = program,
};

}  // namespace sextant
