#include "calibrate/residual_field.hpp"

#include "core/error.hpp"
#include "core/quantile.hpp"

#include <ceres/ceres.h>
#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace sextant {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr std::size_t most_deciding = 250;  ///< points that the scales are chosen by: the work grows with their cube
constexpr double least_noise = 1e-5;        ///< keeps the matrix of points that lie on one another positive
constexpr double shortest = 0.3;
constexpr double longest = 30;
constexpr std::size_t beyond_lengths = 3;  ///< parameters: variance, noise, twins
constexpr double normal = 1.4826;          ///< standard deviation over median deviation of a normal distribution
constexpr double usual_twins = 2;          ///< logit of the correlation between devices of one chip

/// Matern 3/2 at a distance in units of the lengths, times the square root of 3.
double matern(double scaled) { return (1 + scaled) * std::exp(-scaled); }

double distance(double const* a, double const* b, std::span<double const> lengths) {
    double sum = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        double const d = (a[i] - b[i]) / lengths[i];
        sum += d * d;
    }
    return std::sqrt(3 * sum);
}

/// Sorted by where they lie, so that sums do not depend on the order of a table.
std::vector<ResidualPoint> in_one_order(std::span<ResidualPoint const> points) {
    std::vector<ResidualPoint> sorted(points.begin(), points.end());
    std::sort(sorted.begin(), sorted.end(), [](ResidualPoint const& a, ResidualPoint const& b) {
        return std::tie(a.at, a.of_twin, a.log_ratio) < std::tie(b.at, b.of_twin, b.log_ratio);
    });
    return sorted;
}

/// Every k-th of them.
std::vector<ResidualPoint> selection(std::vector<ResidualPoint> const& points) {
    std::size_t const count = std::min(most_deciding, points.size());
    std::vector<ResidualPoint> out;
    for (std::size_t i = 0; i < count; ++i)
        out.push_back(points[i * points.size() / count]);
    return out;
}

Matrix covariance(std::vector<ResidualPoint> const& points, FieldScales const& scales, std::size_t axes) {
    auto const lengths = std::span(scales.lengths).first(axes);
    auto const n = static_cast<Eigen::Index>(points.size());
    Matrix out(n, n);
    for (Eigen::Index i = 0; i < n; ++i) {
        out(i, i) = scales.variance + scales.noise;
        ResidualPoint const& a = points[static_cast<std::size_t>(i)];
        for (Eigen::Index j = 0; j < i; ++j) {
            ResidualPoint const& b = points[static_cast<std::size_t>(j)];
            out(i, j) = out(j, i) = scales.variance * (a.of_twin == b.of_twin ? 1 : scales.twins) *
                                    matern(distance(a.at.data(), b.at.data(), lengths));
        }
    }
    return out;
}

Vector values_of(std::vector<ResidualPoint> const& points) {
    Vector out(static_cast<Eigen::Index>(points.size()));
    for (std::size_t i = 0; i < points.size(); ++i)
        out[static_cast<Eigen::Index>(i)] = points[i].log_ratio;
    return out;
}

/// From logarithms of lengths, variance and noise, and the logit of the twins' correlation.
FieldScales scales_of(std::span<double const> x) {
    std::size_t const axes = x.size() - beyond_lengths;
    FieldScales scales;
    for (std::size_t a = 0; a < axes; ++a)
        scales.lengths.at(a) = std::exp(x[a]);
    scales.variance = std::exp(x[axes]);
    scales.noise = std::exp(x[axes + 1]);
    scales.twins = 1 / (1 + std::exp(-x[axes + 2]));
    return scales;
}

/// Minus the logarithm of the likelihood and of the priors, over what `scales_of` takes.
class Unlikelihood final : public ceres::FirstOrderFunction {
public:
    Unlikelihood(std::vector<ResidualPoint> points, std::vector<double> means, std::vector<double> spreads)
        : points_(std::move(points)),
          values_(values_of(points_)),
          means_(std::move(means)),
          spreads_(std::move(spreads)) {}

    int NumParameters() const override { return static_cast<int>(means_.size()); }

