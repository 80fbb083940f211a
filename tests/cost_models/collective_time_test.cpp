#include "cost_models/collective_time.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/block_price.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

constexpr CollectiveKind kinds[] = {CollectiveKind::all_reduce,     CollectiveKind::all_gather,
                                    CollectiveKind::reduce_scatter, CollectiveKind::all_to_all,
                                    CollectiveKind::broadcast,      CollectiveKind::send_receive};

ClusterSpec with_in_network_reduction() {
    ClusterSpec c = cluster();
    c.scale_up.in_network_reduction_efficiency = known(1.0);
    return c;
}

ClusterSpec torus() {
    ClusterSpec c = cluster();
    c.domain_size = 4096;
    c.scale_up.kind = ScaleUpKind::torus;
    c.scale_up.torus = {16, 16, 16};
    return c;
}

GroupPlacement random_group(std::mt19937_64& random) {
    return place_group(pick<std::int64_t>(random, {2, 4, 8, 16, 64, 256}), pick<std::int64_t>(random, {1, 2, 4, 8, 32}),
                       8);
}

}  // namespace

TEST_CASE("place_group: agrees with counting the domains that the ranks fall into", "[INV-16]") {
    for (std::int64_t const domain : {1, 4, 8, 72})
        for (std::int64_t const stride : {1, 2, 4, 8, 16, 144})
            for (std::int64_t const size : {1, 2, 4, 8, 24, 64}) {
                if (domain % stride != 0 && stride % domain != 0) continue;
                std::set<std::int64_t> domains;
                for (std::int64_t rank = 0; rank < size; ++rank)
                    domains.insert(rank * stride / domain);
                GroupPlacement const group = place_group(size, stride, domain);
                CAPTURE(domain, stride, size);
                CHECK(group.domains == static_cast<std::int64_t>(domains.size()));
                CHECK(group.ranks_per_domain * group.domains >= size);
            }
}

TEST_CASE("collective_curve: a node that is partly filled sends through as many NICs as it has ranks", "[INV-17]") {
    ClusterSpec const machine = cluster();
    auto const time = [&](std::int64_t n, CollectiveKind kind) {
        return collective_curve(machine, kind, place_group(n, 1, 8)).time(1e9 * units::B);
    };
    for (std::int64_t const n : {9, 10, 12, 15, 20, 23}) {
        auto const lanes = static_cast<double>(n % 8);
        Seconds const floor = static_cast<double>(n - 1) / static_cast<double>(n) * 1e9 * units::B /
                              (lanes * machine.scale_out->bandwidth.value);
        CAPTURE(n);
        CHECK(time(n, CollectiveKind::all_gather) >= floor);
        CHECK(time(n, CollectiveKind::reduce_scatter) >= floor);
        CHECK(time(n, CollectiveKind::all_reduce) >= 2 * floor);
    }
    CHECK(evened(machine, place_group(12, 1, 8)).entries() == 4);
    CHECK(evened(machine, place_group(16, 1, 8)).entries() == 8);
    ClusterSpec rack = machine;
    rack.domain_size = 72;
    CHECK(evened(rack, place_group(64, 8, 72)).ranks_per_domain == 8);  // not 9 and, in the last one, 1
    for (std::int64_t const n : {9, 12, 15, 73, 100, 145, 217})
        for (ClusterSpec const& spec : {machine, rack}) {
            GroupPlacement const once = evened(spec, place_group(n, 1, spec.domain_size));
            GroupPlacement const twice = evened(spec, once);
            CAPTURE(n, spec.domain_size);
            CHECK(once.domains == (n + spec.domain_size - 1) / spec.domain_size);
            CHECK(once.entries() * once.domains <= n);
            CHECK(once.ranks_per_domain * once.domains >= n);
            CHECK(twice.ranks_per_domain == once.ranks_per_domain);
            CHECK(twice.fewest == once.fewest);
            CHECK(twice.domains == once.domains);
        }
}

