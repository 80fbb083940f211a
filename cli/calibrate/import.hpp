#pragma once

#include "cli/command.hpp"
#include "core/csv.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sextant::cli {

/// Traces, and logs with what the library says of itself, are large.
inline constexpr std::size_t largest_foreign_file = std::size_t{1} << 30;

/// What `calibrate import` was asked to do.
struct ImportCall {
    std::vector<std::string> files{};
    std::string from{};    ///< an importer by name; empty: by what each file holds
    std::string device{};  ///< instead of what the rows say
    std::string source{};
    std::vector<std::string> cells{};  ///< "seq_len=8192", of training steps and served loads
    std::string out{};                 ///< FILE.csv for one kind of rows, else a folder
};

/// Writes foreign measurements as tables with our headers, and says how many rows of which kind there are and why
/// others were left out.
int import_measurements(ImportCall const& call, CommandContext& context);

/// Tables of kernel times in a file: one of ours as it is, else what an importer makes of it; rows that are left out
/// are counted on standard error.
/// @param device of the rows of foreign formats that say none (empty: they are left out); those that do keep theirs
std::vector<CsvTable> kernel_tables_of(std::string const& file, std::string const& device, CommandContext& context);

/// The same of collectives. Traces of several ranks are one table, named after the first.
/// @throws InputError when a foreign file has none.
std::vector<CsvTable> collective_tables_of(std::vector<std::string> const& files, std::string const& device,
                                           CommandContext& context);

}  // namespace sextant::cli
