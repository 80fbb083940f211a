#pragma once

#include "cost_models/serving/serving_memory.hpp"
#include "planner/rl/asynchronous.hpp"
#include "planner/rl/rl_question.hpp"
#include "planner/rl/trainer.hpp"
#include "planner/rl/weight_sync.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace sextant {

/// Where the time of a step goes, by phase. In an asynchronous step the engines' part runs beside the rest.
struct RlPhases {
    Seconds generation;
    Seconds reward;            ///< of a reward model
    Seconds rules;             ///< of rules or a verifier, which have machines of their own
    Seconds policy_scores;     ///< old log-probabilities
    Seconds reference_scores;  ///< with the load of its weights from host memory
    Seconds critic_values;
    Seconds policy_training;
    Seconds critic_training;
    Seconds swaps;  ///< of training state with host memory: of policy and critic in turn, or out for a frozen model
    Seconds sync;   ///< new weights to the engines
    Seconds controller;
    Seconds offload;  ///< training state out to host memory and back, around the generation
    [[nodiscard]] Seconds on_trainer() const {
        return reward + policy_scores + reference_scores + critic_values + policy_training + critic_training + swaps +
               controller;
    }
    /// A step in which one side waits for the other.
    [[nodiscard]] Seconds one_after_the_other() const { return generation + rules + on_trainer() + sync + offload; }
};

/// Memory of one role on its fullest rank.
struct RoleMemory {
    std::string role;
    Bytes needed;
    Bytes usable;
    std::string remark{};
};

/// One step in one mode with one division of the accelerators.
struct RlStep {
    RlMode mode = RlMode::colocated;
    std::string reason;  ///< why it is not possible; everything below is empty then
    std::int64_t rollout_accelerators = 0;
    std::int64_t train_accelerators = 0;
    ServingPlan engine;
    std::int64_t replicas = 0;
    std::optional<StepReport> training;  ///< of one update of the policy, by its kernels alone
    Seconds update;                      ///< of one update of the policy
    BatchGeneration generation;
    RlPhases phases;
    WeightSync sync;
    Bytes waiting_weights;            ///< of frozen models, of a rank, in host memory
    Bytes on_host;                    ///< of a rank, what training itself keeps there
    Bytes makes_way;                  ///< gradients and optimizer, where a frozen model does not fit beside them
    bool critic_takes_turns = false;  ///< with the policy, where a rank cannot hold the state of both
    bool state_offloaded = false;
    Bytes beside_engine;     ///< training state on the device while engines generate
    Seconds fastest_update;  ///< of the plans that were compared, by the time of the whole step
    std::int64_t plans_compared = 1;
    std::vector<RoleMemory> memory;
    Seconds step;
    double responses_per_s = 0;
    double tokens_per_s_per_gpu = 0;  ///< prompts and responses, over all accelerators
    double rollout_busy = 0;          ///< share of the step in which an engine computes, the mean over the engines
    double train_busy = 0;
    std::vector<double> age{1.0};  ///< share of the responses by updates behind
    Seconds group_wait;         ///< of a complete response for its group, where a step does not await its whole batch
    std::int64_t followed = 0;  ///< replicas of an asynchronous step that were followed
    double worth = 1;           ///< what staleness leaves of a response's worth, on average
    bool interrupted = false;
    [[nodiscard]] bool possible() const { return reason.empty(); }
    /// Responses a second, less what staleness takes.
    [[nodiscard]] double effective_rate() const { return responses_per_s * worth; }
    [[nodiscard]] double mean_age() const;
};

/// Prices steps of one question; what they share is priced once. Not thread-safe.
class RlPlanner {
public:
    /// @throws InputError as `check_rl_question`.
    explicit RlPlanner(RlQuestion question);

    /// `rollout_accelerators`: of the engines; all of them when colocated.
    RlStep step(RlMode mode, std::int64_t rollout_accelerators, EngineSplit split);
    RlStep step(RlMode mode, std::int64_t rollout_accelerators, std::int64_t tp) {
        return step(mode, rollout_accelerators, EngineSplit{.tp = tp, .pp = question_.rollout.pp});
    }

    [[nodiscard]] RlQuestion const& question() const { return question_; }
    /// Replicas of an asynchronous fleet that the next steps follow.
    void follow(std::int64_t replicas) { question_.followed_replicas = replicas; }
    [[nodiscard]] std::vector<std::int64_t> const& lengths() const { return lengths_; }

private:
    struct Engine {
        ServingCase what;
        IterationModel model;
    };
    Engine const& engine(EngineSplit split);
    /// The trainer's part with this plan of the policy, in rl_training.cpp; false: not possible, for the step's reason.
    bool train(RlStep& step, Trainer& trainer, TrainerRole const& policy);
    bool train_critic(RlStep& step, Trainer& trainer);
    /// Whether the critic's state is on the device beside the policy's.
    [[nodiscard]] bool critic_stays(RlStep const& step) const;
    [[nodiscard]] Bytes trained_weights(RlStep const& step, Trainer& trainer) const;
    /// Whether a frozen model's scores are possible beside what is trained, which is entered.
    bool load_frozen(RlStep& step, Trainer& trainer, char const* role, TrainerRole const& model) const;
    /// Scores of the reference and rewards.
    bool score_frozen(RlStep& step, Trainer& trainer, TrainerRole const& policy);
    TrainerRole const& critic_role(RlStep const& step, Trainer& trainer) const;
    /// Why so much per accelerator cannot wait in host memory; empty: it can.
    [[nodiscard]] std::string lacks_host_memory(Bytes waiting) const;
    bool generate(RlStep& step, Engine const& engine, Bytes taken);
    void synchronise(RlStep& step, Engine const& engine, RolloutPlacement placement);
    /// New weights where all state was in host memory: both copies on the device, or the engine's over the host link.
    void make_room_for_weights(RlStep& step, Engine const& engine) const;
    /// Every plan of the policy with its state beside the engine and in host memory: steps without their generation, by
    /// their time. `step` gets the reason why there is none.
    std::vector<RlStep> colocated_choices(RlStep& step, Engine const& engine);
    /// The two of one plan, as far as host memory allows; why one of them is not possible.
    std::string place_state(std::vector<RlStep>& choices, RlStep& step, Engine const& engine);
    bool train_apart(RlStep& step, Engine const& engine, TrainerRole const& policy);
    void colocated(RlStep& step, Engine const& engine);
    void apart(RlStep& step, Engine const& engine);
    void finish(RlStep& step) const;

    RlQuestion question_;
    std::vector<std::int64_t> lengths_;
    Trainer apart_;
    Trainer beside_engines_;  ///< with what sleeping engines leave
    std::map<EngineSplit, Engine> engines_;
    /// By engine, replicas and what one may hold.
    std::map<std::tuple<EngineSplit, std::int64_t, std::int64_t, double>, BatchGeneration> generations_;
};

}  // namespace sextant
