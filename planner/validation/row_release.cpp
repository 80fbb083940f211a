#include "planner/validation/row_release.hpp"

#include "core/text.hpp"

#include <cctype>
#include <string>
#include <string_view>

namespace sextant {
namespace {

/// The release that the text begins with.
std::optional<Release> leading_release(std::string_view text) {
    constexpr std::size_t length = 5;
    bool const longer = text.size() > length && std::isdigit(static_cast<unsigned char>(text[length])) != 0;
    return longer ? std::nullopt : parse_release(text.substr(0, length));
}

/// Rounds are submitted in May ("training_results_v5.0") and October ("v5.1"); 5 is 2025. Source: MLCommons' schedule
/// of MLPerf Training. What submissions call their software is often that of an earlier round.
std::optional<Release> round_of(std::string_view source) {
    constexpr std::string_view word = "training_results_v";
    auto const at = source.find(word);
    if (at == std::string_view::npos || source.size() < at + word.size() + 3) return std::nullopt;
    std::string_view const round = source.substr(at + word.size(), 3);
    if (round[0] < '0' || round[0] > '9' || round[1] != '.' || (round[2] != '0' && round[2] != '1'))
        return std::nullopt;
    return leading_release(std::string("2") + round[0] + (round[2] == '0' ? ".05" : ".10"));
}

std::optional<Release> release_in(std::string const& text) {
    std::string const lower = lower_case(text);
    for (std::string_view const word : {"container ", "release ", "release v", "nemo ", "["})
        for (auto at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1))
            if (auto const release = leading_release(std::string_view(lower).substr(at + word.size()))) return release;
    return std::nullopt;
}

}  // namespace

std::optional<Release> release_of(TrainingRow const& row) {
    if (auto const round = round_of(row.source_ref)) return round;
    for (std::string const* text : {&row.framework, &row.notes, &row.source_ref})
        if (auto const release = release_in(*text)) return release;
    return std::nullopt;
}

}  // namespace sextant
