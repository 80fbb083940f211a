#pragma once

#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "cost_models/serving/steady_state.hpp"
#include "simulator/serving/serving_simulation.hpp"
#include "tests/sanitized.hpp"
#include "tests/simulator/serving/conserved.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

/// The requests of a steady state, event by event.
namespace sextant::fixtures {

inline IterationModel model_of(char const* model, char const* cluster, char const* engine, ServingPlan const& plan) {
    ServingCase what;
    what.model = find_model(model);
    what.cluster = find_cluster(cluster, "test");
    what.engine = find_engine(engine, "test");
    what.plan = plan;
    return IterationModel(what);
}

inline ServingOutcome simulated(IterationModel const& model, RequestShape const& request, double rate,
                                std::uint64_t seed, std::int64_t requests = cases(40000, 15000)) {
    ServingSetup setup;
    setup.limits = replica_limits(model.what(), model.memory());
    SyntheticSource source({.rate = rate,
                            .prompt = length(fmt::format("{:.0f}", request.prompt).c_str()),
                            .output = length(fmt::format("{:.0f}", request.output).c_str()),
                            .requests = requests,
                            .seed = seed,
                            .longest = 131072});
    return simulate_serving(setup, ModelledService(model), source);
}

/// Answers even over 0.5 to 1.5 of the mean, so that requests do not stay in step.
inline ServingOutcome in_loop(IterationModel const& model, RequestShape const& request, double concurrency) {
    ServingSetup setup;
    setup.limits = replica_limits(model.what(), model.memory());
    setup.concurrency = static_cast<std::int64_t>(concurrency);
    SyntheticSource source({.process = ArrivalProcess::closed,
                            .prompt = length(fmt::format("{:.0f}", request.prompt).c_str()),
                            .output = length(fmt::format("uniform:{:.0f}-{:.0f}", std::ceil(request.output / 2),
                                                         std::floor(1.5 * request.output))
                                                 .c_str()),
                            .requests = std::max<std::int64_t>(400, 20 * setup.concurrency),
                            .longest = 131072});
    return simulate_serving(setup, ModelledService(model), source);
}

}  // namespace sextant::fixtures
