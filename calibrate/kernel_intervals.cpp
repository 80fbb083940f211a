#include "calibrate/kernel_intervals.hpp"

#include "core/quantile.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace sextant {
TimeInterval residual_interval(std::vector<double> const& log_measured_to_predicted, double widen) {
    double const low = quantile_of(log_measured_to_predicted, 0.1) * widen;
    double const high = quantile_of(log_measured_to_predicted, 0.9) * widen;
    constexpr double least = 0.005;
    return {.low = std::exp(std::min(-least, low)), .high = std::exp(std::max(least, high))};
}

std::vector<KernelInterval> interval_bands(std::vector<UnseenRow> const& rows, double widen) {
    constexpr std::array edges{0.0, 10e-6, 30e-6, 100e-6, 1e-3, 10e-3};
    constexpr std::size_t enough = 40;
    std::vector<KernelInterval> bands;
    std::vector<double> pending;
    double from = 0;
    for (std::size_t b = 0; b < edges.size(); ++b) {
        double const to = b + 1 < edges.size() ? edges[b + 1] : 1e30;
        for (UnseenRow const& r : rows)
            if (r.seconds >= edges[b] && r.seconds < to) pending.push_back(r.log_ratio);
        if (pending.size() < enough && b + 1 < edges.size()) continue;
        if (pending.size() < enough && !bands.empty()) break;  // the last band before holds on
        bands.push_back({.from_seconds = from, .factors = residual_interval(pending, widen)});
        pending.clear();
        from = to;
    }
    return bands;
}

TimeInterval interval_of_few(std::vector<UnseenRow> const& unseen, std::size_t rows, KernelKind kind) {
    constexpr double widen = 1.25;
    constexpr double doubt = 0.2;
    std::size_t const constants = kernel_constants(kind).size();
    double const free = rows > constants ? static_cast<double>(rows - constants) : 1;
    double const least = doubt / std::sqrt(free);
    TimeInterval const floor{.low = std::exp(-least), .high = std::exp(least)};
    if (unseen.empty()) return floor;
    std::vector<double> left;
    for (UnseenRow const& row : unseen)
        left.push_back(row.log_ratio);
    return hull_of(floor, residual_interval(left, widen));
}

double widened_for_constants(std::size_t rows, KernelKind kind) {
    auto const count = static_cast<double>(rows);
    auto const free = std::max(count / 2, count - static_cast<double>(kernel_constants(kind).size()));
    return std::sqrt(count / free);
}

std::vector<KernelInterval> bands_within(std::vector<KernelInterval> const& bands, double shortest, double longest,
                                         TimeInterval outside) {
    std::vector<KernelInterval> out{{.from_seconds = 0, .factors = outside},
                                    {.from_seconds = shortest, .factors = interval_at(bands, shortest, outside)}};
    for (KernelInterval const& band : bands)
        if (band.from_seconds > shortest && band.from_seconds < longest) out.push_back(band);
    out.push_back({.from_seconds = longest, .factors = outside});
    return out;
}

HeldOutError error_of(std::vector<double> const& log_measured_to_predicted) {
    std::vector<double> absolute;
    std::vector<double> signed_errors;
    for (double const r : log_measured_to_predicted) {
        double const error = 100 * (std::exp(-r) - 1);
        signed_errors.push_back(error);
        absolute.push_back(std::abs(error));
    }
    return {.rows = static_cast<std::int64_t>(absolute.size()),
            .median_pct = quantile_of(absolute, 0.5),
            .p95_pct = quantile_of(absolute, 0.95),
            .bias_pct = quantile_of(signed_errors, 0.5)};
}

TimeInterval hull_of(TimeInterval a, TimeInterval b) {
    return {.low = std::min(a.low, b.low), .high = std::max(a.high, b.high)};
}

std::vector<KernelInterval> hull_of(std::vector<KernelInterval> const& a, std::vector<KernelInterval> const& b) {
    if (b.empty()) return a;
    std::set<double> edges;
    for (auto const* bands : {&a, &b})
        for (KernelInterval const& band : *bands)
            edges.insert(band.from_seconds);
    std::vector<KernelInterval> out;
    for (double const edge : edges)
        out.push_back(
            {.from_seconds = edge,
             .factors = hull_of(interval_at(a, edge, a.front().factors), interval_at(b, edge, b.front().factors))});
    return out;
}

}  // namespace sextant
