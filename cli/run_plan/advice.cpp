// What would fit where nothing does: which machines have the memory, which option is in the way, how many accelerators.
#include "cli/run_plan/view.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "planner/explain.hpp"
#include "planner/run_plan/accelerator_ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace sextant::cli {
namespace {

/// What the search on so many accelerators finds; nothing in it where the constraints leave it nothing to search.
SearchResult searched(RunSetting const& setting, RunAnswer const& answer, std::int64_t accelerators) {
    try {
        std::vector<SearchSpace> const spaces{
            make_search_space(answer.model, answer.workload, setting.cluster, accelerators, setting.constraints)};
        SearchOptions options;
        options.top = 1;
        options.threads = setting.threads;
        return search(answer.model, answer.workload, setting.cluster, setting.framework, spaces, setting.limit,
                      options);
    } catch (InputError const&) {
        return {};
    }
}

/// Where every number of accelerators ends too late: when the fastest ends.
std::vector<std::string> later_deadline(RunQuestion const& question, DeadlineAnswer const& answer) {
    if (!answer.fastest) return {};
    double const days = std::ceil(answer.fastest->wall.in(units::day)*100) / 100;
    return {fmt::format("--deadline {}d would give an answer, on {} accelerators; so would {}", days,
                        grouped_digits(answer.fastest->step.accelerators),
                        question.budget ? "a smaller --flops" : "fewer --tokens")};
}

/// Clusters of the same vendor whose accelerators hold `needed`, smallest first, one per size of memory.
std::vector<std::string> clusters_that_hold(RunSetting const& setting, Bytes needed, std::int64_t accelerators) {
    double const usable = setting.limit.usable / setting.limit.capacity;
    std::vector<ClusterSpec const*> found;
    for (ClusterSpec const& cluster : all_clusters()) {
        AcceleratorProfile const& a = cluster.accelerator;
        bool const enough = cluster.max_accelerators == 0 || cluster.max_accelerators >= accelerators;
        bool const so_many = enough && (cluster.scale_out || cluster.domain_size >= accelerators);
        if (so_many && a.vendor == setting.cluster.accelerator.vendor && usable * a.memory_capacity.value >= needed)
            found.push_back(&cluster);
    }
    std::stable_sort(found.begin(), found.end(), [](ClusterSpec const* a, ClusterSpec const* b) {
        return a->accelerator.memory_capacity.value < b->accelerator.memory_capacity.value;
    });
    constexpr std::size_t most = 3;
    std::vector<std::string> names;
    Bytes last;
    for (ClusterSpec const* cluster : found) {
        Bytes const memory = cluster->accelerator.memory_capacity.value;
        if (memory == last || names.size() == most) continue;
        last = memory;
        names.push_back(fmt::format("{} ({})", cluster->name, human(memory)));
    }
    return names;
}

std::string memory_sentence(RunSetting const& setting, Candidate const& misfit, std::int64_t accelerators) {
    Bytes const needed = misfit.estimate.peak();
    std::string text =
        fmt::format("{} more of memory on each of {} accelerators would give an answer, such as {}",
                    human(needed - setting.limit.usable), grouped_digits(accelerators), plan_label(misfit.plan));
    std::vector<std::string> const names = clusters_that_hold(setting, needed, accelerators);
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "; so much have " : ", ") + names[i];
    return text;
}

std::string would_do(std::string const& option, StepReport const& step) {
    return fmt::format("{} would give an answer: {}, {} of {}", option, plan_label(step.plan),
                       human(step.estimate.peak()), human(step.limit.usable));
}

/// The fewest accelerators of the ladder above `accelerators` that the model fits on.
std::string more_accelerators(RunSetting const& setting, RunAnswer const& answer, std::int64_t accelerators) {
    std::vector<std::int64_t> const ladder = accelerator_ladder(setting.cluster);
    auto const first = std::upper_bound(ladder.begin(), ladder.end(), accelerators);
    auto const planned = [&](std::int64_t n) { return plan_step(setting, answer.model, answer.workload, n).report; };
    auto below = first;
    // Twice as many as the last until it fits, then the rungs between.
    for (auto rung = first; rung != ladder.end() && !setting.stopped();
         rung = std::lower_bound(rung, ladder.end(), 2 * *rung)) {
        std::optional<StepReport> step = planned(*rung);
        if (!step) {
            below = rung + 1;
            continue;
        }
        for (; below != rung; ++below)
            if (auto fewer = planned(*below)) {
                step = std::move(fewer);
                break;
            }
        return would_do(fmt::format("--gpus {}", *below), *step);
    }
    return "";
}

