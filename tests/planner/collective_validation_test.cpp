#include "planner/validation/collective_validation.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "planner/validation/table_predictor.hpp"
#include "tests/catch.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <algorithm>

using namespace sextant;

namespace {

std::string header() {
    std::vector<std::string> cells;
    for (auto const name : collective_columns())
        cells.emplace_back(name);
    return csv_line(cells);
}

/// `machine`: gpu, nodes, gpus_per_node, nranks, intra_link, inter_link.
RowPrediction predicted(std::string const& machine, std::string const& tail) {
    CsvTable const table = parse_csv(header() + "r,s," + machine + ",2.29," + tail + "\n", "t.csv");
    return CollectivePredictor().predict(table).at(0).prediction;
}

CollectiveMachine machine(std::string gpu, std::string intra, std::string inter, std::int64_t nodes,
                          std::int64_t per_node) {
    return collective_machine({std::move(gpu), std::move(intra), std::move(inter), nodes, per_node}, nullptr);
}

std::string reason(std::string gpu, std::string intra, std::string inter, std::int64_t nodes, std::int64_t per_node) {
    try {
        machine(std::move(gpu), std::move(intra), std::move(inter), nodes, per_node);
    } catch (RowSkip const& skip) {
        return skip.what();
    }
    return "";
}

}  // namespace

TEST_CASE("collective rows: the network between nodes chooses the cluster") {
    auto const name = [](char const* gpu, char const* intra, char const* inter) {
        return machine(gpu, intra, inter, 2, 8).cluster.name;
    };
    CHECK(name("H100-SXM5-80GB", "NVLink4-NVSwitch", "8x400G IB NDR") == "h100-sxm");
    CHECK(name("H100-SXM5-80GB", "NVLink4-NVSwitch", "32x100G EFA v2") == "aws-p5");
    CHECK(name("H100-SXM5-80GB", "NVLink4-NVSwitch", "8x200G GPUDirect-TCPXO") == "gcp-a3-mega");
    CHECK(name("H200-SXM5-141GB", "NVLink4-NVSwitch", "8x400G RoCE v2") == "h200-roce");
    CHECK(name("H100-SXM5-80GB", "NVLink4-NVSwitch", "4x200G GPUDirect-TCPX") == "gcp-a3-high");
    CHECK(name("NVIDIA H200", "NVLink4-NVSwitch", "16x200G EFA v3") == "aws-p5en");
    CHECK(name("NVIDIA B200", "NVLink5-NVSwitch", "8x400G EFA v4") == "aws-p6-b200");
    CHECK(name("MI300X", "Infinity Fabric", "8x400G IB NDR") == "mi300x-infiniband");
    CHECK(name("V100-SXM2-32GB", "NVLink2 hybrid cube mesh", "1x100G EFA") == "aws-p3dn");
    CHECK(name("A100-SXM4-80GB", "NVLink3-NVSwitch", "4x100G EFA") == "aws-p4de");
    CHECK(name("A100-SXM4-80GB", "NVLink3-NVSwitch", "4x100G RoCE") == "a100-roce-400");
    CHECK(name("V100-SXM2", "NVLink2 hybrid cube mesh", "4x100G IB EDR") == "dgx-1-v100");
    CHECK(name("MI250X (8 GCD/node)", "Infinity Fabric", "4x200G Slingshot-11") == "mi250x");
}

TEST_CASE("collective rows: two ranks of a node have the links that pairs have to themselves") {
    CHECK(machine("H100 NVL", "NVLink bridge, PCIe", "none", 1, 2).group.bridged);
    CHECK_FALSE(machine("H100 NVL", "NVLink bridge, PCIe", "none", 1, 4).group.bridged);
    RowPrediction const pair = predicted("H100 NVL,1,2,2,PCIe,none", "all_reduce,1073741824,,,230,,,");
    REQUIRE(pair.time);
    CHECK(1.073741824 / pair.time->base() == Approx(234).epsilon(0.05));
}

TEST_CASE("collective rows: a stated rate replaces the profile's, per accelerator of the whole node") {
    auto const tcpx = machine("H100-SXM5-80GB", "NVLink4-NVSwitch", "4x100G GPUDirect-TCPX", 2, 8);
    CHECK(tcpx.cluster.scale_out->bandwidth.value.base() == Approx(50e9 / 8));
    CHECK(tcpx.assumptions.size() == 1);
    auto const part = machine("A100-SXM4-80GB", "NVLink3-NVSwitch", "8x200G IB HDR", 2, 2);
    CHECK(part.cluster.scale_out->bandwidth.value.base() == Approx(200e9 / 8));
    CHECK(part.group.domains == 2);
    CHECK(part.group.ranks_per_domain == 2);
    CHECK(part.assumptions.empty());
}

