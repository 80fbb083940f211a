#include "simulator/engine/engine.hpp"

#include "core/error.hpp"
#include "simulator/engine/engine_module.hpp"
#include "simulator/engine/engine_run.hpp"
#include "simulator/engine/stuck.hpp"
#include "simulator/engine/worker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

void check_share(double share, std::string_view what, std::string_view where) {
    if (!(share >= 0 && share < 1))
        throw InputError("{}: the share of {} is {} (from 0 up to, but not, 1)", where, what, share);
}

/// Scale-out links are those outside a domain: NICs, uplinks of pods, links between groups.
bool is_scale_out(std::string_view link) {
    return link.find(".nic.") != std::string_view::npos || link.find(".uplink.") != std::string_view::npos ||
           link.starts_with("pod") || link.starts_with("group");
}

std::vector<LinksOff> failures_of(Fabric const& fabric, EngineOptions const& options, std::string_view where) {
    std::vector<LinksOff> failures;
    for (LinkFailure const& failure : options.failures)
        failures.push_back({matching_links(fabric.links(), failure.link, where), failure.at.base()});
    return failures;
}

std::vector<LinkUse> link_use(Fabric const& fabric, EngineRun const& run, Seconds makespan) {
    std::vector<LinkUse> use;
    for (std::size_t i = 0; i < run.carried.size(); ++i) {
        LinkUse link{.name = fabric.links()[i].name,
                     .bandwidth = BytesPerSecond::from_base(run.bandwidths[i]),
                     .carried = Bytes::from_base(run.carried[i])};
        if (makespan > Seconds{}) link.busy_share = link.carried / (link.bandwidth * makespan);
        use.push_back(std::move(link));
    }
    return use;
}

/// The state and the message of a worker that did not come to its end.
void explain(Simulation& simulation, WorkerEnd const& end, EngineOptions const& options) {
    auto const finished =
        std::count_if(simulation.times.end.begin(), simulation.times.end.end(), [](double time) { return time >= 0; });
    std::string const progress = fmt::format("{} of {} tasks were done, {:g} s into the step", finished,
                                             simulation.times.end.size(), simulation.times.makespan().base());
    switch (end.how) {
        case WorkerEnd::How::done: return;
        case WorkerEnd::How::interrupted:
            simulation.state = Simulation::State::interrupted;
            simulation.message = "interrupted: " + progress;
            return;
        case WorkerEnd::How::timed_out:
            simulation.state = Simulation::State::timed_out;
            simulation.message = fmt::format("not finished within {:g} s: {}", options.time_limit.base(), progress);
            return;
        case WorkerEnd::How::crashed:
            simulation.state = Simulation::State::crashed;
            simulation.message = fmt::format("the simulation crashed ({}): {}", end.message, progress);
            return;
    }
}

}  // namespace

std::string_view name_of(Simulation::State state) {
    switch (state) {
        case Simulation::State::finished: return "finished";
        case Simulation::State::stuck: return "stuck";
        case Simulation::State::interrupted: return "interrupted";
        case Simulation::State::timed_out: return "timed out";
        case Simulation::State::crashed: return "crashed";
    }
    return "?";
}

std::string_view name_of(NetworkMode mode) { return mode == NetworkMode::ideal ? "ideal" : "fair"; }

NetworkMode network_mode_from(std::string_view name, std::string_view where) {
    for (NetworkMode const mode : {NetworkMode::ideal, NetworkMode::fair})
        if (name == name_of(mode)) return mode;
    throw InputError("{}: \"{}\" is no kind of network (allowed: ideal, fair)", where, name);
}

std::vector<double> usable_bandwidths(Fabric const& fabric, EngineOptions const& options) {
    std::vector<double> bandwidths;
    for (FabricLink const& link : fabric.links())
        bandwidths.push_back(link.bandwidth.base() * (is_scale_out(link.name) ? 1 - options.other_traffic : 1));
    return bandwidths;
}

void check_engine_options(EngineOptions const& options, Fabric const& fabric, std::string_view where) {
    check_share(options.communication_sms, "compute that communication takes", where);
    check_share(options.other_traffic, "links that other traffic takes", where);
    if (!(options.time_limit > Seconds{})) throw InputError("{}: the time limit must be positive", where);
    if (options.network == NetworkMode::ideal && (options.other_traffic > 0 || !options.failures.empty()))
        throw InputError("{}: an ideal network has no links that could fail or carry other traffic (use fair)", where);
    for (LinkFailure const& failure : options.failures)
        if (!(failure.at >= Seconds{}))
            throw InputError("{}: link \"{}\" fails at {} s (it must not be before the step)", where, failure.link,
                             failure.at.base());
    failures_of(fabric, options, where);
}

Simulation simulate(TaskGraph const& graph, Fabric const& fabric, EngineOptions const& options) {
    check_engine_options(options, fabric, "simulation");
    EngineModule const& engine = engine_module();
    if (engine.run == nullptr) return {.state = Simulation::State::crashed, .message = engine.problem};

    std::vector<double> const bandwidths = usable_bandwidths(fabric, options);
    std::vector<LinksOff> const failures = failures_of(fabric, options, "simulation");
    std::size_t const tasks = graph.tasks.size();
    std::size_t const links = options.network == NetworkMode::fair ? bandwidths.size() : 0;
    SharedMemory memory(sizeof(double) * (2 * tasks + links + 1));
    EngineRun const run{.graph = graph,
                        .fabric = fabric,
                        .network = options.network,
                        .communication_sms = options.communication_sms,
                        .alone = walk_graph(graph).makespan().base(),
                        .bandwidths = bandwidths,
                        .failures = failures,
                        .start = memory.take<double>(tasks),
                        .end = memory.take<double>(tasks),
                        .carried = memory.take<double>(links),
                        .events = memory.take<std::int64_t>(1)};
    std::fill(run.start.begin(), run.start.end(), -1.0);
    std::fill(run.end.begin(), run.end.end(), -1.0);
    WorkerEnd const end = run_in_worker([&] { engine.run(run); }, {.time = options.time_limit, .stop = options.stop});

    Simulation simulation;
    simulation.times.start.assign(run.start.begin(), run.start.end());
    simulation.times.end.assign(run.end.begin(), run.end.end());
    simulation.activities = run.events.front();
    simulation.links = link_use(fabric, run, simulation.times.makespan());
    explain(simulation, end, options);
    if (end.how == WorkerEnd::How::done) simulation.message = stuck_message(run);
    if (end.how == WorkerEnd::How::done && !simulation.message.empty()) simulation.state = Simulation::State::stuck;
    return simulation;
}

}  // namespace sextant
