#include "cli/options/number_text.hpp"
#include "cli/page/page_cells.hpp"
#include "cli/scaling/loss_surface.hpp"
#include "cli/scaling/pages.hpp"
#include "cli/scaling/remarks.hpp"
#include "core/quantity_text.hpp"

namespace sextant::cli {
namespace {

std::string loss_text(double loss) { return fmt::format("{:.4g}", loss); }

void add_answer(Page& page, PredictReport const& r) {
    PredictRow const& first = r.rows.front();
    auto const& i = first.answer.loss_interval;
    page.verdict = fmt::format("A loss of {} by {}.", loss_text(*first.answer.loss), first.answer.name);
    page.figures.push_back(
        {"loss", loss_text(*first.answer.loss),
         i ? fmt::format("80 %: {:.4g} to {:.4g}", i->low80, i->high80) : std::string("no interval")});
    page.figures.push_back(
        {"compute", power_text(r.flops()) + " FLOP", digits_text(r.tokens / r.parameters) + " tokens per parameter"});
    if (first.penalty) {
        ScalingPoint const& best = first.penalty->optimum;
        page.figures.push_back({"best of this compute", loss_text(best.loss),
                                fmt::format("{} on {}", human_count(best.parameters), human_count(best.tokens))});
        page.figures.push_back({"compute needed", fmt::format("{:.3g} %", 100 * first.penalty->compute_needed),
                                "of this run's, for the same loss at the optimum"});
    }
    if (r.target)
        page.figures.push_back({fmt::format("tokens for a loss of {}", loss_text(*r.target)),
                                first.tokens_for_target && *first.tokens_for_target < 1e40
                                    ? human_count(*first.tokens_for_target)
                                    : std::string("never")});
    if (r.cost && r.cost->time > Seconds{}) page.figures.push_back({"time", human(r.cost->time)});
    if (r.cost && r.cost->money > Dollars{}) page.figures.push_back({"money", human(r.cost->money)});
    if (first.answer.outside_factor > far_extrapolation) {
        page.tone = Tone::warning;
        page.verdict += " Far outside what the law was fitted to: a guess.";
    }
}

PointSeries point(std::string name, double parameters, double tokens) {
    return {.name = std::move(name), .draw = Draw::markers, .x = {parameters}, .y = {tokens}, .large = true};
}

Chart surface_of(PredictReport const& r) {
    PredictRow const& first = r.rows.front();
    ChinchillaLaw const law = *first.answer.chinchilla;
    SurfaceFrame frame;
    frame.include(r.parameters, r.tokens);
    if (first.penalty) frame.include(first.penalty->optimum.parameters, first.penalty->optimum.tokens);
    if (r.same_loss) frame.include(r.same_loss->parameters, r.same_loss->tokens);
    SurfaceChart surface = loss_surface(frame, 1, [&](double n, double d) { return loss_of(law, n, d); });
    surface.series.push_back(equal_compute(surface, r.flops()));
    surface.series.push_back(
        line_over(surface, "compute optima", Draw::line, [&](double n) { return optimal_tokens(law, n); }));
    surface.series.push_back(point("this run", r.parameters, r.tokens));
    surface.series.back().role = "best";
    if (first.penalty)
        surface.series.push_back(
            point("best of this compute", first.penalty->optimum.parameters, first.penalty->optimum.tokens));
    if (r.same_loss)
        surface.series.push_back(point("cheapest of this loss", r.same_loss->parameters, r.same_loss->tokens));
    return {.title = "Loss surface",
            .note = fmt::format("Colour: the loss by {}, without what else was set.", first.answer.name),
            .body = std::move(surface),
            .wide = true};
}

PageTable table_of(PredictReport const& r) {
    PageTable table{.title = "Answers of the laws",
                    .note = "Losses of laws fitted to different corpora cannot be compared.",
                    .columns = {{"law", Align::left},
                                {"loss"},
                                {"80 %"},
                                {"95 %"},
                                {"above optimum"},
                                {"compute needed %"},
                                {"beyond data"},
                                {"basis", Align::left, PageColumn::Choice::list}}};
    if (r.target) table.columns.push_back({"D for " + loss_text(*r.target)});
    for (PredictRow const& row : r.rows) {
        ScalingAnswer const& a = row.answer;
        auto const& i = a.loss_interval;
        auto const interval = [&](double low, double high) {
            return PageCell{fmt::format("{:.3f}-{:.3f}", low, high), low};
        };
        std::vector<PageCell> cells{
            {a.name},
            number_cell("{:.4g}", *a.loss),
            i ? interval(i->low80, i->high80) : PageCell{"-"},
            i ? interval(i->low95, i->high95) : PageCell{"-"},
            row.penalty ? PageCell{digits_text(row.penalty->loss), row.penalty->loss} : PageCell{"-"},
            row.penalty ? number_cell("{:.3g}", 100 * row.penalty->compute_needed) : PageCell{"-"},
            {outside_text(a), a.outside_factor},
            {a.basis}};
        if (r.target) {
            auto const& tokens = row.tokens_for_target;
            cells.push_back(!tokens          ? PageCell{"-"}
                            : *tokens < 1e40 ? PageCell{human_count(*tokens), *tokens}
                                             : PageCell{"never"});
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

}  // namespace

std::string scaling_predict_page(PredictReport const& r) {
    Page page{.command = "sextant scaling predict",
              .title = fmt::format("{} parameters on {} tokens", human_count(r.parameters), human_count(r.tokens))};
    if (r.machine) page.lines.push_back(r.machine->text);
    add_answer(page, r);
    if (r.rows.front().answer.chinchilla) page.blocks.push_back(surface_of(r));
    page.blocks.push_back(table_of(r));
    page.blocks.push_back(PagePairs{"By " + r.rows.front().answer.name, predict_details(r)});
    std::vector<ScalingAnswer const*> answers;
    for (PredictRow const& row : r.rows)
        answers.push_back(&row.answer);
    if (auto remarks = remarks_of(answers); !remarks.empty())
        page.blocks.push_back(PageList{"What a reader must know", std::move(remarks), Tone::warning});
    if (!r.assumptions.empty()) page.blocks.push_back(PageList{"Assumed", r.assumptions});
    return html_page(page);
}

}  // namespace sextant::cli