TEST_CASE("collective rows: NVLink between the trays of a rack is one domain") {
    auto const rack = machine("GB200", "NVLink5-NVL72", "NVLink (single rack)", 18, 4);
    CHECK(rack.group.domains == 1);
    CHECK(rack.group.size == 72);
    auto const off = machine("GB300", "NVLink5-NVL72", "NVLink (MNNVL), NVLS off", 4, 4);
    CHECK_FALSE(off.cluster.scale_up.in_network_reduction_efficiency);
    CHECK(off.without_reduction);
    CHECK_FALSE(rack.without_reduction);
    CHECK(reason("GB200", "NVLink5-NVL72", "NVLink (two racks)", 36, 4) ==
          "gb200-nvl72: 144 ranks are more than one domain that NVLink joins");
}

TEST_CASE("collective rows: the trays of a rack, of whose network nothing is said, are joined by the rack") {
    ClusterSpec const gb200 = find_cluster("gb200-nvl72", "test");
    for (ClusterSpec const* profile : {static_cast<ClusterSpec const*>(nullptr), &gb200})
        for (char const* inter : {"", "none"}) {
            auto const trays = collective_machine({"NVIDIA GB200", "", inter, 2, 4}, profile);
            CHECK(trays.group.domains == 1);
            CHECK(trays.group.size == 8);
            CHECK(trays.assumptions == std::vector<std::string>{"nodes are trays of one rack, whose links join them"});
        }
    for (char const* inter : {"NVLink", "NVSwitch", "MNNVL", "GB200 NVL72", "nvlink5"})
        CHECK(machine("GB200", "", inter, 2, 4).group.domains == 1);
    CHECK(collective_curve(gb200, CollectiveKind::all_to_all, place_group(8, 1, gb200)).time(1 * units::GiB) ==
          *predicted("NVIDIA GB200,2,4,8,,", "alltoall,1073741824,1610,,,1615,,").time);
    // More than a rack has, and no whole racks of them: the network is what joins them, and inter_link does not say so.
    CHECK_THAT(reason("GB200", "", "", 20, 4), contains("NVLink in a rack"));
    CHECK_THAT(collective_machine({"GB200", "", "", 20, 4}, &gb200).assumptions.back(),
               contains("joined by infiniband alone (80 ranks do not fill racks of 72), not by the rack"));
    CHECK(reason("H100-SXM5-80GB", "", "NVSwitch", 2, 8) ==
          "h100-sxm: 16 ranks are more than one domain that NVLink joins");
    CHECK(machine("H100-SXM5-80GB", "", "8x400G IB NDR (NVSwitch inside)", 2, 8).group.domains == 2);
}

TEST_CASE("collective rows: a rate between nodes counts wherever it stands") {
    auto const rate = [](char const* gpu, char const* inter) {
        return machine(gpu, "", inter, 16, 8).cluster.scale_out->bandwidth.value.base() * 8 / 1e9;
    };
    char const* const h100 = "H100-SXM5-80GB";
    CHECK(rate(h100, "8x100GbE") == Approx(100));
    CHECK(rate(h100, "100GbE") == Approx(100.0 / 8));
    CHECK(rate(h100, "Ethernet 10G") == Approx(10.0 / 8));
    CHECK(rate(h100, "RoCE 4x100G") == Approx(50));
    CHECK(rate(h100, "RoCE v2 8x200Gb/s") == Approx(200));
    CHECK(rate(h100, "RoCE") == Approx(400));
    CHECK(rate(h100, "HDR100") == Approx(100));
    CHECK(rate(h100, "InfiniBand HDR 200G") == Approx(200));
    CHECK(rate(h100, "IB") == Approx(400));
    // Of an instance, whose ports are never that fast, and the ports of which it has fewer than accelerators.
    CHECK(rate(h100, "EFA 3200 Gbps") == Approx(400));
    CHECK(rate(h100, "RoCE 1600 Gbps") == Approx(200));
    CHECK(rate("A100-SXM4-80GB", "EFA 400 Gbps") == Approx(50));
    CHECK(rate("V100-SXM2", "IB EDR") == Approx(50));
    CHECK(machine(h100, "", "Ethernet 10G", 16, 8).assumptions ==
          std::vector<std::string>{"one port of the stated rate between nodes for each node, the rest of the network "
                                   "as in the profile"});
    CHECK(machine(h100, "", "HDR100", 16, 8).assumptions ==
          std::vector<std::string>{"a port of the stated rate between nodes for each accelerator, the rest of the "
                                   "network as in the profile"});
    CHECK(machine("V100-SXM2", "", "IB EDR", 16, 8).assumptions ==
          std::vector<std::string>{"as many ports of the stated rate between nodes as usual for the device"});
    CHECK(machine(h100, "", "RoCE", 16, 8).assumptions ==
          std::vector<std::string>{"rate between nodes as usual for the device"});
    CHECK(machine(h100, "", "RoCE 50 GB/s", 16, 8).assumptions.empty());  // bytes: its 400 Gbit/s
    std::string const tail = "all_reduce,1073741824,5000,,,,,";
    CHECK(predicted("H100,16,8,128,,10GbE", tail).time > predicted("H100,16,8,128,,8x100GbE", tail).time);
}

