#include "cli/calibrate/report.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json statistics(ErrorStatistics const& e) {
    if (e.n == 0) return nullptr;
    return {{"n", e.n},
            {"median_ape_pct", e.median_ape_pct},
            {"mape_pct", e.mape_pct},
            {"p90_ape_pct", e.p90_ape_pct},
            {"bias_pct", e.bias_pct}};
}

Json factors_json(double low, double high) { return {{"low", low}, {"high", high}}; }

Json open_end(double edge) { return std::isfinite(edge) ? Json(edge) : Json(nullptr); }

}  // namespace

std::string calibration_report_json(CalibrationReport const& report) {
    Json json{{"format", "calibration-report"},
              {"version", 1},
              {"name", name_in(report.file)},
              {"title", title_in(report.file)},
              {"calibration_format", format_of(report.file)},
              {"held_out", Json::array()},
              {"unidentified", report.unidentified},
              {"constants", Json::array()}};
    for (HeldOutLine const& line : report.held_out)
        json["held_out"].push_back(
            {{"fit", line.part},
             {"rows_fitted", line.fitted_rows},
             {"rows", line.rows},
             {"median_pct", line.median_pct},
             {"p95_pct", line.p95_pct},
             {"bias_pct", line.bias_pct},
             {"interval", factors_json(line.low, line.high)},
             {"beyond", line.beyond ? factors_json(line.beyond->low, line.beyond->high) : Json(nullptr)}});
    for (CalibrationConstant const& c : constants_of(report.file))
        json["constants"].push_back({{"fit", c.part},
                                     {"constant", c.key},
                                     {"value", c.value},
                                     {"spread", c.spread ? Json(*c.spread) : Json(nullptr)}});
    json["not_scored"] = Json::array();
    SourceScore const& all = report.validation.overall;
    for (auto const* const counts : {&all.skip_reasons, &all.time_reasons})
        for (auto const& [reason, count] : *counts)
            json["not_scored"].push_back({{"reason", reason}, {"rows", count}});
    json["groups"] = Json::array();
    for (SplitErrors const& group : report.groups)
        json["groups"].push_back({{"by", group.by},
                                  {"group", group.name},
                                  {"held_out", statistics(group.held_out)},
                                  {"fitted", statistics(group.fitted)},
                                  {"other", statistics(group.other)}});
    json["histogram"] = {{"of", report.histogram_of}, {"bins", Json::array()}};
    for (ErrorBin const& bin : report.histogram)
        json["histogram"]["bins"].push_back(
            {{"low_pct", open_end(bin.low_pct)}, {"high_pct", open_end(bin.high_pct)}, {"rows", bin.rows}});
    json["worst"] = Json::array();
    for (WorstRow const& row : report.validation.worst)
        json["worst"].push_back({{"row", row.where},
                                 {"what", row.what},
                                 {"measured_s", row.measured.base()},
                                 {"predicted_s", row.predicted.base()},
                                 {"error_pct", row.error_pct()},
                                 {"split", row.split},
                                 {"reason", row.reason}});
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
