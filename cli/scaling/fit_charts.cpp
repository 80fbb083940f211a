#include "cli/scaling/fit_charts.hpp"

#include "cli/options/number_text.hpp"
#include "cli/scaling/loss_surface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

ChartAxis logarithmic(std::string title) { return {.title = std::move(title), .scale = ChartAxis::Scale::logarithmic}; }

PointSeries measured_rows(std::vector<double> x, std::vector<double> y) {
    return {.name = "measured", .draw = Draw::markers, .x = std::move(x), .y = std::move(y), .role = "measured"};
}

/// A power law between the ends of x.
PointSeries line_of(PowerLaw const& law, std::vector<double> const& x, std::string name) {
    auto const [low, high] = std::minmax_element(x.begin(), x.end());
    return {.name = std::move(name),
            .draw = Draw::line,
            .x = {*low, *high},
            .y = {law(*low), law(*high)},
            .role = "predicted"};
}

std::vector<double> predicted_of(LawStudy const& study) {
    std::vector<double> out;
    for (std::size_t i = 0; i < study.problem.rows(); ++i)
        out.push_back(study.problem.objective.of_logarithms()
                          ? study.problem.measured[i] * std::exp(study.fit.residuals[i])
                          : study.problem.measured[i] + study.fit.residuals[i]);
    return out;
}

Chart against_measured(LawStudy const& study) {
    std::vector<double> const& measured = study.problem.measured;
    PointSeries rows{.name = "rows", .draw = Draw::markers, .x = measured, .y = predicted_of(study)};
    auto const [low, high] = std::minmax_element(measured.begin(), measured.end());
    PointSeries equal{.name = "equal", .draw = Draw::dashed, .x = {*low, *high}, .y = {*low, *high}, .role = "quiet"};
    std::string const what = study.problem.form->output_name;
    return {.title = "Predicted against measured",
            .note = "Every row of the fit; on the dashed line both are equal.",
            .body = PointChart{.series = {std::move(rows), std::move(equal)},
                               .x = logarithmic("measured " + what),
                               .y = logarithmic("predicted " + what),
                               .same_scale = true}};
}

Chart over_compute(LawStudy const& study, std::vector<double> const& flops) {
    PointSeries fitted{
        .name = "fitted law", .draw = Draw::markers, .x = flops, .y = predicted_of(study), .role = "predicted"};
    std::string const what = study.problem.form->output_name;
    return {.title = fmt::format("{} over compute", what),
            .note = "What was measured, and the law at the same sizes and tokens.",
            .body = PointChart{.series = {measured_rows(flops, study.problem.measured), std::move(fitted)},
                               .x = logarithmic("training compute, FLOP"),
                               .y = logarithmic(what)}};
}

bool is_of_size_and_tokens(LawForm const& form) {
    return form.inputs.size() == 2 && std::string_view(form.inputs[0]) == "parameters" &&
           std::string_view(form.inputs[1]) == "tokens";
}

Chart fitted_surface(ScalingFitReport const& r) {
    LawStudy const& study = *r.study;
    SurfaceFrame frame;
    PointSeries rows = measured_rows({}, {});
    for (std::size_t i = 0; i < study.problem.rows(); ++i) {
        rows.x.push_back(std::exp(study.problem.inputs.columns[0][i]));
        rows.y.push_back(std::exp(study.problem.inputs.columns[1][i]));
        rows.labels.push_back(fmt::format("loss {:.4g}", study.problem.measured[i]));
        frame.include(rows.x.back(), rows.y.back());
    }
    SurfaceChart surface = loss_surface(frame, 0.2, [&](double n, double d) {
        return law_value(*study.problem.form, study.fit.values, std::vector<double>{n, d});
    });
    surface.series.push_back(std::move(rows));
    return {.title = "Loss surface",
            .note = "Colour and lines: the fitted law. Points: the rows it was fitted to.",
            .body = std::move(surface),
            .wide = true};
}

/// The fitted parabola over the sizes of its rows.
PointSeries parabola(PointSeries const& rows, IsoflopVertex const& v, ParabolaOf of) {
    auto const [low, high] = std::minmax_element(rows.x.begin(), rows.x.end());
    PointSeries line{.name = power_text(v.flops) + " FLOP", .draw = Draw::line, .x = {}, .y = {}};
    constexpr int steps = 40;
    for (int i = 0; i <= steps; ++i) {
        double const x = *low * std::pow(*high / *low, static_cast<double>(i) / steps);
        double const rise = v.curvature * std::pow(std::log(x / v.parameters), 2);
        line.x.push_back(x);
        line.y.push_back(of == ParabolaOf::loss ? v.loss + rise : v.loss * std::exp(rise));
    }
    return line;
}

