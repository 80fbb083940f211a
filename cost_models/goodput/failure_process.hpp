#pragma once

#include "core/spec/sourced.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

/// What a failure takes with it, from the least to the most: the next one up loses all that the one before loses.
enum class FailureScope : std::uint8_t {
    process,  ///< software: every machine stays, with its host memory and its disks
    gpu,      ///< the node is taken out to repair one accelerator, with what lies in its memory and on its disks
    node,     ///< the whole node, likewise
    fabric,   ///< a switch, a cable, a rack: several nodes at once, so that copies on a neighbour may be gone as well
};
std::string_view name_of(FailureScope scope);

/// Whether a failure of this scope takes a node away until it is repaired.
constexpr bool takes_a_node(FailureScope scope) { return scope == FailureScope::gpu || scope == FailureScope::node; }

/// Like components that fail independently and are new after their repair: the time from one to the next failure of
/// each is Weibull of this mean and shape (1: exponential; below 1: early failures, above: wear).
struct FailureProcess {
    std::string name;
    FailureScope scope = FailureScope::node;
    std::int64_t components = 1;
    Seconds mtbf{};                 ///< of one component
    double shape = 1;               ///< of the Weibull distribution
    std::string basis = "assumed";  ///< "published", "assumed", or "given" by the user
    std::string source{};

    /// Failures per second of all components together, in the long run: n / MTBF whatever the shape (renewal theorem).
    [[nodiscard]] double rate_per_s() const { return static_cast<double>(components) / mtbf.base(); }
};

}  // namespace sextant
