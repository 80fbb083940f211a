#include "core/spec/profile_values.hpp"

#include "core/quantity_text.hpp"
#include "core/spec/framework_fields.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

struct Shown {
    double base;
    char const* unit;
    std::string text;
};

Shown shown(double value) { return {value, "", fmt::format("{:.4g}", value)}; }
Shown shown(std::int64_t value) { return {static_cast<double>(value), "", fmt::format("{}", value)}; }
Shown shown(Seconds value) { return {value.base(), "s", human(value)}; }
Shown shown(Bytes value) { return {value.base(), "B", human(value)}; }
Shown shown(BytesPerSecond value) { return {value.base(), "B/s", human(value)}; }
Shown shown(FlopsPerSecond value) { return {value.base(), "FLOP/s", human(value)}; }

class ValueList {
public:
    explicit ValueList(std::string prefix) : prefix_(std::move(prefix)) {}

    template <class T>
    void add(std::string_view key, Sourced<T> const& value) {
        auto form = shown(value.value);
        values_.push_back(
            {prefix_ + std::string(key), form.base, form.unit, std::move(form.text), value.basis, value.source});
    }
    void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
    std::vector<ProfileValue> take() { return std::move(values_); }

private:
    std::string prefix_;
    std::vector<ProfileValue> values_;
};

}  // namespace

std::vector<ProfileValue> values_of(AcceleratorProfile const& accelerator) {
    ValueList list("");
    for (auto const& [precision, peak] : accelerator.peak)
        list.add(fmt::format("peak.{}", name_of(precision)), peak);
    if (accelerator.int8_peak) list.add("int8_peak", *accelerator.int8_peak);
    list.add("vector_peak", accelerator.vector_peak);
    list.add("memory_capacity", accelerator.memory_capacity);
    list.add("memory_bandwidth", accelerator.memory_bandwidth);
    list.add("l2", accelerator.l2);
    list.add("multiprocessors", accelerator.multiprocessors);
    list.add("host_bandwidth", accelerator.host_bandwidth);
    if (accelerator.host_update_bandwidth) list.add("host_update_bandwidth", *accelerator.host_update_bandwidth);
    list.add("power_watts", accelerator.power_watts);
    for (auto const& [precision, value] : accelerator.gemm_efficiency)
        list.add(fmt::format("gemm_efficiency.{}", name_of(precision)), value);
    list.add("attention_forward_efficiency", accelerator.attention_forward_efficiency);
    list.add("attention_backward_efficiency", accelerator.attention_backward_efficiency);
    list.add("memory_efficiency", accelerator.memory_efficiency);
    list.add("launch_latency", accelerator.launch_latency);
    if (accelerator.price_usd_per_hour) list.add("price_usd_per_hour", *accelerator.price_usd_per_hour);
    return list.take();
}

std::vector<ProfileValue> values_of(ClusterSpec const& cluster) {
    ValueList list("scale_up.");
    auto const& up = cluster.scale_up;
    list.add("bandwidth", up.bandwidth);
    list.add("ring_efficiency", up.ring_efficiency);
    list.add("all_to_all_efficiency", up.all_to_all_efficiency);
    if (up.in_network_reduction_efficiency)
        list.add("in_network_reduction_efficiency", *up.in_network_reduction_efficiency);
    list.add("base_latency", up.base_latency);
    list.add("hop_latency", up.hop_latency);
    if (up.pair_bandwidth) {
        list.add("pair_bandwidth", *up.pair_bandwidth);
        list.add("pair_efficiency", up.pair_efficiency);
    }
    if (up.quad_bandwidth) list.add("quad_bandwidth", *up.quad_bandwidth);
    if (cluster.scale_out) {
        auto const& out = *cluster.scale_out;
        list.set_prefix("scale_out.");
        list.add("bandwidth", out.bandwidth);
        list.add("ring_efficiency", out.ring_efficiency);
        list.add("all_to_all_efficiency", out.all_to_all_efficiency);
        if (out.in_network_reduction_efficiency)
            list.add("in_network_reduction_efficiency", *out.in_network_reduction_efficiency);
        list.add("base_latency", out.base_latency);
        list.add("hop_latency", out.hop_latency);
        list.add("oversubscription", out.oversubscription);
    }
    list.set_prefix("");
    list.add("host_memory", cluster.host_memory);
    if (cluster.usd_per_accelerator_hour) list.add("usd_per_accelerator_hour", *cluster.usd_per_accelerator_hour);
    return list.take();
}

std::vector<ProfileValue> values_of(FrameworkTiming const& timing) {
    ValueList list(fmt::format("timing[{}/{}].", timing.generation, timing.precision));
    for (auto const& field : timing_numbers)
        if (is_stated(field, timing)) list.add(field.key, timing.*field.member);
    for (auto const& field : timing_times)
        list.add(field.key, timing.*field.member);
    return list.take();
}

namespace {

std::vector<ProfileValue> memory_values(std::string prefix, FrameworkMemory const& memory) {
    ValueList list(std::move(prefix));
    for (auto const& field : memory_numbers)
        if (is_stated(field, memory)) list.add(field.key, memory.*field.member);
    for (auto const& field : memory_sizes)
        list.add(field.key, memory.*field.member);
    return list.take();
}

}  // namespace

std::vector<ProfileValue> values_of(FrameworkMemory const& memory) { return memory_values("memory.", memory); }

std::vector<ProfileValue> values_of(GenerationMemory const& memory_on) {
    return memory_values(fmt::format("memory_on[{}].", memory_on.generation), memory_on.memory);
}

}  // namespace sextant
