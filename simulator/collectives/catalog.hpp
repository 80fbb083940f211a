#pragma once

#include "simulator/collectives/algorithm.hpp"

#include <span>
#include <string_view>

namespace sextant {

/// All collective algorithms known by name.
std::span<CollectiveAlgorithm const* const> collective_catalog();

/// The algorithm of this name. @throws InputError "<where>: ..." with the nearest name and all of them.
CollectiveAlgorithm const& find_collective(std::string_view name, std::string_view where);

/// The sentence why an algorithm cannot run a kind over a shape, or nothing.
std::optional<std::string> why_not(CollectiveAlgorithm const& algorithm, CollectiveShape const& shape);

/// "all-reduce", as commands and reports write it (measurement files write `name_of`).
std::string_view written(CollectiveKind kind);

/// The kind of this name ("all-reduce"; a measurement file's name will do). @throws InputError "<where>: ..." with the
/// nearest name and all of them.
CollectiveKind collective_kind_from(std::string_view name, std::string_view where);

}  // namespace sextant
