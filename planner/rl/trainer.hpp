#pragma once

#include "planner/rl/output_lengths.hpp"
#include "planner/rl/rl_overheads.hpp"
#include "planner/run_plan/training_run.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sextant {

/// One model of reinforcement learning on the accelerators that train.
struct TrainerRole {
    std::optional<StepReport> report;  ///< of one update, its memory with the longest sequence; absent: none
    std::string reason;
    Seconds update;         ///< of one update
    Seconds forward;        ///< of the sequences of one update
    Bytes state;            ///< weights, gradients and optimizer of a rank
    Bytes weights;          ///< the working copy of a rank
    Bytes scoring;          ///< what a forward pass needs beside the weights
    bool possible = false;  ///< there is a plan
    bool interrupted = false;
};

/// Best plans, each (model, number of accelerators) once. Not thread-safe.
///
/// A microbatch has to hold the longest sequence: memory is that of such microbatches, as of frameworks that fill them
/// up to a number of tokens. Time is that of the mean, attention by the squares of the lengths.
class Trainer {
public:
    /// @param lengths of the sequences, whose mean is that of `update`
    Trainer(RunSetting setting, Workload update, SequenceLengths lengths, RlOverheads overheads = {});
    /// A model that is trained: the plan with the fastest update that a search finds (`plan_step`).
    TrainerRole const& role(ModelSpec const& model, std::int64_t accelerators);
    /// The same, and plans with slower updates with which a whole step may be faster: of each of the best layouts (dp,
    /// tp, pp, cp, ep) the fastest, and of each of these the other ZeRO stages that fit, the fastest update first. One
    /// without a report where nothing is possible.
    std::vector<TrainerRole> const& alternatives(ModelSpec const& model, std::int64_t accelerators);
    /// A model that is only run forward: the fastest pass that fits with weights and one microbatch, whatever plan is
    /// asked for the policy. There is no report.
    /// @param beside what else is on the device then
    TrainerRole frozen(ModelSpec const& model, std::int64_t accelerators, Bytes beside);
    [[nodiscard]] RunSetting const& setting() const { return setting_; }
    [[nodiscard]] Workload const& update() const { return update_; }

private:
    RunSetting setting_;
    Workload update_;
    SequenceLengths lengths_;
    RlOverheads overheads_;
    [[nodiscard]] ClosedForm form_of(ModelSpec const& model) const;
    [[nodiscard]] std::vector<TrainerRole> priced(ModelSpec const& model, std::int64_t accelerators,
                                                  std::size_t layouts) const;
    TrainerRole priced_plan(ClosedForm& form, ParallelPlan const& plan) const;
    /// What a model that is only run forward may do: a plan with its memory and time, the fastest first.
    struct ForwardPlan {
        ParallelPlan plan;
        Bytes weights, working;
        Seconds time;          ///< of sequences of the mean length
        Seconds of_unequal{};  ///< of those that there are, once it was asked for
    };
    [[nodiscard]] std::vector<ForwardPlan> forward_passes(ModelSpec const& model, std::int64_t accelerators) const;

    using Who = std::tuple<std::string, OutputHead, std::int64_t, std::int64_t>;
    static Who who(ModelSpec const& model, std::int64_t accelerators);
    std::map<Who, std::vector<TrainerRole>> roles_;
    std::map<Who, std::vector<TrainerRole>> alternatives_;
    std::map<Who, std::vector<ForwardPlan>> forwards_;
};

}  // namespace sextant
