#include "planner/validation/serving_row.hpp"

#include "core/text.hpp"

#include <charconv>

namespace sextant {
namespace {

/// The number that follows the `dots`th dot of a version: 6 of "0.6.3" for 1.
std::optional<std::int64_t> number_after_dot(std::string const& version, int dots) {
    std::size_t at = 0;
    for (int i = 0; i < dots; ++i) {
        at = version.find('.', at);
        if (at == std::string::npos) return std::nullopt;
        ++at;
    }
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(version.data() + at, version.data() + version.size(), value);
    if (error != std::errc{}) return std::nullopt;
    return value;
}

}  // namespace

bool ServingRow::notes_have(std::string_view word) const { return lower_case(notes).find(word) != std::string::npos; }

std::optional<std::int64_t> ServingRow::noted(std::string_view word) const {
    std::string const text = lower_case(notes);
    auto at = text.find(word);
    if (at == std::string::npos) return std::nullopt;
    at = text.find_first_not_of(" =:", at + word.size());
    if (at == std::string::npos) return std::nullopt;
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc{} || value < 0) return std::nullopt;
    return value;
}

std::optional<std::int64_t> ServingRow::minor_version() const { return number_after_dot(engine_version, 1); }

std::optional<std::int64_t> ServingRow::patch_version() const { return number_after_dot(engine_version, 2); }

std::vector<std::string_view> serving_columns() {
    return {"source_id",
            "source_ref",
            "model",
            "gpu",
            "num_gpus",
            "tp",
            "pp",
            "ep",
            "dp",
            "engine",
            "engine_version",
            "weight_dtype",
            "kv_dtype",
            "input_len",
            "output_len",
            "concurrency_or_batch",
            "request_rate",
            "output_tokens_per_s",
            "total_tokens_per_s",
            "ttft_ms",
            "tpot_ms",
            "itl_ms",
            "e2e_latency_ms",
            "requests_per_s",
            "notes"};
}

ServingRow serving_row(RowCells const& cells) {
    ServingRow row;
    row.source_id = cells.text("source_id");
    row.model = cells.text("model");
    row.gpu = cells.text("gpu");
    row.num_gpus = cells.count("num_gpus");
    row.tp = cells.count("tp");
    row.pp = cells.count("pp");
    row.ep = cells.count("ep");
    row.dp = cells.count("dp");
    row.engine = cells.text("engine");
    row.engine_version = cells.text("engine_version");
    row.weight_dtype = cells.text("weight_dtype");
    row.kv_dtype = cells.text("kv_dtype");
    row.input_len = cells.number("input_len");
    row.output_len = cells.number("output_len");
    row.concurrency = cells.number("concurrency_or_batch");
    std::string const rate = lower_case(cells.text("request_rate"));
    row.unlimited_rate = rate == "inf" || rate == "infinity" || rate == "infinite";
    row.mixed_rate = rate == "mixed";
    if (!row.unlimited_rate && !row.mixed_rate) row.request_rate = cells.number("request_rate");
    row.output_tokens_per_s = cells.number("output_tokens_per_s");
    row.ttft_ms = cells.number("ttft_ms");
    row.tpot_ms = cells.number("tpot_ms");
    if (!row.tpot_ms) row.tpot_ms = cells.number("itl_ms");
    row.e2e_ms = cells.number("e2e_latency_ms");
    row.algorithm = cells.text("algorithm");
    row.notes = cells.text("notes");
    return row;
}

}  // namespace sextant
