#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sextant::cli {

/// Adds `--seed N` with N from 0 to 2^63 - 1: a negative number, which the parser would wrap around, is refused.
/// Keeps the value that `seed` has.
CLI::Option* add_seed_option(CLI::App& app, std::uint64_t& seed, std::string const& text);

}  // namespace sextant::cli
