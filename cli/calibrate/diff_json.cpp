#include "cli/calibrate/diff.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(std::optional<T> const& value) {
    return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string calibration_diff_json(CalibrationDiff const& diff) {
    Json json{{"format", "calibration-diff"},
              {"version", 1},
              {"calibration_format", diff.format},
              {"first", diff.first},
              {"second", diff.second},
              {"constants_in_both", diff.constants},
              {"differences", Json::array()},
              {"times_on", diff.times_on},
              {"times", Json::array()},
              {"notes", diff.notes}};
    for (ConstantDifference const& d : diff.differences)
        json["differences"].push_back({{"fit", d.part},
                                       {"constant", d.key},
                                       {"first", d.first.empty() ? Json(nullptr) : Json(d.first)},
                                       {"second", d.second.empty() ? Json(nullptr) : Json(d.second)},
                                       {"first_spread", or_null(d.first_spread)},
                                       {"second_spread", or_null(d.second_spread)},
                                       {"ratio", or_null(d.ratio)},
                                       {"standard_deviations_apart", or_null(d.distance)}});
    for (TimeRatio const& t : diff.times)
        json["times"].push_back({{"of", t.part},
                                 {"shapes", t.shapes},
                                 {"ratio_median", t.median},
                                 {"ratio_least", t.least},
                                 {"least_at", t.least_at},
                                 {"ratio_largest", t.largest},
                                 {"largest_at", t.largest_at}});
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
