#include "kernels/host/timer.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

namespace sextant::bench {
namespace {

/// Value of the first "key : value" of a text such as /proc/cpuinfo.
std::string value_of(std::string const& key, std::string const& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(key))
            if (auto const colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
    return {};
}

std::string cpuinfo() {
    std::ifstream file("/proc/cpuinfo");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

constexpr double shortest_sample_s = 20e-6;

}  // namespace

Timing time_on_host(std::function<void()> const& work, Variant variant, StopRule const& rule) {
    work();
    double const start = steady_seconds();
    work();
    double const once = std::max(steady_seconds() - start, 1e-9);
    bool const cold = variant.cache == Cache::cold;
    auto const block = cold ? std::int64_t{1} : static_cast<std::int64_t>(shortest_sample_s / once) + 1;
    auto const sample = [&] {
        if (cold) flush_caches();
        double const begin = steady_seconds();
        for (std::int64_t i = 0; i < block; ++i)
            work();
        return std::vector<double>{(steady_seconds() - begin) / static_cast<double>(block)};
    };
    sample();
    Collected const collected = collect(rule, sample, steady_seconds);
    Timing timing;
    timing.seconds = summarise(collected.samples);
    timing.sm_clock_mhz = processor_mhz();
    timing.note = remark(rule, collected);
    return timing;
}

std::int64_t last_level_cache_bytes() {
    static std::int64_t const bytes = [] {
        for (char const* index : {"index3", "index2"}) {
            std::ifstream file(std::string("/sys/devices/system/cpu/cpu0/cache/") + index + "/size");
            std::int64_t kibibytes = 0;
            char unit = ' ';
            if (file >> kibibytes >> unit && kibibytes > 0 && unit == 'K') return kibibytes << 10;
        }
        return std::int64_t{32} << 20;
    }();
    return bytes;
}

void flush_caches() {
    static auto const size = static_cast<std::size_t>(2 * last_level_cache_bytes());
    static std::unique_ptr<unsigned char[]> const buffer(new unsigned char[size]());
    // Line by line with loads: a memset of this size writes around the caches and would leave them as they are.
    constexpr std::size_t line = 64;
    unsigned char volatile* const bytes = buffer.get();
    for (std::size_t i = 0; i < size; i += line)
        bytes[i] = static_cast<unsigned char>(bytes[i] + 1);
}

double processor_mhz() {
    std::string const text = value_of("cpu MHz", cpuinfo());
    return text.empty() ? Row::unset : std::stod(text);
}

std::string processor_name() { return processor_name(cpuinfo()); }

std::string processor_name(std::string const& cpuinfo) {
    std::string const name = value_of("model name", cpuinfo), part = value_of("CPU part", cpuinfo);
    if (!name.empty()) return name;
    return part.empty() ? "unknown processor" : "Arm " + value_of("CPU implementer", cpuinfo) + " " + part;
}

std::string system_name() {
    utsname names{};
    return uname(&names) == 0 ? std::string(names.sysname) + " " + names.release : "unknown system";
}

std::int64_t processor_count() { return std::max<std::int64_t>(1, std::thread::hardware_concurrency()); }

}  // namespace sextant::bench
