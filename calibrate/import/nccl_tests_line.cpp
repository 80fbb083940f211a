#include "calibrate/import/nccl_tests_line.hpp"

#include "calibrate/import/log_line.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>

namespace sextant {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::array<std::string_view, 17> types{"int8",   "uint8",  "char", "int32",    "uint32",  "int",
                                                 "int64",  "uint64", "half", "float",    "double",  "bfloat16",
                                                 "f8e4m3", "f8e5m2", "fp8",  "fp8_e4m3", "fp8_e5m2"};

bool is_type(std::string_view word) { return std::find(types.begin(), types.end(), word) != types.end(); }

bool is_figure(std::string_view word) {
    double value = 0;
    return is_number(word, value);
}

bool is_size_and_count(std::string_view size_word, std::string_view count_word) {
    double size = 0;
    double count = 0;
    return is_number(size_word, size) && is_number(count_word, count) && size >= count;
}

/// The last side's time and rates; its errors may be "N/A".
bool ends_in_figures(Words const& words, std::size_t side) {
    if (words.size() < side) return false;
    auto const figures = std::span(words).last(side);
    return std::all_of(figures.begin(), figures.begin() + 3, is_figure);
}

}  // namespace

std::optional<std::size_t> size_position(Words const& words, NcclTestsColumns const& head) {
    for (std::size_t i = 2; i < words.size(); ++i) {
        bool const is_whole = i < 3 || !is_figure(words[i - 3]);
        if (is_type(words[i]) && is_whole && is_size_and_count(words[i - 2], words[i - 1])) return i - 2;
    }
    bool const has_columns = words.size() >= head.least() && words.size() <= head.most();
    if (has_columns && is_size_and_count(words[0], words[1]) && !is_figure(words[2]) &&
        ends_in_figures(words, head.side))
        return 0;
    return std::nullopt;
}

bool has_figures_of_size(Words const& words, NcclTestsColumns const& head) {
    auto const type = std::find_if(words.begin(), words.end(), is_type);
    if (type == words.begin() || type == words.end()) return false;
    auto const behind = static_cast<std::size_t>(std::distance(type, words.end())) - 1;
    return behind >= head.side && behind <= head.most() - 3 && ends_in_figures(words, head.side);
}

bool is_rest_of_size(Words const& words, NcclTestsColumns const& head) {
    std::size_t const columns = head.sides * head.side;
    if (words.size() < columns || std::any_of(words.begin(), words.end(), is_type)) return false;
    auto const rest = std::span(words).last(columns);
    return std::all_of(rest.begin(), rest.end(), [](auto word) { return word == "N/A" || is_figure(word); });
}

bool begins_size(Words const& words) {
    double size = 0;
    if (words.empty() || words.size() > 3 || !is_number(words[0], size) || size != std::floor(size)) return false;
    if (words.size() > 1 && !is_size_and_count(words[0], words[1])) return false;
    return words.size() < 3 ||
           std::any_of(types.begin(), types.end(), [&](std::string_view type) { return type.starts_with(words[2]); });
}

bool contradicts_rate(double microseconds, double gigabytes_per_s, double bytes) {
    constexpr double most_apart = 0.1;  // a time of seven characters has two digits from 1e7 us
    constexpr double rounding = 0.01;
    if (!(microseconds > 0) || !(gigabytes_per_s > 0)) return false;
    double const said = 1e-3 * bytes / microseconds;
    return std::abs(gigabytes_per_s - said) > most_apart * said + rounding;
}

std::size_t message_position(Words const& words) {
    constexpr std::array<std::string_view, 5> levels{"INFO", "WARN", "TRACE", "ABORT", "ERROR"};
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].find("<stderr>") != std::string_view::npos) return i;
        bool const library = words[i] == "NCCL" || words[i] == "RCCL";
        if (library && i + 1 < words.size() && std::find(levels.begin(), levels.end(), words[i + 1]) != levels.end())
            return i;
    }
    return words.size();
}

}  // namespace sextant
