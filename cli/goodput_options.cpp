#include "cli/goodput_options.hpp"

#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/goodput/failure_catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

using units::s;

constexpr std::int64_t most_gpus = 1 << 20;
constexpr double most_days = 36500;

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
    int const ways = int{o.days.has_value()} + int{o.steps.has_value()} + int{o.tokens.has_value()};
    if (ways > 1) throw InputError("--days: the length of the run is given twice (--days, --steps or --tokens)");
    Seconds work = 30 * units::day;
    if (o.days)
        work = in_range(o.days, "--days", 1e-3, most_days) * units::day;
    else if (o.steps) {
        if (o.step_time.empty()) throw InputError("--steps: how long a step takes is not said (--step-time 12s)");
        work = in_range(o.steps, "--steps", 1, 1e12) * positive_time(o.step_time, "--step-time");
    } else if (o.tokens) {
        if (!o.tokens_per_second)
            throw InputError("--tokens: how fast they are trained on is not said (--tokens-per-second 2.5e6)");
        work = in_range(o.tokens, "--tokens", 1, 1e18) /
               in_range(o.tokens_per_second, "--tokens-per-second", 1e-3, 1e12) * s;
    } else
        subject.assumptions.emplace_back("30 days of work, for want of --days, --steps or --tokens (assumed)");
    if (work > most_days * units::day || work < 60 * s)
        throw InputError("--{}: {} of work (one minute to {:.0f} years)",
                         o.steps    ? "steps"
                         : o.tokens ? "tokens"
                                    : "days",
                         human(work), most_days / 365);
    return work;
}

ParallelPlan plan_of(GoodputOptions const& o) {
    ParallelPlan plan;
    plan.tp = o.tp;
    plan.pp = o.pp;
    plan.cp = o.cp;
    plan.ep = o.ep;
    plan.zero = 1;
    plan.optimizer = optimizer_from(o.optimizer, "--optimizer");
    plan.precision = precision_from(o.precision, "--precision");
    std::int64_t const model_ranks = o.tp * o.pp * o.cp;
    if (o.gpus % model_ranks != 0)
        throw InputError("--gpus: {} is no multiple of tp x pp x cp = {}", o.gpus, model_ranks);
    plan.dp = o.gpus / model_ranks;
    if (o.dp && model_ranks > 1 && plan.dp != *o.dp)
        throw InputError("--dp: {} x {} are not {} accelerators (dp would be {})", *o.dp, model_ranks, o.gpus, plan.dp);
    return plan;
}

CheckpointSize checkpoint_of(GoodputOptions const& o, GoodputSubject& subject) {
    int const ways = int{!o.model.empty()} + int{o.parameters.has_value()} + int{!o.checkpoint_size.empty()};
    if (ways != 1)
        throw InputError("--model: {} (one of --model, --parameters, --checkpoint-size says how large a checkpoint is)",
                         ways == 0 ? "nothing says what is saved" : "the checkpoint is given twice");
    ParallelPlan const plan = plan_of(o);
    FrameworkProfile const framework = find_framework(o.framework, "--framework");
    if (!o.checkpoint_size.empty()) {
        auto const total = parse_quantity<Bytes>(o.checkpoint_size, "--checkpoint-size");
        if (!(total >= 1 * units::KB && total <= 1e6 * units::TB))
            throw InputError("--checkpoint-size: '{}' (1 KB to 1000 PB)", o.checkpoint_size);
        subject.checkpoint_words = "given";
        CheckpointSize size{.total = total, .busiest_rank = total / o.gpus};
        size.per_node = size.busiest_rank * std::min(o.gpus, subject.gpus_per_node);
        return size;
    }
    if (o.parameters) {
        auto const count = static_cast<std::int64_t>(in_range(o.parameters, "--parameters", 1e3, 1e16));
        CheckpointSize const size = even_checkpoint(count, 0, framework.memory, plan, o.gpus, subject.gpus_per_node);
        subject.checkpoint_words =
            fmt::format("{} parameters at {:g} bytes", human_count(*o.parameters), size.bytes_per_parameter);
        return size;
    }
    ModelSpec const model = find_model(o.model);
    subject.model = model.name;
    ParameterCounts const counts = count_parameters(model);
    std::int64_t const embedding = counts.embedding + counts.head;
    bool const split = o.tp * o.pp * o.cp * o.ep > 1;
    CheckpointSize size =
        even_checkpoint(counts.total + counts.mtp, embedding, framework.memory, plan, o.gpus, subject.gpus_per_node);
    if (split) {
        Workload const workload{
            .sequence = model.max_positions > 0 ? std::min<std::int64_t>(4096, model.max_positions) : 4096,
            .global_batch = plan.dp * plan.pp * 2};
        ParallelPlan layout = plan;
        layout.sequence_parallel = plan.tp > 1 ? Switch::on : Switch::off;
        size = sharded_checkpoint(build_step_graph(model, layout, workload), counts.total + counts.mtp, embedding,
                                  framework.memory, subject.gpus_per_node);
    }
    subject.checkpoint_words =
        fmt::format("{} parameters at {:g} bytes ({}, {}), {}",
                    human_count(static_cast<double>(counts.total + counts.mtp)), size.bytes_per_parameter,
                    framework.name, o.optimizer, split ? "sharded over the plan" : "in equal shares of all ranks");
    return size;
}

