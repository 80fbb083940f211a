#pragma once

#include "cost_models/scaling/fitted_law.hpp"
#include "planner/run_plan/budget.hpp"
#include "planner/run_plan/deadline.hpp"
#include "planner/run_plan/model_shape.hpp"
#include "planner/run_plan/training_run.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// What is asked: a budget, or a model with its tokens, or both; on so many accelerators, as few as a deadline allows,
/// or whether so many meet it.
struct RunQuestion {
    std::optional<Budget> budget;
    std::optional<ModelSpec> model;    ///< absent: the law chooses a size, `model_of_size` a shape
    std::optional<double> parameters;  ///< a size without a shape
    std::optional<double> tokens;
    std::optional<std::int64_t> accelerators;
    std::optional<Seconds> deadline;  ///< default where one is needed: 30 days
    FittedLaw law;
    ShapeRules shape;
};

/// Deadline that chooses the accelerators when neither their number nor a deadline is given.
inline constexpr Seconds usual_deadline = 30 * units::day;

/// A quantity with the 80 % interval that the resamples of a law give it; low = high = 0 without resamples.
struct WithInterval {
    double value = 0;  ///< 0: the law does not give it
    double low = 0;
    double high = 0;
    [[nodiscard]] bool known() const { return value > 0; }
};

/// What the law says of an amount of compute. A law that only divides a budget gives no loss, one of losses over
/// compute no optimum.
struct LawAnswer {
    double flops = 0;                                             ///< 6 N D of the run
    WithInterval parameters, tokens, tokens_per_parameter, loss;  ///< at the optimum
    WithInterval run_loss;                                        ///< of the run's own N and D
    double twenty_parameters = 0;                                 ///< sqrt(C / 120)
    double twenty_tokens = 0;                                     ///< 20 N
    double twenty_loss = 0;                                       ///< 0: the law gives none
    std::size_t resamples = 0;
    std::vector<std::string> warnings;
};

/// One round of fitting the model to what the budget's machine time can do.
struct BudgetRound {
    double flops = 0;  ///< assumed at the start of the round
    std::string model;
    double parameters = 0;
    double tokens = 0;  ///< that the time is enough for
    double mfu = 0;
    double loss = 0;  ///< by the law, 0 if it gives none
};

enum class Convergence : std::uint8_t {
    not_needed,   ///< nothing depended on the plan
    settled,      ///< the compute that the plan delivers is the compute that the model was chosen for, within 0.5 %
    alternating,  ///< rounds return to an earlier shape
    open,         ///< the rounds ran out, or came to a shape without a plan
};
std::string_view name_of(Convergence convergence);

struct RunAnswer {
    std::optional<TrainingRun> run;  ///< absent: there is no plan, see `reason`
    std::string reason;              ///< why there is none, or why it ends too late
    ModelSpec model;
    double parameters = 0;  ///< of the model that one token uses, exactly: N of the law
    double tokens = 0;
    Workload workload;
    LawAnswer law;
    std::vector<BudgetRound> rounds;
    std::size_t taken = 0;  ///< of the rounds: the best use of the budget
    Convergence convergence = Convergence::not_needed;
    std::optional<DeadlineAnswer> deadline;  ///< where the fewest accelerators were searched
    std::int64_t searched = 0;               ///< accelerators that the reason for no plan is of
    std::vector<std::string> choices;        ///< what was chosen because nobody asked: defaults that matter
    bool interrupted = false;
};

/// Whether there is a run, and it ends by the deadline if one was asked for.
bool ends_in_time(RunQuestion const& question, RunAnswer const& answer);

/// Answers the question.
///
/// A budget of FLOPs fixes N and D at once. One of time or money does not, because the FLOPs that it buys depend on the
/// plan: from a guess of 40 % MFU, N and D by the law, a shape, the best plan, the tokens that it can train in the
/// time, and so new FLOPs, until these agree within 0.5 %. Of all rounds the one with the lowest loss is taken.
/// With tokens given as well, it is the largest model found that sees all of them in the time.
///
/// Adapters are trained on the tokens that are given, or as many as a budget of time or money is enough for; no law is
/// asked.
///
/// @throws InputError: what is given does not determine a run or contradicts itself, a size without a shape, no price.
RunAnswer answer_run(RunSetting const& setting, RunQuestion const& question);

/// What the law says of a run of N parameters on D tokens, and of the best use of its compute.
LawAnswer ask_law(FittedLaw const& law, double parameters, double tokens);

/// N of the compute optimum, without intervals. @throws InputError: the law has none.
double optimal_size(FittedLaw const& law, double flops);
/// The loss that the law gives a run, 0 if it gives none.
double loss_by_law(FittedLaw const& law, double parameters, double tokens);

}  // namespace sextant
