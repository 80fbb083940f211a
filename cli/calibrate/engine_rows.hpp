#pragma once

#include "calibrate/engine_fit.hpp"
#include "cli/calibrate/fit_serving.hpp"
#include "cli/calibrate/served_row.hpp"
#include "cli/command.hpp"
#include "core/spec/cluster_spec.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// A time, or the time of an output token of all sequences together.
double seconds_of(ServedPrediction const& prediction, ServedQuantity quantity);

/// Whether a profile stands for devices of a vendor none of whose kernels have measurements: its constants make up for
/// that, and say nothing of other engines.
bool stands_for_unmeasured(EngineProfile const& engine);

/// The rows of a group, and where those are that say that prompts were multiplied faster than the device can.
struct GroupRows {
    std::size_t rows = 0;
    std::vector<std::string> impossible;
};

/// The rows of one engine.
struct EngineRows {
    std::vector<std::shared_ptr<ServedRow>> models;
    std::vector<ServedMeasurement> figures;
    std::map<std::string, GroupRows> groups;
};
using Engines = std::map<std::string, EngineRows>;

/// Where a fit begins: of all engines nothing is known but what is common; of one, the profile that is shipped.
EngineProfile beginning(EngineProfile engine, ServingFitRequest const& request);

/// The engine that is asked for: a shipped one, whose rows count and those that state none, or a profile of one's own
/// (or a shipped one with changes), which all rows are of.
struct AskedEngine {
    std::optional<EngineProfile> profile;
    bool is_own = false;
    std::optional<ClusterSpec> machine{};  ///< of the rows that name its accelerator

    explicit AskedEngine(ServingFitRequest const& request);
    /// @throws RowSkip: of another engine.
    [[nodiscard]] ServedCase served(ServingRow row) const;
    /// What the fit of an engine begins with.
    [[nodiscard]] EngineProfile start(std::string const& name) const;
};

/// The rows of the tables that can be fitted, by engine; says how many cannot, and why. @throws InputError: none, or a
/// table of something else.
Engines read_engines(ServingFitRequest const& request, AskedEngine const& asked, CommandContext& context);

}  // namespace sextant::cli
