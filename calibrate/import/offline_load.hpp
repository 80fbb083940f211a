#pragma once

#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"

#include <string_view>

namespace sextant {

/// Requests that an engine was given all at once. Lengths may be `--set`'s to say.
struct AllAtOnce {
    std::string_view engine, wrote;
    double requests = 0;
    double seconds = 0;        ///< from the first to the last of them
    double all_tokens = 0;     ///< of prompts and answers
    double prompt_tokens = 0;  ///< of which prompts; 0: not said
};

/// The row of such a run, with the lengths of `cells` where the run does not say them: one of the two is enough.
/// @throws RowSkip naming the option, or where both do not make the tokens of the run.
CellRow row_of_all_at_once(AllAtOnce const& run, ImportRequest const& request);

/// One batch from beginning to end. A figure of 0 is not said.
struct OneBatch {
    std::string_view engine, wrote;
    double seconds = 0;             ///< of the whole batch
    double batch = 0;               ///< sequences
    double prompt = 0, answer = 0;  ///< tokens of each
    double first_token = 0;         ///< seconds
    double next_token = 0;          ///< seconds a step
    bool is_served = false;         ///< by a server, which takes the batch as requests
};

/// @throws RowSkip naming the option for what neither the run nor `cells` say.
CellRow row_of_one_batch(OneBatch const& run, ImportRequest const& request);

}  // namespace sextant
