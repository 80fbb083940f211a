// Results of `vllm bench serve --save-result` (and its benchmark_serving.py) and of SGLang's bench_serving
// --output-file: a JSON object a run, SGLang's one a line. Times are means over the requests.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "core/json/foreign_fields.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace sextant {
namespace {

using Json = nlohmann::json;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool recognises(std::string_view text) {
    auto const begin = text.find_first_not_of(" \t\r\n");
    return begin != std::string_view::npos && text[begin] == '{' && has(text, "\"output_throughput\"") &&
           has(text, "\"mean_ttft_ms\"");
}

/// The first that is there.
std::string first_in(Json const& run, std::initializer_list<char const*> keys) {
    for (char const* key : keys)
        if (std::string text = foreign_text(run, key); !text.empty()) return text;
    return "";
}

/// Which engine a client was written for; of an OpenAI interface nobody knows what is behind it.
std::string engine_of(std::string_view backend) {
    std::string const name = lower_case(backend);
    if (name.starts_with("vllm")) return "vLLM";
    if (name.starts_with("sglang") || name == "srt") return "SGLang";
    return name.starts_with("trt") || name.starts_with("tensorrt") ? "TensorRT-LLM" : "";
}

/// The length that the lists of a run with all its requests give every one of them (0: a request that failed).
std::optional<double> one_length(Json const& run, char const* key) {
    auto const found = run.find(key);
    if (found == run.end() || !found->is_array()) return std::nullopt;
    std::optional<double> length;
    for (Json const& item : *found) {
        if (!item.is_number() || (length && item.get<double>() != 0 && item.get<double>() != *length))
            return std::nullopt;
        if (item.get<double>() > 0) length = item.get<double>();
    }
    return length;
}

/// Tokens of a prompt or an answer: the mean, or the length that all were to have where the run says so and the mean is
/// that but for a few requests. SGLang's client draws lengths from `random_range_ratio` of the stated one to all of it.
std::string length_of(Json const& run, char const* total, char const* list, char const* asked, double done) {
    auto const tokens = foreign_number(run, total);
    if (!tokens) return "";
    double mean = *tokens / done;
    auto const wanted = foreign_number(run, asked);
    bool const is_random = foreign_text(run, "dataset_name").starts_with("random");
    constexpr double few = 0.005;  // assumed, of the tokens
    if (is_random && wanted && foreign_number(run, "random_range_ratio") == 1 &&
        std::abs(mean - *wanted) <= few * *wanted)
        mean = *wanted;
    if (auto const length = one_length(run, list); length && std::abs(mean - *length) <= few * *length) mean = *length;
    return fmt::format("{:.6g}", mean);
}

/// What the server said of itself when SGLang's client asked it; an empty object where it did not.
Json const& server_in(Json const& run) {
    static Json const none = Json::object();
    auto const found = run.find("server_info");
    return found != run.end() && found->is_object() ? *found : none;
}

/// SGLang's server, but for its ranks where there are several of data parallelism: they may share these ranks or not.
void put_server(Json const& server, CellRow& row) {
    if (!row.contains("model")) put(row, "model", foreign_text(server, "model_path"));
    put(row, "engine_version", foreign_text(server, "version"));
    if (foreign_number(server, "dp_size").value_or(1) > 1) return;
    put(row, "tp", foreign_text(server, "tp_size"));
    put(row, "pp", foreign_text(server, "pp_size"));
}

/// Whether the engine guessed tokens ahead: vLLM's client adds its figures, SGLang's how many a step accepts.
bool has_drafts(Json const& run) {
    if (foreign_number(run, "accept_length").value_or(1) > 1) return true;
    if (!foreign_text(server_in(run), "speculative_algorithm").empty()) return true;
    return std::any_of(run.items().begin(), run.items().end(), [](auto const& item) {
        return std::string_view(item.key()).starts_with("spec_decode") && !item.value().is_null();
    });
}

CellRow row_of(Json const& run, ImportRequest const& request) {
    if (!run.is_object()) throw RowSkip("is no result of a run");
    double const done = foreign_number(run, "completed").value_or(0);
    double const sent = foreign_number(run, "num_prompts").value_or(done);
    if (done < 1) throw RowSkip("a run without completed requests");
    constexpr double enough = 0.9;
    if (done < enough * sent) throw RowSkip("a run of whose requests more than a tenth failed");
    CellRow row;
    put_source(row, request, "bench_serving");
    put(row, "model", first_in(run, {"model_id", "model"}));
    put(row, "engine", engine_of(first_in(run, {"backend", "endpoint_type"})));
    put_server(server_in(run), row);
    put(row, "concurrency_or_batch", foreign_text(run, "max_concurrency"));
    put(row, "request_rate", foreign_text(run, "request_rate"));
    put(row, "input_len", length_of(run, "total_input_tokens", "input_lens", "random_input_len", done));
    put(row, "output_len", length_of(run, "total_output_tokens", "output_lens", "random_output_len", done));
    put(row, "output_tokens_per_s", foreign_text(run, "output_throughput"));
    put(row, "total_tokens_per_s", first_in(run, {"total_token_throughput", "total_throughput"}));
    put(row, "requests_per_s", foreign_text(run, "request_throughput"));
    put(row, "ttft_ms", foreign_text(run, "mean_ttft_ms"));
    put(row, "tpot_ms", foreign_text(run, "mean_tpot_ms"));
    put(row, "itl_ms", foreign_text(run, "mean_itl_ms"));
    put(row, "e2e_latency_ms", first_in(run, {"mean_e2el_ms", "mean_e2e_latency_ms"}));
    std::string notes = fmt::format("num_prompts={:.0f}", sent);
    if (auto const dataset = foreign_text(run, "dataset_name"); !dataset.empty()) notes += "; " + dataset;
    if (has_drafts(run)) notes += "; speculative decoding";
    put(row, "notes", notes);
    return row;
}

ImportedTables read(std::string_view text, ImportRequest const& request) {
    ImportedTables out;
    for (Json const& run : foreign_documents(text, request.name))
        out.or_skip([&] { out.add_load(row_of(run, request), request); });
    return out;
}

}  // namespace

extern constinit Importer const bench_serving_importer;
constinit Importer const bench_serving_importer{
    .name = "bench-serving",
    .summary = "results of vllm bench serve and SGLang's bench_serving: a row of a served load for each run",
    .source =
        "github.com/vllm-project/vllm vllm/benchmarks/serve.py; sgl-project/sglang python/sglang/bench_serving.py",
    .recognises = recognises,
    .read = read,
};

}  // namespace sextant
