#include "calibrate/scaling/isoflop.hpp"

#include "core/error.hpp"
#include "core/quantile.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <set>

namespace sextant {
namespace {

constexpr std::size_t least_sizes = 3;
/// Rows that only lie near each other are a level when they are this many, and this share of those of the fullest
/// level.
constexpr std::size_t least_gathered = 5;
constexpr double least_share = 0.25;

std::size_t different_sizes(std::vector<IsoflopRow> const& rows) {
    std::set<double> sizes;
    for (IsoflopRow const& row : rows)
        sizes.insert(row.parameters);
    return sizes.size();
}

/// Lowest point of a least-squares parabola.
struct Parabola {
    double at = 0;  ///< natural logarithm
    double value = 0;
    double curvature = 0;
};

Parabola parabola(std::vector<double> const& x, std::vector<double> const& y) {
    auto const count = static_cast<Eigen::Index>(x.size());
    double mean = 0;
    for (double const v : x)
        mean += v / static_cast<double>(x.size());
    Eigen::MatrixXd design(count, 3);
    Eigen::VectorXd target(count);
    for (Eigen::Index i = 0; i < count; ++i) {
        double const c = x[static_cast<std::size_t>(i)] - mean;
        design.row(i) << 1, c, c * c;
        target[i] = y[static_cast<std::size_t>(i)];
    }
    Eigen::Vector3d const p = design.colPivHouseholderQr().solve(target);
    double const at = -p[1] / (2 * p[2]);
    return {.at = mean + at, .value = p[0] + p[1] * at / 2, .curvature = p[2]};
}

std::vector<IsoflopRow> rows_of(std::vector<IsoflopRow> const& rows, double budget, IsoflopOptions const& options) {
    std::vector<IsoflopRow> out;
    for (IsoflopRow const& row : rows)
        if (std::abs(std::log10(row.flops / budget)) <= options.tolerance) out.push_back(row);
    if (!options.window || out.empty()) return out;
    double const best = std::min_element(out.begin(), out.end(), [](auto const& a, auto const& b) {
                            return a.loss < b.loss;
                        })->parameters;
    std::erase_if(out, [&](IsoflopRow const& row) {
        return std::abs(std::log10(row.parameters / best)) > *options.window * (1 + 1e-12);
    });
    return out;
}

IsoflopVertex vertex_of(std::vector<IsoflopRow> const& rows, double budget, ParabolaOf of) {
    IsoflopVertex out{.flops = budget, .rows = rows.size()};
    if (different_sizes(rows) < least_sizes) {
        out.dropped = "fewer than three sizes";
        return out;
    }
    std::vector<double> sizes;
    std::vector<double> tokens;
    std::vector<double> losses;
    for (IsoflopRow const& row : rows) {
        sizes.push_back(std::log(row.parameters));
        tokens.push_back(std::log(row.tokens));
        losses.push_back(of == ParabolaOf::loss ? row.loss : std::log(row.loss));
    }
    Parabola const over_size = parabola(sizes, losses);
    Parabola const over_data = parabola(tokens, losses);
    out.parameters = std::exp(over_size.at);
    out.tokens = std::exp(over_data.at);
    out.loss = of == ParabolaOf::loss ? over_size.value : std::exp(over_size.value);
    auto const [low, high] = std::minmax_element(sizes.begin(), sizes.end());
    out.curvature = over_size.curvature;
    if (!(over_size.curvature > 0))
        out.dropped = "the parabola opens downwards";
    else if (over_size.at < *low || over_size.at > *high)
        out.dropped = "the vertex lies outside the sampled sizes";
    return out;
}

}  // namespace

std::vector<IsoflopRow> isoflop_rows(LossTable const& table) {
    std::vector<IsoflopRow> rows;
    for (std::size_t i = 0; i < table.rows(); ++i)
        rows.push_back({.parameters = table.column("parameters")[i],
                        .tokens = table.column("tokens")[i],
                        .flops = table.column("flops")[i],
                        .loss = table.column("loss")[i]});
    return rows;
}

std::vector<double> find_budgets(std::vector<IsoflopRow> const& rows, double tolerance) {
    std::vector<IsoflopRow> left = rows;
    std::sort(left.begin(), left.end(), [](auto const& a, auto const& b) { return a.flops < b.flops; });
    std::vector<double> budgets;
    std::size_t fullest = 0;
    while (!left.empty()) {
        std::size_t best_begin = 0;
        std::size_t best_count = 0;
        for (std::size_t begin = 0, end = 0; begin < left.size(); ++begin) {
            while (end < left.size() && std::log10(left[end].flops / left[begin].flops) <= 2 * tolerance)
                ++end;
            if (end - begin > best_count) {
                best_count = end - begin;
                best_begin = begin;
            }
        }
        auto const first = left.begin() + static_cast<std::ptrdiff_t>(best_begin);
        std::vector<IsoflopRow> const level(first, first + static_cast<std::ptrdiff_t>(best_count));
        fullest = std::max(fullest, level.size());
        bool const exact = level.back().flops <= level.front().flops * (1 + 1e-6);
        auto const rows_needed =
            std::max(static_cast<double>(least_gathered), least_share * static_cast<double>(fullest));
        bool const enough = exact || static_cast<double>(level.size()) >= rows_needed;
        if (!enough || different_sizes(level) < least_sizes) break;
        std::vector<double> flops;
        for (IsoflopRow const& row : level)
            flops.push_back(row.flops);
        budgets.push_back(quantile(flops, 0.5));
        // What lies next to a level belongs to it, or to none.
        std::erase_if(left, [&](IsoflopRow const& row) {
            return std::abs(std::log10(row.flops / budgets.back())) <= 2 * tolerance;
        });
    }
    std::sort(budgets.begin(), budgets.end());
    return budgets;
}

MixedRuns mixed_runs(std::vector<IsoflopRow> const& rows) {
    constexpr double same = 1e-3;
    std::vector<IsoflopRow> sorted = rows;
    std::sort(sorted.begin(), sorted.end(), [](IsoflopRow const& a, IsoflopRow const& b) {
        return std::pair(a.flops, a.parameters) < std::pair(b.flops, b.parameters);
    });
    auto const belong = [](IsoflopRow const& a, IsoflopRow const& b) {
        return b.flops <= a.flops * (1 + same) && std::abs(b.parameters / a.parameters - 1) <= same;
    };
    MixedRuns out;
    for (std::size_t begin = 0; begin < sorted.size();) {
        std::size_t end = begin + 1;
        double low = sorted[begin].loss;
        double high = low;
        for (; end < sorted.size() && belong(sorted[begin], sorted[end]); ++end) {
            low = std::min(low, sorted[end].loss);
            high = std::max(high, sorted[end].loss);
        }
        if (end - begin > 1) out.rows += end - begin;
        if (high / low - 1 > mixed_loss_spread) ++out.groups;
        out.spread = std::max(out.spread, high / low - 1);
        begin = end;
    }
    return out;
}

IsoflopFit fit_isoflop(std::vector<IsoflopRow> const& rows, IsoflopOptions const& options, std::string const& where) {
    IsoflopFit fit;
    fit.of = options.of;
    std::vector<double> const budgets =
        options.budgets.empty() ? find_budgets(rows, options.tolerance) : options.budgets;
    std::vector<double> flops;
    std::vector<double> sizes;
    std::vector<double> tokens;
    for (double const budget : budgets) {
        IsoflopVertex vertex = vertex_of(rows_of(rows, budget, options), budget, options.of);
        if (vertex.dropped.empty()) {
            fit.rows += vertex.rows;
            flops.push_back(vertex.flops);
            sizes.push_back(vertex.parameters);
            tokens.push_back(vertex.tokens);
        }
        fit.vertices.push_back(std::move(vertex));
    }
    if (flops.size() < 2) {
        std::string reasons;
        for (IsoflopVertex const& v : fit.vertices)
            if (!v.dropped.empty()) reasons += (reasons.empty() ? "" : "; ") + v.dropped;
        throw InputError(
            "{}: {} compute level{} with a minimum inside its sizes (two are needed to see how it moves{}{})", where,
            flops.size(), flops.size() == 1 ? "" : "s", reasons.empty() ? "" : ": ", reasons);
    }
    fit.size = fit_power_law(flops, sizes, {}, "isoflop");
    fit.data = fit_power_law(flops, tokens, {}, "isoflop");
    return fit;
}

}  // namespace sextant
