// What would fit where nothing does: which machines have the memory, which option is in the way, how many accelerators.
#include "cli/run_plan/memory_advice.hpp"
#include "cli/run_plan/view.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"
#include "planner/relaxation.hpp"
#include "planner/run_plan/accelerator_ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace sextant::cli {
namespace {

/// Where every number of accelerators ends too late: when the fastest ends.
std::vector<std::string> later_deadline(RunQuestion const& question, DeadlineAnswer const& answer) {
    if (!answer.fastest) return {};
    double const days = std::ceil(answer.fastest->wall.in(units::day)*100) / 100;
    return {fmt::format("--deadline {}d would give an answer, on {} accelerators; so would {}", days,
                        grouped_digits(answer.fastest->step.accelerators),
                        question.budget ? "a smaller --flops" : "fewer --tokens")};
}

/// By when the run has to end where that is up to the plan; a budget of time or money says itself how long it takes.
std::optional<Seconds> due(RunQuestion const& question) {
    if (question.budget && question.budget->kind != Budget::Kind::flops) return {};
    if (question.deadline || question.accelerators) return question.deadline;
    return usual_deadline;
}

/// Changes of a question that nothing fits, each tried on its own.
class Changes {
public:
    Changes(RunSetting const& setting, RunQuestion const& question, RunAnswer const& answer)
        : setting_(setting), question_(question), answer_(answer), due_(due(question)) {}

    /// What the search finds; nothing in it where the constraints leave it nothing to search.
    [[nodiscard]] SearchResult searched() const;
    [[nodiscard]] std::vector<std::string> of_memory(SearchResult const& result) const;
    [[nodiscard]] std::vector<std::string> of_options() const;
    /// The fewest accelerators of the ladder above those asked for that the model fits on.
    [[nodiscard]] std::string more_accelerators() const;
    /// The most accelerators of the ladder below those asked for that the model fits on, of the next few.
    [[nodiscard]] std::string fewer_accelerators() const;
    /// The batch nearest to the one of the run that the replicas divide.
    [[nodiscard]] std::string divisible_batch() const;
    /// The largest size of a few below one that the law chose and that does not fit, in two digits.
    [[nodiscard]] std::string smaller_model() const;
    /// All options that fix something left out at once; why nothing helps where that does not.
    [[nodiscard]] std::string several(SearchResult const& result) const;

private:
    /// What is asked for, or a change of it.
    struct Run {
        RunSetting const& setting;
        ModelSpec const& model;
        Workload const& workload;
        double tokens;
    };
    /// What the change does on the accelerators asked for, or on as few as the deadline allows; "" where nothing fits.
    [[nodiscard]] std::string tried(std::string const& change, Run const& run) const;
    [[nodiscard]] std::string would_do(std::string const& change, TrainingRun const& run) const;
    /// The run on another number of accelerators, if it fits.
    [[nodiscard]] std::optional<TrainingRun> on(std::int64_t accelerators) const;

