#pragma once

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <cassert>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// An enumerator and the name it has in files and on the command line.
template <class Enum>
struct Named {
    Enum value;
    std::string_view name;
};

template <class Enum>
std::string_view name_in(std::span<Named<Enum> const> names, Enum value) {
    for (auto const& entry : names)
        if (entry.value == value) return entry.name;
    assert(false && "every enumerator has a name");
    return "?";
}

template <class Enum>
std::vector<std::string> all_names(std::span<Named<Enum> const> names) {
    std::vector<std::string> known;
    for (auto const& entry : names)
        known.emplace_back(entry.name);
    return known;
}

/// @throws InputError naming `what`, the nearest known name and all of them.
template <class Enum>
Enum value_in(std::span<Named<Enum> const> names, std::string_view name, std::string_view where,
              std::string_view what) {
    for (auto const& entry : names)
        if (entry.name == name) return entry.value;
    auto const known = all_names(names);
    throw InputError("{}: unknown {} '{}'{} (known: {})", where, what, name, did_you_mean(name, known), join(known));
}

}  // namespace sextant
