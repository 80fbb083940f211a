#include "kernels/cuda/device_timer.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "kernels/cuda/busy_clocks.hpp"
#include "kernels/cuda/cache_flush.hpp"
#include "kernels/cuda/graph.hpp"
#include "kernels/cuda/runtime.hpp"

namespace sextant::bench {
namespace {

constexpr double shortest_block_s = 100e-6;
constexpr int most_launches = 200;
constexpr std::size_t samples_per_wait = 4;  // so that the device does not idle between samples

// A power limit lowers the clocks some tenths of a second after heavy work began: a product of 8,192 cubed takes 1.39
// ms in the first tenth on an H200, 1.59 in the next two (docs/kernels.md). Twenty samples of such are taken in less,
// and rows of one product above 0.3 ms a launch, measured one after the other, were 5 % apart and more. assumed: that
// is the length from which on the limiter matters, and how long it takes.
constexpr double heavy_launch_s = 0.3e-3, settle_s = 0.3;

struct Current {
    int device = 0;
    std::string pci_bus_id;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<CacheFlush> flush;
};
Current& current() {
    static Current one;
    return one;
}

void flush_cache() {
    auto& flush = current().flush;
    if (!flush) flush = std::make_unique<CacheFlush>();
    flush->enqueue(work_stream());
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
    cudaDeviceSynchronize();  // tells once more of what has failed before
    cudaGetLastError();
    check(cudaDeviceSynchronize(), "the device cannot be used any more in this process");
}

cudaStream_t work_stream() { return current().stream->get(); }

std::string const& work_device() { return current().pci_bus_id; }

double block_seconds(std::function<void()> const& enqueue, int turns) {
    auto const count = static_cast<std::size_t>(turns);
    std::vector<Event> starts(count), stops(count);
    enqueue();
    for (std::size_t i = 0; i < count; ++i) {
        starts[i].record(work_stream());
        enqueue();
        stops[i].record(work_stream());
    }
    stops.back().wait();
    double shortest = stops[0].since(starts[0]);
    for (std::size_t i = 1; i < count; ++i)
        shortest = std::min(shortest, stops[i].since(starts[i]));
    return shortest;
}

int launches_per_block(DeviceWork const& work, Variant variant) {
    if (variant.cache == Cache::cold) return 1;
    for (int launches = 1;;) {
        double const seconds = block_seconds(block_of(work, variant.launch, launches), 3);
        if (seconds >= shortest_block_s || launches == most_launches) return launches;
        double const wanted = launches * shortest_block_s / std::max(seconds, 1e-9) + 1;
        launches = std::max(2 * launches, static_cast<int>(std::min<double>(wanted, most_launches)));
        launches = std::min(launches, most_launches);
    }
}

bool warm_up(std::function<void()> const& sample, BusyClocks const& clocks) {
    constexpr double rising = 1.02, longest_s = 0.05;
    double const start = steady_seconds();
    double first = Row::unset;
    for (double before = 0;;) {
        sample();
        double const now = clocks.sm_mhz();
        if (before == 0) first = now;
        if (!(now > rising * before) || steady_seconds() - start >= longest_s) return now > rising * first;
        before = now;
    }
}

Timing time_on_device(DeviceWork const& work, Variant variant, StopRule const& rule) {
    cudaStream_t const stream = work_stream();
    bool const cold = variant.cache == Cache::cold;
    int launches = 0;
    std::function<void()> enqueue;
    auto const make_block = [&] {
        launches = launches_per_block(work, variant);
        enqueue = block_of(work, variant.launch, launches);
    };
    make_block();
    std::vector<Event> starts(samples_per_wait), stops(samples_per_wait);
    BusyClocks clocks;
    auto const sample = [&] {
        if (!cold) enqueue();  // not timed: the device is busy with it until the host has enqueued the first sample
        for (std::size_t i = 0; i < samples_per_wait; ++i) {
            if (cold) flush_cache();
            starts[i].record(stream);
            enqueue();
            stops[i].record(stream);
        }
        clocks.read();
        stops.back().wait();
        std::vector<double> seconds;
        for (std::size_t i = 0; i < samples_per_wait; ++i)
            seconds.push_back(stops[i].since(starts[i]) / launches);
        return seconds;
    };
    if (warm_up(sample, clocks)) {
        make_block();  // of launches as long as they are now
        sample();
    }
    clocks = {};
    StopRule settled = rule;
    if (sample().front() > heavy_launch_s) settled.settle_seconds = settle_s;
    Collected const collected = collect(settled, sample, steady_seconds);
    check(cudaGetLastError(), "launching a kernel");
    Timing timing;
    timing.seconds = summarise(collected.samples);
    timing.note = remark(settled, collected);
    if (settled.settle_seconds > rule.max_seconds)
        timing.note +=
            std::string(timing.note.empty() ? "" : "; ") + "sampled for less than a power limit takes to act";
    clocks.describe(timing);
    return timing;
}

std::vector<Variant> device_variants() {
    return {{Cache::hot, Launch::stream}, {Cache::hot, Launch::graph}, {Cache::cold, Launch::stream}};
}

}  // namespace sextant::bench
