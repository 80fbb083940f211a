#include "cli/view/rows_csv.hpp"
#include "cli/view/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Hands every value below `value` that is no list and not null to `sink(path, text)`.
template <class Sink>
void each_value(Json const& value, std::string const& path, Sink const& sink) {
    if (value.is_object()) {
        for (auto const& [key, below] : value.items())
            each_value(below, path.empty() ? key : path + "." + key, sink);
    } else if (!value.is_array()) {
        sink(path, value.is_null() ? std::string() : value.is_string() ? value.get<std::string>() : value.dump());
    }
}

/// What a report answers: its rows say so each, so that tables of several questions can lie in one.
constexpr std::array question_keys{"model", "cluster", "framework", "engine", "seq", "global_batch"};

}  // namespace

std::string rows_csv(std::string_view report, std::string_view list) {
    Json const json = Json::parse(report);
    std::vector<Column> columns{{"row"}};
    std::map<std::string, std::size_t> place;
    std::vector<std::vector<std::string>> rows;
    for (Json const& object : json.at(std::string(list))) {
        std::vector<std::string>& row = rows.emplace_back();
        row.push_back(fmt::format("{}", rows.size()));
        auto const set = [&](std::string const& path, std::string text) {
            auto const [found, is_new] = place.try_emplace(path, columns.size());
            if (is_new) columns.push_back({path});
            row.resize(std::max(row.size(), found->second + 1));
            row[found->second] = std::move(text);
        };
        for (char const* const key : question_keys)
            if (json.contains(key) && json[key].is_primitive()) each_value(json[key], key, set);
        each_value(object, "", set);
    }
    Table table(columns);
    for (std::vector<std::string>& row : rows)
        table.add_row(std::move(row));
    return table.csv();
}

}  // namespace sextant::cli
