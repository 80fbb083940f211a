#include "cli/scaling_rates_json.hpp"

#include "cli/scaling_answer_json.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

nlohmann::ordered_json rates_json(RateBand const& band) {
    nlohmann::ordered_json out{{"learning_rate", {band.learning_rate_low, band.learning_rate_high}},
                               {"batch_tokens", {band.batch_low, band.batch_high}},
                               {"laws", nlohmann::ordered_json::array()}};
    for (RateBand::Entry const& e : band.entries)
        out["laws"].push_back({{"law", e.law->name},
                               {"basis", e.law->basis},
                               {"source", e.law->source},
                               {"learning_rate", number_json(e.learning_rate)},
                               {"batch_tokens", number_json(e.batch)},
                               {"critical_batch_tokens", number_json(e.critical_batch)}});
    return out;
}

}  // namespace sextant::cli
