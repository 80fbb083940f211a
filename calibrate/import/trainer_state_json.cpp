// What Hugging Face's Trainer writes: trainer_state.json with "log_history", whose last entry has the run's
// train_runtime, and train_results.json or all_results.json with that entry alone. LLaMA-Factory's trainer_log.jsonl
// and ms-swift's logging.jsonl, a line each time it logs, with the seconds since the start.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/iteration_times.hpp"
#include "calibrate/import/log_line.hpp"
#include "calibrate/import/trainer_run.hpp"
#include "core/error.hpp"
#include "core/json/foreign_fields.hpp"
#include "core/measurements/row_cells.hpp"

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
#include <vector>

namespace sextant {
namespace {

using Json = nlohmann::json;

bool json_has(std::string_view text, std::string_view key) {
    return text.find("\"" + std::string(key) + "\"") != std::string_view::npos;
}

bool is_timed_log(std::string_view text) {
    return (json_has(text, "current_steps") || json_has(text, "global_step/max_steps")) &&
           json_has(text, "elapsed_time");
}

bool recognises_trainer_json(std::string_view text) {
    auto const begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || text[begin] != '{') return false;
    return (json_has(text, "log_history") && json_has(text, "global_step")) || is_timed_log(text) ||
           (json_has(text, "train_runtime") && json_has(text, "train_samples_per_second"));
}

double field_or_none(Json const& entry, char const* key) { return foreign_number(entry, key).value_or(0); }

/// The largest of any release's names of it.
double largest_of(Json const& entry, std::initializer_list<char const*> keys) {
    double largest = 0;
    for (char const* key : keys)
        largest = std::max(largest, field_or_none(entry, key));
    return largest;
}

/// Figures that an entry of any of these logs may have.
void add_entry(Json const& entry, double step, TrainerRun& run) {
    if (!entry.is_object()) return;
    run.is_preference =
        run.is_preference || std::any_of(entry.items().begin(), entry.items().end(),
                                         [](auto const& item) { return is_preference_metric(item.key()); });
    if (!(run.runtime > 0)) run.evaluations += field_or_none(entry, "eval_runtime");  // later ones are behind the run
    run.epochs = std::max(run.epochs, field_or_none(entry, "epoch"));
    run.reserved_gib = std::max(run.reserved_gib, largest_of(entry, {"vram_reserved", "memory(GiB)"}));
    run.allocated_gib = std::max(run.allocated_gib,
                                 largest_of(entry, {"vram_allocated", "memory/max_allocated (GiB)",
                                                    "memory/max_mem_allocated(gib)", "memory/max_memory_allocated"}));
    double const tokens = largest_of(entry, {"num_input_tokens_seen", "total_tokens"});
    if (tokens > run.tokens && step > 0) {
        run.tokens = tokens;
        run.tokens_step = step;
    }
    if (!entry.contains("train_runtime")) return;
    run.runtime = field_or_none(entry, "train_runtime");
    run.samples_per_s = field_or_none(entry, "train_samples_per_second");
    run.steps_per_s = field_or_none(entry, "train_steps_per_second");
}

/// "1 day, 2:03:04" as Python writes it, "1d 2h 3m 4s" as ms-swift does. Nothing where it is neither.
std::optional<double> elapsed_seconds(std::string const& text) {
    double whole = 0, clock = 0;
    bool has_clock = false;
    for (std::string_view word : words_of(text)) {
        while (!word.empty() && word.back() == ',')
            word.remove_suffix(1);
        if (word.starts_with("day")) {
            whole *= 86400;
        } else if (word.find(':') != std::string_view::npos) {
            for (std::size_t begin = 0; begin <= word.size();) {
                std::size_t const end = std::min(word.find(':', begin), word.size());
                double part = 0;
                if (!is_number(word.substr(begin, end - begin), part)) return std::nullopt;
                clock = 60 * clock + part;
                begin = end + 1;
            }
            has_clock = true;
        } else {
            std::string_view const unit = word.substr(std::min(word.find_first_not_of("0123456789."), word.size()));
            double amount = 0;
            if (!is_number(word.substr(0, word.size() - unit.size()), amount)) return std::nullopt;
            if (unit != "d" && unit != "h" && unit != "m" && unit != "s" && !unit.empty()) return std::nullopt;
            whole += amount * (unit == "d" ? 86400 : unit == "h" ? 3600 : unit == "m" ? 60 : 1);
            has_clock = has_clock || !unit.empty();
        }
    }
    return has_clock ? std::optional(whole + clock) : std::nullopt;
}

/// Steps between two lines of a timed log, and the seconds between them.
struct TimedSteps {
    double first = 0;  ///< the step before them
    double steps = 0;
    double seconds = 0;
    [[nodiscard]] double each() const { return seconds / steps; }
};

/// Seconds of a step behind the warm-up. Clocks count whole seconds, so that the sum of all spans counts, not of those
/// in which something else was done (a checkpoint). An evaluation ends with a line of its own, without a step.
double timed_step(std::vector<TimedSteps> spans) {
    std::erase_if(spans, [](TimedSteps const& span) { return span.first < warm_up_iterations; });
    if (spans.empty())
        throw RowSkip(fmt::format("no time of steps behind the first {}, which are slower (train for longer)",
                                  warm_up_iterations));
    std::vector<double> each;
    for (TimedSteps const& span : spans)
        each.push_back(span.each());
    std::nth_element(each.begin(), each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2), each.end());
    double const usual = each[each.size() / 2];
    constexpr double longer = 1.5;
    double steps = 0, seconds = 0;
    for (TimedSteps const& span : spans)
        if (span.seconds <= longer * usual * span.steps + 1) {
            steps += span.steps;
            seconds += span.seconds;
        }
    constexpr double enough = 50;  // a second of the clock is 2 %
    if (seconds < enough)
        throw RowSkip(
            fmt::format("clocks of whole seconds: less than {:g} s behind the first {} steps (train for longer)",
                        enough, warm_up_iterations));
    return seconds / steps;
}

