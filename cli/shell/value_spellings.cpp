#include "cli/shell/value_spellings.hpp"

#include "cli/shell/words_of_others.hpp"
#include "core/token_count.hpp"

#include <CLI/App.hpp>

#include <fmt/format.h>

#include <charconv>
#include <string>

namespace sextant::cli {
namespace {

/// Without the sign of a per cent that stands behind a number; anything else is for the parser to judge.
std::string share_text(std::string const& text) {
    if (text.size() < 2 || text.back() != '%') return text;
    double value = 0;
    char const* const last = text.data() + text.size() - 1;
    auto const [end, problem] = std::from_chars(text.data(), last, value);
    return problem == std::errc{} && end == last ? fmt::format("{}", value / 100) : text;
}

/// A number with a letter behind it, in digits.
std::string token_text(std::string const& text, std::string const& flag) {
    bool const has_unit = text.size() > 1 && std::string_view("ikKmM").find(text.back()) != std::string_view::npos;
    return has_unit ? fmt::format("{}", token_count_from(text, flag)) : text;
}

/// Options that keep their words read them by themselves.
bool takes_numbers(CLI::Option const& option) { return option.get_type_name() != "TEXT"; }

}  // namespace

void accept_spellings(CLI::App& app) {
    for (CLI::Option* const option : app.get_options()) {
        if (!option->get_lnames().empty() && has_own_words(option->get_lnames().front()))
            option->transform(
                [name = option->get_lnames().front()](std::string const& text) { return own_word(name, text); });
        if (!takes_numbers(*option)) continue;
        if (option->get_option_text() == "SHARE") option->transform(share_text);
        if (option->get_option_text() == "TOKENS")
            option->transform([flag = option->get_name()](std::string const& text) { return token_text(text, flag); });
    }
    for (CLI::App* const subcommand : app.get_subcommands([](CLI::App const*) { return true; }))
        accept_spellings(*subcommand);
}

}  // namespace sextant::cli
