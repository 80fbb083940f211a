#include "core/spec/profile_change.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/engine_fields.hpp"
#include "core/spec/framework_fields.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/network_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>

namespace sextant {
namespace {

bool is_key_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/// Whether "key=" begins at `at`.
bool change_begins(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && is_key_character(text[end]))
        ++end;
    return end > at && end < text.size() && text[end] == '=';
}

/// What may be called by which names. A key that stands for several values takes a factor only.
struct Names {
    std::initializer_list<std::string_view> one;
    std::string_view several{};

    [[nodiscard]] bool has(std::string_view key) const {
        return (!several.empty() && key == several) || std::find(one.begin(), one.end(), key) != one.end();
    }
};

struct Range {
    double least = std::numeric_limits<double>::min();  ///< above zero
    double most = std::numeric_limits<double>::max();
};

std::optional<double> factor_of(std::string_view value) {
    if (!value.starts_with('x')) return std::nullopt;
    double factor = 0;
    auto const [stop, error] = std::from_chars(value.data() + 1, value.data() + value.size(), factor);
    if (error != std::errc{} || stop != value.data() + value.size()) return std::nullopt;
    return factor;
}

double number_of(std::string_view value, std::string_view where) {
    double number = 0;
    auto const [stop, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || stop != value.data() + value.size())
        throw InputError("{}: '{}' is not a number (a number, or a factor such as x0.5)", where, value.substr(0, 60));
    return number;
}

double base_of(double value) { return value; }
double base_of(std::int64_t value) { return static_cast<double>(value); }
template <class Q>
double base_of(Q value) {
    return value.base();
}

template <class T>
T from_base(double base) {
    if constexpr (std::is_same_v<T, double>)
        return base;
    else if constexpr (std::is_same_v<T, std::int64_t>)
        return static_cast<std::int64_t>(base);
    else
        return T::from_base(base);
}

template <class T>
T read_value(std::string_view value, std::string_view where) {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>)
        return from_base<T>(number_of(value, where));
    else
        return parse_quantity<T>(value, where);
}

/// Puts one change to every value that is shown to it under its key.
class Changer {
public:
    Changer(ProfileChange const& change, std::string_view where)
        : change_(change), where_(fmt::format("{}: {}", where, change.key)), factor_(factor_of(change.value)) {
        if (change.value.starts_with('x') && !(factor_ && std::isfinite(*factor_) && *factor_ >= 0))
            throw InputError("{}: '{}' is not a factor (such as x0.5)", where_, change.value.substr(0, 60));
    }

    template <class T>
    void operator()(Names const& names, Sourced<T>& value, Range range = {}) {
        if (!names.has(change_.key)) return;
        found_ = true;
        if (change_.key == names.several) require_factor("several values");
        double const before = base_of(value.value);
        double const after = factor_ ? before * *factor_ : base_of(read_value<T>(change_.value, where_));
        bool const whole = !std::is_same_v<T, std::int64_t> || after == std::floor(after);
        if (!(after >= range.least && after <= range.most) || !whole)
            throw InputError("{}: '{}' makes it {:g} ({})", where_, change_.value, after,
                             whole ? allowed(range) : "a whole number is expected");
        std::string source = fmt::format("set to {} (was {:.6g}: {})", change_.value, before, value.source);
        value = {from_base<T>(after), Basis::assumed, std::move(source)};
    }

    /// Every latency of a network.
    template <class Apply>
    void latencies(std::string_view key, Apply const& apply) {
        if (change_.key != key) return;
        found_ = true;
        require_factor("all latencies of a network");
        apply(*factor_);
    }

    /// A value that is there, but that nothing would look at.
    void unused(Names const& names, std::string_view why) const {
        if (names.has(change_.key)) throw InputError("{}: {}", where_, why);
    }

    [[nodiscard]] bool found() const { return found_; }
    [[noreturn]] void refuse_unknown(std::vector<std::string> const& known) const {
        throw InputError("{}: no such value{} (known: {})", where_, did_you_mean(change_.key, known), join(known));
    }

private:
    void require_factor(std::string_view what) const {
        if (!factor_)
            throw InputError("{}: '{}' (it stands for {} and takes a factor such as x0.5)", where_, change_.value,
                             what);
    }
    static std::string allowed(Range range) {
        if (range.most == std::numeric_limits<double>::max()) return "it must be above 0";
        if (range.least == std::numeric_limits<double>::min()) return fmt::format("above 0, up to {:g}", range.most);
        return fmt::format("{:g} to {:g}", range.least, range.most);
    }

    ProfileChange const& change_;
    std::string where_;
    std::optional<double> factor_;
    bool found_ = false;
};

