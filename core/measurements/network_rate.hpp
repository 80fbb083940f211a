#pragma once

#include <cstdint>
#include <string_view>

namespace sextant {

/// What a cell says of the rate between nodes.
struct StatedNetworkRate {
    double gbps = 0;         ///< Gbit/s of one port; 0: none is stated
    std::int64_t ports = 0;  ///< of a node; 0: not said
    bool unclear = false;    ///< a rate stands there in bytes, which may be of a port or of a node
};

/// Reads it wherever it stands: "8x400G IB NDR", "RoCE v2 8 x 200Gb/s", "100GbE", "EFA 3.2 Tbit/s", and what a port of
/// InfiniBand's generations carries, "HDR100", "4x NDR". A number of ports with a rate goes before a rate alone.
/// Source: IBTA, InfiniBand roadmap: four lanes of EDR 100, HDR 200, NDR 400, XDR 800 Gbit/s; HDR100 and NDR200 are
/// two of them.
StatedNetworkRate stated_network_rate(std::string_view text);

}  // namespace sextant
