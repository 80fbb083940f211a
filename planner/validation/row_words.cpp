#include "planner/validation/row_words.hpp"

#include "core/is_one_of.hpp"
#include "core/text.hpp"
#include "core/words.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

constexpr std::string_view word_joints = " \t-_=:";

/// The word that ends a text, which loses it: letters and a slash ("w/o").
std::string_view take_last_word(std::string_view& text) {
    text = text.substr(0, text.find_last_not_of(word_joints) + 1);
    std::size_t begin = text.size();
    while (begin > 0 && (is_letter(text[begin - 1]) || text[begin - 1] == '/'))
        --begin;
    std::string_view const word = text.substr(begin);
    text = text.substr(0, begin);
    return word;
}

std::string_view clause_before(std::string_view text, std::size_t at) {
    std::string_view const before = text.substr(0, at);
    auto const end = before.find_last_of(clause_ends);
    return end == nowhere ? before : before.substr(end + 1);
}

}  // namespace

std::string_view word_before(std::string_view text, std::size_t at) {
    std::string_view before = clause_before(text, at);
    return take_last_word(before);
}

bool is_denied(std::string_view text, std::size_t at, std::size_t reach) {
    constexpr std::array<std::string_view, 8> denials{"no", "not", "non", "without", "w/o", "vs", "than", "disabled"};
    constexpr std::array<std::string_view, 4> negatives{"off", "false", "none", "disabled"};
    std::string_view before = clause_before(text, at);
    for (std::size_t i = 0; i < reach; ++i)
        if (is_one_of(denials, take_last_word(before))) return true;
    std::size_t end = at;
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]) || text[end] == '_'))
        ++end;
    std::string_view const behind = value_behind(text, end);
    std::size_t letters = 0;
    while (letters < behind.size() && is_letter(behind[letters]))
        ++letters;
    return is_one_of(negatives, behind.substr(0, letters));
}

std::size_t stated_at(std::string_view text, std::string_view word, std::size_t from) {
    auto at = find_word(text, word, from);
    while (at != nowhere && is_denied(text, at))
        at = find_word(text, word, at + 1);
    return at;
}

std::vector<std::string_view> clauses_of(std::string_view text) {
    std::vector<std::string_view> clauses;
    while (!text.empty()) {
        std::size_t const end = std::min(text.find_first_of(clause_ends), text.size());
        if (end > 0) clauses.push_back(text.substr(0, end));
        text = text.substr(std::min(end + 1, text.size()));
    }
    return clauses;
}

std::string_view value_behind(std::string_view text, std::size_t at) {
    std::size_t const begin = text.find_first_not_of(word_joints, at);
    return begin == nowhere ? std::string_view() : text.substr(begin);
}

}  // namespace sextant