    bool Evaluate(double const* x, double* cost, double* gradient) const override {
        std::size_t const axes = means_.size() - beyond_lengths;
        FieldScales const scales = scales_of({x, means_.size()});
        Matrix const k = covariance(points_, scales, axes);
        Eigen::LLT<Matrix> const factor(k);
        if (factor.info() != Eigen::Success) return false;
        Vector const alpha = factor.solve(values_);
        double half_log_determinant = 0;
        for (Eigen::Index i = 0; i < k.rows(); ++i)
            half_log_determinant += std::log(factor.matrixLLT()(i, i));
        *cost = values_.dot(alpha) / 2 + half_log_determinant;
        for (std::size_t p = 0; p < means_.size(); ++p) {
            double const off = (x[p] - means_[p]) / spreads_[p];
            *cost += off * off / 2;
        }
        if (!std::isfinite(*cost)) return false;
        if (gradient == nullptr) return true;
        Matrix weight = factor.solve(Matrix::Identity(k.rows(), k.cols()));
        weight.noalias() -= alpha * alpha.transpose();  // half of its product with a derivative of k is the gradient
        add_gradient(scales, axes, weight, gradient);
        for (std::size_t p = 0; p < means_.size(); ++p)
            gradient[p] += (x[p] - means_[p]) / (spreads_[p] * spreads_[p]);
        return true;
    }

private:
    void add_gradient(FieldScales const& scales, std::size_t axes, Matrix const& weight, double* gradient) const {
        auto const lengths = std::span(scales.lengths).first(axes);
        std::fill(gradient, gradient + axes + beyond_lengths, 0.0);
        for (Eigen::Index i = 0; i < weight.rows(); ++i) {
            gradient[axes] += weight(i, i) * scales.variance / 2;
            gradient[axes + 1] += weight(i, i) * scales.noise / 2;
            ResidualPoint const& a = points_[static_cast<std::size_t>(i)];
            for (Eigen::Index j = 0; j < i; ++j) {
                ResidualPoint const& b = points_[static_cast<std::size_t>(j)];
                bool const apart = a.of_twin != b.of_twin;
                double const share = scales.variance * (apart ? scales.twins : 1);
                double const scaled = distance(a.at.data(), b.at.data(), lengths);
                double const change = weight(i, j) * share * matern(scaled);
                gradient[axes] += change;
                if (apart) gradient[axes + 2] += change * (1 - scales.twins);
                double const slope = weight(i, j) * 3 * share * std::exp(-scaled);
                for (std::size_t c = 0; c < axes; ++c) {
                    double const d = (a.at[c] - b.at[c]) / lengths[c];
                    gradient[c] += slope * d * d;
                }
            }
        }
    }

    std::vector<ResidualPoint> points_;
    Vector values_;
    std::vector<double> means_;
    std::vector<double> spreads_;
};

}  // namespace

FieldScales find_scales(std::span<ResidualPoint const> points, std::span<double const> usual) {
    if (points.empty()) throw InputError("residual: no points to find the scales of");
    std::vector<ResidualPoint> const deciding = selection(in_one_order(points));
    double square = 0;
    for (ResidualPoint const& p : deciding)
        square += p.log_ratio * p.log_ratio;
    double const variance = std::max(1e-4, square / static_cast<double>(deciding.size()));
    std::vector<double> means;
    for (double const length : usual)
        means.push_back(std::log(length));
    std::vector<double> spreads(usual.size(), 1.0);
    means.insert(means.end(), {std::log(variance), std::log(0.05 * variance), usual_twins});
    spreads.insert(spreads.end(), {1.5, 3.0, 2.0});

    std::vector<double> x = means;
    ceres::GradientProblem const problem(new Unlikelihood(deciding, means, spreads));  // owns it
    ceres::GradientProblemSolver::Options options;
    options.max_num_iterations = 40;
    options.logging_type = ceres::SILENT;
    ceres::GradientProblemSolver::Summary summary;
    ceres::Solve(options, problem, x.data(), &summary);

    FieldScales scales = scales_of(x);
    for (std::size_t a = 0; a < usual.size(); ++a)
        scales.lengths.at(a) = std::clamp(scales.lengths.at(a), shortest, longest);
    scales.noise = std::max(least_noise, scales.noise);
    return scales;
}