TEST_CASE("collective rows: a few ranks of a node have ports of their own, as far as it has some") {
    auto const rate = [](char const* gpu, char const* inter, std::int64_t per_node) {
        return machine(gpu, "", inter, 2, per_node).cluster.scale_out->bandwidth.value.base() * 8 / 1e9;
    };
    CHECK(rate("GH200-96GB", "1x200G Slingshot", 1) == Approx(200));
    CHECK(rate("H100-SXM5-80GB", "1x400G IB NDR", 1) == Approx(400));
    CHECK(rate("H100-SXM5-80GB", "1x400G IB NDR", 2) == Approx(200));
    CHECK(rate("H100-SXM5-80GB", "1x400G IB NDR", 8) == Approx(50));
    CHECK(rate("V100-SXM2", "4x EDR IB", 1) == Approx(100));
    CHECK(rate("V100-SXM2", "4x EDR IB", 4) == Approx(100));
    CHECK(rate("V100-SXM2", "4x EDR IB", 8) == Approx(50));
    CHECK(rate("V100-SXM2", "IB EDR", 2) == Approx(100));  // of the four that are usual
    CHECK(rate("RTX 4090", "25GbE", 2) == Approx(12.5));
    CHECK(rate("RTX 4090", "25GbE", 8) == Approx(25.0 / 8));
    // More ports than accelerators: no more than those next to the ranks. One each: as in a whole node.
    CHECK(rate("H100-SXM5-80GB", "32x100G EFA v2", 2) == Approx(400));
    CHECK(rate("H100-SXM5-80GB", "8x400G IB NDR", 1) == Approx(400));
    CHECK(rate("GB200", "4x400G IB NDR", 1) == Approx(400));
    CHECK(machine("H100-SXM5-80GB", "", "8x400G IB NDR", 2, 2).rate == NetworkRate::of_profile);
    auto const part = machine("V100-SXM2", "", "4x EDR IB", 2, 1);
    CHECK(part.rate == NetworkRate::of_row);
    CHECK(part.assumptions == std::vector<std::string>{"ranks on a part of a node have the ports next to them"});
    auto const seconds = predicted("GH200-96GB,2,1,2,,1x200G Slingshot", "all_gather,17179869184,,,23,,,").time;
    double const of_port = 17.179869184 / 2 / seconds->base() / 25;  // of the 25 GB/s of its port
    CHECK(of_port > 0.85);
    CHECK(of_port < 1);
}

TEST_CASE("collective rows: networks by the words that tables of training steps have, and Omni-Path") {
    auto const kind = [](char const* gpu, char const* inter) {
        return machine(gpu, "", inter, 2, 8).cluster.scale_out->kind;
    };
    CHECK(kind("H100-SXM5-80GB", "8xNDR") == "infiniband");
    CHECK(kind("H100-SXM5-80GB", "8x400GbE RoCEv2") == "roce");
    CHECK(kind("H100-SXM5-80GB", "EFAv2") == "efa");
    CHECK(kind("V100-SXM2-32GB", "Omni-Path") == "omni-path");
}

