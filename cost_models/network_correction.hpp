#pragma once

#include "core/spec/network_calibration.hpp"
#include "cost_models/collective_time.hpp"

namespace sextant {

/// Whether any correction is of this kind and, as the group, in one domain or over several with as many ranks in each.
bool has_correction(std::span<NetworkCorrection const> corrections, CollectiveKind kind, GroupPlacement const& group);

/// Logarithm of the factor that corrections put on a time: that of the same arrangement of ranks where it was measured;
/// between two that were, linear in log2 of the ranks; beyond all of them a fraction of the nearest one's that halves
/// with each doubling of the ranks. Over domains, only arrangements with as many ranks in each say anything.
double correction_at(std::span<NetworkCorrection const> corrections, CollectiveKind kind, GroupPlacement const& group,
                     double log2_bytes);

/// The correction of just this arrangement of ranks; null where it was not measured. Those of full domains are none of
/// groups that do not fill their last one, which has fewer NICs.
NetworkCorrection const* correction_of(std::span<NetworkCorrection const> corrections, CollectiveKind kind,
                                       GroupPlacement const& group);

/// How many times as long as the smooth curve has it this size was measured to take on just this arrangement, where the
/// library chose otherwise than at the sizes around it; 1 where nothing like that was seen.
double jump_factor(NetworkModel const& model, CollectiveKind kind, GroupPlacement const& group, Bytes bytes);

/// Whether this collective on this arrangement was among the rows of the fit.
CalibrationRange range_of(NetworkModel const& model, CollectiveKind kind, GroupPlacement const& group);

/// Whether this arrangement was measured, but no size from half of this one on.
bool is_larger_than_measured(NetworkModel const& model, CollectiveKind kind, GroupPlacement const& group, Bytes bytes);

/// An 80 % interval as factors on the predicted time.
struct TimeFactors {
    double low = 1;
    double high = 1;
};

/// assumed: where no measurements of a network or its class say how far its times are off.
inline constexpr TimeFactors assumed_collective_factors{.low = 0.5, .high = 2};

/// That of the range and size; where the model has none for the range, the widest it has; where it has none at all,
/// and on bridges of pairs, `assumed`: half and twice. Exchanges between domains that nobody measured may take half.
/// `inside`: what large sizes take on the links inside the domains, as a share of their time. Where only the class of
/// these links is known and the arrangement was not measured, their own interval counts for that share.
TimeFactors interval_of(NetworkModel const& model, CollectiveKind kind, GroupPlacement const& group, Bytes bytes,
                        double inside = 0);
/// The same with that share as this cluster has it; `assumed` where it has no model.
TimeFactors interval_of(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& group, Bytes bytes);

}  // namespace sextant
