#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// What `calibrate fit --serving` was asked to do.
struct ServingFitRequest {
    std::vector<std::string> tables;  ///< of serving measurements (docs/validation.md)
    std::string engine;               ///< only rows of this one; empty: every engine that the rows name
    std::string cluster;              ///< machine of the rows that name its accelerator; empty: the usual ones
    std::string out;                  ///< file of one engine's profile
    std::string catalogue;            ///< or folder of all of them
    unsigned threads = 0;
};

/// Fits the constants of engines to measured rows, scores them on groups held out, and writes profiles.
int fit_serving_tables(ServingFitRequest const& request, CommandContext& context);

}  // namespace sextant::cli
