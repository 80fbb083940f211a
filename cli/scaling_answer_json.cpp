#include "cli/scaling_answer_json.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace sextant::cli {

using Json = nlohmann::ordered_json;

Json number_json(std::optional<double> value) {
    return value && std::abs(*value) < 1e100 ? Json(*value) : Json(nullptr);
}

Json interval_json(std::optional<LawInterval> const& interval) {
    if (!interval) return nullptr;
    return {{"low_95", number_json(interval->low95)},
            {"low_80", number_json(interval->low80)},
            {"median", number_json(interval->median)},
            {"high_80", number_json(interval->high80)},
            {"high_95", number_json(interval->high95)}};
}

Json point_json(ScalingPoint const& point) {
    return {{"parameters", point.parameters}, {"tokens", point.tokens}, {"loss", point.loss}};
}

Json answer_json(ScalingAnswer const& a) {
    Json outside = Json::array();
    for (Extrapolation const& e : a.outside)
        outside.push_back({{"input", e.input}, {"value", e.value}, {"factor", e.factor}, {"above", e.above}});
    return {{"law", a.name},
            {"form", a.form},
            {"title", a.title},
            {"basis", a.basis},
            {"source", a.source},
            {"counting", a.counting},
            {"parameters", a.parameters},
            {"tokens", a.tokens},
            {"tokens_per_parameter", a.ratio()},
            {"loss", number_json(a.loss)},
            {"intervals",
             {{"parameters", interval_json(a.parameters_interval)},
              {"tokens", interval_json(a.tokens_interval)},
              {"tokens_per_parameter", interval_json(a.ratio_interval)},
              {"loss", interval_json(a.loss_interval)}}},
            {"outside_fitted_range", outside},
            {"warnings", a.warnings}};
}

}  // namespace sextant::cli