TEST_CASE("collective rows: cards that NVLink joins are the variant that has such links") {
    CHECK(machine("A100 80GB PCIe", "NVLink bridge", "none", 1, 2).cluster.name == "a100-pcie-bridged");
    CHECK(machine("A100 80GB PCIe", "PCIe, no NVLink", "none", 1, 2).cluster.name == "a100-pcie");
    CHECK(machine("A100 80GB PCIe", "", "none", 1, 2).cluster.name == "a100-pcie");
    CHECK(machine("RTX A6000", "NVLink bridge", "none", 1, 2).cluster.name == "rtx-a6000-bridged");
    CHECK(machine("RTX A5000", "NVLink bridge", "none", 1, 2).cluster.name == "rtx-a5000-bridged");
    CHECK(reason("RTX A4000", "NVLink bridge", "none", 1, 2) ==
          "no profile for rtx-a4000 joined by 'NVLink bridge' (a cluster file with pair_bandwidth, --profile)");
    CHECK(machine("RTX A4000", "NVLink bridge", "none", 1, 4).assumptions.front() ==
          "NVLink of pairs is left out: PCIe joins more than two");
}

TEST_CASE("collective rows: however a cell says that NVLS is off, the switch adds nothing") {
    for (char const* intra : {"NVLink4-NVSwitch, NVLS off", "NVLink (NCCL_NVLS_ENABLE=0)", "NVLink NVLS disabled",
                              "no NVLS", "nvls=0", "NVLink, NCCL_ALGO=Ring"}) {
        CAPTURE(intra);
        CHECK(machine("H100-SXM5-80GB", intra, "none", 1, 8).without_reduction);
    }
    for (char const* intra : {"NVLink4-NVSwitch", "NVLS", "NCCL_NVLS_ENABLE=1", "NCCL_ALGO=NVLS"})
        CHECK_FALSE(machine("H100-SXM5-80GB", intra, "none", 1, 8).without_reduction);
}

TEST_CASE("collective rows: a named SHARP is faster for large all-reduces over any number of nodes, and never slower") {
    auto const time = [](std::int64_t nodes, char const* inter, Bytes bytes, CollectiveKind kind) {
        auto const on = machine("H100-SXM5-80GB", "", inter, nodes, 8);
        return collective_curve(on.cluster, kind, on.group).time(bytes);
    };
    constexpr auto reduce = CollectiveKind::all_reduce;
    char const* const without = "8x400G IB NDR";
    char const* const with = "8x400G IB NDR SHARP";
    Seconds const two = time(2, with, 8 * units::GiB, reduce);
    for (std::int64_t const nodes : {2, 4, 8, 16, 32, 64}) {
        CAPTURE(nodes);
        CHECK(time(nodes, with, 8 * units::GiB, reduce) / two == Approx(1).epsilon(0.02));
        if (nodes > 2)
            CHECK(time(nodes, without, 8 * units::GiB, reduce) / time(nodes, with, 8 * units::GiB, reduce) ==
                  Approx(1.5).epsilon(0.05));
        for (Bytes const bytes : {1 * units::KiB, 1 * units::MiB, 64 * units::MiB})
            CHECK(time(nodes, with, bytes, reduce) <= time(nodes, without, bytes, reduce));
        CHECK(time(nodes, with, 1 * units::GiB, CollectiveKind::all_gather) ==
              time(nodes, without, 1 * units::GiB, CollectiveKind::all_gather));
    }
    auto const said = [](char const* inter) {
        auto const all = machine("H100-SXM5-80GB", "", inter, 4, 8).assumptions;
        return std::count(all.begin(), all.end(), "reductions in the switches between nodes reach 0.9 of the ports");
    };
    CHECK(said("8x400G IB NDR, CollNet") == 1);
    CHECK(said(without) == 0);
    for (char const* const off :
         {"no SHARP", "SHARP off", "SHARP disabled", "without CollNet", "NCCL_COLLNET_ENABLE=0"})
        CHECK(said((std::string(without) + ", " + off).c_str()) == 0);
}

