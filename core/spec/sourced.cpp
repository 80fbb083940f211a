#include "core/spec/sourced.hpp"

#include "core/spec/named_values.hpp"

namespace sextant {
namespace {

constexpr Named<Basis> names[] = {
    {Basis::datasheet, "datasheet"},
    {Basis::measured, "measured"},
    {Basis::fitted, "fitted"},
    {Basis::assumed, "assumed"},
};

}  // namespace

std::string_view name_of(Basis basis) { return name_in<Basis>(names, basis); }

Basis basis_from(std::string_view name, std::string_view where) { return value_in<Basis>(names, name, where, "basis"); }

}  // namespace sextant
