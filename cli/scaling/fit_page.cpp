#include "cli/options/number_text.hpp"
#include "cli/page/page_cells.hpp"
#include "cli/scaling/fit_charts.hpp"
#include "cli/scaling/pages.hpp"

#include <cmath>

namespace sextant::cli {
namespace {

std::string shown(double value) {
    if (!std::isfinite(value) || std::abs(value) > 1e30) return "unbounded";
    return fmt::format("{:.5g}", value);
}

PageCell range(std::optional<ResampleInterval> const& interval) {
    if (!interval) return {"-"};
    return {fmt::format("{} to {}", shown(interval->low), shown(interval->high)), interval->low};
}

PageCell profile(ParameterInterval const& p) {
    if (!p.profile) return {p.fitted ? "-" : "not fitted"};
    return {fmt::format("{} to {}", p.profile->open_below ? "open" : shown(p.profile->low),
                        p.profile->open_above ? "open" : shown(p.profile->high))};
}

PageTable parameter_table(std::string title, std::vector<ParameterInterval> const& list, LawForm const* form) {
    PageTable table{
        .title = std::move(title),
        .note = "80 % and 95 %: of the bootstrap; an open end means that the rows do not tell.",
        .columns = {{"name", Align::left}, {"value"}, {"80 %"}, {"95 %"}, {"std. error"}, {"profile 95 %"}}};
    for (ParameterInterval const& p : list) {
        double const value = form == nullptr ? p.value : shown_value(*form, p.name, p.value);
        table.rows.push_back({{p.name},
                              {shown(value), value},
                              range(p.at_80),
                              range(p.at_95),
                              p.at_80 ? PageCell{shown(p.standard_error), p.standard_error} : PageCell{"-"},
                              profile(p)});
    }
    return table;
}

PageTable back_test_table(LawStudy const& study) {
    PageTable table{.title = "Back-test",
                    .note = "Fitted to the rows below a compute, judged on those above it.",
                    .columns = {{"fitted below FLOP"}, {"rows"}, {"judged"}, {"median error %"}, {"bias %"}}};
    for (BackTest const& b : study.back_tests)
        table.rows.push_back({{power_text(b.cut), b.cut},
                              count_cell(static_cast<std::int64_t>(b.fitted)),
                              count_cell(static_cast<std::int64_t>(b.judged)),
                              number_cell("{:.3g}", b.median_error_pct),
                              number_cell("{:+.3g}", b.bias_pct)});
    return table;
}

}  // namespace

std::string scaling_fit_page(ScalingFitReport const& r) {
    Page page{.command = "sextant scaling fit",
              .title = fmt::format("{} fitted to {}", r.law, r.table.name.substr(r.table.name.find_last_of('/') + 1)),
              .lines = {r.formula, r.source}};
    page.verdict = fmt::format("{} rows", r.rows_used);
    if (r.study) page.verdict += fmt::format("; {} of {} starts agree", r.study->fit.agreeing, r.study->fit.starts);
    page.verdict += r.warnings.empty() ? "." : fmt::format("; {} warnings below.", r.warnings.size());
    page.tone = r.warnings.empty() ? Tone::good : Tone::warning;
    auto const figure = [&](ParameterInterval const& p, LawForm const* form) {
        double const value = form == nullptr ? p.value : shown_value(*form, p.name, p.value);
        page.figures.push_back(
            {p.name, shown(value),
             p.at_80 ? fmt::format("80 %: {} to {}", shown(p.at_80->low), shown(p.at_80->high)) : std::string()});
    };
    LawForm const* const form = r.study ? r.study->problem.form : nullptr;
    constexpr std::size_t most_figures = 6;
    for (ParameterInterval const& p : r.parameters)
        if (page.figures.size() < most_figures) figure(p, form);
    for (Chart& chart : scaling_fit_charts(r))
        page.blocks.push_back(std::move(chart));
    page.blocks.push_back(parameter_table("Parameters", r.parameters, form));
    if (!r.quantities.empty()) page.blocks.push_back(parameter_table("What follows from them", r.quantities, nullptr));
    if (r.study && !r.study->back_tests.empty()) page.blocks.push_back(back_test_table(*r.study));
    if (!r.warnings.empty()) page.blocks.push_back(PageList{"Warnings", r.warnings, Tone::warning});
    PagePairs data{"Data", {{"file", r.table.name}, {"rows", fmt::format("{}", r.rows_used)}}};
    for (auto const& [part, column] : r.columns)
        data.pairs.emplace_back(part, "column " + column);
    if (!r.resamples.empty()) data.pairs.emplace_back("bootstrap", fmt::format("{} resamples", r.resamples.size()));
    page.blocks.push_back(std::move(data));
    if (!r.assumptions.empty()) page.blocks.push_back(PageList{"Assumed", r.assumptions});
    return html_page(page);
}

}  // namespace sextant::cli