/// The most accelerators of the ladder below `accelerators` that the model fits on, of the next few.
std::string fewer_accelerators(RunSetting const& setting, RunAnswer const& answer, std::int64_t accelerators) {
    constexpr std::ptrdiff_t most_tried = 8;
    std::vector<std::int64_t> const ladder = accelerator_ladder(setting.cluster);
    auto const end = std::lower_bound(ladder.begin(), ladder.end(), accelerators);
    auto const last = end - std::min(most_tried, end - ladder.begin());
    for (auto rung = end; rung != last && !setting.stopped();) {
        --rung;
        if (auto const step = plan_step(setting, answer.model, answer.workload, *rung).report)
            return would_do(fmt::format("--gpus {}", *rung), *step);
    }
    return "";
}

/// The batch nearest to the one of the run that the replicas of so many accelerators divide: multiples of the
/// accelerators, or of a half, a quarter, ... of them.
std::string divisible_batch(RunSetting const& setting, RunAnswer const& answer, std::int64_t accelerators) {
    std::int64_t const batch = answer.workload.global_batch;
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
    for (std::int64_t const candidate : batches) {
        Workload workload = answer.workload;
        workload.global_batch = candidate;
        if (candidate == batch || setting.stopped()) continue;
        if (auto const step = plan_step(setting, answer.model, workload, accelerators).report)
            return would_do(fmt::format("--global-batch {}", candidate), *step);
    }
    return "";
}

/// The largest size of a few below one that the law chose and that does not fit, in two digits.
std::string smaller_model(RunSetting const& setting, RunQuestion const& question, RunAnswer const& answer,
                          std::int64_t accelerators) {
    if (!question.budget || question.model || question.parameters || question.tokens) return "";
    double const compute = answer.parameters * answer.tokens;
    for (double size = answer.parameters / 1.25; size >= 1e7 && !setting.stopped(); size /= 1.25) {
        double const digit = std::pow(10, std::floor(std::log10(size)) - 1);
        double const rounded = std::floor(size / digit) * digit;
        try {
            ModelSpec const model = model_of_size(rounded, question.shape, "--params");
            Workload const workload = run_workload(setting, model, compute / rounded);
            if (auto const step = plan_step(setting, model, workload, accelerators).report)
                return would_do(
                    fmt::format("--params {}{}", rounded / (rounded < 1e9 ? 1e6 : 1e9), rounded < 1e9 ? "M" : "B"),
                    *step);
        } catch (InputError const&) {  // no shape of this size, or too many tokens
            continue;
        }
    }
    return "";
}

/// Why nothing that was tried helps.
std::string no_single_change(SearchResult const& result) {
    if (result.smallest_misfit || result.counts.rejected_total() == 0)
        return "no single change would help: a smaller model, batch or sequence, or larger memory";
    return fmt::format("no single change that was tried helps (--gpus, --global-batch, the options of the plan): {}",
                       rejection_summary(result.counts));
}

}  // namespace

std::vector<std::string> run_plan_advice(RunSetting const& setting, RunQuestion const& question,
                                         RunAnswer const& answer) {
    if (answer.run || answer.interrupted || !(answer.tokens > 0) || setting.stopped()) return {};
    if (answer.deadline && !answer.deadline->run && answer.deadline->fastest)
        return later_deadline(question, *answer.deadline);
    std::int64_t const accelerators = answer.searched;
    SearchResult const result = searched(setting, answer, accelerators);
    if (!result.best.empty()) return {};  // it fits, and the reason says what else is in the way
    std::vector<std::string> advice;
    // Below what is usable otherwise it is --max-memory that is in the way, which the relaxations say.
    Bytes const usable = default_memory_limit(setting.cluster, setting.framework).usable;
    if (result.smallest_misfit && result.smallest_misfit->estimate.peak() > usable)
        advice.push_back(memory_sentence(setting, *result.smallest_misfit, accelerators));
    constexpr std::string_view of_plan = "--space";  // an option that this command does not have
    for (std::string const& line : relaxations(answer.model, answer.workload, setting.cluster, setting.framework,
                                               {accelerators}, setting.constraints, setting.limit)) {
        if (line.starts_with("--gpus")) continue;  // below, to the rung
        advice.push_back(line.starts_with(of_plan) ? "sextant plan " + line : line);
    }
    auto const add = [&](std::string line) {
        if (!line.empty()) advice.push_back(std::move(line));
    };
    bool const known = answer.deadline && answer.deadline->run;  // the reason names the number
    if (!known) add(more_accelerators(setting, answer, accelerators));
    add(smaller_model(setting, question, answer, accelerators));
    if (advice.empty()) {
        if (!known) add(fewer_accelerators(setting, answer, accelerators));
        if (setting.global_batch || !question.budget) add(divisible_batch(setting, answer, accelerators));
    }
    if (advice.empty()) advice.push_back(no_single_change(result));
    return advice;
}

}  // namespace sextant::cli