TEST_CASE("collective rows: a network that no profile has with the device has the stated rate and its class") {
    struct Case {
        char const* gpu;
        char const* intra;
        char const* inter;
        std::int64_t per_node;
        char const* name;
        double gbps;  ///< of each accelerator
        char const* constants;
    };
    for (Case const& c :
         {Case{"L40S", "PCIe Gen4", "1x200G IB HDR", 4, "l40s-pcie (infiniband)", 50, "class-infiniband"},
          Case{"L40S", "PCIe Gen4", "2x100G RoCE", 4, "l40s-pcie (roce)", 50, "class-roce"},
          Case{"RTX 4090", "PCIe", "1x100G IB EDR", 8, "rtx-4090-box (infiniband)", 12.5, "class-infiniband"},
          Case{"MI300X", "Infinity Fabric", "4x200G Slingshot-11", 8, "mi300x (slingshot)", 100, "class-slingshot"},
          Case{"MI300X", "Infinity Fabric", "16x200G EFA", 8, "mi300x (efa)", 400, "class-efa"},
          Case{"H100-SXM5-80GB", "NVLink4-NVSwitch", "4x200G Slingshot-11", 8, "h100-sxm (slingshot)", 100,
               "class-slingshot"}}) {
        INFO(c.gpu << " " << c.inter);
        auto const on = machine(c.gpu, c.intra, c.inter, 2, c.per_node);
        CHECK(on.cluster.name == c.name);
        CHECK(on.is_borrowed);
        CHECK(on.rate == NetworkRate::of_row);
        CHECK(on.cluster.scale_out->bandwidth.value.base() * 8 / 1e9 == Approx(c.gbps));
        REQUIRE(on.cluster.network_model);
        CHECK(on.cluster.network_model->out_part.calibration == c.constants);
        CHECK(on.cluster.network_model->out_part.range == CalibrationRange::by_class);
        CHECK(on.cluster.scale_out->ring_efficiency.basis == Basis::assumed);
        CHECK_THAT(on.assumptions.front(), contains("at the stated rate, which no profile has with"));
    }
    // In a node it is the device's usual machine: nothing of that is borrowed.
    auto const near = [](CollectiveMachine const& on) {
        return collective_curve(on.cluster, CollectiveKind::all_reduce, place_group(8, 1, 8)).time(1 * units::GiB);
    };
    CHECK(near(machine("MI300X", "", "16x200G EFA", 2, 8)) == near(machine("MI300X", "", "none", 1, 8)));
    CHECK(near(machine("MI300X", "", "8x400G Thor2", 2, 8)) == near(machine("MI300X", "", "8x400G RoCE", 2, 8)));
    CHECK_FALSE(machine("MI300X", "", "8x400G Thor2", 2, 8).is_borrowed);
    CHECK_THAT(reason("H100-SXM5-80GB", "NVLink4-NVSwitch", "Slingshot-11", 2, 8),
               contains("no profile for h100-sxm with slingshot between nodes (state its rate"));
}

TEST_CASE(
    "collective rows: boards of four with direct links are what the usual machine's links give without switches") {
    for (char const* const gpu : {"A100-SXM4-80GB", "H100-SXM5-80GB"}) {
        CAPTURE(gpu);
        auto const board = machine(gpu, "NVLink (4-GPU all-to-all)", "none", 1, 4);
        auto const usual = machine(gpu, "NVSwitch", "none", 1, 4);
        CHECK(board.is_borrowed == (std::string_view(gpu).starts_with("A100")));  // of H100 a profile ships
        CHECK(board.cluster.scale_up.kind == ScaleUpKind::mesh);
        CHECK(board.cluster.domain_size == 4);
        CHECK(board.cluster.scale_up.bandwidth.value == usual.cluster.scale_up.bandwidth.value);
        CHECK(board.cluster.network_model->up_part.calibration == "class-mesh");
        auto const time = [](CollectiveMachine const& on) {
            return collective_curve(on.cluster, CollectiveKind::all_gather, on.group).time(1 * units::GiB);
        };
        CHECK(time(board) / time(usual) == Approx(1).epsilon(0.25));
    }
    // Between boards the network is the one that the row names, with what is fitted to the device's.
    auto const boards = machine("A100-SXM4-80GB", "NVLink mesh", "4x200G IB HDR", 4, 4);
    CHECK(boards.group.domains == 4);
    CHECK(boards.cluster.scale_out->bandwidth.value.base() == Approx(25e9));
    CHECK(boards.cluster.network_model->out_part.calibration == "a100-infiniband");
    CHECK(boards.cluster.network_model->corrections.empty());
}

TEST_CASE("collective rows: adapters without a network carry what is usual for the device") {
    auto const kind = [](char const* gpu, char const* inter) {
        return machine(gpu, "", inter, 2, 8).cluster.scale_out->kind;
    };
    CHECK(kind("H100-SXM5-80GB", "8x CX7 400G") == "infiniband");
    CHECK(kind("MI300X", "8x CX7 400G") == "roce");
    CHECK(kind("H100-SXM5-80GB", "8x400GbE") == "roce");
    CHECK(kind("H100-SXM5-80GB", "8x400GbE TCP") == "ethernet");
    CHECK(machine("H100-SXM5-80GB", "", "8x CX7 400G", 2, 8).assumptions ==
          std::vector<std::string>{"adapters for InfiniBand and RoCE carry infiniband, as is usual for h100-sxm"});
}

