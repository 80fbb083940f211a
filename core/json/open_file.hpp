#pragma once

#include <fstream>
#include <string>

namespace sextant {

/// Opens a file, a pipe or a device for reading. @throws InputError: empty name, missing, a directory, unreadable.
std::ifstream open_text_file(std::string const& path);

}  // namespace sextant
