#include "calibrate/collective_fit.hpp"

#include "calibrate/collective_score.hpp"
#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/network_correction.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

using namespace sextant;
using units::us;

namespace {

ScaleUpConstants known_up() {
    ScaleUpConstants c = tuner_scale_up();
    c.base_ll = 4 * us;
    c.hop_ll = 0.9 * us;
    c.ring = 0.7;
    c.ll128 = 0.5;
    c.copy_all_gather = 0.8;
    c.exchange = 0.6;
    return c;
}

ScaleOutConstants known_out() {
    ScaleOutConstants c = tuner_scale_out();
    c.added = 20 * us;
    c.ring = 0.6;
    c.tree = 0.9;
    return c;
}

std::shared_ptr<CollectiveMachine const> machine(std::int64_t nodes, std::int64_t per_node) {
    CollectiveMachine out;
    out.cluster = find_cluster("h100-sxm", "test");
    out.cluster.scale_up.in_network_reduction_efficiency.reset();
    out.group = place_group(nodes * per_node, 1, nodes > 1 ? per_node : 8);
    return std::make_shared<CollectiveMachine const>(std::move(out));
}

/// Runs of known constants with noise, log-normal with standard deviation `noise`.
std::vector<CollectiveMeasurement> synthetic(double noise, std::uint64_t seed, bool between) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, noise);
    std::vector<CollectiveMeasurement> rows;
    ScaleOutConstants const out = known_out();
    for (auto const kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                            CollectiveKind::all_to_all})
        for (std::int64_t const count : {2, 4, 8}) {
            auto const where = between ? machine(count, 8) : machine(1, count);
            for (double size = 512; size <= 4e9; size *= 4) {
                CollectiveMeasurement row{.run = fmt::format("{}-{}", name_of(kind), count),
                                          .source = "synthetic",
                                          .library_version = "2.29",
                                          .machine = where,
                                          .kind = kind,
                                          .bytes = size * units::B};
                row.measured = structural_time(row, known_up(), &out) * std::exp(normal(random));
                row.target = row.measured;
                rows.push_back(row);
            }
        }
    return rows;
}

CollectiveCurve known_curve(CollectiveMeasurement const& row) { return structural_curve(row, known_up(), nullptr); }

MeasurementList list(std::vector<CollectiveMeasurement> const& rows) {
    MeasurementList out;
    for (auto const& row : rows)
        out.push_back(&row);
    return out;
}

FitOptions const one_thread{.starts = 1, .threads = 1};

/// Nodes of eight, known as `cluster`.
std::shared_ptr<CollectiveMachine const> nodes_of(ClusterSpec const& cluster, std::int64_t nodes) {
    CollectiveMachine out;
    out.cluster = cluster;
    out.group = place_group(8 * nodes, 1, 8);
    return std::make_shared<CollectiveMachine const>(std::move(out));
}

/// Appends a run without noise, every octave from 1 KiB: what `truth` takes where `where` is known.
void add_run(std::vector<CollectiveMeasurement>& rows, std::string const& run, ClusterSpec const& truth,
             std::shared_ptr<CollectiveMachine const> const& where, CollectiveKind kind) {
    for (double size = 1024; size <= 9e9; size *= 2) {
        Seconds const time = collective_curve(truth, kind, where->group).time(size * units::B);
        rows.push_back({.run = run,
                        .source = "synthetic",
                        .library_version = "2.29",
                        .machine = where,
                        .kind = kind,
                        .bytes = size * units::B,
                        .measured = time,
                        .target = time});
    }
}

}  // namespace

TEST_CASE("fit_scale_up: known constants are found again, and others are said to be assumed") {
    auto const rows = synthetic(0.01, 5, false);
    auto const section = fit_scale_up(list(rows), tuner_scale_up(), {}, one_thread);
    CHECK(section.constants.base_ll.in(us) == Approx(4).epsilon(0.05));
    CHECK(section.constants.hop_ll.in(us) == Approx(0.9).epsilon(0.05));
    CHECK(section.constants.ring == Approx(0.7).epsilon(0.02));
    CHECK(section.constants.ll128 == Approx(0.5).epsilon(0.06));
    CHECK(section.constants.exchange == Approx(0.6).epsilon(0.02));
    CHECK(section.constants.copy_all_gather == Approx(0.8).epsilon(0.15));
    for (ConstantNote const& note : section.notes) {
        if (note.key == "ring") CHECK(note.basis == Basis::fitted);
        if (note.key == "nvls_base" || note.key == "pair_gain") CHECK(note.basis == Basis::assumed);
    }
}

TEST_CASE("fit_scale_out: a network's constant and rates are found again") {
    auto const rows = synthetic(0.01, 6, true);
    auto const section = fit_scale_out(
        list(rows), tuner_scale_out(), [](auto const&) { return known_up(); }, {}, one_thread);
    CHECK(section.constants.ring == Approx(0.6).epsilon(0.03));
    CHECK(section.constants.added.in(us) == Approx(20).epsilon(0.15));
    CHECK_THROWS_AS(fit_scale_up(list(rows), tuner_scale_up(), {}, one_thread), InputError);
}

