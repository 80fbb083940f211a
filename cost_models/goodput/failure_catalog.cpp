#include "cost_models/goodput/failure_catalog.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <string>

namespace sextant {
namespace {

using enum FailureScope;

// 419 in all; the paper's own grouping into causes, ours into scopes. "Faulty GPU" is 148 of 419 (35.3 %), though the
// table prints 30.1 %.
constexpr FailureCount llama3[] = {
    {"faulty GPU", gpu, FailureUnit::gpu, 148},
    {"HBM3 memory", gpu, FailureUnit::gpu, 72},
    {"software bug", process, FailureUnit::node, 54},
    {"network switch or cable", fabric, FailureUnit::node, 35},
    {"host maintenance, unplanned", node, FailureUnit::node, 32},
    {"GPU SRAM", gpu, FailureUnit::gpu, 19},
    {"GPU system processor", gpu, FailureUnit::gpu, 17},
    {"NIC", node, FailureUnit::node, 7},
    {"NCCL watchdog timeout", process, FailureUnit::node, 7},
    {"silent data corruption", gpu, FailureUnit::gpu, 6},
    {"GPU thermal interface and sensor", gpu, FailureUnit::gpu, 6},
    {"SSD", node, FailureUnit::node, 3},
    {"power supply", node, FailureUnit::node, 3},
    {"server chassis", node, FailureUnit::node, 2},
    {"IO expansion board", node, FailureUnit::node, 2},
    {"dependency", process, FailureUnit::node, 2},
    {"CPU", node, FailureUnit::node, 2},
    {"host memory", node, FailureUnit::node, 2},
};

// Failures of a thousand nodes in a day.
constexpr FailureCount rsc1[] = {{"node", node, FailureUnit::node, 6.50}};
constexpr FailureCount rsc2[] = {{"node", node, FailureUnit::node, 2.34}};
constexpr FailureCount opt[] = {{"host", node, FailureUnit::node, 105}};
constexpr FailureCount bloom[] = {{"faulty GPU", gpu, FailureUnit::gpu, 1.5}};

constexpr FailureRecord records[] = {
    {"llama3", "Llama 3 405B pre-training, H100", 16384, 8, 54, llama3, "published",
     "arXiv:2407.21783 section 3.3.4 and table 5: 466 interruptions in 54 days, 47 of them planned",
     "scopes are assigned here; software and fabric carried over by nodes is assumed"},
    {"meta-rsc1", "Meta RSC-1, A100, all jobs over 11 months", 8000, 8, 1, rsc1, "published",
     "arXiv:2410.21680: 6.50 failures per thousand node-days",
     "hardware that the health checks of the cluster see; software of the user is not in it"},
    {"meta-rsc2", "Meta RSC-2, A100, all jobs over 11 months", 8000, 8, 1, rsc2, "published",
     "arXiv:2410.21680: 2.34 failures per thousand node-days",
     "hardware that the health checks of the cluster see; software of the user is not in it"},
    {"opt-175b", "OPT-175B, A100", 992, 8, 60, opt, "assumed",
     "arXiv:2205.01068 section 2.5: at least 35 manual and an estimated 70 automatic restarts in two months",
     "two months taken as 60 days; the restarts by hand are a lower bound"},
    {"bloom-176b", "BLOOM-176B, A100", 384, 8, 7, bloom, "assumed", "arXiv:2211.05100: one to two failed GPUs a week",
     "the middle of the range"},
};

}  // namespace

std::span<FailureRecord const> failure_catalog() { return records; }

FailureRecord const& find_failure_record(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (FailureRecord const& record : records) {
        if (name == record.name) return record;
        known.emplace_back(record.name);
    }
    throw InputError("{}: unknown record of failures '{}'{} (known: {})", where, name, did_you_mean(name, known),
                     join(known));
}

std::vector<FailureProcess> failures_of(FailureRecord const& record, std::int64_t gpus, std::int64_t gpus_per_node) {
    std::vector<FailureProcess> processes;
    std::int64_t const nodes = (gpus + gpus_per_node - 1) / gpus_per_node;
    for (FailureCount const& entry : record.counts) {
        bool const by_gpu = entry.unit == FailureUnit::gpu;
        // A node of another size has the other parts of as many nodes of the record's size.
        double const observed = static_cast<double>(by_gpu ? record.gpus : record.gpus / record.gpus_per_node);
        double const size =
            by_gpu ? 1.0 : static_cast<double>(gpus_per_node) / static_cast<double>(record.gpus_per_node);
        processes.push_back({.name = entry.cause,
                             .scope = entry.scope,
                             .components = by_gpu ? gpus : nodes,
                             .mtbf = observed * record.days / entry.count / size * units::day,
                             .basis = record.basis,
                             .source = record.source});
    }
    return processes;
}

}  // namespace sextant
