// Results of `vllm bench serve --save-result` (and its benchmark_serving.py) and of SGLang's bench_serving
// --output-file: a JSON object a run, SGLang's one a line. Times are means over the requests.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sextant {
namespace {

using Json = nlohmann::json;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool recognises(std::string_view text) {
    auto const begin = text.find_first_not_of(" \t\r\n");
    return begin != std::string_view::npos && text[begin] == '{' && has(text, "\"output_throughput\"") &&
           has(text, "\"mean_ttft_ms\"");
}

/// Words and numbers as text; empty where there is none.
std::string text_in(Json const& run, char const* key) {
    auto const found = run.find(key);
    if (found == run.end() || found->is_null()) return "";
    if (found->is_number_float()) return fmt::format("{:.7g}", found->get<double>());
    return found->is_string() ? found->get<std::string>() : found->is_number() ? found->dump() : "";
}

std::optional<double> number_in(Json const& run, char const* key) {
    auto const found = run.find(key);
    if (found == run.end() || !found->is_number()) return std::nullopt;
    double const value = found->get<double>();
    return std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

/// The first that is there.
std::string first_in(Json const& run, std::initializer_list<char const*> keys) {
    for (char const* key : keys)
        if (std::string text = text_in(run, key); !text.empty()) return text;
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
    auto const tokens = number_in(run, total);
    if (!tokens) return "";
    double mean = *tokens / done;
    auto const wanted = number_in(run, asked);
    bool const is_random = text_in(run, "dataset_name").starts_with("random");
    constexpr double few = 0.005;  // assumed, of the tokens
    if (is_random && wanted && number_in(run, "random_range_ratio") == 1 && std::abs(mean - *wanted) <= few * *wanted)
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
    if (!row.contains("model")) put(row, "model", text_in(server, "model_path"));
    put(row, "engine_version", text_in(server, "version"));
    if (number_in(server, "dp_size").value_or(1) > 1) return;
    put(row, "tp", text_in(server, "tp_size"));
    put(row, "pp", text_in(server, "pp_size"));
}

/// Whether the engine guessed tokens ahead: vLLM's client adds its figures, SGLang's how many a step accepts.
bool has_drafts(Json const& run) {
    if (number_in(run, "accept_length").value_or(1) > 1) return true;
    if (!text_in(server_in(run), "speculative_algorithm").empty()) return true;
    return std::any_of(run.items().begin(), run.items().end(), [](auto const& item) {
        return std::string_view(item.key()).starts_with("spec_decode") && !item.value().is_null();
    });
}

CellRow row_of(Json const& run, ImportRequest const& request) {
    if (!run.is_object()) throw RowSkip("is no result of a run");
    double const done = number_in(run, "completed").value_or(0);
    double const sent = number_in(run, "num_prompts").value_or(done);
    if (done < 1) throw RowSkip("a run without completed requests");
    constexpr double enough = 0.9;
    if (done < enough * sent) throw RowSkip("a run of whose requests more than a tenth failed");
    CellRow row;
    put_source(row, request, "bench_serving");
    put(row, "model", first_in(run, {"model_id", "model"}));
    put(row, "engine", engine_of(first_in(run, {"backend", "endpoint_type"})));
    put_server(server_in(run), row);
    put(row, "concurrency_or_batch", text_in(run, "max_concurrency"));
    put(row, "request_rate", text_in(run, "request_rate"));
    put(row, "input_len", length_of(run, "total_input_tokens", "input_lens", "random_input_len", done));
    put(row, "output_len", length_of(run, "total_output_tokens", "output_lens", "random_output_len", done));
    put(row, "output_tokens_per_s", text_in(run, "output_throughput"));
    put(row, "total_tokens_per_s", first_in(run, {"total_token_throughput", "total_throughput"}));
    put(row, "requests_per_s", text_in(run, "request_throughput"));
    put(row, "ttft_ms", text_in(run, "mean_ttft_ms"));
    put(row, "tpot_ms", text_in(run, "mean_tpot_ms"));
    put(row, "itl_ms", text_in(run, "mean_itl_ms"));
    put(row, "e2e_latency_ms", first_in(run, {"mean_e2el_ms", "mean_e2e_latency_ms"}));
    std::string notes = fmt::format("num_prompts={:.0f}", sent);
    if (auto const dataset = text_in(run, "dataset_name"); !dataset.empty()) notes += "; " + dataset;
    if (has_drafts(run)) notes += "; speculative decoding";
    put(row, "notes", notes);
    return row;
}

void add(Json const& run, ImportRequest const& request, ImportedTables& out) {
    out.or_skip([&] { out.add_load(row_of(run, request), request); });
}

/// Python writes numbers that are none as words, which JSON has not: a request rate without a limit is Infinity.
std::string without_words_of_python(std::string_view text) {
    std::string out(text);
    for (auto const& [word, json] : {std::pair{": Infinity", ": \"inf\""}, std::pair{": NaN", ": null"}})
        for (auto at = out.find(word); at != std::string::npos; at = out.find(word, at))
            out.replace(at, std::string_view(word).size(), json);
    return out;
}

ImportedTables read(std::string_view written, ImportRequest const& request) {
    std::string const mended = without_words_of_python(written);
    std::string_view const text = mended;
    ImportedTables out;
    if (Json const whole = Json::parse(text, nullptr, false); !whole.is_discarded()) {
        add(whole, request, out);
        return out;
    }
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = std::min(text.find('\n', begin), text.size());
        std::string_view const line = trimmed(text.substr(begin, end - begin), " \t\r");
        begin = end + 1;
        if (line.empty()) continue;
        Json const run = Json::parse(line, nullptr, false);
        if (run.is_discarded()) throw no_json(text, request.name);
        add(run, request, out);
    }
    if (out.rows() == 0 && out.skipped.empty()) throw no_json(text, request.name);
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
