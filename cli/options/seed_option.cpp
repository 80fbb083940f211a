#include "cli/options/seed_option.hpp"

#include "core/error.hpp"

#include <CLI/App.hpp>

#include <charconv>

namespace sextant::cli {
namespace {

/// The parser's own conversion wraps negative numbers around and cuts large ones.
std::uint64_t seed_from(std::string const& text) {
    std::int64_t value = 0;
    char const* const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end)
        throw InputError("--seed: '{}' (a whole number from 0 to 2^63 - 1)", text.substr(0, 60));
    if (value < 0) throw InputError("--seed: {} is negative (0 or more)", value);
    return static_cast<std::uint64_t>(value);
}

}  // namespace

CLI::Option* add_seed_option(CLI::App& app, std::uint64_t& seed, std::string const& text) {
    return app
        .add_option_function<std::string>(
            "--seed", [&seed](std::string const& given) { seed = seed_from(given); }, text)
        ->option_text("N");
}

}  // namespace sextant::cli
