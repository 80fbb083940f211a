#include "cli/sweep/grid.hpp"
#include "cli/sweep/record.hpp"
#include "cli/sweep/report_cells.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/json/json_text.hpp"
#include "core/json/object_reader.hpp"
#include "core/json/text_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

/// JSON of a text that may hold anything.
std::string quoted(std::string const& text) { return json_text(Json(text)); }

std::string json_of(SweepCell const& cell) {
    switch (cell.kind) {
        case SweepCell::Kind::empty: return "null";
        case SweepCell::Kind::text: return quoted(cell.text);
        case SweepCell::Kind::number:
        case SweepCell::Kind::flag: break;
    }
    return cell.text;
}

SweepCell cell_of(Json const& value) {
    if (value.is_null()) return {};
    if (value.is_boolean()) return {SweepCell::Kind::flag, value.get<bool>() ? "true" : "false"};
    if (value.is_number()) return {SweepCell::Kind::number, value.dump()};
    return {SweepCell::Kind::text, value.is_string() ? value.get<std::string>() : value.dump()};
}

std::string axis_cell(std::string const& value) { return json_of(cell_from_text(value)); }

SweepRow parse_json(SweepRecord const& record, std::string_view line, std::string const& where) {
    Json const object = Json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("point") || !object.contains("status"))
        throw InputError("{}: is no row of a sweep", where);
    SweepRow row{.point = object["point"].is_number_integer() ? object["point"].get<std::int64_t>() : -1,
                 .status = PointStatus::failed,
                 .cells = {},
                 .reason = {}};
    if (auto const reason = object.find("reason"); reason != object.end()) row.reason = cell_of(*reason).text;
    std::string const status = cell_of(object["status"]).text;
    for (PointStatus const known : {PointStatus::done, PointStatus::answer_is_no})
        if (status == name_of(known)) row.status = known;
    for (std::string const& column : record.columns)
        row.cells.push_back(object.contains(column) ? cell_of(object[column]) : SweepCell{});
    return row;
}

SweepRow parse_csv_row(SweepRecord const& record, std::string_view line, std::string const& where) {
    auto const records = parse_csv_records(line, where);
    std::size_t const axes = record.axes.size();
    std::size_t const columns = record.columns.size();
    if (records.size() != 1 || records[0].cells.size() != axes + columns + 3)
        throw InputError("{}: is no row of this sweep ({} cells are expected)", where, axes + columns + 3);
    auto const& cells = records[0].cells;
    std::int64_t number = 0;
    auto const [end, problem] = std::from_chars(cells[0].data(), cells[0].data() + cells[0].size(), number);
    if (problem != std::errc{} || end != cells[0].data() + cells[0].size())
        throw InputError("{}: '{}' is no point", where, cells[0].substr(0, 40));
    SweepRow row{.point = number, .status = PointStatus::failed, .cells = {}, .reason = cells.back()};
    for (PointStatus const known : {PointStatus::done, PointStatus::answer_is_no})
        if (cells[1 + axes] == name_of(known)) row.status = known;
    for (std::size_t i = 0; i < columns; ++i)
        row.cells.push_back(cell_from_text(cells[2 + axes + i]));
    return row;
}

std::vector<SweepAxis> read_axes(ObjectReader& in) {
    std::vector<SweepAxis> axes;
    for (ObjectReader& entry : in.objects("axes")) {
        SweepAxis axis{.name = entry.text("name"), .values = entry.texts("values")};
        if (axis.values.empty()) throw InputError("{}: has no values", entry.where());
        entry.finish();
        axes.push_back(std::move(axis));
    }
    return axes;
}

/// Each axis must be in one group, and axes of a group as long as each other.
void check_groups(SweepRecord const& record, std::string const& where) {
    std::vector<std::size_t> seen(record.axes.size());
    for (auto const& group : record.groups) {
        if (group.empty()) throw InputError("{}: groups: one is empty", where);
        for (std::size_t const axis : group)
            if (axis >= seen.size() || seen[axis]++ > 0 ||
                record.axes[axis].values.size() != record.axes[group.front()].values.size())
                throw InputError("{}: groups: do not fit the axes", where);
    }
    if (std::count(seen.begin(), seen.end(), 0) > 0 || record.axes.empty())
        throw InputError("{}: groups: an axis is in none", where);
    if (record.points != point_count(record.axes, record.groups))
        throw InputError("{}: points: is {} (the axes make {})", where, record.points,
                         point_count(record.axes, record.groups));
}

}  // namespace

