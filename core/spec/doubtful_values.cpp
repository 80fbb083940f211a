#include "core/spec/doubtful_values.hpp"

#include "core/embedded_text.hpp"
#include "core/nearest.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace sextant {
namespace {

// assumed: some ten times beyond what shipped devices have, which read their memory in 14 ms to 0.47 s and reach 2,000
// FLOPs for each of its bytes at the most.
constexpr Seconds least_sweep = 1 * units::ms;
constexpr Seconds most_sweep = 5 * units::s;
constexpr double most_flops_per_byte = 10000;

/// Whether a shipped device is of its generation, by the texts of their files: to read them all takes longer than an
/// estimate. The one of its own name, where there is one, tells it at once.
bool is_shipped_generation(AcceleratorProfile const& profile) {
    std::string const line = fmt::format("\"generation\": \"{}\"", profile.generation);
    auto const texts = embedded_accelerators();
    auto const says = [&](EmbeddedText const& file) { return file.text.find(line) != std::string_view::npos; };
    auto const own =
        std::find_if(texts.begin(), texts.end(), [&](EmbeddedText const& file) { return file.name == profile.name; });
    return (own != texts.end() && says(*own)) || std::any_of(texts.begin(), texts.end(), says);
}

std::vector<std::string> known_generations() {
    std::vector<std::string> out;
    for (AcceleratorProfile const& a : all_accelerators())
        if (std::find(out.begin(), out.end(), a.generation) == out.end()) out.push_back(a.generation);
    return out;
}

void add_generation(std::vector<std::string>& out, AcceleratorProfile const& profile) {
    if (is_shipped_generation(profile)) return;
    std::vector<std::string> const known = known_generations();
    out.push_back(
        fmt::format("{}: generation '{}' is none that ships{}: kernels and frameworks are those of any device",
                    profile.name, profile.generation, did_you_mean(profile.generation, known)));
}

void add_memory(std::vector<std::string>& out, AcceleratorProfile const& profile) {
    Seconds const sweep = profile.memory_capacity.value / profile.memory_bandwidth.value;
    if (sweep < least_sweep || sweep > most_sweep)
        out.push_back(fmt::format("{}: reads its {} of memory in {} (GB, TB, GB/s and TB/s are 10^9 and 10^12 bytes)",
                                  profile.name, human(profile.memory_capacity.value), human(sweep)));
    if (profile.l2.value >= profile.memory_capacity.value)
        out.push_back(fmt::format("{}: an l2 of {} beside {} of memory", profile.name, human(profile.l2.value),
                                  human(profile.memory_capacity.value)));
}

void add_peaks(std::vector<std::string>& out, AcceleratorProfile const& profile) {
    auto const least = std::min_element(profile.peak.begin(), profile.peak.end(),
                                        [](auto const& a, auto const& b) { return a.second.value < b.second.value; });
    auto const& [widest, of_widest] = *profile.peak.begin();
    bool const bf16_beside_fp16 = widest == Precision::fp16 && least->first == Precision::bf16;  // half of it on MI100
    if (least->first != widest && least->second.value < 0.99 * of_widest.value && !bf16_beside_fp16)
        out.push_back(fmt::format("{}: a {} peak of {} below that of {}, {}", profile.name, name_of(least->first),
                                  human(least->second.value), name_of(widest), human(of_widest.value)));
    FlopsPerSecond most{};
    for (auto const& [precision, peak] : profile.peak)
        most = std::max(most, peak.value);
    if (profile.vector_peak.value > most)
        out.push_back(fmt::format("{}: a vector_peak of {} above all of its matrix units, {}", profile.name,
                                  human(profile.vector_peak.value), human(most)));
    if (most.base() > most_flops_per_byte * profile.memory_bandwidth.value.base())
        out.push_back(fmt::format("{}: a peak of {} over a memory of {}", profile.name, human(most),
                                  human(profile.memory_bandwidth.value)));
}

}  // namespace

std::vector<std::string> doubtful_values(AcceleratorProfile const& profile) {
    std::vector<std::string> out;
    add_generation(out, profile);
    add_memory(out, profile);
    add_peaks(out, profile);
    if (!(profile.host_bandwidth.value < profile.memory_bandwidth.value))
        out.push_back(fmt::format("{}: a host_bandwidth of {} is not below that of its memory, {}", profile.name,
                                  human(profile.host_bandwidth.value), human(profile.memory_bandwidth.value)));
    return out;
}

std::vector<std::string> doubtful_values(ClusterSpec const& cluster) {
    std::vector<std::string> out = doubtful_values(cluster.accelerator);
    ScaleUpNetwork const& up = cluster.scale_up;
    if (cluster.domain_size > 1 && !(up.bandwidth.value < cluster.accelerator.memory_bandwidth.value))
        out.push_back(
            fmt::format("{}: scale_up of {} is not below the memory of a device, {} (GB/s are bytes, Gbit/s "
                        "bits; one direction)",
                        cluster.name, human(up.bandwidth.value), human(cluster.accelerator.memory_bandwidth.value)));
    if (cluster.domain_size > 1 && cluster.scale_out && cluster.scale_out->bandwidth.value > up.bandwidth.value)
        out.push_back(
            fmt::format("{}: scale_out of {} a device is above scale_up, {} (scale_out is per device, not per "
                        "node; GB/s are bytes, Gbit/s bits; one direction)",
                        cluster.name, human(cluster.scale_out->bandwidth.value), human(up.bandwidth.value)));
    return out;
}

std::vector<std::string> notes_on_profile(ClusterSpec const& cluster) {
    std::vector<std::string> out = namesake_notes(cluster);
    for (std::string& doubt : doubtful_values(cluster))
        out.push_back("please check: " + std::move(doubt));
    return out;
}

}  // namespace sextant
