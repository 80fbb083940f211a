#pragma once

#include "cost_models/scaling/scaling_answer.hpp"

#include <nlohmann/json_fwd.hpp>

namespace sextant::cli {

/// {"low_95", "low_80", "median", "high_80", "high_95"}; null without an interval.
nlohmann::ordered_json interval_json(std::optional<LawInterval> const& interval);

/// {"parameters", "tokens", "loss"}.
nlohmann::ordered_json point_json(ScalingPoint const& point);

/// Name, form, basis, source, N, D, loss, intervals, warnings of one law's answer.
nlohmann::ordered_json answer_json(ScalingAnswer const& answer);

/// A number; null where it is infinite or missing.
nlohmann::ordered_json number_json(std::optional<double> value);

}  // namespace sextant::cli
