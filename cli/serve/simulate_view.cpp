// llama-3.1-70b on h100-sxm: 8 replicas of 4 (tp 4, weights bf16, cache bf16, engine vllm)
// poisson arrivals, 40 requests/s; prompts 1024, outputs 256; 10000 requests, seed 1
//
// served       40.1 requests/s, 10.27 K output tokens/s (321 a GPU)
//
//        mean      p50  ...
// TTFT   ...
#include "cli/serve/simulate_facts.hpp"
#include "cli/view/latency_text.hpp"
#include "core/quantity_text.hpp"
#include "planner/left_out.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant::cli {
namespace {

std::string latencies(ServeSimulateReport const& report) {
    Table table({{"latency"},
                 {"mean", Align::right},
                 {"p50", Align::right},
                 {"p90", Align::right},
                 {"p95", Align::right},
                 {"p99", Align::right},
                 {"largest", Align::right}});
    for (NamedSpread const& row : named_spreads(report)) {
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
                       share_text(report.token_share(t)), text(t.ttft, t.ttft.p50), text(t.ttft, t.ttft.p99),
                       text(t.tpot, t.tpot.p50), text(t.tpot, t.tpot.p99), text(t.e2e, t.e2e.p50),
                       text(t.e2e, t.e2e.p99)});
    }
    std::string out = "\n" + table.text();
    if (all.size() > most) out += fmt::format("and {} more tenants (--format json)\n", all.size() - most);
    return out;
}

/// How to ask for more requests.
std::string_view more_requests(ServeSimulateReport const& report) {
    return report.trace.empty() ? "more --count" : "a longer trace";
}

std::string overload_words(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    auto const drift = report.drift();
    std::string const growth = drift ? fmt::format(", and grows by {:.3g} requests a second", *drift) : "";
    std::string words = fmt::format(
        "OVERLOADED: {}; the queue has not been empty since {}{}. Stopped after {} of {} requests at {}, {} of them "
        "unfinished: latencies would only say how long the run was.",
        overload_rates(report), human(o.onset), growth, o.whole.arrived, report.requests, human(o.whole.at),
        o.whole.arrived - o.whole.finished);
    if (auto const missed = report.ttft_missed_from())
        words += fmt::format(" From {} on a request waits longer than the {} of the objective.", human(*missed),
                             human(*report.setup.objective.ttft));
    return wrapped(words);
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
                           : fmt::format("NOTE: the queue or the batches still grew at the end: the figures are of "
                                         "this run, not of a steady state ({}).",
                                         more_requests(report)));
    if (o.window_to_end && report.has_latencies())
        out += wrapped(
            "NOTE: all requests arrived within less than one answer takes: throughput is that of the whole batch.");
    return out;
}

}  // namespace

std::string replicas_words(ServeSimulateReport const& report) {
    ServingSetup const& setup = report.setup;
    auto const each = [](ServingCase const& what) {
        return fmt::format("of {} ({})", what.plan.accelerators(), serving_plan_text(what));
    };
    auto const number = [](std::int64_t replicas) {
        return replicas == 1 ? std::string("a replica") : fmt::format("{} replicas", replicas);
    };
    std::int64_t const decodes = setup.replicas - setup.prefill_replicas;
    if (report.prompts)
        return fmt::format("{} for prompts {} and {} {}", number(setup.prefill_replicas), each(report.prompts->what),
                           decodes == 1 ? "one that decodes" : fmt::format("{} that decode", decodes),
                           each(report.what));
    if (setup.prefill_replicas > 0)
        return fmt::format("{} replicas for prompts and {} that decode, {}", setup.prefill_replicas, decodes,
                           each(report.what));
    if (setup.autoscale.on())
        return fmt::format("{} to {} replicas {}", setup.autoscale.least, setup.autoscale.most, each(report.what));
    return fmt::format("{} {}", number(setup.replicas), each(report.what));
}

std::string_view name_of(SteadyState state) {
    switch (state) {
        case SteadyState::steady: return "steady";
        case SteadyState::unsettled: return "unsettled";
        case SteadyState::overloaded: break;
    }
    return "overloaded";
}

std::string overload_rates(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    return o.capacity ? fmt::format("{:.4g} requests/s arrive and {:.4g} are served", o.offered, *o.capacity)
                      : fmt::format("{:.4g} requests/s arrive, and how many are served is not measured ({})", o.offered,
                                    more_requests(report));
}

char const* gap_name(ServeSimulateReport const& report) {
    return report.setup.limits.speculation.tokens > 0 ? "between steps" : "between tokens";
}

std::vector<NamedSpread> named_spreads(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    return {{"TTFT", "ttft", o.ttft},
            {"TPOT", "tpot", o.tpot},
            {gap_name(report), "itl", o.itl},
            {"end to end", "e2e", o.e2e},
            {"until scheduled", "queue", o.queue}};
}

std::string serve_simulate_text(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    std::string out =
        wrapped(fmt::format("{} on {}: {}, {} scheduler, {} router", named(report.what.model), report.what.cluster.name,
                            replicas_words(report), report.setup.limits.scheduler.name, name_of(report.setup.router)));
    out += wrapped(fmt::format("{}; prompts {}, outputs {}; {} requests, seed {}", report.load, report.prompt,
                               report.output, report.requests, report.seed));
    if (o.state == SteadyState::overloaded) out += "\n" + overload_words(report);
    std::string const notes = settling_words(report);
    if (!notes.empty()) out += "\n" + notes;
    out += "\n" + aligned_pairs(serve_simulate_facts(report));
    if (report.has_latencies()) {
        out += latencies(report);
        out += fmt::format("{} requests measured, after a warm-up of {:g} %\n", o.measured,
                           100 * report.setup.warmup_share);
        out += tenants_text(report);
        out += wrapped(fmt::format("80 % of measured runs: {}", serving_interval_text(report.support())), "    ");
    }
    if (!report.assumptions.empty()) out += "\nassumed\n";
    for (std::string const& assumption : report.assumptions)
        out += wrapped("  " + assumption, "    ");
    return out;
}

}  // namespace sextant::cli
