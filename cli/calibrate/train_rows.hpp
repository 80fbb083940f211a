#pragma once

#include "calibrate/framework_fit.hpp"
#include "cli/command.hpp"
#include "core/spec/framework_profile.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sextant::cli {

/// Measured steps of one framework, and the profile that it ships with.
struct Family {
    FrameworkProfile start;
    std::vector<StepMeasurement> rows;
};

/// Whose measurements a table holds.
enum class RowsOf : std::uint8_t {
    publications,  ///< trusted by source, of large sources every n-th one
    own_machine,   ///< all are trusted, but those off by more than four times
};

/// Tables of measured steps, and whose rows are asked for.
struct TrainTables {
    std::vector<std::string> files;
    std::string framework;  ///< empty: of every framework
    std::string cluster;    ///< machine of the rows that name its accelerator; empty: the usual ones
};

/// Measured steps of the tables whose time is scored, by framework: of one alone where that is asked for, and where
/// that is a profile of one's own all of them as its. How many were left out for which reason is said on standard
/// error. @throws InputError when none is left.
std::map<std::string, Family> read_families(TrainTables const& tables, RowsOf whose, CommandContext& context);

}  // namespace sextant::cli
