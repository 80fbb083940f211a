#include "kernels/cuda/device_timer.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "kernels/cuda/clocks.hpp"
#include "kernels/cuda/graph.hpp"
#include "kernels/cuda/runtime.hpp"

namespace sextant::bench {
namespace {

constexpr double shortest_block_s = 100e-6;
constexpr int most_launches = 200;
constexpr int samples_per_wait = 4;  // so that the device does not idle between samples

struct Current {
    int device = 0;
    std::string pci_bus_id;
    std::unique_ptr<Stream> stream;
    std::optional<DeviceArray<unsigned char>> flush;
};
Current& current() {
    static Current one;
    return one;
}

void flush_cache() {
    auto& flush = current().flush;
    if (!flush) {
        int device = 0, l2 = 0;
        check(cudaGetDevice(&device), "asking for the device");
        check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device), "asking for the cache");
        flush.emplace(2 * std::max<std::int64_t>(l2, 32 << 20));
    }
    check(cudaMemsetAsync(flush->data(), 0, flush->bytes(), work_stream()), "flushing the cache");
}

/// Time of one launch, to choose how many make a block.
double time_once(DeviceWork const& work) {
    cudaStream_t const stream = work_stream();
    Event start, stop;
    for (int warm_up = 0; warm_up < 3; ++warm_up)
        work(stream);
    start.record(stream);
    work(stream);
    stop.record(stream);
    stop.wait();
    check(cudaGetLastError(), "launching a kernel");
    return std::max(1e-7, stop.since(start));
}

}  // namespace

void use_device(int device) {
    check(cudaSetDevice(device), "choosing the device");
    char text[64] = {};
    check(cudaDeviceGetPCIBusId(text, sizeof text, device), "asking for the bus id");
    current().device = device;
    current().pci_bus_id = text;
    current().stream = std::make_unique<Stream>();
}

void recover_device() {
    cudaSetDevice(current().device);
    cudaGetLastError();
}

cudaStream_t work_stream() { return current().stream->get(); }

Timing time_on_device(DeviceWork const& work, Variant variant, StopRule const& rule) {
    cudaStream_t const stream = work_stream();
    double const once = time_once(work);
    bool const cold = variant.cache == Cache::cold;
    int const launches = cold ? 1 : std::clamp(static_cast<int>(shortest_block_s / once) + 1, 1, most_launches);
    std::optional<Graph> graph;
    if (variant.launch == Launch::graph) graph.emplace(work, launches);
    std::vector<Event> starts(samples_per_wait), stops(samples_per_wait);
    Timing timing;
    unsigned long long throttle = 0;
    bool known = false;
    auto const sample = [&] {
        for (int i = 0; i < samples_per_wait; ++i) {
            if (cold) flush_cache();
            starts[static_cast<std::size_t>(i)].record(stream);
            if (graph)
                graph->launch();
            else
                for (int launch = 0; launch < launches; ++launch)
                    work(stream);
            stops[static_cast<std::size_t>(i)].record(stream);
        }
        Clocks const clocks = read_clocks(current().pci_bus_id);
        timing.sm_clock_mhz = clocks.sm_mhz;
        timing.mem_clock_mhz = clocks.memory_mhz;
        throttle |= clocks.throttle;
        known = known || clocks.known;
        stops.back().wait();
        std::vector<double> seconds;
        for (std::size_t i = 0; i < starts.size(); ++i)
            seconds.push_back(stops[i].since(starts[i]) / launches);
        return seconds;
    };
    sample();
    throttle = 0;
    Collected const collected = collect(rule, sample, steady_seconds);
    check(cudaGetLastError(), "launching a kernel");
    timing.seconds = summarise(collected.samples);
    timing.throttle = known ? throttle_text(throttle) : "unknown";
    timing.note = remark(collected.ended);
    return timing;
}

std::vector<Variant> device_variants() {
    return {{Cache::hot, Launch::stream}, {Cache::hot, Launch::graph}, {Cache::cold, Launch::stream}};
}

void add_clocks(Timing& timing) {
    Clocks const clocks = read_clocks(current().pci_bus_id);
    timing.sm_clock_mhz = clocks.sm_mhz;
    timing.mem_clock_mhz = clocks.memory_mhz;
    timing.throttle = clocks.known ? throttle_text(clocks.throttle) : "unknown";
}

}  // namespace sextant::bench