TEST_CASE("fit_scale_out: a slow network of which one collective was measured leaves that of the others where it was") {
    auto rows = synthetic(0.01, 11, true);
    CollectiveMachine slow = *machine(2, 8);
    slow.cluster.name = "slow";
    auto const shared = std::make_shared<CollectiveMachine const>(slow);
    ScaleOutConstants out = known_out();
    out.latency_scale *= 5;
    out.added *= 5;
    for (std::size_t i = 0, count = rows.size(); i < count; ++i)
        if (rows[i].kind == CollectiveKind::all_gather && rows[i].group().domains == 2) {
            CollectiveMeasurement row = rows[i];
            row.machine = shared;
            row.target = row.measured = structural_time(row, known_up(), &out);
            rows.push_back(row);
        }
    std::erase_if(rows, [](auto const& row) {
        return row.machine->cluster.name != "slow" && row.kind != CollectiveKind::all_reduce;
    });
    auto const steps = [&](NetworkPriorSpreads const& spreads) {
        auto const c = fit_scale_out(
                           list(rows), tuner_scale_out(), [](auto const&) { return known_up(); }, spreads, one_thread)
                           .constants;
        return c.ring_hop_ll / c.tree_hop_ll;
    };
    double const known = known_out().ring_hop_ll / known_out().tree_hop_ll;
    CHECK(steps({.cluster_latency = 0.6, .cluster_rate = 0.1}) == Approx(known).epsilon(0.4));
    CHECK(steps({}) > 1.5 * known);
}

TEST_CASE("fit_scale_up: gains of few ranks on PCIe stay where no rows of more ranks tell them from the ring") {
    ScaleUpConstants known = known_up();
    known.ring = 0.4;
    known.exchange = 0.4;
    known.pair_gain = 1.5;
    known.quad_gain = 1.25;
    auto const rows_up_to = [&](std::int64_t most) {
        std::vector<CollectiveMeasurement> rows;
        for (auto const kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all})
            for (std::int64_t ranks = 2; ranks <= most; ranks *= 2) {
                CollectiveMachine where = *machine(1, ranks);
                where.cluster.scale_up.kind = ScaleUpKind::pcie;
                auto const shared = std::make_shared<CollectiveMachine const>(where);
                for (double size = 512; size <= 4e9; size *= 4) {
                    CollectiveMeasurement row{.run = "mine",
                                              .source = "synthetic",
                                              .library_version = "",
                                              .machine = shared,
                                              .kind = kind,
                                              .bytes = size * units::B};
                    row.target = row.measured = structural_time(row, known, nullptr);
                    rows.push_back(row);
                }
            }
        return rows;
    };
    for (std::int64_t const most : {2, 4, 8}) {
        CAPTURE(most);
        auto const rows = rows_up_to(most);
        auto const section = fit_scale_up(list(rows), tuner_scale_up(), {}, one_thread);
        auto const basis_of = [&](std::string_view key) {
            return std::find_if(section.notes.begin(), section.notes.end(), [&](auto const& n) { return n.key == key; })
                ->basis;
        };
        bool const tells_pairs = most > 2;
        bool const tells_quads = most > 4;
        CHECK(basis_of("pair_gain") == (tells_pairs ? Basis::fitted : Basis::assumed));
        CHECK(basis_of("quad_gain") == (tells_quads ? Basis::fitted : Basis::assumed));
        CHECK(section.constants.quad_gain == Approx(tells_quads ? 1.25 : 1).epsilon(0.03));
        double const seen = most == 2 ? 1.5 : most == 4 ? 1.25 : 1;
        CHECK(section.constants.ring == Approx(0.4 * seen).epsilon(0.06));
    }
}

TEST_CASE("fit_network: rows that are far off do not move the rest") {
    auto rows = synthetic(0.01, 7, false);
    for (std::size_t i = 0; i < rows.size(); i += 17)
        rows[i].target *= 5;
    auto const section = fit_scale_up(list(rows), tuner_scale_up(), {}, one_thread);
    CHECK(section.constants.ring == Approx(0.7).epsilon(0.03));
}

TEST_CASE("fit_corrections: a bump that the structure has not is kept, per arrangement") {
    auto rows = synthetic(0.0, 8, false);
    for (CollectiveMeasurement& row : rows)
        if (row.kind == CollectiveKind::all_reduce && row.group().size == 4 && row.bytes > 60 * units::KB &&
            row.bytes < 3 * units::MB)
            row.target = row.measured = 1.4 * row.measured;
    for (NetworkCorrection const& c : fit_corrections(list(rows), known_curve, one_thread)) {
        bool const here = c.kind == CollectiveKind::all_reduce && c.ranks_per_domain == 4;
        CAPTURE(name_of(c.kind), c.ranks_per_domain);
        CHECK(c.at(19) == Approx(here ? std::log(1.4) : 0).margin(0.08));
        CHECK(c.at(28) == Approx(0).margin(0.08));
        CHECK(c.jumps.empty());
    }
}

