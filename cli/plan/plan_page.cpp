#include "cli/page/page_cells.hpp"
#include "cli/plan/pages.hpp"
#include "cli/plan/report_view.hpp"
#include "cli/plan/step_blocks.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"
#include "planner/left_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace sextant::cli {
namespace {

/// Bars of more plans cannot be told apart.
constexpr std::size_t most_bars = 12;

using Choice = PageColumn::Choice;

/// Columns of the table and how a plan fills them.
class PlanTable {
public:
    explicit PlanTable(PlanAnswer const& answer)
        : answer_(answer), scale_(time_scale(answer.reports.front().estimate.time)) {
        degree("dp", &ParallelPlan::dp);
        degree("tp", &ParallelPlan::tp);
        degree("pp", &ParallelPlan::pp);
        if (varies_from_one(&ParallelPlan::cp)) degree("cp", &ParallelPlan::cp);
        if (varies_from_one(&ParallelPlan::ep)) degree("ep", &ParallelPlan::ep);
        degree("vpp", &ParallelPlan::vpp);
        degree("mb", &ParallelPlan::micro_batch);
        several_counts_ = std::any_of(answer.reports.begin(), answer.reports.end(), [&](StepReport const& r) {
            return r.accelerators != answer.reports.front().accelerators;
        });
    }

    [[nodiscard]] PageTable made() const {
        PageTable table{.title = "Plans, ranked",
                        .note =
                            "80 %: the interval of the step's time. A plan marked ~ has terms that no measurement "
                            "supports; one marked ! its framework may refuse, or run otherwise.",
                        .columns = columns()};
        for (std::size_t i = 0; i < answer_.reports.size(); ++i)
            table.rows.push_back(row(i));
        return table;
    }

private:
    void degree(char const* name, std::int64_t ParallelPlan::*axis) { degrees_.emplace_back(name, axis); }
    [[nodiscard]] bool varies_from_one(std::int64_t ParallelPlan::*axis) const {
        return std::any_of(answer_.reports.begin(), answer_.reports.end(),
                           [&](StepReport const& r) { return r.plan.*axis != 1; });
    }

    [[nodiscard]] std::vector<PageColumn> columns() const {
        std::vector<PageColumn> list{{"#"}};
        if (several_counts_) list.push_back({"GPUs", Align::right, Choice::list});
        for (auto const& [name, axis] : degrees_)
            list.push_back({name, Align::right, Choice::list});
        list.push_back({"zero", Align::right, Choice::list});
        list.push_back({"extra", Align::left, Choice::list, "recompute, schedule and what else sets the plan apart"});
        list.push_back({fmt::format("step {}", scale_.name)});
        if (!answer_.verified.empty()) list.push_back({fmt::format("simulated {}", scale_.name)});
        list.push_back({"80 %", Align::right, Choice::none, "interval of the step's time"});
        list.push_back({"MFU %"});
        list.push_back({"memory GB", Align::right, Choice::none, "reserved on the fullest accelerator"});
        if (answer_.reports.front().million_tokens_cost) list.push_back({"USD/Mtok"});
        list.push_back({"largest losses", Align::left});
        list.push_back({"against the first", Align::left});
        return list;
    }

    [[nodiscard]] PageCell simulated(std::size_t i) const {
        if (i >= answer_.verified.size()) return {"-"};
        Verification const& v = answer_.verified[i];
        if (!v.finished()) return {std::string(name_of(v.state))};
        return number_cell("{:.4g}", scale_(v.time));
    }

    [[nodiscard]] std::vector<PageCell> row(std::size_t i) const {
        StepReport const& r = answer_.reports[i];
        std::vector<PageCell> cells{count_cell(static_cast<std::int64_t>(i) + 1)};
        if (several_counts_) cells.push_back(count_cell(r.accelerators));
        for (auto const& [name, axis] : degrees_)
            cells.push_back(count_cell(r.plan.*axis));
        cells.push_back(count_cell(r.plan.zero));
        cells.push_back({plan_extras(r)});
        double const step = scale_(r.estimate.time);
        cells.push_back(number_cell("{:.4g}", step));
        if (!answer_.verified.empty()) cells.push_back(simulated(i));
        cells.push_back(
            {fmt::format("{:.3g}-{:.3g}", r.interval.low * step, r.interval.high * step), r.interval.low * step});
        cells.push_back(number_cell("{:.1f}", 100 * r.mfu));
        double const memory = r.estimate.peak().in(units::GB);
        cells.push_back(number_cell("{:.2f}", memory));
        if (answer_.reports.front().million_tokens_cost)
            cells.push_back(r.million_tokens_cost ? number_cell("{:.3f}", r.million_tokens_cost->base())
                                                  : PageCell{"-"});
        cells.push_back({largest_losses(r.estimate)});
        cells.push_back({i == 0 ? "" : against_best(r, answer_.reports.front())});
        return cells;
    }

