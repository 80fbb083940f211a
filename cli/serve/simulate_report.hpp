#pragma once

#include "cli/serve/options.hpp"
#include "cli/view/table.hpp"
#include "cost_models/serving/adapter_cost.hpp"
#include "cost_models/serving/serving_memory.hpp"
#include "planner/serving/serving_support.hpp"
#include "simulator/serving/serving_on_simgrid.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace sextant::cli {

/// Replicas of one kind.
struct SimulatedReplica {
    ServingCase what;
    ServingMemory memory;  ///< without resident adapters
    std::optional<AdapterCost> adapter_cost{};
};

/// The answer of `sextant serve simulate`.
struct ServeSimulateReport {
    ServingCase what;
    ServingMemory memory;
    std::optional<SimulatedReplica> prompts{};  ///< where these have replicas that differ from those which decode
    ServingSetup setup;
    ServingClock clock = ServingClock::loop;
    std::string load;    ///< "poisson arrivals, 20 requests/s"
    std::string prompt;  ///< "lognormal, mean 1000, variation 1"
    std::string output;
    std::int64_t requests = 0;
    std::string trace;  ///< the file that has them; empty: they are drawn
    std::uint64_t seed = 1;
    std::optional<AdapterCost> adapter_cost;
    std::int64_t adapters = 0;  ///< different ones
    std::int64_t adapter_rank = 0;
    Bytes host_cache{};           ///< of an accelerator, for sequences that make room
    Bytes host_prefixes{};        ///< the same for prefixes that give way
    std::optional<double> price;  ///< US dollars per accelerator and hour
    ServingOutcome outcome;
    std::string cold_start_words;  ///< where its time is derived
    std::vector<std::string> tenants;
    std::vector<std::string> assumptions;

    [[nodiscard]] std::int64_t accelerators() const;
    /// Mean: of replicas for prompts and those that decode all are held at all times.
    [[nodiscard]] double accelerators_of_replica() const {
        return static_cast<double>(accelerators()) / static_cast<double>(setup.replicas);
    }
    [[nodiscard]] ServingSupport support() const {
        return prompts ? serving_support(prompts->what, what) : serving_support(what);
    }
    /// Mean over the window: latencies mean nothing when overloaded, throughput does.
    [[nodiscard]] double per_second(double total) const {
        return outcome.window.at > Seconds{} ? total / outcome.window.at.base() : 0;
    }
    [[nodiscard]] double output_tokens_per_s() const {
        return per_second(static_cast<double>(outcome.window.counters.tokens_out));
    }
    /// Of the accelerators that are paid for, mean over the window.
    [[nodiscard]] double output_tokens_per_s_per_gpu() const;
    [[nodiscard]] double requests_per_s() const { return per_second(static_cast<double>(outcome.window.finished)); }
    [[nodiscard]] double good_share() const {
        return outcome.measured > 0 ? static_cast<double>(outcome.good) / static_cast<double>(outcome.measured) : 0;
    }
    [[nodiscard]] double hit_rate() const;
    [[nodiscard]] double adapter_hit_rate() const;  ///< admissions that found theirs resident
    /// Of the tokens, prompts and outputs, of all measured requests.
    [[nodiscard]] double token_share(TenantOutcome const& tenant) const;
    [[nodiscard]] double replicas_up() const;  ///< mean over the window
    [[nodiscard]] double replicas_held() const;
    [[nodiscard]] double gpu_hours() const;  ///< paid for, of the whole run
    [[nodiscard]] double availability() const;
    [[nodiscard]] double utilisation() const;      ///< of the first stage, mean over replicas
    [[nodiscard]] double mean_cache_use() const;   ///< of the replicas that served
    [[nodiscard]] double tokens_per_step() const;  ///< of a sequence that decodes
    [[nodiscard]] std::optional<double> usd_per_million_output_tokens() const;
    /// By how many requests a second the queue grows; nothing where the capacity was not measured. @pre overloaded
    [[nodiscard]] std::optional<double> drift() const;
    /// When a request that arrives waits as long as the objective of the first token allows, of an overloaded run: the
    /// queue is drift (t - onset) by then, and is served at the capacity C, so t = onset + TTFT C / drift.
    [[nodiscard]] std::optional<Seconds> ttft_missed_from() const;
    /// Latencies hold for a run that goes on.
    [[nodiscard]] bool has_latencies() const {
        return outcome.state != SteadyState::overloaded && outcome.measured > 0;
    }
};

std::string_view name_of(SteadyState state);

/// "3 replicas of 8 (tp 8, ...)", or those for prompts and those that decode.
std::string replicas_words(ServeSimulateReport const& report);

/// "12 requests/s arrive and 9.8 are served"; that the latter was not measured, where it was not. @pre overloaded
std::string overload_rates(ServeSimulateReport const& report);
/// "TTFT <= 2 s and TPOT <= 40 ms".
std::string objective_words(LatencyObjective const& objective);

/// A latency of a run, as text and files call it.
struct NamedSpread {
    char const* title;
    char const* key;
    LatencySpread const& spread;
};
/// @param report outlives them.
std::vector<NamedSpread> named_spreads(ServeSimulateReport const& report);
/// What lies between the times that tokens of a request come at: of speculation a step's tokens come together.
char const* gap_name(ServeSimulateReport const& report);

std::string serve_simulate_text(ServeSimulateReport const& report);
std::string serve_simulate_json(ServeSimulateReport const& report);
/// A row per figure: quantity, value.
Table serve_simulate_table(ServeSimulateReport const& report);

/// Perfetto trace of queue, batch, cache and token rate over time.
std::string serve_simulate_trace(ServeSimulateReport const& report);

/// Header of the file of `--requests`, and a row of it.
std::string request_csv_header();
std::string request_csv_row(FinishedRequest const& request, std::vector<std::string> const& tenants);

}  // namespace sextant::cli
