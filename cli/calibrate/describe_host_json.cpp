#include "cli/calibrate/describe_host.hpp"
#include "core/error.hpp"
#include "core/json/json_text.hpp"
#include "core/measurements/bench_row.hpp"
#include "core/measurements/kernel_row.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

/// What the collectives reached: the most ranks, the best rate of a send, and the time of the smallest collective.
struct Exchanged {
    std::int64_t ranks = 0;
    double bytes_per_second = 0;
    double least_seconds = 1;
};

void add_collective(Exchanged& out, RowCells const& row) {
    auto const median = row.number("median_us");
    auto const rate = row.number("gbps");
    if (!median || *median <= 0) return;
    out.ranks = std::max(out.ranks, row.count("ranks").value_or(0));
    out.least_seconds = std::min(out.least_seconds, 1e-6 * *median);
    if (row.text("kernel") == "send_recv" && rate) out.bytes_per_second = std::max(out.bytes_per_second, 1e9 * *rate);
}

Exchanged exchanged(CsvTable const& rows) {
    Exchanged out;
    for (CsvRecord const& record : rows.records) {
        RowCells const row(rows, record);
        if (row.text("bench") != "collectives" || bench_row_failed(row)) continue;
        try {
            add_collective(out, row);
        } catch (RowSkip const&) {  // a cell that cannot be read
        }
    }
    if (out.ranks < 2 || out.bytes_per_second <= 0)
        throw InputError("{}: has no send_recv of the benchmark collectives", rows.name);
    return out;
}

/// What the rows reached.
struct Reached {
    std::string device;
    std::string date;
    double flops_per_second = 0;  ///< fp32 products
    double bytes_per_second = 0;  ///< cold, at least 1 MB touched
    double call_seconds = 0;      ///< the quickest dispatch; 0: not measured
};

void add_launch(Reached& reached, RowCells const& row) {
    auto const median = row.number("median_us");
    if (row.text("kernel") == "function_call" && median && *median > 0) reached.call_seconds = 1e-6 * *median;
}

void add_kernel(Reached& reached, RowCells const& row) {
    KernelCase const kernel = bench_case(row);
    if (!kernel.measured) return;
    double const seconds = kernel.measured->base();
    if (auto const* g = std::get_if<Gemm>(&kernel.what); g != nullptr && g->precision == Precision::fp32)
        reached.flops_per_second =
            std::max(reached.flops_per_second,
                     2.0 * static_cast<double>(g->m) * static_cast<double>(g->n) * static_cast<double>(g->k) / seconds);
    auto const* memory = std::get_if<MemoryKernel>(&kernel.what);
    if (memory != nullptr && kernel.cache == CacheState::cold && memory->moved >= 1 * units::MB)
        reached.bytes_per_second = std::max(reached.bytes_per_second, memory->moved.base() / seconds);
}

Reached best_of(CsvTable const& rows) {
    Reached reached;
    for (CsvRecord const& record : rows.records) {
        RowCells const row(rows, record);
        if (row.text("backend") != "host" || bench_row_failed(row)) continue;
        std::string const device = row.stated("device");
        if (!reached.device.empty() && device != reached.device)
            throw InputError("{}: rows of '{}' and '{}' (a profile is of one processor)", rows.name, reached.device,
                             device);
        reached.device = device;
        reached.date = row.text("date").substr(0, 10);
        try {
            if (row.text("bench") == "launch")
                add_launch(reached, row);
            else
                add_kernel(reached, row);
        } catch (RowSkip const&) {  // says nothing of peak and bandwidth
        }
    }
    if (reached.device.empty()) throw InputError("{}: has no rows of the host backend", rows.name);
    if (reached.flops_per_second <= 0)
        throw InputError("{}: has no fp32 product (benchmark gemm), so there is no peak", rows.name);
    if (reached.bytes_per_second <= 0)
        throw InputError("{}: has no cold memory-bound kernel of 1 MB (benchmarks memory_bound, copies)", rows.name);
    return reached;
}

Json sourced(Json value, char const* basis, std::string source) {
    return {{"value", std::move(value)}, {"basis", basis}, {"source", std::move(source)}};
}

Json bytes_value(double bytes, char const* name, double fallback) {
    if (bytes > 0) return sourced(fmt::format("{:.0f} MiB", bytes / 1048576), "measured", "as the system says");
    return sourced(fmt::format("{:.0f} MiB", fallback / 1048576), "assumed",
                   fmt::format("the system does not say its {}", name));
}

}  // namespace

