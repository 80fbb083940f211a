#include "cost_models/nccl_curve.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "cost_models/network_correction.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <cmath>

using namespace sextant;
using namespace sextant::fixtures;
using units::us;

namespace {

constexpr CollectiveKind kinds[] = {CollectiveKind::all_reduce,     CollectiveKind::all_gather,
                                    CollectiveKind::reduce_scatter, CollectiveKind::all_to_all,
                                    CollectiveKind::broadcast,      CollectiveKind::send_receive};

ScaleUpConstants some_up() {
    ScaleUpConstants c;
    c.base_ll = 5 * us;
    c.base_ll128 = 7 * us;
    c.base_simple = 12 * us;
    c.hop_ll = 0.8 * us;
    c.hop_ll128 = 1.0 * us;
    c.hop_simple = 2.0 * us;
    c.ramp = 10 * us;
    c.ll = 0.05;
    c.ll128 = 0.4;
    c.ring = 0.8;
    c.small_rate = 0.7;
    c.copy_all_gather = 0.5;
    c.nvls_base = 30 * us;
    c.nvls = 0.6;
    c.nvls_share = 1;
    c.exchange_base_ll = 6 * us;
    c.exchange_base_simple = 15 * us;
    c.exchange_peer = 0.2 * us;
    c.exchange_ll = 0.05;
    c.exchange = 0.7;
    return c;
}

ScaleOutConstants some_out() {
    ScaleOutConstants c;
    c.added = 4 * us;
    c.latency_scale = 1.5;
    c.ring_hop_ll = 3 * us;
    c.ring_hop_ll128 = 8 * us;
    c.ring_hop_simple = 14 * us;
    c.ring_ramp = 40 * us;
    c.tree_hop_ll = 4 * us;
    c.tree_hop_ll128 = 9 * us;
    c.tree_hop_simple = 20 * us;
    c.nvls_tree_hop = 25 * us;
    c.ring = 0.9;
    c.tree = 0.85;
    c.ll = 0.02;
    c.ll128 = 0.3;
    c.ring_small_rate = 0.5;
    c.small_latency = 0.5;
    c.small_rate = 0.5;
    c.exchange_base = 15 * us;
    c.exchange_peer = 0.1 * us;
    c.exchange = 0.6;
    return c;
}

NcclMachine machine() {
    NcclMachine m = nccl_machine(cluster());
    m.ring_up = some_up().ring;
    m.exchange_up = some_up().exchange;
    m.ring_out = some_out().ring;
    m.exchange_out = some_out().exchange;
    return m;
}

NcclMachine pcie_machine() {
    NcclMachine m = machine();
    m.kind = ScaleUpKind::pcie;
    return m;
}
ScaleUpConstants pcie_up() {
    ScaleUpConstants up = some_up();
    up.pair_gain = 4;
    up.quad_gain = 2;
    return up;
}
/// Bytes per second of large reduce-scatters, as a ring's links have them.
double ring_rate(NcclMachine const& m, std::int64_t ranks, std::int64_t stride, ScaleUpConstants const& up) {
    auto const n = static_cast<double>(ranks);
    auto const curve = nccl_curve(m, CollectiveKind::reduce_scatter, place_group(ranks, stride, 8), up, nullptr);
    return (n - 1) / n / curve.asymptotic_slope().base();
}

Seconds time(CollectiveKind kind, std::int64_t ranks, Bytes bytes, NcclMachine const& m = machine()) {
    ScaleOutConstants const out = some_out();
    return nccl_curve(m, kind, place_group(ranks, 1, 8), some_up(), &out).time(bytes);
}

}  // namespace

TEST_CASE("nccl_curve: a ring of eight takes base, seven hops and seven eighths over its rate") {
    // 5 us + 7 * 0.8 us, LL at 0.8 * 0.05 * 450 GB/s.
    CHECK(time(CollectiveKind::all_gather, 8, 1 * units::KiB).in(us) == Approx(10.6 + 7.0 / 8 * 1024 / 18e3));
    // 12 us + 14 us + ramp 10 us, Simple at 360 GB/s, and a copy of an eighth at twice the speed of the links.
    CHECK(time(CollectiveKind::all_gather, 8, 8 * units::GB).in(us) == Approx(36 + 7e9 / 360e3 + 0.5 * 1e9 / 450e3));
    // Twice the steps for an all-reduce.
    CHECK(time(CollectiveKind::all_reduce, 8, 8 * units::B).in(us) == Approx(5 + 14 * 0.8).epsilon(1e-3));
}