TEST_CASE("collective rows: times that the links cannot be the reason of are predicted, and not scored") {
    std::string const dgx = "H100-SXM5-80GB,1,8,8,NVLink4-NVSwitch,none";
    auto const scored = [&](std::string const& tail) {
        auto const p = predicted(dgx, tail);
        CHECK(p.skip_reason.empty());
        CHECK(p.time);
        return p.time_reason;
    };
    CHECK(scored("all_reduce,1073741824,4083,,,,,").empty());
    CHECK(scored("all_reduce,1073741824,41000,,,,,").empty());
    CHECK(scored("all_reduce,1073741824,4.083,,,,,") ==
          "faster than 1.5 times the links (its unit is wrong or the links are others)");
    CHECK(scored("all_reduce,1073741824,4083000,,,,,") ==
          "below 0.2 % of the links (its unit is wrong or the links are others)");
    CHECK(scored("all_reduce,8,13000,,,,,").empty());
}

TEST_CASE("collective rows: more ranks than a rack joins fill racks, and the network joins those") {
    auto const two = machine("GB200", "NVLink5-NVL72", "4x400G IB NDR", 36, 4);
    CHECK(two.group.domains == 2);
    CHECK(two.group.ranks_per_domain == 72);
    CHECK(two.assumptions.back() == "ranks fill whole racks");
}

TEST_CASE("collective rows: trays of a rack that the network joins are domains, each with its own ports") {
    auto const trays = machine("GB200", "NVLink5-NVL72", "4x400G IB NDR", 4, 4);
    CHECK(trays.group.domains == 4);
    CHECK(trays.group.ranks_per_domain == 4);
    CHECK(trays.assumptions.back() ==
          "nodes of 4 joined by infiniband alone, as inter_link says, not by the rack that is usual for gb200");
    CHECK(trays.cluster.scale_out->bandwidth.value.base() == Approx(400e9 / 8));
    auto const slower = machine("GB200", "NVLink5-NVL72", "4x200G IB HDR", 36, 4);
    CHECK(slower.cluster.scale_out->bandwidth.value.base() == Approx(200e9 / 8));
}

TEST_CASE("collective rows: spellings of collectives and of networks, blank links, missing columns") {
    std::string const tail = "1073741824,5000,,,,,";
    auto const time = [&](std::string const& inter, std::string const& collective) {
        auto const p = predicted("MI300X,2,8,16,xGMI," + inter, collective + "," + tail);
        CHECK(p.skip_reason.empty());
        return p.time;
    };
    auto const usual = time("RoCE", "all_gather");
    for (char const* const spelling : {"AllGather", "all-gather", "ALL_GATHER", "All Gather"})
        CHECK(time("RoCE", spelling) == usual);
    CHECK(time("RoCE v2", "all_gather") == usual);
    CHECK(time("IB NDR400", "all_gather") == time("InfiniBand", "all_gather"));
    CHECK(predicted("MI300X,2,8,16,-,N/A", "all_gather," + tail).skip_reason ==
          "network between nodes is not stated (column inter_link: its kind, or NVLink in a rack; or --profile CLUSTER "
          "for "
          "all)");
    auto const few = [](std::string const& columns, std::string const& cells) {
        CsvTable const table =
            parse_csv("gpu,collective,size_bytes," + columns + "\nMI300X,all_reduce,1073741824," + cells, "t.csv");
        return CollectivePredictor().predict(table).at(0).prediction;
    };
    auto const whole = few("nodes,gpus_per_node,busbw_gbs_oop", "1,8,310\n");
    CHECK(whole.skip_reason.empty());
    CHECK(whole.measured_time);
    CHECK(few("nranks,gpus_per_node", "8,8\n").time == whole.time);
    CHECK(few("nranks,nodes", "8,1\n").time == whole.time);
    CHECK(few("nranks", "8\n").skip_reason == "nodes is not stated");
    CHECK_THROWS_WITH(few("n_ranks", "8\n"), contains("column 'n_ranks' is not known here, and 'nranks' is missing"));
}

