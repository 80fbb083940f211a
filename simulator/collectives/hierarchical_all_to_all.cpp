#include "simulator/collectives/algorithm.hpp"

#include <array>

namespace sextant {
namespace {

constexpr std::array kinds{CollectiveKind::all_to_all};

std::int64_t transfer_count(CollectiveShape const& shape) {
    return shape.ranks * (shape.ranks_per_domain - 1 + shape.domains() - 1);
}

std::string inside(std::int64_t k) { return "in the domains, distance " + std::to_string(k); }
std::string rails(std::int64_t k) { return "along the rails, distance " + std::to_string(k); }

/// In the domains: a rank hands place b all that goes to place b of any domain. What is for another domain waits in
/// scratch, sorted by domain and then by where it comes from.
void add_inside(CollectiveProgram& program, std::int32_t n, std::int32_t m) {
    for (std::int32_t k = 1; k < m; ++k) {
        std::vector<Transfer> transfers;
        for (std::int32_t rank = 0; rank < n; ++rank) {
            std::int32_t const a = rank % m;
            std::int32_t const domain = rank / m;
            std::int32_t const b = (a + k) % m;
            for (std::int32_t j = 0; j < n / m; ++j) {
                std::int32_t const to = j == domain ? n + rank : 2 * n + j * m + a;
                transfers.push_back({rank, domain * m + b, j * m + b, to, 1, TransferOperation::copy});
            }
        }
        program.add_phase(inside(k), std::move(transfers));
    }
}

/// Along the rails: a rank sends to its rail's rank of domain j what the ranks of its own domain have for it, its own
/// part from its input.
void add_rails(CollectiveProgram& program, std::int32_t n, std::int32_t m) {
    std::int32_t const domains = n / m;
    for (std::int32_t k = 1; k < domains; ++k) {
        std::vector<Transfer> transfers;
        for (std::int32_t rank = 0; rank < n; ++rank) {
            std::int32_t const b = rank % m;
            std::int32_t const domain = rank / m;
            std::int32_t const j = (domain + k) % domains;
            std::int32_t const to = j * m + b;
            auto const send = [&](std::int32_t from, std::int32_t place, std::int32_t count) {
                if (count > 0)
                    transfers.push_back({rank, to, from, n + domain * m + place, count, TransferOperation::copy});
            };
            send(2 * n + j * m, 0, b);
            send(j * m + b, b, 1);
            send(2 * n + j * m + b + 1, b + 1, m - b - 1);
        }
        program.add_phase(rails(k), std::move(transfers));
    }
}

CollectiveProgram program(CollectiveShape const& shape) {
    CollectiveProgram result{.chunks = shape.ranks, .slots = 3 * shape.ranks, .phases = {}, .rounds = {}};
    auto const n = static_cast<std::int32_t>(shape.ranks);
    auto const m = static_cast<std::int32_t>(shape.ranks_per_domain);
    add_inside(result, n, m);
    add_rails(result, n, m);
    return result;
}

CollectiveFlows flows(CollectiveShape const& shape) {
    CollectiveFlows result;
    std::int64_t const m = shape.ranks_per_domain;
    auto const add = [&](std::string name, double share, auto partner) {
        auto const phase = static_cast<std::int32_t>(result.phases.size());
        result.phases.push_back(std::move(name));
        ++result.rounds;
        for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
            auto const from = static_cast<std::int32_t>(rank);
            auto const to = static_cast<std::int32_t>(partner(rank));
            result.flows.push_back({phase, from, to, share, step_between(shape, from, to)});
        }
    };
    result.flows.reserve(static_cast<std::size_t>(transfer_count(shape)));
    for (std::int64_t k = 1; k < m; ++k)
        add(inside(k), 1 / static_cast<double>(m),
            [&](std::int64_t rank) { return rank / m * m + (rank % m + k) % m; });
    for (std::int64_t k = 1; k < shape.domains(); ++k)
        add(rails(k), 1 / static_cast<double>(shape.domains()),
            [&](std::int64_t rank) { return (rank + k * m) % shape.ranks; });
    return result;
}

std::optional<std::string> unsupported(CollectiveShape const& shape) {
    if (shape.ranks % shape.ranks_per_domain != 0)
        return std::to_string(shape.ranks) + " ranks in domains of " + std::to_string(shape.ranks_per_domain) +
               " (full domains are needed)";
    return unless_too_many(shape, transfer_count(shape));
}

}  // namespace

extern constinit CollectiveAlgorithm const hierarchical_all_to_all_algorithm;
constinit CollectiveAlgorithm const hierarchical_all_to_all_algorithm{
    .name = "hierarchical-all-to-all",
    .summary = "first inside the domains to the right rail, then along the rails: fewer, larger messages",
    .source = "Nie et al., arXiv:2203.14685 (HetuMoE); Rajbhandari et al., arXiv:2201.05596",
    .kinds = kinds,
    .unsupported = unsupported,
    .program = program,
    .flows = flows,
};

}  // namespace sextant
