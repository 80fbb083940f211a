#pragma once

#include <string>
#include <string_view>

namespace sextant::cli {

/// Takes an open file for this process and those that inherit the descriptor; the lock goes with the last of them,
/// however it ends. Where the file system knows no locks there is none.
/// @param writer whoever else may have it, for the message: "another sweep"
/// @throws InputError when another process has it.
void lock_file(int file, std::string const& path, std::string_view writer);

}  // namespace sextant::cli
