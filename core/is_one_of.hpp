#pragma once

#include <algorithm>

namespace sextant {

/// Whether a list holds a value.
template <class List, class Value>
constexpr bool is_one_of(List const& list, Value const& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace sextant