TEST_CASE("collective rows: an unknown device, link or network is a skip, not a guess") {
    CHECK(reason("Abacus 3000", "", "none", 1, 8) == "no profile for device 'Abacus 3000'");
    CHECK(reason("L40S", "NVSwitch", "none", 1, 8) == "no profile for l40s joined by 'NVSwitch'");
    CHECK(reason("MI300X", "PCIe Gen5", "none", 1, 8) == "no profile for mi300x joined by 'PCIe Gen5'");
    CHECK(reason("H100-SXM5-80GB", "NVLink4-NVSwitch", "unknown (badly tuned fabric)", 2, 8) ==
          "network between nodes is not known: 'unknown (badly tuned fabric)'");
    CHECK(reason("H100-SXM5-80GB", "NVLink4-NVSwitch", "none", 2, 8) == "network between nodes is not known: 'none'");
    CHECK(reason("H100-SXM5-80GB", "NVLink4-NVSwitch", "Slingshot-11", 2, 8) ==
          "no profile for h100-sxm with slingshot between nodes (state its rate in inter_link, as '8x400G RoCE')");
    CHECK(predicted("L40S,1,8,4,PCIe Gen4,none", "all_reduce,8,1,1,1,1,1,1").skip_reason ==
          "nranks is not nodes times gpus_per_node");
    CHECK(predicted("L40S,1,4,4,PCIe Gen4,none", "scan,8,1,1,1,1,1,1").skip_reason ==
          "no model of the collective 'scan'");
    CHECK(predicted("L40S,1,4,4,PCIe Gen4,none", "all_reduce,0,1,1,1,1,1,1").skip_reason == "size_bytes is zero");
}

TEST_CASE("collective rows: a reduce is as long as a broadcast, and says so") {
    for (std::string const on : {"L40S,1,4,4,PCIe Gen4,none", "H100,4,8,32,,8x400G IB NDR"})
        for (std::string const size : {"8", "1M", "1G"}) {
            RowPrediction const reduce = predicted(on, "reduce," + size + ",100000,,,,,");
            REQUIRE(reduce.time);
            CHECK(reduce.time == predicted(on, "Broadcast," + size + ",100000,,,,,").time);
            CHECK(std::count(reduce.assumptions.begin(), reduce.assumptions.end(), "reduce as long as a broadcast") ==
                  1);
        }
    // Its bus bandwidth is that of the algorithm.
    CHECK(predicted("H100,1,8,8,,none", "Reduce,8000000,,,100,,,").measured_time->in(units::us) == Approx(80));
    CHECK(predicted("H100,1,8,8,,none", "broadcast,8000000,,,100,,,").assumptions.empty());
}

TEST_CASE("collective rows: the prediction is the closed form's, the measurement the lesser time") {
    std::string const dgx = "H100-SXM5-80GB,1,8,8,NVLink4-NVSwitch,none";
    ClusterSpec const h100 = find_cluster("h100-sxm", "test");
    auto const p = predicted(dgx, "all_gather,1048576,50,21,18.35,40,26.2,22.9");
    Seconds const expected =
        collective_curve(h100, CollectiveKind::all_gather, place_group(8, 1, 8)).time(1 * units::MiB);
    CHECK(*p.time == expected);
    CHECK(p.measured_time->in(units::us) == Approx(40));
    CHECK(predicted(dgx, "all_gather,1048576,50,21,18,,,").measured_time->in(units::us) == Approx(50));
    // Without times, from algbw, and without that from busbw: S (n - 1) / n / busbw.
    CHECK(predicted(dgx, "all_gather,8000000,,100,,,,").measured_time->in(units::us) == Approx(80));
    CHECK(predicted(dgx, "all_gather,8000000,,,100,,,").measured_time->in(units::us) == Approx(70));
    CHECK(predicted(dgx, "all_reduce,8000000,,,100,,,").measured_time->in(units::us) == Approx(140));
    CHECK_FALSE(predicted(dgx, "all_reduce,8000000,,,,,,").measured_time);
}

TEST_CASE("collective rows: a time that the bandwidths contradict is left out") {
    std::string const dgx = "H100-SXM5-80GB,1,8,8,NVLink4-NVSwitch,none";
    CHECK_THAT(predicted(dgx, "all_gather,1048576,0.05,21,18.35,,,").skip_reason,
               contains("time_us_oop and algbw_gbs_oop contradict each other"));
    CHECK_THAT(predicted(dgx, "all_gather,1048576,50,21,21,,,").skip_reason, contains("busbw_gbs_oop"));
    CHECK_THAT(predicted(dgx, "all_gather,1048576,50,21,18.35,40,,18.35").skip_reason, contains("busbw_gbs_ip"));
    CHECK(predicted(dgx, "all_gather,1024,30,0.03,0.03,,,").skip_reason.empty());  // 0.034, in two decimals
    // Without times both bandwidths are compared: that of the bus is 1.75 times the other of 8 ranks.
    CHECK_THAT(predicted(dgx, "all_reduce,1073741824,,300,300,,,").skip_reason,
               contains("algbw_gbs_oop and busbw_gbs_oop contradict each other"));
    CHECK_THAT(predicted(dgx, "all_reduce,1073741824,,,,,480,274").skip_reason, contains("busbw_gbs_ip"));
    CHECK(predicted(dgx, "all_reduce,1073741824,,274,480,,275,481").skip_reason.empty());
    CHECK(predicted(dgx, "all_reduce,1024,,0.03,0.06,,,").skip_reason.empty());
}

