#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// What `calibrate fit --train` was asked to do.
struct TrainFitRequest {
    std::vector<std::string> tables;  ///< of training steps (docs/validation.md)
    std::string framework;            ///< only this family; empty: every family that the rows name
    std::string cluster;              ///< machine of the rows that name its accelerator; empty: the usual ones
    std::string out;                  ///< file of one family's constants
    std::string catalogue;            ///< or folder of all of them
    std::string rows;                 ///< CSV of every row that was fitted, with and without its source
    unsigned threads = 0;
};

/// Fits the constants of frameworks to measured steps, scores them with each source left out, and writes profiles.
int fit_training_tables(TrainFitRequest const& request, CommandContext& context);

}  // namespace sextant::cli
