#include "cost_models/kernel_limits.hpp"

#include "core/ops/work.hpp"
#include "cost_models/attention_model.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

/// assumed: published decodes of groups on A100 reach 1.7 times the stated rate
constexpr double most_of_memory = 2;
constexpr double caches = 8;  ///< that hold nothing of so many bytes; a cache behind the last level included (MI300X)

constexpr double most_of_cache = 20;  ///< times the memory's rate; assumed: caches of accelerators reach 3 to 8

/// assumed: above a boost clock and the 8-bit rates of attention
constexpr double most_of_peak = 4;
constexpr Seconds least_kernel = 0.1 * units::us;  ///< assumed: launches on accelerators take 1 to 5 us

/// Bytes that a kernel bound by memory moves at the least; of a product its weights. 0: of another kernel.
Bytes least_moved(KernelCase const& row) {
    if (auto const* memory = std::get_if<MemoryKernel>(&row.what)) return memory->moved;
    if (auto const* g = std::get_if<Gemm>(&row.what))
        return static_cast<double>(row.products * g->n) * static_cast<double>(g->k) *
               find_gemm_format(row.variant)->right * units::B;
    auto const* decode = std::get_if<DecodeAttention>(&row.what);
    if (decode == nullptr) return {};
    return row.latent ? cache_bytes(*decode) / 2 : cache_bytes(*decode);
}

bool is_faster_than_memory(KernelCase const& row, AcceleratorProfile const& device) {
    Bytes const moved = least_moved(row);
    Bytes const cache = device.l2.value;
    bool const fits = cache <= Bytes{} || moved < caches * cache;
    if (fits && is_host(device)) return false;
    return moved / *row.measured > (fits ? most_of_cache : most_of_memory) * device.memory_bandwidth.value;
}

/// What the arithmetic of a product or a prefill takes at the device's peak; 0: of another kernel.
Seconds least_computing(KernelCase const& row, AcceleratorProfile const& device) {
    if (auto const* g = std::get_if<Gemm>(&row.what)) {
        double const flops =
            2 * static_cast<double>(row.products * g->m) * static_cast<double>(g->n) * static_cast<double>(g->k);
        return flops / kernel_rates(device, *find_gemm_format(row.variant)).peak * units::s;
    }
    auto const* a = std::get_if<Attention>(&row.what);
    if (a == nullptr) return {};
    return timed_flops(*a, row.passes) / kernel_rates(device, two_byte_precision(device)).peak * units::s;
}

}  // namespace

double timed_flops(Attention const& shape, TimedPasses passes) {
    return timed_work(passes) * work_of(Op{.name = "attention", .what = shape}, Pass::forward).executed.base();
}

Seconds least_time(KernelCase const& row, AcceleratorProfile const& device) {
    return std::max(least_computing(row, device), least_moved(row) / device.memory_bandwidth.value);
}

std::string why_too_fast(KernelCase const& row, AcceleratorProfile const& device) {
    if (!row.measured) return "";
    if (is_faster_than_memory(row, device)) return fmt::format("faster than the memory of {}", device.name);
    if (least_computing(row, device) > most_of_peak * *row.measured)
        return fmt::format("faster than {} times the peak of {}", most_of_peak, device.name);
    if (!is_host(device) && *row.measured < least_kernel)
        return fmt::format("shorter than any launch, {:.1f} us", least_kernel / units::us);
    return "";
}

}  // namespace sextant