TEST_CASE("nccl_curve: the protocol changes from LL over LL128 to Simple as messages grow") {
    auto const rate = [](Bytes bytes) {
        ScaleOutConstants const out = some_out();
        auto const curve = nccl_curve(machine(), CollectiveKind::reduce_scatter, place_group(8, 1, 8), some_up(), &out);
        return (bytes / (curve.time(2 * bytes) - curve.time(bytes))).base() * 7 / 8;
    };
    CHECK(rate(1 * units::KiB) == Approx(450e9 * 0.8 * 0.05));
    CHECK(rate(256 * units::KiB) == Approx(450e9 * 0.8 * 0.4));
    CHECK(rate(4 * units::GiB) == Approx(450e9 * 0.8));
}

TEST_CASE("nccl_curve: trees grow with the logarithm of the domains, rings with their number") {
    auto const small = [](CollectiveKind kind, std::int64_t ranks) { return time(kind, ranks, 8 * units::B).in(us); };
    double const step = small(CollectiveKind::all_reduce, 32) - small(CollectiveKind::all_reduce, 16);
    CHECK(step == Approx(2 * 1.5 * 4).epsilon(1e-3));
    CHECK(small(CollectiveKind::all_reduce, 1024) - small(CollectiveKind::all_reduce, 512) ==
          Approx(step).epsilon(1e-3));
    CHECK(small(CollectiveKind::all_gather, 32) - small(CollectiveKind::all_gather, 16) ==
          Approx(2 * (7 * 0.8 + 1.5 * 3)).epsilon(1e-3));
}

TEST_CASE("nccl_curve: what goes round a ring crosses into every domain once, and a tree of two domains twice") {
    // 5 us + 4 us, 15 or 30 hops of which 2 or 4 cross.
    CHECK(time(CollectiveKind::all_gather, 16, 8 * units::B).in(us) ==
          Approx(9 + 13 * 0.8 + 2 * 1.5 * 3).epsilon(1e-3));
    ScaleOutConstants without_trees = some_out();
    without_trees.tree_hop_ll = without_trees.tree_hop_ll128 = without_trees.tree_hop_simple = 1 * units::ms;
    auto const rings =
        nccl_curve(machine(), CollectiveKind::all_reduce, place_group(16, 1, 8), some_up(), &without_trees);
    CHECK(rings.time(8 * units::B).in(us) == Approx(9 + 26 * 0.8 + 4 * 1.5 * 3).epsilon(1e-3));
    // One rank in each domain: no step is left inside.
    auto const alone = place_group(2, 8, 8);
    auto const two = nccl_curve(machine(), CollectiveKind::reduce_scatter, alone, some_up(), &without_trees);
    CHECK(two.time(8 * units::B).in(us) == Approx(9 + 1.5 * 3).epsilon(1e-3));
}

TEST_CASE("nccl_curve: large messages of a tree have the ring's rate in a domain, whatever LL and LL128 reach there") {
    NcclMachine fast_outside = machine();
    fast_outside.nic *= 10;
    auto const slope = [&](double tree_inside) {
        ScaleOutConstants out = some_out();
        out.tree_inside = tree_inside;
        auto const curve = nccl_curve(fast_outside, CollectiveKind::all_reduce, place_group(16, 1, 8), some_up(), &out);
        return std::pair(curve.asymptotic_slope().base(), curve.time(32 * units::KiB).base());
    };
    CHECK(slope(0.5).first == slope(1).first);
    CHECK(slope(0.5).second > slope(1).second);
}