TEST_CASE("fit_corrections: a size that two timings show off the curve is a jump, one that one of them shows is not") {
    auto rows = synthetic(0.0, 9, false);
    double const size = 512.0 * 4096;  // of the synthetic sizes, 2 MiB
    for (CollectiveMeasurement& row : rows) {
        if (row.bytes != size * units::B || row.group().size != 8) continue;
        Seconds const smooth = row.measured;
        switch (row.kind) {
            case CollectiveKind::all_reduce: row.measured = 6 * smooth, row.slower = 6.5 * smooth; break;
            case CollectiveKind::all_gather: row.measured = 0.7 * smooth, row.slower = 0.72 * smooth; break;
            case CollectiveKind::reduce_scatter: row.measured = smooth, row.slower = 6 * smooth; break;
            default: row.measured = 6 * smooth;  // timed once
        }
    }
    for (NetworkCorrection const& c : fit_corrections(list(rows), known_curve, one_thread)) {
        CAPTURE(name_of(c.kind), c.ranks_per_domain);
        bool const jumps =
            c.ranks_per_domain == 8 && (c.kind == CollectiveKind::all_reduce || c.kind == CollectiveKind::all_gather);
        REQUIRE(c.jumps.size() == (jumps ? 1 : 0));
        if (!jumps) continue;
        double const wanted = std::log(c.kind == CollectiveKind::all_reduce ? 6 : 0.7);
        CHECK(c.jumps[0].log2_bytes == Approx(21));
        CHECK(c.jumps[0].log_factor == Approx(wanted).margin(0.05));
        CHECK(c.jump_at(21) == Approx(wanted).margin(0.05));
        CHECK(c.jump_at(20) == 0);
        CHECK(c.jump_at(22) == 0);
    }
    // A second run that shows it as well is as good as the other way of the first.
    for (std::size_t i = 0, count = rows.size(); i < count; ++i)
        if (rows[i].kind == CollectiveKind::all_to_all) rows.push_back(rows[i]);
    for (NetworkCorrection const& c : fit_corrections(list(rows), known_curve, one_thread))
        if (c.kind == CollectiveKind::all_to_all) CHECK(c.jumps.size() == (c.ranks_per_domain == 8 ? 1 : 0));
}

TEST_CASE("prepare_rows: slips, slow processes and noisy records lose their say") {
    std::vector<CollectiveMeasurement> rows;
    auto const add = [&](char const* run, double kib, double time, char const* source = "s") {
        rows.push_back({.run = run,
                        .source = source,
                        .library_version = "",
                        .machine = machine(1, 8),
                        .kind = CollectiveKind::all_reduce,
                        .bytes = kib * units::KiB,
                        .measured = time * us});
    };
    for (double const kib : {1, 2, 4, 8, 16})
        add("fast", kib, kib == 8 ? 50 : 10 + kib / 10);
    for (double const kib : {1, 2, 4, 8, 16})
        add("slow", kib, 40 + kib / 10);
    for (double const kib : {1, 2, 4, 8, 16})
        add("noisy", kib, 10, "https://github.com/microsoft/vidur data/profiling");
    for (double const kib : {1, 2, 4, 8, 16})
        add("own", kib, 10, "/home/me/vidur-box/all_reduce.log");
    prepare_rows(rows);
    CHECK(rows[3].target.in(us) == Approx(11.6));  // no slower than 16 KiB
    CHECK(rows[3].measured.in(us) == Approx(50));
    CHECK(rows[0].weight == 0.25);
    CHECK(rows[1].weight == 1);
    CHECK(rows[6].weight == Approx(0.05));
    CHECK(rows[6].role == RowRole::accuracy);
    CHECK(rows[11].weight == Approx(0.002));
    CHECK(rows[11].role == RowRole::robustness);
    CHECK(rows[16].weight == 1);
    CHECK(rows[16].role == RowRole::accuracy);
}

TEST_CASE("drop_too_fast: one slip is taken out, a library that is slow at some sizes is not one") {
    using Times = std::vector<double>;
    auto const kept = [](Times const& times) {
        std::vector<CollectiveMeasurement> rows;
        for (double kib = 1; double const time : times) {
            rows.push_back({.run = "mine",
                            .source = "s",
                            .library_version = "",
                            .machine = machine(1, 8),
                            .kind = CollectiveKind::all_reduce,
                            .bytes = kib * units::KiB,
                            .measured = time * us});
            kib *= 2;
        }
        std::size_t const dropped = drop_too_fast(rows);
        CHECK(dropped + rows.size() == times.size());
        Times out;
        for (CollectiveMeasurement const& row : rows)
            out.push_back(std::round(row.measured.in(us)));
        return out;
    };
    CHECK(kept({60, 61, 62, 8, 70, 90}) == Times{60, 61, 62, 70, 90});
    CHECK(kept({60, 61, 62, 18, 70, 90}) == Times{60, 61, 62, 70, 90});
    CHECK(kept({50, 100, 200, 60, 800, 1600}) == Times{50, 100, 200, 60, 800, 1600});
    CHECK(kept({50, 100, 200, 20, 800, 1600}) == Times{50, 100, 200, 800, 1600});
    CHECK(kept({60, 61, 62, 8}) == Times{60, 61, 62});
    for (Times const& slow :
         {Times{10, 10, 60, 61, 62, 13, 16, 22}, Times{200, 12, 13, 14}, Times{138, 185, 341, 654, 864, 129, 192, 305},
          Times{10, 11, 60, 12, 60, 20, 30}, Times{8, 60, 61, 62}, Times{10}})
        CHECK(kept(slow) == slow);
}

