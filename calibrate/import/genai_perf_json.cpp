// What genai-perf (profile_export_genai_perf.json) and AIPerf (profile_export_aiperf.json) write of a run: one JSON
// object with a unit and statistics for each metric, and what was asked under "input_config".
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "core/json/foreign_fields.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sextant {
namespace {

using Json = nlohmann::json;

bool recognises_genai(std::string_view text) {
    auto const begin = text.find_first_not_of(" \t\r\n");
    return begin != std::string_view::npos && text[begin] == '{' &&
           text.find("\"output_token_throughput\"") != std::string_view::npos &&
           text.find("\"request_throughput\"") != std::string_view::npos &&
           text.find("\"avg\"") != std::string_view::npos;
}

/// The mean of a metric in its own unit; times in ms. Nothing where it is not there or not finite.
std::optional<double> mean_of(Json const& run, char const* metric) {
    auto const found = run.find(metric);
    if (found == run.end() || !found->is_object() || !found->contains("avg") || !found->at("avg").is_number())
        return std::nullopt;
    double value = found->at("avg").get<double>();
    constexpr std::array milliseconds{std::pair{"ns", 1e-6}, std::pair{"us", 1e-3}, std::pair{"s", 1e3},
                                      std::pair{"sec", 1e3}};
    if (auto const unit = found->find("unit"); unit != found->end() && unit->is_string())
        for (auto const& [name, factor] : milliseconds)
            if (unit->get<std::string>() == name) value *= factor;
    return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

/// The first number of this key at any depth: releases keep what was asked in other places.
std::optional<double> number_within(Json const& part, std::string_view key) {
    if (!part.is_structured()) return std::nullopt;
    if (part.is_object())
        if (auto const found = part.find(key); found != part.end() && found->is_number() && found->get<double>() > 0)
            return found->get<double>();
    for (Json const& item : part)
        if (auto const number = number_within(item, key)) return number;
    return std::nullopt;
}

/// A name, or the only one of a list.
std::string name_in(Json const& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_array() && value.size() == 1) return name_in(value.front());
    for (char const* key : {"name", "items"})
        if (value.is_object() && value.contains(key)) return name_in(value.at(key));
    return "";
}

std::string model_within(Json const& part) {
    if (!part.is_structured()) return "";
    if (part.is_object())
        for (std::string_view const key : {"model", "model_names", "models"})
            if (auto const found = part.find(key); found != part.end())
                if (std::string name = name_in(*found); !name.empty()) return name;
    for (Json const& item : part)
        if (std::string name = model_within(item); !name.empty()) return name;
    return "";
}

CellRow row_of_genai(Json const& run, ImportRequest const& request) {
    Json const none = Json::object();
    Json const& asked = run.contains("input_config") ? run.at("input_config") : none;
    CellRow row;
    auto const put_number = [&](char const* column, std::optional<double> value) {
        if (value) put(row, column, fmt::format("{:.6g}", *value));
    };
    put_source(row, request, "genai-perf");
    put(row, "model", model_within(asked));
    auto const concurrency = number_within(asked, "concurrency");
    put_number("concurrency_or_batch", concurrency);
    put_number("request_rate", number_within(asked, "request_rate"));
    put_number("input_len", mean_of(run, "input_sequence_length"));
    put_number("output_len", mean_of(run, "output_sequence_length"));
    put_number("output_tokens_per_s", mean_of(run, "output_token_throughput"));
    put_number("total_tokens_per_s", mean_of(run, "total_token_throughput"));
    put_number("requests_per_s", mean_of(run, "request_throughput"));
    put_number("ttft_ms", mean_of(run, "time_to_first_token"));
    put_number("tpot_ms", mean_of(run, "inter_token_latency"));  // of a request: all but its first token
    put_number("e2e_latency_ms", mean_of(run, "request_latency"));
    if (auto const sent = mean_of(run, "request_count")) put(row, "notes", fmt::format("num_prompts={:.0f}", *sent));
    return row;
}

ImportedTables read_genai(std::string_view text, ImportRequest const& request) {
    Json const run = Json::parse(text, nullptr, false);
    if (run.is_discarded() || !run.is_object()) throw no_json(text, request.name);
    ImportedTables out;
    out.or_skip([&] { out.add_load(row_of_genai(run, request), request); });
    return out;
}

}  // namespace

extern constinit Importer const genai_perf_importer;
constinit Importer const genai_perf_importer{
    .name = "genai-perf",
    .summary = "results of genai-perf and AIPerf (profile_export_*.json): a row of a served load",
    .source = "github.com/triton-inference-server/perf_analyzer genai-perf json_exporter.py; ai-dynamo/aiperf",
    .recognises = recognises_genai,
    .read = read_genai,
};

}  // namespace sextant