/// "10/100" as its first number.
double step_of_entry(Json const& entry) {
    std::string const of_all = foreign_text(entry, "global_step/max_steps");
    double step = field_or_none(entry, "current_steps");
    if (!of_all.empty()) static_cast<void>(is_number(std::string_view(of_all).substr(0, of_all.find('/')), step));
    return step;
}

struct TimedRun {
    TrainerRun run{};
    std::vector<TimedSteps> spans{};
};

/// The runs of a timed log, which programs append to. A start has a smaller step, or an earlier time.
std::vector<TimedRun> timed_runs(std::vector<Json> const& entries) {
    std::vector<TimedRun> runs;
    double step = 0, seconds = 0;
    for (Json const& entry : entries) {
        auto const elapsed = elapsed_seconds(foreign_text(entry, "elapsed_time"));
        double const now = step_of_entry(entry);
        if (!elapsed || !(now >= 1)) continue;
        if (runs.empty() || now < step || *elapsed < seconds)
            runs.emplace_back();
        else if (now > step)
            runs.back().spans.push_back({.first = step, .steps = now - step, .seconds = *elapsed - seconds});
        add_entry(entry, now, runs.back().run);
        runs.back().run.steps = std::llround(std::min(now, 1e15));
        step = now;
        seconds = *elapsed;
    }
    return runs;
}

TrainerRun state_run(Json const& state) {
    TrainerRun run;
    auto const history = state.find("log_history");
    run.steps = std::llround(std::min(field_or_none(state, "global_step"), 1e15));
    run.micro_batch = field_or_none(state, "train_batch_size");
    if (history != state.end() && history->is_array())
        for (Json const& entry : *history)
            add_entry(entry, field_or_none(entry, "step"), run);
    return run;
}

/// Evaluations in it came behind the run.
TrainerRun results_run(Json const& results) {
    TrainerRun run;
    add_entry(results, 0, run);
    run.evaluations = 0;
    return run;
}

ImportedTables read_trainer_json(std::string_view text, ImportRequest const& request) {
    std::vector<Json> const documents = foreign_documents(text, request.name);
    ImportedTables out;
    if (is_timed_log(text)) {
        bool const is_swift = json_has(text, "global_step/max_steps");
        for (auto& [run, spans] : timed_runs(documents))
            out.or_skip([&, &run = run, &spans = spans] {
                if (!run.is_preference) run.step_seconds = timed_step(std::move(spans));
                out.add_step(row_of_trainer_run(run, request, is_swift ? "ms-swift" : "LLaMA-Factory"), request);
            });
        if (out.rows() == 0 && out.skipped.empty()) throw InputError("{}: has no steps with a time", request.name);
        return out;
    }
    for (Json const& document : documents) {
        if (!document.is_object()) throw InputError("{}: is nothing that a Trainer wrote", request.name);
        TrainerRun const run = document.contains("log_history") ? state_run(document) : results_run(document);
        out.or_skip([&] { out.add_step(row_of_trainer_run(run, request, "Hugging Face's Trainer"), request); });
    }
    return out;
}

}  // namespace

extern constinit Importer const trainer_state_importer;
constinit Importer const trainer_state_importer{
    .name = "trainer-state",
    .summary =
        "trainer_state.json of Hugging Face's Trainer (TRL, Axolotl), logs of LLaMA-Factory and ms-swift: a row "
        "of a training step for each run",
    .source =
        "huggingface/transformers src/transformers/trainer.py, trainer_utils.py (speed_metrics); "
        "hiyouga/LLaMA-Factory src/llamafactory/train/callbacks.py; modelscope/ms-swift "
        "swift/trainers/callback.py; axolotl-ai-cloud/axolotl src/axolotl/core/trainers/base.py",
    .recognises = recognises_trainer_json,
    .read = read_trainer_json,
};

}  // namespace sextant
