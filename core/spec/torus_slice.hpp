#pragma once

#include "core/spec/cluster_spec.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

/// One axis of a slice of a torus.
struct SliceAxis {
    std::int64_t length = 1;
    bool closes = false;  ///< its last chip has a link to its first
    bool operator==(SliceAxis const&) const = default;
};

/// The slice that a job of so many chips gets, the axis first along which chips are numbered: the smallest box of those
/// that are let which holds them, and of these the most compact one. All of the torus for as many chips or more, and
/// for 0.
///
/// - With cubes (`ScaleUpNetwork::slice_cube` c): boxes of whole cubes, whose rings close over the optical switches
///   between cubes; for less than a cube, sides that are powers of two up to c, with no ring that closes.
/// - Without: sides that are powers of two or a whole axis; only whole axes close.
///
/// v5p: 2 x 2 x 1, 2 x 2 x 2, 2 x 2 x 4, 2 x 4 x 4, 4 x 4 x 4, 4 x 4 x 8, 4 x 8 x 8, 8 x 8 x 8 ...; v5e: 2 x 2, 2 x 4,
/// 4 x 4, ... Source: Google TPU docs, tables of slice shapes of v4, v5p, v5e and v6e; arXiv:2304.01433 sec. 2.
/// @pre the cluster's domains are tori
std::vector<SliceAxis> slice_axes(ClusterSpec const& cluster, std::int64_t chips);

/// The sides of such a slice, shortest first, as Google writes a topology: "4x8x8". @pre as slice_axes
std::string slice_topology(ClusterSpec const& cluster, std::int64_t chips);

}  // namespace sextant
