#pragma once

#include "planner/importers/foreign_plan.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// @throws InputError with `where` and the name: no whole number, or one out of this range.
std::int64_t whole_number(std::string const& value, std::string_view where, std::string_view name, std::int64_t least,
                          std::int64_t most);

/// What a file says that no importer asked for: names that begin with one of `harmless` are `ignored`, the others are
/// warned of, with the nearest of those that were asked for and are `missing`.
void note_values_left(ForeignPlan& out, std::span<std::string const> not_asked, std::span<std::string const> missing,
                      std::span<std::string_view const> harmless);

/// What FSDP's CPU offload, which the file calls `key`, makes of a plan whose sharding has been read: parameters in
/// host memory, or, where they are not gathered for each pass, the optimizer's state alone, with a warning.
void offload_by_fsdp(ForeignPlan& out, std::string_view key);

}  // namespace sextant