TEST_CASE("collective_curve: more ranks of a torus are no faster for one that hangs on by itself", "[INV-17]") {
    ClusterSpec const machine = find_cluster("tpu-v5p", "test");
    auto const time = [&](std::int64_t n) {
        return collective_curve(machine, CollectiveKind::all_reduce, place_group(n, 1, machine)).time(1e9 * units::B);
    };
    CHECK(time(17) >= time(16));
    CHECK(time(37) >= time(16));
    CHECK(time(32) < time(16));
}

TEST_CASE("collective_curve: ranks of another node are no faster than those of one for want of links", "[INV-17]") {
    ClusterSpec const machine = find_cluster("l40s-pcie", "test");
    auto const time = [&](std::int64_t n, CollectiveKind kind) {
        return collective_curve(machine, kind, place_group(n, 1, machine)).time(1e9 * units::B);
    };
    for (CollectiveKind const kind : {CollectiveKind::all_gather, CollectiveKind::all_reduce})
        for (std::int64_t const n : {5, 6, 7, 9, 10, 17}) {
            CAPTURE(name_of(kind), n);
            CHECK(time(n, kind) >= 0.9 * time(4, kind));
        }
}

TEST_CASE("collective_curve: a group of one costs nothing", "[INV-16]") {
    for (CollectiveKind const kind : kinds) {
        CollectiveCurve const curve = collective_curve(cluster(), kind, place_group(1, 1, 8));
        CHECK(curve.empty());
        CHECK(curve.time(1 * units::GB) == Seconds{});
    }
}

TEST_CASE("collective curves grow with the bytes, and never faster than in proportion to them", "[INV-16]") {
    std::mt19937_64 random(seeded(1));
    for (ClusterSpec const& machine : {cluster(), with_in_network_reduction()})
        for (int i = 0; i < 300; ++i) {
            CollectiveKind const kind = kinds[random() % std::size(kinds)];
            CollectiveCurve const curve = collective_curve(machine, kind, random_group(random));
            Bytes const small = std::exp2(uniform(random, 0, 34)) * units::B;
            Bytes const large = uniform(random, 1, 16) * small;
            CAPTURE(name_of(kind), small.base(), large.base());
            CHECK(curve.time(small) > Seconds{});
            CHECK(curve.time(small) <= curve.time(large));
            CHECK(curve.time(large).base() <= (large / small * curve.time(small)).base() * (1 + 1e-12));
            CHECK(curve.time(1e15 * units::B).base() ==
                  Approx((1e15 * units::B * curve.asymptotic_slope()).base()).epsilon(1e-3));
        }
}

TEST_CASE("the latency of a curve is all of what next to nothing takes, none of what very much takes, and never more",
          "[INV-16]") {
    std::mt19937_64 random(seeded(6));
    for (int i = 0; i < 300; ++i) {
        Seconds const first = uniform(random, 1, 100) * units::us;
        Seconds const second = first * uniform(random, 1, 10);  // later, and then faster
        SecondsPerByte const slope = 1 / (uniform(random, 1, 400) * units::GB / units::s);
        CollectiveCurve curve;
        curve.add(first, slope);
        bool const two = i % 2 == 0;
        if (two) curve.add(second, slope * 0.5);
        Bytes const small = uniform(random, 0.01, 0.9) * (second - first) / slope;
        CHECK(curve.latency(small) == first);
        CHECK((curve.time(small) - curve.latency(small)).base() == Approx((small * slope).base()));
        CHECK(curve.latency(1e3 * second / slope) == (two ? second : first));
        // Corrected, the parts keep their shares.
        double const share = curve.latency(small) / curve.time(small);
        curve.correct([](double log2_bytes) { return 0.3 - 0.01 * log2_bytes; });
        CHECK(curve.latency(small) / curve.time(small) == Approx(share));
    }
    CHECK(CollectiveCurve().latency(1 * units::GB) == Seconds{});
}

