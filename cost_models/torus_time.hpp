#pragma once

#include "cost_models/collective_time.hpp"

namespace sextant {

/// Collectives of a group inside one slice of a torus (A axes, per-chip bandwidth W of all 2 A links one way).
///
/// A group covers a box of the slice: of each axis as many places as the numbering of its ranks takes it over
/// (`slice_axes`, first axis fastest). An axis whose ring closes gives the group 2 links, a line 1 (what passes its
/// ends), and an even part of a closing axis 2, there and back over two lines side by side. Ranks that make up no box
/// have lines.
/// - gathers, scatters, broadcast: over all links of the sides.
/// - all-to-all of S: half of it crosses the middle of each side of e places, S e A / (4 r W) with r = 1 where the ring
///   closes and 1/2 where not; or what a chip sends over its links, whichever takes longer.
/// - send/receive: one link.
/// Source: jax-ml scaling book, "How to scale your model", sharding chapter (bidirectional rings over axes).
/// @pre group.domains is 1, and the cluster's domains are tori
CollectiveCurve torus_curve(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& group);

/// Of the links of a chip, those that a collective of the group uses.
double reached_of_torus(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& group);

/// Links that what one rank sends has to pass until the last one has it, one side of the box after the other.
double hops_of_torus(ClusterSpec const& cluster, GroupPlacement const& group);

}  // namespace sextant
