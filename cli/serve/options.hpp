#pragma once

#include "cost_models/serving/steady_state.hpp"
#include "planner/serving/serving_support.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sextant::cli {

/// The options that the `serve` subcommands share.
struct ServeOptions {
    std::string model;
    std::string cluster;
    std::string engine = "vllm";
    std::string weights;  ///< empty: as the checkpoint is, else the device's two-byte format
    std::string cache;    ///< empty: as the checkpoint wants it, else bf16
    FormatOrigin weights_origin =
        FormatOrigin::given;  ///< where they are not empty: a file of a plan says who chose them
    std::int64_t tp = 1;
    std::int64_t pp = 1;
    std::optional<std::int64_t> ep;
    std::int64_t attention_dp = 1;
    std::int64_t max_batch = 256;
    std::int64_t max_batched_tokens = 8192;
    std::int64_t block_tokens = 16;
    std::optional<std::int64_t> context;  ///< tokens of the longest request, instead of the model's
    std::optional<double> memory_utilisation;
    double expert_imbalance = 1;
    std::string dispatcher;  ///< empty: the engine's
    std::int64_t redundant_experts = 0;
    std::optional<double> price;
};

/// Adds them. `--prompt` and the like are each subcommand's own.
void add_serve_options(CLI::App& app, ServeOptions& options);

/// Adds --moe-dispatcher and --redundant-experts.
void add_expert_options(CLI::App& app, std::string& dispatcher, std::int64_t& redundant);
/// Nothing for an empty name. @throws InputError: an unknown one.
std::optional<Dispatcher> dispatcher_option(std::string const& name);

/// Adds --context, which has no default.
void add_context_option(CLI::App& app, std::optional<std::int64_t>& context);

/// What they name, found and checked. @throws InputError: unknown names, a plan that does not fit the model, more
/// accelerators than the cluster has.
ServingCase serving_case_from(ServeOptions const& options);

/// US dollars per accelerator and hour: given, of the cluster, of the accelerator; nothing when none is known.
std::optional<double> serving_price(ServeOptions const& options, ServingCase const& what);

/// Whose price that is, or that it was given, before the other assumptions; no line without a price.
void put_price_first(std::vector<std::string>& assumptions, ServeOptions const& options, ServingCase const& what);

/// "tp 4, weights fp8 as the checkpoint is, cache bf16, engine vllm"
std::string serving_plan_text(ServingCase const& what);

/// Makes `context` the longest request of the model, as --max-model-len does; nothing: it stays the model's.
/// @param notes gets a sentence where that is more than the model's
/// @throws InputError: out of range, or more than a learned table of positions has.
void set_context(ModelSpec& model, std::optional<std::int64_t> context, std::vector<std::string>& notes);

/// @throws InputError: a request of so many tokens is longer than the model takes.
void check_context(ModelSpec const& model, double prompt, double output);

/// The request, if lengths like these can be. @throws InputError: out of range, or longer than the model takes.
RequestShape checked_request(RequestShape request, ModelSpec const& model);

/// "TPOT 0.88 to 1.45 times (412 rows), TTFT 0.78 to 1.46 times (409 rows) what is predicted": 80 % intervals.
std::string serving_interval_text(ServingSupport const& support);

/// What the engine profile and the plan assume, and what no measurement supports, a sentence each.
std::vector<std::string> serving_assumptions(ServingCase const& what);

/// That the engine has no such key-value cache, and what to do; empty where it has.
/// Source: `--kv-cache-dtype` of vLLM 0.11 and SGLang 0.5.5, TensorRT-LLM's KvCacheConfig and QuantConfig.
std::string missing_cache(EngineProfile const& engine, CacheFormat cache);

}  // namespace sextant::cli
