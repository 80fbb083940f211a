#pragma once

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
    std::optional<StepReport> report;  ///< of one update; absent: no plan
    std::string reason;
    Seconds update;   ///< of one update
    Seconds forward;  ///< of the sequences of one update
    Bytes state;      ///< weights, gradients and optimizer of a rank
    Bytes weights;    ///< the working copy of a rank
    bool interrupted = false;
};

/// Best training plans by search (`plan_step`), each (model, number of accelerators) once. Not thread-safe.
class Trainer {
public:
    Trainer(RunSetting setting, Workload update, RlOverheads overheads = {})
        : setting_(std::move(setting)), update_(update), overheads_(overheads) {}
    TrainerRole const& role(ModelSpec const& model, std::int64_t accelerators);
    [[nodiscard]] RunSetting const& setting() const { return setting_; }
    [[nodiscard]] Workload const& update() const { return update_; }

private:
    RunSetting setting_;
    Workload update_;
    RlOverheads overheads_;
    TrainerRole priced(ModelSpec const& model, std::int64_t accelerators) const;

    std::map<std::tuple<std::string, OutputHead, std::int64_t, std::int64_t>, TrainerRole> roles_;
};

}  // namespace sextant