std::vector<ResidualPoint> levelled(std::vector<ResidualPoint> points) {
    constexpr double most = 5;
    constexpr double least_unit = 0.02;
    std::vector<double> values;
    for (ResidualPoint const& p : points)
        values.push_back(p.log_ratio);
    double const middle = quantile_of(values, 0.5);
    for (double& value : values)
        value = std::abs(value - middle);
    double const reach = most * normal * std::max(least_unit, quantile_of(std::move(values), 0.5));
    for (ResidualPoint& p : points)
        p.log_ratio = std::clamp(p.log_ratio, middle - reach, middle + reach);
    return points;
}

std::vector<ResidualPoint> without_outliers(std::span<ResidualPoint const> points, FieldScales const& scales,
                                            std::size_t axes, double most_usual) {
    constexpr std::size_t fewest = 20;
    constexpr double least_unit = 0.3;  // assumed: of the deviation that the noise says, which outliers raise
    std::vector<ResidualPoint> left = in_one_order(points);
    if (left.size() < fewest) return left;
    auto const count = static_cast<Eigen::Index>(left.size());
    Matrix inverse = covariance(left, scales, axes).llt().solve(Matrix::Identity(count, count));
    Vector alpha = inverse * values_of(left);
    std::vector<double> errors, expected;
    for (Eigen::Index i = 0; i < count; ++i) {
        errors.push_back(std::abs(alpha[i]) / inverse(i, i));
        expected.push_back(std::abs(alpha[i]) / std::sqrt(inverse(i, i)));
    }
    double const usual = normal * quantile_of(errors, 0.5);
    double const unit = std::max(least_unit, normal * quantile_of(expected, 0.5));
    auto const deviation = [&](Eigen::Index i) {
        return std::abs(alpha[i]) / inverse(i, i) / std::max(usual, unit / std::sqrt(inverse(i, i)));
    };
    std::vector<bool> doubted(left.size(), false);
    for (;;) {
        Eigen::Index worst = -1;
        for (Eigen::Index i = 0; i < count; ++i)
            if (!doubted[static_cast<std::size_t>(i)] && (worst < 0 || deviation(i) > deviation(worst))) worst = i;
        if (worst < 0 || deviation(worst) <= most_usual) break;
        // What the others say without it: its row and column leave the covariance.
        doubted[static_cast<std::size_t>(worst)] = true;
        Vector const column = inverse.col(worst) / inverse(worst, worst);
        alpha -= alpha[worst] * column;
        inverse -= inverse(worst, worst) * column * column.transpose();
    }
    std::vector<ResidualPoint> out;
    for (std::size_t i = 0; i < left.size(); ++i)
        if (!doubted[i]) out.push_back(left[i]);
    return out;
}

ResidualGrid field_grid(std::span<ResidualPoint const> points, std::vector<GridAxis> axes, FieldScales const& scales) {
    if (points.empty()) throw InputError("residual: no points to fit");
    std::vector<ResidualPoint> const sorted = in_one_order(points);
    std::size_t crossings = 1;
    for (std::size_t a = 0; a < axes.size(); ++a) {
        axes[a] = trimmed_axis(std::move(axes[a]), a, points);
        crossings *= axes[a].knots.size();
    }
    auto const lengths = std::span(scales.lengths).first(axes.size());
    Vector const alpha = covariance(sorted, scales, axes.size()).llt().solve(values_of(sorted));
    std::vector<double> values(crossings);
    for (std::size_t crossing = 0; crossing < crossings; ++crossing) {
        std::array<double, ResidualGrid::most_axes> at{};
        std::size_t rest = crossing;
        for (std::size_t a = axes.size(); a-- > 0;) {
            at.at(a) = axes[a].knots[rest % axes[a].knots.size()];
            rest /= axes[a].knots.size();
        }
        double sum = 0;
        for (std::size_t p = 0; p < sorted.size(); ++p)
            sum += alpha[static_cast<Eigen::Index>(p)] * (sorted[p].of_twin ? scales.twins : 1) *
                   matern(distance(at.data(), sorted[p].at.data(), lengths));
        values[crossing] = scales.variance * sum;
    }
    return {std::move(axes), std::move(values)};
}

}  // namespace sextant