void set_failures(GoodputOptions const& o, GoodputSubject& subject) {
    std::vector<FailureProcess>& failures = subject.run.failures;
    bool const own = !(o.gpu_mtbf.empty() && o.node_mtbf.empty() && o.fabric_mtbf.empty() && o.software_mtbf.empty());
    std::string const name = !o.failures.empty() ? o.failures : own ? "none" : "llama3";
    if (name != "none") {
        FailureRecord const& record = find_failure_record(name, "--failures");
        failures = failures_of(record, o.gpus, subject.gpus_per_node);
        subject.failures = fmt::format("{}: {}", record.title, record.source);
        subject.assumptions.push_back(
            fmt::format("failure rates of {} ({}): {}", record.name, record.basis, record.remark));
    }
    std::int64_t const nodes = (o.gpus + subject.gpus_per_node - 1) / subject.gpus_per_node;
    auto const replace = [&](std::string const& text, char const* flag, char const* title, FailureScope scope,
                             std::int64_t n) {
        if (text.empty()) return;
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

std::vector<CheckpointTier> tiers_of(GoodputOptions const& o, GoodputSubject& subject, BytesPerSecond host_bandwidth) {
    StorageKind storage = find_storage(o.storage, "--storage");
    StorageKind const& drain = find_storage("parallel-fs", "storage");
    if (o.storage == "host-memory")
        throw InputError("--storage: host-memory is no storage (use --checkpoint in-memory over one)");
    auto const rate = [](std::string const& text, char const* flag) {
        auto const value = parse_quantity<BytesPerSecond>(text, flag);
        if (value.base() <= 0) throw InputError("{}: '{}' is no rate (more than zero)", flag, text);
        return value;
    };
    if (!o.write_bandwidth.empty())
        storage.write_per_node = storage.read_per_node = rate(o.write_bandwidth, "--write-bandwidth");
    if (!o.aggregate_bandwidth.empty())
        storage.write_aggregate = storage.read_aggregate = rate(o.aggregate_bandwidth, "--aggregate-bandwidth");
    if (o.write_bandwidth.empty() || o.aggregate_bandwidth.empty())
        subject.assumptions.push_back(
            fmt::format("{}: {} per node{}: {}", storage.name, human(storage.write_per_node),
                        storage.write_aggregate.base() > 0 ? ", " + human(storage.write_aggregate) + " in all" : "",
                        storage.source));
    subject.mode = checkpoint_mode_from(o.checkpoint, "--checkpoint");
    subject.storage = storage.name;
    std::vector<CheckpointTier> tiers =
        checkpoint_tiers(subject.mode, storage, drain, subject.checkpoint, host_bandwidth);
    if (subject.mode == CheckpointMode::in_memory) {
        StorageKind const& memory = find_storage("host-memory", "storage");
        subject.assumptions.push_back(
            fmt::format("{}: {} per node: {}", memory.name, human(memory.write_per_node), memory.source));
        subject.assumptions.emplace_back("copies in memory survive one node, not a fabric failure (assumed)");
    }
    tiers.front().stall = time_of(o.stall, "--stall", tiers.front().stall);
    tiers.back().lag = time_of(o.write_time, "--write-time", tiers.back().lag);
    tiers.back().load = time_of(o.load_time, "--load-time", tiers.back().load);
    return tiers;
}

void set_intervals(GoodputOptions const& o, GoodputSubject& subject) {
    auto const least = 1 * s;
    auto const given = [&](std::string const& text, char const* flag) {
        Seconds const interval = positive_time(text, flag);
        if (interval < least) throw InputError("{}: '{}' is too short (at least {})", flag, text, human(least));
        return interval;
    };
    std::vector<CheckpointTier>& tiers = subject.run.tiers;
    bool const drained = tiers.size() > 1 && subject.mode != CheckpointMode::in_memory;
    if (o.interval != "auto") {
        tiers.front().interval = given(o.interval, "--interval");
        if (drained) tiers.back().interval = tiers.front().interval;
    }
    if (o.storage_interval != "auto") {
        if (tiers.size() == 1)
            throw InputError("--storage-interval: there is one tier only (its interval is --interval)");
        tiers.back().interval = given(o.storage_interval, "--storage-interval");
    }
    choose_intervals(subject.run);
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

/// "node@3h", "spike@2 days".
InjectedFault injected_fault(std::string const& text) {
    std::size_t const at = text.find('@');
    if (at == std::string::npos)
        throw InputError("--inject: '{}' has no time (such as 'node@3h', 'fabric@2 days' or 'spike@12h')", text);
    std::string const what = text.substr(0, at);
    InjectedFault fault{.at = parse_quantity<Seconds>(text.substr(at + 1), "--inject")};
    if (what != "spike") fault.scope = failure_scope_from(what, "--inject");
    return fault;
}

}  // namespace

GoodputSubject find_goodput_subject(GoodputOptions const& o) {
    GoodputSubject subject;
    check_counts(o);
    subject.gpus = o.gpus;
    BytesPerSecond host_bandwidth = 25 * units::GB / s;
    if (!o.cluster.empty()) {
        ClusterSpec const cluster = find_cluster(o.cluster, "--cluster");
        if (cluster.max_accelerators > 0 && o.gpus > cluster.max_accelerators)
            throw InputError("--gpus: {} is more than {} has ({})", o.gpus, cluster.name, cluster.max_accelerators);
        subject.gpus_per_node = o.gpus_per_node.value_or(std::min<std::int64_t>(8, cluster.domain_size));
        if (!o.gpus_per_node && cluster.domain_size > 8)
            subject.assumptions.push_back(
                fmt::format("8 accelerators per node of a domain of {} (assumed)", cluster.domain_size));
        host_bandwidth = cluster.accelerator.host_bandwidth.value;
        if (cluster.usd_per_accelerator_hour)
            subject.usd_per_gpu_hour = cluster.usd_per_accelerator_hour->value;
        else if (cluster.accelerator.price_usd_per_hour)
            subject.usd_per_gpu_hour = cluster.accelerator.price_usd_per_hour->value;
    } else {
        subject.gpus_per_node = o.gpus_per_node.value_or(8);
        subject.assumptions.push_back(
            fmt::format("{} accelerators per node, 25 GB/s from each to host memory, for want of --cluster (assumed)",
                        subject.gpus_per_node));
    }
    GoodputCase& run = subject.run;
    run.work = work_of(o, subject);
    subject.checkpoint = checkpoint_of(o, subject);
    set_failures(o, subject);
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
    run.replacement.dp = o.dp.value_or(o.gpus / (o.tp * o.pp * o.cp));
    if (o.elastic) {
        if (!o.spares)
            throw InputError("--elastic: replicas are dropped when spares run out (give --spares, 0 for none)");
        if (!o.dp && o.tp * o.pp * o.cp == 1)
            throw InputError(
                "--elastic: how many data-parallel replicas there are is not said (--dp, or --tp and --pp)");
        run.replacement.shortage = Shortage::shrink;
    }
    run.tiers = tiers_of(o, subject, host_bandwidth);
    set_intervals(o, subject);
    set_spikes(o, subject);
    for (std::string const& text : o.injected)
        subject.trial.injected.push_back(injected_fault(text));
    if (o.only_injected) {
        if (o.injected.empty()) throw InputError("--only-injected: no fault is injected (--inject 'node@3h')");
        subject.trial.chance = TrialOptions::Chance::off;
        run.failures.clear();  // the intervals are chosen for them, but none happens
        run.spikes.per_day = 0;
        subject.assumptions.emplace_back("nothing happens by chance (--only-injected); the closed form knows no fault");
    }
    if (o.fleet != "running" && o.fleet != "fresh")
        throw InputError("--fleet: unknown age '{}' (running: in service for long, or fresh: all parts new)", o.fleet);
    subject.trial.age = o.fleet == "fresh" ? FleetAge::fresh : FleetAge::running;
    check_goodput_case(run);
    return subject;
}

}  // namespace sextant::cli
