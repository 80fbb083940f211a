#include "core/spec/network_calibration.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace sextant {
namespace {

template <class Constants>
using SectionMember = std::optional<NetworkSection<Constants>> NetworkCalibration::*;

template <class Constants>
bool is_named(NetworkCalibration const& calibration, SectionMember<Constants> member, std::string const& cluster) {
    auto const& section = calibration.*member;
    if (!section) return false;
    return is_one_of(section->scope.clusters, cluster);
}

bool fits(NetworkScope const& scope, std::string_view kind, std::string const& generation) {
    return scope.is_class() && (scope.kind == "*" || scope.kind == kind) &&
           (scope.generation == "*" || scope.generation == generation);
}

template <class Constants>
struct Chosen {
    NetworkCalibration const* calibration = nullptr;
    CalibrationRange range = CalibrationRange::by_class;
};

template <class Constants>
Chosen<Constants> choose(SectionMember<Constants> member, NetworkCalibration const* own,
                         std::span<NetworkCalibration const> others, std::string const& cluster, std::string_view kind,
                         std::string const& generation) {
    if (own != nullptr && own->*member) return {own, CalibrationRange::outside};
    for (NetworkCalibration const& c : others)
        if (is_named(c, member, cluster)) return {&c, CalibrationRange::outside};
    for (NetworkCalibration const& c : others)
        if (c.*member && fits((c.*member)->scope, kind, generation)) return {&c, CalibrationRange::by_class};
    return {};
}

NetworkModel::Part part_of(NetworkCalibration const& calibration, CalibrationRange range) {
    return {.calibration = calibration.name,
            .basis = range == CalibrationRange::by_class ? Basis::assumed : Basis::fitted,
            .range = range};
}

/// A value of the cluster file that a machine's class must not replace.
bool is_known(Sourced<double> const& value) { return value.basis == Basis::measured || value.basis == Basis::fitted; }

/// Whether the efficiencies of the class are those of machines like this one.
bool has_efficiencies_of(NetworkScope const& scope, ClusterSpec const& cluster) {
    if (scope.with_peer_access && !cluster.scale_up.peer_access) return false;
    return scope.vendor.empty() || scope.vendor == cluster.accelerator.vendor;
}

/// Both efficiencies of one of the two networks, to what was fitted. What the rows of a fit say nothing of goes before
/// nothing that is known of exchanges; what rings reach belongs together with what trees do, which rows do say.
void set_efficiencies(auto& network, auto const& section, NetworkModel::Part& part) {
    auto const set = [&](Sourced<double>& value, double fitted, std::string_view key) {
        Basis const basis = section.is_assumed(key) ? Basis::assumed : part.basis;
        value = {fitted, basis, "network calibration " + part.calibration};
    };
    bool const by_class = part.range == CalibrationRange::by_class;
    if (!by_class || !is_known(network.ring_efficiency)) set(network.ring_efficiency, section.constants.ring, "ring");
    bool const assumed = section.is_assumed("exchange");
    if (is_known(network.all_to_all_efficiency) && (by_class || assumed)) return;
    set(network.all_to_all_efficiency, section.constants.exchange, "exchange");
    part.exchange_is_assumed = assumed || by_class;
}

/// What a class says of reductions in the switch gives way to the cluster file's bus bandwidth of a whole domain, where
/// that is known: 2 (n - 1) / n over a + b / n, with a = 1 / nvls and b = nvls_share / nvls. Both are scaled alike, but
/// that groups of eight of a rack keep what the class has, as far as b stays above 0: they reach more than the rack.
void keep_known_reduction(ScaleUpConstants& up, ClusterSpec const& cluster) {
    constexpr double node = 8;  // of the runs that classes are fitted to
    auto const& known = cluster.scale_up.in_network_reduction_efficiency;
    if (!known || !is_known(*known) || !(up.nvls > 0) || cluster.domain_size <= 2) return;
    auto const n = static_cast<double>(cluster.domain_size);
    auto const slope_of_class = [&](double ranks) { return (1 + up.nvls_share / ranks) / up.nvls; };
    double const slope = 2 * (n - 1) / n / known->value;
    double b = slope / slope_of_class(n) * up.nvls_share / up.nvls;
    if (n > node) b = std::clamp((slope_of_class(node) - slope) / (1 / node - 1 / n), 0.0, b);
    double const a = slope - b / n;
    up.nvls = 1 / a;
    up.nvls_share = b / a;
}

enum class Network { scale_up, scale_out };

/// Corrections and intervals of one of the two networks.
void take_rest(NetworkModel& model, NetworkCalibration const& from, CalibrationRange range, Network network) {
    bool const between_domains = network == Network::scale_out;
    for (NetworkInterval const& interval : from.intervals)
        if (interval.between_domains == between_domains) model.intervals.push_back(interval);
    if (range == CalibrationRange::by_class) return;
    for (NetworkCorrection const& correction : from.corrections)
        if ((correction.domains > 1) == between_domains) model.corrections.push_back(correction);
}

void apply(ClusterSpec& cluster, NetworkCalibration const* own, std::span<NetworkCalibration const> others) {
    ScaleUpNetwork& up = cluster.scale_up;
    cluster.network_model = nullptr;
    if (up.kind == ScaleUpKind::torus || cluster.collective_model == CollectiveModel::plain) return;
    auto const& generation = cluster.accelerator.generation;
    auto const chosen = choose<ScaleUpConstants>(&NetworkCalibration::scale_up, own, others, cluster.name,
                                                 name_of(up.kind), generation);
    if (chosen.calibration == nullptr) return;
    auto model = std::make_shared<NetworkModel>();
    model->up = chosen.calibration->scale_up->constants;
    model->up_part = part_of(*chosen.calibration, chosen.range);
    if (chosen.range == CalibrationRange::by_class) keep_known_reduction(model->up, cluster);
    take_rest(*model, *chosen.calibration, chosen.range, Network::scale_up);
    if (chosen.range != CalibrationRange::by_class || has_efficiencies_of(chosen.calibration->scale_up->scope, cluster))
        set_efficiencies(up, *chosen.calibration->scale_up, model->up_part);
    if (cluster.scale_out) {
        ScaleOutNetwork& out = *cluster.scale_out;
        auto const far =
            choose<ScaleOutConstants>(&NetworkCalibration::scale_out, own, others, cluster.name, out.kind, generation);
        if (far.calibration != nullptr) {
            model->out = far.calibration->scale_out->constants;
            model->out_part = part_of(*far.calibration, far.range);
            take_rest(*model, *far.calibration, far.range, Network::scale_out);
            set_efficiencies(out, *far.calibration->scale_out, model->out_part);
        }
    }
    cluster.network_model = std::move(model);
}

}  // namespace

