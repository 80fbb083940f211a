#pragma once

#include <cstdint>
#include <cstdlib>

namespace sextant::fixtures {

/// The seed of generated cases: the same in every run and on every machine, unless SEXTANT_SEED says by how much all of
/// them are moved (`scripts/other-seeds`).
inline std::uint64_t seeded(std::uint64_t own) {
    char const* const moved = std::getenv("SEXTANT_SEED");
    return own + (moved != nullptr ? std::strtoull(moved, nullptr, 10) : 0);
}

}  // namespace sextant::fixtures
