#include "cli/sweep/report_cells.hpp"
#include "cli/sweep/view.hpp"
#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(SweepCell const& cell) {
    switch (cell.kind) {
        case SweepCell::Kind::empty: return nullptr;
        case SweepCell::Kind::text: return cell.text;
        case SweepCell::Kind::number:
        case SweepCell::Kind::flag: break;
    }
    return Json::parse(cell.text);
}

Json json_of(Sensitivity const& s) {
    auto const figure = [](std::optional<double> value) { return value ? Json(*value) : Json(nullptr); };
    Json effects = Json::array();
    for (AxisEffect const& e : s.effects)
        effects.push_back({{"axis", e.axis},
                           {"pairs", e.pairs},
                           {"least_mean", figure(e.least)},
                           {"least_at", e.least_at},
                           {"most_mean", figure(e.most)},
                           {"most_at", e.most_at},
                           {"variance_share", e.first_order},
                           {"variance_share_with_interactions", e.total},
                           {"elasticity", figure(e.elasticity)}});
    return {{"metric", s.metric},    {"mean", s.mean},     {"standard_deviation", s.deviation},
            {"points_used", s.used}, {"points", s.points}, {"effects", std::move(effects)}};
}

}  // namespace

std::string sweep_json(SweepTable const& table) {
    Json json{{"format", "sweep"}, {"version", 1}, {"command", table.command}, {"points", table.points}};
    json["interrupted"] = table.interrupted;
    json["axes"] = Json::array();
    for (SweepAxis const& axis : table.axes)
        json["axes"].push_back({{"name", axis.name}, {"values", axis.values}});
    json["columns"] = table.columns;
    json["rows"] = Json::array();
    for (SweepRow const& row : table.rows) {
        Json settings = Json::object();
        std::vector<std::string> const values = table.settings(row.point);
        for (std::size_t i = 0; i < values.size(); ++i)
            settings[table.axes[i].name] = json_of(cell_from_text(values[i]));
        Json cells = Json::object();
        for (std::size_t i = 0; i < row.cells.size(); ++i)
            cells[table.columns[i]] = json_of(row.cells[i]);
        json["rows"].push_back({{"point", row.point},
                                {"settings", std::move(settings)},
                                {"status", name_of(row.status)},
                                {"values", std::move(cells)},
                                {"reason", row.reason}});
    }
    json["assumptions"] = table.prices;
    if (table.sensitivity) json["sensitivity"] = json_of(*table.sensitivity);
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
