#include "cli/calibrate/served_row.hpp"

#include "core/spec/engine_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

/// The constants of an engine that a fit changes.
std::vector<double> constants_of(EngineProfile const& engine) {
    std::vector<double> out;
    for (auto const& field : engine_numbers)
        out.push_back((engine.*field.member).value);
    for (auto const& field : engine_times)
        out.push_back((engine.*field.member).value.base());
    return out;
}

}  // namespace

IterationModel const& GapModels::at(Seconds gap) {
    std::lock_guard const lock(guard_);
    auto& model = models_[std::llround(gap.in(units::ns))];
    if (!model) {
        ServingCase what = what_;
        what.engine.kernel_gap.value = gap;
        model = std::make_unique<IterationModel const>(what);
    }
    return *model;
}

std::string ServedRow::group() const {
    ServingCase const& what = case_.what;
    return fmt::format("{}, {}, {}", what.model.name, what.cluster.accelerator.name, what.engine.name);
}

EngineProfile ServedRow::server(EngineProfile engine) const {
    if (prompts_) engine.prompts = *prompts_;
    if (case_.prompts) engine.prompts = *case_.prompts;
    return case_.load == ServedLoad::static_batch ? without_server(engine) : engine;
}

IterationModel ServedRow::model(EngineProfile const& server) const {
    return models_->at(server.kernel_gap.value).with_scales(server);
}

ServingEstimate ServedRow::steady(EngineProfile const& engine) const {
    return closed_loop(model(server(engine)), case_.request, case_.amount / case_.replicas);
}

ServedPrediction ServedRow::simulated(EngineProfile const& server) const {
    ServedCase under = case_;
    under.what.engine = server;
    return predict_served(model(server), under);
}

void ServedRow::set_base(EngineProfile const& engine) {
    simulated_ = simulated(server(engine));
    if (is_loop()) {
        steady_ = steady(engine);
        echo_ = echo_of(engine);
        base_overhead_ = engine.request_overhead.value;
    }
    last_constants_.clear();
}

double ServedRow::misfit(EngineProfile engine, PromptOrder order) const {
    if (!is_loop() || case_.prompts) return 0;
    engine.prompts = order;
    ServedPrediction const p = simulated(engine);
    ServedFigures const& m = case_.measured;
    return (m.ttft ? std::abs(std::log(p.ttft / *m.ttft)) : 0) + (m.tpot ? std::abs(std::log(p.tpot / *m.tpot)) : 0);
}

double ServedRow::prompt_load(EngineProfile const& engine) const {
    ServedFigures const& m = case_.measured;
    if (!is_loop() || !m.ttft || !m.tpot) return 0;
    IterationTime const prompt = model(engine)({.prefill_tokens = case_.request.prompt - case_.request.cached});
    Seconds const cycle = *m.ttft + (case_.request.output - 1) * *m.tpot;
    return case_.amount / case_.replicas * (prompt.gemm / cycle);
}

ServedPrediction ServedRow::operator()(EngineProfile const& engine) {
    std::vector<double> constants = constants_of(engine);
    std::lock_guard const lock(guard_);
    if (constants != last_constants_) {
        last_ = predict(engine);
        last_constants_ = std::move(constants);
    }
    return last_;
}

ServedPrediction ServedRow::predict(EngineProfile const& engine) const {
    if (!is_loop()) return simulated(server(engine));
    ServingEstimate const now = steady(engine);
    ServedPrediction out = simulated_;
    double const slower = now.tpot / steady_.tpot;
    out.tpot = simulated_.tpot * slower;
    out.ttft = std::max(0.3 * now.ttft.total(), now.ttft.total() + (simulated_.ttft - steady_.ttft.total()) * slower +
                                                    echo_ * (engine.request_overhead.value - base_overhead_));
    double const later = case_.request.output - 1;
    Seconds const before = simulated_.ttft + later * simulated_.tpot;
    Seconds const latency = out.ttft + later * out.tpot;
    out.output_tokens_per_s = simulated_.output_tokens_per_s * (before / latency);
    return out;
}

double ServedRow::echo_of(EngineProfile const& engine) const {
    constexpr double step = 0.4;
    EngineProfile other = engine;
    other.request_overhead.value = engine.request_overhead.value * (1 - step);
    Seconds const less = simulated(server(other)).ttft;
    return std::clamp((simulated_.ttft - less) / (engine.request_overhead.value * step) - 1, -0.7, 20.0);
}

}  // namespace sextant::cli
