// What AIPerf (profile_export_aiperf.csv) and genai-perf (profile_export_genai_perf.csv) write of a run as CSV: a
// section of metrics with statistics ("Metric,avg,min,max,p50,..."), one of single values ("Metric,Value"), units in
// brackets behind the names. What was asked is in the JSON beside it alone.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "core/csv_records.hpp"
#include "core/error.hpp"
#include "core/measurements/row_cells.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sextant {
namespace {

bool recognises_metrics(std::string_view text) {
    std::string const head = lower_case(text.substr(0, text.find('\n')));
    return head.starts_with("metric,avg,") && lower_case(text).find("request latency (") != std::string::npos;
}

/// Means and single values by name ("request latency"), times in ms.
using Metrics = std::map<std::string, double, std::less<>>;

Metrics metrics_in(std::string_view text, std::string const& name) {
    constexpr std::array milliseconds{std::pair{"(ns)", 1e-6}, std::pair{"(us)", 1e-3}, std::pair{"(s)", 1e3},
                                      std::pair{"(sec)", 1e3}};
    Metrics out;
    for (auto const& record : parse_csv_records(text, name)) {
        if (record.cells.size() < 2) continue;
        std::string const metric = lower_case(trimmed(record.cells[0]));
        std::string problem;
        auto value = number_in(record.cells[1], metric, problem);
        if (!problem.empty() || !value || !(*value > 0)) continue;
        for (auto const& [unit, factor] : milliseconds)
            if (metric.ends_with(unit)) *value *= factor;
        out.emplace(std::string(trimmed(std::string_view(metric).substr(0, metric.find('(')))), *value);
    }
    return out;
}

CellRow row_of_metrics(Metrics const& metrics, ImportRequest const& request) {
    constexpr std::array columns{std::pair{"input sequence length", "input_len"},
                                 std::pair{"output sequence length", "output_len"},
                                 std::pair{"output token throughput", "output_tokens_per_s"},
                                 std::pair{"total token throughput", "total_tokens_per_s"},
                                 std::pair{"request throughput", "requests_per_s"},
                                 std::pair{"time to first token", "ttft_ms"},
                                 std::pair{"inter token latency", "tpot_ms"},  // of a request: all but its first token
                                 std::pair{"request latency", "e2e_latency_ms"}};
    CellRow row;
    put_source(row, request, "AIPerf");
    for (auto const& [metric, column] : columns)
        if (auto const found = metrics.find(metric); found != metrics.end())
            put(row, column, fmt::format("{:.6g}", found->second));
    if (auto const sent = metrics.find("request count"); sent != metrics.end())
        put(row, "notes", fmt::format("num_prompts={:.0f}", sent->second));
    if (!request.cells.contains("request_rate")) static_cast<void>(needed_cell(request.cells, "concurrency_or_batch"));
    return row;
}

ImportedTables read_metrics(std::string_view text, ImportRequest const& request) {
    Metrics const metrics = metrics_in(text, request.name);
    if (!metrics.contains("request latency"))
        throw InputError("{}: has no 'Request Latency' of AIPerf or genai-perf", request.name);
    ImportedTables out;
    out.or_skip([&] { out.add_load(row_of_metrics(metrics, request), request); });
    return out;
}

}  // namespace

extern constinit Importer const genai_perf_csv_importer;
constinit Importer const genai_perf_csv_importer{
    .name = "genai-perf-csv",
    .summary = "results of AIPerf and genai-perf as CSV (profile_export_*.csv): a row of a served load",
    .source =
        "ai-dynamo/aiperf src/aiperf/exporters/metrics_csv_exporter.py; "
        "github.com/triton-inference-server/perf_analyzer genai-perf csv_exporter.py",
    .recognises = recognises_metrics,
    .read = read_metrics,
};

}  // namespace sextant
