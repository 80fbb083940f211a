#include "cli/options/number_text.hpp"
#include "cli/page/page_cells.hpp"
#include "cli/scaling/loss_surface.hpp"
#include "cli/scaling/pages.hpp"
#include "cli/scaling/remarks.hpp"
#include "core/quantity_text.hpp"

namespace sextant::cli {
namespace {

constexpr std::size_t most_compute_lines = 8;

std::string range_of(std::optional<LawInterval> const& i, std::string (*text)(double)) {
    return i ? fmt::format("80 %: {} to {}", text(i->low80), text(i->high80)) : std::string("no interval");
}

std::string loss_text(double loss) { return fmt::format("{:.4g}", loss); }

void add_answer(Page& page, OptimumReport const& r) {
    BudgetAnswer const& budget = r.budgets.front();
    ScalingAnswer const& a = budget.first();
    page.verdict = fmt::format("{}: {} parameters on {} tokens by {}{}.", optimum_heading(r, budget),
                               human_count(a.parameters), human_count(a.tokens), a.name,
                               a.loss ? fmt::format(", a loss of {}", loss_text(*a.loss)) : std::string());
    page.figures = {{"parameters", human_count(a.parameters), range_of(a.parameters_interval, human_count)},
                    {"tokens", human_count(a.tokens), range_of(a.tokens_interval, human_count)},
                    {"tokens per parameter", digits_text(a.ratio()), range_of(a.ratio_interval, digits_text)}};
    if (a.loss) page.figures.push_back({"loss", loss_text(*a.loss), range_of(a.loss_interval, loss_text)});
    page.figures.push_back(
        {"compute", power_text(budget.flops) + " FLOP", range_of(budget.flops_interval, power_text)});
    if (budget.cost && budget.cost->time > Seconds{}) page.figures.push_back({"time", human(budget.cost->time)});
    if (budget.cost && budget.cost->money > Dollars{}) page.figures.push_back({"money", human(budget.cost->money)});
    if (a.outside_factor > far_extrapolation) {
        page.tone = Tone::warning;
        page.verdict += " Far outside what the law was fitted to: a guess.";
    }
}

/// Optima of one law over all budgets, with the 95 % interval of N.
PointSeries optima_of(OptimumReport const& r, std::size_t law) {
    PointSeries points{.name = r.budgets.front().rows[law].answer.name, .draw = Draw::markers, .x = {}, .y = {}};
    bool intervals = true;
    for (BudgetAnswer const& budget : r.budgets) {
        if (law >= budget.rows.size()) continue;
        ScalingAnswer const& a = budget.rows[law].answer;
        points.x.push_back(a.parameters);
        points.y.push_back(a.tokens);
        points.labels.push_back(optimum_heading(r, budget) + (a.loss ? ", loss " + loss_text(*a.loss) : ""));
        auto const& i = a.parameters_interval;
        intervals = intervals && i.has_value();
        points.left.push_back(i ? i->low95 : a.parameters);
        points.right.push_back(i ? i->high95 : a.parameters);
    }
    if (!intervals) {
        points.left.clear();
        points.right.clear();
    }
    return points;
}

Chart surface_of(OptimumReport const& r) {
    BudgetAnswer const& first = r.budgets.front();
    SurfaceFrame frame;
    for (BudgetAnswer const& budget : r.budgets)
        for (OptimumRow const& row : budget.rows)
            frame.include(row.answer.parameters, row.answer.tokens);
    ChinchillaLaw const law = *first.first().chinchilla;
    SurfaceChart surface = loss_surface(frame, 0.6, [&](double n, double d) { return loss_of(law, n, d); });
    std::size_t const stride = (r.budgets.size() + most_compute_lines - 1) / most_compute_lines;
    for (std::size_t i = 0; i < r.budgets.size(); i += stride)
        surface.series.push_back(equal_compute(surface, r.budgets[i].flops));
    surface.series.push_back(line_over(surface, fmt::format("{:g} tokens per parameter", first.rule_ratio),
                                       Draw::dotted, [&](double n) { return first.rule_ratio * n; }));
    surface.series.back().role = "quiet";
    surface.series.push_back(line_over(surface, "optima of " + first.first().name, Draw::line,
                                       [&](double n) { return optimal_tokens(law, n); }));
    surface.series.back().role = "best";
    for (std::size_t i = 0; i < first.rows.size(); ++i) {
        surface.series.push_back(optima_of(r, i));
        surface.series.back().large = i == 0;
        if (i == 0) surface.series.back().role = "best";
    }
    return {.title = "Loss surface",
            .note = fmt::format(
                "Colour: the loss by {}. Dashed: equal compute. Points: the optima of each law, with the 95 "
                "% interval of N where the law has one.",
                first.first().name),
            .body = std::move(surface),
            .wide = true};
}

PageTable table_of(OptimumReport const& r) {
    PageTable table{.title = "Answers of the laws",
                    .note =
                        "Losses of laws fitted to different corpora cannot be compared. \"beyond data\": how far "
                        "outside the fitted runs.",
                    .columns = {{"compute FLOP", Align::right, PageColumn::Choice::list},
                                {"law", Align::left, PageColumn::Choice::list},
                                {"N*"},
                                {"D*"},
                                {"D/N"},
                                {"D/N 80 %"},
                                {"D/N 95 %"},
                                {"loss"},
                                {"beyond data"},
                                {"basis", Align::left, PageColumn::Choice::list}}};
    for (BudgetAnswer const& budget : r.budgets)
        for (OptimumRow const& row : budget.rows) {
            ScalingAnswer const& a = row.answer;
            auto const& i = a.ratio_interval;
            auto const interval = [&](double low, double high) {
                return PageCell{fmt::format("{}-{}", digits_text(low), digits_text(high)), low};
            };
            table.rows.push_back({{power_text(row.flops), row.flops},
                                  {a.name},
                                  {human_count(a.parameters), a.parameters},
                                  {human_count(a.tokens), a.tokens},
                                  {digits_text(a.ratio()), a.ratio()},
                                  i ? interval(i->low80, i->high80) : PageCell{"-"},
                                  i ? interval(i->low95, i->high95) : PageCell{"-"},
                                  a.loss ? number_cell("{:.4g}", *a.loss) : PageCell{"-"},
                                  {outside_text(a), a.outside_factor},
                                  {a.basis}});
        }
    return table;
}

}  // namespace

std::string scaling_optimum_page(OptimumReport const& r) {
    Page page{.command = "sextant scaling optimum", .title = "Compute-optimal training"};
    if (r.machine) page.lines.push_back(r.machine->text);
    if (r.budgets.size() > 1)
        page.lines.push_back(fmt::format("{} budgets; the figures are of the first", r.budgets.size()));
    add_answer(page, r);
    if (r.budgets.front().first().chinchilla) page.blocks.push_back(surface_of(r));
    page.blocks.push_back(table_of(r));
    for (BudgetAnswer const& budget : r.budgets) {
        std::string const of = r.budgets.size() > 1 ? ", " + optimum_heading(r, budget) : "";
        if (&budget == &r.budgets.front())
            page.blocks.push_back(PagePairs{"By " + budget.first().name + of, optimum_details(budget)});
        if (std::string more = optimum_sections(r, budget); !more.empty())
            page.blocks.push_back(PageText{"What was asked besides" + of, std::move(more)});
    }
    std::vector<ScalingAnswer const*> answers;
    for (OptimumRow const& row : r.budgets.back().rows)  // with several budgets, the one farthest out
        answers.push_back(&row.answer);
    std::vector<std::string> remarks = remarks_of(answers);
    remarks.insert(remarks.end(), r.left_out.begin(), r.left_out.end());
    if (!remarks.empty()) page.blocks.push_back(PageList{"What a reader must know", std::move(remarks), Tone::warning});
    if (!r.assumptions.empty()) page.blocks.push_back(PageList{"Assumed", r.assumptions});
    return html_page(page);
}

}  // namespace sextant::cli
