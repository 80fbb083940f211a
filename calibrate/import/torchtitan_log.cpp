// What torchtitan's training prints: "step: 10  loss: 8.1  memory: 40.2GiB(50.8%)  tps: 7,000  tflops: ...  mfu: ..."
// and, when it starts, the device, the model, the mesh of ranks and the batch. `tps` is of one accelerator, the memory
// the largest that was reserved.
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
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool recognises(std::string_view text) {
    auto const at = text.find("tps:");
    if (at == std::string_view::npos) return false;
    auto const line = text.rfind('\n', at) + 1;  // 0 of the first one
    std::string_view const before = text.substr(line, at - line);
    return has(before, "step:") && has(before, "loss:") && has(before, "memory:");
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

struct Run {
    CellRow cells;
    std::vector<LoggedIterations> steps;
    double peak_gib = 0;
};

void add_line(std::string_view line, Run& run) {
    CellRow& cells = run.cells;
    put_torchtitan_mesh(line, cells);
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
    if (has(line, "activation checkpointing"))
        put(cells, "recompute", between(line, "Applied ", " activation checkpointing"));
    if (has(line, "Swapped to Float8")) put(cells, "precision", "fp8");
    if (has(line, "Swapped to MXLinear")) put(cells, "precision", "mxfp8");
    double const rate = number_behind(line, "tps:");
    auto const step = static_cast<std::int64_t>(number_behind(line, "step:"));
    if (!(rate > 0) || step < 1) return;
    std::int64_t const before = run.steps.empty() ? 0 : run.steps.back().last;
    run.steps.push_back({.last = step, .count = std::max<std::int64_t>(1, step - before), .figure = rate});
    run.peak_gib = std::max(run.peak_gib, number_behind(line, "memory:"));
}

ImportedTables read(std::string_view text, ImportRequest const& request) {
    std::string const plain = without_colours(text);
    Run run;
    for (std::size_t begin = 0; begin < plain.size();) {
        std::size_t const end = std::min(plain.find('\n', begin), plain.size());
        add_line(std::string_view(plain).substr(begin, end - begin), run);
        begin = end + 1;
    }
    if (run.steps.empty()) throw InputError("{}: has no steps of torchtitan", request.name);
    ImportedTables out;
    try {
        CellRow& row = run.cells;
        put(row, "source_id", "log " + request.name.substr(request.name.rfind('/') + 1));
        put(row, "source_ref", source_of(request, "torchtitan's log " + request.name));
        put(row, "gpu", device_of(request, row.contains("gpu") ? row["gpu"] : ""));
        put(row, "framework", "torchtitan");
        if (!row.contains("precision")) put(row, "precision", "bf16");
        if (!row.contains("recompute")) put(row, "recompute", "none");
        put(row, "tokens_per_s_per_gpu", fmt::format("{:.6g}", steady_figure(run.steps)));
        if (run.peak_gib > 0) put(row, "peak_mem_gb_per_gpu", fmt::format("{:.6g}", 1e-9 * 0x1p30 * run.peak_gib));
        out.add_step(std::move(row), request);
    } catch (RowSkip const& skip) {
        count_skip(out.skipped, skip);
    }
    return out;
}

}  // namespace

extern constinit Importer const torchtitan_importer;
constinit Importer const torchtitan_importer{
    .name = "torchtitan-log",
    .summary = "what torchtitan's training prints: a row of a training step",
    .source = "github.com/pytorch/torchtitan torchtitan/train.py, components/metrics.py, distributed/parallel_dims.py",
    .recognises = recognises,
    .read = read,
};

}  // namespace sextant
