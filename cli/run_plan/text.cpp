#include "cli/plan/report_view.hpp"
#include "cli/run_plan/view.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/parameters.hpp"
#include "planner/explain.hpp"
#include "planner/left_out.hpp"
#include "planner/price_words.hpp"
#include "planner/run_plan/global_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

using Pairs = NamesAndValues;

std::string range(double low, double high, auto&& text) {
    return fmt::format(" (80 %: {} to {})", text(low), text(high));
}

std::string with_range(WithInterval const& value, auto&& text) {
    return text(value.value) + (value.high > 0 ? range(value.low, value.high, text) : std::string());
}

/// Names and values in two columns, long values broken.
std::string wrapped_pairs(Pairs const& pairs) {
    constexpr std::size_t column = 15;
    std::string const indent(column, ' ');
    std::string text;
    for (auto const& [name, value] : pairs) {
        std::string lines = wrapped(std::string(column, '.') + value, indent, 98);
        lines.replace(0, column, fmt::format("  {:<{}}", name, column - 2));
        text += lines;
    }
    return text;
}

std::string model_words(ModelSpec const& m) {
    ParameterCounts const counts = count_parameters(m);
    std::string text = fmt::format("{}: {} parameters", named(m), human_count(static_cast<double>(counts.total)));
    if (counts.active != counts.total)
        text += fmt::format(" ({} active)", human_count(static_cast<double>(counts.active)));
    text += fmt::format(", {} layers of {}, {} heads", m.layer_count(), m.hidden, m.attention.heads);
    if (m.attention.kv_heads != m.attention.heads) text += fmt::format(" ({} kv)", m.attention.kv_heads);
    if (m.mlp.intermediate > 0) text += fmt::format(", feed-forward {}", m.mlp.intermediate);
    text += fmt::format(", vocabulary {}", m.vocab);
    if (m.tied_embeddings) text += ", tied";
    return text;
}

void add_model(Pairs& pairs, RunPlanReport const& report) {
    RunAnswer const& answer = report.answer;
    pairs.emplace_back("model", model_words(answer.model));
    std::string tokens =
        fmt::format("{}, {:.3g} per parameter", human_count(answer.tokens), answer.tokens / answer.parameters);
    if (!report.setting.constraints.base.adapters.on())  // whose work is another
        tokens += fmt::format(": 6 N D = {:.3g} FLOPs", 6 * answer.parameters * answer.tokens);
    pairs.emplace_back("tokens", tokens);
    double const batch = static_cast<double>(answer.workload.tokens());
    double const critical = critical_batch_tokens(answer.tokens);
    std::string text = fmt::format("{} sequences of {}{}, {} tokens a step", answer.workload.global_batch,
                                   answer.workload.sequence, documents_text(answer.workload), human_count(batch));
    if (batch > 1.1 * critical)
        text += fmt::format(": beyond the critical batch of {}, so that more tokens are needed for the same loss",
                            human_count(critical));
    pairs.emplace_back("batch", text);
}

void add_law(Pairs& pairs, RunPlanReport const& report) {
    LawAnswer const& law = report.answer.law;
    if (!(law.flops > 0)) return;
    auto const count = [](double v) { return human_count(v); };
    auto const loss = [](double v) { return fmt::format("{:.4g}", v); };
    auto const ratio = [](double v) { return fmt::format("{:.3g}", v); };
    std::string const by = "by " + report.question.law.title;
    pairs.emplace_back("loss", law.run_loss.known() ? with_range(law.run_loss, loss) + " nats per token, " + by
                                                    : "none " + by + ", which only divides a budget");
    auto const loss_words = [&](double value) { return value > 0 ? ", loss " + loss(value) : std::string(); };
    if (law.parameters.known()) {
        pairs.emplace_back("optimum",
                           fmt::format("N {}, D {}", with_range(law.parameters, count), with_range(law.tokens, count)));
        pairs.emplace_back(
            "", fmt::format("D/N {}{}", with_range(law.tokens_per_parameter, ratio), loss_words(law.loss.value)));
    }
    pairs.emplace_back("20 tokens", fmt::format("N {}, D {}{}", count(law.twenty_parameters), count(law.twenty_tokens),
                                                loss_words(law.twenty_loss)));
}

