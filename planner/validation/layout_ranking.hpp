#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace sextant {

/// How well predictions order the layouts that were measured for one question (source, model, accelerators, batch):
/// Spearman's rank correlation of predicted and measured times, per question with at least five layouts.
struct LayoutRanking {
    std::size_t questions = 0;
    std::size_t rows = 0;
    double median = 0;  ///< of the correlations
    double low = 0;     ///< their 10 % quantile
};

/// A predicted and a measured time of one layout, in seconds.
struct LayoutTimes {
    double predicted = 0;
    double measured = 0;
};

/// Correlation of the ranks, ties at their mean rank; 0 where either side does not vary. @pre at least two entries.
double spearman(std::vector<LayoutTimes> const& times);

/// `by_question`: the layouts of each question.
LayoutRanking layout_ranking(std::map<std::string, std::vector<LayoutTimes>> const& by_question);

}  // namespace sextant
