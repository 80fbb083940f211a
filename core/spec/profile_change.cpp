#include "core/spec/profile_change.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/calibration_file.hpp"
#include "core/spec/changeable_values.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace sextant {
namespace {

constexpr std::string_view release_key = "release";

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

/// A value that this key takes, for messages.
std::string_view example_of(std::string_view key) {
    if (key == release_key) return "24.07";
    return key == calibration_key ? "FILE.json" : "x0.5";
}

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
double read_base(std::string_view value, std::string_view where) {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>)
        return number_of(value, where);
    else
        return parse_quantity<T>(value, where).base();
}

/// Puts one change to every value that is shown to it under its key.
class Changer {
public:
    Changer(ProfileChange const& change, std::string_view where)
        : change_(change), where_(fmt::format("{}: {}", where, change.key)), factor_(factor_of(change.value)) {
        bool const meant = change.value.starts_with('x') && change.key != release_key;
        if (meant && !(factor_ && std::isfinite(*factor_) && *factor_ >= 0))
            throw InputError("{}: '{}' is not a factor (such as x0.5)", where_, change.value.substr(0, 60));
    }

    template <class T>
    void operator()(ChangeNames const& names, Sourced<T>& value, ChangeRange range = {}) {
        if (!names.has(change_.key)) return;
        found_ = true;
        if (change_.key == names.several) require_factor("several values");
        double const before = base_of(value.value);
        double const after = factor_ ? before * *factor_ : read_base<T>(change_.value, where_);
        bool const whole = !std::is_same_v<T, std::int64_t> || after == std::floor(after);
        if (!(after >= range.least && after <= range.most) || !whole)
            throw InputError("{}: '{}' makes it {:g} ({})", where_, change_.value, after,
                             whole ? allowed(range) : "a whole number is expected");
        std::string source = fmt::format("{}{} (was {:.6g}: {})", changed_source, change_.value, before, value.source);
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

    /// The release that a framework's constants hold for.
    void release(FrameworkProfile& framework) {
        if (change_.key != release_key || !framework.releases) return;
        found_ = true;
        std::optional<Release> const wanted = parse_release(change_.value);
        auto const& [first, last, at] = *framework.releases;
        if (!wanted)
            throw InputError("{}: '{}' is no release (year and month as YY.MM, from {} to {})", where_,
                             change_.value.substr(0, 60), name_of(first), name_of(last));
        if (*wanted < first || *wanted > last)
            throw InputError("{}: '{}' was not measured ({} to {} were; without it, {})", where_, change_.value,
                             name_of(first), name_of(last), name_of(at));
        move_to(framework, *wanted);
    }

    /// A value that is there, but that nothing would look at.
    void unused(ChangeNames const& names, std::string_view why) const {
        if (names.has(change_.key)) throw InputError("{}: {}", where_, why);
    }
    /// The same as long as another value is as it is.
    void needs(ChangeNames const& names, std::string_view why) const { unused(names, why); }

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
    static std::string allowed(ChangeRange range) {
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
    void operator()(ChangeNames const& names, Sourced<T> const& /*value*/, ChangeRange /*range*/ = {}) {
        names_.insert(names_.end(), names.one.begin(), names.one.end());
        if (!names.several.empty()) names_.emplace_back(names.several);
    }
    template <class Apply>
    void latencies(std::string_view key, Apply const& /*apply*/) {
        names_.emplace_back(key);
    }
    void release(FrameworkProfile const& framework) {
        if (framework.releases) names_.emplace_back(release_key);
    }
    void unused(ChangeNames const& /*names*/, std::string_view /*why*/) {}
    void needs(ChangeNames const& names, std::string_view /*why*/) {
        names_.insert(names_.end(), names.one.begin(), names.one.end());
    }
    std::vector<std::string> take() {
        std::vector<std::string> unique;
        for (std::string& name : names_)
            if (std::find(unique.begin(), unique.end(), name) == unique.end()) unique.push_back(std::move(name));
        return unique;
    }

private:
    std::vector<std::string> names_;
};

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

/// Measurements of a network are of the rates and domains that it had: of others they say what a profile's constants
/// say, not how far off these are.
void mark_as_changed(ClusterSpec& cluster, ClusterSpec const& before) {
    auto const differ = [](BytesPerSecond a, BytesPerSecond b) { return std::abs(a / b - 1) > 0.05; };
    bool const up = cluster.domain_size != before.domain_size ||
                    differ(cluster.scale_up.bandwidth.value, before.scale_up.bandwidth.value);
    bool const out = cluster.scale_out && differ(cluster.scale_out->bandwidth.value, before.scale_out->bandwidth.value);
    if (!cluster.network_model || (!up && !out)) return;
    auto model = std::make_shared<NetworkModel>(*cluster.network_model);
    model->up_part.changed |= up;
    model->out_part.changed = true;  // what goes between domains goes through both
    cluster.network_model = std::move(model);
}

}  // namespace

std::string_view given_name(std::string_view text, std::string_view where) {
    auto const is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    std::string_view const name = trimmed(text);
    if (std::none_of(name.begin(), name.end(), is_control)) return name;
    std::string escaped;
    for (char const c : name.substr(0, 100))
        escaped += is_control(c) ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
    throw InputError("{}: '{}' has a control character (\\x0a is the end of a line; names and paths are without)",
                     where, escaped);
}

ChangedName split_changes(std::string_view given, std::string_view where) {
    std::string_view const text = given_name(given, where);
    ChangedName out;
    std::size_t colon = 0;
    while (colon < text.size() && !(text[colon] == ':' && change_begins(text, colon + 1)))
        ++colon;
    out.name = std::string(trimmed(text.substr(0, colon)));
    while (colon < text.size()) {
        std::size_t const key = colon + 1;
        std::size_t const equals = text.find('=', key);
        std::size_t end = equals + 1;
        while (end < text.size() && !(text[end] == ':' && change_begins(text, end + 1)))
            ++end;
        ProfileChange change{.key = std::string(text.substr(key, equals - key)),
                             .value = std::string(text.substr(equals + 1, end - equals - 1))};
        if (change.value.empty())
            throw InputError("{}: {}: has no value (such as {}={})", where, change.key, change.key,
                             example_of(change.key));
        out.changes.push_back(std::move(change));
        colon = end;
    }
    return out;
}

void apply_changes(ClusterSpec& cluster, std::vector<ProfileChange> const& changes, std::string_view where) {
    // Fitted constants first: they are what the other changes start from, and they go by the cluster's own name.
    std::string name = cluster.name;
    std::vector<std::string> calibrations;
    std::vector<ProfileChange> others;
    for (ProfileChange const& change : changes) {
        if (change.key != calibration_key) {
            others.push_back(change);
            continue;
        }
        calibrations.push_back(change.value);
        name += fmt::format(":{}={}", change.key, change.value);
    }
    attach_calibrations(cluster, calibrations, fmt::format("{}: {}: {}", where, cluster.name, calibration_key));
    cluster.name = name;
    for (ProfileChange const& change : others)
        name += fmt::format(":{}={}", change.key, change.value);
    // Pods before the uplinks that join them, in whatever order they are given.
    std::stable_partition(others.begin(), others.end(),
                          [](ProfileChange const& change) { return change.key.ends_with("pod_domains"); });
    ClusterSpec const before = cluster;
    apply_all(cluster, others, where, all_of_cluster);
    cluster.name = std::move(name);
    mark_as_changed(cluster, before);
}
void apply_changes(FrameworkProfile& framework, std::vector<ProfileChange> const& changes, std::string_view where) {
    if (framework.family.empty()) framework.family = framework.name;
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
