#include "cli/sweep/report_cells.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

SweepCell cell_of(Json const& value) {
    using Kind = SweepCell::Kind;
    if (value.is_boolean()) return {Kind::flag, value.get<bool>() ? "true" : "false"};
    if (value.is_number()) return {Kind::number, value.dump()};
    if (value.is_string()) return {Kind::text, value.get<std::string>()};
    return {};
}

Json const* item(Json const& list, std::string_view index) {
    std::size_t at = 0;
    auto const [stop, error] = std::from_chars(index.data(), index.data() + index.size(), at);
    bool const digits = error == std::errc{} && stop == index.data() + index.size();
    return digits && at < list.size() ? &list[at] : nullptr;
}

/// Keys may hold dots themselves: the shortest first part that leads to something is taken.
Json const* find(Json const& value, std::string_view path) {
    if (path.empty()) return &value;
    for (std::size_t end = path.find('.');; end = path.find('.', end + 1)) {
        std::string_view const key = path.substr(0, end);
        Json const* below = nullptr;
        if (value.is_array()) {
            below = item(value, key);
        } else if (value.is_object()) {
            auto const found = value.find(key);
            below = found == value.end() ? nullptr : &*found;
        }
        bool const last = end == std::string_view::npos;
        if (below != nullptr)
            if (Json const* const value_below = find(*below, last ? std::string_view{} : path.substr(end + 1)))
                return value_below;
        if (last) return nullptr;
    }
}

void collect(Json const& value, std::string const& path, std::vector<std::pair<std::string, SweepCell>>& out) {
    auto const below = [&](std::string const& key) { return path.empty() ? key : path + "." + key; };
    if (value.is_object()) {
        for (auto const& [key, inner] : value.items())
            collect(inner, below(key), out);
    } else if (value.is_array()) {
        if (!value.empty()) collect(value.front(), below("0"), out);
    } else {
        out.emplace_back(path, cell_of(value));
    }
}

/// The first value whose path ends with these words: "peak_bytes" of "memory.peak_bytes".
SweepCell by_last_words(Json const& document, std::string const& words) {
    std::vector<std::pair<std::string, SweepCell>> all;
    collect(document, "", all);
    for (auto& [path, cell] : all)
        if (path.ends_with("." + words)) return std::move(cell);
    return {};
}

}  // namespace

std::optional<std::vector<SweepCell>> report_cells(std::string_view report, std::vector<std::string> const& columns) {
    Json const document = Json::parse(report, nullptr, false);
    if (!document.is_object()) return std::nullopt;
    std::vector<SweepCell> cells;
    for (std::string const& column : columns) {
        Json const* const value = find(document, column);
        cells.push_back(value != nullptr ? cell_of(*value) : by_last_words(document, column));
    }
    return cells;
}

std::vector<std::pair<std::string, SweepCell>> report_paths(std::string_view report) {
    std::vector<std::pair<std::string, SweepCell>> out;
    Json const document = Json::parse(report, nullptr, false);
    if (document.is_object()) collect(document, "", out);
    return out;
}

SweepCell cell_from_text(std::string text) {
    if (text.empty()) return {};
    if (text == "true" || text == "false") return {SweepCell::Kind::flag, std::move(text)};
    double value = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const number = error == std::errc{} && stop == text.data() + text.size() && std::isfinite(value) &&
                        Json::accept(text);  // "007" and "1." are text: they would not come back the same
    return {number ? SweepCell::Kind::number : SweepCell::Kind::text, std::move(text)};
}

}  // namespace sextant::cli
