#include "cli/validate/page_blocks.hpp"

#include "cli/page/page_cells.hpp"
#include "cli/validate/row_words.hpp"
#include "cli/view/percent_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sextant::cli {
namespace {

/// Points of one chart: a browser draws these at once, and more of them only cover each other.
constexpr std::size_t most_drawn_points = 6000;
constexpr std::size_t most_groups = 9;

}  // namespace

Chart against_measured(ValidationPoints::Figure const& figure, std::string title) {
    std::size_t const all = figure.size();
    std::size_t const stride = (all + most_drawn_points - 1) / most_drawn_points;
    PointChart chart{.series = {},
                     .x = {.title = fmt::format("measured {}, {}", figure.name, figure.unit),
                           .scale = ChartAxis::Scale::logarithmic},
                     .y = {.title = fmt::format("predicted {}, {}", figure.name, figure.unit),
                           .scale = ChartAxis::Scale::logarithmic},
                     .same_scale = true};
    double low = 1e300;
    double high = 0;
    std::size_t place = 0;
    for (auto const& [group, points] : figure.groups) {
        bool const own = chart.series.size() < most_groups || figure.groups.size() == most_groups;
        if (own) chart.series.push_back({.name = group.name, .draw = Draw::markers, .x = {}, .y = {}});
        PointSeries& series = chart.series.back();
        if (!own) series.name = "others";
        for (ValidationPoints::Point const& p : points) {
            low = std::min({low, p.measured, p.predicted});
            high = std::max({high, p.measured, p.predicted});
            if (place++ % stride != 0) continue;
            series.x.push_back(p.measured);
            series.y.push_back(p.predicted);
            series.labels.push_back(fmt::format("{} ({})", p.label, signed_percent(p.error_pct() / 100, 0)));
        }
    }
    auto const line = [&](char const* name, Draw draw, double factor) {
        chart.series.push_back(
            {.name = name, .draw = draw, .x = {low, high}, .y = {factor * low, factor * high}, .role = "quiet"});
    };
    line("equal", Draw::line, 1);
    line("25 % above", Draw::dotted, 1.25);
    line("25 % below", Draw::dotted, 0.75);
    std::string note = fmt::format("{} rows", all);
    if (stride > 1) note += fmt::format(", every {}th drawn", stride);
    return {.title = std::move(title),
            .note = note + ". Lines: equal, and a quarter above and below.",
            .body = std::move(chart)};
}

Chart error_chart(std::vector<ErrorLine> const& lines) {
    PointChart chart{.series = {},
                     .x = {.title = "error up to, %", .scale = ChartAxis::Scale::logarithmic},
                     .y = {.title = "share of the rows, %", .from_zero = true},
                     .marks = {{.across = ChartMark::Across::y, .at = 50, .label = "median"}}};
    for (ErrorLine const& of : lines) {
        if (of.errors_pct.empty()) continue;
        std::vector<double> errors;
        for (double const error : of.errors_pct)
            errors.push_back(std::max(0.01, std::abs(error)));
        std::sort(errors.begin(), errors.end());
        PointSeries line{.name = of.name, .draw = Draw::line, .x = {}, .y = {}};
        constexpr std::size_t steps = 200;
        for (std::size_t i = 0; i <= steps; ++i) {
            line.x.push_back(errors[i * (errors.size() - 1) / steps]);
            line.y.push_back(100 * static_cast<double>(i) / steps);
        }
        chart.series.push_back(std::move(line));
    }
    return {.title = "How large the errors are",
            .note = "Absolute errors, in per cent of what was measured.",
            .body = std::move(chart)};
}

PageTable worst_page_table(std::vector<WorstRow> const& worst) {
    PageTable table{.title = "Rows that are off by the largest factors",
                    .note = {},
                    .columns = {{"row", Align::left},
                                {"what", Align::left},
                                {"measured"},
                                {"predicted"},
                                {"error %"},
                                {"split", Align::left},
                                {"reason", Align::left}}};
    for (WorstRow const& row : worst)
        table.rows.push_back(
            {{row.where},
             {row.what},
             {measured_words(row), row.tokens_per_s ? row.tokens_per_s->measured : row.measured.base()},
             {predicted_words(row), row.tokens_per_s ? row.tokens_per_s->predicted : row.predicted.base()},
             number_cell("{:+.0f}", row.error_pct()),
             {row.split},
             {row.reason}});
    leave_out_if_empty(table, "split");  // of kernels alone
    leave_out_if_empty(table, "reason");
    return table;
}

}  // namespace sextant::cli
