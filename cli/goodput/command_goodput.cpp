#include "cli/goodput/options.hpp"
#include "cli/goodput/view.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/seed_option.hpp"
#include "cli/options/written_file.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"

#include <CLI/App.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    GoodputOptions goodput;
    OutputOptions output;
    std::int64_t trials = 200;
    std::uint64_t seed = 1;
    std::int64_t threads = 0;
    bool search = false;
    bool timeline = false;
    bool progress = false;
    std::string svg;
};

constexpr std::int64_t most_trials = 1000000;
constexpr double least_ratio = 0.01;  ///< below this the answer is that the run does not get anywhere

StudyOptions study_options(Options const& o, TrialOptions const& trial, std::atomic<bool> const& stop) {
    if (o.trials < 0 || o.trials > most_trials)
        throw InputError("--trials: {} is out of range (0 for the closed form alone, up to {})", o.trials, most_trials);
    if (o.threads < 0 || o.threads > 1024)
        throw InputError("--threads: {} is out of range (0 for all, up to 1024)", o.threads);
    StudyOptions options{
        .trial = trial, .trials = o.trials, .threads = static_cast<unsigned>(o.threads), .stop = &stop};
    options.trial.seed = o.seed;
    if (trial.chance == TrialOptions::Chance::off) options.trials = std::min<std::int64_t>(1, o.trials);
    return options;
}

int exit_code_of(GoodputReport const& report) {
    bool const interrupted =
        (report.study && report.study->interrupted) || (report.search && report.search->interrupted);
    if (interrupted) return interrupted_exit;
    if (report.study && 2 * report.study->finished < report.study->trials) return exit_code::answer_is_no;
    if (!report.not_simulated.empty() || (!report.study && report.expected.ratio() < least_ratio))
        return exit_code::answer_is_no;
    return exit_code::done;
}

/// Whether every trial would be simulated until it is given up. Where the closed form is of first order the bound is
/// that of a run that loses detection and restarts alone.
bool gets_nowhere(GoodputCase const& run, Goodput const& expected, TrialOptions const& trial) {
    if (trial.chance == TrialOptions::Chance::off) return false;
    double const mtbf = expected.mtbf.base();
    double const attempts = std::exp(std::min(500.0, run.restart.base() / mtbf));
    double const bound = std::isfinite(mtbf) ? mtbf / (mtbf + run.detection.base() * attempts) : 1;
    return trial.give_up * (expected.approximation.empty() ? std::min(bound, expected.ratio()) : bound) < 1;
}

/// Injected faults that come after the end of the trial that is shown.
void remark_on_late_faults(TrialOutcome const& trial, std::vector<InjectedFault> const& injected,
                           std::vector<std::string>& remarks) {
    for (InjectedFault const& fault : injected)
        if (fault.at >= trial.wall)
            remarks.push_back(fmt::format("--inject {}@{:g} h does not happen: the run ends after {:.4g} h",
                                          fault.scope ? name_of(*fault.scope) : "spike", fault.at.in(units::hour),
                                          trial.wall.in(units::hour)));
}

int goodput(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    GoodputSubject subject = find_goodput_subject(o.goodput);
    InterruptGuard const interrupt(context);
    StudyOptions options = study_options(o, subject.trial, interrupt.flag());
    ProgressLine progress(context, o.progress ? Progress::always : Progress::on_terminals);
    char const* what = "trials";
    if (progress.shown())
        options.progress = [&](std::int64_t done) {
            progress.show(fmt::format("simulating: {} of {} {}", done, options.trials, what));
        };
    GoodputReport report{.subject = subject, .expected = expected_goodput(subject.run), .seed = options.trial.seed};
    bool const hopeless = gets_nowhere(subject.run, report.expected, options.trial);
    if (hopeless)
        report.not_simulated = "not simulated: by closed form the run gets nowhere";
    else if (options.trials > 0)
        report.study = study_faults(subject.run, options);
    if (o.search && !hopeless && !interrupt.flag()) {
        if (options.trials < 2)
            throw InputError("--search-interval: {} trials are too few (at least 2)", options.trials);
        what = "trials of one interval";
        report.search = search_interval(subject.run, options);
    }
    progress.clear();
    if (!hopeless && (o.timeline || !o.svg.empty() || !o.goodput.injected.empty())) {
        TrialOptions trial = options.trial;
        trial.record = TrialOptions::Record::incidents;
        report.timeline = run_trial(subject.run, trial, 0);
        remark_on_late_faults(*report.timeline, trial.injected, subject.assumptions);
    }
    if (!o.svg.empty() && !hopeless) write_text_file(o.svg, goodput_svg(report));
    switch (format) {
        case Format::json: deliver(o.output, context, goodput_json(report)); break;
        case Format::text: deliver(o.output, context, goodput_text(report)); break;
        default:
            deliver(o.output, context,
                    render(goodput_table(report), format,
                           {{"model", report.subject.model}, {"gpus", fmt::format("{}", report.subject.gpus)}}));
            break;
    }
    return exit_code_of(report);
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    add_goodput_options(app, o->goodput);
    app.add_option("--trials", o->trials, "simulated runs (default: 200; 0: closed form alone)")->option_text("N");
    add_seed_option(app, o->seed, "of chance (default: 1)");
    app.add_option("--threads", o->threads, "0: all cores (default); the result does not depend on it")
        ->option_text("N");
    app.add_flag("--search-interval", o->search, "find the best interval by simulation too");
    app.add_flag("--timeline", o->timeline, "every interruption of one trial (as with --inject)");
    written(app.add_option("--timeline-svg", o->svg, "picture of that trial"))->option_text("FILE.svg");
    app.add_flag("--progress", o->progress, "progress on stderr, even if it is no terminal");
    add_output_options(app, o->output);
    app.footer(
        "docs/goodput.md has the formulas and where every rate comes from. Exit code 1 when the run gets nowhere: it "
        "fails\nfaster than it can checkpoint.\n\nExamples:\n"
        "  sextant goodput --model llama-3.1-405b --cluster h100-sxm --gpus 16384 --days 54 --tp 8 --pp 16\n"
        "  sextant goodput --parameters 70B --gpus 1024 --checkpoint in-memory --storage object-store\n"
        "  sextant goodput --checkpoint-size '2 TB' --gpus 2048 --gpu-mtbf 50000h --spares 4 --elastic --dp 64\n"
        "  sextant goodput --parameters 8B --gpus 256 --interval 10min --only-injected --inject 'node@3h,spike@9h'\n"
        "  sextant goodput --parameters 405B --gpus 16384 --search-interval --timeline-svg run.svg --format json\n");
    return [o, &context] { return goodput(*o, context); };
}

}  // namespace

extern constinit CommandEntry const goodput_command;
constinit CommandEntry const goodput_command{
    .name = "goodput",
    .summary = "failures, checkpoints and restarts of a long run: effective training time, best interval, what is lost",
    .describe = describe,
};

}  // namespace sextant::cli
