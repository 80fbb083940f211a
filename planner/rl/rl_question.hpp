#pragma once

#include "core/spec/engine_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/serving_plan.hpp"
#include "cost_models/serving/serving_case.hpp"
#include "planner/rl/output_lengths.hpp"
#include "planner/rl/rl_overheads.hpp"
#include "planner/run_plan/training_run.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

enum class RlAlgorithm : std::uint8_t {
    ppo,        ///< policy, reference, reward, critic. Source: arXiv:1707.06347, arXiv:2203.02155
    grpo,       ///< no critic: several responses to a prompt. Source: arXiv:2402.03300
    reinforce,  ///< no critic. Source: REINFORCE++, arXiv:2501.03262; RLOO, arXiv:2402.14740
};
std::string_view name_of(RlAlgorithm algorithm);
/// @throws InputError with the known names and the nearest one.
RlAlgorithm rl_algorithm_from(std::string_view name, std::string_view where);

/// Who takes turns with whom.
enum class RlMode : std::uint8_t {
    colocated,     ///< everything on the same accelerators, one after the other
    split,         ///< engines and trainer apart, one waits for the other
    asynchronous,  ///< engines and trainer apart and at the same time, with a bound on staleness
};
std::string_view name_of(RlMode mode);

enum class ReferenceModel : std::uint8_t { none, kept };
/// Old log-probabilities: of the trainer's own forward pass, or as the engine reported them.
enum class OldScores : std::uint8_t { recomputed, from_engine };
/// Training state of colocated engines while they generate.
enum class StateOffload : std::uint8_t { fastest, always, never };
StateOffload state_offload_from(std::string_view name, std::string_view where);

/// One step of reinforcement learning, and what it runs on.
struct RlQuestion {
    RlAlgorithm algorithm = RlAlgorithm::grpo;
    ModelSpec policy;
    std::optional<ModelSpec> critic;  ///< absent: the policy's shape, where the algorithm has one
    std::optional<ModelSpec> reward;  ///< absent: `reward_time`
    Seconds reward_time;              ///< of rules or a verifier, for all responses of a step
    ReferenceModel reference = ReferenceModel::kept;
    OldScores old_scores = OldScores::recomputed;

    std::int64_t prompts = 0;  ///< of a step
    std::int64_t group = 1;    ///< responses to each
    double prompt_tokens = 0;
    ResponseLengths lengths;
    Drawing drawing = Drawing::strata;
    std::uint64_t seed = 1;
    std::int64_t context = 0;  ///< longest prompt and response together, 0: the model's

    std::int64_t update_batch = 0;  ///< responses of one update, 0: all of a step
    std::int64_t epochs = 1;

    RunSetting machine;  ///< cluster, framework, memory limit and constraints of the training plan
    std::int64_t accelerators = 0;
    EngineProfile engine;
    ServingPlan rollout;                   ///< of an engine; `tp` is one of `rollout_tp`
    std::vector<std::int64_t> rollout_tp;  ///< tried; empty: `possible_engines` finds them
    StateOffload offload = StateOffload::fastest;

    std::int64_t staleness = 1;
    double staleness_penalty = 0;  ///< of a response's worth, per update that it is behind

    RlOverheads overheads{};               ///< beyond the kernels
    std::optional<double> usd_per_hour{};  ///< of an accelerator
    std::int64_t followed_replicas = 8;    ///< of an asynchronous fleet; more have their share of the responses

    [[nodiscard]] std::int64_t responses() const { return prompts * group; }
    /// Responses whose rewards are compared, so that none is trained on without the others. PPO has a critic instead.
    [[nodiscard]] std::int64_t whole_group() const { return algorithm == RlAlgorithm::ppo ? 1 : group; }
    /// Of an epoch: updates, and passes of scores on the responses of one.
    [[nodiscard]] double minibatches() const { return static_cast<double>(responses() / batch()); }
    [[nodiscard]] BytesPerSecond host_rate() const { return machine.cluster.accelerator.host_bandwidth.value; }
    [[nodiscard]] std::int64_t updates() const { return epochs * (responses() / batch()); }
    [[nodiscard]] std::int64_t batch() const { return update_batch > 0 ? update_batch : responses(); }
};

/// @throws InputError naming what is wrong: nothing to generate, a response longer than the context, more accelerators
/// than the cluster has, updates that do not divide the responses, shares out of range, no tensor parallelism that the
/// engine could have.
void check_rl_question(RlQuestion const& question);

/// Sequence and number of sequences of one update: the mean of prompt and response, to whole 16 tokens (packed
/// sequences, no padding).
Workload update_workload(RlQuestion const& question);

/// Responses that an engine, or an attention group of one, decodes at a time where nobody says: 1,024 on devices of 70
/// GiB and more other than A100, else 256. Source: vLLM, arg_utils.py (`get_batch_defaults`); assumed of other engines.
std::int64_t usual_engine_batch(AcceleratorProfile const& device);

/// How an engine is cut; the rest of its plan is `RlQuestion::rollout`.
struct EngineSplit {
    std::int64_t tp = 1;
    std::int64_t pp = 1;
    auto operator<=>(EngineSplit const&) const = default;
};
inline EngineSplit split_of(ServingPlan const& plan) { return {.tp = plan.tp, .pp = plan.pp}; }
ServingCase engine_case(RlQuestion const& question, EngineSplit split);

/// What of `rollout_tp`, or of the powers of two within a scale-up domain, the model can be cut into. Where no engine
/// within a domain holds the weights, also larger ones, up to the first of each kind that does: tensor parallelism over
/// domains, and a pipeline of domains.
/// @throws InputError when the plan of the engine is wrong whatever it is.
std::vector<EngineSplit> possible_engines(RlQuestion const& question);

}  // namespace sextant
