// What trtllm-bench writes with --report_json: one JSON object of the engine, its ranks, the requests and the times. It
// does not say how many requests were let in at a time, only how many were there on the mean.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "core/json/foreign_fields.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace sextant {
namespace {

using Json = nlohmann::json;

bool recognises_report(std::string_view text) {
    auto const begin = text.find_first_not_of(" \t\r\n");
    return begin != std::string_view::npos && text[begin] == '{' &&
           text.find("\"system_output_throughput_tok_s\"") != std::string_view::npos &&
           text.find("\"request_info\"") != std::string_view::npos;
}

/// The fields of one part of a report.
class ReportPart {
public:
    ReportPart(Json const& report, char const* part) {
        if (auto const found = report.find(part); found != report.end() && found->is_object()) fields_ = &*found;
    }

    [[nodiscard]] std::string text(char const* key) const {
        Json const* const value = at(key);
        return value != nullptr && value->is_string() ? value->get<std::string>() : "";
    }
    [[nodiscard]] std::optional<double> number(char const* key) const {
        Json const* const value = at(key);
        if (value == nullptr || !value->is_number()) return std::nullopt;
        double const number = value->get<double>();
        return std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
    }
    /// As a cell; empty where it is no number, or not above zero.
    [[nodiscard]] std::string cell(char const* key) const {
        double const value = number(key).value_or(0);
        return value > 0 ? fmt::format("{:.7g}", value) : "";
    }

private:
    [[nodiscard]] Json const* at(char const* key) const {
        if (fields_ == nullptr) return nullptr;
        auto const found = fields_->find(key);
        return found == fields_->end() ? nullptr : &*found;
    }

    Json const* fields_ = nullptr;
};

/// Where half of all requests are there on the mean they were sent at once: each waits for its place from the
/// beginning. Else as many are let in as there are on the mean (assumed).
void put_load(ReportPart const& requests, CellRow& row) {
    double const sent = requests.number("num_requests").value_or(0);
    double const together = requests.number("avg_num_concurrent_requests").value_or(0);
    if (sent < 1) throw RowSkip("a run without completed requests");
    if (together > sent / 2)
        put(row, "request_rate", "inf");
    else if (together > 0)
        put(row, "concurrency_or_batch", fmt::format("{:.0f}", std::max(1.0, std::round(together))));
}

std::string notes_of(Json const& report, ReportPart const& requests, ReportPart const& world) {
    std::string notes = fmt::format("num_prompts={:.0f}", requests.number("num_requests").value_or(0));
    if (auto const tokens = world.cell("max_num_tokens"); !tokens.empty())
        notes += "; max_num_batched_tokens=" + tokens;
    if (auto const batch = world.cell("max_batch_size"); !batch.empty()) notes += "; max_num_seqs=" + batch;
    auto const drafts = report.find("decoding_stats");
    if (drafts != report.end() && drafts->is_object() && !drafts->empty()) notes += "; speculative decoding";
    return notes;
}

CellRow report_row(Json const& report, ImportRequest const& request) {
    ReportPart const engine(report, "engine"), world(report, "world_info"), requests(report, "request_info"),
        times(report, "performance"), streamed(report, "streaming_metrics"), machine(report, "machine");
    CellRow row;
    put_source(row, request, "trtllm-bench", machine.text("name"));
    put(row, "model", engine.text("model"));
    put(row, "engine", "TensorRT-LLM");
    put(row, "engine_version", engine.text("version"));
    std::string const stored = engine.text("dtype");
    std::string const weights = engine.text("quantization"), cache = engine.text("kv_cache_dtype");
    put(row, "weight_dtype", weights.empty() || weights == "NO_QUANT" ? stored : weights);
    put(row, "kv_dtype", cache.empty() ? stored : cache);
    put(row, "num_gpus", world.cell("world_size"));
    put(row, "tp", world.cell("tp_size"));
    put(row, "pp", world.cell("pp_size"));
    put(row, "ep", world.cell("ep_size"));
    put_load(requests, row);
    put(row, "input_len", requests.cell("avg_input_length"));
    put(row, "output_len", requests.cell("avg_output_length"));
    put(row, "output_tokens_per_s", times.cell("system_output_throughput_tok_s"));
    put(row, "total_tokens_per_s", times.cell("system_total_throughput_tok_s"));
    put(row, "requests_per_s", times.cell("request_throughput_req_s"));
    put(row, "e2e_latency_ms", times.cell("avg_request_latency_ms"));
    put(row, "ttft_ms", streamed.cell("avg_ttft_ms"));
    put(row, "tpot_ms", streamed.cell("avg_tpot_ms"));
    put(row, "notes", notes_of(report, requests, world));
    return row;
}

ImportedTables read_report(std::string_view text, ImportRequest const& request) {
    Json const report = Json::parse(text, nullptr, false);
    if (report.is_discarded()) throw no_json(text, request.name);
    if (!report.is_object()) throw InputError("{}: is no report of trtllm-bench", request.name);
    ImportedTables out;
    out.or_skip([&] { out.add_load(report_row(report, request), request); });
    return out;
}

}  // namespace

extern constinit Importer const trtllm_bench_importer;
constinit Importer const trtllm_bench_importer{
    .name = "trtllm-bench",
    .summary = "a report of trtllm-bench --report_json: a row of a served load",
    .source = "github.com/NVIDIA/TensorRT-LLM tensorrt_llm/bench/dataclasses/reporting.py",
    .recognises = recognises_report,
    .read = read_report,
};

}  // namespace sextant
