#pragma once

#include "core/spec/cluster_spec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sextant {

/// What a run may use.
struct Budget {
    enum class Kind : std::uint8_t {
        flops,              ///< 6 N D
        dollars,            ///< US dollars of accelerator time
        accelerator_hours,  ///< accelerators times hours of wall clock
        days,               ///< of wall clock, on a stated number of accelerators
    } kind = Kind::flops;
    double amount = 0;
};
std::string_view name_of(Budget::Kind kind);

/// The wall clock that a budget pays for on so many accelerators; nothing for a budget of FLOPs.
/// dollars: amount / (price accelerators); accelerator hours: amount / accelerators.
/// @throws InputError: money, and neither the cluster nor the user names a price, or it is zero.
std::optional<Seconds> wall_within(Budget const& budget, ClusterSpec const& cluster, std::int64_t accelerators);

}  // namespace sextant
