#include "simulator/collectives/rings.hpp"

#include <array>

namespace sextant {
namespace {

using rings::Ring;

constexpr std::array kinds{CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather};

/// The ranks of each domain.
std::vector<Ring> domain_rings(CollectiveShape const& shape) {
    std::vector<Ring> all;
    for (std::int64_t d = 0; d < shape.domains(); ++d) {
        Ring ring;
        for (std::int64_t i = 0; i < shape.ranks_per_domain; ++i)
            ring.push_back(static_cast<std::int32_t>(d * shape.ranks_per_domain + i));
        all.push_back(std::move(ring));
    }
    return all;
}

/// Of every domain the rank at the same place: one rail.
std::vector<Ring> rail_rings(CollectiveShape const& shape) {
    std::vector<Ring> all;
    for (std::int64_t i = 0; i < shape.ranks_per_domain; ++i) {
        Ring ring;
        for (std::int64_t d = 0; d < shape.domains(); ++d)
            ring.push_back(static_cast<std::int32_t>(d * shape.ranks_per_domain + i));
        all.push_back(std::move(ring));
    }
    return all;
}

constexpr char const* inside = "in the domains";
constexpr char const* rails = "along the rails";

/// Calls `phase(name, rings, task, inside?)` for each of the phases that the kind has.
template <class Phase>
void each_phase(CollectiveShape const& shape, Phase phase) {
    std::vector<Ring> const within = domain_rings(shape);
    std::vector<Ring> const across = rail_rings(shape);
    std::string const scatter = "reduce-scatter ";
    std::string const gather = "all-gather ";
    using rings::Task;
    switch (shape.kind) {
        case CollectiveKind::reduce_scatter:
            phase(scatter + inside, within, Task::reduce_scatter);
            phase(scatter + rails, across, Task::reduce_scatter);
            break;
        case CollectiveKind::all_gather:
            phase(gather + rails, across, Task::all_gather);
            phase(gather + inside, within, Task::all_gather);
            break;
        default:
            phase(scatter + inside, within, Task::reduce_scatter);
            phase(std::string("all-reduce ") + rails, across, Task::all_reduce);
            phase(gather + inside, within, Task::all_gather);
    }
}

// A chunk per rank. Of a domain the rank at place i answers for the chunks of all ranks at place i, of a rail each rank
// for its own.
CollectiveProgram program(CollectiveShape const& shape) {
    CollectiveProgram result{.chunks = shape.ranks, .slots = shape.ranks, .phases = {}, .rounds = {}};
    auto const m = static_cast<std::int32_t>(shape.ranks_per_domain);
    each_phase(shape, [&](std::string name, std::vector<Ring> const& of, rings::Task task) {
        bool const is_inside = name.ends_with(inside);
        rings::add_phase(result, std::move(name), of, task, [&](std::size_t ring, std::size_t position) {
            std::vector<rings::SlotRange> blocks;
            if (!is_inside) return std::vector<rings::SlotRange>{{of[ring][position], 1}};
            for (std::int32_t d = 0; d < static_cast<std::int32_t>(shape.domains()); ++d)
                blocks.push_back({d * m + static_cast<std::int32_t>(position), 1});
            return blocks;
        });
    });
    return result;
}

CollectiveFlows flows(CollectiveShape const& shape) {
    CollectiveFlows result;
    each_phase(shape, [&](std::string name, std::vector<Ring> const& of, rings::Task task) {
        double const block = name.ends_with(inside) ? 1 / static_cast<double>(shape.ranks_per_domain)
                                                    : 1 / static_cast<double>(shape.ranks);
        std::vector<double> const shares(of.size(), block);
        rings::add_phase(result, shape, std::move(name), of, task, shares);
    });
    merge_flows(result.flows);
    return result;
}

std::optional<std::string> unsupported(CollectiveShape const& shape) {
    if (shape.ranks % shape.ranks_per_domain == 0) return std::nullopt;
    return std::to_string(shape.ranks) + " ranks in domains of " + std::to_string(shape.ranks_per_domain) +
           " (full domains are needed)";
}

}  // namespace

extern constinit CollectiveAlgorithm const hierarchical_algorithm;
constinit CollectiveAlgorithm const hierarchical_algorithm{
    .name = "hierarchical",
    .summary = "rings inside the domains, then along every rail between them, then inside again",
    .source = "Jia et al., arXiv:1807.11205; Mikami et al., arXiv:1811.05233",
    .kinds = kinds,
    .unsupported = unsupported,
    .program = program,
    .flows = flows,
};

}  // namespace sextant
