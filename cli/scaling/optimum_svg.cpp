#include "cli/scaling/optimum_svg.hpp"

#include "cli/options/number_text.hpp"
#include "cli/view/svg_text.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant::cli {
namespace {

// Lengths in pixels.
constexpr double left = 70;
constexpr double top = 56;
constexpr double wide = 600;
constexpr double high = 440;
constexpr double legend_line = 17;
constexpr int steps = 120;  // of a curve
constexpr std::array colours{"#d1495b", "#3a7ca5", "#2f9a68", "#ef8e2c", "#7a5bb8", "#6b7280", "#17888f", "#b23a8e"};

/// log10 of N to the right, of D upwards.
struct Frame {
    double n_low = 0;
    double n_high = 1;
    double d_low = 0;
    double d_high = 1;
    [[nodiscard]] double x(double n) const { return left + wide * (std::log10(n) - n_low) / (n_high - n_low); }
    [[nodiscard]] double y(double d) const { return top + high * (d_high - std::log10(d)) / (d_high - d_low); }
    [[nodiscard]] double n_at(int step) const { return std::pow(10, n_low + (n_high - n_low) * step / steps); }
};

Frame frame_of(OptimumReport const& report) {
    Frame f{.n_low = 99, .n_high = -99, .d_low = 99, .d_high = -99};
    for (BudgetAnswer const& budget : report.budgets)
        for (OptimumRow const& row : budget.rows) {
            f.n_low = std::min(f.n_low, std::log10(row.answer.parameters));
            f.n_high = std::max(f.n_high, std::log10(row.answer.parameters));
            f.d_low = std::min(f.d_low, std::log10(row.answer.tokens));
            f.d_high = std::max(f.d_high, std::log10(row.answer.tokens));
        }
    constexpr double room = 0.6;  // decades
    return {.n_low = f.n_low - room, .n_high = f.n_high + room, .d_low = f.d_low - room, .d_high = f.d_high + room};
}

/// D over N as a path; values that are not finite are left out. The clip does the rest.
template <class Of>
std::string curve(Frame const& f, Of const& tokens_of, std::string const& style) {
    std::string path;
    for (int i = 0; i <= steps; ++i) {
        double const n = f.n_at(i);
        double const d = tokens_of(n);
        if (!std::isfinite(d) || d <= 0) continue;
        double const y = std::clamp(f.y(d), top - 2 * high, top + 3 * high);
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", f.x(n), y);
    }
    return fmt::format("<path d=\"{}\" fill=\"none\" {}/>\n", path, style);
}

std::string grid(Frame const& f) {
    std::string lines;
    std::string labels;
    for (double const digit : {1.0, 3.0})
        for (int e = 0; e <= 40; ++e) {
            double const v = digit * std::pow(10, e);
            double const at = std::log10(v);
            if (at > f.n_low && at < f.n_high) {
                lines += fmt::format("M{:.1f} {}v{}", f.x(v), top, high);
                labels += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", f.x(v),
                                      top + high + 17, human_count(v));
            }
            if (at > f.d_low && at < f.d_high) {
                lines += fmt::format("M{} {:.1f}h{}", left, f.y(v), wide);
                labels += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left - 6, f.y(v) + 4,
                                      human_count(v));
            }
        }
    return fmt::format("<path d=\"{}\" stroke=\"#e8e8ee\" fill=\"none\"/>\n<g font-size=\"11\" fill=\"#555\">{}</g>\n",
                       lines, labels);
}

/// Eight losses between those of the corners, each with its value.
std::string equal_losses(Frame const& f, ChinchillaLaw const& law) {
    std::string out;
    double const least = loss_of(law, std::pow(10, f.n_high), std::pow(10, f.d_high));
    double const most = loss_of(law, std::pow(10, f.n_low), std::pow(10, f.d_low));
    for (int i = 1; i <= 8; ++i) {
        // Evenly in the logarithm of what can still be gained.
        double const loss = law.E + (least - law.E) * std::pow((most - law.E) / (least - law.E), i / 9.0);
        out += curve(
            f, [&](double n) { return tokens_for_loss(law, n, loss); }, "stroke=\"#c9c9d4\"");
        // Its value where it leaves the picture to the right, or below.
        int last = steps;
        auto const below = [&](int step) { return f.y(tokens_for_loss(law, f.n_at(step), loss)) > top + high - 6; };
        while (last > 0 && below(last))
            --last;
        double const y = f.y(tokens_for_loss(law, f.n_at(last), loss));
        if (last > 4 && y > top + 14)
            out += fmt::format(
                "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10\" fill=\"#77777f\" "
                "text-anchor=\"end\">{:.4g}</text>\n",
                f.x(f.n_at(last)) - 3, y - 4, loss);
    }
    return out;
}