TEST_CASE("collective rows: a cell that is no number, negative or not finite skips the row, with file and line") {
    for (auto const& [tail, reason] : {std::pair{"all_reduce,inf,1,1,1,1,1,1", "size_bytes is not finite"},
                                       {"all_reduce,-8,1,1,1,1,1,1", "size_bytes is negative"},
                                       {"all_reduce,8,-1,1,1,1,1,1", "time_us_oop is negative"},
                                       {"all_reduce,1 mile,1,1,1,1,1,1", "size_bytes is not a number"},
                                       {"reduce,8,x,1,1,1,1,1", "time_us_oop is not a number"}}) {
        RowPrediction const p = predicted("L40S,1,4,4,PCIe Gen4,none", tail);
        CHECK(p.skip_reason == reason);
        CHECK_THAT(p.unreadable, contains("t.csv line 2: '"));
        CHECK_FALSE(p.time);
    }
}

TEST_CASE("collective rows: sizes with units and Python's None are read") {
    std::string const l40s = "L40S,1,4,4,PCIe Gen4,none";
    auto const plain = predicted(l40s, "all_reduce,1073741824,90000,,,80000,,");
    for (char const* size : {"1G", "1 GiB", "1024M"})
        CHECK(predicted(l40s, "all_reduce," + std::string(size) + ",90000,,,80000,,").time == plain.time);
    auto const none = predicted(l40s, "all_reduce,1073741824,90000,,,None,None,None");
    CHECK(none.time == plain.time);
    CHECK(none.measured_time->in(units::ms) == Approx(90));
}

TEST_CASE("collective excerpt: sums agree, and large messages are met within a quarter in the median") {
    TablePredictor const predict = table_predictor(ValidationKind::collectives, "");
    Scorer scorer(ValidationKind::collectives);
    for (ScoredRow const& row : predict(read_csv(SEXTANT_SOURCE_DIR "/tests/data/collectives_excerpt.csv")))
        scorer.add(row);
    Validation const v = scorer.result();
    std::size_t n = 0;
    for (SourceScore const& source : v.sources) {
        n += source.n;
        CHECK(source.n == source.skipped + source.time.n);
    }
    CHECK(n == v.overall.n);
    CHECK(v.overall.time.n >= 190);
    std::size_t runs = 0;
    for (auto const& [group, score] : v.groups) {
        if (group.by == "run") runs += score.n;
        if (group.name == "256 MiB and more") CHECK(score.time.median_ape_pct <= 25);
    }
    CHECK(runs == v.overall.time.n);
}

TEST_CASE("rows of a log that says no network are on the cluster of the calibration that predicts them") {
    ScratchFolder const folder("collective_validation");
    auto const& all = all_network_calibrations();
    auto const between =
        std::find_if(all.begin(), all.end(), [](auto const& c) { return c.name == "h100-infiniband"; });
    std::string const file = folder.file("net.json", network_calibration_json(*between));
    auto const on = [&](std::string const& profile, std::string const& gpu, std::string const& inter) {
        CsvTable const table =
            parse_csv("gpu,nodes,gpus_per_node,nranks,inter_link,collective,size_bytes,time_us_oop\n" + gpu +
                          ",2,8,16," + inter + ",all_reduce,1073741824,5000\n",
                      "t.csv");
        return CollectivePredictor(profile).predict(table).at(0).prediction;
    };
    auto const stated = on("", "NVIDIA H100 80GB HBM3", "8x400G IB NDR");
    REQUIRE(stated.time);
    CHECK(on(file, "NVIDIA H100 80GB HBM3", "").time == stated.time);
    CHECK(on("h100-sxm:calibration=" + file, "NVIDIA H100 80GB HBM3", "").time == stated.time);
    CHECK(on(file, "A100-SXM4-80GB", "").skip_reason ==
          "network between nodes is not stated (column inter_link: its kind, or NVLink in a rack; or --profile CLUSTER "
          "for "
          "all)");
    CHECK(on(file, "NVIDIA H100 80GB HBM3", "8x200G GPUDirect-TCPXO").time != stated.time);
}
