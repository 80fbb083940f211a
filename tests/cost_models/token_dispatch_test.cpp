#include "cost_models/token_dispatch.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

ClusterSpec rates(BytesPerSecond links, BytesPerSecond nic) {
    ClusterSpec c = cluster();
    c.domain_size = 8;
    c.scale_up.bandwidth = known(links);
    c.scale_out->bandwidth = known(nic);
    c.scale_out->kind = "infiniband";
    return c;
}

GroupPlacement ranks(std::int64_t n, std::int64_t copies) {
    GroupPlacement group = place_group(n, 1, 8);
    group.copies = copies;
    return group;
}

constexpr BytesPerSecond giga = units::GB / units::s;

}  // namespace

TEST_CASE("token_dispatch_curve: slow NICs carry each token once per other domain that it visits", "[INV-16]") {
    ClusterSpec const machine = rates(1e6 * giga, 50 * giga);
    for (std::int64_t const domains : {2, 4, 8})
        for (std::int64_t const copies : {2, 8}) {
            auto const N = static_cast<double>(domains);
            auto const k = static_cast<double>(copies);
            double const visited = N * (1 - std::pow(1 - 1 / N, k));
            double const per_byte = visited * (1 - 1 / N) / k / (0.9 * 50e9);
            CHECK(token_dispatch_curve(machine, ranks(8 * domains, copies)).asymptotic_slope().base() ==
                  Approx(per_byte).epsilon(1e-9));
        }
}

TEST_CASE("token_dispatch_curve: inside a domain each token goes once to every other rank it visits", "[INV-16]") {
    ClusterSpec const machine = rates(900 * giga, 50 * giga);
    double const visited = 8 * (1 - std::pow(1 - 1.0 / 8, 8));
    CHECK(token_dispatch_curve(machine, ranks(8, 8)).asymptotic_slope().base() ==
          Approx(visited * (7.0 / 8) / 8 / (0.71 * 900e9)).epsilon(1e-9));
}

TEST_CASE("token_dispatch_curve: more ranks, or faster NICs, never make it slower or faster the wrong way",
          "[INV-16]") {
    auto const slope = [](BytesPerSecond nic, std::int64_t n) {
        return token_dispatch_curve(rates(450 * giga, nic), ranks(n, 8)).asymptotic_slope();
    };
    for (std::int64_t const n : {8, 16, 32, 64}) {
        CHECK(slope(50 * giga, 2 * n) >= slope(50 * giga, n));
        CHECK(slope(100 * giga, n) <= slope(50 * giga, n));
    }
}

TEST_CASE("distinct_share: a token whose experts are in some of their groups visits fewer places") {
    GroupPlacement group = ranks(64, 8);
    group.expert_groups = 8;
    group.chosen_groups = 4;
    // DeepSeek-V3: half of the groups. A node has one of them, or each group fills several.
    CHECK(8 * distinct_share(group, 8) == Approx(4 * (1 - std::pow(3.0 / 4, 8))).epsilon(1e-12));
    CHECK(8 * distinct_share(group, 32) == Approx(16 * (1 - std::pow(15.0 / 16, 8))).epsilon(1e-12));
    // Two or four groups to a node, drawn one by one.
    std::mt19937_64 random(seeded(1));
    for (std::int64_t const places : {2, 4}) {
        int const draws = 200'000;
        std::int64_t visited = 0;
        std::array<std::int64_t, 8> groups{0, 1, 2, 3, 4, 5, 6, 7};
        for (int i = 0; i < draws; ++i) {
            std::shuffle(groups.begin(), groups.end(), random);
            std::set<std::int64_t> met;
            for (std::int64_t copy = 0; copy < 8; ++copy)
                met.insert(groups[random() % 4] / (8 / places));
            visited += static_cast<std::int64_t>(met.size());
        }
        CHECK(8 * distinct_share(group, places) == Approx(static_cast<double>(visited) / draws).epsilon(5e-3));
    }
    // All groups, or groups that places cut: no limit is known.
    double const free = distinct_share(ranks(64, 8), 8);
    group.chosen_groups = 8;
    CHECK(distinct_share(group, 8) == free);
    group.chosen_groups = 4;
    CHECK(distinct_share(group, 6) == distinct_share(ranks(64, 8), 6));
}

TEST_CASE("token_dispatch_curve: on EFA it is the all-to-all of every copy") {
    ClusterSpec machine = rates(450 * giga, 50 * giga);
    machine.scale_out->kind = "efa";
    Bytes const bytes = 100 * units::MB;
    CHECK(token_dispatch_curve(machine, ranks(32, 8)).time(bytes) ==
          collective_curve(machine, CollectiveKind::all_to_all, ranks(32, 1)).time(bytes));
    CHECK(token_dispatch_curve(machine, ranks(8, 8)).time(bytes) ==
          token_dispatch_curve(rates(450 * giga, 50 * giga), ranks(8, 8)).time(bytes));
}

TEST_CASE("token_dispatch_curve: domains without a network between them are an error") {
    ClusterSpec machine = rates(450 * giga, 50 * giga);
    machine.scale_out.reset();
    CHECK_THROWS_AS(token_dispatch_curve(machine, ranks(16, 8)), InputError);
    CHECK_NOTHROW(token_dispatch_curve(machine, ranks(8, 8)));
}

TEST_CASE("token_dispatch_curve: where kernels cannot send tokens themselves it is the all-to-all of every copy") {
    auto const is_every_copy = [](ClusterSpec const& machine, std::int64_t n) {
        GroupPlacement const group = ranks(n, 8);
        GroupPlacement every = group;
        every.copies = 1;
        Bytes const bytes = 64 * units::MiB;
        return token_dispatch_curve(machine, group).time(bytes) ==
               collective_curve(machine, CollectiveKind::all_to_all, every).time(bytes);
    };
    ClusterSpec machine = rates(450 * giga, 50 * giga);
    for (char const* const kind : {"ethernet", "slingshot", "omni-path", "efa"}) {
        machine.scale_out->kind = kind;
        CHECK(is_every_copy(machine, 32));
        CHECK_FALSE(is_every_copy(machine, 8));
    }
    for (char const* const kind : {"infiniband", "roce"}) {
        machine.scale_out->kind = kind;
        CHECK_FALSE(is_every_copy(machine, 32));
    }
    machine.scale_up.kind = ScaleUpKind::pcie;
    CHECK(is_every_copy(machine, 8));
    CHECK(is_every_copy(machine, 32));
}

TEST_CASE("token_dispatch_curve: ranks of a mesh have the links between them alone") {
    ClusterSpec machine = rates(448 * giga, 50 * giga);
    machine.scale_up.kind = ScaleUpKind::mesh;
    for (std::int64_t const n : {2, 4, 8}) {
        double const others = static_cast<double>(n - 1);
        double const visited = static_cast<double>(n) * (1 - std::pow(1 - 1 / static_cast<double>(n), 8));
        CHECK(token_dispatch_curve(machine, ranks(n, 8)).asymptotic_slope().base() ==
              Approx(visited * others / static_cast<double>(n) / 8 / (0.71 * 448e9 * others / 7)).epsilon(1e-9));
    }
}