TEST_CASE("nccl_curve: two domains send an all-reduce through each NIC once, more domains twice") {
    NcclMachine fast_inside = machine();
    fast_inside.links *= 4;
    auto const rate = [&](std::int64_t ranks) {
        return 64e9 / (time(CollectiveKind::all_reduce, ranks, 64 * units::GB, fast_inside)).base();
    };
    CHECK(rate(16) == Approx(8 * 50e9 * 0.85).epsilon(0.01));
    // Four domains: the tree would reach half of that, the ring 2 * 31/32 S / (8 * 50 GB/s * 0.9) a little more.
    CHECK(rate(32) == Approx(360e9 / (2 * 31.0 / 32)).epsilon(0.01));
}

TEST_CASE("nccl_curve: the switch adds where it can, over several domains too") {
    NcclMachine with = machine();
    with.adds_in_switch = true;
    for (std::int64_t const ranks : {8, 16}) {
        CHECK(time(CollectiveKind::all_reduce, ranks, 1 * units::GiB, with) <
              time(CollectiveKind::all_reduce, ranks, 1 * units::GiB));
        CHECK(time(CollectiveKind::all_gather, ranks, 1 * units::GiB, with) ==
              time(CollectiveKind::all_gather, ranks, 1 * units::GiB));
    }
    NcclMachine sharp = with;
    sharp.sharp = 0.95;
    CHECK(time(CollectiveKind::all_reduce, 512, 4 * units::GiB, sharp) <
          time(CollectiveKind::all_reduce, 512, 4 * units::GiB, with));
}

TEST_CASE("nccl_curve: switches between domains add where those of a domain cannot, at their efficiency") {
    NcclMachine without = machine();
    without.links = 100 * without.nic;
    NcclMachine sharp = without;
    sharp.sharp = 0.9;
    for (std::int64_t const ranks : {16, 64, 512})
        CHECK(time(CollectiveKind::all_reduce, ranks, 4 * units::GiB, sharp) <
              time(CollectiveKind::all_reduce, ranks, 4 * units::GiB, without));
    CHECK(time(CollectiveKind::all_reduce, 8, 4 * units::GiB, sharp) ==
          time(CollectiveKind::all_reduce, 8, 4 * units::GiB, without));
    CHECK(time(CollectiveKind::all_gather, 64, 4 * units::GiB, sharp) ==
          time(CollectiveKind::all_gather, 64, 4 * units::GiB, without));
    // What a domain has goes out once, however many domains there are.
    double const bytes = 256e9;
    CHECK(bytes / time(CollectiveKind::all_reduce, 512, bytes * units::B, sharp).base() ==
          Approx(8 * sharp.nic.base() * 0.9).epsilon(0.01));
}

TEST_CASE("nccl_curve: time and bandwidth grow with the bytes, and time with the ranks") {
    NcclMachine m = machine();
    m.adds_in_switch = true;
    for (CollectiveKind const kind : kinds)
        for (std::int64_t ranks = 2; ranks <= 4096; ranks *= 2)
            for (double size = 1; size < 1e11; size *= 1.7) {
                CAPTURE(name_of(kind), ranks, size);
                Seconds const t = time(kind, ranks, size * units::B, m);
                Seconds const more = time(kind, ranks, 1.7 * size * units::B, m);
                CHECK(t > Seconds{});
                CHECK(t <= more);
                CHECK(more.base() <= 1.7 * t.base() * (1 + 1e-12));
                // A switch that adds favours large groups: of S / n each rank's own part does not cross it twice.
                CHECK(time(kind, ranks, size * units::B).base() <=
                      time(kind, 2 * ranks, size * units::B).base() * (1 + 1e-9));
            }
}

TEST_CASE("nccl_curve: PCIe pairs and quads have rates of their own") {
    NcclMachine const m = pcie_machine();
    ScaleUpConstants const up = pcie_up();
    auto const slope = [&](std::int64_t ranks) { return 1 / ring_rate(m, ranks, 1, up); };
    CHECK(slope(8) == Approx(4 * slope(2)));
    CHECK(slope(8) == Approx(2 * slope(4)));
}

