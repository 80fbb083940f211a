#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sextant {

/// How a number came to be known. `assumed` terms are listed in every report that stands on them.
enum class Basis : std::uint8_t { datasheet, measured, fitted, assumed };

std::string_view name_of(Basis basis);
/// @throws InputError with the known names.
Basis basis_from(std::string_view name, std::string_view where);

/// Whether a file has to state a value. What is newer than the format's version is optional.
enum class Presence : std::uint8_t { required, optional };

/// Where a number comes from.
struct Provenance {
    Basis basis = Basis::assumed;
    std::string source{};  ///< datasheet, measurement file, paper; for `assumed`, why this value
};

/// A value with its provenance.
template <class T>
struct Sourced {
    T value{};
    Basis basis = Basis::assumed;
    std::string source{};  ///< datasheet, measurement file, paper; for `assumed`, why this value
};

}  // namespace sextant