TEST_CASE("collectives in one domain never beat its bandwidth", "[INV-17]") {
    for (ClusterSpec const& machine : {cluster(), with_in_network_reduction()})
        for (std::int64_t const n : {2, 4, 8})
            for (double const bytes : {1.0, 1e3, 1e6, 1e9}) {
                double const share = static_cast<double>(n - 1) / static_cast<double>(n);
                Seconds const floor = share * bytes * units::B / machine.scale_up.bandwidth.value;
                auto const time = [&](CollectiveKind kind) {
                    return collective_curve(machine, kind, place_group(n, 1, 8)).time(bytes * units::B);
                };
                CHECK(time(CollectiveKind::all_reduce) >= 2 * floor);
                CHECK(time(CollectiveKind::all_gather) >= floor);
                CHECK(time(CollectiveKind::reduce_scatter) >= floor);
                CHECK(time(CollectiveKind::all_to_all) >= floor);
                CHECK(time(CollectiveKind::send_receive) >= bytes * units::B / machine.scale_up.bandwidth.value);
            }
}

TEST_CASE("collectives over domains never beat the NICs", "[INV-17]") {
    ClusterSpec const machine = with_in_network_reduction();
    for (std::int64_t const stride : {1, 2, 4, 8})
        for (std::int64_t const n : {16, 64, 512}) {
            GroupPlacement const group = place_group(n, stride, 8);
            double const share = static_cast<double>(n - 1) / static_cast<double>(n);
            BytesPerSecond const nics =
                static_cast<double>(group.ranks_per_domain) * machine.scale_out->bandwidth.value;
            Bytes const bytes = 1 * units::GB;
            CAPTURE(stride, n);
            CHECK(collective_curve(machine, CollectiveKind::all_reduce, group).time(bytes) >= 2 * share * bytes / nics);
            CHECK(collective_curve(machine, CollectiveKind::all_gather, group).time(bytes) >= share * bytes / nics);
            double const outside = static_cast<double>(n - group.ranks_per_domain) / static_cast<double>(n);
            CHECK(collective_curve(machine, CollectiveKind::all_to_all, group).time(bytes) >=
                  outside * bytes / machine.scale_out->bandwidth.value);
        }
}

TEST_CASE("an all-reduce moves what a reduce-scatter and an all-gather move together", "[INV-17]") {
    std::mt19937_64 random(seeded(2));
    ClusterSpec const machine = cluster();
    for (int i = 0; i < 100; ++i) {
        GroupPlacement const group = random_group(random);
        auto const slope = [&](CollectiveKind kind) {
            return collective_curve(machine, kind, group).asymptotic_slope().base();
        };
        CHECK(slope(CollectiveKind::all_reduce) ==
              Approx(slope(CollectiveKind::reduce_scatter) + slope(CollectiveKind::all_gather)));
    }
}

TEST_CASE("a ring all-reduce of 1 GB over 8 ranks of 450 GB/s at 0.8 takes 4.86 ms and its latency", "[INV-17]") {
    // 2 * 7/8 GB / 360 GB/s = 4.8611 ms; base 10 us and 14 steps of 1 us.
    CHECK(collective_curve(cluster(), CollectiveKind::all_reduce, place_group(8, 1, 8))
              .time(1 * units::GB)
              .in(units::us) == Approx(4861.11 + 24).epsilon(1e-6));
}

TEST_CASE("in-network reduction sends the data up and down once", "[INV-17]") {
    ClusterSpec const machine = with_in_network_reduction();
    GroupPlacement const node = place_group(8, 1, 8);
    CHECK(collective_curve(machine, CollectiveKind::all_reduce, node).time(1 * units::GB) <
          collective_curve(cluster(), CollectiveKind::all_reduce, node).time(1 * units::GB));
    CHECK(collective_curve(machine, CollectiveKind::all_gather, node).time(1 * units::GB) ==
          collective_curve(cluster(), CollectiveKind::all_gather, node).time(1 * units::GB));
}

TEST_CASE("plain model: switches between domains take what a domain has once") {
    ClusterSpec machine = cluster();
    machine.scale_out->in_network_reduction_efficiency = known(0.9);
    GroupPlacement const group = place_group(512, 1, 8);
    auto const rate = [&](ClusterSpec const& on, CollectiveKind kind) {
        return 1 / collective_curve(on, kind, group).asymptotic_slope().base();
    };
    double const nics = 8 * machine.scale_out->bandwidth.value.base() * 0.9;
    double const links = machine.scale_up.bandwidth.value.base() * machine.scale_up.ring_efficiency.value;
    CHECK(rate(machine, CollectiveKind::all_reduce) == Approx(std::min(nics, links / (2 * 7.0 / 8))));
    CHECK(rate(machine, CollectiveKind::all_reduce) > rate(cluster(), CollectiveKind::all_reduce));
    CHECK(rate(machine, CollectiveKind::all_gather) == rate(cluster(), CollectiveKind::all_gather));
}

