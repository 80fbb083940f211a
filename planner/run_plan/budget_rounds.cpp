#include "planner/run_plan/budget_rounds.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/scaling/scaling_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace sextant {
namespace {

constexpr double six = training_flops_per_parameter_token;
constexpr double first_mfu = 0.4;
constexpr double agrees = 0.005;
constexpr int most_rounds = 25;
constexpr double least_size = 1e7;
constexpr double size_agrees = 1.02;
constexpr double beside = 1.03;               ///< next sizes that are tried
constexpr std::size_t most_steps_beside = 8;  ///< assumed: to a quarter more or less than the law's size

/// Numbers that tell two shapes of `model_of_size` apart.
std::array<std::int64_t, 5> shape_key(ModelSpec const& model) {
    return {model.layer_count(), model.hidden, model.mlp.intermediate, model.vocab, model.tied_embeddings ? 1 : 0};
}

/// One model and what the time is enough for with it.
struct Attempt {
    ModelSpec model;
    PlannedStep planned;  ///< with a report
    double tokens = 0;    ///< in whole steps; zero: not one
};

class BudgetRounds {
public:
    BudgetRounds(RunSetting const& setting, RunQuestion const& question, std::int64_t accelerators)
        : setting_(setting),
          question_(question),
          wall_(*wall_within(*question.budget, setting.cluster, accelerators)),
          by_compute_(!question.model && !question.parameters),
          by_law_(by_compute_ && !question.tokens) {
        run_.accelerators = accelerators;
    }

    BudgetRun run() {
        FlopsPerSecond const peak = setting_.cluster.accelerator.peak_of(setting_.constraints.base.precision).value;
        double flops = (first_mfu * static_cast<double>(run_.accelerators) * peak * wall_).base();
        bool open = true;
        for (int round = 0; round < most_rounds && open; ++round) {
            std::optional<ModelSpec> const model = next_model(flops);
            if (!model || repeats(*model)) break;
            std::optional<Attempt> attempt = attempted(*model, flops);
            if (!attempt && by_law_ && !run_.interrupted) attempt = smaller_attempt(active_parameters(*model), flops);
            if (!attempt || !keeps(*attempt, flops)) break;
            double const delivered = six * active_parameters(attempts_.back().model) * attempts_.back().tokens;
            open = by_compute_ && std::abs(delivered / flops - 1) > agrees;
            run_.convergence = open ? Convergence::open : by_compute_ ? Convergence::settled : Convergence::not_needed;
            flops = delivered;
        }
        keep_earlier_rounds();
        if (by_compute_ && !by_law_) meet_tokens();
        if (by_law_ && predicts_a_loss(question_.law)) try_beside();
        finish();
        return std::move(run_);
    }

private:
    /// Nothing where this compute leads to a size without a shape, and an earlier round to one with a plan.
    [[nodiscard]] std::optional<ModelSpec> next_model(double flops) const {
        try {
            return model_for(question_, flops, most_parameters_);
        } catch (InputError const&) {
            if (attempts_.empty()) throw;
            return {};
        }
    }

    /// The round of this shape, if there was one.
    [[nodiscard]] std::optional<std::size_t> round_of(ModelSpec const& model) const {
        for (std::size_t i = 0; i < attempts_.size(); ++i)
            if (shape_key(attempts_[i].model) == shape_key(model)) return i;
        return {};
    }

    /// Whether a shape was tried before: the last one again ends the rounds, an earlier one a circle.
    bool repeats(ModelSpec const& model) {
        std::optional<std::size_t> const before = round_of(model);
        if (!before) return false;
        bool const last = *before + 1 == attempts_.size();
        run_.convergence = last ? Convergence::settled : Convergence::alternating;
        first_of_circle_ = *before;
        return true;
    }

