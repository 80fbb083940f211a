#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::layers {

/// What a source file includes or calls against the rules of docs/architecture.md: one sentence per fault, empty if all
/// is well. `path` is relative to the project's root, with '/'; the file itself is not opened.
std::vector<std::string> faults_of(std::string_view path, std::string_view text);

/// What the first include of a text names; empty if it has none. A source that includes its own header first is the
/// proof that this header compiles alone, so the build compiles no others (cmake/sextant_library.cmake).
std::string first_include(std::string_view text);

/// Names (relative to the list's folder) that a CMake list does not mention as a word of its own.
std::vector<std::string> not_listed(std::string_view list_text, std::vector<std::string> const& names);

/// C++ sources and headers below a folder, relative to it, sorted. Empty if the folder does not exist.
std::vector<std::string> sources_below(std::filesystem::path const& folder);
/// Files with this extension (".json") below a folder, relative to it, sorted.
std::vector<std::string> files_below(std::filesystem::path const& folder, std::string_view extension);

/// Targets of Markdown links to files of the project, without their '#' part.
std::vector<std::string> relative_links(std::string const& markdown);

/// @throws std::runtime_error if the file cannot be read.
std::string read_text(std::filesystem::path const& file);

}  // namespace sextant::layers
