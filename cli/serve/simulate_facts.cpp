// served       40.1 requests/s, 10.27 K output tokens/s (321 a GPU)
#include "cli/serve/simulate_facts.hpp"

#include "cli/view/latency_text.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant::cli {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

void add_throughput(ServeSimulateReport const& report, Pairs& pairs) {
    ServingOutcome const& o = report.outcome;
    double const tokens = report.output_tokens_per_s();
    pairs.emplace_back(
        "served",
        fmt::format("{:.4g} requests/s, {} output tokens/s ({:.4g} a GPU), {} with prompts", report.requests_per_s(),
                    human_count(tokens), report.output_tokens_per_s_per_gpu(),
                    human_count(tokens + report.per_second(static_cast<double>(o.window.counters.prompt_tokens)))));
    if (report.setup.objective.any() && report.has_latencies())
        pairs.emplace_back(
            "good",
            fmt::format("{} of the requests, {:.4g} a second, have {}", share_text(report.good_share()),
                        report.good_share() * report.requests_per_s(), objective_words(report.setup.objective)));
    if (auto const usd = report.usd_per_million_output_tokens())
        pairs.emplace_back(
            "cost",
            fmt::format("{:.4g} USD per million output tokens, {:.4g} USD/h for {} GPUs", *usd,
                        *report.price * report.replicas_held() * report.accelerators_of_replica(),
                        static_cast<std::int64_t>(report.replicas_held() * report.accelerators_of_replica() + 0.5)));
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

std::string prefix_words(ServeSimulateReport const& report) {
    std::string out = fmt::format("{} of the prompt tokens found", share_text(report.hit_rate()));
    if (report.host_prefixes > Bytes{})
        out += fmt::format("; {} tokens read from host memory",
                           human_count(static_cast<double>(report.outcome.window.counters.loaded_tokens)));
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
                                                  o.failures, o.drains, share_text(report.availability())));
    if (o.restarted > 0)
        pairs.emplace_back("restarted", fmt::format("{} requests, {} tokens computed again elsewhere", o.restarted,
                                                    human_count(static_cast<double>(o.restarted_tokens))));
}

void add_state(ServeSimulateReport const& report, Pairs& pairs) {
    ServingOutcome const& o = report.outcome;
    ReplicaCounters const& c = o.window.counters;
    double const replicas = report.replicas_up();
    add_fleet(report, pairs);
    auto const of_prompts = [&](std::int64_t value) {
        return report.setup.prefill_limits ? fmt::format(" ({} of one for prompts)", value) : std::string();
    };
    ReplicaLimits const& limits = report.setup.limits;
    ReplicaLimits const& prompt_limits = report.setup.limits_for_prompts();
    pairs.emplace_back("batch", fmt::format("{:.4g} requests run in a replica, of {} at most{}",
                                            report.per_second(o.window.running) / replicas, limits.max_batch,
                                            of_prompts(prompt_limits.max_batch)));
    pairs.emplace_back("queue", fmt::format("{:.3g} requests wait on average, {} at most, of all replicas",
                                            report.per_second(o.window.waiting), o.most_waiting));
    pairs.emplace_back("KV cache", fmt::format("{} in use on average, {} at most, of {} tokens a replica{}",
                                               share_text(report.mean_cache_use()), share_text(o.most_cache_use),
                                               limits.cache_tokens(), of_prompts(prompt_limits.cache_tokens())));
    if (c.cached_tokens > 0) pairs.emplace_back("prefix cache", prefix_words(report));
    if (Speculation const& guesses = report.setup.limits.speculation; guesses.tokens > 0)
        pairs.emplace_back(
            "speculation",
            fmt::format("{:.4g} tokens per step of a sequence, of {} at most ({:.4g} without last steps)",
                        report.tokens_per_step(), guesses.tokens + 1, guesses.tokens_per_step()));
    if (report.adapter_cost)
        pairs.emplace_back("adapters",
                           fmt::format("{} of rank {}, {} resident of {} each; {} of the admissions found theirs",
                                       report.adapters, report.adapter_rank, report.setup.limits.adapter_slots,
                                       human(report.adapter_cost->bytes), share_text(report.adapter_hit_rate())));
    if (o.whole.counters.preemptions > 0) pairs.emplace_back("preemptions", preemption_words(report));
    if (std::int64_t const prefills = report.setup.prefill_replicas; prefills > 0) {
        double const prompts = report.per_second(o.window.prefill_busy.base());
        double const decodes = report.per_second(c.busy.base()) - prompts;
        pairs.emplace_back(
            "of prompts", fmt::format("replicas busy {} of the time; those that decode {}",
                                      share_text(std::min(1.0, prompts / static_cast<double>(prefills))),
                                      share_text(std::min(1.0, decodes / (replicas - static_cast<double>(prefills))))));
        if (o.window.transfers > 0)
            pairs.emplace_back("transfers",
                               fmt::format("{} each, {} if no link were shared",
                                           latency_text(o.window.transferring / o.window.transfers),
                                           latency_text(o.window.transferring_alone / o.window.transfers)));
    }
    pairs.emplace_back("busy", fmt::format("{} of the time, in {} iterations", share_text(report.utilisation()),
                                           human_count(static_cast<double>(c.iterations))));
}

}  // namespace

std::string objective_words(LatencyObjective const& objective) {
    std::string out;
    if (objective.ttft) out += "TTFT <= " + human(*objective.ttft);
    if (objective.tpot) out += (out.empty() ? "" : " and ") + std::string("TPOT <= ") + human(*objective.tpot);
    return out;
}

std::string share_text(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::vector<std::pair<std::string, std::string>> serve_simulate_facts(ServeSimulateReport const& report) {
    Pairs pairs;
    add_throughput(report, pairs);
    add_state(report, pairs);
    return pairs;
}

}  // namespace sextant::cli
