#include "calibrate/scaling/law_minimise.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sextant {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Values of one free shape parameter.
struct GridAxis {
    std::size_t unknown;
    std::vector<double> points;  ///< on the unknown's scale
};

std::vector<GridAxis> grid_axes(LawForm const& form, UnknownMap const& map) {
    std::vector<GridAxis> axes;
    for (std::size_t u = 0; u < map.free(); ++u) {
        LawParameter const& p = form.parameters[map.parameter(u)];
        if (p.role != LawRole::shape) continue;
        GridAxis axis{.unknown = u, .points = {}};
        for (int i = 0; i < p.screen_points; ++i) {
            double const share = p.screen_points == 1 ? 0 : static_cast<double>(i) / (p.screen_points - 1);
            double const ln = std::log(p.screen_low) + share * std::log(p.screen_high / p.screen_low);
            axis.points.push_back(p.scale == LawScale::logarithmic ? ln : std::exp(ln));
        }
        axes.push_back(axis);
    }
    return axes;
}

/// min |design x - target|, x >= 0 where `positive`: the best of all subsets, of which there are few.
VectorXd least_squares(MatrixXd const& normal, VectorXd const& right, double scale, bool positive) {
    Index const count = normal.rows();
    if (!positive) return normal.ldlt().solve(right);
    VectorXd best = VectorXd::Zero(count);
    double lowest = 0;  // of x N x - 2 x r, zero for x = 0
    for (unsigned subset = 1; subset < (1U << static_cast<unsigned>(count)); ++subset) {
        std::vector<Index> in;
        for (Index k = 0; k < count; ++k)
            if ((subset >> static_cast<unsigned>(k) & 1U) != 0) in.push_back(k);
        VectorXd const x = normal(in, in).ldlt().solve(right(in));
        if (!x.allFinite() || (x.array() <= 0).any()) continue;
        double const value = -x.dot(right(in));
        if (value >= lowest) continue;
        lowest = value;
        best.setZero();
        best(in) = x;
    }
    // A coefficient that wants to vanish stays in reach of a solver that moves its logarithm.
    for (Index k = 0; k < count; ++k)
        best[k] = std::max(best[k], 1e-6 * scale / std::sqrt(std::max(normal(k, k), 1e-300)));
    return best;
}

/// The coefficients at given shapes. Everything else of `unknowns` is set already.
class CoefficientSolver {
public:
    CoefficientSolver(LawProblem const& problem, UnknownMap const& map) : problem_(problem), map_(map) {
        for (std::size_t u = 0; u < map.free(); ++u)
            if (problem.form->parameters[map.parameter(u)].role == LawRole::coefficient) unknowns_.push_back(u);
        all_.resize(problem.form->parameters.size());
        values_.resize(problem.rows());
        jacobian_.resize(problem.rows() * all_.size());
        log_output_ = problem.form->output == LawOutput::logarithm;
    }

    void solve(std::vector<double>& free) {
        if (unknowns_.empty()) return;
        Index const count = static_cast<Index>(unknowns_.size());
        bool const positive =
            problem_.form->parameters[map_.parameter(unknowns_.front())].scale == LawScale::logarithmic;
        for (std::size_t const u : unknowns_)
            free[u] = 0;  // a coefficient of one, or of none where it may have any sign
        map_.expand(free, all_);
        problem_.form->evaluate(all_, problem_.inputs, values_, jacobian_);
        MatrixXd normal = MatrixXd::Zero(count, count);
        VectorXd right = VectorXd::Zero(count);
        double scale = 0;
        VectorXd phi(count);
        for (std::size_t i = 0; i < problem_.rows(); ++i) {
            double rest = values_[i];
            for (Index k = 0; k < count; ++k) {
                phi[k] = jacobian_[i * all_.size() + map_.parameter(unknowns_[static_cast<std::size_t>(k)])];
                if (positive) rest -= phi[k];
            }
            double const target = (log_output_ ? std::log(problem_.measured[i]) : problem_.measured[i]) - rest;
            double weight = problem_.weights.empty() ? 1 : problem_.weights[i];
            if (!log_output_ && problem_.objective.of_logarithms())
                weight /= problem_.measured[i] * problem_.measured[i];
            normal.noalias() += weight * phi * phi.transpose();
            right += weight * target * phi;
            scale += weight * target * target;
        }
        VectorXd const x = least_squares(normal, right, std::sqrt(scale), positive);
        for (Index k = 0; k < count; ++k)
            free[unknowns_[static_cast<std::size_t>(k)]] = positive ? std::log(x[k]) : x[k];
    }

private:
    LawProblem const& problem_;
    UnknownMap const& map_;
    std::vector<std::size_t> unknowns_;
    std::vector<double> all_;
    std::vector<double> values_;
    std::vector<double> jacobian_;
    bool log_output_ = false;
};

/// Whether no neighbour along an axis is better.
bool is_lowest_around(std::vector<double> const& objective, std::vector<GridAxis> const& axes, std::size_t at) {
    std::size_t stride = 1;
    for (GridAxis const& axis : axes) {
        std::size_t const position = at / stride % axis.points.size();
        if (position > 0 && objective[at - stride] < objective[at]) return false;
        if (position + 1 < axis.points.size() && objective[at + stride] < objective[at]) return false;
        stride *= axis.points.size();
    }
    return true;
}

}  // namespace

std::vector<std::vector<double>> screen_starts(LawProblem const& problem, std::size_t most) {
    LawEvaluator evaluate(problem);
    UnknownMap const& map = evaluate.map();
    std::vector<GridAxis> const axes = grid_axes(*problem.form, map);
    std::size_t count = 1;
    for (GridAxis const& axis : axes)
        count *= axis.points.size();
    CoefficientSolver coefficients(problem, map);
    std::vector<double> objective(count);
    std::vector<std::vector<double>> unknowns(count, std::vector<double>(map.free()));
    for (std::size_t at = 0; at < count; ++at) {
        std::size_t rest = at;
        for (GridAxis const& axis : axes) {
            unknowns[at][axis.unknown] = axis.points[rest % axis.points.size()];
            rest /= axis.points.size();
        }
        coefficients.solve(unknowns[at]);
        double const value = evaluate(unknowns[at], {});
        objective[at] = std::isfinite(value) ? value : INFINITY;
    }
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<char> lowest(count);
    for (std::size_t at = 0; at < count; ++at)
        lowest[at] = is_lowest_around(objective, axes, at) ? 1 : 0;
    std::size_t const kept = std::min(most, count);
    auto const better = [&](std::size_t a, std::size_t b) {
        return lowest[a] != lowest[b] ? lowest[a] > lowest[b] : objective[a] < objective[b];
    };
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(), better);
    std::vector<std::vector<double>> starts;
    for (std::size_t k = 0; k < kept; ++k)
        starts.push_back(std::move(unknowns[order[k]]));
    return starts;
}

}  // namespace sextant