TEST_CASE("a larger group on the same fabric is never faster", "[INV-18]") {
    ClusterSpec const machine = cluster();
    for (CollectiveKind const kind : kinds)
        for (std::int64_t const stride : {1, 2, 4, 8, 64})
            for (double const bytes : {1.0, 1e4, 1e6, 1e9}) {
                Seconds before;
                for (std::int64_t n = 2; n <= 4096; n *= 2) {
                    GroupPlacement const group = place_group(n, stride, 8);
                    Seconds const time = collective_curve(machine, kind, group).time(bytes * units::B);
                    CAPTURE(name_of(kind), stride, bytes, n);
                    CHECK(time.base() >= before.base() * (1 - 1e-12));
                    before = time;
                }
            }
}

TEST_CASE("more bandwidth and less latency are never slower", "[INV-18]") {
    std::mt19937_64 random(seeded(3));
    for (int i = 0; i < 300; ++i) {
        CollectiveKind const kind = kinds[random() % std::size(kinds)];
        GroupPlacement const group = random_group(random);
        Bytes const bytes = std::exp2(uniform(random, 0, 34)) * units::B;
        ClusterSpec const machine = cluster();
        Seconds const time = collective_curve(machine, kind, group).time(bytes);
        ClusterSpec better = machine;
        switch (random() % 4) {
            case 0: better.scale_up.bandwidth.value *= 2; break;
            case 1: better.scale_out->bandwidth.value *= 2; break;
            case 2: better.scale_out->hop_latency.value /= 2; break;
            default: better.scale_up.hop_latency.value /= 2; break;
        }
        CHECK(collective_curve(better, kind, group).time(bytes) <= time);
        ClusterSpec twice = machine;
        twice.scale_up.bandwidth.value *= 2;
        twice.scale_out->bandwidth.value *= 2;
        for (Seconds* latency : {&twice.scale_up.base_latency.value, &twice.scale_up.hop_latency.value,
                                 &twice.scale_out->base_latency.value, &twice.scale_out->hop_latency.value})
            *latency /= 2;
        CHECK(collective_curve(twice, kind, group).time(bytes).base() == Approx(0.5 * time.base()).epsilon(1e-12));
    }
}

TEST_CASE("over-subscription slows groups by what of them leaves their pod", "[INV-18]") {
    ClusterSpec tight = cluster();
    tight.scale_out->oversubscription = known(4.0);
    tight.scale_out->pod_domains = 16;
    auto const slowed = [&](CollectiveKind kind, std::int64_t size, std::int64_t stride) {
        GroupPlacement const group = place_group(size, stride, 8);
        auto const slope = [&](ClusterSpec const& machine) {
            return collective_curve(machine, kind, group).asymptotic_slope();
        };
        return slope(tight) / slope(cluster());
    };
    for (auto const kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::broadcast}) {
        CAPTURE(name_of(kind));
        CHECK(slowed(kind, 16, 8) == Approx(1));
        CHECK(slowed(kind, 32, 8) == Approx(1));  // one of 16 domains sends out of the pod: a sixteenth of the traffic
        CHECK(slowed(kind, 8, 32) == Approx(1));  // four domains of a pod, eight groups' rings through its uplinks
        CHECK(slowed(kind, 8, 64) == Approx(2));
        CHECK(slowed(kind, 8, 128) == Approx(4));
        CHECK(slowed(kind, 2, 128) == Approx(4));  // two domains, each in a pod of its own
        CHECK(slowed(kind, 2, 64) == Approx(1));
    }
    CHECK(slowed(CollectiveKind::all_to_all, 16, 8) == Approx(1));
    CHECK(slowed(CollectiveKind::all_to_all, 32, 8) == Approx(4 * 16.0 / 31));
    CHECK(slowed(CollectiveKind::all_to_all, 8, 128) == Approx(4));
    CHECK(slowed(CollectiveKind::send_receive, 2, 64) == Approx(1));
    CHECK(slowed(CollectiveKind::send_receive, 2, 128) == Approx(4));
}

