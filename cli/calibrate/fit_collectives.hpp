#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// What `calibrate fit --collectives` was asked to do.
struct CollectiveFitRequest {
    std::vector<std::string> tables;  ///< of nccl-tests runs (docs/formats.md)
    std::vector<std::string> logs;    ///< what nccl-tests printed
    std::string cluster;              ///< that they were measured on
    std::string out;                  ///< file of that network's calibration; of a catalogue, rows held out
    std::string catalogue;            ///< or folder of every calibration that ships
    std::vector<std::string> only;    ///< of the catalogue; empty: all
    double held_out = 0;              ///< share of the runs
};

/// Fits the networks' constants, scores them on runs held out, and writes calibrations.
int fit_collective_tables(CollectiveFitRequest const& request, CommandContext& context);

}  // namespace sextant::cli
