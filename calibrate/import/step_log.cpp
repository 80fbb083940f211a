// What training programs print of their steps and little else: the time or the rate of a step, at times the batch and
// the memory. The plan, the model and the device are the user's to say. Each start is a row of training steps.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/iteration_times.hpp"
#include "calibrate/import/log_line.hpp"
#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {
namespace {

enum class StepFigure : std::uint8_t { seconds, milliseconds, tokens_per_device, tokens, samples };

/// How one program writes a step. Words end where their number begins, but for signs between them.
struct StepDialect {
    char const* framework;
    char const* figure_words;
    StepFigure figure;
    char const* step_words;
    char const* batch_words = nullptr;   ///< sequences of the step; null: never said
    char const* memory_words = nullptr;  ///< the largest so far; null: never said
    double memory_unit = 1e9;            ///< bytes
    bool memory_is_allocated = false;    ///< by tensors, not by the allocator
    char const* ranks_words = nullptr;   ///< how many accelerators there are; null: never said
};

constexpr double gib = 0x1p30;

constexpr std::array dialects{
    StepDialect{.framework = "NeMo",
                .figure_words = "train_step_timing in s",
                .figure = StepFigure::seconds,
                .step_words = "global_step",
                .batch_words = "global_batch_size"},
    StepDialect{.framework = "nanotron",
                .figure_words = "elapsed_time_per_iteration_ms",
                .figure = StepFigure::milliseconds,
                .step_words = "iteration",
                .batch_words = "global_batch_size"},
    StepDialect{.framework = "MaxText",
                .figure_words = "Tokens/s/device",
                .figure = StepFigure::tokens_per_device,
                .step_words = "completed step",
                .ranks_words = "Num_devices"},
    StepDialect{.framework = "llm-foundry",
                .figure_words = "throughput/device/tokens_per_sec",
                .figure = StepFigure::tokens_per_device,
                .step_words = "[batch",
                .memory_words = "memory/peak_reserved_mem"},
    StepDialect{.framework = "DeepSpeed",
                .figure_words = "CurrSamplesPerSec",
                .figure = StepFigure::samples,
                .step_words = "global_step",
                .memory_words = "MaxMemAllocated",
                .memory_unit = gib,
                .memory_is_allocated = true},
    StepDialect{.framework = "torchtune",
                .figure_words = "tokens_per_second_per_gpu",
                .figure = StepFigure::tokens_per_device,
                .step_words = "Step",
                .memory_words = "peak_memory_reserved",
                .memory_unit = gib},
    StepDialect{.framework = "FSDP (AutoModel)",
                .figure_words = "| tps",
                .figure = StepFigure::tokens,
                .step_words = "step",
                .memory_words = "| mem",
                .memory_unit = gib,
                .memory_is_allocated = true},
};

bool is_shortened(std::string_view line, char const* words) {
    auto const at = line.find(words);
    std::string_view const rest = line.substr(at + std::string_view(words).size());
    return rest.substr(0, rest.find('|')).find_first_of("KMGT") != std::string_view::npos;
}

struct StepRun {
    std::vector<LoggedIterations> steps;
    double memory = 0;  ///< GB
};

struct StepLog {
    StepDialect const* dialect = nullptr;
    std::vector<StepRun> runs = std::vector<StepRun>(1);
    std::int64_t ranks = 0;
    std::int64_t step = 0;  ///< that the figures of the lines that follow are of
};

/// Composer writes its figures on lines of their own, behind one that says the batch; the others write one line.
void add_step_line(std::string_view line, StepLog& log) {
    StepDialect const& d = *log.dialect;
    if (auto const ranks = figure_behind(line, d.ranks_words)) log.ranks = static_cast<std::int64_t>(*ranks);
    if (auto const step = figure_behind(line, d.step_words)) log.step = static_cast<std::int64_t>(*step);
    if (auto const memory = figure_behind(line, d.memory_words))
        log.runs.back().memory = std::max(log.runs.back().memory, *memory * d.memory_unit / 1e9);
    auto const figure = figure_behind(line, d.figure_words);
    if (!figure || !(*figure > 0)) return;
    auto const& so_far = log.runs.back().steps;
    if (!so_far.empty() && log.step == so_far.back().last) return;  // another rank's
    if (!so_far.empty() && log.step < so_far.back().last) log.runs.emplace_back();
    auto& steps = log.runs.back().steps;
    std::int64_t const before = steps.empty() ? 0 : steps.back().last;
    LoggedIterations logged{.last = log.step, .count = std::max<std::int64_t>(1, log.step - before), .figure = *figure};
    if (auto const batch = figure_behind(line, d.batch_words); batch && !is_shortened(line, d.batch_words))
        logged.batch = static_cast<std::int64_t>(*batch);
    steps.push_back(logged);
}

bool is_written_in(std::string_view text, StepDialect const& dialect) {
    auto const at = text.find(dialect.figure_words);
    if (at == std::string_view::npos) return false;
    std::string_view const rest = text.substr(at);
    return figure_behind(rest.substr(0, rest.find('\n')), dialect.figure_words).has_value();
}

/// Null: none of them.
StepDialect const* dialect_of(std::string_view text) {
    auto const found = std::find_if(dialects.begin(), dialects.end(),
                                    [&](StepDialect const& dialect) { return is_written_in(text, dialect); });
    return found == dialects.end() ? nullptr : &*found;
}

bool recognises_step_log(std::string_view text) {
    if (text.find_first_not_of(" \t\r\n") == text.find('{')) return false;  // JSON, of another program's
    return dialect_of(text) != nullptr;
}

/// Sequences of a step: what the log says last, else what the user does.
double batch_of(StepRun const& run, ImportRequest const& request) {
    if (run.steps.back().batch > 0) return static_cast<double>(run.steps.back().batch);
    return needed_cell(request.cells, "global_batch_seqs");
}

CellRow row_of_steps(StepLog const& log, StepRun const& run, ImportRequest const& request) {
    CellRow row;
    StepDialect const& d = *log.dialect;
    put_source(row, request, fmt::format("{}'s log", d.framework));
    put(row, "framework", d.framework);
    if (log.ranks > 0) put(row, "num_gpus", fmt::to_string(log.ranks));
    if (run.steps.back().batch > 0) put(row, "global_batch_seqs", fmt::to_string(run.steps.back().batch));
    double const figure = steady_figure(run.steps);
    auto const cell = [](double value) { return fmt::format("{:.6g}", value); };
    switch (d.figure) {
        case StepFigure::seconds: put(row, "iter_time_s", cell(figure)); break;
        case StepFigure::milliseconds: put(row, "iter_time_s", cell(1e-3 * figure)); break;
        case StepFigure::tokens_per_device: put(row, "tokens_per_s_per_gpu", cell(figure)); break;
        case StepFigure::tokens:
            put(row, "tokens_per_s_per_gpu", cell(figure / needed_cell(request.cells, "num_gpus")));
            break;
        case StepFigure::samples: put(row, "iter_time_s", cell(batch_of(run, request) / figure)); break;
    }
    if (run.memory > 0) put(row, "peak_mem_gb_per_gpu", cell(run.memory));
    if (run.memory > 0 && d.memory_is_allocated) put(row, "notes", "peak is max allocated");
    return row;
}

ImportedTables read_step_log(std::string_view text, ImportRequest const& request) {
    StepLog log;
    log.dialect = dialect_of(text);
    if (log.dialect == nullptr) throw InputError("{}: has no steps of a training program", request.name);
    std::string const plain = without_colours(text);
    for (std::string_view const line : lines_of(plain))
        add_step_line(line, log);
    ImportedTables out;
    for (StepRun const& run : log.runs)
        out.or_skip([&] {
            if (run.steps.empty()) throw RowSkip("a start of the program without a step");
            out.add_step(row_of_steps(log, run, request), request);
        });
    return out;
}

}  // namespace

extern constinit Importer const step_log_importer;
constinit Importer const step_log_importer{
    .name = "step-log",
    .summary =
        "steps that NeMo (AutoModel, too), nanotron, MaxText, llm-foundry, DeepSpeed and torchtune print: a row "
        "for each start",
    .source =
        "NVIDIA/NeMo lightning's progress printer; huggingface/nanotron src/nanotron/trainer.py; "
        "AI-Hypercomputer/maxtext metric_logger.py; mosaicml/composer speed_monitor.py; deepspeedai/DeepSpeed "
        "deepspeed/utils/timer.py; pytorch/torchtune torchtune/training/metric_logging.py; NVIDIA-NeMo/Automodel "
        "nemo_automodel/recipes/llm/train_ft.py",
    .recognises = recognises_step_log,
    .read = read_step_log,
};

}  // namespace sextant
