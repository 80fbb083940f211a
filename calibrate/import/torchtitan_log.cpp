// What torchtitan's training prints: "step: 10  loss: 8.1  memory: 40.2GiB(50.8%)  tps: 7,000  tflops: ...  mfu: ..."
// and, when it starts, the device, the model, the mesh of ranks and the batch. `tps`, in 2024 `wps`, is of one
// accelerator, the memory the largest that was reserved. Each start is a run, and a row of the table of training steps.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/iteration_times.hpp"
#include "calibrate/import/log_line.hpp"
#include "calibrate/import/torchtitan_mesh.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool recognises(std::string_view text) {
    for (std::string_view const rate : {"tps:", "wps:"}) {
        auto const at = text.find(rate);
        if (at == std::string_view::npos) continue;
        auto const line = text.rfind('\n', at) + 1;  // 0 of the first one
        std::string_view const before = text.substr(line, at - line);
        if (has(before, "step:") && has(before, "loss:") && has(before, "memory:")) return true;
    }
    return false;
}

/// The text between these two; empty where one is missing.
std::string between(std::string_view line, std::string_view before, std::string_view behind) {
    auto const at = line.find(before);
    if (at == std::string_view::npos) return "";
    std::string_view const rest = line.substr(at + before.size());
    auto const end = rest.find(behind);
    return end == std::string_view::npos ? "" : std::string(trimmed(rest.substr(0, end)));
}

/// The number behind these words, also with commas between thousands and a unit behind it; 0 where there is none.
double number_behind(std::string_view line, std::string_view words) {
    auto const at = line.find(words);
    if (at == std::string_view::npos) return 0;
    std::string digits;
    for (char const c : trimmed(line.substr(at + words.size()))) {
        if (c != ',' && c != '.' && (c < '0' || c > '9')) break;
        if (c != ',') digits += c;
    }
    double value = 0;
    constexpr double most = 1e15;
    return is_number(digits, value) && value <= most ? value : 0;
}

struct TitanRun {
    CellRow cells;
    std::vector<LoggedIterations> steps{};
    double peak_gib = 0;
    std::int64_t microbatches = 0;                      ///< that a pipeline cuts a local batch into; 0: no pipeline
    std::map<std::int64_t, std::int64_t> last_steps{};  ///< by rank, whose lines a launcher mixes
};

/// The rank that a launcher puts before a line ("[rank3]:", "[default3]:", "3: "); -1 where none does.
std::int64_t rank_of(std::string_view line) {
    std::string_view tag = line.substr(0, line.find(':'));
    if (tag.starts_with('[') && tag.ends_with(']')) tag = tag.substr(1, tag.size() - 2);
    for (std::string_view const word : {"rank", "default"})
        if (tag.starts_with(word)) tag.remove_prefix(word.size());
    std::int64_t rank = 0;
    return is_number(trimmed(tag), rank) && rank >= 0 ? rank : -1;
}

/// "Using pipeline schedule Interleaved1F1B with 8 microbatches and 4 stages."
void add_schedule(std::string_view line, TitanRun& run) {
    std::string const schedule = between(line, "pipeline schedule ", " with ");
    auto const stages = static_cast<std::int64_t>(number_behind(line, " microbatches and "));
    run.microbatches = static_cast<std::int64_t>(number_behind(line, " with "));
    put(run.cells, "pp_schedule", schedule);
    std::int64_t pp = 0;
    if (auto const found = run.cells.find("pp");
        found != run.cells.end() && is_number(found->second, pp) && pp > 0 && stages % pp == 0 && stages > pp)
        put(run.cells, "vpp", fmt::to_string(stages / pp));
}

