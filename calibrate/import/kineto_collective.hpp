#pragma once

#include "calibrate/import/importer.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

/// How the ranks of a group lie.
struct GroupNodes {
    std::int64_t nodes = 0, per_node = 0;
};

/// Ranks of a node where nothing says how many (assumed).
inline constexpr std::int64_t usual_node_size = 8;

/// Of a group of so many ranks that the trace names "[0, 8, 16, ..., 504]", or not at all: then they follow one
/// another. Ranks of a node are taken to be `node_size` that follow one another (assumed: the trace does not say it).
/// Of more than 30 ranks PyTorch names the first 29 and the last.
/// @throws RowSkip: as many in each node they are not, or not all are known.
/// Source: PyTorch torch/csrc/profiler/util.cpp, saveNcclMeta.
GroupNodes group_nodes(std::string_view named, std::int64_t size, std::int64_t node_size = usual_node_size);

/// Arguments of an NCCL kernel, as the trace writes them; empty: not at all.
struct KinetoCollective {
    std::string name, dtype, size, ranks, in_elements, out_elements;
    std::string in_parts{}, out_parts{};  ///< of an all-to-all, what goes to each rank and comes from it: "[512, 512]"
};

/// A row, and the ranks that it is of.
struct KinetoCollectiveRow {
    ImportedCollective row;
    std::int64_t ranks = 0;
    std::string named{};  ///< "[0, 1, 2, 3]"; empty: not at all
};

/// The row of such a kernel; its device, time and nodes are left empty. Groups of different ranks are different runs.
/// @throws RowSkip: no model, parts of an all-to-all that differ, or the arguments lack what a row needs.
KinetoCollectiveRow kineto_collective(KinetoCollective const& kernel, ImportRequest const& request);

}  // namespace sextant