    /// The plan for the batch of the tokens asked for, or of those that it delivers. Nothing, and a reason, where there
    /// is none.
    std::optional<Attempt> attempted(ModelSpec const& model, double flops) {
        run_.model = model;
        run_.tokens = question_.tokens.value_or(flops / (six * active_parameters(model)));
        run_.workload = run_workload(setting_, model, run_.tokens);
        auto const batch_of = [](Attempt const& a) { return a.planned.report->workload.global_batch; };
        for (std::vector<Attempt> tried;;) {
            PlannedStep planned = plan_step(setting_, model, run_.workload, run_.accelerators);
            run_.interrupted = planned.interrupted || setting_.stopped();
            if (!planned.report) {
                run_.reason = planned.reason;
                return {};
            }
            double const tokens = tokens_within(planned, wall_);
            tried.push_back({.model = model, .planned = std::move(planned), .tokens = tokens});
            if (question_.tokens || !(tokens > 0) || run_.interrupted) return tried.back();
            run_.workload = run_workload(setting_, model, tokens);
            auto const again = std::find_if(tried.begin(), tried.end(), [&](Attempt const& earlier) {
                return batch_of(earlier) == run_.workload.global_batch;
            });
            if (again == tried.end()) continue;
            return *std::min_element(again, tried.end(),
                                     [&](Attempt const& a, Attempt const& b) { return batch_of(a) < batch_of(b); });
        }
    }

    /// Of the shapes tried while the largest that fits is looked for below a size that does not: the one with the
    /// lowest loss, of laws without one the largest. No later round takes a larger one.
    std::optional<Attempt> smaller_attempt(double too_large, double flops) {
        BudgetRun const failed = run_;
        std::optional<Attempt> best;
        double fits = 0, misfit = too_large;
        while (misfit > std::max(least_size, size_agrees * fits) && !run_.interrupted) {
            double const size = fits > 0 ? std::sqrt(fits * misfit) : misfit / 2;
            std::optional<Attempt> attempt = attempt_of_size(size, flops);
            (attempt ? fits : misfit) = size;
            if (!attempt || (best && predicts_a_loss(question_.law) && loss(*attempt) > loss(*best))) continue;
            best = std::move(attempt);
            most_parameters_ = size;
        }
        if (!best) {
            run_ = failed;
            return {};
        }
        run_.reason.clear();
        run_.too_large = too_large;
        return best;
    }

    std::optional<Attempt> attempt_of_size(double size, double flops) {
        try {
            return attempted(model_of_size(size, question_.shape, "--law"), flops);
        } catch (InputError const&) {  // no shape of this size, with this vocabulary
            return {};
        }
    }

    /// Adds an attempt; false where it is the last.
    bool keeps(Attempt attempt, double flops) {
        StepReport const& step = *attempt.planned.report;
        if (!(attempt.tokens > 0)) {
            run_.less_than_a_step = true;
            run_.reason = fmt::format("one step takes {}, more than the {} of the budget", human(step.estimate.time),
                                      human(wall_));
            return false;
        }
        run_.rounds.push_back({.flops = flops,
                               .model = attempt.model.name,
                               .parameters = active_parameters(attempt.model),
                               .tokens = attempt.tokens,
                               .mfu = step.mfu,
                               .loss = loss(attempt)});
        attempts_.push_back(std::move(attempt));
        return !run_.interrupted;
    }

    /// A later round without a plan leaves the earlier ones to answer.
    void keep_earlier_rounds() {
        if (attempts_.empty() || run_.reason.empty()) return;
        if (!run_.less_than_a_step && !run_.interrupted) without_plan_ = active_parameters(run_.model);
        forget_failure();
    }

    void forget_failure() {
        run_.reason.clear();
        run_.less_than_a_step = false;
    }

    /// Tokens within the time by a shape of this size, which becomes a round unless it is one; 0: it has no plan.
    double tokens_of_size(double size, double flops) {
        try {
            ModelSpec const model = model_of_size(size, question_.shape, "--law");
            if (auto const before = round_of(model)) return run_.rounds[*before].tokens;
            std::optional<Attempt> attempt = attempted(model, flops);
            double const tokens = attempt ? attempt->tokens : 0;
            if (attempt) keeps(std::move(*attempt), flops);
            forget_failure();
            return tokens;
        } catch (InputError const&) {  // no shape of this size, with this vocabulary
            return 0;
        }
    }

    /// Narrows down the largest size that sees the tokens asked for in the time, within 2 %.
    void meet_tokens() {
        double const asked = *question_.tokens;
        double enough = 0, too_large = without_plan_.value_or(std::numeric_limits<double>::infinity());
        for (BudgetRound const& r : run_.rounds)
            if (r.tokens >= asked) enough = std::max(enough, r.parameters);
        for (BudgetRound const& r : run_.rounds)
            if (r.tokens < asked && r.parameters > enough) too_large = std::min(too_large, r.parameters);
        if (run_.rounds.empty() || !std::isfinite(too_large)) return;
        double shrink = size_agrees;
        while (too_large > std::max(least_size, size_agrees * enough) && !run_.interrupted) {
            double const size = enough > 0 ? std::sqrt(enough * too_large) : too_large / shrink;
            (tokens_of_size(size, six * size * asked) >= asked ? enough : too_large) = size;
            shrink *= shrink;
        }
    }