HostFacts host_facts() {
    HostFacts facts;
    long const pages = sysconf(_SC_PHYS_PAGES);
    long const page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) facts.memory_bytes = static_cast<double>(pages) * static_cast<double>(page);
    for (char const* index : {"index3", "index2"}) {
        std::ifstream file(std::string("/sys/devices/system/cpu/cpu0/cache/") + index + "/size");
        double kibibytes = 0;
        char unit = ' ';
        if (facts.cache_bytes <= 0 && file >> kibibytes >> unit && kibibytes > 0 && unit == 'K')
            facts.cache_bytes = 1024 * kibibytes;
    }
    return facts;
}

std::string profile_name_of(std::string const& device) {
    std::string name;
    for (char const c : device) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else if (!name.empty() && name.back() != '-')
            name += '-';
    }
    while (!name.empty() && name.back() == '-')
        name.pop_back();
    return name.empty() ? "host" : name;
}

std::string host_cluster_json(CsvTable const& rows, HostFacts const& facts) {
    Exchanged const reached = exchanged(rows);
    Json const accelerator = Json::parse(host_profile_json(rows, facts));
    std::string const base = fmt::format("{:.4g} us", 1e6 * reached.least_seconds);
    Json json{{"format", "cluster"},
              {"version", 1},
              {"name", accelerator.at("name").get<std::string>() + "-processes"},
              {"title", "processes on one " + best_of(rows).device},
              {"basis", "assumed"},
              {"source", "not measured"},
              {"accelerator", accelerator},
              {"domain_size", reached.ranks}};
    json["scale_up"] = {{"kind", "switched"},
                        {"bandwidth", sourced(fmt::format("{:.5g} GB/s", 1e-9 * reached.bytes_per_second), "measured",
                                              "fastest send between two processes, sextant-bench")},
                        {"ring_efficiency", 0.8},
                        {"all_to_all_efficiency", 0.8},
                        {"base_latency", sourced(base, "measured", "quickest collective, sextant-bench")},
                        {"hop_latency", base}};
    json["host_memory"] = bytes_value(facts.memory_bytes, "memory", 16e9);
    return json_text(json, 2) + "\n";
}

std::string host_profile_json(CsvTable const& rows, HostFacts const& facts) {
    Reached const reached = best_of(rows);
    std::string const when = fmt::format("sextant-bench, one thread, {}", reached.date);
    std::string const rate = fmt::format("{:.5g} TFLOP/s", 1e-12 * reached.flops_per_second);
    std::string const bandwidth = fmt::format("{:.5g} GB/s", 1e-9 * reached.bytes_per_second);
    Json json{{"format", "accelerator"},
              {"version", 1},
              {"name", profile_name_of(reached.device)},
              {"title", reached.device + ", one core"},
              {"aliases", Json::array({reached.device})},
              {"generation", "cpu"},
              {"basis", "assumed"},
              {"source", "not measured"}};
    json["peak"] = {{"fp32", sourced(rate, "measured", "fastest fp32 product, " + when)}};
    json["vector_peak"] = sourced(rate, "measured", "as the products");
    json["memory_capacity"] = bytes_value(facts.memory_bytes, "memory", 16e9);
    json["memory_bandwidth"] =
        sourced(bandwidth, "measured", "fastest cold memory-bound kernel or copy (read and written), " + when);
    json["l2"] = bytes_value(facts.cache_bytes, "last-level cache", 32e6);
    json["multiprocessors"] = sourced(1, "measured", "the benchmark runs on one thread");
    json["host_bandwidth"] = sourced(bandwidth, "assumed", "its memory is the host's");
    json["power_watts"] = sourced(100, "assumed", "not measured");
    json["gemm_efficiency"] = {{"fp32", sourced(1, "measured", "the peak is the fastest product")}};
    json["attention_forward_efficiency"] = 0.5;
    json["attention_backward_efficiency"] = 0.5;
    json["memory_efficiency"] = sourced(1, "measured", "the bandwidth is the fastest kernel's");
    json["launch_latency"] = reached.call_seconds > 0
                                 ? sourced(fmt::format("{:.4g} us", std::max(1e-3, 1e6 * reached.call_seconds)),
                                           "measured", "function call, " + when)
                                 : sourced("0.1 us", "assumed", "a call and its checks");
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
