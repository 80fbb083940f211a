#include "core/spec/hardware_catalog.hpp"
#include "core/spec/network_calibration.hpp"
#include "planner/validation/stated_links.hpp"
#include "tests/catch.hpp"
#include "tests/planner/validation_rows.hpp"

#include <algorithm>

using namespace sextant;

namespace {

TrainingRow two_nodes() {
    TrainingRow row = complete_row();
    row.num_gpus = row.dp = 16;
    return row;
}

/// Gbit/s between nodes for each accelerator of a row on nodes of eight.
double gbps(std::string const& link, char const* gpu = "A100-80GB") {
    TrainingRow row = two_nodes();
    row.gpu = gpu;
    row.inter_node_link = link;
    return built(row).cluster->scale_out->bandwidth.value.in(units::GB / units::s) * 8;
}

std::string kind(std::string const& link, char const* gpu = "A100-80GB") {
    TrainingRow row = two_nodes();
    row.gpu = gpu;
    row.inter_node_link = link;
    return built(row).cluster->scale_out->kind;
}

bool assumes(TrainingCase const& c, std::string_view text) {
    return std::any_of(c.assumptions.begin(), c.assumptions.end(),
                       [&](std::string const& one) { return one.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a cell of links is read for kind, rate and ports of the accelerators' network") {
    auto const rate = [](std::string_view cell) {
        StatedNetwork const n = stated_network(cell);
        return std::pair(n.ports, n.gbps);
    };
    using Rate = std::pair<double, double>;
    CHECK(rate("8 x HDR InfiniBand 200 Gb/s per node") == Rate{8, 200});
    CHECK(rate("4x ConnectX-7 IB NDR 400Gb/Sec") == Rate{4, 400});
    CHECK(rate("InfiniBand 8 x 50 GB/s") == Rate{8, 400});
    CHECK(rate("8x400G") == Rate{8, 400});
    CHECK(rate("400G x 8") == Rate{8, 400});
    CHECK(rate("8\xc3\x97 400G") == Rate{8, 400});
    CHECK(rate("4 NICs of 100 Gbps") == Rate{4, 100});
    CHECK(rate("EFA, 32 adapters per node, about 3.2 Tb/s") == Rate{0, 3200});
    CHECK(rate("Storage: 2x NDR 200Gb/s, Compute: 8x NDR 400Gb/s") == Rate{8, 400});
    CHECK(rate("BF3 200Gbps for NS and 2xBF3 400Gbps for EW") == Rate{2, 400});
    CHECK(rate("8x HDR + 100Gb/s Ethernet") == Rate{8, 200});
    CHECK(rate("10 Gigabit Ethernet") == Rate{0, 10});
    CHECK(rate("NDR") == Rate{0, 400});
    CHECK(rate("4 x HDR100") == Rate{4, 100});
    for (char const* const none : {"InfiniBand; Data bandwidth for GPU-PCIe: 504 GB/s; PCIe-NIC: 500 GB/s", "EFA",
                                   "Management: 1x Ethernet 10GB/Sec", "2 x MT2894 Family [ConnectX-6 Lx]",
                                   "6 x BCM57508 NetXtreme-E 10Gb/25Gb/100Gb Ethernet", "X710 for 10GBASE-T",
                                   "NVLink 4", "80 GB nodes", "1e300G", "....", "8x", "NVLINK Gen4"})
        CHECK(stated_network(none).gbps == 0);
    CHECK(stated_network("Ethernet(RoCEv2)").kind == "roce");
    CHECK(stated_network("Ethernet, Infiniband").kind == "infiniband");
    CHECK(stated_network("8x ConnectX-7 IB").kind == "infiniband");
    CHECK(stated_network("25 GbE management, 8 x 200G RoCE").kind == "roce");
    CHECK(stated_network("TCP/IP over 25G").kind == "ethernet");
    CHECK(stated_network("4 x 200 Gbps RDMA per node").kind.empty());
    CHECK(stated_network("1600 Gbps per node").of == RateOf::node);
    CHECK(stated_network("200 Gb/s per GPU").of == RateOf::accelerator);
}

TEST_CASE("the rate that a row states between nodes is that of each accelerator's share") {
    CHECK(gbps("") == Approx(200));
    CHECK(gbps("InfiniBand") == Approx(200));
    CHECK(gbps("InfiniBand HDR") == Approx(200));
    CHECK(gbps("4 x 100 Gb RoCE per node") == Approx(50));
    CHECK(gbps("RoCE 1600 Gbps per node") == Approx(200));
    CHECK(gbps("3.2 Tb/s EFA") == Approx(400));
    CHECK(gbps("100 Gb/s per GPU") == Approx(100));
    CHECK(gbps("8 x 50 GB/s") == Approx(400));
    // One port of Ethernet a node, and of other kinds one for each accelerator; no more than the usual machine has.
    CHECK(gbps("10 Gbps Ethernet") == Approx(1.25));
    CHECK(gbps("100GbE") == Approx(12.5));
    CHECK(gbps("TCP/IP over 25G") == Approx(3.125));
    CHECK(gbps("RoCE 100G") == Approx(100));
    CHECK(gbps("InfiniBand EDR", "V100-32GB") == Approx(50));
    CHECK(gbps("EFA 400 Gbps") == Approx(50));
    // A column that says it goes before the text.
    TrainingRow row = two_nodes();
    row.inter_node_link = "10 Gbps Ethernet";
    row.inter_node_gbps = 25;
    CHECK(built(row).cluster->scale_out->bandwidth.value.in(units::GB / units::s) == Approx(3.125));
}

TEST_CASE("a stated network slows a step down as the same rate in its own column does") {
    auto const time = [](auto const& change) {
        TrainingRow row = two_nodes();
        row.framework = "torchtitan";
        row.zero_stage = 3;
        row.global_batch = 16;
        change(row);
        return *TrainPredictor().predict(row).time;
    };
    auto const text = [&](char const* link) { return time([&](TrainingRow& row) { row.inter_node_link = link; }); };
    Seconds const usual = time([](TrainingRow&) {});
    CHECK(text("InfiniBand HDR") == usual);
    CHECK(text("InfiniBand, 2 x 100G") == time([](TrainingRow& row) { row.inter_node_gbps = 25; }));
    Seconds const slow = time([](TrainingRow& row) { row.inter_node_gbps = 1.25; });
    CHECK(text("10 Gbps Ethernet") / slow == Approx(1).epsilon(0.05));
    CHECK(slow > 5 * usual);
}

TEST_CASE("a network that no profile of the device has is that of another machine, and one that is not read is said") {
    CHECK(kind("RoCE") == "roce");
    CHECK(kind("EFA") == "efa");
    CHECK(kind("100GbE") == "ethernet");
    TrainingRow row = two_nodes();
    row.inter_node_link = "Slingshot-11 4x200G";
    TrainingCase const borrowed = built(row);
    CHECK(borrowed.cluster->scale_out->kind == "slingshot");
    CHECK(borrowed.cluster->scale_out->bandwidth.value.in(units::GB / units::s) == Approx(12.5));
    CHECK(borrowed.cluster->scale_up.kind == ScaleUpKind::switched);
    REQUIRE(borrowed.cluster->network_model);
    CHECK(borrowed.cluster->network_model->out_part.basis == Basis::assumed);
    CHECK(assumes(borrowed, "slingshot between nodes as in perlmutter: no profile has it with a100-sxm-80gb"));
    CHECK(borrowed.network_is_stated);
    for (char const* const link : {"Myrinet", "Ethernet", "Omni-Path"}) {  // Ethernet without a rate may carry RDMA
        row.inter_node_link = link;
        TrainingCase const unread = built(row);
        CHECK(unread.cluster->scale_out->kind == "infiniband");
        CHECK_FALSE(unread.network_is_stated);
        CHECK(assumes(unread, "stated network '" + row.inter_node_link + "' is not known here: infiniband as usual"));
    }
    row.inter_node_link = "RoCE 100G";
    CHECK(assumes(built(row), "one port of the stated rate for each accelerator"));
    CHECK_FALSE(built(row).network_is_stated);
    row.num_gpus = row.dp = 8;
    CHECK_FALSE(assumes(built(row), "one port"));  // it stays within a node
}

TEST_CASE("MLPerf's submissions name the hosts' network: what counts no ports is not the accelerators'") {
    TrainingRow row = two_nodes();
    row.source_id = "mlperf-lora70b";
    row.inter_node_link = "Gig Ethernet";
    CHECK(built(row).cluster->scale_out->kind == "infiniband");
    CHECK(built(row).cluster->scale_out->bandwidth.value.in(units::GB / units::s) == Approx(25));
    row.inter_node_link = "Compute: 8x MT43244 BlueField-3 100Gb/s, Management: 2x100Gb/s Ethernet NIC";
    CHECK(built(row).cluster->scale_out->bandwidth.value.in(units::GB / units::s) == Approx(12.5));
}

TEST_CASE("stated PCIe is of the device's variant that has it, or no row of the device") {
    auto const device = [](char const* gpu, char const* link) {
        TrainingRow row = complete_row();
        row.gpu = gpu;
        row.intra_node_link = link;
        return built(row).cluster->accelerator.name;
    };
    CHECK(device("A100-80GB", "PCIe") == "a100-pcie-80gb");
    CHECK(device("A100-80GB", "PCIe 4.0 x16") == "a100-pcie-80gb");
    CHECK(device("H100", "PCIe Gen5") == "h100-pcie");
    CHECK(device("A100-80GB", "NVLink; PCIe Gen4 to the host") == "a100-sxm-80gb");
    CHECK(device("A100-80GB", "NVLink") == "a100-sxm-80gb");
    CHECK(device("L40S", "PCIe Gen4") == "l40s");
    CHECK(skip_reason([](TrainingRow& r) { r.gpu = "A100-SXM4-80GB", r.intra_node_link = "PCIe"; }) ==
          "no profile for a100-sxm-80gb joined by 'PCIe' (intra_node_link)");
    CHECK(skip_reason([](TrainingRow& r) { r.gpu = "B200", r.intra_node_link = "PCIe 5"; }) ==
          "no profile for b200-sxm joined by 'PCIe 5' (intra_node_link)");
}

TEST_CASE("several L40S of a training row reach each other, over the links between nodes that the row states") {
    TrainingRow row = complete_row();
    row.gpu = "L40S";
    row.gpus_per_node = 4;
    row.intra_node_link = "PCIe Gen4";
    row.inter_node_link = "2x 400Gbps";
    ClusterSpec const machine = *built(row).cluster;
    CHECK(machine.scale_up.peer_access);
    CHECK(machine.scale_up.ring_efficiency.value == find_cluster("l40s-p2p", "cluster").scale_up.ring_efficiency.value);
    CHECK(machine.domain_size == 4);
    CHECK(machine.scale_out->bandwidth.value.in(units::GB / units::s) * 8 == Approx(200));
    for (char const* const sister : {"L40", "RTX 6000 Ada"}) {
        row.gpu = sister;
        CHECK(built(row).cluster->scale_up.peer_access);
    }
    row.gpu = "RTX 4090";
    CHECK_FALSE(built(row).cluster->scale_up.peer_access);
}
