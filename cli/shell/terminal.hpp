#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>

namespace sextant::cli {

enum class Colour : std::uint8_t { never, used };

/// What a stream's reader can show. A file, a pipe and a stream in a test have no colour, and no columns but those that
/// are asked for: what is written to them is the same everywhere.
struct Terminal {
    std::size_t columns = 0;  ///< 0: lines stay as long as they are
    Colour colour = Colour::never;
};

/// Notes on the stream that a terminal reads it; `deliver` and the errors of `run` look here.
void set_terminal(std::ios_base& stream, Terminal terminal);
Terminal terminal_of(std::ios_base& stream);

/// The terminal behind a file descriptor of this process: as wide as COLUMNS says, which counts for a pipe and a file,
/// too (shells keep theirs to themselves unless it is exported), or else as the terminal itself; coloured, where there
/// is one, unless NO_COLOR is set to something or TERM is "dumb" (https://no-color.org).
Terminal terminal_behind(int file_descriptor);

}  // namespace sextant::cli
