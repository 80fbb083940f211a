#include "planner/run_plan/run_plan.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/scaling/scaling_answer.hpp"
#include "planner/explain.hpp"
#include "planner/run_plan/accelerator_ladder.hpp"
#include "planner/run_plan/budget_climb.hpp"
#include "planner/run_plan/global_batch.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

constexpr double six = training_flops_per_parameter_token;

/// Why no number of accelerators meets a deadline.
std::string why_none_is_in_time(DeadlineAnswer const& answer, Seconds deadline) {
    if (!answer.fastest) return "no number of accelerators was found that it fits on";
    return fmt::format("no number of accelerators ends it in {} days; {} take {}", days_text(deadline),
                       grouped_digits(answer.fastest->step.accelerators), days_text(answer.fastest->wall));
}

/// How much too late a run ends, and what would help.
std::string why_too_late(RunAnswer const& answer, Seconds deadline, std::string_view remedy) {
    return fmt::format("{} accelerators take {} days, {} more than the deadline ({})",
                       grouped_digits(answer.run->step.accelerators), days_text(answer.run->wall),
                       days_text(answer.run->wall - deadline), remedy);
}

/// The fewest accelerators that end the run in time.
void hunt(RunAnswer& answer, RunSetting const& setting, Seconds deadline) {
    answer.deadline = smallest_for_deadline(setting, answer.model, answer.workload, answer.tokens, deadline);
    answer.interrupted = answer.interrupted || answer.deadline->interrupted;
    answer.searched = accelerator_ladder(setting.cluster).back();
}

/// A run on the accelerators asked for; with a deadline also whether they meet it, and the fewest that do.
void plan_on(RunAnswer& answer, RunSetting const& setting, RunQuestion const& question) {
    PlannedStep const planned = plan_step(setting, answer.model, answer.workload, *question.accelerators);
    answer.interrupted = planned.interrupted;
    answer.reason = planned.reason;
    if (planned.report) answer.run = training_run(setting, planned, answer.tokens);
    if (question.deadline && !answer.interrupted) hunt(answer, setting, *question.deadline);
    answer.searched = *question.accelerators;
    if (!answer.deadline) return;
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
    hunt(answer, setting, deadline);
    answer.run = answer.deadline->run;
    if (!answer.run)
        answer.reason = why_none_is_in_time(*answer.deadline, deadline);
    else if (!question.deadline)
        answer.choices.push_back(
            fmt::format("accelerators: as few as end the run in {} days (--gpus, --deadline)", days_text(deadline)));
}

/// Why no number of accelerators uses money or machine time up by the deadline.
std::string why_more_than_all(RunSetting const& setting, Seconds of_one, Seconds deadline) {
    std::int64_t const most = accelerator_ladder(setting.cluster).back();
    return fmt::format(
        "the budget is more than {} days of all {} accelerators, which take {}: a smaller budget or a "
        "later --deadline",
        days_text(deadline), grouped_digits(most), days_text(of_one / static_cast<double>(most)));
}

/// What the best of several plans is best at.
char const* best_at(RunQuestion const& question) {
    if (question.model || question.parameters) return "the most tokens";
    if (question.tokens) return "the largest model";
    return predicts_a_loss(question.law) ? "the lowest loss" : "the most compute";
}

/// Why the model is not the size that the budget would be enough for.
std::string why_smaller(RunQuestion const& question, BudgetRun const& run) {
    std::string const count = grouped_digits(run.accelerators), size = human_count(*run.too_large);
    if (question.tokens)
        return fmt::format(
            "model: of the shapes tried that fit on {} accelerators the largest that sees the tokens; one of {} "
            "parameters has no plan there (--gpus)",
            count, size);
    return fmt::format(
        "model: of the shapes tried that fit on {} accelerators the one with {}; one of {} parameters, the law's "
        "choice, has no plan there (--gpus, --params)",
        count, best_at(question), size);
}

