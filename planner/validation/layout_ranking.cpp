#include "planner/validation/layout_ranking.hpp"

#include "core/quantile.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sextant {
namespace {

constexpr std::size_t fewest_layouts = 5;

/// Ranks from 0; equal values share the mean of theirs.
std::vector<double> ranks_of(std::vector<double> const& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> ranks(values.size());
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i;
        while (end < order.size() && values[order[end]] == values[order[i]])
            ++end;
        double const mean = 0.5 * static_cast<double>(i + end - 1);
        for (; i < end; ++i)
            ranks[order[i]] = mean;
    }
    return ranks;
}

}  // namespace

double spearman(std::vector<LayoutTimes> const& times) {
    std::vector<double> predicted, measured;
    for (LayoutTimes const& t : times) {
        predicted.push_back(t.predicted);
        measured.push_back(t.measured);
    }
    std::vector<double> const a = ranks_of(predicted);
    std::vector<double> const b = ranks_of(measured);
    double const mean = 0.5 * static_cast<double>(times.size() - 1);
    double both = 0, left = 0, right = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        both += (a[i] - mean) * (b[i] - mean);
        left += (a[i] - mean) * (a[i] - mean);
        right += (b[i] - mean) * (b[i] - mean);
    }
    return left > 0 && right > 0 ? both / std::sqrt(left * right) : 0;
}

LayoutRanking layout_ranking(std::map<std::string, std::vector<LayoutTimes>> const& by_question) {
    LayoutRanking out;
    std::vector<double> correlations;
    for (auto const& [question, times] : by_question) {
        if (times.size() < fewest_layouts) continue;
        ++out.questions;
        out.rows += times.size();
        correlations.push_back(spearman(times));
    }
    if (correlations.empty()) return out;
    std::sort(correlations.begin(), correlations.end());
    out.median = quantile(correlations, 0.5);
    out.low = quantile(correlations, 0.1);
    return out;
}

}  // namespace sextant