TEST_CASE("over-subscription slows the sends of a pipeline that leaves its pod, by the stage at the end of each",
          "[INV-18]") {
    ClusterSpec tight = cluster();
    tight.scale_out->oversubscription = known(8.0);
    tight.scale_out->pod_domains = 16;
    std::mt19937_64 random(seeded(17));
    for (int i = 0; i < 200; ++i) {
        ParallelPlan plan;
        plan.tp = pick<std::int64_t>(random, {1, 2, 4, 8});
        plan.dp = pick<std::int64_t>(random, {1, 2, 3, 4, 8, 16, 32});
        plan.pp = pick<std::int64_t>(random, {2, 3, 4, 8, 16});
        GroupPlacement const group = place(GroupKind::pipeline, plan, tight);
        // Senders by the rail of a pod that they leave.
        std::map<std::int64_t, std::int64_t> leaving;
        std::int64_t const stage = plan.tp * plan.dp;
        for (std::int64_t rank = 0; rank + stage < plan.world_size(); ++rank)
            if (rank / 128 != (rank + stage) / 128) ++leaving[rank / 128 * 8 + rank % 8];
        double slowest = 1;
        for (auto const& [rail, senders] : leaving)
            slowest = std::max(slowest, 8.0 * static_cast<double>(senders) / 16);
        auto const slope = [&](ClusterSpec const& machine) {
            return collective_curve(machine, CollectiveKind::send_receive, group).asymptotic_slope();
        };
        CAPTURE(plan.tp, plan.dp, plan.pp);
        CHECK(slope(tight) / slope(cluster()) == Approx(slowest));
        NetworkShares const shares = network_shares(tight, CollectiveKind::send_receive, group);
        CHECK((shares.uplink > 0) == !leaving.empty());
        CHECK(shares.uplink <= 1 / 8.0 + 1e-12);
        // The copies of a stage of a pipeline that runs both ways lie as far from its two ends.
        bool apart = false;
        for (std::int64_t rank = 0; rank < plan.world_size(); ++rank)
            apart = apart || rank / 128 != ((plan.pp - 1 - rank / stage) * stage + rank % stage) / 128;
        auto const copies = [&](ClusterSpec const& machine) {
            return collective_curve(machine, CollectiveKind::all_reduce, group).asymptotic_slope();
        };
        CHECK(copies(tight) / copies(cluster()) == Approx(apart ? 8 : 1));
    }
}

TEST_CASE("a group that leaves its domain needs a network between domains", "[INV-11]") {
    ClusterSpec alone = cluster();
    alone.scale_out.reset();
    CHECK_NOTHROW(collective_curve(alone, CollectiveKind::all_reduce, place_group(8, 1, 8)));
    CHECK_THROWS_AS(collective_curve(alone, CollectiveKind::all_reduce, place_group(16, 1, 8)), InputError);
}

TEST_CASE("torus: collectives that span more axes use more links", "[INV-18]") {
    ClusterSpec const machine = torus();
    auto const time = [&](std::int64_t n) {
        return collective_curve(machine, CollectiveKind::all_gather, place_group(n, 1, machine.domain_size))
            .time(16 * units::GB);
    };
    CHECK(time(256) < time(16));    // two axes of three against one
    CHECK(time(4096) < time(256));  // all three
    ClusterSpec open = machine;
    open.scale_up.torus_wraps = false;
    CHECK(collective_curve(open, CollectiveKind::all_gather, place_group(4096, 1, 4096)).time(16 * units::GB) >
          1.5 * time(4096));
}

