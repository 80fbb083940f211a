#include "simulator/serving/gap_histogram.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace sextant;

TEST_CASE("quantiles of a gap histogram are those of the sorted gaps to half a per cent, put together or apart") {
    std::mt19937_64 random(fixtures::seeded(5));
    for (int round = 0; round < 200; ++round) {
        // Centres from a nanosecond to a second: below a microsecond all gaps are as good as none.
        std::lognormal_distribution<double> length(std::uniform_real_distribution<double>(-20, 0)(random), 1.5);
        GapHistogram parts[2];
        std::vector<double> all;
        for (std::size_t i = 0; i < 300; ++i) {
            double const gap = length(random);
            std::int64_t const count = 1 + static_cast<std::int64_t>(random() % 3);
            parts[random() % 2].add(gap * units::s, count);
            all.insert(all.end(), static_cast<std::size_t>(count), gap);
        }
        parts[0].add(parts[1]);
        std::sort(all.begin(), all.end());
        double sum = 0;
        for (double const gap : all)
            sum += gap;
        CHECK(parts[0].mean().base() == Approx(sum / static_cast<double>(all.size())).epsilon(1e-9));
        for (double const q : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
            double const exact = all[static_cast<std::size_t>(q * static_cast<double>(all.size() - 1))];
            CAPTURE(q, exact);
            CHECK(parts[0].quantile(q).base() == Approx(exact).epsilon(0.005).margin(1.01e-6));
        }
        CHECK(parts[0].quantile(1).base() <= all.back());
    }
}
