#include "cli/sweep/paired_values.hpp"

#include <cmath>

namespace sextant::cli {

PairedValues::PairedValues(std::size_t values)
    : normal_(values * values), right_(values), points_(values), sums_(values) {}

void PairedValues::add_line(std::span<double const> figures) {
    std::vector<std::size_t> there;
    double sum = 0;
    for (std::size_t i = 0; i < figures.size(); ++i) {
        if (!std::isfinite(figures[i])) continue;
        there.push_back(i);
        sum += figures[i];
    }
    if (there.size() < 2) return;
    auto const count = static_cast<double>(there.size());
    double const mean = sum / count;
    for (std::size_t const i : there) {
        double const deviation = figures[i] - mean;
        within_ += deviation * deviation;
        right_[i] += deviation;
        points_[i] += 1;
        sums_[i] += figures[i];
        normal(i, i) += 1;
        for (std::size_t const j : there)
            normal(i, j) -= 1 / count;
    }
    pairs_ += static_cast<std::int64_t>(there.size() * (there.size() - 1) / 2);
}

std::vector<double> PairedValues::solution() const {
    std::size_t const n = sums_.size();
    std::vector<double> a = normal_;
    std::vector<double> x = right_;
    std::vector<bool> pivots(n);
    for (std::size_t i = 0; i < n; ++i) {
        // The last of values that are connected has nothing left: its effect is the one that others are counted from.
        pivots[i] = a[i * n + i] > 1e-9 * normal_[i * n + i];
        if (!pivots[i]) continue;
        for (std::size_t j = i + 1; j < n; ++j) {
            double const factor = a[j * n + i] / a[i * n + i];
            if (factor == 0) continue;
            for (std::size_t k = i; k < n; ++k)
                a[j * n + k] -= factor * a[i * n + k];
            x[j] -= factor * x[i];
        }
    }
    for (std::size_t i = n; i-- > 0;) {
        if (!pivots[i]) {
            x[i] = 0;
            continue;
        }
        for (std::size_t k = i + 1; k < n; ++k)
            x[i] -= a[i * n + k] * x[k];
        x[i] /= a[i * n + i];
    }
    return x;
}

std::vector<bool> PairedValues::compared() const {
    std::size_t const n = sums_.size();
    std::vector<bool> seen(n);
    std::vector<bool> best(n);
    double most = 0;
    for (std::size_t start = 0; start < n; ++start) {
        if (seen[start] || points_[start] == 0) continue;
        std::vector<bool> connected(n);
        std::vector<std::size_t> open{start};
        double points = 0;
        for (seen[start] = true; !open.empty();) {
            std::size_t const i = open.back();
            open.pop_back();
            connected[i] = true;
            points += points_[i];
            for (std::size_t j = 0; j < n; ++j) {
                if (seen[j] || normal_[i * n + j] == 0) continue;
                seen[j] = true;
                open.push_back(j);
            }
        }
        if (points <= most) continue;
        most = points;
        best = connected;
    }
    return best;
}

PairedValues::Effects PairedValues::effects() const {
    std::vector<double> const effect = solution();
    std::vector<bool> const here = compared();
    Effects out{.pairs = pairs_, .within = within_, .means = std::vector<std::optional<double>>(effect.size())};
    double points = 0;
    double base = 0;  // mean of the figure less the effects
    for (std::size_t i = 0; i < effect.size(); ++i) {
        out.explained += effect[i] * right_[i];
        if (!here[i]) continue;
        points += points_[i];
        base += sums_[i] - points_[i] * effect[i];
    }
    for (std::size_t i = 0; i < effect.size(); ++i)
        if (here[i]) out.means[i] = base / points + effect[i];
    return out;
}

}  // namespace sextant::cli
