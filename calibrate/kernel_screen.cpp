#include "calibrate/kernel_screen.hpp"

#include "calibrate/kernel_fit.hpp"
#include "calibrate/row_screen.hpp"
#include "core/error.hpp"
#include "core/quantile.hpp"
#include "cost_models/attention_model.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace sextant {
namespace {

/// assumed: published decodes of groups on A100 reach 1.7 times the stated rate
constexpr double most_of_memory = 2;
constexpr double caches = 8;  ///< that hold nothing of so many bytes; a cache behind the last level included (MI300X)

constexpr double most_of_cache = 20;  ///< times the memory's rate; assumed: caches of accelerators reach 3 to 8

/// Bytes that a kernel bound by memory moves at the least; of a product its weights. 0: of another kernel.
Bytes least_moved(KernelMeasurement const& row) {
    if (auto const* memory = std::get_if<MemoryKernel>(&row.row.what)) return memory->moved;
    if (auto const* g = std::get_if<Gemm>(&row.row.what))
        return static_cast<double>(g->n) * static_cast<double>(g->k) * find_gemm_format(row.variant)->right * units::B;
    auto const* decode = std::get_if<DecodeAttention>(&row.row.what);
    return decode != nullptr ? cache_bytes(*decode) : Bytes{};
}

bool is_faster_than_memory(KernelMeasurement const& row) {
    Bytes const moved = least_moved(row);
    Bytes const cache = row.device->l2.value;
    bool const fits = cache <= Bytes{} || moved < caches * cache;
    if (fits && is_host(*row.device)) return false;
    return moved / *row.row.measured > (fits ? most_of_cache : most_of_memory) * row.device->memory_bandwidth.value;
}

/// What the arithmetic of a product or a prefill takes at the device's peak; 0: of another kernel.
Seconds least_computing(KernelMeasurement const& row) {
    AcceleratorProfile const& device = *row.device;
    if (auto const* g = std::get_if<Gemm>(&row.row.what)) {
        double const flops = 2 * static_cast<double>(g->m) * static_cast<double>(g->n) * static_cast<double>(g->k);
        return flops / kernel_rates(device, *find_gemm_format(row.variant)).peak * units::s;
    }
    auto const* a = std::get_if<Attention>(&row.row.what);
    if (a == nullptr) return {};
    return timed_flops(*a, row.row.passes) / kernel_rates(device, two_byte_precision(device)).peak * units::s;
}

/// The same with what comes from memory, which may lie in a cache: the weights of a product, keys and values.
Seconds least_working(KernelMeasurement const& row) {
    return std::max(least_computing(row), least_moved(row) / row.device->memory_bandwidth.value);
}

/// assumed: above a boost clock and the 8-bit rates of attention
constexpr double most_of_peak = 4;
constexpr Seconds least_kernel = 0.1 * units::us;  ///< assumed: launches on accelerators take 1 to 5 us

/// assumed: a 1000th and a bit of what devices reach, which one thread of a large processor does not fall below
constexpr double least_of_peak = 0.002;
constexpr Seconds long_work = 5 * units::us;  ///< beside which a launch does not count

/// @throws InputError where most of a kernel's rows are so slow that their unit is less than it should be.
void require_rates(std::vector<KernelMeasurement> const& rows) {
    for (KernelGroup const& group : group_kernels(rows)) {
        std::vector<double> reached;
        for (KernelMeasurement const& row : group.rows)
            if (Seconds const least = least_working(row); least >= long_work)
                reached.push_back(least / *row.row.measured);
        if (reached.empty()) continue;
        double const usual = quantile_of(reached, 0.5);
        if (usual < least_of_peak)
            throw InputError(
                "calibrate fit: {} {}: {} large rows run at {:.2g} % of what peak and memory of {} allow (are their "
                "times in nanoseconds? latency_us is in microseconds: divide it by 1000)",
                name_of(group.kind), group.variant, reached.size(), 100 * usual, group.rows.front().device->name);
    }
}

/// Whether the device has a fit of its own of this kernel, and that says something else.
bool is_far(KernelMeasurement const& row) {
    auto const& known = row.device->kernels;
    KernelFit const* const fit = known && !known->is_class() ? known->find(row.kind, row.variant) : nullptr;
    return fit != nullptr && is_far_off(row.row.measured->base(), fitted_seconds(row, *fit));
}

/// Empty where nothing is wrong with the row.
std::string why_impossible(KernelMeasurement const& row) {
    std::string const what = fmt::format("{} {}", name_of(row.kind), row.variant);
    if (is_faster_than_memory(row))
        return fmt::format("{}: faster than the memory of {} (is its time in milliseconds or seconds?)", what,
                           row.device->name);
    if (least_computing(row) > most_of_peak * *row.row.measured)
        return fmt::format("{}: faster than {} times the peak of {} (is its time in milliseconds or seconds?)", what,
                           most_of_peak, row.device->name);
    if (!is_host(*row.device) && *row.row.measured < least_kernel)
        return fmt::format("{}: shorter than any launch, {:.1f} us (is its time in milliseconds or seconds?)", what,
                           least_kernel / units::us);
    if (is_far(row))
        return fmt::format("{}: off by more than four times from what the calibration of {} says", what,
                           row.device->name);
    return "";
}

}  // namespace

std::size_t drop_repeats(std::vector<KernelMeasurement>& rows) {
    return drop_repeated(rows, [](KernelMeasurement const& m) {
        auto const* memory = std::get_if<MemoryKernel>(&m.row.what);
        return std::tuple(shape_hash(m.row), m.variant, m.row.device, m.row.source, m.row.cache, m.row.quantised,
                          *m.row.measured, memory != nullptr ? memory->moved : Bytes{});
    });
}

std::map<std::string, std::size_t> drop_impossible(std::vector<KernelMeasurement>& rows) {
    auto dropped = drop_rows(rows, why_impossible, "this device",
                             "are their times in microseconds? A device that differs so much needs a file under a name "
                             "of its own");
    require_rates(rows);
    return dropped;
}

}  // namespace sextant
