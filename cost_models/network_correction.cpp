#include "cost_models/network_correction.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sextant {
namespace {

/// Over domains, another number of ranks in each has other rings and another share of the NICs: nothing that was
/// measured says that what one leaves unexplained holds for the other.
bool concerns(NetworkCorrection const& c, CollectiveKind kind, GroupPlacement const& group) {
    if (c.kind != kind || (c.domains > 1) != (group.domains > 1)) return false;
    return group.domains == 1 || c.ranks_per_domain == group.ranks_per_domain;
}

double log2_ranks(std::int64_t ranks_per_domain, std::int64_t domains) {
    return std::log2(static_cast<double>(ranks_per_domain)) + std::log2(static_cast<double>(domains));
}

}  // namespace

bool has_correction(std::span<NetworkCorrection const> corrections, CollectiveKind kind, GroupPlacement const& group) {
    return std::any_of(corrections.begin(), corrections.end(),
                       [&](NetworkCorrection const& c) { return concerns(c, kind, group); });
}

double correction_at(std::span<NetworkCorrection const> corrections, CollectiveKind kind, GroupPlacement const& group,
                     double log2_bytes) {
    double const wanted = log2_ranks(group.ranks_per_domain, group.domains);
    NetworkCorrection const* below = nullptr;
    NetworkCorrection const* above = nullptr;
    double below_at = 0;
    double above_at = 0;
    for (NetworkCorrection const& c : corrections) {
        if (!concerns(c, kind, group)) continue;
        double const at = log2_ranks(c.ranks_per_domain, c.domains);
        if (at <= wanted && (below == nullptr || at > below_at)) {
            below = &c;
            below_at = at;
        }
        if (at >= wanted && (above == nullptr || at < above_at)) {
            above = &c;
            above_at = at;
        }
    }
    if (below == nullptr && above == nullptr) return 0;
    if (below == nullptr) return above->at(log2_bytes) * std::exp2(wanted - above_at);
    if (above == nullptr) return below->at(log2_bytes) * std::exp2(below_at - wanted);
    if (above_at <= below_at) return below->at(log2_bytes);
    double const share = (wanted - below_at) / (above_at - below_at);
    return (1 - share) * below->at(log2_bytes) + share * above->at(log2_bytes);
}

NetworkCorrection const* correction_of(std::span<NetworkCorrection const> corrections, CollectiveKind kind,
                                       GroupPlacement const& group) {
    bool const is_full = group.size == group.ranks_per_domain * group.domains;
    auto const found = std::find_if(corrections.begin(), corrections.end(), [&](NetworkCorrection const& c) {
        return is_full && c.kind == kind && c.ranks_per_domain == group.ranks_per_domain && c.domains == group.domains;
    });
    return found == corrections.end() ? nullptr : &*found;
}

double jump_factor(NetworkModel const& model, CollectiveKind kind, GroupPlacement const& group, Bytes bytes) {
    NetworkCorrection const* const own = correction_of(model.corrections, kind, group);
    return own == nullptr ? 1 : std::exp(own->jump_at(std::log2(std::max(bytes.base(), 1.0))));
}

CalibrationRange range_of(NetworkModel const& model, CollectiveKind kind, GroupPlacement const& group) {
    auto const& part = group.domains > 1 ? model.out_part : model.up_part;
    if (part.range == CalibrationRange::by_class) return part.range;
    bool const is_measured = !part.changed && correction_of(model.corrections, kind, group) != nullptr;
    return is_measured ? CalibrationRange::inside : CalibrationRange::outside;
}

bool is_larger_than_measured(NetworkModel const& model, CollectiveKind kind, GroupPlacement const& group, Bytes bytes) {
    NetworkCorrection const* const own = correction_of(model.corrections, kind, group);
    return own != nullptr && !own->log2_bytes.empty() && std::log2(bytes.base()) > own->log2_bytes.back() + 1;
}

namespace {

enum class Crossing { inside_domains, between_domains };

TimeFactors by_size(NetworkModel const& model, CalibrationRange range, Crossing crossing, Bytes bytes) {
    NetworkInterval const* best = nullptr;
    TimeFactors widest{};
    for (NetworkInterval const& i : model.intervals) {
        if (i.between_domains != (crossing == Crossing::between_domains)) continue;
        widest = {std::min(widest.low, i.low), std::max(widest.high, i.high)};
        if (i.range == range && i.from <= bytes && (best == nullptr || i.from > best->from)) best = &i;
    }
    if (best != nullptr) return {best->low, best->high};
    if (widest.high > 1) return widest;
    return assumed_collective_factors;
}

/// Exchanges between domains were measured on two networks: one reached 0.46 of its NICs, 0.74 with other settings, the
/// other 0.97. The bands of sizes are of other collectives; where 0.48 is assumed, half of the time is as likely.
constexpr double least_of_assumed_exchange = 0.5;

CalibrationRange range_at(NetworkModel const& model, CollectiveKind kind, GroupPlacement const& group, Bytes bytes) {
    CalibrationRange const range = range_of(model, kind, group);
    bool const is_beyond = range == CalibrationRange::inside && is_larger_than_measured(model, kind, group, bytes);
    return is_beyond ? CalibrationRange::outside : range;
}

}  // namespace

TimeFactors interval_of(NetworkModel const& model, CollectiveKind kind, GroupPlacement const& group, Bytes bytes,
                        double inside) {
    if (group.bridged) return assumed_collective_factors;
    CalibrationRange const range = range_at(model, kind, group, bytes);
    TimeFactors factors =
        by_size(model, range, group.domains > 1 ? Crossing::between_domains : Crossing::inside_domains, bytes);
    bool const says_nothing_of_links = model.up_part.basis == Basis::assumed && range != CalibrationRange::inside;
    if (group.domains > 1 && group.ranks_per_domain > 1 && says_nothing_of_links) {
        TimeFactors const of_links = by_size(model, model.up_part.range, Crossing::inside_domains, bytes);
        factors.high = std::max(factors.high, inside * of_links.high);
        if (inside >= 1) factors.low = std::min(factors.low, of_links.low);
    }
    if (kind == CollectiveKind::all_to_all && group.domains > 1 && model.out_part.exchange_is_assumed &&
        !has_correction(model.corrections, kind, group))
        factors.low = std::min(factors.low, least_of_assumed_exchange);
    return factors;
}

TimeFactors interval_of(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& group, Bytes bytes) {
    if (!cluster.network_model) return assumed_collective_factors;
    return interval_of(*cluster.network_model, kind, group, bytes, network_shares(cluster, kind, group).scale_up);
}

}  // namespace sextant
