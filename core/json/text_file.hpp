#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sextant {

/// The whole file. @throws InputError: missing, a directory, unreadable, or larger than `limit_bytes`.
std::string read_text_file(std::string const& path, std::size_t limit_bytes = std::size_t{64} << 20);

/// Writes to a temporary file beside `path`, then renames it: nobody ever sees half a file.
/// @throws InputError when the folder is missing or not writable; the temporary file is removed.
void write_text_file(std::string const& path, std::string_view text);

}  // namespace sextant
