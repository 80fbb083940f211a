#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace sextant::layers {

/// The text of a file of the project; empty if there is none. Paths are relative to the project's root, with '/'.
using ReadFile = std::function<std::string(std::string const& path)>;

struct Include {
    bool is_ours = false;  ///< in quotation marks
    std::string name;
};

/// What a line includes, if anything.
std::optional<Include> include_on(std::string const& line);

/// What a file includes in angle brackets, itself or through files of the project.
std::set<std::string> included_by(std::string const& path, ReadFile const& read);

/// Headers of the standard library and fmt ("vector") whose names a text uses (std::vector) though `included` lacks
/// them. The build reads these once for all (cmake/precompile.cmake), so that the compiler misses none of them.
std::set<std::string> missing_includes(std::string_view text, std::set<std::string> const& included);

/// Whether missing_includes knows names of this header.
bool names_are_known(std::string_view header);

}  // namespace sextant::layers
