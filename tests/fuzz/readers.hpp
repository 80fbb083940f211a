#pragma once

#include <span>
#include <string_view>

namespace sextant::fuzz {

/// One format that comes from outside, and what reads it.
struct Reader {
    std::string_view name;  ///< also the folder of tests/fuzz/corpus with inputs of its own
    /// Files and folders of the repository with good inputs, separated by blanks.
    std::string_view seeds;
    /// Reads the text and looks at what came out. @throws InputError or RowSkip: the text is refused. Anything else
    /// that leaves it is a fault.
    void (*read)(std::string_view text);
};

/// Every reader. A new one is a function and a line in readers.cpp.
std::span<Reader const> readers();

/// Reads, and swallows a refusal.
void try_read(Reader const& reader, std::string_view text);

}  // namespace sextant::fuzz
