#pragma once

#include "planner/validation/score.hpp"
#include "planner/validation/training_case.hpp"
#include "simulator/closed_form.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sextant {

/// Predictions for one table, in the order of its rows.
class TrainPredictor {
public:
    explicit TrainPredictor(std::string profile = "") : builder_(std::move(profile)) {}
    /// Takes a machine of one's own for the rows that name its accelerator.
    void take_machine(ClusterSpec machine) { builder_.take_machine(std::move(machine)); }
    RowPrediction predict(TrainingRow const& row);

private:
    struct Predicted {
        RowPrediction prediction;
        Flops work;  ///< of a step, as MFU counts it
        OpenCell open = OpenCell::none;
        bool recompute_put_in = false;  ///< the row does not state it, and does not fit without
    };

    Predicted predict_case(TrainingRow const& row);
    std::optional<Predicted> with_more_sharding(TrainingRow const& row, TrainingCase const& c);
    std::optional<Predicted> with_experts_divided(TrainingRow const& row, TrainingCase const& c);
    std::optional<Predicted> with_recompute(TrainingRow const& row, TrainingCase const& c);
    /// A run that ran and is predicted not to fit, with the least that the row leaves open by which it does.
    std::optional<Predicted> that_fits(TrainingRow const& row, TrainingCase const& c);
    /// The row with a blank cell filled, if it is then predicted to fit.
    std::optional<Predicted> filled_that_fits(TrainingRow const& filled, std::string assumption);
    Predicted predict_any(TrainingRow const& row, OpenCell cell);
    /// The row with what is usual in a cell that it leaves blank.
    Predicted with_usual(TrainingRow const& filled, OpenCell cell);
    Predicted predict_stated(TrainingRow const& row);

    CaseBuilder builder_;
};

/// Bytes of this stage list that a source's peak stands for.
Bytes comparable_memory(MemoryQuantity quantity, std::vector<StageMemory> const& stages,
                        FrameworkMemory const& framework);

/// Time of one step as it was measured: iteration time; else from tokens/s; else from TFLOP/s or MFU with the formula
/// of arXiv:2104.04473 (full recompute counted in for hardware figures). Nothing where the row does not say.
std::optional<Seconds> measured_time(TrainingRow const& row, TrainingCase const& c);

/// Where the time of a step contradicts what else the row states of its pace, in words; empty where nothing does.
/// Tokens a second may differ by 10 %; model FLOP/s and MFU by half beyond the ways in which sources count them (6 N D
/// to the full square of attention; of fp8 steps the peak of either format).
std::string contradiction_in(TrainingRow const& row, TrainingCase const& c);

/// True for a step whose model FLOPs alone, with the masked half of attention left out, are more than 80 % of what the
/// accelerators can do in the format that the row states, or more than any measured step reached in a format that had
/// to be assumed: the step ran in another.
bool outruns_its_format(TrainingRow const& row, TrainingCase const& c);

/// Of the peak, what the model FLOPs of a step reach at least: the slowest of 2,800 scored rows reaches 0.0036 (tensor
/// parallelism over four nodes), and one in milliseconds a thousandth of what it should.
inline constexpr double least_share = 0.002;

/// True for a step that reaches less: its time is in another unit.
bool crawls(TrainingRow const& row, TrainingCase const& c);

}  // namespace sextant