TEST_CASE("nccl_curve: groups across one another share what joins the halves of a PCIe node") {
    NcclMachine m = pcie_machine();
    ScaleUpConstants up = pcie_up();
    auto const rate = [&](std::int64_t ranks, std::int64_t stride) { return ring_rate(m, ranks, stride, up); };
    double const node = rate(8, 1);
    CHECK(rate(4, 2) == Approx(node / 2));      // two rings between sockets
    CHECK(rate(2, 4) == Approx(node / 4));      // four pairs
    CHECK(rate(2, 2) == Approx(node * 2 / 2));  // two pairs between the switches of a socket
    m.crossing = 3;
    CHECK(rate(4, 2) == Approx(node));
    CHECK(rate(2, 4) == Approx(node * 3 / 4));
    m.crossing = 1;
    up.quad_gain = 16;
    CHECK(rate(2, 2) == Approx(node * 4));  // no more than a rank's own link
}

TEST_CASE("nccl_curve: pairs at work alone have to themselves what joins the halves of a PCIe node") {
    NcclMachine const m = pcie_machine();
    ScaleUpConstants const up = pcie_up();
    auto const rate = [&](std::int64_t stride, std::int64_t beside) {
        GroupPlacement group = place_group(2, stride, 8);
        group.ranks_per_domain = 2;
        group.domains = 1;
        group.beside = beside;
        return 1 / nccl_curve(m, CollectiveKind::all_reduce, group, up, nullptr).asymptotic_slope().base();
    };
    double const node = rate(4, 1);
    CHECK(rate(7, 1) == Approx(node));  // the first and the last of eight
    CHECK(rate(6, 2) == Approx(node / 2));
    CHECK(rate(3, 1) == Approx(2 * node));  // of a quad
    CHECK(rate(4, 0) == Approx(node / 4));  // as many as the stride
}

TEST_CASE("nccl_curve: a pipeline over PCIe has the pace of the neighbours that are joined worst") {
    NcclMachine const m = pcie_machine();
    ScaleUpConstants const up = pcie_up();
    auto const rate = [&](std::int64_t stages, std::int64_t stride) {
        GroupPlacement const group{
            .size = 2, .ranks_per_domain = 2, .domains = 1, .stride = stride, .pipeline = stages};
        return 1 / nccl_curve(m, CollectiveKind::send_receive, group, up, nullptr).asymptotic_slope().base();
    };
    double const under_switch = rate(2, 1);
    CHECK(rate(3, 1) == Approx(under_switch / 2));
    CHECK(rate(4, 1) == Approx(under_switch / 2));
    CHECK(rate(5, 1) == Approx(under_switch / 4));
    CHECK(rate(8, 1) == Approx(under_switch / 4));
    CHECK(rate(2, 2) == Approx(under_switch / 4));  // two sends at a time between the switches of a socket
    CHECK(rate(4, 2) == Approx(under_switch / 8));  // and between the sockets
}

TEST_CASE("nccl_curve: paths over the nodes of a mesh have more of its links than rings in one") {
    NcclMachine m = machine();
    m.kind = ScaleUpKind::mesh;
    m.nic = 1000 * units::GB / units::s;
    ScaleOutConstants const out = some_out();
    auto const slope = [&](std::int64_t ranks) {
        auto const curve = nccl_curve(m, CollectiveKind::broadcast, place_group(ranks, 1, 8), some_up(), &out);
        return curve.asymptotic_slope().base();
    };
    CHECK(slope(8) == Approx(8.0 / 7 * slope(16)));
    m.kind = ScaleUpKind::switched;
    CHECK(slope(8) == Approx(slope(16)));
}

TEST_CASE("nccl_curve: four neighbours of a mesh have the links that join quads, others their share") {
    NcclMachine m = machine();
    m.kind = ScaleUpKind::mesh;
    auto const reached = [&](CollectiveKind kind, std::int64_t ranks, std::int64_t stride) {
        return reached_of_mesh(m, kind, place_group(ranks, stride, 8));
    };
    CHECK(reached(CollectiveKind::all_reduce, 4, 1) == Approx(3.0 / 7));
    m.quad_share = 0.75;
    CHECK(reached(CollectiveKind::all_reduce, 4, 1) == Approx(0.75));
    CHECK(reached(CollectiveKind::all_to_all, 3, 1) == Approx(0.5));
    CHECK(reached(CollectiveKind::all_reduce, 4, 2) == Approx(3.0 / 7));
    CHECK(reached(CollectiveKind::send_receive, 4, 1) == Approx(1.0 / 7));
    CHECK(reached(CollectiveKind::all_reduce, 6, 1) == Approx(5.0 / 7));
    CHECK(reached(CollectiveKind::all_reduce, 8, 1) == 1);
}