TEST_CASE("prepare_rows: several timings of one size are one point, in whatever order they stand") {
    std::vector<CollectiveMeasurement> rows;
    for (double const kib : {1, 2, 4, 8, 16})
        for (double const time : {30, 10, 20})
            rows.push_back({.run = "mine",
                            .source = "s",
                            .library_version = "",
                            .machine = machine(1, 8),
                            .kind = CollectiveKind::all_reduce,
                            .bytes = kib * units::KiB,
                            .measured = (time + kib / 10) * us});
    std::mt19937_64 random(fixtures::seeded(3));
    for (int turn = 0; turn < 4; ++turn) {
        prepare_rows(rows);
        for (CollectiveMeasurement const& row : rows) {
            CHECK(row.target.in(us) == Approx(10 + row.bytes.in(units::KiB) / 10));
            bool const is_first = row.bytes == 1 * units::KiB;
            CHECK(row.weight == (is_first ? 0.25 : 1));
        }
        std::shuffle(rows.begin(), rows.end(), random);
    }
}

TEST_CASE("prepare_rows: sweeps of other collectives and groups under one name, or none, do not lower one another") {
    for (char const* run : {"tuesday", ""}) {
        std::vector<CollectiveMeasurement> rows;
        for (auto const& [kind, ranks, time] :
             {std::tuple(CollectiveKind::all_reduce, 8, 50.0), std::tuple(CollectiveKind::all_gather, 8, 25.0),
              std::tuple(CollectiveKind::all_reduce, 2, 10.0)})
            for (double const mib : {1, 2, 4})
                rows.push_back({.run = run,
                                .source = "s",
                                .library_version = "",
                                .machine = machine(1, ranks),
                                .kind = kind,
                                .bytes = mib * units::MiB,
                                .measured = mib * time * us});
        prepare_rows(rows);
        for (CollectiveMeasurement const& row : rows)
            CHECK(row.target == row.measured);
    }
}

namespace {

CollectiveRow own_row(Bytes bytes, Seconds measured, CollectiveMachineRow const& machine) {
    CollectiveRow row;
    row.run_id = "mine";
    row.collective = "all_reduce";
    row.bytes = bytes;
    row.measured = measured;
    row.machine = machine;
    return row;
}

}  // namespace

TEST_CASE("collective_measurements: one rank communicates nothing, and a node has no more ranks than the cluster's") {
    ClusterSpec const cluster = find_cluster("h100-sxm", "test");
    auto const measured = [&](std::int64_t per_node) {
        CollectiveRow const row = own_row(1 * units::MiB, 50 * us, {"H100-80GB-SXM", "", "", 1, per_node});
        return collective_measurements(std::vector{row}, &cluster);
    };
    CHECK(measured(8).rows.size() == 1);
    for (auto const& [ranks, reason] : {std::pair{1, "over one rank"}, std::pair{16, "16 ranks share a node"}}) {
        auto const out = measured(ranks);
        CHECK(out.rows.empty());
        REQUIRE(out.skipped.size() == 1);
        CHECK_THAT(out.skipped.front().first, Catch::Contains(reason));
    }
}

TEST_CASE("collective_measurements: what two reach over links of their own says nothing of the network beside them") {
    ClusterSpec const cluster = find_cluster("h100-nvl", "test");
    auto const measured = [&](std::int64_t ranks) {
        CollectiveRow const row = own_row(1 * units::GiB, 5 * units::ms, {"", "", "", 1, ranks});
        return collective_measurements(std::vector{row}, &cluster);
    };
    CHECK(measured(4).rows.size() == 1);
    CHECK(measured(2).rows.empty());
    CHECK_THAT(measured(2).skipped.at(0).first, Catch::Contains("pair_efficiency of the cluster file"));
}

TEST_CASE("collective_measurements: rows on networks that no profile has with their device are of no machine") {
    auto const read = [](char const* gpu, char const* inter, ClusterSpec const* cluster,
                         char const* collective = "all_reduce") {
        CollectiveRow row;
        row.machine = {.gpu = gpu, .intra_link = "", .inter_link = inter, .nodes = 2, .gpus_per_node = 8};
        row.collective = collective;
        row.nranks = 16;
        row.bytes = 1 * units::MiB;
        row.measured = 100 * us;
        return collective_measurements(std::vector{row}, cluster);
    };
    auto const borrowed = read("MI300X", "4x200G Slingshot-11", nullptr);
    CHECK(borrowed.rows.empty());
    REQUIRE(borrowed.skipped.size() == 1);
    CHECK_THAT(borrowed.skipped.front().first, contains("which no profile has with mi300x"));
    CHECK(read("MI300X", "8x400G RoCE", nullptr).rows.size() == 1);
    ClusterSpec const own = find_cluster("mi300x", "test");
    CHECK(read("MI300X", "4x200G Slingshot-11", &own).rows.size() == 1);
    // Nor are times of a reduce those of the broadcast that it is priced as.
    CHECK(read("MI300X", "8x400G RoCE", nullptr, "reduce").rows.empty());
    CHECK(read("MI300X", "8x400G RoCE", nullptr, "broadcast").rows.size() == 1);
}

