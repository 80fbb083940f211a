#pragma once

#include "cli/output.hpp"
#include "cli/serve/prefill_options.hpp"
#include "cli/serve/simulate_report.hpp"
#include "simulator/serving/request_source.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// What the command line of `serve simulate` says.
struct ServeSimulateOptions {
    ServeOptions serve;
    PrefillOptions prefill;
    std::optional<std::int64_t> replicas, prefill_replicas, decode_replicas;
    std::string router = "least-loaded";
    std::string network;
    std::string events = "loop";
    std::string autoscale, scale_target, scale_every, scale_down_after, cold_start, weights_from;
    std::string replica_mtbf, replica_repair, drain_for;
    std::vector<std::string> drains;
    std::string scheduler;  ///< empty: the engine's
    double watermark = 0.01;
    bool no_prefix_caching = false;
    std::string preemption = "recompute";
    std::string host_cache, host_prefixes;
    std::int64_t adapters = 0;
    std::optional<std::int64_t> adapter_rank, adapter_slots;
    std::int64_t speculate = 0;
    std::optional<double> acceptance, draft_cost;
    std::optional<double> rate;
    std::string arrivals;
    std::optional<double> variation;
    std::optional<std::int64_t> concurrency;
    std::string trace;
    std::string prompt, output_tokens;
    std::int64_t prefixes = 0;
    std::optional<std::int64_t> prefix_tokens;
    std::optional<std::int64_t> count;
    std::uint64_t seed = 1;
    std::optional<double> warmup;
    std::string slo_ttft, slo_tpot;
    std::string requests_file, timeline, plots;
    std::string tenants;
    bool progress = false;
    OutputOptions output;
};

/// Adds all of them but those of the output.
void add_serve_simulate_options(CLI::App& app, ServeSimulateOptions& options);

/// Autoscaling, failures and drains: the part of `read_serve_simulate_setup` about replicas that come and go.
void read_fleet_changes(ServeSimulateOptions const& options, ServeSimulateReport& report);

/// Takes the resident adapters out of the memory of the report, where there are adapters.
void read_adapters(ServeSimulateOptions const& options, ServeSimulateReport& report);

/// Sets `report.setup`. @pre the model, the memory and the price of the report are there.
/// @throws InputError: values out of range, options that contradict each other, no load or more than one.
void read_serve_simulate_setup(ServeSimulateOptions const& options, ServeSimulateReport& report);

/// The requests, and the words of the report about them. @pre its setup is there.
std::unique_ptr<RequestSource> simulated_requests(ServeSimulateOptions const& options, ServeSimulateReport& report);

/// Prompt and output of one request, together, that the model and the cache of a replica take.
std::int64_t longest_request(ServeSimulateReport const& report);

/// @throws InputError "{flag}: {value} is out of range (...)".
void check_option_range(double value, char const* flag, double least, double most);

}  // namespace sextant::cli
