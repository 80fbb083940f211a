#include "core/spec/value_checks.hpp"

namespace sextant {

Sourced<double> bounded_number(ObjectReader& in, std::string_view key, double low, double high) {
    auto value = in.sourced_number(key);
    if (value.value < low || value.value > high)
        throw InputError("{}: is {} (it must lie between {} and {})", in.path_to(key), value.value, low, high);
    return value;
}

void check_range(double value, double low, double high, ObjectReader const& in, std::string_view key) {
    if (!(value >= low && value <= high))
        throw InputError("{}: is {:g} ({:g} to {:g} is expected)", in.path_to(key), value, low, high);
}

Sourced<double> efficiency(ObjectReader& in, std::string_view key) {
    auto value = in.sourced_number(key);
    constexpr double least = 1e-6;  // times by less would not stay numbers
    if (!(value.value >= least) || value.value > 1)
        throw InputError("{}: is {:g} (a fraction above 0 and up to 1 is expected)", in.path_to(key), value.value);
    return value;
}

void read_default_provenance(ObjectReader& in) {
    if (!in.has("basis") && !in.has("source")) return;
    auto const basis = basis_from(in.text("basis"), in.path_to("basis"));
    auto source = in.text("source");
    if (source.empty()) throw InputError("{}: is empty (say where the values come from)", in.path_to("source"));
    in.set_default_provenance(basis, std::move(source));
}

}  // namespace sextant
