#include "core/quantile.hpp"

#include "tests/catch.hpp"

using namespace sextant;

TEST_CASE("quantile: linear between the values, the ends at 0 and 1") {
    CHECK(quantile({1, 2, 4}, 0) == 1);
    CHECK(quantile({1, 2, 4}, 0.5) == 2);
    CHECK(quantile({1, 2, 4}, 0.75) == 3);
    CHECK(quantile({1, 2, 4}, 1) == 4);
    CHECK(quantile({7}, 0.9) == 7);
    CHECK(quantile_of({4, 1, 2}, 0.75) == 3);
    CHECK(quantile_of({}, 0.5) == 0);
}
