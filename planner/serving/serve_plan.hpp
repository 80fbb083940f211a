#pragma once

#include "cost_models/serving/format_quality.hpp"
#include "cost_models/serving/steady_state.hpp"
#include "planner/serving/usual_formats.hpp"
#include "simulator/serving/replica.hpp"
#include "simulator/serving/request_source.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// Machines that may be rented.
struct ServeMachine {
    ClusterSpec cluster;
    std::optional<double> usd_per_hour;       ///< of one accelerator; without it accelerators are counted
    UsualWeights weights{.weights = "bf16"};  ///< their format here where the question has none
};

struct ServeCandidate;

/// A load, what it has to keep, and what may be chosen.
struct ServeQuestion {
    ModelSpec model;
    EngineProfile engine;
    std::vector<ServeMachine> machines;
    double rate = 1;  ///< requests a second, of all replicas together
    LengthDistribution prompt;
    LengthDistribution output;
    ArrivalProcess process = ArrivalProcess::poisson;
    double variation = 1;  ///< of the intervals of gamma arrivals
    /// Recorded requests: simulations replay them, whole, instead of drawing any (`replay`).
    std::vector<ServingRequest> trace{};
    Seconds ttft{};  ///< objective; zero: none
    Seconds tpot{};
    double share = 0.99;                 ///< of the requests that keep both
    std::vector<std::int64_t> tensor{};  ///< tp that may be chosen; none: powers of two within a domain
    std::vector<std::int64_t> stages{};  ///< pp; none: up to 16 while a replica spans four domains or less
    std::vector<std::int64_t> groups{};  ///< attention_dp; none: 1, and of experts powers of two, likewise
    bool apart = false;                  ///< deployments whose prompts have replicas of their own are tried as well
    std::vector<std::int64_t> prompt_tensor{};  ///< tp of these; none: those of the others, as of the next two
    std::vector<std::int64_t> prompt_stages{};
    std::vector<std::int64_t> prompt_groups{};
    std::vector<std::string> weights;  ///< that may be chosen; none: each machine's
    CheckpointFormat checkpoint{};     ///< of the model, which one of them may be
    std::vector<CacheFormat> caches;
    FormatOrigin caches_origin = FormatOrigin::given;
    std::vector<std::int64_t> batches{};           ///< `ServingPlan::max_batch`; none: as `batch_limits` has it
    std::vector<std::int64_t> chunks{2048, 8192};  ///< of `max_batched_tokens`
    std::int64_t redundant_experts = 0;            ///< where experts are divided over ranks
    std::optional<Dispatcher> dispatcher{};        ///< the same
    std::optional<double> memory_utilisation{};    ///< instead of the engine's
    std::optional<Scheduler> scheduler{};          ///< instead of the engine's
    std::optional<double> most_error{};            ///< of a format that rounds; a larger one drops it
    std::vector<FormatError> errors{};             ///< what `most_error` is compared with
    std::int64_t most_accelerators = 4096;
    std::int64_t requests = 4000;  ///< of one simulation, at least
    int shown = 10;
    std::uint64_t seed = 1;
    unsigned threads = 0;
    std::atomic<bool> const* stop = nullptr;
    std::function<void(std::string const&)> progress{};
    [[nodiscard]] Scheduler used_scheduler() const { return scheduler.value_or(scheduler_of(engine)); }
    /// Tokens of the longest sequence; of a model that states none, assumed.
    [[nodiscard]] std::int64_t positions() const { return std::max<std::int64_t>(model.max_positions, 2048); }
    /// A replica of a candidate, one that decodes where prompts have others.
    [[nodiscard]] ServingCase case_of(ServeCandidate const& c) const;
    /// One of these. @pre it has them
    [[nodiscard]] ServingCase case_of_prompts(ServeCandidate const& c) const;
    /// Of the lengths' means.
    [[nodiscard]] RequestShape mean_request() const;
};

/// What a simulation of a candidate showed.
struct ServeTrial {
    std::int64_t replicas = 0;
    std::int64_t requests = 0;
    double kept = 0;  ///< share of the requests within the objectives
    bool overloaded = false;
    Seconds ttft_p50, ttft_p99, tpot_p50, tpot_p99;
    Seconds ttft_kept, tpot_kept;  ///< that the share asked for keeps, each by itself
    double output_tokens_per_s = 0;
    ReplicaPeaks peaks{};
};

/// Simulations of one deployment that differ in what was drawn: arrivals and lengths of other seeds.
struct Confirmation {
    int simulations = 0;                  ///< all of which keep the objectives
    std::int64_t longest = 0;             ///< requests of the longest
    double least_kept = 1;                ///< the smallest share of the requests within the objectives
    Seconds ttft_shortest, ttft_longest;  ///< `ServeTrial::ttft_kept` over all of them
    Seconds tpot_shortest, tpot_longest;
    std::int64_t added = 0;  ///< accelerators beyond those that one simulation asked for
    /// Whether the simulations differ by so much that once more the factor between them would miss an objective.
    [[nodiscard]] bool is_unsteady(Seconds ttft, Seconds tpot) const {
        return (ttft > Seconds{} && ttft_longest * (ttft_longest / ttft_shortest) > ttft) ||
               (tpot > Seconds{} && tpot_longest * (tpot_longest / tpot_shortest) > tpot);
    }
};

