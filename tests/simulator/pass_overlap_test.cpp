#include "simulator/pass_overlap.hpp"

#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <numeric>
#include <random>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

/// Weights of each layer gathered beside the one before it, or gradients of each reduced behind it.
std::vector<PassTransfer> one_for_each(std::vector<double> const& times, double overlap, bool gathers) {
    std::vector<PassTransfer> out;
    for (std::size_t u = 0; u < times.size(); ++u)
        out.push_back(gathers ? PassTransfer{.time = times[u],
                                             .overlap = overlap,
                                             .after = u > 1 ? u - 2 : PassTransfer::none,
                                             .before = u}
                              : PassTransfer{.time = times[u], .overlap = overlap, .after = u});
    return out;
}

double sum(std::vector<double> const& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

TEST_CASE("overlap_in_pass: where overlap is free transfers last what they take, and no layer loses", "[INV-30]") {
    PassOverlap const beside = overlap_in_pass(std::vector{4.0, 4.0, 4.0}, one_for_each({3, 3, 3}, 1, false));
    CHECK(beside.transfers == std::vector{3.0, 3.0, 3.0});
    CHECK(beside.lost == 0);
}

TEST_CASE("overlap_in_pass: without overlap a layer and a transfer take turns", "[INV-30]") {
    // Both go on at half their speed while both run; the last reduction has nothing beside it.
    PassOverlap const beside = overlap_in_pass(std::vector{4.0, 4.0, 4.0}, one_for_each({3, 3, 3}, 0, false));
    CHECK(beside.transfers == std::vector{6.0, 6.0, 3.0});
    CHECK(beside.lost == Approx(6));
    // A longer one goes on beside the next layer, or alone.
    PassOverlap const longer = overlap_in_pass(std::vector{4.0, 4.0, 4.0}, one_for_each({5, 3, 0}, 0, false));
    CHECK(longer.transfers[0] == Approx(4 + 4 + 2));
    CHECK(longer.transfers[1] == Approx(6));
    CHECK(longer.lost == Approx(8));
}

TEST_CASE("overlap_in_pass: what a layer waits for is not lost twice", "[INV-30]") {
    // 2 + 1 of the second gather beside the first layer, which ends at 2 + 4 + 3 as the second layer begins at 9.
    PassOverlap const beside = overlap_in_pass(std::vector{4.0, 4.0}, one_for_each({2, 7}, 0, true));
    CHECK(beside.transfers[0] == 2);
    CHECK(beside.transfers[1] == Approx(8 + 3));
    CHECK(beside.lost == 0);
}

TEST_CASE("overlap_in_pass: a short layer's room is not lent to a long gather, but reductions go on", "[INV-30]") {
    std::vector<double> const layers{2, 20, 2, 20};
    PassOverlap const gathers = overlap_in_pass(layers, one_for_each({8, 1, 8, 1}, 1, true));
    CHECK(gathers.transfers == std::vector{8.0, 1.0, 8.0, 1.0});
    CHECK(gathers.lost == 0);
    PassOverlap const reductions = overlap_in_pass(layers, one_for_each({1, 18, 1, 18}, 0.5, false));
    CHECK(reductions.transfers[1] == Approx(2 * 1.5 + 16 * 1.5));
    CHECK(reductions.transfers[3] == 18);
}

TEST_CASE("overlap_in_pass: what is gained is the share of what could run side by side, at most", "[INV-30]") {
    std::mt19937_64 random(seeded(61));
    for (int i = 0; i < 200; ++i) {
        double const overlap = pick(random, {0.0, 0.3, 0.8, 1.0});
        bool const gathers = pick(random, {0, 1}) == 1;
        std::vector<double> layers, times;
        for (int u = 0; u < 12; ++u) {
            layers.push_back(uniform(random, 0, 5));
            times.push_back(uniform(random, 0, 5));
        }
        auto const transfers = one_for_each(times, overlap, gathers);
        PassOverlap const beside = overlap_in_pass(layers, transfers, PassEnd::transfers);
        CAPTURE(i, overlap, gathers);
        for (std::size_t t = 0; t < times.size(); ++t) {
            CHECK(beside.transfers[t] >= times[t] * (1 - 1e-12));
            CHECK(beside.transfers[t] <= (2 - overlap) * times[t] * (1 + 1e-12));
        }
        CHECK(beside.lost >= 0);
        CHECK(beside.lost <= (1 - overlap) * sum(times) * (1 + 1e-9) + 1e-12);
    }
}