TEST_CASE("CollectiveCurve: corrections keep time and bandwidth growing, whatever they ask for") {
    std::mt19937_64 random(seeded(11));
    for (int i = 0; i < 50; ++i) {
        ScaleOutConstants const out = some_out();
        CollectiveCurve curve =
            nccl_curve(machine(), CollectiveKind::all_reduce, place_group(16, 1, 8), some_up(), &out);
        NetworkCorrection wild;
        for (double at = 3; at < 34; at += 2) {
            wild.log2_bytes.push_back(at);
            wild.log_factor.push_back(uniform(random, -2, 2));
        }
        CollectiveCurve const plain = curve;
        curve.correct([&](double log2_bytes) { return wild.at(log2_bytes); });
        for (double size = 1; size < 1e14; size *= 1.31) {
            Bytes const bytes = size * units::B;
            CHECK(curve.time(bytes) <= curve.time(1.31 * bytes));
            CHECK((curve.time(1.31 * bytes)).base() <= 1.31 * curve.time(bytes).base() * (1 + 1e-9));
            CHECK(curve.latency(bytes) <= curve.time(bytes));
        }
        CHECK((curve.time(1e15 * units::B) / (1e15 * units::B)).base() ==
              Approx(curve.asymptotic_slope().base()).epsilon(1e-9));
        CollectiveCurve same = plain;
        same.correct([](double) { return 0.1; });
        CHECK(same.time(3 * units::MB).base() ==
              Approx(std::exp(0.1) * plain.time(3 * units::MB).base()).epsilon(0.002));
    }
}

TEST_CASE("NetworkCorrection: jumps reach to their neighbours, an octave at most") {
    NetworkCorrection c;
    CHECK(c.jump_at(20) == 0);
    c.jumps = {{.log2_bytes = 18, .log_factor = 1.0},
               {.log2_bytes = 18.5, .log_factor = -0.2},
               {.log2_bytes = 24, .log_factor = 0.6}};
    CHECK(c.jump_at(16.9) == 0);
    CHECK(c.jump_at(17.5) == Approx(0.5));
    CHECK(c.jump_at(18) == Approx(1));
    CHECK(c.jump_at(18.25) == Approx(0.4));
    CHECK(c.jump_at(18.5) == Approx(-0.2));
    CHECK(c.jump_at(19) == Approx(-0.1));
    CHECK(c.jump_at(21) == 0);
    CHECK(c.jump_at(24) == Approx(0.6));
    CHECK(c.jump_at(24.5) == Approx(0.3));
    CHECK(c.jump_at(40) == 0);
}

TEST_CASE("collective_curve: a jump holds for the arrangement that was measured, beside which curves stay smooth") {
    ClusterSpec cluster = find_cluster("gh200", "test");
    REQUIRE(cluster.network_model);
    auto const with = [&](std::vector<SizeJump> const& jumps, std::int64_t ranks) {
        NetworkModel model = *cluster.network_model;
        for (NetworkCorrection& c : model.corrections) {
            bool const here = c.kind == CollectiveKind::all_reduce && c.ranks_per_domain == 4 && c.domains == 4;
            c.jumps = here ? jumps : std::vector<SizeJump>{};
        }
        cluster.network_model = std::make_shared<NetworkModel const>(std::move(model));
        return collective_curve(cluster, CollectiveKind::all_reduce, place_group(ranks, 1, 4));
    };
    std::vector<SizeJump> const jumps{{.log2_bytes = 24, .log_factor = std::log(2.0)}};
    Bytes const size = 16 * units::MiB;
    CHECK((with(jumps, 16).time(size) / with({}, 16).time(size)) == Approx(2));
    CHECK((with(jumps, 16).time(2 * size) / with({}, 16).time(2 * size)) == Approx(1));
    CHECK((with(jumps, 32).time(size) / with({}, 32).time(size)) == Approx(1));
    CHECK((with(jumps, 24).time(size) / with({}, 24).time(size)) == Approx(1));
    CHECK(with(jumps, 16).asymptotic_slope().base() == with({}, 16).asymptotic_slope().base());
}