TEST_CASE("collective_measurements: rows of another device, or joined otherwise, are none of a cluster") {
    auto const taken = [](char const* cluster, char const* gpu, char const* link) {
        ClusterSpec const own = find_cluster(cluster, "test");
        CollectiveRow const row = own_row(1 * units::MiB, 50 * us, {gpu, link, "", 1, 4});
        auto const out = collective_measurements(std::vector{row}, &own);
        return out.skipped.empty() ? "" : out.skipped.front().first;
    };
    CHECK(taken("h100-sxm", "NVIDIA H100 80GB HBM3", "NVLink4-NVSwitch").empty());
    CHECK(taken("h100-sxm", "H100-SXM5-80GB", "NVLink4").empty());  // of no kind
    CHECK(taken("h100-sxm", "our accelerator", "").empty());
    CHECK(taken("a100-sxm-80gb", "A100-SXM4-40GB", "").empty());  // differs in memory alone
    CHECK(taken("h100-sxm", "NVIDIA H200", "NVLink4-NVSwitch") == "of another device (h200-sxm)");
    CHECK(taken("h100-sxm", "NVIDIA H20", "") == "of another device (h20-sxm)");
    CHECK(taken("h100-sxm", "NVIDIA GH200 480GB", "") == "of another device (gh200-96gb)");
    CHECK(taken("h100-sxm", "H100 PCIe", "PCIe") == "of another device (h100-pcie)");
    CHECK(taken("a100-sxm-80gb", "NVIDIA A100-PCIE-40GB", "") == "of another device (a100-pcie-40gb)");
    CHECK(taken("h100-sxm", "H100-SXM5-80GB", "PCIe 5.0") == "joined by 'PCIe 5.0', where h100-sxm is switched");
}

TEST_CASE(
    "prepare_rows: a run that others show to be slow is slow where it is alone, on the same device of less memory") {
    std::vector<CollectiveMeasurement> rows;
    auto const add = [&](char const* run, char const* cluster, double kib, double time) {
        CollectiveMachine where;
        where.cluster = find_cluster(cluster, "test");
        where.group = place_group(8, 1, 8);
        rows.push_back({.run = run,
                        .source = "s",
                        .library_version = "",
                        .machine = std::make_shared<CollectiveMachine const>(where),
                        .kind = CollectiveKind::all_reduce,
                        .bytes = kib * units::KiB,
                        .measured = time * us});
    };
    for (double const kib : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 131072.0})
        add("slow", "a100-sxm-40gb", kib, 40 + kib / 10);
    for (double const kib : {1.0, 2.0, 4.0, 8.0, 16.0})
        add("fast", "a100-sxm-80gb", kib, 20 + kib / 10);
    for (double const kib : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0})
        add("other", "h100-sxm", kib, 15 + kib / 10);
    prepare_rows(rows);
    auto const weights = [&](std::string_view run) {
        std::vector<double> out;
        for (CollectiveMeasurement const& row : rows)
            if (row.run == run) out.push_back(row.weight);
        return out;
    };
    CHECK(weights("slow") == std::vector<double>{0.25 * 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 1});
    CHECK(weights("fast") == std::vector<double>{0.25, 1, 1, 1, 1});
    CHECK(weights("other") == std::vector<double>{0.25, 1, 1, 1, 1, 1});
}

TEST_CASE("fit_corrections: an all-reduce without the switch's reduction leaves the curve with it alone") {
    auto rows = synthetic(0.01, 12, false);
    CollectiveMachine without = *machine(1, 8);
    without.without_reduction = true;
    auto const shared = std::make_shared<CollectiveMachine const>(without);
    for (CollectiveMeasurement& row : rows) {
        if (row.group().size != 8) continue;
        row.machine = shared;
        row.target = row.measured = 1.3 * row.measured;
    }
    auto const of = [&](CollectiveKind kind, std::int64_t ranks) {
        auto const all = fit_corrections(list(rows), known_curve, one_thread);
        return std::any_of(all.begin(), all.end(),
                           [&](NetworkCorrection const& c) { return c.kind == kind && c.ranks_per_domain == ranks; });
    };
    CHECK_FALSE(of(CollectiveKind::all_reduce, 8));
    CHECK(of(CollectiveKind::all_reduce, 4));
    CHECK(of(CollectiveKind::all_gather, 8));
}

