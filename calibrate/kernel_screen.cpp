#include "calibrate/kernel_screen.hpp"

#include "calibrate/kernel_fit.hpp"
#include "calibrate/row_screen.hpp"
#include "core/error.hpp"
#include "core/quantile.hpp"
#include "cost_models/kernel_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <variant>

namespace sextant {
namespace {

/// assumed: a 1000th and a bit of what devices reach, which one thread of a large processor does not fall below
constexpr double least_of_peak = 0.002;
constexpr Seconds long_work = 5 * units::us;  ///< beside which a launch does not count

/// @throws InputError where most of a kernel's rows are so slow that their unit is less than it should be.
void require_rates(std::vector<KernelMeasurement> const& rows) {
    for (KernelGroup const& group : group_kernels(rows)) {
        std::vector<double> reached;
        for (KernelMeasurement const& row : group.rows)
            if (Seconds const least = least_time(row.row, *row.device); least >= long_work)
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
    if (std::string const why = why_too_fast(row.row, *row.device); !why.empty())
        return fmt::format("{}: {} (is its time in milliseconds or seconds?)", what, why);
    if (is_far(row))
        return fmt::format("{}: off by more than four times from what the calibration of {} says", what,
                           row.device->name);
    return "";
}

/// Whether attention has a mask, which halves its work and which `shape_hash` leaves out. Of anything else: off.
Switch mask_of(KernelCase const& row) {
    auto const* attention = std::get_if<Attention>(&row.what);
    return attention != nullptr ? attention->causal : Switch::off;
}

}  // namespace

std::size_t drop_repeats(std::vector<KernelMeasurement>& rows) {
    return drop_repeated(rows, [](KernelMeasurement const& m) {
        auto const* memory = std::get_if<MemoryKernel>(&m.row.what);
        return std::tuple(shape_hash(m.row), mask_of(m.row), m.variant, m.row.device, m.row.source, m.row.cache,
                          m.row.quantised, m.row.result_bytes, *m.row.measured,
                          memory != nullptr ? memory->moved : Bytes{});
    });
}

std::vector<RepeatSpread> contradicting_repeats(std::vector<KernelMeasurement> const& rows) {
    constexpr double most_pct = 15;
    struct Range {
        Seconds least, most;
        std::size_t rows = 0;
    };
    std::vector<RepeatSpread> out;
    for (KernelGroup const& group : group_kernels(rows)) {
        using Shape = std::tuple<std::uint64_t, Switch, CacheState, Quantised, std::optional<std::int64_t>, Bytes>;
        std::map<Shape, Range> shapes;
        for (KernelMeasurement const& m : group.rows) {
            auto const* memory = std::get_if<MemoryKernel>(&m.row.what);
            Seconds const time = *m.row.measured;
            auto const [found, is_new] =
                shapes.try_emplace({shape_hash(m.row), mask_of(m.row), m.row.cache, m.row.quantised, m.row.result_bytes,
                                    memory ? memory->moved : Bytes{}},
                                   Range{time, time, 0});
            Range& range = found->second;
            range = {std::min(range.least, time), std::max(range.most, time), range.rows + 1};
        }
        std::vector<double> spreads;
        for (auto const& [shape, range] : shapes)
            if (range.rows > 1) spreads.push_back(100 * (range.most / range.least - 1));
        if (spreads.empty()) continue;
        double const median = quantile_of(spreads, 0.5);
        if (median > most_pct)
            out.push_back({.kernel = fmt::format("{} {}", name_of(group.kind), group.variant),
                           .shapes = spreads.size(),
                           .median_pct = median});
    }
    return out;
}

std::map<std::string, std::size_t> drop_impossible(std::vector<KernelMeasurement>& rows) {
    auto dropped = drop_rows(rows, why_impossible, "this device",
                             "are their times in microseconds? A device that differs so much needs a file under a name "
                             "of its own");
    require_rates(rows);
    return dropped;
}

}  // namespace sextant
