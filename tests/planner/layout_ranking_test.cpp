#include "planner/validation/layout_ranking.hpp"

#include "tests/catch.hpp"

#include <cmath>

using namespace sextant;

TEST_CASE("spearman: one for the same order whatever the values, minus one for the reverse, ties share a rank") {
    CHECK(spearman({{1, 10}, {2, 11}, {3, 400}, {9, 401}}) == Approx(1));
    CHECK(spearman({{4, 1}, {3, 2}, {2, 3}, {1, 4}}) == Approx(-1));
    // Ranks 0 1 2 3 against 0.5 0.5 2 3: covariance 4.5, variances 5 and 4.5.
    CHECK(spearman({{1, 7}, {2, 7}, {3, 8}, {4, 9}}) == Approx(4.5 / std::sqrt(5 * 4.5)));
    CHECK(spearman({{1, 5}, {2, 5}}) == 0);
}

TEST_CASE("layout_ranking: only questions with five layouts count") {
    std::vector<LayoutTimes> const right{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}};
    std::vector<LayoutTimes> const wrong{{5, 1}, {4, 2}, {3, 3}, {2, 4}, {1, 5}};
    std::vector<LayoutTimes> const few{{2, 1}, {1, 2}};
    LayoutRanking const ranking = layout_ranking({{"a", right}, {"b", wrong}, {"c", few}, {"d", right}});
    CHECK(ranking.questions == 3);
    CHECK(ranking.rows == 15);
    CHECK(ranking.median == Approx(1));
    CHECK(ranking.low < 0);
    CHECK(layout_ranking({{"c", few}}).questions == 0);
}
