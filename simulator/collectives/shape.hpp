#pragma once

#include "core/ops/op.hpp"
#include "core/spec/cluster_spec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// What a collective runs on: ranks `stride` apart, so many per scale-up domain; the last domain may have fewer.
struct CollectiveShape {
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::int64_t ranks = 1;  ///< of a group
    std::int64_t ranks_per_domain = 1;
    /// Axis lengths of the torus that the ranks fill, first axis fastest; empty: no torus.
    std::vector<std::int64_t> torus;
    std::vector<bool> torus_wraps{};  ///< by axis, whether its ring closes; missing: it does not
    ScaleUpKind scale_up = ScaleUpKind::switched;
    /// As many groups lie across one another, each a place further on, and do the same at the same time.
    std::int64_t stride = 1;

    [[nodiscard]] std::int64_t accelerators() const { return ranks * stride; }
    [[nodiscard]] std::int64_t domains() const { return (ranks + ranks_per_domain - 1) / ranks_per_domain; }
    [[nodiscard]] std::int64_t domain_of(std::int64_t rank) const { return rank / ranks_per_domain; }
    [[nodiscard]] std::int64_t size_of_domain(std::int64_t domain) const;
    /// Links between two ranks of one domain: 1, or of a torus the shortest way.
    [[nodiscard]] std::int64_t distance(std::int64_t a, std::int64_t b) const;
};

/// The first `ranks` accelerators of a cluster. Of a torus they get the slice that holds them (`slice_axes`), whose
/// axes are filled one after the other; where they do not come out even, the shape has no axes. With a `stride`, as
/// many groups of `ranks` on the first `ranks` x `stride` accelerators, and no axes.
/// @throws InputError "<where>: ..." when there are not so many, or less than one; "--stride: ..." where some domains
/// would have other places of a group than others.
CollectiveShape collective_shape(ClusterSpec const& cluster, CollectiveKind kind, std::int64_t ranks,
                                 std::string_view where, std::int64_t stride = 1);

/// Why groups with this stride cannot be carried out as flows, or nothing: where those that lie across one another
/// share what the simulated network has no link for.
std::optional<std::string> why_no_flows(CollectiveShape const& shape);

}  // namespace sextant
