#pragma once

#include "core/json/object_reader.hpp"

#include <string_view>

namespace sextant {

/// A quantity that must be greater than zero.
template <class Q>
Sourced<Q> positive_quantity(ObjectReader& in, std::string_view key) {
    auto value = in.sourced_quantity<Q>(key);
    if (!(value.value > Q{})) throw InputError("{}: is zero (it must be positive)", in.path_to(key));
    return value;
}

/// A number in [low, high].
Sourced<double> bounded_number(ObjectReader& in, std::string_view key, double low, double high);

/// @throws InputError naming the key, when the value does not lie in [low, high] or is no number.
void check_range(double value, double low, double high, ObjectReader const& in, std::string_view key);

/// A fraction in (0, 1].
Sourced<double> efficiency(ObjectReader& in, std::string_view key);

/// `basis` and `source` of this object become the default of the values inside it, where given.
void read_default_provenance(ObjectReader& in);

}  // namespace sextant
