#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace sextant {

/// A transfer beside the layers of a pass. Transfers follow one another on one stream, in the order they are given in.
struct PassTransfer {
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    double time = 0;            ///< seconds, with nothing beside it
    double overlap = 1;         ///< share that is gained of the time in which it and compute could both run
    std::size_t after = none;   ///< layer whose end it waits for
    std::size_t before = none;  ///< layer that waits for it
};

/// When a pass ends.
enum class PassEnd : std::uint8_t {
    layers,     ///< with its last layer
    transfers,  ///< when its transfers are over as well
};

/// What transfers and layers do to one another.
struct PassOverlap {
    std::vector<double> transfers;  ///< seconds that each lasts
    double lost = 0;                ///< by how much the pass ends later than with these durations and no layer slowed
};

/// Carries a pass out in which a layer and a transfer that run side by side slow each other so that the share `overlap`
/// of that time is gained: both go on at 1 / (2 - overlap) of their speed. Every layer runs as soon as the one before
/// has ended and what it waits for is there.
/// @param layers seconds of each, alone, in the order in which they run.
PassOverlap overlap_in_pass(std::span<double const> layers, std::span<PassTransfer const> transfers,
                            PassEnd end = PassEnd::layers);

}  // namespace sextant