void add_start(std::string_view line, TitanRun& run) {
    CellRow& cells = run.cells;
    put_torchtitan_mesh(line, cells);
    if (has(line, "Using pipeline schedule ") && has(line, " microbatches and ")) add_schedule(line, run);
    put(cells, "gpu", between(line, "capacity: ", " with "));
    if (has(line, " total parameters")) put(cells, "model", between(line, "Model ", " size:"));
    if (has(line, "global batch size")) {
        auto const count = [&](std::string_view words) {
            auto const value = static_cast<std::int64_t>(number_behind(line, words));
            return value > 0 ? fmt::to_string(value) : std::string();
        };
        put(cells, "micro_batch", count("local batch size "));
        put(cells, "global_batch_seqs", count("global batch size "));
        put(cells, "seq_len", count("sequence length "));
    }
    if (std::string mode = between(line, "Applied ", " activation checkpointing"); !mode.empty()) {
        if (mode.ends_with("AC")) mode.resize(mode.size() - 2);  // "FullAC", as releases of 2026 have it
        put(cells, "recompute", lower_case(mode));
    }
    if (has(line, "Swapped to Float8")) put(cells, "precision", "fp8");
    if (has(line, "Swapped to MXLinear")) put(cells, "precision", "mxfp8");
}

/// A start behind steps begins a run; steps that fall without one are of the same plan.
void add_line(std::string_view line, std::vector<TitanRun>& runs) {
    bool const starts = has(line, "Starting job:") || names_torchtitan_mesh(line);
    if (starts && !runs.back().steps.empty()) runs.emplace_back();
    add_start(line, runs.back());
    double const rate = std::max(number_behind(line, "tps:"), number_behind(line, "wps:"));
    auto const step = static_cast<std::int64_t>(number_behind(line, "step:"));
    if (!(rate > 0) || step < 1) return;
    std::int64_t const rank = rank_of(line);
    auto const seen = runs.back().last_steps.find(rank);
    if (seen != runs.back().last_steps.end() && step < seen->second) {
        TitanRun again{.cells = runs.back().cells, .microbatches = runs.back().microbatches};
        runs.push_back(std::move(again));
    }
    TitanRun& run = runs.back();
    std::int64_t const before = run.steps.empty() ? 0 : run.steps.back().last;
    run.steps.push_back({.last = step, .count = std::max<std::int64_t>(1, step - before), .figure = rate});
    run.last_steps[rank] = step;
    run.peak_gib = std::max(run.peak_gib, number_behind(line, "memory:"));
}

CellRow row_of(TitanRun const& run, ImportRequest const& request) {
    CellRow row = run.cells;
    put_source(row, request, "torchtitan's log", row.contains("gpu") ? row["gpu"] : "");
    put(row, "framework", "torchtitan");
    if (!row.contains("precision")) put(row, "precision", "bf16");
    if (!row.contains("recompute")) put(row, "recompute", "none");
    if (run.steps.empty()) throw RowSkip("a start of the program without a step");
    std::int64_t local = 0;
    if (auto const batch = row.find("micro_batch");
        run.microbatches > 0 && batch != row.end() && is_number(batch->second, local) && local % run.microbatches == 0)
        batch->second = fmt::to_string(local / run.microbatches);
    put(row, "tokens_per_s_per_gpu", fmt::format("{:.6g}", steady_figure(run.steps)));
    if (run.peak_gib > 0) put(row, "peak_mem_gb_per_gpu", fmt::format("{:.6g}", 1e-9 * 0x1p30 * run.peak_gib));
    return row;
}

ImportedTables read(std::string_view text, ImportRequest const& request) {
    std::string const plain = without_colours(text);
    std::vector<TitanRun> runs(1);
    for (std::size_t begin = 0; begin < plain.size();) {
        std::size_t const end = std::min(plain.find('\n', begin), plain.size());
        add_line(std::string_view(plain).substr(begin, end - begin), runs);
        begin = end + 1;
    }
    if (runs.front().steps.empty()) throw InputError("{}: has no steps of torchtitan", request.name);
    ImportedTables out;
    for (TitanRun const& run : runs)
        out.or_skip([&] { out.add_step(row_of(run, request), request); });
    return out;
}

}  // namespace

extern constinit Importer const torchtitan_importer;
constinit Importer const torchtitan_importer{
    .name = "torchtitan-log",
    .summary = "what torchtitan's training prints: a row of a training step for each start",
    .source = "github.com/pytorch/torchtitan torchtitan/train.py, components/metrics.py, distributed/parallel_dims.py",
    .recognises = recognises,
    .read = read,
};

}  // namespace sextant
