#pragma once

#include <string_view>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sextant::cli {

/// Marks an option that names a file, or a folder of files, to be written. A number is refused: it is meant for another
/// option, or for none, and the report would end in a file of that name.
/// @param numbers where numbers belong, for the message: "tokens of a request are --output-tokens"; or empty
CLI::Option* written(CLI::Option* option, std::string_view numbers = {});

/// @throws InputError when a file to be written has been given to another option, too: both would write it, or what is
/// read would be lost. A word without the ending of a file (a preset's name) is no file.
void refuse_files_given_twice(CLI::App& app);

}  // namespace sextant::cli