TEST_CASE("bridges join two neighbours of a PCIe node or a mesh, and change nothing for anybody else") {
    ClusterSpec plain = cluster();
    plain.scale_up.kind = GENERATE(ScaleUpKind::pcie, ScaleUpKind::mesh);
    ClusterSpec bridged = plain;
    bridged.scale_up.pair_bandwidth = known(300 * units::GB / units::s);
    bridged.scale_up.pair_efficiency = known(0.8);
    auto const time = [](ClusterSpec const& c, CollectiveKind kind, std::int64_t size, std::int64_t stride) {
        return collective_curve(c, kind, place_group(size, stride, c)).time(1 * units::GB).base();
    };
    for (CollectiveKind const kind : kinds) {
        CAPTURE(name_of(kind));
        double const moved = kind == CollectiveKind::send_receive ? 1 : bus_bandwidth_factor(kind, 2);
        CHECK(time(bridged, kind, 2, 1) == Approx(moved / 240).epsilon(0.01));
        for (auto const& [size, stride] : {std::pair<std::int64_t, std::int64_t>{2, 2}, {4, 1}, {8, 1}, {2, 8}})
            CHECK(time(bridged, kind, size, stride) == time(plain, kind, size, stride));
        NetworkShares const shares = network_shares(bridged, kind, place_group(2, 1, bridged));
        CHECK(shares.scale_up == 0);
        CHECK(shares.scale_out == 0);
    }
    // Neighbours in a pipeline are joined only every second time.
    CHECK_FALSE(place(GroupKind::pipeline, {.pp = 2}, bridged).bridged);
    CHECK(place(GroupKind::tensor, {.tp = 2}, bridged).bridged);
    CHECK_FALSE(place(GroupKind::data, {.dp = 2, .tp = 2}, bridged).bridged);
}

TEST_CASE("neighbours that have more of a partly connected mesh than others reach their links") {
    auto const bus_bandwidth = [](char const* name, CollectiveKind kind, std::int64_t stride) {
        ClusterSpec const c = find_cluster(name, "test");
        return bus_bandwidth_factor(kind, 2) * 4 * units::GB /
               collective_curve(c, kind, place_group(2, stride, c)).time(4 * units::GB);
    };
    struct Pair {
        char const* name;
        double links;  ///< GB/s
    };
    auto const p = GENERATE(Pair{"mi250", 200}, Pair{"mi250x", 200}, Pair{"dgx-1-v100", 25}, Pair{"aws-p3", 25},
                            Pair{"dgx-1-p100", 20});
    CAPTURE(p.name);
    for (CollectiveKind const kind : kinds) {
        CAPTURE(name_of(kind));
        BytesPerSecond const reached = bus_bandwidth(p.name, kind, 1);
        CHECK(reached > 0.7 * p.links * units::GB / units::s);
        CHECK(reached < p.links * units::GB / units::s);
        CHECK(reached > bus_bandwidth(p.name, kind, 2));
    }
}

TEST_CASE("a small message over a bridge takes as long as over the network beside it") {
    for (CollectiveKind const kind : kinds) {
        CAPTURE(name_of(kind));
        auto const time = [&](char const* name) {
            ClusterSpec const c = find_cluster(name, "test");
            return collective_curve(c, kind, place_group(2, 1, c)).time(8 * units::B).base();
        };
        CHECK(time("h100-nvl") == Approx(time("h100-pcie")).epsilon(0.2));
        CHECK(time("a100-pcie-bridged") == Approx(time("a100-pcie")).epsilon(0.2));
    }
}

TEST_CASE("torus: what small collectives over several slices wait for are the axes of one and the steps between") {
    ClusterSpec machine = torus();
    machine.domain_size = 4096;
    for (std::int64_t const slices : {2, 4, 16}) {
        Seconds const hops = 0.5 * 16 * 3 * machine.scale_up.hop_latency.value +
                             std::log2(static_cast<double>(slices)) * machine.scale_out->hop_latency.value;
        Seconds const base = std::max(machine.scale_up.base_latency.value, machine.scale_out->base_latency.value);
        GroupPlacement const all = place_group(4096 * slices, 1, machine);
        CHECK(collective_curve(machine, CollectiveKind::all_gather, all).time({}).base() ==
              Approx((base + hops).base()));
        CHECK(collective_curve(machine, CollectiveKind::all_reduce, all).time({}).base() ==
              Approx((base + 2 * hops).base()));
    }
}

