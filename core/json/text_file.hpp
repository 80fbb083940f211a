#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace sextant {

/// The whole file. @throws InputError: missing, a directory, unreadable, or larger than `limit_bytes`.
std::string read_text_file(std::string const& path, std::size_t limit_bytes = std::size_t{64} << 20);

/// Writes to a temporary file beside `path`, then renames it: nobody ever sees half a file.
/// @throws InputError when the folder is missing or not writable; the temporary file is removed.
void write_text_file(std::string const& path, std::string_view text);

/// @throws InputError when the folder that `path` lies in does not exist.
void require_folder_of(std::string const& path);

/// Whether what was written becomes the file, or is thrown away and the file stays as it was.
enum class Keep { yes, no };

/// As above, for a text too long to hold in memory: `write` puts it into the stream. What it throws comes through, and
/// then, as when it returns `Keep::no` (it was interrupted), nothing is left behind. Returns what `write` returned.
Keep write_text_file(std::string const& path, std::function<Keep(std::ostream&)> const& write);

}  // namespace sextant
