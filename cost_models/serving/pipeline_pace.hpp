#pragma once

#include "core/units.hpp"

#include <utility>
#include <vector>

namespace sextant {

/// Prompts in the iterations of a batch: none in a share `none` of them, else a Poisson number other than 0, at most
/// `most`; where that is less than one prompt, `most`.
struct PromptNumbers {
    double none = 1;
    double prompts = 1;  ///< in an iteration that has any, mean
    double most = 1;
};

/// An iteration by itself: of all stages, and of the slowest.
struct StagedTime {
    Seconds total;
    Seconds stage;
};

/// The batches of a pipeline. They follow each other from stage to stage and none overtakes another, so that N batches
/// take, for one iteration of each, N times as long as a stage has the longest of them (for stages that are alike
/// exactly: the sum of all and (N - 1) times the longest).
class PipelinePace {
public:
    /// No other batch.
    PipelinePace() = default;
    /// @param others batches beside the one looked at, mean
    /// @param numbers of each of these
    /// @param own_none the same as `numbers.none`, of the batch looked at
    /// @param none, some, many iterations with no prompt, with `some_prompts` and with `many_prompts`: linear in
    /// between
    PipelinePace(double others, PromptNumbers const& numbers, double own_none, StagedTime const& none,
                 std::pair<double, StagedTime> const& some, std::pair<double, StagedTime> const& many);

    /// From one iteration of a batch to its next, where one takes `alone`.
    [[nodiscard]] Seconds step(StagedTime const& alone) const;
    /// The same, mean over the prompts of its iterations.
    [[nodiscard]] Seconds mean() const;
    /// Share of the time in which a batch does not wait for one with longer iterations.
    [[nodiscard]] double own_pace() const;

private:
    /// With so many prompts, and how probable it is.
    struct Iteration {
        double own = 0;            ///< of the batch looked at
        double slowest = 0;        ///< of all batches the one with the most
        double slowest_other = 0;  ///< of the others
        Seconds stages;            ///< the slowest stage, once for each batch
        Seconds time;              ///< not disturbed by any other
    };
    [[nodiscard]] Seconds mean_of(double Iteration::*probability) const;

    double batches_ = 1;
    std::vector<Iteration> iterations_;
};

}  // namespace sextant
