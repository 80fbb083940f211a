#include "planner/run_plan/budget_climb.hpp"

#include "core/error.hpp"
#include "cost_models/scaling/scaling_answer.hpp"
#include "planner/run_plan/accelerator_ladder.hpp"

#include <bit>
#include <optional>
#include <utility>

namespace sextant {
namespace {

/// The better use of a budget: more tokens of a model that is given, a larger model of tokens that are, else the lower
/// loss, of laws without one more compute.
bool is_better(RunQuestion const& question, BudgetRun const& run, BudgetRun const& than) {
    double const n = active_parameters(run.model), other_n = active_parameters(than.model);
    if (question.model || question.parameters) return run.tokens > than.tokens;
    if (question.tokens) return std::pair(run.tokens, n) > std::pair(than.tokens, other_n);
    if (!predicts_a_loss(question.law)) return n * run.tokens > other_n * than.tokens;
    return loss_by_law(question.law, n, run.tokens) < loss_by_law(question.law, other_n, than.tokens);
}

std::int64_t next_power_of_two(std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n) + 1));
}

/// `plan_budget`; nothing where the rounds come to a size without a shape.
std::optional<BudgetRun> plan_budget_if_sized(RunSetting const& setting, RunQuestion const& question,
                                              std::int64_t accelerators) {
    try {
        return plan_budget(setting, question, accelerators);
    } catch (InputError const&) {
        return {};
    }
}

class Climber {
public:
    Climber(RunSetting const& setting, RunQuestion const& question, std::int64_t first)
        : setting_(setting), question_(question), climb_{plan_budget(setting, question, first), first, first} {}

    BudgetClimb climb() {
        climb_one_octave();
        climb_by_octaves();
        return std::move(climb_);
    }

private:
    /// Up to the next power of two above the first rung with a plan. A batch that is a power of two divides badly by
    /// the replicas of the rungs between.
    void climb_one_octave() {
        for (std::int64_t const rung : accelerator_ladder(setting_.cluster)) {
            bool const done = found() ? climb_.last >= next_power_of_two(climb_.first) : climb_.best.less_than_a_step;
            if (done || climb_.best.interrupted) return;
            if (rung > climb_.last) improves_on(rung);
        }
    }

    /// Beyond it a rung an octave, until two of them are no better: more accelerators have the room for a faster plan.
    void climb_by_octaves() {
        constexpr int enough_misses = 2;
        for (int misses = 0; misses < enough_misses && found() && !climb_.best.interrupted;) {
            auto const rung = rung_above(setting_.cluster, 2.0 * static_cast<double>(climb_.last));
            if (!rung) return;
            misses = improves_on(*rung) ? 0 : misses + 1;
        }
    }

    /// Whether this rung is better than all before.
    bool improves_on(std::int64_t rung) {
        climb_.last = rung;
        std::optional<BudgetRun> run = plan_budget_if_sized(setting_, question_, rung);
        if (!run) return false;
        bool const interrupted = run->interrupted || climb_.best.interrupted;
        bool const plans = run->planned.report.has_value();
        bool const better = !found() || (plans && is_better(question_, *run, climb_.best));
        if (!found() && plans) climb_.first = rung;
        if (better) climb_.best = std::move(*run);
        climb_.best.interrupted = interrupted;
        return better;
    }

    [[nodiscard]] bool found() const { return climb_.best.planned.report.has_value(); }

    RunSetting const& setting_;
    RunQuestion const& question_;
    BudgetClimb climb_;
};

}  // namespace

BudgetClimb climb_ladder(RunSetting const& setting, RunQuestion const& question, std::int64_t first) {
    return Climber(setting, question, first).climb();
}

}  // namespace sextant
