#pragma once

#include "cli/scaling/fit.hpp"
#include "cli/scaling/optimum.hpp"
#include "cli/scaling/predict.hpp"

#include <string>

namespace sextant::cli {

/// A fitted law as a page: the rows and the curve, predicted against measured, parameters with intervals, warnings.
std::string scaling_fit_page(ScalingFitReport const& report);

/// Budgets and their optima by several laws as a page, over the loss surface of the first law.
std::string scaling_optimum_page(OptimumReport const& report);

/// A run's loss by several laws as a page, with the run on the loss surface.
std::string scaling_predict_page(PredictReport const& report);

}  // namespace sextant::cli