std::string marks(Frame const& f, OptimumReport const& report) {
    std::string out;
    for (BudgetAnswer const& budget : report.budgets)
        for (std::size_t i = 0; i < budget.rows.size(); ++i) {
            ScalingAnswer const& a = budget.rows[i].answer;
            char const* const colour = colours[i % colours.size()];
            if (auto const& n = a.parameters_interval; n && report.kind != BudgetKind::loss)
                out += fmt::format(
                    "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-width=\"6\" stroke-opacity=\"0.3\" "
                    "stroke-linecap=\"round\"/>\n",
                    f.x(n->low95), f.y(budget.rows[i].flops / 6 / n->low95), f.x(n->high95),
                    f.y(budget.rows[i].flops / 6 / n->high95), colour);
            out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"{}\"/>\n", f.x(a.parameters),
                               f.y(a.tokens), colour);
        }
    return out;
}

std::string legend(std::vector<OptimumRow> const& rows) {
    std::string out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        double const y = top + high + 62 + legend_line * static_cast<double>(i);
        out += fmt::format(
            "<circle cx=\"{}\" cy=\"{:g}\" r=\"4.5\" fill=\"{}\"/><text x=\"{}\" y=\"{:g}\" "
            "font-size=\"12\">{} ({})</text>\n",
            left + 5, y - 4, colours[i % colours.size()], left + 17, y, xml(rows[i].answer.name), rows[i].answer.basis);
    }
    return out;
}

std::string titles(OptimumReport const& report) {
    std::string const law = xml(report.budgets.front().first().name);
    std::string out = fmt::format(
        "<text x=\"{0}\" y=\"24\" font-size=\"16\">Compute optima by several laws</text>\n<text x=\"{0}\" y=\"43\" "
        "font-size=\"11\" fill=\"#555\">grey: equal loss by {1}; dashed: equal compute; dotted: {2:g} tokens per "
        "parameter; bars: 95 % of N</text>\n",
        left, law, report.budgets.front().rule_ratio);
    out += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"12\" text-anchor=\"middle\">parameters</text>\n",
                       left + wide / 2, top + high + 37);
    return out + fmt::format(
                     "<text transform=\"translate(16 {}) rotate(-90)\" font-size=\"12\" "
                     "text-anchor=\"middle\">tokens</text>\n",
                     top + high / 2);
}

}  // namespace

std::string optimum_svg(OptimumReport const& report) {
    Frame const f = frame_of(report);
    BudgetAnswer const& first = report.budgets.front();
    double const width = left + wide + 24;
    double const height = top + high + 62 + legend_line * static_cast<double>(first.rows.size());
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
        "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n<clipPath "
        "id=\"plot\"><rect x=\"{2}\" y=\"{3}\" width=\"{4}\" height=\"{5}\"/></clipPath>\n",
        width, height, left, top, wide, high);
    out += titles(report) + grid(f) + "<g clip-path=\"url(#plot)\">\n";
    if (first.first().chinchilla) out += equal_losses(f, *first.first().chinchilla);
    out += curve(
        f, [&](double n) { return first.rule_ratio * n; }, "stroke=\"#777\" stroke-dasharray=\"1 4\"");
    for (BudgetAnswer const& budget : report.budgets)
        out += curve(
            f, [&](double n) { return budget.flops / training_flops_per_parameter_token / n; },
            "stroke=\"#999\" stroke-dasharray=\"6 4\"");
    for (std::size_t i = 0; i < first.rows.size(); ++i)
        if (auto const& law = first.rows[i].answer.chinchilla)
            out += curve(
                f, [&](double n) { return optimal_tokens(*law, n); },
                fmt::format("stroke=\"{}\" stroke-width=\"1.6\"", colours[i % colours.size()]));
    return out + marks(f, report) + "</g>\n" + legend(first.rows) + "</svg>\n";
}

}  // namespace sextant::cli
