#include "cli/page/chart.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Six digits are more than a screen shows, and a third of the bytes. What is not finite is a gap.
Json number(double value) {
    if (!std::isfinite(value)) return nullptr;
    return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Json numbers(std::vector<double> const& values) {
    Json list = Json::array();
    for (double const value : values)
        list.push_back(number(value));
    return list;
}

Json axis_object(ChartAxis const& axis) {
    return {{"title", axis.title}, {"log", axis.scale == ChartAxis::Scale::logarithmic}, {"zero", axis.from_zero}};
}

Json mark_list(std::vector<ChartMark> const& marks) {
    Json list = Json::array();
    for (ChartMark const& mark : marks)
        list.push_back({{"across", mark.across == ChartMark::Across::x ? "x" : "y"},
                        {"at", number(mark.at)},
                        {"label", mark.label}});
    return list;
}

char const* name_of(Draw draw) {
    switch (draw) {
        case Draw::markers: return "markers";
        case Draw::line: return "line";
        case Draw::both: return "both";
        case Draw::dashed: return "dashed";
        case Draw::dotted: return "dotted";
        case Draw::steps: return "steps";
    }
    return "markers";
}

Json series_list(std::vector<PointSeries> const& series) {
    Json list = Json::array();
    for (PointSeries const& s : series) {
        Json json{{"name", s.name}, {"draw", name_of(s.draw)}, {"x", numbers(s.x)}, {"y", numbers(s.y)}};
        if (!s.labels.empty()) json["labels"] = s.labels;
        for (auto const& [key, values] :
             {std::pair{"low", &s.low}, {"high", &s.high}, {"left", &s.left}, {"right", &s.right}})
            if (!values->empty()) json[key] = numbers(*values);
        if (!s.role.empty()) json["role"] = s.role;
        if (s.large) json["large"] = true;
        list.push_back(std::move(json));
    }
    return list;
}

Json body_object(BarChart const& chart) {
    Json series = Json::array();
    for (BarSeries const& s : chart.series)
        series.push_back({{"name", s.name}, {"role", s.role}, {"values", numbers(s.values)}});
    return {{"kind", "bars"},
            {"categories", chart.categories},
            {"series", std::move(series)},
            {"x", axis_object(chart.x)},
            {"marks", mark_list(chart.marks)}};
}

Json body_object(PointChart const& chart) {
    return {{"kind", "points"},          {"series", series_list(chart.series)}, {"x", axis_object(chart.x)},
            {"y", axis_object(chart.y)}, {"marks", mark_list(chart.marks)},     {"same", chart.same_scale}};
}

Json body_object(SurfaceChart const& chart) {
    Json rows = Json::array();
    for (std::vector<double> const& row : chart.z)
        rows.push_back(numbers(row));
    return {{"kind", "surface"},
            {"gx", numbers(chart.x)},
            {"gy", numbers(chart.y)},
            {"gz", std::move(rows)},
            {"z_title", chart.z_title},
            {"series", series_list(chart.series)},
            {"x", axis_object(chart.x_axis)},
            {"y", axis_object(chart.y_axis)}};
}

Json body_object(TimelineChart const& chart) {
    Json series = Json::array();
    for (TimelineSeries const& s : chart.series) {
        Json row = Json::array();
        Json start = Json::array();
        Json length = Json::array();
        Json label = Json::array();
        for (TimelineSlot const& slot : s.slots) {
            row.push_back(slot.row);
            start.push_back(number(slot.start));
            length.push_back(number(slot.length));
            label.push_back(slot.label);
        }
        series.push_back({{"name", s.name},
                          {"role", s.role},
                          {"within", s.lane == TimelineSeries::Lane::within},
                          {"row", std::move(row)},
                          {"start", std::move(start)},
                          {"length", std::move(length)},
                          {"label", std::move(label)}});
    }
    return {{"kind", "timeline"}, {"rows", chart.rows}, {"series", std::move(series)}, {"x", axis_object(chart.x)}};
}

}  // namespace

std::string chart_json(Chart const& chart) {
    Json const body = std::visit([](auto const& of) { return body_object(of); }, chart.body);
    return body.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace sextant::cli
