#include "core/measurements/network_rate.hpp"

#include "tests/catch.hpp"

#include <string>

using namespace sextant;

TEST_CASE("network rate: ports of a node and what each carries, wherever they stand") {
    struct Case {
        char const* text;
        double ports;
        double gbps;
    };
    for (Case const& c : {Case{"8x400G IB NDR (CX7; 4 HCAs at 369 Gb/s, 4 at 326 Gb/s)", 8, 400},
                          Case{"RoCE 4x100G", 4, 100},
                          Case{"RoCE v2 8x200Gb/s", 8, 200},
                          Case{"RoCE v2 (ConnectX-7, 8 x 400 Gbps)", 8, 400},
                          Case{"IB 4\xc3\x97"
                               "200G",
                               4, 200},
                          Case{"8x200G RoCE v2 (CX6, 16x100G)", 8, 200},
                          Case{"8x HDR", 8, 200},
                          Case{"4xEDR", 4, 100},
                          Case{"8x100GbE", 8, 100},
                          Case{"32X100G EFA v2", 32, 100},
                          Case{"100GbE", 0, 100},
                          Case{"Ethernet 10G", 0, 10},
                          Case{"InfiniBand HDR 200G", 0, 200},
                          Case{"200 Gbit/s RoCE", 0, 200},
                          Case{"EFA 3.2 Tbps", 0, 3200},
                          Case{"HDR100", 0, 100},
                          Case{"IB EDR", 0, 100},
                          Case{"HDR200", 0, 200},
                          Case{"NDR200 InfiniBand", 0, 200},
                          Case{"ib ndr", 0, 400},
                          Case{"NDR400", 0, 400},
                          Case{"XDR", 0, 800},
                          Case{"NDR200 x4 per node", 4, 200},
                          Case{"HDR100 x2", 2, 100},
                          Case{"4 HDR NICs", 4, 200},
                          Case{"10 Gigabit Ethernet", 0, 10}}) {
        INFO(c.text);
        StatedNetworkRate const rate = stated_network_rate(c.text);
        CHECK(rate.gbps == Approx(c.gbps));
        CHECK(rate.ports == c.ports);
    }
}

TEST_CASE("network rate: bytes a second have a capital B, and what more than a port carries is of a node") {
    CHECK(stated_network_rate("RoCE 50 GB/s").gbps == Approx(400));
    CHECK(stated_network_rate("8x50GB/s IB").ports == 8);
    CHECK(stated_network_rate("RoCE 50 gb/s").gbps == Approx(50));
    CHECK(stated_network_rate("EFA 46 GiB/s").gbps == Approx(46 * 1.073741824 * 8));
    CHECK(stated_network_rate("InfiniBand 400 GBps").of == RateOf::node);
    CHECK(stated_network_rate("EFA 400 Gbps").of == RateOf::port);
    CHECK(stated_network_rate("400 Gbps per node").of == RateOf::node);
    CHECK(stated_network_rate("400 Gbps per GPU").of == RateOf::accelerator);
}

TEST_CASE("network kind: words in any spelling, with a count or a rate before them, Ethernet last") {
    for (auto const& [text, kind] : {std::pair{"8xNDR", "infiniband"},
                                     {"4xEDR", "infiniband"},
                                     {"FDR", "infiniband"},
                                     {"8x400G IB", "infiniband"},
                                     {"RoCEv2 8x400G", "roce"},
                                     {"8x400GbE RoCEv2", "roce"},
                                     {"Spectrum-X", "roce"},
                                     {"EFAv2", "efa"},
                                     {"16x EFA 200G", "efa"},
                                     {"GPUDirect-TCPX", "ethernet"},
                                     {"tcpxo", "ethernet"},
                                     {"100GbE", "ethernet"},
                                     {"8x400GbE", "roce"},
                                     {"200GbE", "roce"},
                                     {"8x400GbE TCP", "ethernet"},
                                     {"Ethernet 1600 Gbps per node", "ethernet"},
                                     {"8x400G Thor2", "roce"},
                                     {"8x400G Pollara", "roce"},
                                     {"Slingshot-11", "slingshot"},
                                     {"DCN", "dcn"},
                                     {"Omni-Path", ""},
                                     {"NVLink", ""},
                                     {"", ""}}) {
        INFO(text);
        CHECK(stated_network_kind(text) == kind);
    }
}

TEST_CASE("network rate: texts without one state none") {
    for (char const* text :
         {"", "IB (DGX A100, Azure ND v4 class)", "RoCE", "TCP", "Slingshot-11", "IB (H100 80GB)", "PCIe Gen 5 x16",
          "NVLink (single rack)", "8 GPUs, GDR", "unknown (badly tuned fabric)", "10Gb/25Gb/100Gb Ethernet"}) {
        INFO(text);
        CHECK(stated_network_rate(text).gbps == 0);
    }
}

TEST_CASE("network kind: adapters that carry InfiniBand and RoCE name neither") {
    for (char const* text :
         {"8x CX7 400G", "2xBF3 400Gbps", "4 x 200 Gbps RDMA per node", "ConnectX-6", "BlueField-3"}) {
        INFO(text);
        CHECK(names_rdma_adapters(text));
        CHECK(stated_network_kind(text).empty());
    }
    for (char const* text : {"", "NVLink", "100G", "unknown (badly tuned fabric)", "EFA"}) {
        INFO(text);
        CHECK_FALSE(names_rdma_adapters(text));
    }
}
