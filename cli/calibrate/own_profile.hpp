#pragma once

#include "core/spec/profile_change.hpp"

#include <string>
#include <string_view>

namespace sextant::cli {

/// Whether an option names a file, or a shipped profile with changes, and not what ships.
/// @throws InputError naming `flag` for a change that is none.
inline bool is_own_profile(std::string const& option, std::string_view flag) {
    ChangedName const named = split_changes(option, flag);
    return named.name.ends_with(".json") || !named.changes.empty();
}

}  // namespace sextant::cli
