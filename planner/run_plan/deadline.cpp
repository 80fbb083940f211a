#include "planner/run_plan/deadline.hpp"

#include "core/graph/model_flops.hpp"
#include "cost_models/attention_peak.hpp"
#include "planner/explain.hpp"
#include "planner/run_plan/accelerator_ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sextant {
namespace {

constexpr double better_rate_elsewhere = 1.05;  ///< an untried number may be this much faster per accelerator
constexpr std::int64_t most_multiples = 400;

class Hunt {
public:
    Hunt(RunSetting const& setting, ModelSpec const& model, Workload const& workload, double tokens, Seconds deadline)
        : setting_(setting), model_(model), workload_(workload), tokens_(tokens), deadline_(deadline) {}

    /// Whether this many accelerators meet the deadline; the first that does is the answer so far.
    bool meets(std::int64_t accelerators) {
        PlannedStep const planned = plan_step(setting_, model_, workload_, accelerators);
        ++answer.tried;
        answer.interrupted = answer.interrupted || planned.interrupted;
        if (!planned.report) return false;
        TrainingRun run = training_run(setting_, planned, tokens_);
        best_rate_ = std::max(best_rate_, run.tokens_per_second() / static_cast<double>(accelerators));
        if (!answer.fastest || run.wall < answer.fastest->wall) answer.fastest = run;
        if (run.wall <= deadline_) {
            answer.run = std::move(run);
            return true;
        }
        if (!answer.missed || answer.missed->step.accelerators < accelerators) answer.missed = std::move(run);
        return false;
    }

    /// Accelerators below which not even the datasheet's peak is enough.
    [[nodiscard]] double least_by_peak() const {
        Flops const per_token = model_flops_per_step(model_, workload_) / static_cast<double>(workload_.tokens());
        FlopsPerSecond const peak = attention_peak(setting_.cluster.accelerator, setting_.constraints.base);
        return tokens_ * per_token / (peak * deadline_);
    }
    /// Accelerators below which the best rate seen, and a little, is not enough.
    [[nodiscard]] double least_by_rate() const {
        return tokens_ / (better_rate_elsewhere * best_rate_ * deadline_.base());
    }

    DeadlineAnswer answer;

private:
    RunSetting const& setting_;
    ModelSpec const& model_;
    Workload const& workload_;
    double tokens_;
    Seconds deadline_;
    double best_rate_ = 0;
};

/// Multiples of `step` in [least, below) that are not on the ladder.
std::vector<std::int64_t> multiples(double least, std::int64_t below, std::int64_t step,
                                    std::vector<std::int64_t> const& ladder) {
    std::vector<std::int64_t> counts;
    auto const first =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(least / static_cast<double>(step))));
    for (std::int64_t n = first * step; n < below; n += step)
        if (!std::binary_search(ladder.begin(), ladder.end(), n)) counts.push_back(n);
    return counts;
}

}  // namespace

std::string days_text(Seconds time) {
    double const days = time.in(units::day);
    constexpr double more_than_four_digits = 9999.5, largest = 1e15;
    return days >= more_than_four_digits && days < largest ? grouped_digits(std::llround(days))
                                                           : fmt::format("{:.4g}", days);
}

DeadlineAnswer smallest_for_deadline(RunSetting const& setting, ModelSpec const& model, Workload const& workload,
                                     double tokens, Seconds deadline) {
    Hunt hunt(setting, model, workload, tokens, deadline);
    std::vector<std::int64_t> const ladder = accelerator_ladder(setting.cluster);
    double const least = hunt.least_by_peak();
    for (std::int64_t const count : ladder) {
        if (setting.stopped()) hunt.answer.interrupted = true;
        if (hunt.answer.interrupted) return hunt.answer;
        if (static_cast<double>(count) >= least && hunt.meets(count)) break;
    }
    if (hunt.answer.tried == 0) hunt.meets(ladder.back());  // misses, but says by how much
    std::int64_t step = setting.cluster.domain_size;
    hunt.answer.step = step;
    if (!hunt.answer.run || hunt.answer.run->step.accelerators <= step) return hunt.answer;
    std::int64_t const bound = hunt.answer.run->step.accelerators;
    double const least_seen = std::max(least, hunt.least_by_rate());
    while ((static_cast<double>(bound) - least_seen) / static_cast<double>(step) > most_multiples)
        step *= 2;
    hunt.answer.step = step;
    for (std::int64_t const count : multiples(least_seen, bound, step, ladder)) {
        if (setting.stopped()) hunt.answer.interrupted = true;
        if (hunt.answer.interrupted || hunt.meets(count)) break;
    }
    return hunt.answer;
}

}  // namespace sextant