TEST_CASE("correction_at: measured arrangements, between them, and beyond") {
    auto const at_size = [](CollectiveKind kind, std::int64_t m, std::int64_t domains, double factor) {
        return NetworkCorrection{.kind = kind,
                                 .ranks_per_domain = m,
                                 .domains = domains,
                                 .log2_bytes = {10, 20},
                                 .log_factor = {factor, 2 * factor}};
    };
    std::vector<NetworkCorrection> const all{at_size(CollectiveKind::all_reduce, 2, 1, 0.1),
                                             at_size(CollectiveKind::all_reduce, 8, 1, 0.3),
                                             at_size(CollectiveKind::all_reduce, 8, 4, -0.2)};
    auto const at = [&](std::int64_t ranks, double log2_bytes) {
        return correction_at(all, CollectiveKind::all_reduce, place_group(ranks, 1, 8), log2_bytes);
    };
    CHECK(at(8, 10) == Approx(0.3));
    CHECK(at(8, 15) == Approx(0.45));
    CHECK(at(8, 20) == Approx(0.6));
    CHECK(at(8, 21) == Approx(0.3));  // beyond the sizes that were measured it halves with each doubling
    CHECK(at(8, 40) == Approx(0).margin(1e-6));
    CHECK(at(8, 1) == Approx(0.3));
    CHECK(at(4, 10) == Approx(0.2));
    CHECK(at(32, 20) == Approx(-0.4));
    CHECK(at(64, 20) == Approx(-0.2));
    CHECK(at(16, 10) == Approx(-0.1));
    CHECK(correction_at(all, CollectiveKind::all_reduce, place_group(4, 8, 8), 20) == 0);  // one rank in each of four
    CHECK_FALSE(has_correction(all, CollectiveKind::all_reduce, place_group(4, 8, 8)));
    CHECK(correction_at(all, CollectiveKind::all_gather, place_group(8, 1, 8), 10) == 0);
    CHECK_FALSE(has_correction(all, CollectiveKind::all_gather, place_group(8, 1, 8)));
}

TEST_CASE("correction_of: full domains say nothing of a group that does not fill its last one") {
    std::vector<NetworkCorrection> const all{{.kind = CollectiveKind::all_reduce,
                                              .ranks_per_domain = 8,
                                              .domains = 2,
                                              .log2_bytes = {10},
                                              .log_factor = {0.1}}};
    CHECK(correction_of(all, CollectiveKind::all_reduce, place_group(16, 1, 8)) == &all.front());
    for (std::int64_t const ranks : {9, 12, 15})
        CHECK(correction_of(all, CollectiveKind::all_reduce, place_group(ranks, 1, 8)) == nullptr);
}

TEST_CASE("interval_of: exchanges between domains that nobody measured may take half of the time") {
    NetworkModel model;
    model.up_part.range = model.out_part.range = CalibrationRange::outside;
    for (bool const between : {false, true})
        model.intervals.push_back(
            {.range = CalibrationRange::outside, .between_domains = between, .from = {}, .low = 0.8, .high = 1.4});
    auto const factors = [&](CollectiveKind kind, std::int64_t ranks) {
        return interval_of(model, kind, place_group(ranks, 1, 8), 64 * units::MiB);
    };
    constexpr auto exchange = CollectiveKind::all_to_all;
    CHECK(factors(exchange, 16).low == 0.8);
    model.out_part.exchange_is_assumed = true;
    CHECK(factors(exchange, 16).low == 0.5);
    CHECK(factors(exchange, 16).high == 1.4);
    CHECK(factors(exchange, 8).low == 0.8);
    CHECK(factors(CollectiveKind::all_reduce, 16).low == 0.8);
    for (NetworkInterval& interval : model.intervals)
        interval.low = 0.3;
    CHECK(factors(exchange, 16).low == 0.3);
    for (NetworkInterval& interval : model.intervals)
        interval.low = 0.8;
    model.corrections = {
        {.kind = exchange, .ranks_per_domain = 8, .domains = 2, .log2_bytes = {3, 30}, .log_factor = {0, 0}}};
    CHECK(factors(exchange, 16).low == 0.8);
    CHECK(factors(exchange, 32).low == 0.8);
}