    RunSetting const& setting_;
    RunQuestion const& question_;
    RunAnswer const& answer_;
    std::optional<Seconds> due_;
};

SearchResult Changes::searched() const {
    try {
        std::vector<SearchSpace> const spaces{make_search_space(answer_.model, answer_.workload, setting_.cluster,
                                                                answer_.searched, setting_.constraints)};
        SearchOptions options;
        options.top = 1;
        options.threads = setting_.threads;
        return search(answer_.model, answer_.workload, setting_.cluster, setting_.framework, spaces, setting_.limit,
                      options);
    } catch (InputError const&) {
        return {};
    }
}

std::string Changes::would_do(std::string const& change, TrainingRun const& run) const {
    StepReport const& step = run.step;
    std::string const outcome = due_ && run.wall > *due_
                                    ? fmt::format("fit, but take {} days on {} accelerators", days_text(run.wall),
                                                  grouped_digits(step.accelerators))
                                    : "give an answer";
    return fmt::format("{} would {}: {}, {} of {}", change, outcome, plan_label(step.plan), human(step.estimate.peak()),
                       human(step.limit.usable));
}

std::string Changes::tried(std::string const& change, Run const& run) const {
    PlannedStep const planned = plan_step(run.setting, run.model, run.workload, answer_.searched);
    if (!planned.report) return "";
    if (!due_ || question_.accelerators) return would_do(change, training_run(run.setting, planned, run.tokens));
    DeadlineAnswer const fewest = smallest_for_deadline(run.setting, run.model, run.workload, run.tokens, *due_);
    std::optional<TrainingRun> const& best = fewest.run ? fewest.run : fewest.fastest;
    return best ? would_do(change, *best) : "";
}

std::optional<TrainingRun> Changes::on(std::int64_t accelerators) const {
    PlannedStep const planned = plan_step(setting_, answer_.model, answer_.workload, accelerators);
    if (!planned.report) return {};
    return training_run(setting_, planned, answer_.tokens);
}

std::vector<std::string> Changes::of_memory(SearchResult const& result) const {
    // Below what is usable otherwise it is --max-memory that is in the way, which the options say.
    Bytes const usable = default_memory_limit(setting_.cluster, setting_.framework).usable;
    if (!result.smallest_misfit || result.smallest_misfit->estimate.peak() <= usable) return {};
    return {memory_advice(setting_, answer_, *result.smallest_misfit, due_ ? "hold a plan" : "give an answer")};
}

std::vector<std::string> Changes::of_options() const {
    std::vector<std::string> advice;
    for (Relaxation const& relaxation :
         relaxations(answer_.model, answer_.workload, setting_.cluster, setting_.framework, {answer_.searched},
                     setting_.constraints, setting_.limit)) {
        if (relaxation.change.starts_with("--gpus")) continue;  // to the rung: `more_accelerators`
        if (relaxation.change.starts_with("--space")) {         // an option that this command does not have
            advice.push_back("sextant plan " + relaxation_sentence(relaxation));
            continue;
        }
        RunSetting relaxed = setting_;
        relaxed.constraints = relaxation.constraints;
        relaxed.limit = relaxation.limit;
        std::string line = tried(relaxation.change, {relaxed, answer_.model, answer_.workload, answer_.tokens});
        if (!line.empty()) advice.push_back(std::move(line));
    }
    return advice;
}

std::string Changes::more_accelerators() const {
    std::vector<std::int64_t> const ladder = accelerator_ladder(setting_.cluster);
    auto const first = std::upper_bound(ladder.begin(), ladder.end(), answer_.searched);
    auto below = first;
    // Twice as many as the last until it fits, then the rungs between.
    for (auto rung = first; rung != ladder.end() && !setting_.stopped();
         rung = std::lower_bound(rung, ladder.end(), 2 * *rung)) {
        std::optional<TrainingRun> run = on(*rung);
        if (!run) {
            below = rung + 1;
            continue;
        }
        for (; below != rung; ++below)
            if (auto fewer = on(*below)) {
                run = std::move(fewer);
                break;
            }
        return would_do(fmt::format("--gpus {}", *below), *run);
    }
    return "";
}

std::string Changes::fewer_accelerators() const {
    constexpr std::ptrdiff_t most_tried = 8;
    std::vector<std::int64_t> const ladder = accelerator_ladder(setting_.cluster);
    auto const end = std::lower_bound(ladder.begin(), ladder.end(), answer_.searched);
    auto const last = end - std::min(most_tried, end - ladder.begin());
    for (auto rung = end; rung != last && !setting_.stopped();) {
        --rung;
        if (auto const run = on(*rung)) return would_do(fmt::format("--gpus {}", *rung), *run);
    }
    return "";
}

/// Multiples of the accelerators, or of a half, a quarter, ... of them, nearest to `batch` first.
std::vector<std::int64_t> divisible_batches(std::int64_t batch, std::int64_t accelerators) {
    std::vector<std::int64_t> batches;
    for (std::int64_t unit = accelerators;; unit /= 2) {
        batches.push_back(std::max<std::int64_t>(1, batch / unit) * unit);
        batches.push_back((batch / unit + 1) * unit);
        if (unit % 2 != 0) break;
    }
    std::sort(batches.begin(), batches.end(), [&](std::int64_t a, std::int64_t b) {
        return std::pair(std::abs(a - batch), a) < std::pair(std::abs(b - batch), b);
    });
    batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
    return batches;
}

std::string Changes::divisible_batch() const {
    std::int64_t const batch = answer_.workload.global_batch;
    for (std::int64_t const candidate : divisible_batches(batch, answer_.searched)) {
        if (candidate == batch || setting_.stopped()) continue;
        Workload workload = answer_.workload;
        workload.global_batch = candidate;
        std::string line =
            tried(fmt::format("--global-batch {}", candidate), {setting_, answer_.model, workload, answer_.tokens});
        if (!line.empty()) return line;
    }
    return "";
}

std::string Changes::smaller_model() const {
    if (!question_.budget || question_.model || question_.parameters || question_.tokens) return "";
    double const compute = answer_.parameters * answer_.tokens;
    for (double size = answer_.parameters / 1.25; size >= 1e7 && !setting_.stopped(); size /= 1.25) {
        double const digit = std::pow(10, std::floor(std::log10(size)) - 1);
        double const rounded = std::floor(size / digit) * digit;
        try {
            ModelSpec const model = model_of_size(rounded, question_.shape, "--params");
            double const tokens = compute / rounded;
            Workload const workload = run_workload(setting_, model, tokens);
            std::string line =
                tried(fmt::format("--params {}{}", rounded / (rounded < 1e9 ? 1e6 : 1e9), rounded < 1e9 ? "M" : "B"),
                      {setting_, model, workload, tokens});
            if (!line.empty()) return line;
        } catch (InputError const&) {  // no shape of this size, or too many tokens
            continue;
        }
    }
    return "";
}

std::string Changes::several(SearchResult const& result) const {
    std::vector<std::string> const options = fixed_options(setting_.constraints);
    if (!options.empty()) {
        RunSetting freed = setting_;
        freed.constraints = without_fixed_options(setting_.constraints);
        Run const run{freed, answer_.model, answer_.workload, answer_.tokens};
        if (std::string line = tried("without " + join(options, ", "), run); !line.empty()) return line;
        if (!result.smallest_misfit)
            return fmt::format("no single change helps: also without {} there is no plan on {} accelerators ({})",
                               join(options, ", "), grouped_digits(answer_.searched),
                               plan_step(freed, run.model, run.workload, answer_.searched).reason);
    }
    if (result.smallest_misfit)
        return "no single change would help: a smaller model, batch or sequence, or larger memory";
    return fmt::format("no single change that was tried helps (--gpus, --global-batch, the options of the plan): {}",
                       rejection_summary(result, answer_.model, answer_.workload));
}

}  // namespace

std::vector<std::string> run_plan_advice(RunSetting const& setting, RunQuestion const& question,
                                         RunAnswer const& answer) {
    if (answer.run || answer.interrupted || !(answer.tokens > 0) || setting.stopped()) return {};
    if (answer.deadline && !answer.deadline->run && answer.deadline->fastest)
        return later_deadline(question, *answer.deadline);
    Changes const changes(setting, question, answer);
    SearchResult const result = changes.searched();
    if (!result.best.empty()) return {};  // it fits, and the reason says what else is in the way
    std::vector<std::string> advice = changes.of_memory(result);
    for (std::string& line : changes.of_options())
        advice.push_back(std::move(line));
    auto const add = [&](std::string line) {
        if (!line.empty()) advice.push_back(std::move(line));
    };
    bool const known = answer.deadline && answer.deadline->run;  // the reason names the number
    if (!known) add(changes.more_accelerators());
    add(changes.smaller_model());
    if (advice.empty()) {
        if (!known) add(changes.fewer_accelerators());
        if (setting.global_batch || !question.budget) add(changes.divisible_batch());
    }
    if (advice.empty()) advice.push_back(changes.several(result));
    return advice;
}

}  // namespace sextant::cli
