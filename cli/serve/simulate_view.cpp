// llama-3.1-70b on h100-sxm: 8 replicas of 4 (tp 4, weights bf16, cache bf16, engine vllm)
// poisson arrivals, 40 requests/s; prompts 1024, outputs 256; 10000 requests, seed 1
//
// served       40.1 requests/s, 10.27 K output tokens/s (321 a GPU)
//
//        mean      p50  ...
// TTFT   ...
#include "cli/latency_text.hpp"
#include "cli/serve/simulate_report.hpp"
#include "core/csv.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant::cli {
namespace {

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

struct NamedSpread {
    char const* title;
    char const* key;
    LatencySpread const& spread;
};

std::vector<NamedSpread> spreads(ServingOutcome const& o) {
    return {{"TTFT", "ttft", o.ttft},
            {"TPOT", "tpot", o.tpot},
            {"between tokens", "itl", o.itl},
            {"end to end", "e2e", o.e2e},
            {"until scheduled", "queue", o.queue}};
}

std::string latencies(ServeSimulateReport const& report) {
    Table table({{"latency"},
                 {"mean", Align::right},
                 {"p50", Align::right},
                 {"p90", Align::right},
                 {"p95", Align::right},
                 {"p99", Align::right},
                 {"largest", Align::right}});
    for (NamedSpread const& row : spreads(report.outcome)) {
        LatencySpread const& l = row.spread;
        if (l.count > 0)
            table.add_row({row.title, latency_text(l.mean), latency_text(l.p50), latency_text(l.p90),
                           latency_text(l.p95), latency_text(l.p99), latency_text(l.largest)});
    }
    return "\n" + table.text();
}

/// The first so many tenants; the JSON has all.
std::string tenants_text(ServeSimulateReport const& report) {
    constexpr std::size_t most = 20;
    std::vector<TenantOutcome> const& all = report.outcome.tenants;
    if (all.empty()) return {};
    Table table({{"tenant"},
                 {"requests", Align::right},
                 {"tokens", Align::right},
                 {"TTFT p50", Align::right},
                 {"p99", Align::right},
                 {"TPOT p50", Align::right},
                 {"p99", Align::right},
                 {"end to end p50", Align::right},
                 {"p99", Align::right}});
    auto const text = [](LatencySpread const& spread, Seconds quantile) {
        return spread.count > 0 ? latency_text(quantile) : std::string("-");
    };
    for (std::size_t i = 0; i < std::min(all.size(), most); ++i) {
        TenantOutcome const& t = all[i];
        table.add_row({i < report.tenants.size() ? report.tenants[i] : "", fmt::format("{}", t.measured),
                       percent(report.token_share(t)), text(t.ttft, t.ttft.p50), text(t.ttft, t.ttft.p99),
                       text(t.tpot, t.tpot.p50), text(t.tpot, t.tpot.p99), text(t.e2e, t.e2e.p50),
                       text(t.e2e, t.e2e.p99)});
    }
    std::string out = "\n" + table.text();
    if (all.size() > most) out += fmt::format("and {} more tenants (--format json)\n", all.size() - most);
    return out;
}

std::string objective_words(LatencyObjective const& objective) {
    std::string out;
    if (objective.ttft) out += "TTFT <= " + human(*objective.ttft);
    if (objective.tpot) out += (out.empty() ? "" : " and ") + std::string("TPOT <= ") + human(*objective.tpot);
    return out;
}

std::string overload_words(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    std::string words = fmt::format(
        "OVERLOADED: {:.4g} requests/s arrive and {:.4g} are served; the queue has not been empty since {}, and grows "
        "by {:.3g} requests a second. Stopped after {} of {} requests at {}, {} of them unfinished: latencies would "
        "only "
        "say how long the run was.",
        o.offered, o.capacity, human(o.onset), o.offered - o.capacity, o.whole.arrived, report.requests,
        human(o.whole.at), o.whole.arrived - o.whole.finished);
    if (auto const missed = report.ttft_missed_from())
        words += fmt::format(" From {} on a request waits longer than the {} of the objective.", human(*missed),
                             human(*report.setup.objective.ttft));
    return wrapped(words);
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

void add_throughput(ServeSimulateReport const& report, Pairs& pairs) {
    ServingOutcome const& o = report.outcome;
    double const tokens = report.output_tokens_per_s();
    pairs.emplace_back(
        "served",
        fmt::format("{:.4g} requests/s, {} output tokens/s ({:.4g} a GPU), {} with prompts", report.requests_per_s(),
                    human_count(tokens), tokens / static_cast<double>(report.accelerators()),
                    human_count(tokens + report.per_second(static_cast<double>(o.window.counters.prompt_tokens)))));
    if (report.setup.objective.any() && report.has_latencies())
        pairs.emplace_back(
            "good",
            fmt::format("{} of the requests, {:.4g} a second, have {}", percent(report.good_share()),
                        report.good_share() * report.requests_per_s(), objective_words(report.setup.objective)));
    if (auto const usd = report.usd_per_million_output_tokens())
        pairs.emplace_back(
            "cost",
            fmt::format("{:.4g} USD per million output tokens, {:.4g} USD/h for {} GPUs", *usd,
                        *report.price * report.replicas_held() * static_cast<double>(report.what.plan.accelerators()),
                        static_cast<std::int64_t>(
                            report.replicas_held() * static_cast<double>(report.what.plan.accelerators()) + 0.5)));
}

std::string preemption_words(ServeSimulateReport const& report) {
    ReplicaCounters const& c = report.outcome.whole.counters;
    std::string out = fmt::format("{}, {} tokens computed again", c.preemptions,
                                  human_count(static_cast<double>(c.recomputed_tokens)));
    if (report.setup.limits.preemption == PreemptionPolicy::swap)
        out += fmt::format("; {} to the host, {} tokens, {} of copies", c.swaps,
                           human_count(static_cast<double>(c.swapped_tokens)), human(c.copying));
    return out;
}

void add_fleet(ServeSimulateReport const& report, Pairs& pairs) {
    ServingOutcome const& o = report.outcome;
    ServingSetup const& setup = report.setup;
    if (!setup.changes()) return;
    std::string words = fmt::format("{:.3g} replicas serve on average, {:.3g} are paid for: {:.4g} GPU-hours in all",
                                    report.replicas_up(), report.replicas_held(), report.gpu_hours());
    if (report.price) words += fmt::format(", {:.4g} USD", *report.price * report.gpu_hours());
    pairs.emplace_back("fleet", words);
    if (setup.autoscale.on())
        pairs.emplace_back("autoscaler", fmt::format("{} started, {} stopped; a cold start takes {}", o.started,
                                                     o.stopped, human(setup.autoscale.cold_start)));
    if (setup.outages.mtbf > Seconds{} || !setup.outages.drains.empty())
        pairs.emplace_back("outages", fmt::format("{} failures, {} drains: replicas are there {} of the time",
                                                  o.failures, o.drains, percent(report.availability())));
    if (o.restarted > 0)
        pairs.emplace_back("restarted", fmt::format("{} requests, {} tokens computed again elsewhere", o.restarted,
                                                    human_count(static_cast<double>(o.restarted_tokens))));
}

void add_state(ServeSimulateReport const& report, Pairs& pairs) {
    ServingOutcome const& o = report.outcome;
    ReplicaCounters const& c = o.window.counters;
    double const replicas = report.replicas_up();
    add_fleet(report, pairs);
    pairs.emplace_back("batch",
                       fmt::format("{:.4g} requests run in a replica, of {} at most",
                                   report.per_second(o.window.running) / replicas, report.setup.limits.max_batch));
    pairs.emplace_back("queue", fmt::format("{:.3g} requests wait on average, {} at most, of all replicas",
                                            report.per_second(o.window.waiting), o.most_waiting));
    pairs.emplace_back("KV cache", fmt::format("{} in use on average, {} at most, of {} tokens a replica",
                                               percent(report.mean_cache_use()), percent(o.most_cache_use),
                                               report.setup.limits.blocks * report.setup.limits.block_tokens));
    if (c.cached_tokens > 0)
        pairs.emplace_back("prefix cache", fmt::format("{} of the prompt tokens found", percent(report.hit_rate())));
    if (Speculation const& guesses = report.setup.limits.speculation; guesses.tokens > 0)
        pairs.emplace_back(
            "speculation",
            fmt::format("{:.4g} tokens per step of a sequence, of {} at most ({:.4g} without last steps)",
                        report.tokens_per_step(), guesses.tokens + 1, guesses.tokens_per_step()));
    if (report.adapter_cost)
        pairs.emplace_back("adapters",
                           fmt::format("{} of rank {}, {} resident of {} each; {} of the admissions found theirs",
                                       report.adapters, report.adapter_rank, report.setup.limits.adapter_slots,
                                       human(report.adapter_cost->bytes), percent(report.adapter_hit_rate())));
    if (o.whole.counters.preemptions > 0) pairs.emplace_back("preemptions", preemption_words(report));
    if (std::int64_t const prefills = report.setup.prefill_replicas; prefills > 0) {
        double const prompts = report.per_second(o.window.prefill_busy.base());
        double const decodes = report.per_second(c.busy.base()) - prompts;
        pairs.emplace_back("of prompts",
                           fmt::format("replicas busy {} of the time; those that decode {}",
                                       percent(std::min(1.0, prompts / static_cast<double>(prefills))),
                                       percent(std::min(1.0, decodes / (replicas - static_cast<double>(prefills))))));
        if (o.window.transfers > 0)
            pairs.emplace_back("transfers",
                               fmt::format("{} each, {} if no link were shared",
                                           latency_text(o.window.transferring / o.window.transfers),
                                           latency_text(o.window.transferring_alone / o.window.transfers)));
    }
    pairs.emplace_back("busy", fmt::format("{} of the time, in {} iterations", percent(report.utilisation()),
                                           human_count(static_cast<double>(c.iterations))));
}

std::string replicas_words(ServingSetup const& setup) {
    if (setup.prefill_replicas > 0)
        return fmt::format("{} replicas for prompts and {} that decode,", setup.prefill_replicas,
                           setup.replicas - setup.prefill_replicas);
    if (setup.autoscale.on()) return fmt::format("{} to {} replicas", setup.autoscale.least, setup.autoscale.most);
    return setup.replicas == 1 ? "a replica" : fmt::format("{} replicas", setup.replicas);
}

std::string settling_words(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    std::string out;
    if (o.interrupted)
        out += wrapped(fmt::format("INTERRUPTED after {} of {} requests{}.", o.whole.arrived, report.requests,
                                   o.measured == 0 ? ", in the warm-up: no latencies yet" : ""));
    if (report.setup.concurrency == 0 && o.state == SteadyState::unsettled && !o.interrupted)
        out += wrapped(report.requests < OverloadWatch::least_arrivals
                           ? fmt::format("NOTE: {} requests are too few to tell whether the queue would go on growing "
                                         "(at least {}): the figures are of these requests, not of a steady state.",
                                         report.requests, OverloadWatch::least_arrivals)
                           : std::string("NOTE: the queue or the batches still grew at the end: the "
                                         "figures are of this run, not of a steady state (more --count)."));
    if (o.window_to_end && report.has_latencies())
        out += wrapped(
            "NOTE: all requests arrived within less than one answer takes: throughput is that of the whole batch.");
    return out;
}

}  // namespace

std::string_view name_of(SteadyState state) {
    switch (state) {
        case SteadyState::steady: return "steady";
        case SteadyState::unsettled: return "unsettled";
        case SteadyState::overloaded: break;
    }
    return "overloaded";
}

std::string serve_simulate_text(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    std::string out = wrapped(fmt::format("{} on {}: {} of {} ({}), {} scheduler, {} router", report.what.model.name,
                                          report.what.cluster.name, replicas_words(report.setup),
                                          report.what.plan.accelerators(), serving_plan_text(report.what),
                                          report.setup.limits.scheduler.name, name_of(report.setup.router)));
    out += wrapped(fmt::format("{}; prompts {}, outputs {}; {} requests, seed {}", report.load, report.prompt,
                               report.output, report.requests, report.seed));
    if (o.state == SteadyState::overloaded) out += "\n" + overload_words(report);
    std::string const notes = settling_words(report);
    if (!notes.empty()) out += "\n" + notes;
    Pairs pairs;
    add_throughput(report, pairs);
    add_state(report, pairs);
    out += "\n" + aligned_pairs(pairs);
    if (report.has_latencies()) {
        out += latencies(report);
        out += fmt::format("{} requests measured, after a warm-up of {:g} %\n", o.measured,
                           100 * report.setup.warmup_share);
        out += tenants_text(report);
    }
    if (!report.assumptions.empty()) out += "\nassumed\n";
    for (std::string const& assumption : report.assumptions)
        out += wrapped("  " + assumption, "    ");
    return out;
}

Table serve_simulate_table(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    Table table({{"quantity"}, {"value", Align::right}});
    auto const add = [&](std::string const& name, auto const& value) {
        table.add_row({name, fmt::format("{}", value)});
    };
    add("state", o.interrupted ? "interrupted" : name_of(o.state));
    add("requests_arrived", o.whole.arrived);
    add("requests_finished", o.whole.finished);
    add("requests_measured", o.measured);
    add("requests_per_s", report.requests_per_s());
    add("output_tokens_per_s", report.output_tokens_per_s());
    add("output_tokens_per_s_per_gpu", report.output_tokens_per_s() / static_cast<double>(report.accelerators()));
    if (auto const usd = report.usd_per_million_output_tokens()) add("usd_per_million_output_tokens", *usd);
    if (o.state == SteadyState::overloaded) {
        add("capacity_requests_per_s", o.capacity);
        add("offered_requests_per_s", o.offered);
        add("overloaded_since_s", o.onset.base());
    }
    if (report.has_latencies()) {
        if (report.setup.objective.any()) {
            add("good_share", report.good_share());
            add("good_requests_per_s", report.good_share() * report.requests_per_s());
        }
        for (NamedSpread const& row : spreads(o)) {
            if (row.spread.count == 0) continue;
            std::string const key = row.key;
            add(key + "_mean_s", row.spread.mean.base());
            add(key + "_p50_s", row.spread.p50.base());
            add(key + "_p90_s", row.spread.p90.base());
            add(key + "_p95_s", row.spread.p95.base());
            add(key + "_p99_s", row.spread.p99.base());
            add(key + "_largest_s", row.spread.largest.base());
        }
    }
    add("running_mean", report.per_second(o.window.running));
    add("waiting_mean", report.per_second(o.window.waiting));
    add("waiting_most", o.most_waiting);
    add("cache_use_mean", report.mean_cache_use());
    add("cache_use_most", o.most_cache_use);
    add("prefix_hit_rate", report.hit_rate());
    add("tokens_per_step", report.tokens_per_step());
    add("preemptions", o.whole.counters.preemptions);
    add("recomputed_tokens", o.whole.counters.recomputed_tokens);
    add("swaps", o.whole.counters.swaps);
    if (report.adapter_cost) add("adapter_hit_rate", report.adapter_hit_rate());
    if (report.setup.changes()) {
        add("replicas_up_mean", report.replicas_up());
        add("gpu_hours", report.gpu_hours());
        add("availability", report.availability());
        add("failures", o.failures);
        add("restarted_requests", o.restarted);
    }
    add("utilisation", report.utilisation());
    return table;
}

std::string request_csv_header() {
    return "number,arrival_s,prompt,output,prefix,tenant,priority,replica,cached_tokens,preemptions,queue_s,ttft_s,"
           "tpot_s,e2e_s,adapter,restarts\n";
}

std::string request_csv_row(FinishedRequest const& r, std::vector<std::string> const& tenants) {
    auto const tenant = static_cast<std::size_t>(r.request.tenant);
    return fmt::format("{},{:.9g},{},{},{},{},{},{},{},{},{:.9g},{:.9g},{},{:.9g},{},{}\n", r.number,
                       r.request.arrival.base(), r.request.prompt, r.request.output,
                       r.request.prefix >= 0 ? fmt::format("{}", r.request.prefix) : "",
                       tenant < tenants.size() ? csv_cell(tenants[tenant]) : "", r.request.priority, r.replica,
                       r.cached_tokens, r.preemptions, (r.scheduled - r.request.arrival).base(), r.ttft().base(),
                       r.request.output > 1 ? fmt::format("{:.9g}", r.tpot().base()) : "", r.e2e().base(),
                       r.request.adapter >= 0 ? fmt::format("{}", r.request.adapter) : "", r.restarts);
}

std::string serve_simulate_trace(ServeSimulateReport const& report) {
    std::string out = R"({"displayTimeUnit":"ms","traceEvents":[)"
                      "\n"
                      R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"serving, all replicas"}})";
    ServingSample before{};
    for (ServingSample const& s : report.outcome.series) {
        double const ts = s.at.in(units::us);
        double const span = (s.at - before.at).base();
        auto const counter = [&](char const* name, double value) {
            out +=
                fmt::format(",\n{{\"ph\":\"C\",\"pid\":1,\"ts\":{:.3f},\"name\":\"{}\",\"args\":{{\"value\":{:g}}}}}",
                            ts, name, value);
        };
        counter("requests waiting", static_cast<double>(s.waiting));
        counter("requests running", static_cast<double>(s.running));
        counter("KV cache, %", 100 * s.cache_use);
        if (span > 0) counter("output tokens/s", static_cast<double>(s.tokens_out - before.tokens_out) / span);
        before = s;
    }
    return out + "\n]}\n";
}

}  // namespace sextant::cli