void add_run(Pairs& pairs, RunPlanReport const& report) {
    TrainingRun const& run = *report.answer.run;
    StepReport const& step = run.step;
    double const low = step.interval.low;
    double const high = step.interval.high;
    pairs.emplace_back(
        "plan", fmt::format("{}, step {}, MFU {:.1f} %, {} of {}", plan_label(step.plan), human(step.estimate.time),
                            100 * step.mfu, human(step.estimate.peak()), human(step.limit.usable)));
    if (auto const room = roomier_limit(step))
        pairs.emplace_back(
            "", fmt::format("tight: the upper end of the memory range does not fit ({})", room_option(*room)));
    auto const plain = [](double v) { return fmt::format("{:.4g}", v); };
    bool const in_days = run.wall >= 1 * units::day;
    double const wall = run.wall.in(in_days ? units::day : units::hour);
    pairs.emplace_back("time",
                       fmt::format("{:.4g} {}{}, {} steps", wall, in_days ? "days" : "hours",
                                   range(low * wall, high * wall, plain), grouped_digits(std::llround(run.steps))));
    auto const count = [](double v) { return human_count(v); };
    auto const& budget = report.question.budget;
    if (budget && budget->kind != Budget::Kind::flops)
        pairs.emplace_back("enough for", human_count(run.tokens) + " tokens" +
                                             range(run.tokens / high, run.tokens / low, count) + " within the budget");
    pairs.emplace_back("GPU-hours", human_count(run.accelerator_hours) +
                                        range(low * run.accelerator_hours, high * run.accelerator_hours, count));
    if (run.cost)
        pairs.emplace_back("cost", human(*run.cost) + range(low, high, [&](double f) { return human(f * *run.cost); }) +
                                       at_price(report.setting.cluster));
    else
        pairs.emplace_back("cost", no_price);
    double const kwh = run.energy.kilowatt_hours;
    auto const energy = [](double v) {
        return v >= 1e6   ? fmt::format("{:.4g} GWh", v / 1e6)
               : v >= 1e3 ? fmt::format("{:.4g} MWh", v / 1e3)
                          : fmt::format("{:.4g} kWh", v);
    };
    auto const power = [](double v) {
        return v >= 1e6 ? fmt::format("{:.4g} MW", v / 1e6) : fmt::format("{:.4g} kW", v / 1e3);
    };
    pairs.emplace_back("energy", fmt::format("{}{}, {:.0f} W a GPU, {} with hosts and site", energy(kwh),
                                             range(low * kwh, high * kwh, energy), run.energy.device_watts,
                                             power(run.energy.site_watts)));
    double const rate = run.tokens_per_second();
    pairs.emplace_back("tokens/s",
                       fmt::format("{}{}, while training {}", human_count(rate), range(rate / high, rate / low, count),
                                   human_count(step.tokens_per_second)));
}

void add_goodput(Pairs& pairs, TrainingRun const& run) {
    if (!run.goodput) return;
    TimeUse<double> const& shares = run.goodput->expected.shares;
    pairs.emplace_back("failures",
                       fmt::format("one in {}; {:.2f} % of the time trains, {:.2f} % is work lost, {:.2f} % restarts, "
                                   "{:.2f} % checkpoints",
                                   human(run.goodput->expected.mtbf), 100 * shares.useful, 100 * shares.rewind,
                                   100 * (1 - shares.useful - shares.rewind - shares.stall), 100 * shares.stall));
    pairs.emplace_back("checkpoints",
                       fmt::format("{} every {}", human(run.goodput->checkpoint), human(run.goodput->interval)));
}

std::string difference_text(RunPlanReport const& report) {
    PlainArithmetic const& plain = *report.plain;
    std::string text = wrapped(plain_sentence(plain));
    if (report.difference.empty()) return text;
    Table table({{"from there to here"}, {"days", Align::right}, {"why"}});
    auto const row = [](Seconds time) { return fmt::format("{:+.3f}", time.in(units::day)); };
    for (TimeTerm const& term : report.difference)
        if (std::abs(term.time.in(units::day)) >= 0.0005) table.add_row({term.name, row(term.time), term.why});
    Seconds const wall = report.answer.run->wall;
    table.add_row({"together", row(wall - plain.time()), fmt::format("{} days", days_text(wall))});
    text += table.text();
    text += wrapped(fmt::format("6 N D would come out right at {:.1f} % MFU.", 100 * plain_mfu_of(plain, wall)));
    return text;
}

