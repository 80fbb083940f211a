#include "cli/validate_view.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Figures of no rows are null, not zero.
Json statistics_object(ErrorStatistics const& s) {
    auto const figure = [&](double value) { return s.n > 0 ? Json(value) : Json(nullptr); };
    return {{"n", s.n},
            {"mape_pct", figure(s.mape_pct)},
            {"median_ape_pct", figure(s.median_ape_pct)},
            {"p90_ape_pct", figure(s.p90_ape_pct)},
            {"bias_pct", figure(s.bias_pct)}};
}

Json reasons_array(ReasonCounts const& counts) {
    Json array = Json::array();
    for (auto const& [reason, count] : counts)
        array.push_back({{"reason", reason}, {"rows", count}});
    return array;
}

Json score_object(SourceScore const& s) {
    return {{"source", s.source},
            {"n", s.n},
            {"skipped", s.skipped},
            {"time", statistics_object(s.time)},
            {"memory", statistics_object(s.memory)},
            {"oom",
             {{"n", s.oom.n},
              {"accuracy_pct", s.oom.n > 0 ? Json(s.oom.accuracy_pct()) : Json(nullptr)},
              {"missed", s.oom.missed},
              {"false_alarms", s.oom.false_alarms}}},
            {"skip_reasons", reasons_array(s.skip_reasons)},
            {"time_not_scored", reasons_array(s.time_reasons)},
            {"memory_not_scored", reasons_array(s.memory_reasons)},
            {"assumptions", reasons_array(s.assumptions)}};
}

}  // namespace

std::string train_validation_json(TrainValidation const& validation) {
    Json json{{"format", "train-validation"}, {"version", 1}};
    json["interval"] = {{"coverage", 0.8},
                        {"low_factor", time_interval_low},
                        {"high_factor", time_interval_high},
                        {"basis", "assumed"}};
    json["overall"] = score_object(validation.overall);
    json["sources"] = Json::array();
    for (SourceScore const& source : validation.sources)
        json["sources"].push_back(score_object(source));
    // Cells of a foreign file may hold anything; what is not UTF-8 is replaced.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sextant::cli
