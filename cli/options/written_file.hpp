#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sextant::cli {

/// Marks an option that names a file to be written.
CLI::Option* written(CLI::Option* option);

/// @throws InputError when a file to be written has been given to another option, too: both would write it, or what is
/// read would be lost. A word without the ending of a file (a preset's name) is no file.
void refuse_files_given_twice(CLI::App& app);

}  // namespace sextant::cli
