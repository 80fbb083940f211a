#include "planner/validation/unmodelled_runs.hpp"

#include "core/measurements/row_cells.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "planner/validation/row_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace sextant {
namespace {

/// A switch that is set to nothing: "mtp=0", "num_speculative_tokens 0".
bool is_zero(std::string_view text, std::size_t word_end) {
    std::string_view const value = value_behind(text, word_end);
    return value.starts_with('0') && (value.size() == 1 || !is_digit(value[1]));
}

/// The last word of a phrase whose first begins at `at`: "decoding" of "speculative decoding".
std::size_t last_word_at(std::string_view text, std::size_t at, std::size_t size) {
    constexpr std::array<std::string_view, 6> nouns{"decoding", "decode", "sampling", "model", "heads", "tokens"};
    std::string_view const behind = value_behind(text, at + size);
    bool const goes_on =
        std::any_of(nouns.begin(), nouns.end(), [&](std::string_view noun) { return behind.starts_with(noun); });
    return goes_on ? static_cast<std::size_t>(behind.data() - text.data()) : at;
}

/// "no EAGLE or MTP" denies both, "no prefix cache with MTP" the first.
bool is_stated(std::string_view text, std::size_t at, std::size_t size) {
    std::size_t const reach = word_before(text, at) == "with" ? 1 : 3;
    std::size_t const last = last_word_at(text, at, size);
    std::size_t const end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", last);
    bool const is_off = is_denied(text, last, 0) || (end != nowhere && is_zero(text, end));
    return !is_denied(text, at, reach) && !is_off;
}

bool says(std::string_view text, std::string_view word) {
    for (auto at = find_word(text, word); at != nowhere; at = find_word(text, word, at + 1))
        if (is_stated(text, at, word.size())) return true;
    return false;
}

/// The end of the digits at `at`.
std::size_t digits_end(std::string_view text, std::size_t at) {
    while (at < text.size() && is_digit(text[at]))
        ++at;
    return at;
}

/// "1P1D", "2p-4d": servers for prompts and for decodes.
bool says_prefill_and_decode_servers(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
        bool const inside = begin > 0 && (is_letter(text[begin - 1]) || is_digit(text[begin - 1]));
        std::size_t at = digits_end(text, begin);
        if (inside || at == begin || at == text.size() || text[at] != 'p') continue;
        if (++at < text.size() && (text[at] == '-' || text[at] == '_' || text[at] == '+')) ++at;
        std::size_t const end = digits_end(text, at);
        bool const is_pair = end > at && end < text.size() && text[end] == 'd';
        bool const ends = is_pair && (end + 1 == text.size() || !(is_letter(text[end + 1]) || is_digit(text[end + 1])));
        if (ends) return true;
    }
    return false;
}

}  // namespace

void refuse_unmodelled(ServingRow const& row) {
    if (row.notes_have("suspect")) throw RowSkip("marked as suspect");
    if (row.notes_have("without kv cache")) throw RowSkip("no cache: every token is computed anew");
    // Tokens of failed requests take time and are not counted.
    auto const failures = row.noted("failures");
    auto const successes = row.noted("successes");
    if (failures && successes && static_cast<double>(*failures) > static_cast<double>(*successes) / 9)
        throw RowSkip("more than a tenth of the requests failed");
    constexpr std::array drafts{"speculative",   "spec decode", "spec decoding", "spec-decode",
                                "spec-decoding", "spec_decode", "specdec",       "draft model",
                                "draft-model",   "draft_model", "eagle",         "medusa",
                                "mtp",           "ngram",       "n-gram",        "lookahead"};
    constexpr std::array servers{"disaggregated", "disaggregation", "disagg"};
    for (std::string const& text : {lower_case(row.notes), lower_case(row.engine)}) {
        auto const is_said = [&](std::string_view word) { return says(text, word); };
        if (std::any_of(drafts.begin(), drafts.end(), is_said))
            throw RowSkip("speculative decoding is not in these models");
        if (std::any_of(servers.begin(), servers.end(), is_said) || says_prefill_and_decode_servers(text))
            throw RowSkip("prompts and decodes on servers of their own (disaggregated) are not in these models");
    }
}

}  // namespace sextant