/// Lists the names that it is shown.
class NameList {
public:
    template <class T>
    void operator()(Names const& names, Sourced<T> const& /*value*/, Range /*range*/ = {}) {
        names_.insert(names_.end(), names.one.begin(), names.one.end());
        if (!names.several.empty()) names_.emplace_back(names.several);
    }
    template <class Apply>
    void latencies(std::string_view key, Apply const& /*apply*/) {
        names_.emplace_back(key);
    }
    void unused(Names const& /*names*/, std::string_view /*why*/) {}
    std::vector<std::string> take() {
        std::vector<std::string> unique;
        for (std::string& name : names_)
            if (std::find(unique.begin(), unique.end(), name) == unique.end()) unique.push_back(std::move(name));
        return unique;
    }

private:
    std::vector<std::string> names_;
};

constexpr Range share{.most = 1};

template <class Visit>
void visit_accelerator(AcceleratorProfile& a, Visit& visit) {
    for (auto& [precision, peak] : a.peak) {
        std::string const key = fmt::format("peak.{}", name_of(precision));
        visit({{key}, "peak"}, peak);
    }
    visit({{"vector_peak"}}, a.vector_peak);
    visit({{"memory_capacity", "hbm_capacity"}}, a.memory_capacity);
    visit({{"memory_bandwidth", "hbm_bandwidth"}}, a.memory_bandwidth);
    visit({{"l2"}}, a.l2);
    visit({{"multiprocessors"}}, a.multiprocessors, {.least = 1, .most = 1e6});
    visit({{"host_bandwidth"}}, a.host_bandwidth);
    visit({{"power_watts"}}, a.power_watts, {.least = 1, .most = 1e5});
    bool const measured = a.kernels && a.kernels->name == a.name;
    for (auto& [precision, efficiency] : a.gemm_efficiency) {
        std::string const key = fmt::format("gemm_efficiency.{}", name_of(precision));
        if (measured)
            visit.unused({{key}, "gemm_efficiency"}, "the device's matrix products are calibrated (peak=x0.9 fits)");
        else
            visit({{key}, "gemm_efficiency"}, efficiency, share);
    }
    visit({{"attention_forward_efficiency"}}, a.attention_forward_efficiency, share);
    visit({{"attention_backward_efficiency"}}, a.attention_backward_efficiency, share);
    visit({{"memory_efficiency"}}, a.memory_efficiency, share);
    visit({{"launch_latency"}}, a.launch_latency, {.least = 0, .most = 1});
}

template <class Constants, class Fields>
void scale_times(Constants& constants, Fields const& fields, double factor) {
    for (auto const& field : fields)
        constants.*field.member *= factor;
}

/// The latencies of one network: those of the cluster file, and, where it is calibrated, the fitted ones.
template <class Network, class Scale>
auto scale_latencies(ClusterSpec& cluster, Network& network, Scale scale) {
    return [&cluster, &network, scale](double factor) {
        network.base_latency.value *= factor;
        network.hop_latency.value *= factor;
        network.base_latency.basis = network.hop_latency.basis = Basis::assumed;
        if (!cluster.network_model) return;
        auto model = std::make_shared<NetworkModel>(*cluster.network_model);
        scale(*model, factor);
        cluster.network_model = std::move(model);
    };
}

template <class Visit>
void visit_latencies(ClusterSpec& cluster, Visit& visit) {
    visit.latencies("intra_node_latency", scale_latencies(cluster, cluster.scale_up, [](NetworkModel& m, double f) {
                        scale_times(m.up, scale_up_times, f);
                    }));
    if (cluster.scale_out)
        visit.latencies("inter_node_latency",
                        scale_latencies(cluster, *cluster.scale_out, [](NetworkModel& m, double f) {
                            if (m.out) scale_times(*m.out, scale_out_times, f);
                        }));
}

template <class Visit>
void visit_network(ClusterSpec& cluster, Visit& visit) {
    ScaleUpNetwork& up = cluster.scale_up;
    visit({{"scale_up.bandwidth", "intra_node_bandwidth"}}, up.bandwidth);
    visit({{"scale_up.ring_efficiency"}}, up.ring_efficiency, share);
    visit({{"scale_up.all_to_all_efficiency"}}, up.all_to_all_efficiency, share);
    if (cluster.scale_out) {
        ScaleOutNetwork& out = *cluster.scale_out;
        visit({{"scale_out.bandwidth", "inter_node_bandwidth"}}, out.bandwidth);
        visit({{"scale_out.ring_efficiency"}}, out.ring_efficiency, share);
        visit({{"scale_out.all_to_all_efficiency"}}, out.all_to_all_efficiency, share);
        visit({{"scale_out.oversubscription", "oversubscription"}}, out.oversubscription, {.least = 1, .most = 1000});
    }
    constexpr Range latency{.least = 0, .most = 1};
    if (cluster.network_model) {
        visit.unused({{"scale_up.base_latency", "scale_up.hop_latency"}},
                     "its collectives are calibrated (intra_node_latency=x2 fits)");
        visit.unused({{"scale_out.base_latency", "scale_out.hop_latency"}},
                     "its collectives are calibrated (inter_node_latency=x2 fits)");
    } else {
        visit({{"scale_up.base_latency"}}, up.base_latency, latency);
        visit({{"scale_up.hop_latency"}}, up.hop_latency, latency);
        if (cluster.scale_out) {
            visit({{"scale_out.base_latency"}}, cluster.scale_out->base_latency, latency);
            visit({{"scale_out.hop_latency"}}, cluster.scale_out->hop_latency, latency);
        }
    }
    visit_latencies(cluster, visit);
}

