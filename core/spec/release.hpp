#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace sextant {

/// A release by its month, as vendors call their containers: "24.07" is of July 2024.
struct Release {
    int months = 0;  ///< since January 2000
    friend auto operator<=>(Release, Release) = default;
};

/// A year of two digits, a point and a month of two digits; nothing for any other text.
std::optional<Release> parse_release(std::string_view text);
/// The same. @throws InputError for any other text.
Release release_from(std::string_view text, std::string_view where);
std::string name_of(Release release);

double years_between(Release from, Release to);
Release midway(Release first, Release last);

}  // namespace sextant
