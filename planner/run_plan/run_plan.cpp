#include "planner/run_plan/run_plan.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/scaling/scaling_answer.hpp"
#include "planner/explain.hpp"
#include "planner/run_plan/accelerator_ladder.hpp"
#include "planner/run_plan/global_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {
namespace {

constexpr double six = training_flops_per_parameter_token;
constexpr double first_mfu = 0.4;
constexpr double agrees = 0.005;
constexpr int most_rounds = 25;
constexpr double most_tokens = 1e18;

double active_parameters(ModelSpec const& model) { return static_cast<double>(count_parameters(model).active); }

/// Chooses sizes: by the law, or by the tokens, the size or the model that are given.
class Chooser {
public:
    explicit Chooser(RunQuestion const& question) : question_(question) {}

    /// The model for this much compute.
    [[nodiscard]] ModelSpec model(double flops) const {
        if (question_.model) return *question_.model;
        if (question_.parameters) return model_of_size(*question_.parameters, question_.shape, "--params");
        double const size = question_.tokens ? flops / (six * *question_.tokens) : optimal_size(question_.law, flops);
        return model_of_size(size, question_.shape, question_.tokens ? "--tokens" : "--law");
    }
    /// Whether the compute decides about the model.
    [[nodiscard]] bool by_compute() const { return !question_.model && !question_.parameters; }

private:
    RunQuestion const& question_;
};

/// Numbers that tell two shapes of `model_of_size` apart.
std::array<std::int64_t, 5> shape_key(ModelSpec const& model) {
    return {model.layer_count(), model.hidden, model.mlp.intermediate, model.vocab, model.tied_embeddings ? 1 : 0};
}

/// Model, tokens and workload of the run.
void take_model(RunAnswer& answer, RunSetting const& setting, ModelSpec const& model, double tokens) {
    if (!(tokens >= 1 && tokens <= most_tokens))
        throw InputError("run-plan: {:.4g} tokens for {} (1 to {:g})", tokens, model.name, most_tokens);
    answer.model = model;
    answer.parameters = active_parameters(model);
    answer.tokens = tokens;
    answer.workload = run_workload(setting, model, tokens);
}

/// Why no number of accelerators meets a deadline.
std::string why_none_is_in_time(DeadlineAnswer const& answer, Seconds deadline) {
    if (!answer.fastest) return "no number of accelerators was found that it fits on";
    return fmt::format("no number of accelerators ends it in {:.4g} days; {} take {:.4g}", deadline.in(units::day),
                       grouped_digits(answer.fastest->step.accelerators), answer.fastest->wall.in(units::day));
}

/// How much too late a run ends, and what would help.
std::string why_too_late(RunAnswer const& answer, Seconds deadline, std::string_view remedy) {
    return fmt::format("{} accelerators take {:.4g} days, {:.3g} more than the deadline ({})",
                       grouped_digits(answer.run->step.accelerators), answer.run->wall.in(units::day),
                       (answer.run->wall - deadline).in(units::day), remedy);
}

/// The fewest accelerators that end the run in time.
void hunt(RunAnswer& answer, RunSetting const& setting, Seconds deadline) {
    answer.deadline = smallest_for_deadline(setting, answer.model, answer.workload, answer.tokens, deadline);
    answer.interrupted = answer.interrupted || answer.deadline->interrupted;
}

/// A run on the accelerators asked for; with a deadline also whether they meet it, and the fewest that do.
void plan_on(RunAnswer& answer, RunSetting const& setting, RunQuestion const& question) {
    PlannedStep const planned = plan_step(setting, answer.model, answer.workload, *question.accelerators);
    answer.interrupted = planned.interrupted;
    answer.reason = planned.reason;
    if (planned.report) answer.run = training_run(setting, planned, answer.tokens);
    if (!question.deadline || answer.interrupted) return;
    hunt(answer, setting, *question.deadline);
    if (ends_in_time(question, answer)) return;
    std::optional<TrainingRun> const& fewest = answer.deadline->run;
    std::string const remedy = fewest ? fmt::format("--gpus {}", fewest->step.accelerators)
                                      : why_none_is_in_time(*answer.deadline, *question.deadline);
    answer.reason =
        answer.run ? why_too_late(answer, *question.deadline, remedy) : fmt::format("{} ({})", answer.reason, remedy);
}

/// A run whose model and tokens are known, on the accelerators asked for or as few as the deadline allows.
void plan_known(RunAnswer& answer, RunSetting const& setting, RunQuestion const& question) {
    if (question.accelerators) return plan_on(answer, setting, question);
    Seconds const deadline = question.deadline.value_or(usual_deadline);
    if (!question.deadline)
        answer.choices.push_back(fmt::format("accelerators: as few as end the run in {:g} days (--gpus, --deadline)",
                                             deadline.in(units::day)));
    hunt(answer, setting, deadline);
    answer.run = answer.deadline->run;
    if (!answer.run) answer.reason = why_none_is_in_time(*answer.deadline, deadline);
}

/// Accelerators of a budget of time or money: those asked for, or as many as use it up by the deadline.
std::int64_t accelerators_of(RunAnswer& answer, RunSetting const& setting, RunQuestion const& question) {
    if (question.accelerators) return *question.accelerators;
    if (question.budget->kind == Budget::Kind::days)
        throw InputError("--days: on how many accelerators is not said (--gpus N)");
    Seconds const deadline = question.deadline.value_or(usual_deadline);
    Seconds const of_one = *wall_within(*question.budget, setting.cluster, 1);
    std::int64_t const accelerators = rung_above(setting.cluster, of_one / deadline);
    Seconds const lasts = of_one / static_cast<double>(accelerators);
    answer.choices.push_back(
        lasts <= deadline
            ? fmt::format("accelerators: {}, so that the budget is used up within {:g} days (--gpus, --deadline)",
                          grouped_digits(accelerators), deadline.in(units::day))
            : fmt::format("accelerators: {}, as many as there are, on which the budget lasts {:.4g} days (--gpus)",
                          grouped_digits(accelerators), lasts.in(units::day)));
    return accelerators;
}

/// One model and what the time is enough for with it.
struct Attempt {
    ModelSpec model;
    PlannedStep planned;
    double tokens = 0;
};

/// Rounds of model, plan, tokens until the compute agrees; see `answer_run`.
class BudgetRounds {
public:
    BudgetRounds(RunAnswer& answer, RunSetting const& setting, RunQuestion const& question)
        : answer_(answer), setting_(setting), question_(question), chooser_(question) {}

