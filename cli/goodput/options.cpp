#include "cli/goodput/options.hpp"

#include "cli/options/number_text.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hourly_price.hpp"
#include "core/spec/named_values.hpp"
#include "core/spec/usual_node.hpp"
#include "cost_models/goodput/failure_catalog.hpp"
#include "planner/price_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sextant::cli {

Seconds time_of(std::string const& text, char const* flag, Seconds fallback) {
    return text.empty() ? fallback : parse_quantity<Seconds>(text, flag);
}

Seconds positive_time(std::string const& text, char const* flag) {
    auto const time = parse_quantity<Seconds>(text, flag);
    if (time.base() <= 0) throw InputError("{}: '{}' is no time (more than zero)", flag, text);
    return time;
}

double in_range(std::optional<double> value, char const* flag, double least, double most) {
    if (!(*value >= least && *value <= most))
        throw InputError("{}: {} is out of range ({} to {})", flag, *value, least, most);
    return *value;
}

namespace {

using units::s;

constexpr std::int64_t most_gpus = 1 << 20;
constexpr double most_days = 36500;

void check_counts(GoodputOptions const& o) {
    if (o.gpus < 1 || o.gpus > most_gpus) throw InputError("--gpus: {} is out of range (1 to {})", o.gpus, most_gpus);
    if (o.gpus_per_node && (*o.gpus_per_node < 1 || *o.gpus_per_node > most_gpus))
        throw InputError("--gpus-per-node: {} is out of range (1 to {})", *o.gpus_per_node, most_gpus);
    for (auto const& [flag, value] : {std::pair{"--tp", o.tp}, {"--pp", o.pp}, {"--cp", o.cp}, {"--ep", o.ep}})
        if (value < 1 || value > o.gpus) throw InputError("{}: {} is out of range (1 to {})", flag, value, o.gpus);
    if (o.dp && (*o.dp < 1 || *o.dp > o.gpus)) throw InputError("--dp: {} is out of range (1 to {})", *o.dp, o.gpus);
}

/// Work: days, steps of some time, or tokens at some rate.
Seconds work_of(GoodputOptions const& o, GoodputSubject& subject) {
    int const ways = int{o.days.has_value()} + int{!o.steps.empty()} + int{!o.tokens.empty()};
    if (ways > 1) throw InputError("--days: the length of the run is given twice (--days, --steps or --tokens)");
    if (!o.step_time.empty() && o.steps.empty() && !o.spike_rewind_steps)
        throw InputError("--step-time: how many steps there are is not said (--steps 100000)");
    if (!o.tokens_per_second.empty() && o.tokens.empty())
        throw InputError("--tokens-per-second: how many tokens there are is not said (--tokens 1e12)");
    Seconds work = 30 * units::day;
    if (o.days)
        work = in_range(o.days, "--days", 1e-3, most_days) * units::day;
    else if (!o.steps.empty()) {
        if (o.step_time.empty()) throw InputError("--steps: how long a step takes is not said (--step-time 12s)");
        work = in_range(count_from(o.steps, "--steps"), "--steps", 1, 1e12) * positive_time(o.step_time, "--step-time");
    } else if (!o.tokens.empty()) {
        if (o.tokens_per_second.empty())
            throw InputError("--tokens: how fast they are trained on is not said (--tokens-per-second 2.5e6)");
        work = in_range(count_from(o.tokens, "--tokens"), "--tokens", 1, 1e18) /
               in_range(count_from(o.tokens_per_second, "--tokens-per-second"), "--tokens-per-second", 1e-3, 1e12) * s;
    } else
        subject.assumptions.emplace_back("30 days of work, for want of --days, --steps or --tokens (assumed)");
    if (work > most_days * units::day || work < 60 * s)
        throw InputError("--{}: {} of work (one minute to {:.0f} years)",
                         !o.steps.empty()    ? "steps"
                         : !o.tokens.empty() ? "tokens"
                                             : "days",
                         human(work), most_days / 365);
    return work;
}

void set_failures(GoodputOptions const& o, GoodputSubject& subject) {
    std::vector<FailureProcess>& failures = subject.run.failures;
    bool const own = !(o.gpu_mtbf.empty() && o.node_mtbf.empty() && o.fabric_mtbf.empty() && o.software_mtbf.empty());
    std::string const name = !o.failures.empty() ? o.failures : own ? "none" : "llama3";
    if (name != "none") {
        FailureRecord const& record = find_failure_record(name, "--failures");
        failures = failures_of(record, o.gpus, subject.gpus_per_node);
        subject.failures = fmt::format("{}: {}", record.title, record.source);
        subject.assumptions.push_back(fmt::format("{}failure rates of {} ({}): {}",
                                                  o.only_injected ? "intervals that are not given are for the " : "",
                                                  record.name, record.basis, record.remark));
    }
    std::int64_t const nodes = (o.gpus + subject.gpus_per_node - 1) / subject.gpus_per_node;
    auto const replace = [&](std::string const& text, char const* flag, char const* title, FailureScope scope,
                             std::int64_t n) {
        if (text.empty()) return;
        if (positive_time(text, flag) < 1 * s) throw InputError("{}: '{}' is too short (at least 1 s)", flag, text);
        std::erase_if(failures, [&](FailureProcess const& process) { return process.scope == scope; });
        failures.push_back({.name = title,
                            .scope = scope,
                            .components = n,
                            .mtbf = positive_time(text, flag),
                            .basis = "given",
                            .source = flag});
    };
    replace(o.gpu_mtbf, "--gpu-mtbf", "GPU", FailureScope::gpu, o.gpus);
    replace(o.node_mtbf, "--node-mtbf", "node", FailureScope::node, nodes);
    replace(o.fabric_mtbf, "--fabric-mtbf", "fabric, per node", FailureScope::fabric, nodes);
    replace(o.software_mtbf, "--software-mtbf", "software, whole job", FailureScope::process, 1);
    if (own) subject.failures += subject.failures.empty() ? "given" : "; some given";
    if (!(o.weibull_shape >= 0.1 && o.weibull_shape <= 10))
        throw InputError("--weibull-shape: {} is out of range (0.1 to 10; 1 is exponential)", o.weibull_shape);
    for (FailureProcess& process : failures)
        if (takes_a_node(process.scope)) process.shape = o.weibull_shape;
}

void set_spikes(GoodputOptions const& o, GoodputSubject& subject) {
    GoodputCase& run = subject.run;
    if (!o.spikes) {
        if (!o.spike_rewind.empty() || o.spike_rewind_steps)
            throw InputError("--spike-rewind: how many loss spikes there are is not said (--spikes 20)");
    } else {
        run.spikes.per_day = in_range(o.spikes, "--spikes", 0, 1e6) / run.work.in(units::day);
    }
    run.spikes.rewind = time_of(o.spike_rewind, "--spike-rewind", 30 * units::minute);
    if (o.spike_rewind_steps) {
        if (o.step_time.empty())
            throw InputError("--spike-rewind-steps: how long a step takes is not said (--step-time 12s)");
        run.spikes.rewind =
            in_range(o.spike_rewind_steps, "--spike-rewind-steps", 0, 1e9) * positive_time(o.step_time, "--step-time");
    } else if (o.spikes && o.spike_rewind.empty())
        subject.assumptions.emplace_back(
            "a loss spike goes back 30 min before the next older checkpoint (assumed; PaLM: "
            "about 100 steps, some 20 times, arXiv:2204.02311 section 5.1)");
    if (o.maintenance_every.empty() != o.maintenance_duration.empty())
        throw InputError("--maintenance-{}: maintenance takes both --maintenance-every and --maintenance-duration",
                         o.maintenance_every.empty() ? "duration" : "every");
    if (!o.maintenance_every.empty())
        run.maintenance = {.every = positive_time(o.maintenance_every, "--maintenance-every"),
                           .duration = positive_time(o.maintenance_duration, "--maintenance-duration")};
}

/// What can be made to happen.
constexpr Named<std::optional<FailureScope>> injected_kinds[] = {{FailureScope::process, "process"},
                                                                 {FailureScope::gpu, "gpu"},
                                                                 {FailureScope::node, "node"},
                                                                 {FailureScope::fabric, "fabric"},
                                                                 {std::nullopt, "spike"}};

/// "node@3h", "spike@2 days".
InjectedFault injected_fault(std::string const& text) {
    std::size_t const at = text.find('@');
    if (at == std::string::npos)
        throw InputError("--inject: '{}' has no time (such as 'node@3h', 'fabric@2 days' or 'spike@12h')", text);
    std::string const what = text.substr(0, at);
    return {.at = parse_quantity<Seconds>(text.substr(at + 1), "--inject"),
            .scope = value_in<std::optional<FailureScope>>(injected_kinds, what, "--inject", "fault")};
}

/// Nodes, price; returns the bandwidth of one accelerator to host memory.
BytesPerSecond set_machine(GoodputOptions const& o, GoodputSubject& subject) {
    if (o.price) {
        Sourced<double> const price = given_price(*o.price);
        subject.usd_per_gpu_hour = price.value;
        subject.assumptions.push_back(price_assumption(price));
    }
    if (o.cluster.empty()) {
        subject.gpus_per_node = o.gpus_per_node.value_or(8);
        subject.assumptions.push_back(
            fmt::format("{} accelerators per node, 25 GB/s from each to host memory, for want of --cluster (assumed)",
                        subject.gpus_per_node));
        return 25 * units::GB / s;
    }
    ClusterSpec const cluster = find_cluster(o.cluster, "--cluster");
    if (cluster.max_accelerators > 0 && o.gpus > cluster.max_accelerators)
        throw InputError("--gpus: {} is more than {} has ({})", o.gpus, cluster.name, cluster.max_accelerators);
    subject.gpus_per_node = o.gpus_per_node.value_or(usual_gpus_per_node(cluster));
    if (!o.gpus_per_node && subject.gpus_per_node < cluster.domain_size)
        subject.assumptions.push_back(fmt::format("{} accelerators per node of a domain of {} (assumed)",
                                                  subject.gpus_per_node, cluster.domain_size));
    if (auto const price = hourly_price(cluster); price && !o.price) {
        subject.usd_per_gpu_hour = price->value;
        subject.assumptions.push_back(price_assumption(*price));
    }
    return cluster.accelerator.host_bandwidth.value;
}

/// Detection, restart, spares.
void set_recovery(GoodputOptions const& o, GoodputSubject& subject) {
    GoodputCase& run = subject.run;
    run.detection = time_of(o.detection, "--detection", run.detection);
    run.restart = time_of(o.restart, "--restart", run.restart);
    if (o.detection.empty())
        subject.assumptions.emplace_back(
            "10 min until a failure is noticed (assumed: the usual timeout of a collective)");
    if (o.restart.empty())
        subject.assumptions.emplace_back("5 min to schedule and start again, before loading (assumed)");
    run.replacement.spares = o.spares;
    run.replacement.repair = time_of(o.repair_time, "--repair-time", run.replacement.repair);
    if (o.spares && (*o.spares < 0 || *o.spares > most_gpus))
        throw InputError("--spares: {} is out of range (0 to {})", *o.spares, most_gpus);
    if (o.spares && o.repair_time.empty())
        subject.assumptions.emplace_back("a broken node is back after one day (assumed)");
    std::int64_t const model_ranks = o.tp * o.pp * o.cp;
    run.replacement.dp = o.dp.value_or(std::max<std::int64_t>(1, o.gpus / model_ranks));
    if (!o.elastic) return;
    if (!o.spares) throw InputError("--elastic: replicas are dropped when spares run out (give --spares, 0 for none)");
    if (!o.dp && model_ranks == 1)
        throw InputError("--elastic: how many data-parallel replicas there are is not said (--dp, or --tp and --pp)");
    run.replacement.shortage = Shortage::shrink;
    run.replacement.gpus = o.gpus;
    run.replacement.gpus_per_node = subject.gpus_per_node;
    run.replacement.together = o.ep / std::gcd(o.ep, o.tp * o.cp);
}

/// What is made to happen, and how old the parts are.
void set_faults(GoodputOptions const& o, GoodputSubject& subject) {
    for (std::string const& text : o.injected)
        subject.trial.injected.push_back(injected_fault(text));
    if (o.only_injected) {
        if (o.injected.empty()) throw InputError("--only-injected: no fault is injected (--inject 'node@3h')");
        subject.trial.chance = TrialOptions::Chance::off;
        subject.run.failures.clear();  // the intervals were chosen for them, but none happens
        subject.run.spikes.per_day = 0;
        subject.assumptions.emplace_back("nothing happens by chance (--only-injected); the closed form knows no fault");
    }
    if (o.fleet != "running" && o.fleet != "fresh")
        throw InputError("--fleet: unknown age '{}' (running: in service for long, or fresh: all parts new)", o.fleet);
    subject.trial.age = o.fleet == "fresh" ? FleetAge::fresh : FleetAge::running;
    if (o.fleet == "fresh" && o.weibull_shape != 1)
        subject.assumptions.emplace_back(
            "a fresh fleet fails at another rate at first: only the simulation knows that, the closed form does not");
}

}  // namespace

GoodputSubject find_goodput_subject(GoodputOptions const& o) {
    GoodputSubject subject;
    check_counts(o);
    subject.gpus = o.gpus;
    BytesPerSecond const host_bandwidth = set_machine(o, subject);
    subject.run.work = work_of(o, subject);
    set_failures(o, subject);
    set_recovery(o, subject);
    set_spikes(o, subject);
    set_checkpoints(o, subject, host_bandwidth);
    set_faults(o, subject);
    check_goodput_case(subject.run);
    return subject;
}

}  // namespace sextant::cli