TEST_CASE("fit_with_held_out: runs are chosen by their names, never fitted, and intervals hold what they should") {
    std::size_t held = 0;
    for (int i = 0; i < 2000; ++i)
        held += is_held_out(fmt::format("run {}", i), 0.2) ? 1 : 0;
    CHECK(held > 320);
    CHECK(held < 480);
    CHECK_FALSE(is_held_out("run", 0));

    auto rows = synthetic(0.08, 9, false);
    rows.resize(rows.size() * fixtures::cases(4, 2) / 4);  // the kinds after one another, three runs each
    ClusterSpec const cluster = rows.front().machine->cluster;
    auto const fitted =
        fit_with_held_out(list(rows), cluster, {.held_out = 0, .command = "test", .options = one_thread});
    CHECK(fitted.provenance.rows == static_cast<std::int64_t>(rows.size()));
    REQUIRE_FALSE(fitted.provenance.held_out.empty());
    // Another draw of the same machine: about 80 % of its rows lie in the intervals.
    std::size_t inside = 0;
    auto fresh = synthetic(0.08, 10, false);
    fresh.resize(rows.size());
    ClusterSpec mine = cluster;
    apply_network_calibration(mine, fitted, all_network_calibrations());
    for (CollectiveMeasurement const& row : fresh) {
        Seconds const time = collective_curve(mine, row.kind, row.group()).time(row.bytes);
        auto const factors = interval_of(*mine.network_model, row.kind, row.group(), row.bytes);
        inside += row.measured >= factors.low * time && row.measured <= factors.high * time ? 1 : 0;
    }
    double const coverage = static_cast<double>(inside) / static_cast<double>(fresh.size());
    CHECK(coverage > 0.65);

    auto const split =
        fit_with_held_out(list(rows), cluster, {.held_out = 0.3, .command = "test", .options = one_thread});
    CHECK(split.provenance.rows < static_cast<std::int64_t>(rows.size()));
    std::int64_t judged = 0;
    for (NetworkHeldOut const& h : split.provenance.held_out)
        judged += h.rows;
    CHECK(split.provenance.rows + judged == static_cast<std::int64_t>(rows.size()));
}

TEST_CASE("fit_with_held_out: of one run each, arrangements have intervals as wide as their rows scatter") {
    auto const rows = synthetic(0.03, 14, false);
    ClusterSpec const cluster = rows.front().machine->cluster;
    auto const fitted =
        fit_with_held_out(list(rows), cluster, {.held_out = 0, .command = "test", .options = one_thread});
    for (NetworkInterval const& i : fitted.intervals)
        if (i.range == CalibrationRange::inside && !i.between_domains) {
            CAPTURE(i.from.base(), i.low, i.high);
            CHECK(i.rows >= 30);
            CHECK(i.low > 0.85);
            CHECK(i.high < 1.15);
        }
    std::size_t inside = 0;
    auto const fresh = synthetic(0.03, 15, false);
    ClusterSpec mine = cluster;
    apply_network_calibration(mine, fitted, all_network_calibrations());
    for (CollectiveMeasurement const& row : fresh) {
        Seconds const time = collective_curve(mine, row.kind, row.group()).time(row.bytes);
        auto const factors = interval_of(*mine.network_model, row.kind, row.group(), row.bytes);
        inside += row.measured >= factors.low * time && row.measured <= factors.high * time ? 1 : 0;
    }
    double const coverage = static_cast<double>(inside) / static_cast<double>(fresh.size());
    CHECK(coverage > 0.75);
    CHECK(coverage < 0.95);
}

TEST_CASE("fit_with_held_out: of arrangements that no run has, intervals are no narrower than the class's") {
    auto const rows = synthetic(0.01, 13, false);
    auto const fitted = fit_with_held_out(list(rows), rows.front().machine->cluster,
                                          {.held_out = 0, .command = "test", .options = one_thread});
    auto const& all = all_network_calibrations();
    auto const of_class =
        std::find_if(all.begin(), all.end(), [](auto const& c) { return c.name == "class-nvswitch-hopper"; });
    REQUIRE(of_class != all.end());
    int compared = 0;
    for (NetworkInterval const& own : fitted.intervals)
        for (NetworkInterval const& wide : of_class->intervals) {
            if (own.between_domains || own.range != CalibrationRange::outside) continue;
            if (wide.range != own.range || wide.from != own.from) continue;
            ++compared;
            CHECK(own.low <= wide.low);
            CHECK(own.high >= wide.high);
        }
    CHECK(compared == 5);
}

TEST_CASE("fit_with_held_out: one run of one collective leaves the intervals of all others to the class") {
    std::vector<CollectiveMeasurement> rows = synthetic(0.01, 13, false);
    std::string const run = rows.front().run;
    std::erase_if(rows, [&](CollectiveMeasurement const& row) { return row.run != run; });
    std::size_t const once = rows.size();
    for (int times = 0; times < 4; ++times)  // enough rows of one run
        rows.insert(rows.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(once));
    std::vector<HeldOutRow> scored;
    for (CollectiveMeasurement const& row : rows)
        scored.push_back({.row = &row, .entry = "", .range = CalibrationRange::inside, .predicted = row.measured});
    NetworkInterval const like{.range = CalibrationRange::inside, .between_domains = false, .from = size_bands()[0]};
    REQUIRE(rows.size() >= enough_for_interval);
    CHECK_FALSE(own_interval(like, scored));
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i].run = fmt::format("run {}", i % enough_runs);
    CHECK(own_interval(like, scored));
}