    void run() {
        std::int64_t const accelerators = accelerators_of(answer_, setting_, question_);
        wall_ = *wall_within(*question_.budget, setting_.cluster, accelerators);
        FlopsPerSecond const peak = setting_.cluster.accelerator.peak_of(setting_.constraints.base.precision).value;
        double flops = (first_mfu * static_cast<double>(accelerators) * peak * wall_).base();
        answer_.convergence = Convergence::open;
        for (int round = 0; round < most_rounds && answer_.convergence == Convergence::open; ++round) {
            ModelSpec const model = chooser_.model(flops);
            if (repeats(model)) break;
            if (!attempt(model, accelerators, flops)) return;
            double const delivered = six * active_parameters(model) * attempts_.back().tokens;
            if (std::abs(delivered / flops - 1) <= agrees || !chooser_.by_compute())
                answer_.convergence = chooser_.by_compute() ? Convergence::settled : Convergence::not_needed;
            flops = delivered;
        }
        finish();
    }

private:
    /// Whether a shape was tried before: the last one again is the answer, an earlier one a circle.
    bool repeats(ModelSpec const& model) {
        for (std::size_t i = 0; i < attempts_.size(); ++i) {
            if (shape_key(attempts_[i].model) != shape_key(model)) continue;
            bool const last = i + 1 == attempts_.size();
            answer_.convergence = last ? Convergence::settled : Convergence::alternating;
            first_of_circle_ = i;
            return true;
        }
        return false;
    }

    bool attempt(ModelSpec const& model, std::int64_t accelerators, double flops) {
        take_model(answer_, setting_, model, flops / (six * active_parameters(model)));
        PlannedStep const planned = plan_step(setting_, model, answer_.workload, accelerators);
        answer_.interrupted = planned.interrupted || setting_.stopped();
        if (!planned.report) {
            answer_.reason = planned.reason;
            return false;
        }
        Attempt attempt{.model = model, .planned = planned};
        attempt.tokens = tokens_within(attempt.planned, wall_);
        if (!(attempt.tokens > 0)) {
            answer_.reason = fmt::format("one step takes {}, more than the {} of the budget",
                                         human(attempt.planned.report->estimate.time), human(wall_));
            return false;
        }
        answer_.rounds.push_back({.flops = flops,
                                  .model = model.name,
                                  .parameters = answer_.parameters,
                                  .tokens = attempt.tokens,
                                  .mfu = attempt.planned.report->mfu});
        attempts_.push_back(std::move(attempt));
        return !answer_.interrupted;
    }

    /// The last attempt, or the best of a circle.
    void finish() {
        if (attempts_.empty()) return;
        Attempt const* chosen = &attempts_.back();
        auto const loss = [&](Attempt const& a) {
            return loss_by_law(question_.law, active_parameters(a.model), a.tokens);
        };
        if (answer_.convergence == Convergence::alternating)
            for (std::size_t i = first_of_circle_; i < attempts_.size(); ++i)
                if (loss(attempts_[i]) < loss(*chosen)) chosen = &attempts_[i];
        take_model(answer_, setting_, chosen->model, chosen->tokens);
        answer_.workload = chosen->planned.report->workload;
        answer_.run = training_run(setting_, chosen->planned, chosen->tokens);
        if (ends_in_time(question_, answer_)) return;
        if (question_.accelerators)
            answer_.reason =
                why_too_late(answer_, *question_.deadline,
                             fmt::format("--gpus {} use it up in time",
                                         rung_above(setting_.cluster, static_cast<double>(*question_.accelerators) *
                                                                          (wall_ / *question_.deadline))));
        else
            miss_deadline();
    }

