// What offline benchmarks write of an engine without a server: `vllm bench throughput` and `vllm bench latency` with
// --output-json, an object a run; SGLang's bench_one_batch, bench_one_batch_server and bench_offline_throughput with
// --result-filename, one a line. None says the model or its ranks, vLLM's not even the lengths: `--set` gives them.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/offline_load.hpp"
#include "core/json/foreign_fields.hpp"
#include "core/measurements/row_cells.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace sextant {
namespace {

using Json = nlohmann::json;

/// @throws RowSkip where the run does not say it, or says zero.
double offline_figure(Json const& run, char const* key) {
    auto const value = foreign_number(run, key);
    if (!value || !(*value > 0)) throw RowSkip(std::string(key) + " is not stated");
    return *value;
}

double offline_figure_or(Json const& run, char const* key, double otherwise) {
    return foreign_number(run, key).value_or(otherwise);
}

/// vllm bench throughput: {"elapsed_time", "num_requests", "total_num_tokens", "requests_per_second",
/// "tokens_per_second"}, of prompts and answers together.
CellRow vllm_throughput(Json const& run, ImportRequest const& request) {
    return row_of_all_at_once({.engine = "vLLM",
                               .wrote = "vllm bench throughput",
                               .requests = offline_figure(run, "num_requests"),
                               .seconds = offline_figure(run, "elapsed_time"),
                               .all_tokens = offline_figure(run, "total_num_tokens")},
                              request);
}

/// vllm bench latency: {"avg_latency", "std_latency", "latencies", "percentiles"}, seconds of one batch.
CellRow vllm_latency(Json const& run, ImportRequest const& request) {
    return row_of_one_batch(
        {.engine = "vLLM", .wrote = "vllm bench latency", .seconds = offline_figure(run, "avg_latency")}, request);
}

/// bench_one_batch times the prompts and each step by itself, without a scheduler.
CellRow sglang_one_batch(Json const& run, ImportRequest const& request) {
    double const step = offline_figure_or(run, "median_decode_latency", 0);
    return row_of_one_batch({.engine = "SGLang",
                             .wrote = "bench_one_batch",
                             .seconds = offline_figure(run, "total_latency"),
                             .batch = offline_figure(run, "batch_size"),
                             .prompt = offline_figure(run, "input_len"),
                             .answer = offline_figure(run, "output_len"),
                             .first_token = offline_figure(run, "prefill_latency"),
                             .next_token = step},
                            request);
}

/// bench_one_batch_server sends one batch to a server: as many in flight as requests. Later releases say the time to
/// the last of the first tokens ("last_ttft"), which is no mean.
CellRow sglang_server_batch(Json const& run, ImportRequest const& request) {
    if (offline_figure_or(run, "acc_length", 1) > 1) throw RowSkip("speculative decoding is not in these models");
    return row_of_one_batch({.engine = "SGLang",
                             .wrote = "bench_one_batch_server",
                             .seconds = offline_figure(run, "latency"),
                             .batch = offline_figure(run, "batch_size"),
                             .prompt = offline_figure(run, "input_len"),
                             .answer = offline_figure(run, "output_len"),
                             .is_served = true},
                            request);
}

CellRow sglang_throughput(Json const& run, ImportRequest const& request) {
    double const prompts = offline_figure(run, "total_input_tokens"),
                 answers = offline_figure(run, "total_output_tokens");
    return row_of_all_at_once({.engine = "SGLang",
                               .wrote = "bench_offline_throughput",
                               .requests = offline_figure(run, "successful_requests"),
                               .seconds = offline_figure(run, "total_latency"),
                               .all_tokens = prompts + answers,
                               .prompt_tokens = prompts},
                              request);
}

/// A kind of result by fields that it alone has together.
struct OfflineResult {
    std::array<std::string_view, 3> fields;
    CellRow (*row)(Json const& run, ImportRequest const& request);
};

constexpr std::array offline_results{
    OfflineResult{{"elapsed_time", "total_num_tokens", "tokens_per_second"}, vllm_throughput},
    OfflineResult{{"avg_latency", "latencies", "percentiles"}, vllm_latency},
    OfflineResult{{"batch_size", "prefill_latency", "overall_throughput"}, sglang_one_batch},
    OfflineResult{{"batch_size", "latency", "overall_throughput"}, sglang_server_batch},
    OfflineResult{{"successful_requests", "total_latency", "total_output_tokens"}, sglang_throughput},
};

bool recognises_offline_json(std::string_view text) {
    auto const begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || text[begin] != '{') return false;
    return std::any_of(offline_results.begin(), offline_results.end(), [&](OfflineResult const& result) {
        return std::all_of(result.fields.begin(), result.fields.end(), [&](std::string_view field) {
            return text.find("\"" + std::string(field) + "\"") != std::string_view::npos;
        });
    });
}

CellRow offline_row(Json const& run, ImportRequest const& request) {
    for (OfflineResult const& result : offline_results)
        if (std::all_of(result.fields.begin(), result.fields.end(),
                        [&](std::string_view field) { return run.is_object() && run.contains(field); }))
            return result.row(run, request);
    throw RowSkip("is no result of an offline benchmark");
}

ImportedTables read_offline_json(std::string_view text, ImportRequest const& request) {
    ImportedTables out;
    for (Json const& run : foreign_documents(text, request.name))
        out.or_skip([&] { out.add_load(offline_row(run, request), request); });
    return out;
}

}  // namespace

extern constinit Importer const offline_bench_importer;
constinit Importer const offline_bench_importer{
    .name = "offline-bench",
    .summary =
        "results of vllm bench throughput and latency, SGLang's bench_one_batch and bench_offline_throughput: a "
        "row of a served load for each run",
    .source =
        "github.com/vllm-project/vllm vllm/benchmarks/throughput.py, latency.py; sgl-project/sglang "
        "python/sglang/bench_one_batch.py, bench_one_batch_server.py, bench_offline_throughput.py",
    .recognises = recognises_offline_json,
    .read = read_offline_json,
};

}  // namespace sextant
