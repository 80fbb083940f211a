#pragma once

#include "core/spec/cluster_spec.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace sextant {

/// The most accelerators that are tried of a cluster without a size of its own.
inline constexpr std::int64_t most_of_endless_cluster = 65536;

/// Numbers of accelerators worth asking about, ascending: the divisors of a domain, then 1, 2, 3, 4, 5, 6, 7, 8, 10,
/// 12, 14, 16, ... domains (four steps an octave), up to what the cluster has.
std::vector<std::int64_t> accelerator_ladder(ClusterSpec const& cluster);

/// The first rung that is at least this high, if one is.
std::optional<std::int64_t> rung_above(ClusterSpec const& cluster, double accelerators);

}  // namespace sextant
