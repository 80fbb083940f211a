#include "core/spec/kernel_catalog.hpp"

#include "core/embedded_text.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/changeable_values.hpp"
#include "core/spec/hardware_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace sextant {
namespace {

/// The shipped profile of this name without its kernels.
std::optional<AcceleratorProfile> shipped_values(std::string_view name) {
    for (EmbeddedText const& entry : embedded_accelerators()) {
        if (entry.name != name) continue;
        return read_accelerator_values(
            ObjectReader(JsonDocument::from_embedded(entry, "hardware_profiles/accelerators")));
    }
    return std::nullopt;
}

}  // namespace

std::shared_ptr<KernelCalibration const> shipped_kernel_calibration(std::string_view name) {
    static std::mutex guard;
    static std::map<std::string, std::shared_ptr<KernelCalibration const>, std::less<>> read;
    std::lock_guard const lock(guard);
    if (auto const found = read.find(name); found != read.end()) return found->second;
    std::shared_ptr<KernelCalibration const> calibration;
    for (EmbeddedText const& entry : embedded_kernels()) {
        if (entry.name != name) continue;
        auto const document = JsonDocument::from_embedded(entry, "hardware_profiles/calibrations/kernels");
        calibration = std::make_shared<KernelCalibration const>(read_kernel_calibration(ObjectReader(document)));
    }
    return read.emplace(name, std::move(calibration)).first->second;
}

namespace {

/// Rates of which one is so many times the other, apart by more than data sheets round.
bool differ(double ratio) { return std::abs(ratio - 1) > 0.01; }

/// What sets a device apart from the shipped one of its name, where that has a calibration; empty: nothing.
std::string unlike_shipped(AcceleratorProfile const& own) {
    if (!shipped_kernel_calibration(own.name)) return "";
    auto const shipped = shipped_values(own.name);
    if (!shipped) return "";
    std::string out;
    auto const add = [&](std::string const& what, std::string const& here, std::string const& there) {
        out += fmt::format("{}{} {} (shipped: {})", out.empty() ? "" : ", ", what, here, there);
    };
    for (auto const& [precision, peak] : own.peak) {
        auto const found = shipped->peak.find(precision);
        if (found != shipped->peak.end() && differ(peak.value / found->second.value))
            add(fmt::format("{} peak", name_of(precision)), human(peak.value), human(found->second.value));
    }
    if (own.multiprocessors.value != shipped->multiprocessors.value)
        add("multiprocessors", std::to_string(own.multiprocessors.value),
            std::to_string(shipped->multiprocessors.value));
    if (differ(own.memory_bandwidth.value / shipped->memory_bandwidth.value))
        add("memory bandwidth", human(own.memory_bandwidth.value), human(shipped->memory_bandwidth.value));
    return out;
}

template <class T>
bool is_set(Sourced<T> const& value) {
    return value.source.starts_with(changed_source);
}

}  // namespace

bool is_data_center_blackwell(AcceleratorProfile const& profile) {
    constexpr BytesPerSecond most_unstacked = 3e12 * units::B / units::s;  // assumed: GDDR7 has 1.8, HBM3e 7
    return profile.generation == "blackwell" && profile.memory_bandwidth.value > most_unstacked;
}

bool has_later_instructions(AcceleratorProfile const& profile) {
    return profile.generation == "hopper" || is_data_center_blackwell(profile);
}

std::string kernel_class(AcceleratorProfile const& profile, KernelKind kind, std::string_view variant) {
    bool const is_attention = kind == KernelKind::prefill || kind == KernelKind::decode;
    bool const is_earlier_product = kind == KernelKind::gemm && variant != "fp4" && variant != "fp8-block";
    bool const is_card = profile.generation == "blackwell" && !is_data_center_blackwell(profile);
    return "class-" + (is_card && (is_attention || is_earlier_product) ? std::string("ada") : profile.generation);
}

bool runs_kernels_of_others(AcceleratorProfile const& profile, KernelKind kind, std::string_view variant) {
    return profile.kernels && profile.kernels->is_class() &&
           kernel_class(profile, kind, variant) != "class-" + profile.generation;
}

void attach_kernels(AcceleratorProfile& profile) {
    bool const other = !unlike_shipped(profile).empty();
    for (std::string const& name : {profile.name, "class-" + profile.generation, std::string("class-any")}) {
        if (other && name == profile.name) continue;
        profile.kernels = shipped_kernel_calibration(name);
        if (profile.kernels) return;
    }
}

FittedSheet sheet_of(AcceleratorProfile const& profile) {
    FittedSheet out{.peak = {},
                    .memory_bandwidth = profile.memory_bandwidth.value,
                    .l2 = profile.l2.value,
                    .multiprocessors = profile.multiprocessors.value};
    for (auto const& [precision, peak] : profile.peak)
        out.peak.emplace(precision, peak.value);
    return out;
}

std::string sheet_note(AcceleratorProfile const& profile) {
    if (!profile.kernels || !profile.kernels->sheet) return "";
    FittedSheet const& fitted = *profile.kernels->sheet;
    std::string out;
    auto const add = [&](std::string const& what, std::string const& here, std::string const& there) {
        out += fmt::format("{}{} {} (now {})", out.empty() ? "" : ", ", what, there, here);
    };
    auto const rate = [&](std::string const& what, auto const& own, auto const& then) {
        if (!is_set(own) && then.base() > 0 && differ(own.value / then)) add(what, human(own.value), human(then));
    };
    for (auto const& [precision, peak] : profile.peak)
        if (auto const then = fitted.peak.find(precision); then != fitted.peak.end())
            rate(fmt::format("{} peak", name_of(precision)), peak, then->second);
    rate("memory bandwidth", profile.memory_bandwidth, fitted.memory_bandwidth);
    rate("l2", profile.l2, fitted.l2);
    if (!is_set(profile.multiprocessors) && profile.multiprocessors.value != fitted.multiprocessors)
        add("multiprocessors", std::to_string(profile.multiprocessors.value), std::to_string(fitted.multiprocessors));
    if (out.empty()) return "";
    return fmt::format(
        "kernels on {}: fitted with another data sheet of that name: {}; times are off by as much (fit the rows again "
        "with this profile, or give the other device another name)",
        profile.name, out);
}

std::string namesake_note(AcceleratorProfile const& profile) {
    if (profile.kernels && !profile.kernels->is_class()) return sheet_note(profile);
    std::string const what = unlike_shipped(profile);
    if (what.empty()) return "";
    return fmt::format(
        "kernels on {0}: the profile has {1}, so it is another device than the shipped one of its name and gets the "
        "kernels of its class (another name spares this note; 'sextant calibrate fit --kernels ROWS.csv --device "
        "FILE.json --out mine.json' fits its own, 'CLUSTER:calibration=mine.json' takes them)",
        profile.name, what);
}

}  // namespace sextant
