#pragma once

#include "core/spec/enum_set.hpp"
#include "core/spec/named_values.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace sextant {

/// The values that a text names, with "," or "+" between. @throws InputError as `value_in`: an unknown or empty name.
template <class Enum>
EnumSet<Enum> set_in(std::span<Named<Enum> const> names, std::string_view text, std::string_view where,
                     std::string_view what) {
    EnumSet<Enum> set;
    for (std::size_t begin = 0; begin <= text.size();) {
        std::size_t const end = std::min(text.find_first_of(",+", begin), text.size());
        set.add(value_in(names, text.substr(begin, end - begin), where, what));
        begin = end + 1;
    }
    return set;
}

/// The names of a set's values, in the order of `names`.
template <class Enum>
std::string names_in(std::span<Named<Enum> const> names, EnumSet<Enum> set, std::string_view between) {
    std::string text;
    for (auto const& entry : names) {
        if (!set.has(entry.value)) continue;
        if (!text.empty()) text += between;
        text += entry.name;
    }
    return text;
}

}  // namespace sextant
