#include "cli/page/page_cells.hpp"
#include "cli/plan/report_view.hpp"
#include "cli/plan/step_blocks.hpp"
#include "cli/run_plan/view.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sextant::cli {
namespace {

/// "80 %: 7.8 to 10.1 days"
std::string around(double value, StepInterval const& interval, auto&& text) {
    return fmt::format("80 %: {} to {}", text(interval.low * value), text(interval.high * value));
}

void add_verdict(Page& page, RunPlanReport const& report) {
    RunAnswer const& answer = report.answer;
    if (!answer.run) {
        page.tone = Tone::bad;
        page.verdict = "No plan: " + answer.reason + ".";
        return;
    }
    TrainingRun const& run = *answer.run;
    bool const in_time = ends_in_time(report.question, answer);
    page.tone = in_time ? Tone::good : Tone::bad;
    page.verdict = fmt::format("{} tokens of {} take {} days on {} accelerators{}.", human_count(answer.tokens),
                               answer.model.name, days_text(run.wall), grouped_digits(run.step.accelerators),
                               run.cost ? " and cost " + human(*run.cost) : std::string());
    if (!in_time) page.verdict += " Too late: " + answer.reason + ".";
    if (answer.interrupted || (report.curve && report.curve->interrupted))
        page.verdict += " Interrupted: better plans may exist.";
}

void add_figures(Page& page, RunPlanReport const& report) {
    LawAnswer const& law = report.answer.law;
    if (report.answer.run) {
        TrainingRun const& run = *report.answer.run;
        StepInterval const& interval = run.step.interval;
        auto const count = [](double v) { return human_count(v); };
        page.figures.push_back(
            {"time", days_text(run.wall) + " days",
             around(run.wall.in(units::day), interval, [](double v) { return fmt::format("{:.4g}", v); })});
        if (run.cost)
            page.figures.push_back({"cost", human(*run.cost), around(run.cost->base(), interval, [](double v) {
                                        return human(v * units::USD);
                                    })});
        page.figures.push_back(
            {"GPU-hours", count(run.accelerator_hours), around(run.accelerator_hours, interval, count)});
        page.figures.push_back(
            {"energy", fmt::format("{:.4g} MWh", run.energy.kilowatt_hours / 1e3),
             around(run.energy.kilowatt_hours / 1e3, interval, [](double v) { return fmt::format("{:.4g}", v); })});
    }
    if (law.run_loss.known())
        page.figures.push_back({"loss", fmt::format("{:.4g}", law.run_loss.value),
                                law.run_loss.high > 0
                                    ? fmt::format("80 %: {:.4g} to {:.4g}", law.run_loss.low, law.run_loss.high)
                                    : "by " + report.question.law.title});
    if (!report.answer.run) return;
    constexpr std::size_t time_rate_and_memory = 3;
    auto const step = step_figures(report.answer.run->step, report.setting.cluster);
    page.figures.insert(page.figures.end(), step.begin(), step.begin() + time_rate_and_memory);
}

/// A value of every size of the curve that fits, with the interval of its time.
PointSeries over_sizes(ScalingCurve const& curve, auto&& value) {
    PointSeries series{.name = "best plan of each size", .draw = Draw::both, .x = {}, .y = {}};
    for (CurvePoint const& point : curve.points) {
        if (!point.run) continue;
        StepInterval const& interval = point.run->step.interval;
        double const y = value(*point.run);
        series.x.push_back(static_cast<double>(point.accelerators));
        series.y.push_back(y);
        series.low.push_back(interval.low * y);
        series.high.push_back(interval.high * y);
        series.labels.push_back(plan_label(point.run->step.plan));
    }
    return series;
}

void add_curve_charts(Page& page, RunPlanReport const& report) {
    ChartAxis const sizes{.title = "accelerators", .scale = ChartAxis::Scale::logarithmic};
    PointSeries time = over_sizes(*report.curve, [](TrainingRun const& run) { return run.wall.in(units::day); });
    if (time.x.empty()) return;
    PointSeries const perfect{.name = "perfect scaling of the smallest",
                              .draw = Draw::dashed,
                              .x = {time.x.front(), time.x.back()},
                              .y = {time.y.front(), time.y.front() * time.x.front() / time.x.back()}};
    PointChart days{.series = {std::move(time), perfect},
                    .x = sizes,
                    .y = {.title = "days", .scale = ChartAxis::Scale::logarithmic}};
    if (report.question.deadline)
        days.marks.push_back(
            {.across = ChartMark::Across::y, .at = report.question.deadline->in(units::day), .label = "deadline"});
    page.blocks.push_back(Chart{.title = "How long, by accelerators",
                                .note = "Each size planned anew, with the same global batch. Bars: 80 % intervals.",
                                .body = std::move(days)});
    if (!report.answer.run || !report.answer.run->cost) return;
    page.blocks.push_back(
        Chart{.title = "What it costs, by accelerators",
              .note = "What a faster end costs more than a slow one.",
              .body = PointChart{
                  .series = {over_sizes(*report.curve, [](TrainingRun const& run) { return run.cost->base() / 1e3; })},
                  .x = sizes,
                  .y = {.title = "thousand dollars", .from_zero = true}}});
}

PageTable curve_rows(ScalingCurve const& curve) {
    PageTable table{
        .title = "Scaling",
        .note =
            "eff.: tokens/s per GPU against the smallest that fits; added: the same of the GPUs added since the row "
            "above; halving: extra cost of each halved time since then.",
        .columns = {{"GPUs"},
                    {"days"},
                    {"step s"},
                    {"tokens/s"},
                    {"eff. %"},
                    {"added %"},
                    {"MFU %"},
                    {"dollars"},
                    {"halving $"},
                    {"plan", Align::left}}};
    auto const money = [](std::optional<Dollars> const& d) {
        return d ? PageCell{human(*d), d->base()} : PageCell{"-"};
    };
    for (CurvePoint const& point : curve.points) {
        std::vector<PageCell> cells{count_cell(point.accelerators)};
        if (point.run) {
            TrainingRun const& run = *point.run;
            double const rate = run.tokens_per_second();
            cells.insert(cells.end(), {number_cell("{:.4g}", run.wall.in(units::day)),
                                       number_cell("{:.4g}", run.step.estimate.time.in(units::s)),
                                       {human_count(rate), rate},
                                       number_cell("{:.0f}", 100 * point.efficiency),
                                       number_cell("{:.0f}", 100 * point.marginal_efficiency),
                                       number_cell("{:.1f}", 100 * run.step.mfu),
                                       money(run.cost),
                                       money(point.cost_per_halving),
                                       {plan_label(run.step.plan)}});
        } else {
            cells.insert(cells.end(), 8, PageCell{"-"});
            cells.push_back({"no plan, " + point.reason});
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

PageTable difference_rows(RunPlanReport const& report) {
    PageTable table{.title = "From 6 N D to the run",
                    .note = plain_sentence(*report.plain),
                    .columns = {{"term", Align::left}, {"days"}, {"why", Align::left}}};
    for (TimeTerm const& term : report.difference)
        table.rows.push_back({{term.name}, number_cell("{:+.3f}", term.time.in(units::day)), {term.why}});
    return table;
}

PageTable round_rows(RunPlanReport const& report) {
    RunAnswer const& answer = report.answer;
    PageTable table{
        .title = "Rounds",
        .note = fmt::format("Model, plan and compute until they agree: {}{}.", name_of(answer.convergence),
                            answer.run ? "; " + taken_sentence(report) : ""),
        .columns = {{"round"}, {"FLOPs"}, {"model", Align::left}, {"MFU %"}, {"tokens in the time"}, {"loss"}}};
    for (BudgetRound const& r : answer.rounds)
        table.rows.push_back({count_cell(static_cast<std::int64_t>(table.rows.size()) + 1),
                              {fmt::format("{:.4g}", r.flops), r.flops},
                              {r.model},
                              number_cell("{:.1f}", 100 * r.mfu),
                              {human_count(r.tokens), r.tokens},
                              r.loss > 0 ? number_cell("{:.4g}", r.loss) : PageCell{}});
    return table;
}

/// Names and values; a value without a name belongs to the one before.
PagePairs pairs_of(RunPlanReport const& report) {
    PagePairs block{"The run", {}};
    for (auto const& [name, value] : run_plan_pairs(report))
        if (name.empty() && !block.pairs.empty())
            block.pairs.back().second += "; " + value;
        else
            block.pairs.emplace_back(name, value);
    return block;
}

}  // namespace

std::string run_plan_page(RunPlanReport const& report) {
    RunAnswer const& answer = report.answer;
    Page page{.command = "sextant run-plan", .title = run_plan_question(report)};
    add_verdict(page, report);
    add_figures(page, report);
    if (!report.advice.empty()) page.blocks.push_back(PageList{"What would help", report.advice, Tone::warning});
    if (report.curve) add_curve_charts(page, report);
    if (answer.run) {
        std::vector<std::string> const name{plan_label(answer.run->step.plan)};
        page.blocks.push_back(breakdown_chart({answer.run->step}, name));
        page.blocks.push_back(memory_chart({answer.run->step}, name));
    }
    page.blocks.push_back(pairs_of(report));
    if (answer.deadline && answer.deadline->run) page.blocks.push_back(PageList{"Deadline", {fewest_sentence(report)}});
    if (report.curve) page.blocks.push_back(curve_rows(*report.curve));
    if (!report.difference.empty()) page.blocks.push_back(difference_rows(report));
    if (answer.rounds.size() > 1) page.blocks.push_back(round_rows(report));
    if (!answer.law.warnings.empty())
        page.blocks.push_back(PageList{"What a reader must know", answer.law.warnings, Tone::warning});
    if (!answer.choices.empty()) page.blocks.push_back(PageList{"Chosen, because nothing was asked", answer.choices});
    if (answer.run) add_grounds(page, answer.run->step.unsupported, run_assumptions(report));
    return html_page(page);
}

}  // namespace sextant::cli
