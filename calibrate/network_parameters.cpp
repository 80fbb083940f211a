#include "calibrate/network_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace sextant {
namespace {

template <class Constants>
struct Fields;
template <>
struct Fields<ScaleUpConstants> {
    static constexpr auto const& times = scale_up_times;
    static constexpr auto const& numbers = scale_up_numbers;
};
template <>
struct Fields<ScaleOutConstants> {
    static constexpr auto const& times = scale_out_times;
    static constexpr auto const& numbers = scale_out_numbers;
};

double base_of(double value) { return value; }
double base_of(Seconds value) { return value.base(); }
void set_base(double& value, double base) { value = base; }
void set_base(Seconds& value, double base) { value = base * units::s; }

/// Calls `use(field)` for every field of the constants.
template <class Constants, class Use>
void each_field(Use const& use) {
    for (auto const& field : Fields<Constants>::times)
        use(field);
    for (auto const& field : Fields<Constants>::numbers)
        use(field);
}

template <class Constants>
double spread_of(std::string_view key, bool is_time, NetworkPriorSpreads const& spreads) {
    if (key == "latency_scale") return spreads.latency_scale;
    if (key.find("_hop_") != std::string_view::npos || key == "nvls_tree_hop") return spreads.hop;
    if (key == "added" || key == "ramp" || key == "ring_ramp") return 2 * spreads.latency;
    // Rings and trees of large messages stay near what NICs and links give: 0.9 to 0.98 on healthy networks.
    if (key == "ring" && std::is_same_v<Constants, ScaleOutConstants>) return 0.5 * spreads.rate;
    if (key == "tree") return spreads.tree.value_or(0.25 * spreads.rate);
    if (key == "nvls_inside") return 0.25 * spreads.rate;
    if (key.starts_with("copy_") || key.ends_with("_share") || key.ends_with("_gain")) return 2 * spreads.rate;
    if (key == "ll" || key == "exchange_ll") return 2 * spreads.rate;
    return is_time ? spreads.latency : spreads.rate;
}

/// A logarithmic scale needs a bound above zero: no smaller copy makes a difference.
constexpr double least_number = 1e-3;

}  // namespace

ScaleUpConstants tuner_scale_up() {
    using units::us;
    ScaleUpConstants c;
    c.base_ll = 6.6 * us;
    c.base_ll128 = 8 * us;
    c.base_simple = 12 * us;
    c.ramp = 12 * us;
    c.hop_ll = 0.6 * us;
    c.hop_ll128 = 1.2 * us;
    c.hop_simple = 2 * us;
    c.ll = 0.05;
    c.ll128 = 0.4;
    c.ring = 0.8;
    c.small_rate = 0.7;
    c.copy_all_reduce = c.copy_all_gather = c.copy_reduce_scatter = c.copy_all_to_all = 0.4;
    c.nvls_base = 40 * us;
    c.nvls = 0.7;
    c.nvls_share = 1;
    c.nvls_small_latency = 0.5;
    c.nvls_small_rate = 0.6;
    c.exchange_base_ll = 8 * us;
    c.exchange_base_simple = 16 * us;
    c.exchange_peer = 0.2 * us;
    c.exchange_ll = 0.05;
    c.exchange = 0.74;
    c.pair_gain = c.quad_gain = 1;
    return c;
}

ScaleOutConstants tuner_scale_out() {
    using units::us;
    ScaleOutConstants c;
    c.added = 8 * us;
    c.latency_scale = 1;
    c.ring_hop_ll = 2.7 * us;
    c.ring_hop_ll128 = 8 * us;
    c.ring_hop_simple = 16 * us;
    c.ring_ramp = 60 * us;
    c.tree_hop_ll = 3 * us;
    c.tree_hop_ll128 = 9 * us;
    c.tree_hop_simple = 20 * us;
    c.nvls_tree_hop = 40 * us;
    c.ring = 0.92;
    c.tree = 0.92;
    c.ll = 0.02;
    c.ll128 = 0.35;
    c.tree_inside = 1;
    c.nvls_inside = 0.95;
    c.ring_small_rate = 0.5;
    c.small_latency = 0.55;
    c.small_rate = 0.4;
    c.exchange_base = 20 * us;
    c.exchange_peer = 0.2 * us;
    c.exchange = 0.65;
    return c;
}

bool is_scale_out_latency(std::string_view key) {
    auto const is_key = [&](auto const& time) { return time.key == key; };
    return key == "latency_scale" || (key != "ring_ramp" && std::ranges::any_of(scale_out_times, is_key));
}

template <class Constants>
NetworkParameters<Constants>::NetworkParameters(Constants const& start, std::vector<std::string_view> keys,
                                                NetworkPriorSpreads const& spreads)
    : start_(start) {
    each_field<Constants>([&](auto const& field) {
        free_.push_back(std::find(keys.begin(), keys.end(), field.key) != keys.end());
        if (!free_.back()) return;
        constexpr bool is_time = std::is_same_v<std::decay_t<decltype(start.*field.member)>, Seconds>;
        double const low = std::max(field.low, is_time ? 0 : least_number);
        double const value = std::clamp(base_of(start.*field.member), low * 1.001, field.high * 0.999);
        parameters_.push_back({.name = std::string(field.key),
                               .start = value,
                               .low = low,
                               .high = field.high,
                               .scale = FitScale::logarithmic,
                               .prior = FitPrior{value, spread_of<Constants>(field.key, is_time, spreads)}});
    });
}

template <class Constants>
Constants NetworkParameters<Constants>::with(std::span<double const> values) const {
    Constants out = start_;
    std::size_t i = 0;
    auto is_free = free_.begin();
    each_field<Constants>([&](auto const& field) {
        if (*is_free++) set_base(out.*field.member, values[i++]);
    });
    return out;
}

template <class Constants>
std::vector<ConstantNote> NetworkParameters<Constants>::notes(FitResult const& fit) const {
    constexpr double narrowed = 0.7;  // of the prior's spread
    std::vector<ConstantNote> out;
    each_field<Constants>([&](auto const& field) {
        ConstantNote note{.key = std::string(field.key)};
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            if (parameters_[i].name != field.key) continue;
            note.spread = fit.parameters[i].spread;
            if (note.spread && *note.spread < narrowed * parameters_[i].prior->spread && !fit.parameters[i].at_bound)
                note.basis = Basis::fitted;
        }
        out.push_back(std::move(note));
    });
    return out;
}

template class NetworkParameters<ScaleUpConstants>;
template class NetworkParameters<ScaleOutConstants>;

}  // namespace sextant