TEST_CASE("interval_of: a group over domains is as uncertain as the links inside them as far as these bound it") {
    NetworkModel model;
    model.intervals = {
        {.range = CalibrationRange::by_class, .between_domains = false, .from = {}, .low = 0.7, .high = 2.6},
        {.range = CalibrationRange::by_class, .between_domains = true, .from = {}, .low = 0.9, .high = 1.6}};
    auto const factors = [&](std::int64_t ranks, std::int64_t stride, double inside) {
        return interval_of(model, CollectiveKind::all_reduce, place_group(ranks, stride, 8), 1 * units::GiB, inside);
    };
    CHECK(factors(16, 1, 1).low == 0.7);
    CHECK(factors(16, 1, 1).high == 2.6);
    CHECK(factors(16, 1, 0.75).low == 0.9);
    CHECK(factors(16, 1, 0.75).high == Approx(0.75 * 2.6));
    CHECK(factors(16, 1, 0.5).high == 1.6);
    CHECK(factors(16, 8, 1).high == 1.6);  // none of it stays inside
    model.up_part.basis = Basis::fitted;
    CHECK(factors(16, 1, 1).high == 1.6);
    // Staged through the host inside a node as between two.
    auto const shipped = [](char const* name, std::int64_t ranks) {
        ClusterSpec const machine = find_cluster(name, "test");
        return interval_of(machine, CollectiveKind::all_reduce, place_group(ranks, 1, machine), 1 * units::GiB);
    };
    for (std::int64_t const ranks : {16, 64}) {
        CHECK(shipped("a100-pcie", ranks).low <= shipped("a100-pcie", 8).low);
        CHECK(shipped("a100-pcie", ranks).high >= shipped("a100-pcie", 8).high);
    }
    CHECK(shipped("perlmutter", 16).high < shipped("perlmutter", 4).high);  // its NICs are a sixth of its links
}

TEST_CASE("interval_of: the band of the range and size, else the widest") {
    NetworkModel model;
    model.up_part.range = CalibrationRange::outside;
    model.corrections = {{.kind = CollectiveKind::all_reduce,
                          .ranks_per_domain = 8,
                          .domains = 1,
                          .log2_bytes = {3, 30},
                          .log_factor = {0, 0}}};
    model.intervals = {
        {.range = CalibrationRange::inside, .between_domains = false, .from = {}, .low = 0.9, .high = 1.1},
        {.range = CalibrationRange::inside,
         .between_domains = false,
         .from = 1 * units::MiB,
         .low = 0.95,
         .high = 1.05},
        {.range = CalibrationRange::outside, .between_domains = false, .from = {}, .low = 0.7, .high = 1.4}};
    auto const high = [&](std::int64_t ranks, Bytes bytes) {
        return interval_of(model, CollectiveKind::all_reduce, place_group(ranks, 1, 8), bytes).high;
    };
    CHECK(high(8, 1 * units::KiB) == 1.1);
    CHECK(high(8, 1 * units::GiB) == 1.05);
    CHECK(high(8, 8 * units::GiB) == 1.4);  // no size as large was measured
    CHECK(high(4, 1 * units::GiB) == 1.4);
    CHECK(interval_of(model, CollectiveKind::all_reduce, place_group(16, 1, 8), 1 * units::KiB).high == 2);
    model.up_part.changed = true;
    CHECK(high(8, 1 * units::KiB) == 1.4);
    model.up_part.changed = false;
    model.up_part.range = CalibrationRange::by_class;
    CHECK(high(8, 1 * units::KiB) == 1.4);
}
