#pragma once

#include "cli/view/table.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::cli {

/// A table with what it says and stands on.
struct ReferenceTable {
    std::string name;  ///< "training": the files are training.md and training.csv
    std::string title;
    std::string introduction;
    Table table;    ///< for people
    Table figures;  ///< for programs: SI units, a key per column
    std::vector<std::string> notes;
};

std::span<char const* const> reference_table_names();

/// @pre `name` is one of these. The same for any number of threads.
ReferenceTable reference_table(std::string_view name, unsigned threads);

std::string markdown_of(ReferenceTable const& table);
std::string text_of(ReferenceTable const& table);

// One each, for `reference_table`.
ReferenceTable training_table(unsigned threads);
ReferenceTable parallelism_table();
ReferenceTable schedule_table();
ReferenceTable serving_table();

}  // namespace sextant::cli