void take(RunAnswer& answer, RunSetting const& setting, RunQuestion const& question, BudgetRun const& run) {
    answer.model = run.model;
    answer.parameters = active_parameters(run.model);
    answer.tokens = run.tokens;
    answer.workload = run.workload;
    answer.searched = run.accelerators;
    answer.rounds = run.rounds;
    answer.taken = run.taken;
    answer.convergence = run.convergence;
    answer.reason = run.reason;
    if (!run.planned.report) return;
    answer.run = training_run(setting, run.planned, run.tokens);
    if (run.too_large) answer.choices.push_back(why_smaller(question, run));
}

/// A budget of time or money on the accelerators asked for, held against the deadline if there is one.
void plan_budget_on(RunAnswer& answer, RunSetting const& setting, RunQuestion const& question) {
    BudgetRun const run = plan_budget(setting, question, *question.accelerators);
    answer.interrupted = run.interrupted;
    take(answer, setting, question, run);
    if (!answer.run || ends_in_time(question, answer)) return;
    Seconds const of_one = *wall_within(*question.budget, setting.cluster, 1);
    auto const enough = rung_above(setting.cluster, of_one / *question.deadline);
    answer.reason = why_too_late(answer, *question.deadline,
                                 enough ? fmt::format("--gpus {} use it up in time", *enough)
                                        : why_more_than_all(setting, of_one, *question.deadline));
}

/// A budget of time or money on the number of accelerators that makes the most of it, of the rungs that use it up by
/// the deadline.
void plan_budget_anywhere(RunAnswer& answer, RunSetting const& setting, RunQuestion const& question) {
    if (question.budget->kind == Budget::Kind::days)
        throw InputError("--days: on how many accelerators is not said (--gpus N)");
    Seconds const deadline = question.deadline.value_or(usual_deadline);
    Seconds const of_one = *wall_within(*question.budget, setting.cluster, 1);
    auto const fewest = rung_above(setting.cluster, of_one / deadline);
    std::int64_t const first = fewest.value_or(accelerator_ladder(setting.cluster).back());
    BudgetClimb const climb = climb_ladder(setting, question, first);
    answer.interrupted = climb.best.interrupted;
    take(answer, setting, question, climb.best);
    if (!answer.run) return;
    if (!fewest) {
        answer.reason = why_more_than_all(setting, of_one, deadline);
        answer.run.reset();
        return;
    }
    std::string const why =
        climb.first == climb.last
            ? fmt::format("so that the budget is used up within {} days", days_text(deadline))
            : fmt::format("with {} of {} to {}, all of which use the budget up within {} days", best_at(question),
                          grouped_digits(climb.first), grouped_digits(climb.last), days_text(deadline));
    answer.choices.insert(answer.choices.begin(), fmt::format("accelerators: {}, {} (--gpus, --deadline)",
                                                              grouped_digits(climb.best.accelerators), why));
}

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
    ModelSpec const model = model_for(question, flops);
    double const parameters = active_parameters(model);
    double const tokens = question.budget ? flops / (six * parameters) : question.tokens.value_or(20 * parameters);
    if (!question.budget && !question.tokens)
        answer.choices.emplace_back("tokens: 20 per parameter (--tokens, or a budget)");
    answer.model = model;
    answer.parameters = parameters;
    answer.tokens = tokens;
    answer.workload = run_workload(setting, model, tokens);
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
    } else if (question.accelerators) {
        plan_budget_on(answer, setting, question);
    } else {
        plan_budget_anywhere(answer, setting, question);
    }
    if (!setting.global_batch)
        answer.choices.push_back(fmt::format(
            "global batch: the power of two of sequences within the critical batch of {} tokens (--global-batch)",
            human_count(critical_batch_tokens(answer.tokens))));
    bool const lawful = divides_a_budget(question.law) || predicts_a_loss(question.law);
    if (answer.tokens > 0 && lawful && !setting.constraints.base.adapters.on())
        answer.law = ask_law(question.law, answer.parameters, answer.tokens);
    warn_of_the_law(answer, question);
    if (answer.run && question.tokens && answer.tokens < *question.tokens)
        answer.law.warnings.push_back(
            fmt::format("{} of the {} tokens asked: no smaller shape with a plan sees more in "
                        "the time (a larger budget, or fewer --tokens)",
                        human_count(answer.tokens), human_count(*question.tokens)));
    return answer;
}

}  // namespace sextant