std::vector<Chart> isoflop_charts(ScalingFitReport const& r) {
    PointChart parabolas{.series = {}, .x = logarithmic("parameters"), .y = {.title = "loss"}};
    PointSeries rows{.name = "runs", .draw = Draw::markers, .x = {}, .y = {}, .role = "quiet"};
    PointSeries vertices{.name = "lowest", .draw = Draw::markers, .x = {}, .y = {}, .role = "best", .large = true};
    std::vector<double> flops;
    for (IsoflopVertex const& v : r.isoflop->vertices) {
        if (!v.dropped.empty()) continue;
        PointSeries level{.name = "", .draw = Draw::markers, .x = {}, .y = {}};
        for (std::size_t i = 0; i < r.table.rows(); ++i)
            if (std::abs(std::log10(r.table.column("flops")[i] / v.flops)) <= 0.05) {
                level.x.push_back(r.table.column("parameters")[i]);
                level.y.push_back(r.table.column("loss")[i]);
            }
        if (level.x.empty()) continue;
        rows.x.insert(rows.x.end(), level.x.begin(), level.x.end());
        rows.y.insert(rows.y.end(), level.y.begin(), level.y.end());
        parabolas.series.push_back(parabola(level, v, r.isoflop->of));
        vertices.x.push_back(v.parameters);
        vertices.y.push_back(v.loss);
        flops.push_back(v.flops);
    }
    PointChart sizes{
        .series =
            {{.name = "lowest of a parabola", .draw = Draw::markers, .x = flops, .y = vertices.x, .role = "measured"},
             line_of(r.isoflop->size, flops, fmt::format("N* ~ C^{:.4f}", r.isoflop->size.exponent))},
        .x = logarithmic("training compute, FLOP"),
        .y = logarithmic("parameters")};
    parabolas.series.push_back(std::move(rows));
    parabolas.series.push_back(std::move(vertices));
    return {{.title = "IsoFLOP parabolas",
             .note = "A parabola per budget; diamonds are its lowest points.",
             .body = std::move(parabolas),
             .wide = true},
            {.title = "Best size over compute",
             .note = "The power law through the lowest points.",
             .body = std::move(sizes)}};
}

Chart envelope_chart(ScalingFitReport const& r) {
    PointSeries lowest{.name = "lowest", .draw = Draw::markers, .x = {}, .y = {}, .role = "best"};
    for (IsoflopRow const& p : r.envelope->points) {
        lowest.x.push_back(p.flops);
        lowest.y.push_back(p.loss);
    }
    return {.title = "Training curves and their envelope",
            .note = fmt::format("N* ~ C^{:.4f} along the lowest curve at each compute.", r.envelope->size.exponent),
            .body = PointChart{.series = {measured_rows(r.table.column("flops"), r.table.column("loss")),
                                          std::move(lowest)},
                               .x = logarithmic("training compute, FLOP"),
                               .y = {.title = "loss"}},
            .wide = true};
}

Chart allocation_chart(ScalingFitReport const& r) {
    std::vector<double> const& flops = r.table.column("flops");
    PowerLaw const& size = r.allocation->first;
    return {.title = "Compute-optimal sizes",
            .note = "The rows, and the power law through them.",
            .body = PointChart{.series = {measured_rows(flops, r.table.column("parameters")),
                                          line_of(size, flops, fmt::format("N* ~ C^{:.4f}", size.exponent))},
                               .x = logarithmic("training compute, FLOP"),
                               .y = logarithmic("parameters")},
            .wide = true};
}

Chart batch_chart(ScalingFitReport const& r) {
    PointSeries sizes = measured_rows({}, {});
    for (CriticalBatchOfSize const& s : r.batch->sizes) {
        sizes.x.push_back(s.parameters);
        sizes.y.push_back(s.batch_at_overhead);
    }
    PointSeries line =
        line_of(r.batch->at_overhead, sizes.x, fmt::format("B* ~ N^{:.4f}", r.batch->at_overhead.exponent));
    return {.title = "Critical batch over size",
            .note = "A point per size, and the power law through them.",
            .body = PointChart{.series = {std::move(sizes), std::move(line)},
                               .x = logarithmic("parameters"),
                               .y = logarithmic("batch")},
            .wide = true};
}

Chart tuning_chart(ScalingFitReport const& r) {
    std::vector<double> flops;
    for (std::size_t i = 0; i < r.table.rows(); ++i)
        flops.push_back(6 * r.table.column("parameters")[i] * r.table.column("tokens")[i]);
    PointSeries line =
        line_of(r.tuning->lr_by_flops, flops, fmt::format("lr ~ C^{:.4f}", r.tuning->lr_by_flops.exponent));
    return {.title = "Learning rates of all runs",
            .note = "The law goes through the near-optimal ones.",
            .body = PointChart{.series = {measured_rows(flops, r.table.column("learning_rate")), std::move(line)},
                               .x = logarithmic("training compute, FLOP"),
                               .y = logarithmic("learning rate")},
            .wide = true};
}

}  // namespace

std::vector<Chart> scaling_fit_charts(ScalingFitReport const& r) {
    if (r.isoflop) return isoflop_charts(r);
    if (r.envelope) return {envelope_chart(r)};
    if (r.allocation) return {allocation_chart(r)};
    if (r.batch) return {batch_chart(r)};
    if (r.tuning) return {tuning_chart(r)};
    std::vector<Chart> charts;
    LawStudy const& study = *r.study;
    if (is_of_size_and_tokens(*study.problem.form)) charts.push_back(fitted_surface(r));
    charts.push_back(against_measured(study));
    if (auto const flops = flops_of_rows(study.problem); !flops.empty()) charts.push_back(over_compute(study, flops));
    return charts;
}

}  // namespace sextant::cli
