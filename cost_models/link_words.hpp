#pragma once

#include "core/spec/cluster_spec.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sextant {

// What the cells of links of a table of runs say ("NVLink4-NVSwitch", "8x400G IB NDR SHARP"). `intra`, `inter` and
// `links` are cells in lower case.

/// The kind of network in a node that a table's cell names ("NVLink4-NVSwitch", "PCIe 4.0"); nothing for one that
/// names none ("NVLink3").
std::optional<ScaleUpKind> stated_scale_up(std::string const& intra_link);

/// The network between nodes, with Omni-Path; empty: none that is known.
std::string_view network_named(std::string const& inter);

/// Whether the links of a rack join the nodes: NVLink goes before a network that is named with it.
bool names_rack(std::string const& inter, std::string_view network);

/// Whether NVLink joins cards, which PCIe does otherwise.
bool names_bridge(std::string const& intra);

/// Whether the switches between nodes add (SHARP, CollNet).
bool names_switch_reduction(std::string const& inter);

/// Whether the switch in a node adds nothing.
bool says_without_nvls(std::string const& links);

/// Whether these algorithms ("Ring", "^NVLS", "allreduce:tree,ring") are without NVLS for an all-reduce.
/// Source: NCCL's user guide, NCCL_ALGO: a list, with ^ of those that are not used, since 2.24 by function.
bool leaves_out_nvls(std::string_view nccl_algo);

}  // namespace sextant
