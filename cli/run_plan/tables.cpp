#include "cli/run_plan/view.hpp"

#include "core/quantity_text.hpp"
#include "planner/explain.hpp"
#include "planner/price_words.hpp"

#include <fmt/format.h>

#include <utility>

namespace sextant::cli {
namespace {

std::string number(double value) { return fmt::format("{}", value); }

/// What was asked; model and workload where one was found.
QuestionCells asked_of(RunPlanReport const& report) {
    RunAnswer const& answer = report.answer;
    QuestionCells out{{"cluster", report.setting.cluster.name}, {"framework", report.setting.framework.name}};
    if (answer.parameters > 0) out.insert(out.begin(), {"model", answer.model.name});
    if (answer.workload.global_batch > 0) {
        out.push_back({"seq", fmt::format("{}", answer.workload.sequence)});
        out.push_back({"global_batch", fmt::format("{}", answer.workload.global_batch)});
    }
    return out;
}

}  // namespace

Table curve_table(ScalingCurve const& curve) {
    Table table({{"gpus", Align::right},
                 {"plan"},
                 {"step_time_s", Align::right},
                 {"tokens_per_s", Align::right},
                 {"efficiency", Align::right},
                 {"marginal_efficiency", Align::right},
                 {"mfu", Align::right},
                 {"effective_training_time_ratio", Align::right},
                 {"wall_s", Align::right},
                 {"gpu_hours", Align::right},
                 {"dollars", Align::right},
                 {"dollars_per_halving", Align::right},
                 {"dollars_per_day_saved", Align::right},
                 {"energy_kwh", Align::right},
                 {"reason"}});
    auto const money = [](std::optional<Dollars> const& d) { return d ? number(d->base()) : std::string(); };
    for (CurvePoint const& point : curve.points) {
        std::vector<std::string> cells{fmt::format("{}", point.accelerators)};
        if (point.run) {
            TrainingRun const& run = *point.run;
            cells.insert(cells.end(),
                         {plan_label(run.step.plan), number(run.step.estimate.time.base()),
                          number(run.tokens_per_second()), number(point.efficiency), number(point.marginal_efficiency),
                          number(run.step.mfu), number(run.effective_share()), number(run.wall.base()),
                          number(run.accelerator_hours), money(run.cost), money(point.cost_per_halving),
                          money(point.cost_per_day_saved), number(run.energy.kilowatt_hours), ""});
        } else {
            cells.resize(14);
            cells.push_back(point.reason);
        }
        table.add_row(std::move(cells));
    }
    return table;
}

Table run_figures_table(RunPlanReport const& report) {
    Table table({{"key"}, {"value", Align::right}});
    auto const add = [&](std::string key, double value) { table.add_row({std::move(key), number(value)}); };
    for (auto const& [key, value] : asked_of(report))
        table.add_row({key, value});
    RunAnswer const& answer = report.answer;
    add("parameters", answer.parameters);
    add("tokens", answer.tokens);
    if (answer.law.flops > 0) add("flops", answer.law.flops);
    if (answer.law.run_loss.known()) add("loss", answer.law.run_loss.value);
    if (answer.run) {
        TrainingRun const& run = *answer.run;
        add("gpus", static_cast<double>(run.step.accelerators));
        table.add_row({"plan", plan_label(run.step.plan)});
        add("steps", run.steps);
        add("step_time_s", run.step.estimate.time.base());
        add("mfu", run.step.mfu);
        add("effective_training_time_ratio", run.effective_share());
        auto const add_with_range = [&](std::string const& name, char const* unit, double value) {
            add(name + unit, value);
            add(name + "_low" + unit, run.step.interval.low * value);
            add(name + "_high" + unit, run.step.interval.high * value);
        };
        add_with_range("wall", "_s", run.wall.base());
        add_with_range("gpu_hours", "", run.accelerator_hours);
        if (run.cost) add_with_range("dollars", "", run.cost->base());
        add("energy_kwh", run.energy.kilowatt_hours);
        add("tokens_per_s", run.tokens_per_second());
    } else {
        table.add_row({"reason", answer.reason});
        for (std::string const& line : report.advice)
            table.add_row({"advice", line});
    }
    if (report.question.deadline || answer.deadline) {
        add("deadline_s", report.question.deadline.value_or(usual_deadline).base());
        table.add_row({"deadline_met", ends_in_time(report.question, answer) ? "true" : "false"});
    }
    if (answer.deadline && answer.deadline->run)
        add("fewest_gpus", static_cast<double>(answer.deadline->run->step.accelerators));
    if (report.plain) add("plain_wall_s", report.plain->time().base());
    for (TimeTerm const& term : report.difference)
        table.add_row({term.name + " [s]", number(term.time.base())});
    return table;
}

std::string run_plan_csv(RunPlanReport const& report, bool curve_asked) {
    if (curve_asked && report.curve) return curve_table(*report.curve).csv(asked_of(report));
    return run_figures_table(report).csv();
}

Table curve_text_table(ScalingCurve const& curve) {
    Table table({{"GPUs", Align::right},
                 {"days", Align::right},
                 {"step", Align::right},
                 {"tokens/s", Align::right},
                 {"eff.", Align::right},
                 {"added", Align::right},
                 {"MFU", Align::right},
                 {"cost", Align::right},
                 {"halving", Align::right}});
    auto const percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
    for (CurvePoint const& point : curve.points) {
        std::string const count = grouped_digits(point.accelerators);
        if (!point.run) {
            table.add_row({count, "-", "-", "-", "-", "-", "-", "-", "-"});
            continue;
        }
        TrainingRun const& run = *point.run;
        table.add_row({count, fmt::format("{:.4g}", run.wall.in(units::day)), human(run.step.estimate.time),
                       human_count(run.tokens_per_second()), percent(point.efficiency),
                       percent(point.marginal_efficiency), fmt::format("{:.1f} %", 100 * run.step.mfu),
                       run.cost ? human(*run.cost) : "-",
                       point.cost_per_halving ? human(*point.cost_per_halving) : "-"});
    }
    return table;
}

std::vector<std::string> run_assumptions(RunPlanReport const& report) {
    std::vector<std::string> lines;
    if (!report.answer.run) return lines;
    TrainingRun const& run = *report.answer.run;
    ClusterSpec const& cluster = report.setting.cluster;
    if (run.step.price) lines.push_back(price_assumption(*run.step.price));
    auto const power = power_assumptions(report.setting.power, cluster.accelerator);
    if (run.goodput) {
        lines.push_back(fmt::format("failures as of {} ({}): {}", report.setting.failures->name,
                                    report.setting.failures->basis, report.setting.failures->source));
        lines.emplace_back(
            "checkpoints: asynchronous, to a parallel file system, at their best interval (docs/goodput.md)");
    }
    lines.insert(lines.end(), power.begin(), power.end());
    lines.insert(lines.end(), run.step.assumptions.begin(), run.step.assumptions.end());
    return lines;
}

}  // namespace sextant::cli
