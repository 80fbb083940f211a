#pragma once

#include "calibrate/import/cell_row.hpp"

#include <cstdint>
#include <string_view>

namespace sextant {

/// Whether torchtitan says its mesh of ranks in this line.
bool names_torchtitan_mesh(std::string_view line);

/// Columns of the mesh, with what no column has in the notes: the ranks that a replica's weights are sharded over, and
/// how experts are cut. Releases until 2025 name the axes, "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]",
/// later ones all degrees, "Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=4, cp=1, tp=2, ep=1,
/// etp=1", the last without etp. Experts lie over ranks of the other axes, so ep multiplies nothing.
/// Source: github.com/pytorch/torchtitan torchtitan/distributed/parallel_dims.py.
void put_torchtitan_mesh(std::string_view line, CellRow& cells);

}  // namespace sextant