std::string_view name_of(CalibrationRange range) {
    switch (range) {
        case CalibrationRange::inside: return "inside";
        case CalibrationRange::outside: return "outside";
        case CalibrationRange::by_class: return "class";
    }
    return "class";
}

double NetworkCorrection::at(double log2_of_bytes) const {
    if (log2_bytes.empty()) return 0;
    auto const above = std::upper_bound(log2_bytes.begin(), log2_bytes.end(), log2_of_bytes);
    if (above == log2_bytes.begin()) return log_factor.front();
    if (above == log2_bytes.end()) return log_factor.back() * std::exp2(log2_bytes.back() - log2_of_bytes);
    auto const i = static_cast<std::size_t>(std::distance(log2_bytes.begin(), above));
    double const share = (log2_of_bytes - log2_bytes[i - 1]) / (log2_bytes[i] - log2_bytes[i - 1]);
    return log_factor[i - 1] + share * (log_factor[i] - log_factor[i - 1]);
}

double NetworkCorrection::jump_at(double log2_of_bytes) const {
    auto const above = std::find_if(jumps.begin(), jumps.end(),
                                    [&](SizeJump const& jump) { return jump.log2_bytes >= log2_of_bytes; });
    SizeJump const before = above == jumps.begin() ? SizeJump{-2, 0} : *std::prev(above);
    SizeJump const after = above == jumps.end() ? SizeJump{log2_of_bytes + 2, 0} : *above;
    double const reach = std::min(1.0, after.log2_bytes - before.log2_bytes);
    auto const share = [&](double distance) { return std::max(0.0, 1 - distance / reach); };
    return before.log_factor * share(log2_of_bytes - before.log2_bytes) +
           after.log_factor * share(after.log2_bytes - log2_of_bytes);
}

bool name_each_network(std::span<NetworkCalibration const> calibrations, ClusterSpec const& cluster) {
    auto const named = [&](auto member) {
        return std::any_of(calibrations.begin(), calibrations.end(),
                           [&](NetworkCalibration const& c) { return is_named(c, member, cluster.name); });
    };
    return named(&NetworkCalibration::scale_up) && (!cluster.scale_out || named(&NetworkCalibration::scale_out));
}

void apply_network_calibrations(ClusterSpec& cluster, std::span<NetworkCalibration const> calibrations) {
    apply(cluster, nullptr, calibrations);
}

void apply_network_calibration(ClusterSpec& cluster, NetworkCalibration const& own,
                               std::span<NetworkCalibration const> others) {
    if (own.scale_out && !cluster.scale_out)
        throw InputError("{}: has constants of a scale-out network ({} has none)", own.name, cluster.name);
    if (cluster.scale_up.kind == ScaleUpKind::torus)
        throw InputError("{}: is for switches, meshes and PCIe ({} is a torus)", own.name, cluster.name);
    apply(cluster, &own, others);
}

}  // namespace sextant
