#include "planner/validation/serving_row.hpp"

#include "core/is_one_of.hpp"
#include "core/text.hpp"
#include "core/words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

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

/// A whole number above zero that begins at `at`.
std::optional<std::int64_t> number_at(std::string_view text, std::size_t at) {
    if (at >= text.size()) return std::nullopt;
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    return error == std::errc{} && value > 0 ? std::optional(value) : std::nullopt;
}

/// Where a version begins: digits, a point and digits, behind no letter but the v of one, nor a digit; npos.
std::size_t version_at(std::string_view text) {
    for (std::size_t at = 1; at + 1 < text.size(); ++at) {
        if (text[at] != '.' || !is_digit(text[at - 1]) || !is_digit(text[at + 1])) continue;
        std::size_t begin = at;
        while (begin > 0 && is_digit(text[begin - 1]))
            --begin;
        bool const is_marked = begin > 0 && (text[begin - 1] == 'v' || text[begin - 1] == 'V');
        std::size_t const before = is_marked ? begin - 1 : begin;
        if (before == 0 || !(is_letter(text[before - 1]) || is_digit(text[before - 1]) || text[before - 1] == '.'))
            return begin;
    }
    return std::string_view::npos;
}

/// "v0.6.0" and "release 0.6.0" are "0.6.0"; what has no number stays.
std::string plain_version(std::string const& text) {
    auto const at = version_at(text);
    return at == std::string::npos ? text : text.substr(at);
}

/// Takes the version out of an engine's name: "vLLM 0.6.0", "vllm==0.6.0", "vLLM (v0.6.0)". One in a column of its own
/// comes first.
void part_version(ServingRow& row) {
    auto const at = version_at(row.engine);
    if (at == std::string::npos || at < 2) return;
    std::size_t const end = std::min(row.engine.find_first_of(" ,;)/", at), row.engine.size());
    if (row.engine_version.empty()) row.engine_version = row.engine.substr(at, end - at);
    std::size_t const mark = row.engine[at - 1] == 'v' || row.engine[at - 1] == 'V' ? at - 1 : at;
    std::string_view const name = std::string_view(row.engine).substr(0, mark);
    std::string parted(name.substr(0, name.find_last_not_of(" \t=-_@:(") + 1));
    std::string_view const rest = trimmed(std::string_view(row.engine).substr(end), " \t,;)");
    if (!rest.empty()) parted += " " + std::string(rest);
    row.engine = std::move(parted);
}

/// Requests a second, with or without the unit, all at once, or several of them.
void read_rate(RowCells const& cells, ServingRow& row) {
    constexpr std::array at_once{"inf", "infinity", "infinite", "unlimited", "max", "offline"};
    constexpr std::array units{"requests/s", "request/s", "reqs/s", "req/s", "req/sec", "rps", "qps", "r/s", "/s"};
    std::string const rate = lower_case(cells.text("request_rate"));
    row.unlimited_rate = is_one_of(at_once, rate);
    row.mixed_rate = rate == "mixed";
    if (row.unlimited_rate || row.mixed_rate) return;
    for (std::string_view const unit : units) {
        if (rate.size() <= unit.size() || !rate.ends_with(unit)) continue;
        std::string problem;
        auto const number =
            number_in(std::string_view(rate).substr(0, rate.size() - unit.size()), "request_rate", problem);
        if (!problem.empty()) continue;
        row.request_rate = number;
        return;
    }
    row.request_rate = cells.number("request_rate");
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

std::optional<std::int64_t> ServingRow::prompts_sent() const {
    std::string text = lower_case(notes);
    for (auto at = text.find(','); at != std::string::npos; at = text.find(',', at + 1))  // "1,000"
        if (at > 0 && is_digit(text[at - 1]) && at + 3 < text.size() && is_digit(text[at + 1]) &&
            is_digit(text[at + 2]) && is_digit(text[at + 3]))
            text.erase(at, 1);
    for (std::string_view const option : {"num_prompts", "num-prompts", "num prompts"})
        if (auto const at = text.find(option); at != std::string::npos)
            if (auto const number = number_at(text, text.find_first_not_of(" =:", at + option.size()))) return number;
    for (auto at = find_word(text, "prompts"); at != std::string::npos; at = find_word(text, "prompts", at + 1)) {
        std::string_view const behind = trimmed(std::string_view(text).substr(at + std::string_view("prompts").size()));
        std::string_view const before = trimmed(std::string_view(text).substr(0, at));
        auto const digits = before.find_last_not_of("0123456789") + 1;
        std::string_view const ahead = trimmed(before.substr(0, digits));
        bool const is_whole =
            digits == 0 || before[digits - 1] == ' ' || before[digits - 1] == ';' || before[digits - 1] == '(';
        bool const is_part = behind.starts_with("x ") || behind.starts_with('/') || behind.starts_with("per ") ||
                             ahead == "x" || ahead.ends_with(" x");
        if (is_whole && !is_part)
            if (auto const number = number_at(before, digits)) return number;
    }
    return std::nullopt;
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
    row.engine_version = plain_version(cells.text("engine_version"));
    if (is_blank_cell(row.engine_version)) row.engine_version.clear();
    part_version(row);
    row.weight_dtype = cells.text("weight_dtype");
    row.kv_dtype = cells.text("kv_dtype");
    row.input_len = cells.number("input_len");
    row.output_len = cells.number("output_len");
    row.concurrency = cells.number("concurrency_or_batch");
    read_rate(cells, row);
    row.output_tokens_per_s = cells.number("output_tokens_per_s");
    row.total_tokens_per_s = cells.number("total_tokens_per_s");
    row.requests_per_s = cells.number("requests_per_s");
    row.ttft_ms = cells.number("ttft_ms");
    row.tpot_ms = cells.number("tpot_ms");
    if (!row.tpot_ms) row.tpot_ms = cells.number("itl_ms");
    row.e2e_ms = cells.number("e2e_latency_ms");
    row.algorithm = cells.text("algorithm");
    row.notes = cells.text("notes");
    return row;
}

}  // namespace sextant
