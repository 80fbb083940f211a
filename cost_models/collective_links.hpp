#pragma once

#include "core/ops/op.hpp"
#include "core/units.hpp"
#include "cost_models/collective_row.hpp"

namespace sextant {

// What the links of a row's machine can carry: a time that is past it is in another unit, or of other links.

/// A bus bandwidth of more than this times `link_rate` was not measured there. Assumed: reductions in the switch reach
/// 1.1 (docs/collectives.md).
inline constexpr double most_of_links = 1.5;

/// What a rank's bus bandwidth is bound by: of a domain its links, over domains these or the NICs of its domain, which
/// rings share; all that an exchange sends to other domains goes through its own.
BytesPerSecond link_rate(CollectiveMachine const& machine, CollectiveKind kind);
/// What the slowest part of a ring is good for: between domains their NICs, however quick they are inside.
BytesPerSecond narrowest_rate(CollectiveMachine const& machine, CollectiveKind kind);
/// The bus bandwidth of a row over such a rate.
double bus_rate(CollectiveMachine const& machine, CollectiveKind kind, Bytes bytes, Seconds time, BytesPerSecond rate);

}  // namespace sextant
