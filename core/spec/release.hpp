#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace sextant {

/// A release by its month, as vendors call their containers: "24.07" is of July 2024.
struct Release {
    int months = 0;  ///< since January 2000
    friend auto operator<=>(Release, Release) = default;
};

/// @throws InputError unless the text is a year of two digits, a point and a month of two digits.
Release release_from(std::string_view text, std::string_view where);
std::string name_of(Release release);

double years_between(Release from, Release to);
Release midway(Release first, Release last);

}  // namespace sextant