/// Replicas that process prompts only, of a deployment whose others decode.
struct PromptReplicas {
    ServingPlan plan;
    double rate_bound = 0;      ///< as a candidate's, of prompts alone within the TTFT
    std::int64_t likely = 1;    ///< of that rate each
    std::int64_t replicas = 1;  ///< that keep the objectives in the simulation; before one the least, always busy
};

/// One deployment.
struct ServeCandidate {
    std::size_t machine = 0;
    ServingPlan plan;                         ///< of replicas that decode only, where prompts have others
    std::optional<PromptReplicas> prompts{};  ///< those; nothing: each replica does both
    /// Requests a second of one replica by itself, at most, by closed form within the objectives; 0 where a request of
    /// the mean lengths alone misses them.
    double rate_bound = 0;
    ServingEstimate at_bound;          ///< there, or alone
    std::int64_t likely_replicas = 0;  ///< of that rate each, or the least
    /// Each busy with as many requests at all times as the objectives allow in the mean: what a router that
    /// evens them out cannot do better.
    std::int64_t least_replicas = 0;
    std::int64_t replicas = 0;  ///< that keep the objectives in the simulation; 0: not simulated
    std::optional<ServeTrial> trial{};
    /// Of these replicas; nothing: recorded requests, one that is not shown, or an interrupt.
    std::optional<Confirmation> confirmed{};
    std::optional<ServeTrial> missed{};  ///< the last simulation of a candidate that never kept them
    /// Over all of its simulations; nothing before the first.
    std::optional<ReplicaPeaks> peaks{};
    [[nodiscard]] std::int64_t accelerators(std::int64_t of_replicas) const {
        return of_replicas * plan.accelerators() + (prompts ? prompts->replicas * prompts->plan.accelerators() : 0);
    }
};

/// A point of the latency-throughput frontier: one replica at some concurrency.
struct FrontierPoint {
    std::size_t machine = 0;
    ServingPlan plan;
    double concurrency = 0;
    double tokens_per_s_user = 0;
    double tokens_per_s_accelerator = 0;
};

/// Why a configuration is rejected: keys of `ServeAnswer::rejected`, beside those that name a format.
inline constexpr char const* serving_misfit = "does not fit the memory";  ///< has no room for one request
inline constexpr char const* serving_slow_ttft = "misses the TTFT objective even alone";
inline constexpr char const* serving_slow_prompts = "misses the TTFT objective of too many long prompts even alone";
inline constexpr char const* serving_slow_tpot = "misses the TPOT objective even alone";
inline constexpr char const* serving_too_many = "needs more accelerators than allowed";
inline constexpr char const* serving_same = "no different from one that was simulated";  ///< limits that it never met
inline constexpr char const* serving_same_batch = "no more room than for a smaller batch that was tried";

/// What a configuration without room for one request would need of each accelerator.
struct ServeShortage {
    std::size_t machine = 0;
    ServingPlan plan;
    Bytes needed;
    Bytes usable;
};

struct ServeAnswer {
    std::vector<ServeCandidate>
        ranked;  ///< simulated, cheapest first, then by TPOT; then those that were not simulated, by their bound; of
                 ///< each machine the first at least, where there is one and as many are shown
    std::vector<FrontierPoint> frontier;
    std::int64_t enumerated = 0;
    std::int64_t simulated = 0;
    std::map<std::string, std::int64_t> rejected;                  ///< reason -> configurations
    std::vector<std::map<std::string, std::int64_t>> rejected_on;  ///< the same of each machine
    /// Of all configurations that fit, at a trickle of requests: what no more machines can improve.
    std::optional<Seconds> best_ttft;
    std::optional<Seconds> best_tpot;
    std::optional<ServeShortage> shortage;  ///< where nothing fits: of the configuration that lacks the least
    std::int64_t untried = 0;               ///< that may be cheaper, behind as many as are simulated at most
    bool interrupted = false;               ///< what was simulated to its end by then stands, better may exist
    [[nodiscard]] bool found() const { return !ranked.empty() && ranked.front().trial.has_value(); }
};

/// Makes recorded requests the load: `rate`, `prompt` and `output` become their means, which the bounds go by.
/// @throws InputError: fewer than two, or all at once, which have no rate.
void replay(ServeQuestion& question, std::vector<ServingRequest> trace);

/// The cheapest deployment that keeps the objectives.
///
/// Closed form prunes: each configuration (`serve_candidates`) gets the largest rate at which its *mean* TTFT and TPOT
/// keep the objectives: rate / that are its likely replicas. It is out where so many prompts are too long by themselves
/// that the share cannot be kept (`decisive_prompt`). In the order of their cost configurations are simulated
/// (`simulate_serving`), with more replicas until the share is kept or with fewer while it is; not those that cost more
/// than a tenth above the best by their least replicas (of each machine one that keeps the objectives nevertheless,
/// where one of the first three does), nor those that differ from a simulated one only in limits of the batch that it
/// never met. What would be the best, and what is shown in the end, is simulated with other seeds as well, and has more
/// replicas where these miss (`confirm`). With `apart` pairs of replicas for prompts and replicas that decode
/// (`apart_candidates`) are among them. Cost: dollars an hour, or accelerators when a price is missing.
ServeAnswer plan_serving(ServeQuestion const& question);

}  // namespace sextant
