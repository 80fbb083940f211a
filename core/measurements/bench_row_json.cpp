#include "core/error.hpp"
#include "core/measurements/bench_row.hpp"
#include "core/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sextant {
namespace {

using Json = nlohmann::json;

CsvRecord record_of(std::string_view line, std::size_t number, std::string const& name,
                    std::vector<std::string_view> const& columns) {
    Json const object = Json::parse(line, nullptr, false);
    if (!object.is_object()) throw InputError("{}: line {}: is no JSON object", name, number);
    CsvRecord record{.line = number, .cells = std::vector<std::string>(columns.size())};
    for (auto const& [key, value] : object.items()) {
        auto const at = std::find(columns.begin(), columns.end(), key);
        if (at == columns.end() || value.is_null()) continue;
        if (!value.is_string() && !value.is_number())
            throw InputError("{}: line {}: {} is neither a number nor a text", name, number, key);
        record.cells[static_cast<std::size_t>(at - columns.begin())] =
            value.is_string() ? value.get<std::string>() : value.dump();
    }
    return record;
}

}  // namespace

CsvTable table_of_json_lines(std::string_view text, std::string const& name,
                             std::vector<std::string_view> const& columns) {
    CsvTable table{.name = name, .header = {columns.begin(), columns.end()}, .records = {}};
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = std::min(text.find('\n', begin), text.size());
        std::string_view const line = trimmed(text.substr(begin, end - begin));
        begin = end + 1;
        ++number;
        if (!line.empty() && line != "\r") table.records.push_back(record_of(line, number, name, columns));
    }
    return table;
}

}  // namespace sextant