TEST_CASE("fit_with_held_out: intervals of the class are widened to hold what the rows show") {
    ClusterSpec const cluster = find_cluster("h100-sxm", "test");
    std::mt19937_64 random(fixtures::seeded(3));
    std::normal_distribution<double> normal(0, 0.3);
    for (int const runs : {1, 3}) {
        std::vector<CollectiveMeasurement> rows;
        for (int run = 0; run < runs; ++run)
            for (double size = 1 << 20; size <= 4e9; size *= 4) {
                CollectiveMeasurement row{.run = fmt::format("run {}", run),
                                          .source = "synthetic",
                                          .library_version = "",
                                          .machine = machine(1, 8),
                                          .kind = CollectiveKind::all_reduce,
                                          .bytes = size * units::B};
                row.measured = row.target = structural_time(row, known_up(), nullptr) * std::exp(normal(random));
                rows.push_back(row);
            }
        ClusterSpec mine = cluster;
        apply_network_calibration(
            mine, fit_with_held_out(list(rows), cluster, {.held_out = 0, .command = "test", .options = one_thread}),
            all_network_calibrations());
        std::size_t inside = 0;
        for (CollectiveMeasurement const& row : rows) {
            Seconds const time = collective_curve(mine, row.kind, row.group()).time(row.bytes);
            auto const factors = interval_of(*mine.network_model, row.kind, row.group(), row.bytes);
            inside += row.measured >= factors.low * time && row.measured <= factors.high * time ? 1 : 0;
        }
        CAPTURE(runs, inside, rows.size());
        CHECK(4 * inside >= 3 * rows.size());
    }
}

TEST_CASE("fit_with_held_out: runs that a cluster's own constants explain leave what they say of other collectives") {
    using enum CollectiveKind;
    for (char const* name : {"h100-sxm", "a100-sxm-80gb", "b200-sxm"})
        for (auto const measured : {all_reduce, all_to_all}) {
            CollectiveMachine known;
            known.cluster = find_cluster(name, "test");
            known.group = place_group(8, 1, 8);
            auto const where = std::make_shared<CollectiveMachine const>(known);
            std::vector<CollectiveMeasurement> rows;
            for (double size = 1024; size <= 4e9; size *= 4) {
                CollectiveMeasurement row{.run = "mine",
                                          .source = "synthetic",
                                          .library_version = "2.29",
                                          .machine = where,
                                          .kind = measured,
                                          .bytes = size * units::B};
                row.measured = collective_curve(known.cluster, measured, known.group).time(row.bytes);
                row.target = row.measured;
                rows.push_back(row);
            }
            ClusterSpec mine = known.cluster;
            apply_network_calibration(
                mine,
                fit_with_held_out(list(rows), known.cluster, {.held_out = 0, .command = "test", .options = one_thread}),
                all_network_calibrations());
            for (auto const kind : {all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_receive})
                for (double size = 1024; size <= 4e9; size *= 2) {
                    CAPTURE(name, name_of(measured), name_of(kind), size);
                    auto const time = [&](ClusterSpec const& cluster) {
                        return collective_curve(cluster, kind, known.group).time(size * units::B);
                    };
                    CHECK(time(mine) / time(known.cluster) == Approx(1).epsilon(0.2));
                }
        }
}

TEST_CASE(
    "fit_with_held_out: a network that two all-reduces show to be slow is slow for every collective and more nodes") {
    using enum CollectiveKind;
    auto const known = find_cluster("h100-sxm", "test");
    auto const slow = find_cluster("h100-sxm:inter_node_bandwidth=x0.7:inter_node_latency=x2", "test");
    std::vector<CollectiveMeasurement> rows;
    for (std::int64_t const nodes : {2, 4})
        add_run(rows, fmt::format("{} nodes", nodes), slow, nodes_of(known, nodes), all_reduce);
    auto const fitted = fit_with_held_out(list(rows), known, {.command = "test", .options = one_thread});
    CHECK(fitted.provenance.rows == static_cast<std::int64_t>(rows.size()));
    CHECK(fitted.provenance.held_out.size() >= 4);  // size bands, each run judged by the other
    ClusterSpec mine = known;
    apply_network_calibration(mine, fitted, all_network_calibrations());
    for (auto const kind : {all_reduce, all_gather, reduce_scatter, all_to_all})
        for (std::int64_t const nodes : {2, 4, 8, 16, 32})
            for (double size = 1024; size <= 9e9; size *= 8) {
                GroupPlacement const group = place_group(8 * nodes, 1, 8);
                auto const time = [&](ClusterSpec const& cluster) {
                    return collective_curve(cluster, kind, group).time(size * units::B);
                };
                bool const seen = kind == all_reduce && nodes <= 4;
                bool const small_exchange = kind == all_to_all && size < 64e6;  // steps of exchanges have no rows
                CAPTURE(name_of(kind), nodes, size);
                if (!small_exchange) CHECK(time(mine) / time(slow) == Approx(1).epsilon(seen ? 0.06 : 0.1));
            }
}

