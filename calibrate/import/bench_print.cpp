// What `vllm bench serve` and SGLang's bench_serving print at their end ("Serving Benchmark Result"), where nobody
// saved the JSON, and its bench_offline_throughput ("Offline Throughput Benchmark Result"). The lines say no model and,
// under vLLM, no limit of requests in flight: `--set` gives both.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/log_line.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {
namespace {

constexpr std::string_view print_title = "Serving Benchmark Result";
constexpr std::string_view offline_title =
    "Offline Throughput Benchmark Result";  // of SGLang's engine, without a server

bool recognises_print(std::string_view text) {
    return (text.find(print_title) != std::string_view::npos || text.find(offline_title) != std::string_view::npos) &&
           text.find("Output token throughput (tok/s):") != std::string_view::npos;
}

/// Labels as printed, behind colours and prefixes, and the column that their value is of.
constexpr std::array printed_columns{
    std::pair{"Request throughput (req/s)", "requests_per_s"},
    std::pair{"Output token throughput (tok/s)", "output_tokens_per_s"},
    std::pair{"Total token throughput (tok/s)", "total_tokens_per_s"},
    std::pair{"Total Token throughput (tok/s)", "total_tokens_per_s"},
    std::pair{"Mean TTFT (ms)", "ttft_ms"},
    std::pair{"Mean TPOT (ms)", "tpot_ms"},
    std::pair{"Mean ITL (ms)", "itl_ms"},
    std::pair{"Mean E2EL (ms)", "e2e_latency_ms"},
    std::pair{"Mean E2E Latency (ms)", "e2e_latency_ms"},
    std::pair{"Maximum request concurrency", "concurrency_or_batch"},
    std::pair{"Max request concurrency", "concurrency_or_batch"},
    std::pair{"Request rate configured (RPS)", "request_rate"},
    std::pair{"Traffic request rate", "request_rate"},
};

struct PrintedRun {
    CellRow cells{};
    double done = 0, failed = 0, prompts = 0, answers = 0;
    bool is_offline = false;
};

double number_or_none(std::string_view text) {
    double value = 0;
    return is_number(text, value) ? value : 0;
}

void add_print_line(std::string_view line, PrintedRun& run) {
    auto const colon = line.find("):") != std::string_view::npos ? line.find("):") + 1 : line.find(':');
    if (colon == std::string_view::npos) return;
    std::string_view const label = trimmed(line.substr(0, colon));
    std::string_view const value = trimmed(line.substr(colon + 1), " \t\r");
    double number = 0;
    for (auto const& [words, column] : printed_columns)
        if (label.ends_with(words) && !label.ends_with(fmt::format("Peak {}", words)) &&
            (is_number(value, number) || value == "inf"))
            put(run.cells, column, std::string(value));
    if (label.ends_with("Successful requests")) run.done = number_or_none(value);
    if (label.ends_with("Failed requests")) run.failed = number_or_none(value);
    if (label.ends_with("Total input tokens")) run.prompts = number_or_none(value);
    if (label.ends_with("Total generated tokens")) run.answers = number_or_none(value);
    if (label.ends_with("Backend") && value.starts_with("sglang")) put(run.cells, "engine", "SGLang");
}

CellRow row_of_print(PrintedRun const& run, ImportRequest const& request) {
    if (!(run.done >= 1)) throw RowSkip("a run without completed requests");
    constexpr double most_failed = 0.1;
    if (run.failed > most_failed * (run.done + run.failed))
        throw RowSkip("a run of whose requests more than a tenth failed");
    CellRow row = run.cells;
    put_source(row, request, run.is_offline ? "printed by bench_offline_throughput," : "printed by bench_serving,");
    if (run.is_offline) {
        put(row, "engine", "SGLang");
        put(row, "request_rate", "inf");
    }
    if (run.prompts > 0) put(row, "input_len", fmt::format("{:.6g}", run.prompts / run.done));
    if (run.answers > 0) put(row, "output_len", fmt::format("{:.6g}", run.answers / run.done));
    put(row, "notes", fmt::format("num_prompts={:.0f}", run.done + run.failed));
    return row;
}

ImportedTables read_print(std::string_view text, ImportRequest const& request) {
    std::string const plain = without_colours(text);
    std::vector<PrintedRun> runs;
    for (std::string_view const line : lines_of(plain)) {
        bool const is_offline = line.find(offline_title) != std::string_view::npos;
        if (line.find(print_title) != std::string_view::npos || is_offline) runs.push_back({.is_offline = is_offline});
        if (!runs.empty()) add_print_line(line, runs.back());
    }
    if (runs.empty()) throw InputError("{}: has no '... Benchmark Result'", request.name);
    ImportedTables out;
    for (PrintedRun const& run : runs)
        out.or_skip([&] { out.add_load(row_of_print(run, request), request); });
    return out;
}

}  // namespace

extern constinit Importer const bench_print_importer;
constinit Importer const bench_print_importer{
    .name = "bench-print",
    .summary = "what vllm bench serve and SGLang's benchmarks print at their end: a row of a served load for each",
    .source =
        "github.com/vllm-project/vllm vllm/benchmarks/serve.py; sgl-project/sglang python/sglang/bench_serving.py, "
        "bench_offline_throughput.py",
    .recognises = recognises_print,
    .read = read_print,
};

}  // namespace sextant