    /// The law's loss hardly changes with the size, the plan's rate jumps with the shape: sizes beside the best one are
    /// tried, and further ones on the side that is better.
    void try_beside() {
        if (run_.rounds.empty()) return;
        for (double const factor : {1 / beside, beside}) {
            std::size_t const before = best_round();
            for (std::size_t step = 0; step < most_steps_beside && !run_.interrupted; ++step) {
                std::size_t const best = best_round();
                BudgetRound const middle = run_.rounds[best];
                double const size = factor * middle.parameters;
                if (size > most_parameters_.value_or(size)) break;
                tokens_of_size(size, six * middle.parameters * middle.tokens);
                if (best_round() == best) break;
            }
            if (best_round() != before) return;
        }
    }

    /// The best of the rounds, whichever it is: the plan's rate jumps with the shape, so the last is often not.
    void finish() {
        if (attempts_.empty() || !run_.reason.empty()) return;
        run_.taken = best_round();
        Attempt* const chosen = &attempts_[run_.taken];
        bool const smaller =
            most_parameters_ &&
            shape_key(chosen->model) == shape_key(model_of_size(*most_parameters_, question_.shape, "--law"));
        if (!smaller) run_.too_large = without_plan_;
        run_.model = std::move(chosen->model);
        run_.tokens = std::min(chosen->tokens, question_.tokens.value_or(chosen->tokens));
        run_.workload = chosen->planned.report->workload;
        run_.planned = std::move(chosen->planned);
    }

    /// The round of the lowest loss, or the largest model that sees the tokens asked for. Laws without one say only
    /// which N belongs to a compute, so of them the last, or of a circle the one with the most compute.
    [[nodiscard]] std::size_t best_round() const {
        std::vector<BudgetRound> const& rounds = run_.rounds;
        bool const by_loss = predicts_a_loss(question_.law);
        auto const better = [&](BudgetRound const& a, BudgetRound const& b) {
            if (question_.tokens) return sees_more(a, b);
            return by_loss ? a.loss < b.loss : a.parameters * a.tokens > b.parameters * b.tokens;
        };
        std::size_t const circle = run_.convergence == Convergence::alternating ? first_of_circle_ : rounds.size() - 1;
        auto const first = rounds.begin() + static_cast<std::ptrdiff_t>(by_loss || question_.tokens ? 0 : circle);
        return static_cast<std::size_t>(std::min_element(first, rounds.end(), better) - rounds.begin());
    }

    /// More of the tokens asked for, then a larger model.
    [[nodiscard]] bool sees_more(BudgetRound const& a, BudgetRound const& b) const {
        double const of_a = std::min(a.tokens, *question_.tokens), of_b = std::min(b.tokens, *question_.tokens);
        return of_a != of_b ? of_a > of_b : a.parameters > b.parameters;
    }

    [[nodiscard]] double loss(Attempt const& a) const {
        return loss_by_law(question_.law, active_parameters(a.model), a.tokens);
    }

    RunSetting const& setting_;
    RunQuestion const& question_;
    Seconds wall_;
    bool by_compute_;
    bool by_law_;
    BudgetRun run_;
    std::optional<double> most_parameters_;
    std::optional<double> without_plan_;  ///< parameters of the shape that ended the rounds
    std::vector<Attempt> attempts_;
    std::size_t first_of_circle_ = 0;
};

}  // namespace

double active_parameters(ModelSpec const& model) { return static_cast<double>(count_parameters(model).active); }

ModelSpec model_for(RunQuestion const& question, double flops, std::optional<double> most_parameters) {
    if (question.model) return *question.model;
    if (question.parameters) return model_of_size(*question.parameters, question.shape, "--params");
    if (question.tokens) return model_of_size(flops / (six * *question.tokens), question.shape, "--tokens");
    double const most = most_parameters.value_or(std::numeric_limits<double>::infinity());
    return model_of_size(std::min(most, optimal_size(question.law, flops)), question.shape, "--law");
}

BudgetRun plan_budget(RunSetting const& setting, RunQuestion const& question, std::int64_t accelerators) {
    return BudgetRounds(setting, question, accelerators).run();
}

}  // namespace sextant
