#pragma once

#include "cli/options/plan_options.hpp"
#include "planner/rl/rl_split.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// The options of `rl` as they were typed. Those of a training plan are the trainer's.
struct RlOptions {
    PlanOptions plan;
    std::string algorithm = "grpo";
    std::optional<std::int64_t> prompts;
    std::optional<std::int64_t> group;
    std::optional<double> prompt_tokens;
    std::optional<double> output_tokens;
    std::optional<double> longest_output;
    std::string lengths = "lognormal";
    std::optional<double> variation;
    bool random_lengths = false;
    std::uint64_t seed = 1;
    std::int64_t epochs = 1;
    std::string critic, reward_model, reward_time;
    bool no_reference = false;
    bool engine_scores = false;
    std::string mode = "all";
    std::optional<std::int64_t> rollout_accelerators;
    std::string rollout_tp;
    std::string engine = "vllm";
    ServingPlan rollout;
    std::optional<std::int64_t> max_batch;
    std::string weights, cache = "bf16";
    std::optional<double> memory_utilisation;
    std::string state_offload = "auto";
    std::int64_t staleness = 1;
    double staleness_penalty = 0;
    std::int64_t threads = 0;
    std::string overheads = "fitted";
};

/// Standard deviation over mean of response lengths when nobody says: assumed, see docs/rl.md.
inline constexpr double assumed_variation = 0.6;

void add_rl_options(CLI::App& app, RlOptions& options);

/// "fitted" or "none". @throws InputError for another name.
RlOverheads rl_overheads_from(std::string const& name);

/// @throws InputError: unknown names, or what `check_rl_question` refuses.
RlQuestion rl_question(RlOptions const& options);
/// Modes and divisions to look at. @throws InputError.
RlSearch rl_search(RlOptions const& options, RlQuestion const& question);

}  // namespace sextant::cli