bool pays_throughout(ScalingCurve const& curve) {
    return std::none_of(curve.points.begin(), curve.points.end(), [&](CurvePoint const& point) {
        return point.run && point.marginal_efficiency < curve.pays_above;
    });
}

std::string curve_text(RunPlanReport const& report) {
    ScalingCurve const& curve = *report.curve;
    std::string text =
        fmt::format("scaling, {} sequences a step at every size:\n", report.answer.workload.global_batch);
    text += curve_text_table(curve).text();
    text += wrapped(
        "eff.: tokens/s per GPU against the smallest that fits; added: the same of the GPUs added since the row above; "
        "halving: extra cost of each halved time since then.");
    for (CurvePoint const& point : curve.points)
        text += wrapped(fmt::format("{:>8}: {}", grouped_digits(point.accelerators),
                                    point.run ? plan_label(point.run->step.plan) : "no plan, " + point.reason),
                        "          ");
    if (curve.stops_paying_at)
        text += wrapped(fmt::format("from {} GPUs on, an added GPU does less than {:.0f} % of what the first do.",
                                    grouped_digits(*curve.stops_paying_at), 100 * curve.pays_above));
    else
        text += wrapped(fmt::format("added GPUs do {:.0f} % or more of what the first do, {}.", 100 * curve.pays_above,
                                    pays_throughout(curve) ? "throughout" : "up to the last of them"));
    if (curve.interrupted) text += "interrupted: the curve is not complete\n";
    return text;
}

/// Whether the accelerators that were asked for end the run in time.
void add_deadline(Pairs& pairs, RunPlanReport const& report) {
    RunQuestion const& q = report.question;
    if (!q.deadline || !q.accelerators) return;
    TrainingRun const& run = *report.answer.run;
    if (!ends_in_time(q, report.answer)) {
        pairs.emplace_back("deadline", "MISSED: " + report.answer.reason);
        return;
    }
    bool const surely = run.step.interval.high * run.wall <= *q.deadline;
    pairs.emplace_back("deadline",
                       fmt::format("met, {} days before; the slow end of the interval {}",
                                   days_text(*q.deadline - run.wall), surely ? "meets it, too" : "does not"));
}

std::string rounds_text(RunPlanReport const& report) {
    RunAnswer const& answer = report.answer;
    if (answer.rounds.size() < 2) return "";
    Table table({{"round", Align::right},
                 {"FLOPs", Align::right},
                 {"model"},
                 {"MFU", Align::right},
                 {"tokens in the time", Align::right},
                 {"loss", Align::right}});
    for (std::size_t i = 0; i < answer.rounds.size(); ++i) {
        BudgetRound const& r = answer.rounds[i];
        table.add_row({fmt::format("{}", i + 1), fmt::format("{:.4g}", r.flops), r.model,
                       fmt::format("{:.1f} %", 100 * r.mfu), human_count(r.tokens),
                       r.loss > 0 ? fmt::format("{:.4g}", r.loss) : "-"});
    }
    std::string text = "\n" + table.text();
    if (answer.run) text += taken_sentence(report) + "\n";
    if (answer.convergence == Convergence::alternating) text += "the rounds come back to an earlier shape\n";
    if (answer.convergence == Convergence::open && !answer.interrupted)
        text += wrapped("the rounds did not settle: model and compute do not agree within 0.5 %");
    return text;
}

}  // namespace

