#pragma once

#include "cost_models/scaling/rate_laws.hpp"

#include <nlohmann/json_fwd.hpp>

namespace sextant::cli {

/// The band, and each rule's learning rate, batch and critical batch.
nlohmann::ordered_json rates_json(RateBand const& band);

}  // namespace sextant::cli
