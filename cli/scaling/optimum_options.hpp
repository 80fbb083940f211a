#pragma once

#include "cli/output.hpp"
#include "cli/scaling/optimum.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// What `sextant scaling optimum` was given. Sizes and budgets are texts: lists, ranges, K to T.
struct OptimumOptions {
    std::string flops;
    std::string dollars;
    std::string days;
    std::string loss;
    std::vector<std::string> laws;
    ScalingMachineOptions machine;
    std::string inference_tokens;
    std::string prefill_tokens;
    std::optional<double> inference_price;
    std::optional<double> prefill_mfu;
    std::optional<double> decode_mfu;
    std::string unique_tokens;
    std::string context;
    std::string model;
    std::string batch;
    double experts = 0;
    double bits = 0;
    double ratio = 20;
    std::string counting = "total";
    std::string plot;  ///< an SVG file
    OutputOptions output;
};

/// Answers every budget of the question. @throws InputError: no budget or several, a flag that needs another, a value
/// out of range, a law that has no answer.
OptimumReport answer_optimum(OptimumOptions const& options);

}  // namespace sextant::cli
