#include "simulator/collectives/catalog.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <algorithm>
#include <array>

namespace sextant {

extern CollectiveAlgorithm const ring_algorithm;
extern CollectiveAlgorithm const tree_algorithm;
extern CollectiveAlgorithm const binomial_tree_algorithm;
extern CollectiveAlgorithm const halving_doubling_algorithm;
extern CollectiveAlgorithm const hierarchical_algorithm;
extern CollectiveAlgorithm const torus_algorithm;
extern CollectiveAlgorithm const bruck_algorithm;
extern CollectiveAlgorithm const pairwise_algorithm;
extern CollectiveAlgorithm const hierarchical_all_to_all_algorithm;
extern CollectiveAlgorithm const direct_algorithm;

namespace {

constexpr std::array<CollectiveAlgorithm const*, 10> entries{&ring_algorithm,
                                                             &tree_algorithm,
                                                             &binomial_tree_algorithm,
                                                             &halving_doubling_algorithm,
                                                             &hierarchical_algorithm,
                                                             &torus_algorithm,
                                                             &bruck_algorithm,
                                                             &pairwise_algorithm,
                                                             &hierarchical_all_to_all_algorithm,
                                                             &direct_algorithm};

constexpr std::array all_kinds{CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                               CollectiveKind::all_to_all, CollectiveKind::broadcast,  CollectiveKind::send_receive};

}  // namespace

std::span<CollectiveAlgorithm const* const> collective_catalog() { return entries; }

CollectiveAlgorithm const& find_collective(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (CollectiveAlgorithm const* entry : entries) {
        if (entry->name == name) return *entry;
        known.emplace_back(entry->name);
    }
    throw InputError("{}: unknown algorithm '{}'{} (known: {})", where, name.substr(0, 60), did_you_mean(name, known),
                     join(known));
}

std::optional<std::string> why_not(CollectiveAlgorithm const& algorithm, CollectiveShape const& shape) {
    if (std::find(algorithm.kinds.begin(), algorithm.kinds.end(), shape.kind) == algorithm.kinds.end()) {
        std::vector<std::string> names;
        for (CollectiveKind const kind : algorithm.kinds)
            names.emplace_back(written(kind));
        return fmt::format("{} (it is for {})", written(shape.kind), join(names));
    }
    return algorithm.unsupported(shape);
}

std::string_view written(CollectiveKind kind) {
    switch (kind) {
        case CollectiveKind::all_reduce: return "all-reduce";
        case CollectiveKind::all_gather: return "all-gather";
        case CollectiveKind::reduce_scatter: return "reduce-scatter";
        case CollectiveKind::all_to_all: return "all-to-all";
        case CollectiveKind::broadcast: return "broadcast";
        case CollectiveKind::send_receive: return "send-receive";
    }
    return "?";
}

CollectiveKind collective_kind_from(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (CollectiveKind const kind : all_kinds) {
        if (written(kind) == name || name_of(kind) == name) return kind;
        known.emplace_back(written(kind));
    }
    throw InputError("{}: unknown collective '{}'{} (known: {})", where, name.substr(0, 60), did_you_mean(name, known),
                     join(known));
}

}  // namespace sextant
