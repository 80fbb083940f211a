// What Hugging Face's Trainer and programs on it print: "***** Running training *****" with the batch and the steps,
// dictionaries of Python while it trains ("{'loss': 1.2, ..., 'epoch': 0.1}"), and at the end {'train_runtime': 360.5,
// 'train_samples_per_second': 11.1, 'train_steps_per_second': 1.387, ...}. Releases from 5 on quote the numbers, too.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/log_line.hpp"
#include "calibrate/import/trainer_run.hpp"
#include "core/error.hpp"
#include "core/measurements/row_cells.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {
namespace {

constexpr std::string_view begin_of_training = "***** Running training *****";

bool trainer_prints(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool recognises_trainer_print(std::string_view text) {
    if (trainer_prints(text, "'train_runtime': ") && trainer_prints(text, "'train_samples_per_second': ")) return true;
    return trainer_prints(text, "{'loss': ") && trainer_prints(text, "'learning_rate': ") &&
           trainer_prints(text, "'epoch': ");
}

/// What a run printed so far.
struct PrintedTraining {
    TrainerRun run{};
    double continued = 0;              ///< steps that an earlier run did
    std::vector<double> whole_bars{};  ///< steps of progress bars that went all the way, of evaluations, too
    bool has_steps = false;

    [[nodiscard]] bool is_begun() const { return has_steps || run.steps > 0; }
};

/// Names of metrics in a dictionary: "'loss': 1.2, 'rewards/chosen': 0.1".
bool has_preference_metric(std::string_view line) {
    for (std::size_t at = line.find('\''); at != std::string_view::npos;) {
        std::size_t const end = line.find('\'', at + 1);
        if (end == std::string_view::npos) return false;
        if (is_preference_metric(line.substr(at + 1, end - at - 1))) return true;
        at = line.find('\'', end + 1);
    }
    return false;
}

/// " 50%|#####     | 250/500 [02:00<02:00,  2.08it/s]" of steps, as the bar that has gone all the way says them.
double whole_bar(std::string_view line) {
    auto const bar = line.rfind("| ");
    if (!trainer_prints(line, "100%|") || bar == std::string_view::npos) return 0;
    std::string_view const count = line.substr(bar + 2, line.find(' ', bar + 2) - bar - 2);
    auto const of = count.find('/');
    double steps = 0;
    if (of == std::string_view::npos || count.substr(0, of) != count.substr(of + 1)) return 0;
    return is_number(count.substr(0, of), steps) ? steps : 0;
}

void add_dictionary(std::string_view line, PrintedTraining& training) {
    TrainerRun& run = training.run;
    training.has_steps = true;
    run.is_preference = run.is_preference || has_preference_metric(line);
    run.evaluations += figure_behind(line, "'eval_runtime'").value_or(0);
    run.epochs = std::max(run.epochs, figure_behind(line, "'epoch'").value_or(0));
    for (char const* words : {"'memory/max_allocated (GiB)'", "'memory/max_mem_allocated(gib)'"})
        run.allocated_gib = std::max(run.allocated_gib, figure_behind(line, words).value_or(0));
    run.reserved_gib = std::max(run.reserved_gib, figure_behind(line, "'memory(GiB)'").value_or(0));
    run.runtime = figure_behind(line, "'train_runtime'").value_or(0);
    run.samples_per_s = figure_behind(line, "'train_samples_per_second'").value_or(0);
    run.steps_per_s = figure_behind(line, "'train_steps_per_second'").value_or(0);
}

void add_heading(std::string_view line, PrintedTraining& training) {
    TrainerRun& run = training.run;
    if (auto const steps = figure_behind(line, "Total optimization steps")) run.steps = std::llround(*steps);
    if (auto const batch = figure_behind(line, "Instantaneous batch size per device")) run.micro_batch = *batch;
    if (auto const batch = figure_behind(line, "Total train batch size (w. parallel, distributed & accumulation)"))
        run.batch = *batch;
    if (auto const step = figure_behind(line, "Continuing training from global step")) training.continued = *step;
}

/// What a run says when all of it was read: steps that an earlier run did are not in its time.
/// @throws RowSkip where none are left
TrainerRun whole_run(PrintedTraining const& training) {
    TrainerRun run = training.run;
    constexpr double last_digit = 0.0006;
    for (double const steps : training.whole_bars)
        if (run.steps < 1 && std::abs(steps / run.runtime - run.steps_per_s) <= last_digit)
            run.steps = std::llround(steps);
    auto const continued = static_cast<std::int64_t>(std::llround(training.continued));
    if (continued > 0 && run.steps <= continued)
        throw RowSkip("a run that went on from another, without saying how many steps were left");
    run.steps -= continued;
    return run;
}

ImportedTables read_trainer_print(std::string_view text, ImportRequest const& request) {
    std::string const plain = without_colours(text);
    std::vector<PrintedTraining> runs(1);
    for (std::string_view const line : lines_of(plain)) {
        bool const is_over = runs.back().run.runtime > 0;
        if (trainer_prints(line, begin_of_training) && runs.back().is_begun()) runs.emplace_back();
        if (double const steps = whole_bar(line); steps > 0) runs.back().whole_bars.push_back(steps);
        add_heading(line, runs.back());
        if (!trainer_prints(line, "{'") ||
            !(trainer_prints(line, "'epoch'") || trainer_prints(line, "'train_runtime'")))
            continue;
        if (is_over && trainer_prints(line, "{'loss'")) runs.emplace_back();
        if (!(runs.back().run.runtime > 0)) add_dictionary(line, runs.back());
    }
    if (!runs.front().is_begun()) throw InputError("{}: has nothing that a Trainer prints", request.name);
    ImportedTables out;
    for (PrintedTraining const& training : runs)
        out.or_skip(
            [&] { out.add_step(row_of_trainer_run(whole_run(training), request, "Hugging Face's Trainer"), request); });
    return out;
}

}  // namespace

extern constinit Importer const trainer_print_importer;
constinit Importer const trainer_print_importer{
    .name = "trainer-print",
    .summary = "what Hugging Face's Trainer (TRL, Axolotl) prints: a row of a training step for each run",
    .source = "huggingface/transformers src/transformers/trainer.py, trainer_callback.py, trainer_utils.py",
    .recognises = recognises_trainer_print,
    .read = read_trainer_print,
};

}  // namespace sextant
