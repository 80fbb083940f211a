#include "simulator/collectives/algorithm.hpp"

#include <algorithm>
#include <array>
#include <bit>

// Chains inside the domains, and over their first ranks two binary trees: a domain that is inside one of them is a leaf
// of the other, so each NIC sends and receives no more than the buffer's share twice. As many pairs of trees as a
// domain has ranks, each with another first rank, so that all NICs work.

namespace sextant {
namespace {

constexpr std::array kinds{CollectiveKind::all_reduce};

/// Pieces that each tree's part of the buffer is pipelined in.
constexpr std::int32_t pieces = 8;

/// Parents by node, -1 for the root, and the place of each node among its parent's children.
struct Tree {
    std::vector<std::int32_t> parent;
    std::vector<std::int32_t> place;
    std::vector<std::int32_t> height;  ///< edges to the lowest leaf below
    std::vector<std::int32_t> depth;   ///< edges to the root
    std::int32_t root = 0;
};

/// The binary tree over 1..nodes in which every odd number is a leaf: a node whose lowest set bit is 2 b has its
/// children b below and b above it, or nearer above where the numbers end. Parents by number, 0 for the root.
std::vector<std::int32_t> in_order_tree(std::int32_t nodes) {
    std::vector<std::int32_t> parent(static_cast<std::size_t>(nodes) + 1, 0);
    for (std::int32_t node = 1; node <= nodes; ++node) {
        std::int32_t const low = node & -node;
        if (low == 1) continue;
        parent[static_cast<std::size_t>(node - low / 2)] = node;
        std::int32_t right = low / 2;
        while (right > 0 && node + right > nodes)
            right /= 2;
        if (right > 0) parent[static_cast<std::size_t>(node + right)] = node;
    }
    return parent;
}

/// Parents of domains, -1 for the root. The second tree is the first mirrored (an even number of domains) or turned by
/// one, which makes leaves of the nodes that are inside it.
std::vector<std::int32_t> domain_tree(std::int32_t domains, std::size_t which) {
    std::vector<std::int32_t> const numbered = in_order_tree(domains);
    auto const renamed = [&](std::int32_t number) {
        if (which == 0) return number - 1;
        return domains % 2 == 0 ? domains - number : number % domains;
    };
    std::vector<std::int32_t> parent(static_cast<std::size_t>(domains), -1);
    for (std::int32_t number = 1; number <= domains; ++number)
        if (std::int32_t const above = numbered[static_cast<std::size_t>(number)]; above != 0)
            parent[static_cast<std::size_t>(renamed(number))] = renamed(above);
    return parent;
}

void number(Tree& tree) {
    std::size_t const n = tree.parent.size();
    tree.place.assign(n, 0);
    tree.height.assign(n, 0);
    tree.depth.assign(n, 0);
    std::vector<std::int32_t> children(n, 0);
    for (std::size_t node = 0; node < n; ++node) {
        std::int32_t height = 0;
        for (std::int32_t up = tree.parent[node]; up >= 0; up = tree.parent[static_cast<std::size_t>(up)]) {
            ++height;
            auto& above = tree.height[static_cast<std::size_t>(up)];
            above = std::max(above, height);
        }
        tree.depth[node] = height;
        if (tree.parent[node] < 0)
            tree.root = static_cast<std::int32_t>(node);
        else
            tree.place[node] = children[static_cast<std::size_t>(tree.parent[node])]++;
    }
}

/// Tree `which` (0, 1) of the domains, entered at their rank `first`, with a chain inside each.
Tree make_tree(CollectiveShape const& shape, std::int64_t first, std::size_t which) {
    auto const domains = static_cast<std::int32_t>(shape.domains());
    std::vector<std::int32_t> const above = domain_tree(domains, which);
    auto const rank_at = [&](std::int64_t domain, std::int64_t place) {
        return static_cast<std::int32_t>(domain * shape.ranks_per_domain +
                                         (first + place) % shape.size_of_domain(domain));
    };
    Tree tree;
    tree.parent.assign(static_cast<std::size_t>(shape.ranks), -1);
    for (std::int32_t domain = 0; domain < domains; ++domain) {
        std::int32_t const up = above[static_cast<std::size_t>(domain)];
        if (up >= 0) tree.parent[static_cast<std::size_t>(rank_at(domain, 0))] = rank_at(up, 0);
        for (std::int64_t i = 1; i < shape.size_of_domain(domain); ++i)
            tree.parent[static_cast<std::size_t>(rank_at(domain, i))] = rank_at(domain, i - 1);
    }
    number(tree);
    return tree;
}

std::vector<Tree> trees_of(CollectiveShape const& shape) {
    std::vector<Tree> trees;
    if (shape.domains() == 1) return {make_tree(shape, 0, 0)};
    for (std::int64_t first = 0; first < shape.ranks_per_domain; ++first)
        for (std::size_t which = 0; which < 2; ++which)
            trees.push_back(make_tree(shape, first, which));
    return trees;
}

/// Rounds from one piece to the next: as many as a node has children, which take turns.
std::int32_t period(std::vector<Tree> const& trees) {
    std::int32_t most = 1;
    for (Tree const& tree : trees)
        for (std::int32_t const place : tree.place)
            most = std::max(most, place + 1);
    return most;
}

std::int32_t height_of(Tree const& tree) { return tree.height[static_cast<std::size_t>(tree.root)]; }

/// Rounds until the last piece is everywhere, where pieces follow each other `turn` rounds apart.
std::int64_t round_count(std::vector<Tree> const& trees, std::int32_t turn) {
    std::int64_t rounds = 0;
    for (Tree const& tree : trees)
        for (std::size_t node = 0; node < tree.parent.size(); ++node)
            if (tree.parent[node] >= 0)
                rounds = std::max<std::int64_t>(
                    rounds, turn * (pieces - 1 + height_of(tree) + tree.depth[node] - 1) + tree.place[node] + 1);
    return rounds;
}

std::string phase_name(std::vector<Tree> const& trees) {
    return trees.size() == 1 ? "chain" : std::to_string(trees.size()) + " trees";
}

// A node sends piece k to its parent in the round period (k + its height) + its place, when all below have sent theirs;
// the root begins to send it back a height later, to one child after the other.
CollectiveProgram program(CollectiveShape const& shape) {
    std::vector<Tree> const trees = trees_of(shape);
    auto const chunks = static_cast<std::int64_t>(trees.size()) * pieces;
    CollectiveProgram result{.chunks = chunks, .slots = chunks, .phases = {}, .rounds = {}};
    if (shape.ranks == 1) return result;
    result.phases = {phase_name(trees)};
    std::int32_t const turn = period(trees);
    result.rounds.resize(static_cast<std::size_t>(round_count(trees, turn)));
    for (std::size_t t = 0; t < trees.size(); ++t) {
        Tree const& tree = trees[t];
        std::int32_t const top = height_of(tree);
        for (std::size_t node = 0; node < tree.parent.size(); ++node) {
            std::int32_t const parent = tree.parent[node];
            if (parent < 0) continue;
            for (std::int32_t k = 0; k < pieces; ++k) {
                std::int32_t const slot = static_cast<std::int32_t>(t) * pieces + k;
                auto const self = static_cast<std::int32_t>(node);
                auto const up = static_cast<std::size_t>(turn * (k + tree.height[node]) + tree.place[node]);
                auto const down = static_cast<std::size_t>(turn * (k + top + tree.depth[node] - 1) + tree.place[node]);
                result.rounds[up].transfers.push_back({self, parent, slot, slot, 1, TransferOperation::reduce});
                result.rounds[down].transfers.push_back({parent, self, slot, slot, 1, TransferOperation::copy});
            }
        }
    }
    return result;
}

/// The most expensive way up to the root and down again.
Hops longest_way(CollectiveShape const& shape, Tree const& tree) {
    Hops longest;
    for (std::size_t node = 0; node < tree.parent.size(); ++node) {
        Hops way;
        for (auto at = static_cast<std::int32_t>(node); tree.parent[static_cast<std::size_t>(at)] >= 0;) {
            std::int32_t const above = tree.parent[static_cast<std::size_t>(at)];
            way = way + step_between(shape, at, above);
            at = above;
        }
        longest = std::max(longest, way);
    }
    return longest + longest;
}

CollectiveFlows flows(CollectiveShape const& shape) {
    CollectiveFlows result;
    if (shape.ranks == 1) return result;
    std::vector<Tree> const trees = trees_of(shape);
    result.phases = {phase_name(trees)};
    result.rounds = round_count(trees, period(trees));
    double const share = 1 / static_cast<double>(trees.size());
    for (Tree const& tree : trees) {
        Hops const hops = longest_way(shape, tree);
        for (std::size_t node = 0; node < tree.parent.size(); ++node) {
            if (tree.parent[node] < 0) continue;
            auto const self = static_cast<std::int32_t>(node);
            result.flows.push_back({0, self, tree.parent[node], share, hops});
            result.flows.push_back({0, tree.parent[node], self, share, hops});
        }
    }
    merge_flows(result.flows);
    return result;
}

std::optional<std::string> unsupported(CollectiveShape const&) { return std::nullopt; }

}  // namespace

extern constinit CollectiveAlgorithm const tree_algorithm;
constinit CollectiveAlgorithm const tree_algorithm{
    .name = "tree",
    .summary = "double binary trees over the domains, chains inside them, pipelined up and down",
    .source = "Sanders, Speck and Traeff, Parallel Computing 35(12), 2009",
    .kinds = kinds,
    .unsupported = unsupported,
    .program = program,
    .flows = flows,
};

}  // namespace sextant