TEST_CASE("a small broadcast over domains takes no more hops than a gather") {
    for (ClusterSpec const& machine : {torus(), cluster(), find_cluster("tpu-v5e", "test")}) {
        std::int64_t const domain = machine.domain_size;
        for (std::int64_t const domains : {1, 2, 3, 16}) {
            CAPTURE(machine.name, domains);
            GroupPlacement const group = place_group(domains * domain, 1, machine);
            auto const time = [&](CollectiveKind kind, Bytes bytes) {
                return collective_curve(machine, kind, group).time(bytes).base();
            };
            CHECK(time(CollectiveKind::broadcast, 8 * units::B) ==
                  Approx(time(CollectiveKind::all_gather, 8 * units::B)).epsilon(0.01));
            CHECK(time(CollectiveKind::broadcast, 8 * units::GB) >= time(CollectiveKind::all_gather, 8 * units::GB));
        }
    }
}

TEST_CASE("torus: a broadcast moves all of its bytes to every chip") {
    ClusterSpec const c = find_cluster("tpu-v5e", "test");
    auto const time = [&](CollectiveKind kind, std::int64_t chips) {
        return collective_curve(c, kind, place_group(chips, 1, c)).time(1 * units::GB).base();
    };
    CHECK(time(CollectiveKind::broadcast, 2) == Approx(time(CollectiveKind::send_receive, 2)).epsilon(0.01));
    CHECK(time(CollectiveKind::broadcast, 2) >= time(CollectiveKind::send_receive, 2));
    for (std::int64_t const chips : {4, 16, 256}) {
        auto const n = static_cast<double>(chips);
        CHECK(time(CollectiveKind::broadcast, chips) ==
              Approx(time(CollectiveKind::all_gather, chips) * n / (n - 1)).epsilon(0.01));
    }
}

TEST_CASE("torus: two chips have the one link between them, and a line one direction of a ring", "[INV-17]") {
    ClusterSpec const c = find_cluster("tpu-v5e", "test");
    BytesPerSecond const link = c.scale_up.bandwidth.value / 4.0;
    auto const bus_bandwidth = [&](CollectiveKind kind, std::int64_t chips) {
        return bus_bandwidth_factor(kind, chips) * 4 * units::GB /
               collective_curve(c, kind, place_group(chips, 1, c)).time(4 * units::GB);
    };
    for (CollectiveKind const kind : kinds) {
        CAPTURE(name_of(kind));
        CHECK(bus_bandwidth(kind, 2) > 0.75 * link);
        CHECK(bus_bandwidth(kind, 2) < link);
    }
    CHECK(bus_bandwidth(CollectiveKind::all_gather, 3) < link);
    CHECK(bus_bandwidth(CollectiveKind::all_gather, 4) > 1.5 * link);   // there and back over two lines
    CHECK(bus_bandwidth(CollectiveKind::all_gather, 16) > 1.5 * link);  // a whole axis
}

TEST_CASE("mesh: a pair reaches only the links between the two", "[INV-18]") {
    ClusterSpec mesh = cluster();
    mesh.scale_up.kind = ScaleUpKind::mesh;
    Seconds const pair = collective_curve(mesh, CollectiveKind::send_receive, place_group(2, 1, 8)).time(1 * units::GB);
    Seconds const switched =
        collective_curve(cluster(), CollectiveKind::send_receive, place_group(2, 1, 8)).time(1 * units::GB);
    CHECK((pair - mesh.scale_up.hop_latency.value).base() ==
          Approx(7 * (switched - mesh.scale_up.hop_latency.value).base()));
    for (std::int64_t const ranks : {3, 8})
        CHECK(collective_curve(mesh, CollectiveKind::send_receive, place_group(ranks, 1, 8)).time(1 * units::GB) ==
              pair);
    CHECK(collective_curve(mesh, CollectiveKind::all_gather, place_group(8, 1, 8)).time(1 * units::GB) ==
          collective_curve(cluster(), CollectiveKind::all_gather, place_group(8, 1, 8)).time(1 * units::GB));
}
