#pragma once

#include "core/spec/precision.hpp"
#include "core/spec/sourced.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

struct GemmFormat;
struct KernelCalibration;

/// One accelerator: what its maker promises and how much of it kernels reach.
///
/// Efficiencies are of a kernel that runs alone, as a microbenchmark sees it; what a training framework makes of
/// them is `FrameworkProfile`'s business.
struct AcceleratorProfile {
    std::string name;                  ///< "h100-sxm"
    std::string title;                 ///< "NVIDIA H100 SXM5 80GB"
    std::vector<std::string> aliases;  ///< other spellings, e.g. as measurement files write it
    std::string vendor;
    std::string generation;  ///< volta, ampere, hopper, blackwell, ada, cdna2, cdna3, cdna4, tpu, gaudi, trainium
    int year = 0;

    std::map<Precision, Sourced<FlopsPerSecond>> peak;  ///< dense matrix throughput; absent: the device cannot
    std::optional<Sourced<FlopsPerSecond>> int8_peak;   ///< the same of 8-bit integers; absent: the device cannot
    Sourced<FlopsPerSecond> vector_peak;                ///< fp32 outside the matrix units
    Sourced<Bytes> memory_capacity;
    Sourced<BytesPerSecond> memory_bandwidth;
    Sourced<Bytes> l2;
    std::int64_t l2_caches = 1;  ///< that `l2` is the sum of; a multiprocessor reads through one of them (chiplets)
    Sourced<std::int64_t> multiprocessors;   ///< units that tiles are scheduled on (SMs, CUs, cores)
    std::int64_t tiles_each = 1;             ///< that one works on at once, several where it is large (TPU, Gaudi)
    Sourced<BytesPerSecond> host_bandwidth;  ///< to host memory, one direction (PCIe or C2C)
    /// Of its share of the host's memory, what the update of a state that lies there reads and writes at; absent: as
    /// x86 hosts.
    std::optional<Sourced<BytesPerSecond>> host_update_bandwidth;
    Sourced<double> power_watts;

    std::map<Precision, Sourced<double>> gemm_efficiency;  ///< fraction of peak on large, well-shaped products
    Sourced<double> attention_forward_efficiency;  ///< fraction of bf16 peak of a fused attention kernel, long sequence
    Sourced<double> attention_backward_efficiency;
    Sourced<double> memory_efficiency;                  ///< fraction of memory bandwidth that streaming kernels reach
    Sourced<Seconds> launch_latency;                    ///< floor of one kernel
    std::optional<Sourced<double>> price_usd_per_hour;  ///< indicative; users override it
    /// Constants of its kernels fitted to measurements, on this device or on its class; null: the models' starts.
    std::shared_ptr<KernelCalibration const> kernels;

    /// Whether its matrix units apply scales of 32 values (OCP Microscaling): Blackwell's and CDNA 4's do.
    [[nodiscard]] bool applies_scales() const { return generation == "blackwell" || generation == "cdna4"; }
    /// What optimizer state in host memory is updated at.
    [[nodiscard]] Sourced<BytesPerSecond> host_update() const;
    /// Peak of matrix products in this format; fp32 without an entry of its own runs on the vector units.
    /// @throws InputError naming the precisions this device has.
    [[nodiscard]] Sourced<FlopsPerSecond> const& peak_of(Precision precision) const;
    /// Whether it multiplies in this format: on its matrix units, fp32 also on its vector units.
    [[nodiscard]] bool multiplies(GemmFormat const& format) const;
    /// Peak of matrix products in this format. @throws InputError: as above, or that there is no peak of int8.
    [[nodiscard]] Sourced<FlopsPerSecond> const& peak_of(GemmFormat const& format) const;
    /// The format's own entry, else that of the nearest wider format (fp4: fp8, then bf16; fp16 and bf16 stand in for
    /// each other). @throws InputError if the profile has none that fits.
    [[nodiscard]] double gemm_efficiency_of(Precision precision) const;
};

}  // namespace sextant
