#pragma once

#include "cli/output.hpp"
#include "cost_models/serving/serving_memory.hpp"

#include <cstdint>
#include <string>

namespace sextant::cli {

/// A replica that cannot run what was asked: what that would need of each accelerator beside what there is.
struct ServingMisfit {
    ServingCase what;
    ServingMemory memory;
    Bytes adapters{};    ///< resident low-rank ones
    Bytes cache{};       ///< of the requests
    std::string reason;  ///< after "... does not fit: ", with what would help

    [[nodiscard]] Bytes needed() const { return memory.fixed() + adapters + cache; }
    /// One sentence: what is needed, what there is, and what would help.
    [[nodiscard]] std::string sentence() const;
};

enum class MisfitCommand : std::uint8_t { estimate, simulate };

/// Delivers the answer "no" in the format asked for, and the sentence also on standard error where the format is for
/// programs (sweeps quote it). @return the exit code
int deliver_misfit(MisfitCommand command, ServingMisfit const& misfit, OutputOptions const& output,
                   CommandContext& context);

/// {"format", "version", "model", "cluster", "engine", "gpus", "fits": false, "reason", "memory"}, of an estimate also
/// empty "rows".
std::string misfit_json(MisfitCommand command, ServingMisfit const& misfit);

}  // namespace sextant::cli
