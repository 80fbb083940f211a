#include "core/spec/release.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

constexpr int months_of_year = 12;

}  // namespace

std::optional<Release> parse_release(std::string_view text) {
    auto const digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '9' ? text[at] - '0' : -1; };
    if (text.size() != 5 || text[2] != '.') return std::nullopt;
    for (std::size_t const at : {0, 1, 3, 4})
        if (digit(at) < 0) return std::nullopt;
    int const month = 10 * digit(3) + digit(4);
    if (month < 1 || month > months_of_year) return std::nullopt;
    return Release{.months = months_of_year * (10 * digit(0) + digit(1)) + month - 1};
}

Release release_from(std::string_view text, std::string_view where) {
    if (auto const release = parse_release(text)) return *release;
    throw InputError("{}: '{}' is no release (year and month, such as 24.07)", where, text.substr(0, 60));
}

std::string name_of(Release release) {
    return fmt::format("{:02}.{:02}", release.months / months_of_year, release.months % months_of_year + 1);
}

double years_between(Release from, Release to) { return (to.months - from.months) / double{months_of_year}; }

Release midway(Release first, Release last) { return {.months = (first.months + last.months) / 2}; }

}  // namespace sextant
