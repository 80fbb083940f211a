#include "cli/serve/simulate_options.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "cost_models/goodput/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace sextant::cli {
namespace {

/// From a process to an engine that serves: imports, kernels, captured graphs. Assumed.
constexpr Seconds engine_start = 30 * units::s;

std::int64_t whole_number(std::string_view text, char const* flag, std::string const& all, char const* form) {
    std::int64_t value = 0;
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size())
        throw InputError("{}: '{}' is not of the form {}", flag, all, form);
    return value;
}

/// The weights that a node's replica reads, over the rate of the storage for the node, and the start of the engine.
Seconds cold_start(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    if (!o.cold_start.empty()) return parse_quantity<Seconds>(o.cold_start, "--cold-start");
    StorageKind const& storage = find_storage(o.weights_from.empty() ? "local-nvme" : o.weights_from, "--weights-from");
    auto const on_a_node = [](ServingCase const& what, ServingMemory const& memory) {
        return memory.weights * std::min(what.plan.accelerators(), what.cluster.domain_size);
    };
    Bytes bytes = on_a_node(report.what, report.memory);
    if (report.prompts) bytes = std::max(bytes, on_a_node(report.prompts->what, report.prompts->memory));
    Seconds const load = bytes / storage.read_per_node + storage.latency;
    report.cold_start_words =
        fmt::format("a cold start takes {}: {} of weights a node from {} at {} ({}), and {} for the engine (assumed)",
                    human(load + engine_start), human(bytes), storage.name, human(storage.read_per_node), storage.basis,
                    human(engine_start));
    return load + engine_start;
}

void read_target(ServeSimulateOptions const& o, Autoscale& scale, ReplicaLimits const& limits) {
    if (o.scale_target.empty()) {
        scale.target = static_cast<double>(limits.max_batch) / 2;
        return;
    }
    constexpr auto form = "waiting:N, requests:N or busy:SHARE";
    std::size_t const colon = std::min(o.scale_target.find(':'), o.scale_target.size());
    std::string const name = o.scale_target.substr(0, colon);
    std::string const text = o.scale_target.substr(std::min(colon + 1, o.scale_target.size()));
    if (name == "waiting")
        scale.metric = ScaleMetric::waiting;
    else if (name == "requests")
        scale.metric = ScaleMetric::requests;
    else if (name == "busy")
        scale.metric = ScaleMetric::busy;
    else
        throw InputError("--scale-target: '{}' is not of the form {}", o.scale_target, form);
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), scale.target);
    if (problem != std::errc{} || end != text.data() + text.size())
        throw InputError("--scale-target: '{}' is not of the form {}", o.scale_target, form);
    if (scale.metric == ScaleMetric::busy && !(scale.target > 0 && scale.target <= 1))
        throw InputError("--scale-target: busy:{} is out of range (above 0, at most 1)", scale.target);
}

void read_autoscale(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    if (o.autoscale.empty()) {
        for (auto const& [flag, value] : {std::pair{"--scale-target", &o.scale_target},
                                          {"--scale-every", &o.scale_every},
                                          {"--scale-down-after", &o.scale_down_after}})
            if (!value->empty()) throw InputError("{}: the number of replicas is fixed (--autoscale MIN..MAX)", flag);
        return;
    }
    if (o.replicas) throw InputError("--replicas: --autoscale says how many");
    Autoscale& scale = report.setup.autoscale;
    std::size_t const dots = o.autoscale.find("..");
    if (dots == std::string::npos) throw InputError("--autoscale: '{}' is not of the form MIN..MAX", o.autoscale);
    std::string_view const text = o.autoscale;
    scale.least = whole_number(text.substr(0, dots), "--autoscale", o.autoscale, "MIN..MAX");
    scale.most = whole_number(text.substr(dots + 2), "--autoscale", o.autoscale, "MIN..MAX");
    check_option_range(static_cast<double>(scale.least), "--autoscale", 1, 4096);
    check_option_range(static_cast<double>(scale.most), "--autoscale", static_cast<double>(scale.least), 4096);
    report.setup.replicas = scale.most;
    read_target(o, scale, report.setup.limits);
    if (!o.scale_every.empty()) scale.every = parse_quantity<Seconds>(o.scale_every, "--scale-every");
    if (!o.scale_down_after.empty())
        scale.down_after = parse_quantity<Seconds>(o.scale_down_after, "--scale-down-after");
    scale.cold_start = cold_start(o, report);
}

void read_outages(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    Outages& outages = report.setup.outages;
    outages.seed = o.seed;
    if (o.replica_mtbf.empty() && !o.replica_repair.empty())
        throw InputError("--replica-repair: no replica fails (--replica-mtbf TIME)");
    if (!o.replica_mtbf.empty()) {
        outages.mtbf = parse_quantity<Seconds>(o.replica_mtbf, "--replica-mtbf");
        outages.repair = o.replica_repair.empty() ? cold_start(o, report)
                                                  : parse_quantity<Seconds>(o.replica_repair, "--replica-repair");
        if (outages.mtbf <= Seconds{}) throw InputError("--replica-mtbf: '{}' (above 0)", o.replica_mtbf);
    }
    if (o.drains.empty() && !o.drain_for.empty()) throw InputError("--drain-for: nothing is drained (--drain-at TIME)");
    std::int64_t next = 0;
    for (std::string const& text : o.drains) {
        std::size_t const colon = std::min(text.find(':'), text.size());
        PlannedDrain drain{.at = parse_quantity<Seconds>(text.substr(0, colon), "--drain-at"), .replica = next++};
        if (colon < text.size())
            drain.replica =
                whole_number(std::string_view(text).substr(colon + 1), "--drain-at", text, "TIME[:REPLICA]");
        outages.drains.push_back(drain);
    }
    if (!o.drain_for.empty()) outages.drained_for = parse_quantity<Seconds>(o.drain_for, "--drain-for");
}

}  // namespace

void read_fleet_changes(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    read_autoscale(o, report);
    read_outages(o, report);
    bool const derives = !o.autoscale.empty() || (!o.replica_mtbf.empty() && o.replica_repair.empty());
    if (!derives && (!o.cold_start.empty() || !o.weights_from.empty()))
        throw InputError("--cold-start: no replica starts (--autoscale, --replica-mtbf)");
    if (!o.cold_start.empty() && !o.weights_from.empty())
        throw InputError("--weights-from: --cold-start says how long it takes");
}

}  // namespace sextant::cli
