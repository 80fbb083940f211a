#include "calibrate/large_efficiency.hpp"

#include "core/error.hpp"
#include "core/quantile.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/kernel_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

namespace sextant {
namespace {

constexpr std::size_t fewest = 5;
constexpr double most_of_peak = 1.2;  // assumed: a boost clock above the stated one
constexpr double other_unit = 100;    // assumed: no device is so much faster; what the fit says of such rows is clearer

/// A row and the fraction of its device's peak that it reaches.
struct ReachedPeak {
    double of_peak = 0;
    KernelMeasurement const* row = nullptr;
};

/// @param reached the rows that say so; the first of those above the peak is named
void require_device(double of_peak, std::string_view which, std::vector<ReachedPeak> const& reached) {
    if (of_peak <= most_of_peak || of_peak >= other_unit) return;
    auto const is_above = [](ReachedPeak const& r) { return r.of_peak > most_of_peak; };
    auto const count = std::count_if(reached.begin(), reached.end(), is_above);
    auto const first = std::find_if(reached.begin(), reached.end(), is_above);
    KernelMeasurement const& row = *(first != reached.end() ? first : reached.begin())->row;
    std::string const place = row.place.empty() ? "" : fmt::format("; {} rows, the first is {}", count, row.place);
    throw InputError("fit of {} {}: {} at {:.2f} times the peak of {} (are the rows of this device?{})",
                     name_of(row.kind), row.variant, which, of_peak, row.device->name, place);
}

std::vector<double> parts_of_peak(std::vector<ReachedPeak> const& reached) {
    std::vector<double> out;
    for (ReachedPeak const& r : reached)
        out.push_back(r.of_peak);
    return out;
}

}  // namespace

double large_efficiency(std::vector<KernelMeasurement const*> const& rows) {
    constexpr double large_product = 2.0 * 4096 * 4096 * 4096;
    constexpr double large_attention = 3e11;
    std::vector<ReachedPeak> products;
    std::vector<ReachedPeak> reached;
    for (auto const* row : rows) {
        double const seconds = row->row.measured->base();
        if (auto const* g = std::get_if<Gemm>(&row->row.what)) {
            GemmFormat const& format = *find_gemm_format(row->variant);
            double const flops =
                2.0 * static_cast<double>(g->m) * static_cast<double>(g->n) * static_cast<double>(g->k);
            products.push_back({flops / seconds / kernel_rates(*row->device, format).peak, row});
            if (flops >= large_product && std::min({g->m, g->n, g->k}) >= 2048) reached.push_back(products.back());
        } else if (auto const* a = std::get_if<Attention>(&row->row.what)) {
            double const flops = timed_flops(*a, row->row.passes);
            if (flops >= large_attention && a->head_dim == 128 && a->keys >= 2048)
                reached.push_back(
                    {flops / seconds / kernel_rates(*row->device, two_byte_precision(*row->device)).peak, row});
        }
    }
    if (products.size() >= fewest) {
        std::vector<double> fastest = parts_of_peak(products);
        std::nth_element(fastest.begin(), fastest.begin() + (fewest - 1), fastest.end(), std::greater<>());
        require_device(fastest[fewest - 1], "several shapes run", products);
    }
    if (reached.size() < fewest) return 0;
    double const usual = quantile_of(parts_of_peak(reached), 0.5);
    require_device(usual, "large shapes run", reached);
    return usual;
}

}  // namespace sextant
