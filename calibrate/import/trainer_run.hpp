#pragma once

#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"

#include <cstdint>
#include <string_view>

namespace sextant {

/// What Hugging Face's Trainer and programs on it (TRL, Axolotl, LLaMA-Factory, ms-swift) say of a run; 0: not said.
struct TrainerRun {
    std::int64_t steps = 0;    ///< of the optimizer, in `runtime`
    double runtime = 0;        ///< seconds from the first step to the end, with evaluations (train_runtime)
    double evaluations = 0;    ///< seconds of these (eval_runtime)
    double samples_per_s = 0;  ///< over `runtime`, of all ranks
    double steps_per_s = 0;    ///< the same of steps, to three decimals
    double epochs = 0;         ///< that were gone through
    double step_seconds = 0;   ///< of a step behind the warm-up, where times of steps are said
    double tokens = 0;         ///< seen by all ranks up to `tokens_step` (num_input_tokens_seen)
    double tokens_step = 0;
    double batch = 0;            ///< sequences of a step, where they are said
    double micro_batch = 0;      ///< sequences of a rank at a time
    double allocated_gib = 0;    ///< peak
    double reserved_gib = 0;     ///< peak
    bool is_preference = false;  ///< DPO, GRPO and the like
};

/// Whether a name of a metric is one of training on preferences or rewards ("rewards/chosen", "completions/clipped").
bool is_preference_metric(std::string_view name);

/// The row of a run. What a step holds follows from tokens and samples where `--set` says one of the two.
/// @param wrote "Hugging Face's Trainer"
/// @throws RowSkip where the time of a step cannot be told, or what a step holds contradicts what `--set` says.
CellRow row_of_trainer_run(TrainerRun const& run, ImportRequest const& request, std::string_view wrote);

}  // namespace sextant