SweepRecord read_record(std::string const& path) { return read_record(JsonDocument::from_file(path)); }

SweepRecord read_record(JsonDocument const& document) {
    std::string const& path = document.name();
    ObjectReader in(document);
    in.format("sweep-record", 1);
    SweepRecord record;
    record.digest = in.text("digest");
    record.command = in.text("command");
    record.axes = read_axes(in);
    for (ObjectReader& entry : in.objects("groups")) {
        std::vector<std::size_t> group;
        for (std::int64_t const axis : entry.integers("axes"))
            group.push_back(static_cast<std::size_t>(axis));
        entry.finish();
        record.groups.push_back(std::move(group));
    }
    record.columns = in.texts("columns");
    record.prices = in.texts("prices");  // records of earlier versions have none
    std::string const rows = in.text("rows");
    if (rows != "csv" && rows != "jsonl") throw InputError("{}: rows: '{}' (csv or jsonl)", path, rows.substr(0, 40));
    record.rows = rows == "csv" ? RowFormat::csv : RowFormat::jsonl;
    record.points = in.integer("points");
    record.shard = in.integer("shard");
    record.shards = in.integer("shards");
    in.finish();
    check_groups(record, path);
    if (record.shards < 1 || record.shard < 1 || record.shard > record.shards)
        throw InputError("{}: shard: {} of {} is none", path, record.shard, record.shards);
    if (record.shards > most_shards) throw InputError("{}: shards: {} ({} at most)", path, record.shards, most_shards);
    return record;
}

void write_record(std::string const& path, SweepRecord const& record) {
    Json json{{"format", "sweep-record"}, {"version", 1}, {"digest", record.digest}, {"command", record.command}};
    json["axes"] = Json::array();
    for (SweepAxis const& axis : record.axes)
        json["axes"].push_back({{"name", axis.name}, {"values", axis.values}});
    json["groups"] = Json::array();
    for (auto const& group : record.groups)
        json["groups"].push_back({{"axes", group}});
    json["columns"] = record.columns;
    if (!record.prices.empty()) json["prices"] = record.prices;
    json["rows"] = name_of(record.rows);
    json["points"] = record.points;
    json["shard"] = record.shard;
    json["shards"] = record.shards;
    write_text_file(path, json_text(json, 2) + "\n");
}

std::string row_line(SweepRecord const& record, SweepRow const& row) {
    std::vector<std::size_t> const at = positions_at(record.axes, record.groups, row.point);
    std::string line = row_beginning(record, row.point);
    if (record.rows == RowFormat::csv) {
        for (std::size_t i = 0; i < record.axes.size(); ++i)
            line += csv_cell(record.axes[i].values[at[i]]) + ",";
        line += name_of(row.status);
        for (SweepCell const& cell : row.cells)
            line += "," + csv_cell(cell.text);
        return line + "," + csv_cell(row.reason) + "\n";
    }
    for (std::size_t i = 0; i < record.axes.size(); ++i)
        line += fmt::format("{}:{},", quoted(record.axes[i].name), axis_cell(record.axes[i].values[at[i]]));
    line += fmt::format("\"status\":\"{}\"", name_of(row.status));
    for (std::size_t i = 0; i < row.cells.size(); ++i)
        line += fmt::format(",{}:{}", quoted(record.columns[i]), json_of(row.cells[i]));
    return line + fmt::format(",\"reason\":{}}}\n", quoted(row.reason));
}

SweepRow parse_row(SweepRecord const& record, std::string_view line, std::string const& where) {
    return record.rows == RowFormat::csv ? parse_csv_row(record, line, where) : parse_json(record, line, where);
}

}  // namespace sextant::cli