TEST_CASE("fit_with_held_out: all-reduces that take rings over two nodes say nothing of gathers and exchanges") {
    using enum CollectiveKind;
    ClusterSpec const known = find_cluster("h100-sxm", "test");
    ClusterSpec rings = known;
    auto model = std::make_shared<NetworkModel>(*known.network_model);
    model->out->tree *= 0.5;
    rings.network_model = model;
    std::vector<CollectiveMeasurement> rows;
    add_run(rows, "mine", rings, nodes_of(known, 2), all_reduce);
    ClusterSpec mine = known;
    apply_network_calibration(mine, fit_with_held_out(list(rows), known, {.command = "test", .options = one_thread}),
                              all_network_calibrations());
    auto const slower = [&](CollectiveKind kind, std::int64_t nodes) {
        GroupPlacement const group = place_group(8 * nodes, 1, 8);
        return collective_curve(mine, kind, group).time(1 * units::GiB) /
               collective_curve(known, kind, group).time(1 * units::GiB);
    };
    CHECK(slower(all_reduce, 2) > 1.3);
    for (auto const kind : {all_gather, reduce_scatter, all_to_all})
        for (std::int64_t const nodes : {2, 4, 8}) {
            CAPTURE(name_of(kind), nodes);
            CHECK(slower(kind, nodes) == Approx(1).epsilon(0.02));
        }
}

TEST_CASE("fit_with_held_out: large messages of a slow network leave the latencies of small ones where they were") {
    using enum CollectiveKind;
    ClusterSpec const known = find_cluster("a100-sxm-80gb", "test");
    ClusterSpec const slow = find_cluster("a100-sxm-80gb:inter_node_bandwidth=x0.4", "test");
    for (auto const kind : {all_reduce, all_gather}) {
        std::vector<CollectiveMeasurement> rows;
        add_run(rows, "mine", slow, nodes_of(known, 2), kind);
        std::erase_if(rows, [](CollectiveMeasurement const& row) { return row.bytes < 64 * units::MiB; });
        ClusterSpec mine = known;
        apply_network_calibration(mine,
                                  fit_with_held_out(list(rows), known, {.command = "test", .options = one_thread}),
                                  all_network_calibrations());
        for (Bytes const size : {4 * units::KiB, 64 * units::KiB, 256 * units::MiB, 4 * units::GiB}) {
            auto const time = [&](ClusterSpec const& cluster) {
                return collective_curve(cluster, kind, place_group(16, 1, 8)).time(size);
            };
            CAPTURE(name_of(kind), size.base());
            CHECK(time(mine) / time(slow) == Approx(1).epsilon(size < units::MiB ? 0.55 : 0.1));  // LL's rate is free
        }
    }
}

TEST_CASE("fit_with_held_out: rings over two nodes, where gathers show their rate, are no slower rings over four") {
    using enum CollectiveKind;
    ClusterSpec const known = find_cluster("a100-roce", "test");
    ClusterSpec rings = known;
    auto model = std::make_shared<NetworkModel>(*known.network_model);
    model->out->tree *= 0.4;
    model->corrections.clear();
    rings.network_model = model;
    std::vector<CollectiveMeasurement> rows;
    for (auto const kind : {all_reduce, all_gather, reduce_scatter})
        add_run(rows, std::string(name_of(kind)), rings, nodes_of(known, 2), kind);
    ClusterSpec mine = known;
    apply_network_calibration(mine, fit_with_held_out(list(rows), known, {.command = "test", .options = one_thread}),
                              all_network_calibrations());
    for (std::int64_t const nodes : {2, 4, 8})
        for (Bytes const size : {256 * units::MiB, 1 * units::GiB, 8 * units::GiB}) {
            GroupPlacement const group = place_group(8 * nodes, 1, 8);
            CAPTURE(nodes, size.base());
            CHECK(collective_curve(mine, all_reduce, group).time(size) /
                      collective_curve(rings, all_reduce, group).time(size) ==
                  Approx(1).epsilon(0.08));
        }
}

TEST_CASE("score_entries: on an excerpt of real runs, platforms that a fit has not seen are met by their class") {
    auto read = collective_measurements(read_csv(SEXTANT_SOURCE_DIR "/tests/data/collectives_excerpt.csv"), nullptr);
    REQUIRE(read.rows.size() > 180);
    prepare_rows(read.rows);
    MeasurementList const rows = list(read.rows);
    auto const known = fit_entries(
        {"h100-nvswitch", "h200-nvswitch"}, rows, [](auto const&) { return false; }, {}, one_thread, "test");
    CHECK(known.size() == 4);  // and the two classes above them
    auto const hopper = fit_entries(
        {"class-nvswitch-hopper"}, rows,
        [](CollectiveMeasurement const& row) { return row.machine->cluster.accelerator.name == "h200-sxm"; }, {},
        one_thread, "test");
    std::vector<double> errors;
    for (CollectiveMeasurement const* row : rows) {
        if (row->machine->cluster.accelerator.name != "h200-sxm" || row->between_domains()) continue;
        if (row->bytes < 64 * units::MiB) continue;
        Seconds const time = structural_time(*row, hopper.back().scale_up->constants, nullptr);
        errors.push_back(std::abs(time / row->measured - 1));
    }
    REQUIRE(errors.size() >= 10);
    std::sort(errors.begin(), errors.end());
    CHECK(errors[errors.size() / 2] < 0.08);
    CHECK(errors.back() < 0.3);
}
