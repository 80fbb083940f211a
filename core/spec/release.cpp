#include "core/spec/release.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sextant {
namespace {

constexpr int months_of_year = 12;

}  // namespace

Release release_from(std::string_view text, std::string_view where) {
    auto const digit = [&](std::size_t at) { return text[at] - '0'; };
    bool const shaped = text.size() == 5 && text[2] == '.' && std::all_of(text.begin(), text.end(), [](char c) {
                            return c == '.' || std::isdigit(static_cast<unsigned char>(c)) != 0;
                        });
    int const month = shaped && text[3] != '.' && text[4] != '.' ? 10 * digit(3) + digit(4) : 0;
    if (month < 1 || month > months_of_year || text[0] == '.' || text[1] == '.')
        throw InputError("{}: '{}' is no release (year and month, such as 24.07)", where, text.substr(0, 60));
    return {.months = months_of_year * (10 * digit(0) + digit(1)) + month - 1};
}

std::string name_of(Release release) {
    return fmt::format("{:02}.{:02}", release.months / months_of_year, release.months % months_of_year + 1);
}

double years_between(Release from, Release to) { return (to.months - from.months) / double{months_of_year}; }

Release midway(Release first, Release last) { return {.months = (first.months + last.months) / 2}; }

}  // namespace sextant
