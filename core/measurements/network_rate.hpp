#pragma once

#include <cstdint>
#include <string_view>

namespace sextant {

/// What the rate of a network is the rate of.
enum class RateOf : std::uint8_t { port, node, accelerator };

/// What a text says of the rate between nodes.
struct StatedNetworkRate {
    double gbps = 0;   ///< Gbit/s, one direction; 0: none is stated
    double ports = 0;  ///< of a node, "8 x"; 0: not counted
    RateOf of = RateOf::port;
};

/// Reads it wherever it stands: "8x400G IB NDR", "RoCE v2 8 x 200Gb/s", "100GbE", "400G x 8", "4 NICs of 100 Gbps",
/// "EFA 3.2 Tbit/s", "50 GB/s" (bytes have a capital B), "1600 Gbps per node", and what a port of InfiniBand's
/// generations carries, "HDR100", "4x NDR". More than any port carries is of a node. A list of what a port can do
/// ("10Gb/25Gb") and bytes alone ("80GB") are no rates. Source: IBTA, InfiniBand roadmap: four lanes of EDR 100, HDR
/// 200, NDR 400, XDR 800 Gbit/s; HDR100 and NDR200 are two of them.
StatedNetworkRate stated_network_rate(std::string_view text);

/// The kind of network between nodes that a text names, as `ScaleOutNetwork` calls it: "8xNDR", "RoCEv2", "EFAv2",
/// "100GbE", "GPUDirect-TCPXO"; empty: none of those known. What runs over Ethernet goes before it ("8x400GbE RoCEv2"),
/// and ports of 200 Gbit/s and more carry RoCE unless TCP is named ("8x400GbE").
/// Omni-Path is left out: the one table of training steps over it is what the constants of `deepspeed` were fitted to,
/// with the usual network of its devices.
std::string_view stated_network_kind(std::string_view text);

/// Whether a text names adapters that carry InfiniBand as well as RoCE: "8x CX7 400G", "BF3", "4 x 200 Gbps RDMA".
bool names_rdma_adapters(std::string_view text);

}  // namespace sextant
