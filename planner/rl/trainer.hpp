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
    /// A model that is trained: the best plan of a search (`plan_step`).
    TrainerRole const& role(ModelSpec const& model, std::int64_t accelerators);
    /// A model that is only run forward: the fastest pass that fits with weights and one microbatch, whatever plan is
    /// asked for the policy. There is no report.
    /// @param beside what else is on the device then
    TrainerRole const& frozen(ModelSpec const& model, std::int64_t accelerators, Bytes beside);
    [[nodiscard]] RunSetting const& setting() const { return setting_; }
    [[nodiscard]] Workload const& update() const { return update_; }

private:
    RunSetting setting_;
    Workload update_;
    SequenceLengths lengths_;
    RlOverheads overheads_;
    [[nodiscard]] ClosedForm form_of(ModelSpec const& model) const;
    TrainerRole priced(ModelSpec const& model, std::int64_t accelerators) const;
    TrainerRole searched_frozen(ModelSpec const& model, std::int64_t accelerators, Bytes beside) const;

    using Roles = std::map<std::tuple<std::string, OutputHead, std::int64_t, std::int64_t>, TrainerRole>;
    Roles roles_;
    Roles frozen_;
};

}  // namespace sextant
