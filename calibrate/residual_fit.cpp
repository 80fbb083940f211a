#include "calibrate/residual_fit.hpp"

#include "core/error.hpp"

#include <Eigen/SparseCholesky>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

using Triplets = std::vector<Eigen::Triplet<double>>;
using Sparse = Eigen::SparseMatrix<double>;

constexpr int rounds = 4;  ///< of reweighting

/// Adds the penalties of one grid to the normal matrix, its values from row `first` on.
class Penalty {
public:
    Penalty(std::vector<GridAxis> const& axes, std::size_t first, Triplets& out)
        : axes_(axes), first_(first), out_(out) {
        strides_.assign(axes.size(), 1);
        for (std::size_t a = axes.size() - 1; a > 0; --a)
            strides_[a - 1] = strides_[a] * axes[a].knots.size();
        count_ = strides_[0] * axes[0].knots.size();
    }

    [[nodiscard]] std::size_t count() const { return count_; }

    void add(ResidualSmoothing const& smoothing) {
        for (std::size_t a = 0; a < axes_.size(); ++a)
            add_axis(a, smoothing);
        for (std::size_t i = 0; i < count_; ++i)
            add({{i, smoothing.size}});
    }

private:
    void add_axis(std::size_t a, ResidualSmoothing const& s) {
        auto const& knots = axes_[a].knots;
        for (std::size_t i = 0; i < count_; ++i) {
            std::size_t const position = i / strides_[a] % knots.size();
            if (position + 1 < knots.size()) {
                double const w = s.slope / std::sqrt(knots[position + 1] - knots[position]);
                add({{i, -w}, {i + strides_[a], w}});
            }
            if (position > 0 && position + 1 < knots.size()) {
                double const before = knots[position] - knots[position - 1];
                double const after = knots[position + 1] - knots[position];
                double const w = s.curvature * 2 / (before + after) * std::sqrt((before + after) / 2);
                add({{i - strides_[a], w / before}, {i, -w * (1 / before + 1 / after)}, {i + strides_[a], w / after}});
            }
        }
    }

    void add(std::vector<std::pair<std::size_t, double>> const& row) {
        for (auto const& [i, v] : row)
            for (auto const& [j, w] : row)
                out_.emplace_back(static_cast<int>(first_ + i), static_cast<int>(first_ + j), v * w);
    }

    std::vector<GridAxis> const& axes_;
    std::size_t first_;
    Triplets& out_;
    std::vector<std::size_t> strides_;
    std::size_t count_ = 0;
};

}  // namespace

GridAxis trimmed_axis(GridAxis axis, std::size_t coordinate, std::span<ResidualPoint const> points) {
    double low = points.front().at[coordinate];
    double high = low;
    for (ResidualPoint const& p : points) {
        low = std::min(low, p.at[coordinate]);
        high = std::max(high, p.at[coordinate]);
    }
    auto& knots = axis.knots;
    while (knots.size() > 2 && knots[1] <= low)
        knots.erase(knots.begin());
    while (knots.size() > 2 && knots[knots.size() - 2] >= high)
        knots.pop_back();
    return axis;
}

std::vector<ResidualGrid> fit_residual(std::span<ResidualPoint const> points, std::vector<ResidualLayer> layers,
                                       double robust_scale) {
    if (points.empty()) throw InputError("residual: no points to fit");
    Triplets fixed;
    std::vector<ResidualGrid> grids;
    std::vector<std::vector<std::pair<std::size_t, double>>> rows(points.size());
    std::size_t n = 0;
    for (ResidualLayer& layer : layers) {
        for (std::size_t a = 0; a < layer.axes.size(); ++a)
            layer.axes[a] = trimmed_axis(std::move(layer.axes[a]), layer.first + a, points);
        Penalty penalty(layer.axes, n, fixed);
        penalty.add(layer.smoothing);
        grids.emplace_back(layer.axes, std::vector<double>(penalty.count(), 0.0));
        for (std::size_t p = 0; p < points.size(); ++p)
            for (auto const& [i, weight] : grids.back().weights(layer.of(points[p])))
                rows[p].emplace_back(n + i, weight);
        n += penalty.count();
    }

    auto const size = static_cast<Eigen::Index>(n);
    Eigen::VectorXd values = Eigen::VectorXd::Zero(size);
    Eigen::SimplicialLDLT<Sparse> solver;
    for (int round = 0; round < rounds; ++round) {
        Triplets entries = fixed;
        Eigen::VectorXd right = Eigen::VectorXd::Zero(size);
        for (std::size_t p = 0; p < rows.size(); ++p) {
            double left = points[p].log_ratio;
            for (auto const& [i, w] : rows[p])
                left -= w * values[static_cast<Eigen::Index>(i)];
            double const scaled = left / robust_scale;
            double const weight = round == 0 ? 1 : 1 / std::sqrt(1 + scaled * scaled);
            for (auto const& [i, w] : rows[p]) {
                right[static_cast<Eigen::Index>(i)] += weight * w * points[p].log_ratio;
                for (auto const& [j, v] : rows[p])
                    entries.emplace_back(static_cast<int>(i), static_cast<int>(j), weight * w * v);
            }
        }
        Sparse matrix(size, size);
        matrix.setFromTriplets(entries.begin(), entries.end());
        if (round == 0) solver.analyzePattern(matrix);
        solver.factorize(matrix);
        values = solver.solve(right);
    }
    auto next = values.begin();
    for (std::size_t g = 0; g < grids.size(); ++g) {
        auto const end = next + static_cast<std::ptrdiff_t>(grids[g].values().size());
        grids[g] = {std::move(layers[g].axes), std::vector<double>(next, end)};
        next = end;
    }
    return grids;
}

}  // namespace sextant
