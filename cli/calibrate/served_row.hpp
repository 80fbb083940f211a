#pragma once

#include "planner/validation/serving_case.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// Tables of one case for the gaps between kernels that a fit tries.
class GapModels {
public:
    explicit GapModels(ServingCase what) : what_(std::move(what)) {}
    IterationModel const& at(Seconds gap);

private:
    ServingCase what_;
    std::mutex guard_;
    std::map<long long, std::unique_ptr<IterationModel const>> models_;
};

/// What is predicted of one row, as often as a fit asks.
///
/// A closed loop is simulated under one set of constants, the base; under others the steady state of `closed_loop` says
/// by what factor the time per token and the waiting change. A fit is repeated with its answer as the base.
class ServedRow {
public:
    ServedRow(ServedCase c, std::shared_ptr<GapModels> models) : case_(std::move(c)), models_(std::move(models)) {}

    [[nodiscard]] ServedCase const& what() const { return case_; }
    /// Model, device and engine.
    [[nodiscard]] std::string group() const;
    /// @throws InputError, RowSkip: what the row asks for cannot be served.
    void set_base(EngineProfile const& engine);
    [[nodiscard]] ServedPrediction const& base() const { return simulated_; }
    /// The order in which this row's server took prompts, if not the engine's; from the next base on.
    void set_prompts(PromptOrder order) { prompts_ = order; }
    /// Sum of the absolute logarithms of predicted over measured times, were prompts taken in this order; 0 for what is
    /// no closed loop, and where the order is known.
    [[nodiscard]] double misfit(EngineProfile engine, PromptOrder order) const;
    /// Products of the prompts that the row says it served, over the time it had for them; 0 where a row does not say.
    /// Beyond 1 they were not all computed: a prefix cache held them.
    [[nodiscard]] double prompt_load(EngineProfile const& engine) const;

    /// The figures of a row are asked for one after the other: the last answer is kept.
    [[nodiscard]] ServedPrediction operator()(EngineProfile const& engine);

private:
    [[nodiscard]] ServedPrediction simulated(EngineProfile const& server) const;
    [[nodiscard]] ServedPrediction predict(EngineProfile const& engine) const;
    /// What a second of request overhead adds to the time to the first token besides itself: while a slot is empty
    /// others end, and their successors come together.
    [[nodiscard]] double echo_of(EngineProfile const& engine) const;
    [[nodiscard]] bool is_loop() const { return case_.load == ServedLoad::closed_loop; }
    /// The engine as this row's server ran it.
    [[nodiscard]] EngineProfile server(EngineProfile engine) const;
    [[nodiscard]] IterationModel model(EngineProfile const& server) const;
    [[nodiscard]] ServingEstimate steady(EngineProfile const& engine) const;

    ServedCase case_;
    std::shared_ptr<GapModels> models_;
    std::optional<PromptOrder> prompts_;
    ServedPrediction simulated_{};
    ServingEstimate steady_{};
    double echo_ = 0;
    Seconds base_overhead_{};
    std::mutex guard_;
    std::vector<double> last_constants_;
    ServedPrediction last_{};
};

}  // namespace sextant::cli
