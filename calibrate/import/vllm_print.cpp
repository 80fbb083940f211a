// What `vllm bench throughput` and `vllm bench latency` print: the engine's "Initializing a V1 LLM engine (v0.11.0)
// with config: model='...', ..., tensor_parallel_size=2, ..." and, at the end, "Throughput: 12.34 requests/s, 5678.90
// total tokens/s, 1234.56 output tokens/s" with the tokens of all prompts and answers below, or "Avg latency: 1.23
// seconds". Earlier releases print their arguments as well ("Namespace(input_len=32, output_len=128, ...)").
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/log_line.hpp"
#include "calibrate/import/offline_load.hpp"
#include "core/error.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {
namespace {

bool line_has(std::string_view line, std::string_view part) { return line.find(part) != std::string_view::npos; }

bool is_throughput_line(std::string_view line) {
    return line_has(line, "Throughput: ") && line_has(line, " requests/s, ") && line_has(line, " tokens/s");
}

bool is_latency_line(std::string_view line) { return line_has(line, "Avg latency: ") && line_has(line, " seconds"); }

bool recognises_vllm_print(std::string_view text) {
    for (std::string_view const words : {"Throughput: ", "Avg latency: "})
        if (auto const at = text.find(words); at != std::string_view::npos) {
            std::string_view const line = text.substr(at, text.find('\n', at) - at);
            if (is_throughput_line(line)) return true;
            if (is_latency_line(line) && line_has(text, "% percentile latency: ")) return true;
        }
    return false;
}

/// The value of "name=value" or "name='value'" in a list of such; empty where it is not there, or None.
std::string engine_setting(std::string_view line, std::string const& name) {
    for (char const before : {' ', '(', ','}) {
        auto const at = line.find(before + name + "=");
        if (at == std::string_view::npos) continue;
        std::string_view value = line.substr(at + name.size() + 2);
        bool const is_quoted = value.starts_with('\'') || value.starts_with('"');
        std::string const end = is_quoted ? std::string(1, value.front()) : ",)";
        if (is_quoted) value.remove_prefix(1);
        value = value.substr(0, value.find_first_of(end));
        return value == "None" ? "" : std::string(value);
    }
    return "";
}

/// What the engine says of itself, for the runs that follow.
struct PrintedEngine {
    CellRow cells{};
    double batch = 0, prompt = 0, answer = 0;  ///< of the program's arguments; 0: not said
    bool drafts = false;
};

void add_engine_line(std::string_view line, PrintedEngine& engine) {
    CellRow& cells = engine.cells;
    put(cells, "model", engine_setting(line, "model"));
    auto const version = line.find(" LLM engine (v");
    if (version != std::string_view::npos) {
        std::string_view const rest = line.substr(version + std::string_view(" LLM engine (v").size());
        put(cells, "engine_version", std::string(rest.substr(0, rest.find(')'))));
    }
    constexpr std::array degrees{std::pair{"tensor_parallel_size", "tp"}, std::pair{"pipeline_parallel_size", "pp"},
                                 std::pair{"data_parallel_size", "dp"}};
    for (auto const& [name, column] : degrees)
        put(cells, column, engine_setting(line, name));
    std::string const stored = engine_setting(line, "dtype"), quantised = engine_setting(line, "quantization");
    if (!quantised.empty())
        put(cells, "weight_dtype", quantised);
    else if (stored != "auto")
        put(cells, "weight_dtype", stored.starts_with("torch.") ? stored.substr(6) : stored);
    put(cells, "kv_dtype", engine_setting(line, "kv_cache_dtype"));
    if (!engine_setting(line, "speculative_config").empty()) engine.drafts = true;
    for (auto const& [name, figure] : {std::pair{"batch_size", &engine.batch}, std::pair{"input_len", &engine.prompt},
                                       std::pair{"output_len", &engine.answer}})
        if (double value = 0; is_number(std::string_view(engine_setting(line, name)), value)) *figure = value;
}

/// One figure at the end of a run.
struct PrintedOffline {
    PrintedEngine engine;
    bool is_latency = false;
    double requests_per_s = 0, tokens_per_s = 0;  ///< of prompts and answers
    double prompts = 0, answers = 0;              ///< tokens of all
    double sent = 0;                              ///< requests, where the progress bar says them
    double seconds = 0;                           ///< of a batch
};

/// The number before these words ("12.34 requests/s"); 0 where there is none.
double figure_before(std::string_view line, std::string_view words) {
    auto const at = line.find(words);
    if (at == std::string_view::npos) return 0;
    std::string_view const before = line.substr(0, at);
    auto const begin = before.find_last_of(' ');
    double value = 0;
    return is_number(before.substr(begin == std::string_view::npos ? 0 : begin + 1), value) && value > 0 ? value : 0;
}

/// "Processed prompts: 100%|###| 1000/1000 [...": how many there were.
double processed_prompts(std::string_view line) {
    auto const bar = line.rfind('|');
    if (!line_has(line, "Processed prompts: 100%") || bar == std::string_view::npos) return 0;
    auto const of = line.find('/', bar);
    double prompts = 0;
    if (of == std::string_view::npos) return 0;
    std::string_view const rest = line.substr(of + 1);
    return is_number(rest.substr(0, rest.find(' ')), prompts) ? prompts : 0;
}

/// The number of requests from the rate and the time that the tokens took, where the digits of the rate suffice.
double requests_of(PrintedOffline const& run) {
    double const seconds = (run.prompts + run.answers) / run.tokens_per_s;
    constexpr double last_digit = 0.005;
    double const requests = std::round(run.requests_per_s * seconds);
    if (requests >= 1 && last_digit * seconds < 0.5) return requests;
    if (run.sent >= 1) return run.sent;
    throw RowSkip("how many requests there were does not follow from a rate of so few digits (--output-json says it)");
}

CellRow row_of_printed(PrintedOffline const& run, ImportRequest const& request) {
    CellRow row;
    if (run.is_latency) {
        row = row_of_one_batch({.engine = "vLLM",
                                .wrote = "printed by vllm bench latency,",
                                .seconds = run.seconds,
                                .batch = run.engine.batch,
                                .prompt = run.engine.prompt,
                                .answer = run.engine.answer},
                               request);
    } else {
        if (!(run.prompts > 0 && run.answers > 0 && run.tokens_per_s > 0))
            throw RowSkip(
                "the tokens of all prompts and answers are not printed ('Total num prompt tokens:'; "
                "--output-json says them together)");
        double const requests = requests_of(run);
        row = row_of_all_at_once({.engine = "vLLM",
                                  .wrote = "printed by vllm bench throughput,",
                                  .requests = requests,
                                  .seconds = requests / run.requests_per_s,
                                  .all_tokens = run.prompts + run.answers,
                                  .prompt_tokens = run.prompts},
                                 request);
    }
    row.insert(run.engine.cells.begin(), run.engine.cells.end());
    if (run.engine.drafts) put(row, "notes", row["notes"] + "; speculative decoding");
    return row;
}

void add_vllm_line(std::string_view line, PrintedEngine& engine, double& sent, std::vector<PrintedOffline>& runs) {
    if (line_has(line, " LLM engine (v") || line_has(line, "Namespace(")) add_engine_line(line, engine);
    if (double const prompts = processed_prompts(line); prompts > 0) sent = prompts;
    if (is_throughput_line(line)) {
        bool const is_parted = line_has(line, " total tokens/s");
        runs.push_back({.engine = engine,
                        .requests_per_s = figure_before(line, " requests/s"),
                        .tokens_per_s = figure_before(line, is_parted ? " total tokens/s" : " tokens/s"),
                        .sent = sent});
    } else if (is_latency_line(line)) {
        runs.push_back(
            {.engine = engine, .is_latency = true, .seconds = figure_behind(line, "Avg latency").value_or(0)});
    }
    if (runs.empty()) return;
    if (auto const tokens = figure_behind(line, "Total num prompt tokens")) runs.back().prompts = *tokens;
    if (auto const tokens = figure_behind(line, "Total num output tokens")) runs.back().answers = *tokens;
}

ImportedTables read_vllm_print(std::string_view text, ImportRequest const& request) {
    std::string const plain = without_colours(text);
    PrintedEngine engine;
    double sent = 0;
    std::vector<PrintedOffline> runs;
    for (std::string_view const line : lines_of(plain))
        add_vllm_line(line, engine, sent, runs);
    if (runs.empty()) throw InputError("{}: has no result of vllm bench throughput or latency", request.name);
    ImportedTables out;
    for (PrintedOffline const& run : runs)
        out.or_skip([&] { out.add_load(row_of_printed(run, request), request); });
    return out;
}

}  // namespace

extern constinit Importer const vllm_print_importer;
constinit Importer const vllm_print_importer{
    .name = "vllm-print",
    .summary = "what vllm bench throughput and latency print: a row of a served load for each",
    .source = "github.com/vllm-project/vllm vllm/benchmarks/throughput.py, latency.py, vllm/v1/engine/core.py",
    .recognises = recognises_vllm_print,
    .read = read_vllm_print,
};

}  // namespace sextant
