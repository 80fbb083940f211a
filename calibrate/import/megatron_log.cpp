// What Megatron-LM's training prints: its arguments when it starts, "iteration 10/ 100 | ... | elapsed time per
// iteration (ms): 1234.5 | ... | global batch size: 256 | ..." and, once, the memory of ranks. Each start in a log is a
// run, and a row of the table of training steps.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/iteration_times.hpp"
#include "calibrate/import/log_line.hpp"
#include "calibrate/import/megatron_arguments.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {
namespace {

constexpr std::string_view begins = "-- arguments --";
constexpr std::string_view ends = "-- end of arguments --";
constexpr std::string_view time_field = "elapsed time per iteration (ms):";

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool recognises(std::string_view text) {
    return has(text, time_field) || (has(text, begins) && has(text, "tensor_model_parallel_size"));
}

/// The number behind these words, of at most 1e15.
std::optional<double> number_behind(std::string_view line, std::string_view words) {
    auto const at = line.find(words);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view const rest = trimmed(line.substr(at + words.size()));
    double value = 0;
    constexpr double most = 1e15;
    if (!is_number(rest.substr(0, rest.find_first_of(" \t\r)|/")), value) || !(value >= 0 && value <= most))
        return std::nullopt;
    return value;
}

/// What one start of the program printed.
struct Run {
    MegatronArguments arguments;
    std::vector<LoggedIterations> iterations;
    double peak_gb = 0;           ///< largest that a rank has allocated; 0: not printed
    std::int64_t vocabulary = 0;  ///< as it is padded
    bool out_of_memory = false;

    [[nodiscard]] bool is_empty() const { return arguments.empty() && iterations.empty(); }
};

void add_iterations(std::string_view line, Run& run) {
    auto const number = number_behind(line, "iteration ");
    auto const milliseconds = number_behind(line, time_field);
    if (!number || !milliseconds || !(*milliseconds > 0)) return;
    auto const last = static_cast<std::int64_t>(*number);
    std::int64_t const interval = [&] {
        if (!run.iterations.empty()) return last - run.iterations.back().last;
        std::int64_t stated = 0;  // a run may go on from a checkpoint
        auto const found = run.arguments.find("log_interval");
        return found != run.arguments.end() && is_number(found->second, stated) ? std::min(stated, last) : last;
    }();
    run.iterations.push_back(
        {.last = last,
         .count = std::max<std::int64_t>(1, interval),
         .figure = 1e-3 * *milliseconds,
         .batch = static_cast<std::int64_t>(number_behind(line, "global batch size:").value_or(0))});
}

void add_line(std::string_view line, Run& run) {
    if (has(line, time_field)) add_iterations(line, run);
    constexpr double gb_of_mib = 1e-9 * 0x1p20;
    if (has(line, "memory (MB)"))
        run.peak_gb = std::max(run.peak_gb, gb_of_mib * number_behind(line, "max allocated:").value_or(0));
    // Megatron-Bridge's: 10^9 bytes
    run.peak_gb = std::max(run.peak_gb, number_behind(line, "mem-max-allocated-gigabytes:").value_or(0));
    if (has(line, "padded vocab"))
        run.vocabulary = static_cast<std::int64_t>(number_behind(line, "new size:").value_or(0));
    run.out_of_memory = run.out_of_memory || has(line, "OutOfMemoryError") || has(line, "CUDA out of memory");
}

std::vector<Run> runs_in(std::string_view text) {
    std::vector<Run> runs(1);
    bool in_arguments = false;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = std::min(text.find('\n', begin), text.size());
        std::string_view const line = text.substr(begin, end - begin);
        begin = end + 1;
        if (has(line, begins)) {
            if (!runs.back().is_empty()) runs.emplace_back();
            in_arguments = true;
        } else if (has(line, ends)) {
            in_arguments = false;
        } else if (in_arguments) {
            add_argument(line, runs.back().arguments);
        } else {
            add_line(line, runs.back());
        }
    }
    return runs;
}

CellRow row_of(Run const& run, ImportRequest const& request) {
    CellRow row = run.arguments.empty() ? CellRow() : cells_of(run.arguments);
    put_source(row, request, "Megatron-LM's log");
    if (run.vocabulary > 0) put(row, "vocab", fmt::to_string(run.vocabulary));
    std::string notes = row.contains("notes") ? row["notes"] : "";
    auto const note = [&](std::string const& more) { notes += (notes.empty() ? "" : "; ") + more; };
    if (run.iterations.empty()) {
        if (!run.out_of_memory) throw RowSkip("a start of the program without a time of iterations");
        note("STATUS=OOM");
    } else {
        put(row, "iter_time_s", fmt::format("{:.6g}", steady_figure(run.iterations)));
        if (auto const batch = run.iterations.back().batch; batch > 0)
            put(row, "global_batch_seqs", fmt::to_string(batch));
    }
    if (run.peak_gb > 0) {
        put(row, "peak_mem_gb_per_gpu", fmt::format("{:.6g}", run.peak_gb));
        note("peak is max allocated");
    }
    put(row, "notes", notes);
    put(row, "framework", "Megatron-LM");
    return row;
}

ImportedTables read(std::string_view text, ImportRequest const& request) {
    std::string const plain = without_colours(text);
    std::vector<Run> const runs = runs_in(plain);
    if (runs.front().is_empty())
        throw InputError("{}: has no arguments and no iterations of Megatron-LM", request.name);
    ImportedTables out;
    for (Run const& run : runs)
        out.or_skip([&] { out.add_step(row_of(run, request), request); });
    return out;
}

}  // namespace

extern constinit Importer const megatron_importer;
constinit Importer const megatron_importer{
    .name = "megatron-log",
    .summary = "what Megatron-LM's training prints: a row of a training step for each start",
    .source =
        "github.com/NVIDIA/Megatron-LM megatron/training/training.py (training_log), arguments.py, utils.py; "
        "NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/training/utils/train_utils.py",
    .recognises = recognises,
    .read = read,
};

}  // namespace sextant
