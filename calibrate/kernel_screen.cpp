#include "calibrate/kernel_screen.hpp"

#include "calibrate/kernel_fit.hpp"
#include "calibrate/row_screen.hpp"
#include "cost_models/attention_model.hpp"

#include <fmt/format.h>

#include <tuple>

namespace sextant {
namespace {

/// assumed: published decodes of groups on A100 reach 1.7 times the stated rate
constexpr double most_of_memory = 2;
constexpr double caches = 8;  ///< that hold nothing of so many bytes; a cache behind the last level included (MI300X)

/// Bytes that a kernel bound by memory moves at the least; 0: of another kernel.
Bytes least_moved(KernelMeasurement const& row) {
    if (auto const* memory = std::get_if<MemoryKernel>(&row.row.what)) return memory->moved;
    auto const* decode = std::get_if<DecodeAttention>(&row.row.what);
    return decode != nullptr ? cache_bytes(*decode) : Bytes{};
}

bool is_faster_than_memory(KernelMeasurement const& row) {
    Bytes const moved = least_moved(row);
    Bytes const cache = row.device->l2.value;
    if (cache <= Bytes{} || moved < caches * cache) return false;
    return moved / *row.row.measured > most_of_memory * row.device->memory_bandwidth.value;
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
        return fmt::format("{}: faster than {} times the memory of {}", what, most_of_memory, row.device->name);
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
    return drop_rows(rows, why_impossible, "this device",
                     "are their times in microseconds? A device that differs so much needs a file under a name of its "
                     "own");
}

}  // namespace sextant