template <class Visit>
void visit_cluster(ClusterSpec& cluster, Visit& visit) {
    visit_network(cluster, visit);
    if (cluster.scale_up.kind != ScaleUpKind::torus) {
        Sourced<std::int64_t> size{cluster.domain_size, Basis::datasheet, "domain_size"};
        visit({{"domain_size", "gpus_per_node"}}, size, {.least = 1, .most = 1e6});
        cluster.domain_size = size.value;
    }
    visit({{"host_memory"}}, cluster.host_memory);
    auto& price =
        cluster.usd_per_accelerator_hour ? cluster.usd_per_accelerator_hour : cluster.accelerator.price_usd_per_hour;
    if (price) visit({{"usd_per_accelerator_hour", "price_usd_per_hour", "price"}}, *price, {.least = 0, .most = 1e6});
    visit_accelerator(cluster.accelerator, visit);
}

template <class Owner, class Fields, class Visit>
void visit_fields(Owner& owner, Fields const& fields, Visit& visit) {
    for (auto const& field : fields) {
        Range range{.least = 0, .most = field.most};
        if constexpr (requires { field.least; }) range.least = field.least;
        visit({{field.key}}, owner.*field.member, range);
    }
}

template <class Visit>
void visit_framework(FrameworkProfile& framework, Visit& visit) {
    for (FrameworkTiming& timing : framework.timing) {
        visit_fields(timing, timing_numbers, visit);
        visit_fields(timing, timing_times, visit);
    }
    visit_fields(framework.memory, memory_numbers, visit);
    visit_fields(framework.memory, memory_sizes, visit);
}

template <class Visit>
void visit_engine(EngineProfile& engine, Visit& visit) {
    visit_fields(engine, engine_numbers, visit);
    visit_fields(engine, engine_times, visit);
    visit_fields(engine, engine_sizes, visit);
}

template <class Profile, class VisitAll>
std::vector<std::string> keys_of(Profile profile, VisitAll const& visit_all) {
    NameList names;
    visit_all(profile, names);
    return names.take();
}

template <class Profile, class VisitAll>
void apply_all(Profile& profile, std::vector<ProfileChange> const& changes, std::string_view where,
               VisitAll const& visit_all) {
    for (ProfileChange const& change : changes) {
        Changer changer(change, fmt::format("{}: {}", where, profile.name));
        visit_all(profile, changer);
        if (!changer.found()) changer.refuse_unknown(keys_of(profile, visit_all));
        profile.name += fmt::format(":{}={}", change.key, change.value);
    }
}

constexpr auto all_of_cluster = [](ClusterSpec& c, auto& visit) { visit_cluster(c, visit); };
constexpr auto all_of_framework = [](FrameworkProfile& f, auto& visit) { visit_framework(f, visit); };
constexpr auto all_of_engine = [](EngineProfile& e, auto& visit) { visit_engine(e, visit); };

}  // namespace

ChangedName split_changes(std::string_view text, std::string_view where) {
    ChangedName out;
    std::size_t colon = 0;
    while (colon < text.size() && !(text[colon] == ':' && change_begins(text, colon + 1)))
        ++colon;
    out.name = std::string(text.substr(0, colon));
    while (colon < text.size()) {
        std::size_t const key = colon + 1;
        std::size_t const equals = text.find('=', key);
        std::size_t end = equals + 1;
        while (end < text.size() && !(text[end] == ':' && change_begins(text, end + 1)))
            ++end;
        ProfileChange change{.key = std::string(text.substr(key, equals - key)),
                             .value = std::string(text.substr(equals + 1, end - equals - 1))};
        if (change.value.empty())
            throw InputError("{}: {}: has no value (such as {}=x0.5)", where, change.key, change.key);
        out.changes.push_back(std::move(change));
        colon = end;
    }
    return out;
}

void apply_changes(ClusterSpec& cluster, std::vector<ProfileChange> const& changes, std::string_view where) {
    apply_all(cluster, changes, where, all_of_cluster);
}
void apply_changes(FrameworkProfile& framework, std::vector<ProfileChange> const& changes, std::string_view where) {
    apply_all(framework, changes, where, all_of_framework);
}
void apply_changes(EngineProfile& engine, std::vector<ProfileChange> const& changes, std::string_view where) {
    apply_all(engine, changes, where, all_of_engine);
}

std::vector<std::string> changeable_keys(ClusterSpec const& cluster) { return keys_of(cluster, all_of_cluster); }
std::vector<std::string> changeable_keys(FrameworkProfile const& framework) {
    return keys_of(framework, all_of_framework);
}
std::vector<std::string> changeable_keys(EngineProfile const& engine) { return keys_of(engine, all_of_engine); }

}  // namespace sextant
