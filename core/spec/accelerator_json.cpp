#include "core/spec/hardware_json.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "core/spec/value_checks.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

template <class Value, class Read>
std::map<Precision, Value> by_precision(ObjectReader in, Read const& read) {
    std::map<Precision, Value> out;
    for (auto const& key : in.keys()) {
        Precision const precision = precision_from(key, in.path_to(key));
        if (unscaled(precision) != precision)
            throw InputError("{}: is a way to scale {} (a device has one figure for both)", in.path_to(key),
                             name_of(unscaled(precision)));
        out.emplace(precision, read(in, key));
    }
    in.finish();
    if (out.empty()) throw InputError("{}: is empty (at least one precision is needed)", in.where());
    return out;
}

/// Of the profile as its file states it: a peak that is raised afterwards makes the tiles quicker, not more.
std::int64_t tiles_each_of(AcceleratorProfile const& profile) {
    constexpr FlopsPerSecond one_tile = 15 * units::TFLOP / units::s;  // assumed: a B200's multiprocessor, two bytes
    FlopsPerSecond peak{};
    for (auto const& [precision, rate] : profile.peak)
        if (bytes_per_element(precision) >= 2) peak = std::max(peak, rate.value);
    double const tiles = peak / one_tile / static_cast<double>(profile.multiprocessors.value);
    return std::max<std::int64_t>(1, std::llround(tiles));
}

}  // namespace

AcceleratorProfile read_accelerator_values(ObjectReader in) {
    in.format("accelerator", 1);
    in.expect({"name", "generation", "peak", "vector_peak", "memory_capacity", "memory_bandwidth", "l2",
               "multiprocessors", "host_bandwidth", "power_watts", "gemm_efficiency", "attention_forward_efficiency",
               "attention_backward_efficiency", "memory_efficiency", "launch_latency"},
              {"title", "aliases", "vendor", "year", "basis", "source", "int8_peak", "l2_caches",
               "host_update_bandwidth", "price_usd_per_hour"});
    in.set_default_provenance(Basis::assumed, "the file gives no source");
    read_default_provenance(in);

    AcceleratorProfile profile;
    profile.name = in.text("name");
    profile.title = in.text("title", profile.name);
    profile.aliases = in.texts("aliases");
    profile.vendor = in.text("vendor", "");
    profile.generation = in.text("generation");
    auto const year = in.integer("year", 0);
    if (year != 0 && (year < 2000 || year > 2100))
        throw InputError("{}: is {} (a year between 2000 and 2100 is expected)", in.path_to("year"), year);
    profile.year = static_cast<int>(year);

    profile.peak = by_precision<Sourced<FlopsPerSecond>>(
        in.object("peak"),
        [](ObjectReader& peaks, std::string const& key) { return positive_quantity<FlopsPerSecond>(peaks, key); });
    in.allow("int8_peak");
    if (in.has("int8_peak")) profile.int8_peak = positive_quantity<FlopsPerSecond>(in, "int8_peak");
    profile.vector_peak = positive_quantity<FlopsPerSecond>(in, "vector_peak");
    profile.memory_capacity = positive_quantity<Bytes>(in, "memory_capacity");
    profile.memory_bandwidth = positive_quantity<BytesPerSecond>(in, "memory_bandwidth");
    profile.l2 = in.sourced_quantity<Bytes>("l2");
    profile.l2_caches = in.integer("l2_caches", 1);
    if (profile.l2_caches < 1 || profile.l2_caches > 1024)
        throw InputError("{}: is {} (how many caches make up the l2, 1 to 1024)", in.path_to("l2_caches"),
                         profile.l2_caches);
    profile.multiprocessors = in.sourced_integer("multiprocessors");
    if (profile.multiprocessors.value < 1 || profile.multiprocessors.value > 1'000'000)
        throw InputError("{}: is {} (a count of at least 1 is expected)", in.path_to("multiprocessors"),
                         profile.multiprocessors.value);
    profile.tiles_each = tiles_each_of(profile);
    profile.host_bandwidth = positive_quantity<BytesPerSecond>(in, "host_bandwidth");
    in.allow("host_update_bandwidth");
    if (in.has("host_update_bandwidth"))
        profile.host_update_bandwidth = positive_quantity<BytesPerSecond>(in, "host_update_bandwidth");
    profile.power_watts = bounded_number(in, "power_watts", 1, 100'000);

    profile.gemm_efficiency = by_precision<Sourced<double>>(
        in.object("gemm_efficiency"),
        [](ObjectReader& values, std::string const& key) { return efficiency(values, key); });
    profile.attention_forward_efficiency = efficiency(in, "attention_forward_efficiency");
    profile.attention_backward_efficiency = efficiency(in, "attention_backward_efficiency");
    profile.memory_efficiency = efficiency(in, "memory_efficiency");
    profile.launch_latency = in.sourced_quantity<Seconds>("launch_latency");
    in.allow("price_usd_per_hour");
    if (in.has("price_usd_per_hour")) profile.price_usd_per_hour = bounded_number(in, "price_usd_per_hour", 0, 1e6);
    in.finish();
    return profile;
}

AcceleratorProfile read_accelerator(ObjectReader in) {
    AcceleratorProfile profile = read_accelerator_values(std::move(in));
    attach_kernels(profile);
    return profile;
}

}  // namespace sextant