    PlanAnswer const& answer_;
    TimeScale scale_;
    std::vector<std::pair<char const*, std::int64_t ParallelPlan::*>> degrees_;
    bool several_counts_ = false;
};

PointSeries time_and_memory(std::string name, Draw draw, std::vector<StepReport> const& reports, TimeScale scale) {
    PointSeries series{.name = std::move(name), .draw = draw, .x = {}, .y = {}};
    for (StepReport const& r : reports) {
        series.x.push_back(r.estimate.peak().in(units::GB));
        series.y.push_back(scale(r.estimate.time));
        series.labels.push_back(fmt::format("{} on {}", plan_label(r.plan), r.accelerators));
    }
    return series;
}

Chart trade_chart(PlanAnswer const& answer) {
    StepReport const& best = answer.reports.front();
    TimeScale const scale = time_scale(best.estimate.time);
    PointChart points{.series = {time_and_memory("ranked plans", Draw::markers, answer.reports, scale)},
                      .x = {.title = "memory per accelerator, GB", .from_zero = true},
                      .y = {.title = fmt::format("step, {}", scale.name), .scale = ChartAxis::Scale::logarithmic},
                      .marks = {{.at = best.limit.usable.in(units::GB), .label = "usable"}}};
    std::map<std::int64_t, std::vector<StepReport>> fronts;
    if (answer.pareto.size() > 1)
        for (StepReport const& r : answer.pareto)
            fronts[r.accelerators].push_back(r);
    for (auto const& [accelerators, front] : fronts) {
        std::string const name = fronts.size() == 1 ? "no plan is better in both"
                                                    : fmt::format("no plan on {} is better in both", accelerators);
        points.series.push_back(time_and_memory(name, Draw::both, front, scale));
        points.series.back().role = "tp";
    }
    PointSeries first = time_and_memory("the first", Draw::markers, {best}, scale);
    first.role = "best";
    first.large = true;
    first.low = {scale(best.interval.low * best.estimate.time)};
    first.high = {scale(best.interval.high * best.estimate.time)};
    points.series.push_back(std::move(first));
    return {.title = "Time against memory",
            .note = "What less memory costs in time. The bar at the first plan is its 80 % interval.",
            .body = std::move(points)};
}

std::vector<std::string> search_notes(PlanQuestion const& q, PlanAnswer const& answer) {
    SearchCounts const& counts = answer.result.counts;
    std::vector<std::string> notes{fmt::format("{} plans enumerated, {} fit; {}", grouped_digits(counts.enumerated),
                                               grouped_digits(counts.evaluated), rejection_summary(counts))};
    for (std::string& sentence : misfit_sentences(answer.result, answer.limit))
        notes.push_back(std::move(sentence));
    for (std::string& sentence : not_expressed_sentences(q, answer))
        notes.push_back(std::move(sentence));
    for (std::size_t i = 0; i < answer.verified.size(); ++i)
        if (!answer.verified[i].finished())
            notes.push_back(fmt::format("plan {} was not simulated: {}", i + 1, answer.verified[i].message));
    if (answer.result.interrupted)
        notes.push_back(fmt::format("interrupted after {:.0f} % of the search: better plans may exist",
                                    100 * answer.result.share_done));
    return notes;
}

void add_answer(Page& page, ClusterSpec const& cluster, PlanAnswer const& answer) {
    StepReport const& best = answer.reports.front();
    page.verdict =
        fmt::format("Best of {} plans that fit: {}, {} a step.", grouped_digits(answer.result.counts.evaluated),
                    plan_label(best.plan), human(best.estimate.time));
    page.tone = Tone::good;
    if (auto const room = roomier_limit(best)) {
        page.tone = Tone::warning;
        page.verdict += fmt::format(
            " Memory is tight: the upper end of its range does not fit ({} asks for more room).", room_option(*room));
    }
    page.figures = step_figures(best, cluster);
    std::size_t const bars = std::min(most_bars, answer.reports.size());
    std::vector<StepReport> const shown(answer.reports.begin(),
                                        answer.reports.begin() + static_cast<std::ptrdiff_t>(bars));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < shown.size(); ++i)
        names.push_back(fmt::format("{}: {}", i + 1, plan_label(shown[i].plan)));
    page.blocks.push_back(breakdown_chart(shown, names));
    page.blocks.push_back(memory_chart(shown, names));
    page.blocks.push_back(trade_chart(answer));
    if (!answer.explanation.empty())
        page.blocks.push_back(PageList{"Why the first, and what would move it", answer.explanation});
    page.blocks.push_back(PlanTable(answer).made());
}

}  // namespace

std::string plan_page(PlanQuestion const& q, PlanAnswer const& answer) {
    Page page{.command = "sextant plan", .title = fmt::format("{} on {}", named(q.model), q.cluster.name)};
    if (answer.reports.empty()) {
        page.verdict = "No plan fits.";
        page.tone = Tone::bad;
        page.blocks.push_back(PageList{"What would help", answer.advice, Tone::warning});
        page.blocks.push_back(PageList{"The search", search_notes(q, answer)});
        return html_page(page);
    }
    StepReport const& best = answer.reports.front();
    page.title = fmt::format("{} on {} x {}", q.model.name, best.accelerators, q.cluster.name);
    page.lines.push_back(headline(q, best.accelerators, best.plan.precision));
    add_answer(page, q.cluster, answer);
    page.blocks.push_back(PageList{"The search", search_notes(q, answer)});
    add_grounds(page, best.unsupported, all_assumptions(best));
    return html_page(page);
}

}  // namespace sextant::cli
