#pragma once

#include "cli/run.hpp"

#include <sstream>
#include <string>
#include <vector>

/// What one call of the program printed and returned.
struct RunResult {
    int code = 0;
    std::string out;
    std::string err;
};

/// Runs the program inside this process: `run_sextant({"hardware", "show", "l40s"})`.
inline RunResult run_sextant(std::vector<std::string> const& arguments) {
    std::vector<char const*> argv{"sextant"};
    for (auto const& argument : arguments)
        argv.push_back(argument.c_str());
    std::ostringstream out;
    std::ostringstream err;
    int const code = sextant::cli::run(static_cast<int>(argv.size()), argv.data(), out, err);
    return {code, out.str(), err.str()};
}