    /// More machine time than all accelerators have until then.
    void miss_deadline() {
        answer_.reason = fmt::format(
            "the budget is more than {:.4g} days of all {} accelerators, it lasts {:.4g} (a smaller "
            "budget, a later --deadline, or --gpus)",
            question_.deadline->in(units::day), grouped_digits(answer_.run->step.accelerators),
            answer_.run->wall.in(units::day));
        answer_.run.reset();
    }

    RunAnswer& answer_;
    RunSetting const& setting_;
    RunQuestion const& question_;
    Chooser chooser_;
    Seconds wall_;
    std::vector<Attempt> attempts_;
    std::size_t first_of_circle_ = 0;
};

void require_determined(RunQuestion const& q) {
    bool const sized = q.model || q.parameters;
    if (q.model && q.parameters)
        throw InputError("--params: the model is given as well (--model or --params, not both)");
    if (!q.budget && !sized)
        throw InputError(
            "run-plan: neither a budget nor a model (--flops, --dollars, --gpu-hours, --days with --gpus, or --model)");
    if (q.budget && sized && q.tokens)
        throw InputError(
            "--tokens: model, tokens and budget are one too many (leave out the budget: the report says what "
            "the tokens take; or the tokens: it says how many the budget buys)");
    if (q.deadline && q.budget && q.budget->kind == Budget::Kind::days)
        throw InputError("--deadline: --days says how long the run takes (one of the two)");
}

/// Laws of training every weight say nothing of adapters: what these would choose has to be given.
void require_determined_adapters(RunSetting const& setting, RunQuestion const& q) {
    if (!setting.constraints.base.adapters.on()) return;
    if (!q.model) throw InputError("--lora-rank: adapters are trained beside a model that there is (--model)");
    if (q.budget && q.budget->kind == Budget::Kind::flops)
        throw InputError(
            "--flops: 6 N D is the work of training every weight, not of adapters (--tokens, or a budget of time or "
            "money)");
    if (!q.budget && !q.tokens)
        throw InputError(
            "--tokens: on how many the adapters are trained is not said (20 per parameter is for every weight)");
}

/// Model and tokens when no machine time has to be divided.
void choose_at_once(RunAnswer& answer, RunSetting const& setting, RunQuestion const& question) {
    double const flops = question.budget ? question.budget->amount : 0;
    ModelSpec const model = Chooser(question).model(flops);
    double const parameters = active_parameters(model);
    double const tokens = question.budget ? flops / (six * parameters) : question.tokens.value_or(20 * parameters);
    if (!question.budget && !question.tokens)
        answer.choices.emplace_back("tokens: 20 per parameter (--tokens, or a budget)");
    take_model(answer, setting, model, tokens);
}

/// Where the N of the law and the N of the run are not the same thing, or the run hardly is one of the law.
void warn_of_the_law(RunAnswer& answer, RunQuestion const& question) {
    if (!(answer.law.flops > 0)) return;
    if (answer.model.moe)
        answer.law.warnings.emplace_back("a law of dense models is asked with the active parameters of this one");
    std::string const& counting = question.law.counting;
    if (!counting.empty() && counting != "total")
        answer.law.warnings.push_back(
            fmt::format("the law counts {} parameters, the run all of them, embeddings included", counting));
    if (question.model && answer.tokens < answer.parameters)
        answer.law.warnings.emplace_back(
            "fewer tokens than parameters: the law is of training from nothing, and says nothing of a trained model "
            "that goes on (its time and cost are the same)");
}

}  // namespace

std::string_view name_of(Convergence convergence) {
    switch (convergence) {
        case Convergence::not_needed: return "not needed";
        case Convergence::settled: return "settled";
        case Convergence::alternating: return "alternating";
        case Convergence::open: return "open";
    }
    return "?";
}

bool ends_in_time(RunQuestion const& question, RunAnswer const& answer) {
    return answer.run && (!question.deadline || answer.run->wall <= *question.deadline);
}

RunAnswer answer_run(RunSetting const& setting, RunQuestion const& question) {
    require_determined(question);
    require_determined_adapters(setting, question);
    RunAnswer answer;
    if (!question.budget || question.budget->kind == Budget::Kind::flops) {
        choose_at_once(answer, setting, question);
        plan_known(answer, setting, question);
    } else {
        BudgetRounds(answer, setting, question).run();
    }
    if (!setting.global_batch)
        answer.choices.push_back(fmt::format(
            "global batch: the power of two of sequences within the critical batch of {} tokens (--global-batch)",
            human_count(critical_batch_tokens(answer.tokens))));
    bool const lawful = divides_a_budget(question.law) || predicts_a_loss(question.law);
    if (answer.tokens > 0 && lawful && !setting.constraints.base.adapters.on())
        answer.law = ask_law(question.law, answer.parameters, answer.tokens);
    warn_of_the_law(answer, question);
    return answer;
}

}  // namespace sextant