std::string run_plan_question(RunPlanReport const& report) {
    RunQuestion const& q = report.question;
    std::string text;
    if (q.budget) {
        double const amount = q.budget->amount;
        switch (q.budget->kind) {
            case Budget::Kind::flops: text = fmt::format("{:.4g} FLOPs", amount); break;
            case Budget::Kind::dollars: text = human(amount * units::USD); break;
            case Budget::Kind::accelerator_hours: text = human_count(amount) + " GPU-hours"; break;
            case Budget::Kind::days: text = fmt::format("{:.4g} days", amount); break;
        }
        text += " on ";
    } else {
        text = fmt::format("{} tokens of {} on ", human_count(report.answer.tokens), named(report.answer.model));
    }
    if (report.answer.run)
        text += grouped_digits(report.answer.run->step.accelerators) + " x ";
    else if (q.accelerators)
        text += grouped_digits(*q.accelerators) + " x ";
    text += fmt::format("{}, {}, {}", report.setting.cluster.name, name_of(report.setting.constraints.base.precision),
                        report.setting.framework.name);
    if (q.deadline) text += fmt::format(", within {} days", days_text(*q.deadline));
    return text;
}

std::string fewest_sentence(RunPlanReport const& report) {
    DeadlineAnswer const& answer = *report.answer.deadline;
    std::string text =
        fmt::format("fewest GPUs that end it in time: {}", grouped_digits(answer.run->step.accelerators));
    if (answer.missed)
        text += fmt::format("; {} take {} days", grouped_digits(answer.missed->step.accelerators),
                            days_text(answer.missed->wall));
    text +=
        fmt::format(" ({} size{} searched, multiples of {})", answer.tried, answer.tried == 1 ? "" : "s", answer.step);
    if (answer.interrupted) text += "; interrupted: smaller numbers were not all tried";
    if (answer.run->step.interval.high * answer.run->wall > report.question.deadline.value_or(usual_deadline))
        text += "; the slow end of the interval does not";
    return text;
}

std::string taken_sentence(RunPlanReport const& report) {
    RunAnswer const& answer = report.answer;
    bool const by_loss = answer.rounds.at(answer.taken).loss > 0;
    return fmt::format("round {} is taken{}", answer.taken + 1,
                       report.question.tokens ? ": the largest model that sees the tokens asked for"
                       : by_loss              ? ": the lowest loss"
                                              : "");
}

std::string plain_sentence(PlainArithmetic const& plain) {
    return fmt::format("6 N D at {:g} % MFU: 6 x {:.5g} B x {} / ({} x {} x {:g}) = {:.1f} days", 100 * plain.mfu,
                       plain.parameters / 1e9, human_count(plain.tokens),
                       grouped_digits(std::llround(plain.accelerators)), human(plain.peak), plain.mfu,
                       plain.time().in(units::day));
}

NamesAndValues run_plan_pairs(RunPlanReport const& report) {
    RunAnswer const& answer = report.answer;
    Pairs pairs;
    if (answer.parameters > 0) add_model(pairs, report);
    add_law(pairs, report);
    if (answer.run) {
        add_run(pairs, report);
        add_deadline(pairs, report);
        add_goodput(pairs, *answer.run);
    }
    return pairs;
}

std::string run_plan_text(RunPlanReport const& report, std::size_t most_assumptions) {
    RunAnswer const& answer = report.answer;
    std::string text = wrapped(run_plan_question(report)) + "\n";
    text += wrapped_pairs(run_plan_pairs(report));
    if (!answer.run && !answer.reason.empty()) text += "\n" + wrapped("no plan: " + answer.reason);
    for (std::string const& line : report.advice)
        text += wrapped("- " + line);
    if (answer.deadline && answer.deadline->run) text += "\n" + wrapped(fewest_sentence(report));
    text += rounds_text(report);
    if (report.plain) text += "\n" + difference_text(report);
    if (report.curve) text += "\n" + curve_text(report);
    for (std::string const& warning : answer.law.warnings)
        text += (&warning == &answer.law.warnings.front() ? "\n" : "") + wrapped("warning: " + warning);
    if (!answer.choices.empty()) text += "\nchosen, because nothing was asked:\n";
    for (std::string const& choice : answer.choices)
        text += wrapped("  " + choice, "    ");
    if (answer.run) {
        text += "\n" + unsupported_lines(answer.run->step.unsupported);
        text += assumption_lines(run_assumptions(report), most_assumptions);
    }
    if (answer.interrupted) text += "interrupted: better plans may exist\n";
    return text;
}

}  // namespace sextant::cli
