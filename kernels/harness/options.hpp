#pragma once

#include <string>
#include <vector>

#include "kernels/harness/bench.hpp"
#include "kernels/harness/row_file.hpp"

namespace sextant::bench {

enum class Action { run, list, dry_run, help };
enum class BackendChoice { automatic, cuda, host };

/// What the command line asks for.
struct Options {
    Action action = Action::run;
    BackendChoice backend = BackendChoice::automatic;
    std::vector<std::string> benches;  ///< empty: all
    Effort effort = Effort::quick;
    std::string out = "-";
    FileFormat format = FileFormat::csv;
    Existing existing = Existing::refuse;
    double max_seconds = 0;  ///< 0: no limit
    double row_seconds = 0;  ///< longest sampling of one row; 0: that of the effort
    double stall_seconds = Scope{}.stall_s;
    int device = 0;
    std::uint64_t seed = 1;
};

/// @throws BadInput naming the option and what it may be.
Options parse_options(std::vector<std::string> const& arguments);
char const* help_text();

}  // namespace sextant::bench
