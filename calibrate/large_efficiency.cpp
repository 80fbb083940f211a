#include "calibrate/large_efficiency.hpp"

#include "core/error.hpp"
#include "core/quantile.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/kernel_limits.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace sextant {
namespace {

constexpr std::size_t fewest = 5;
constexpr double most_of_peak = 1.2;  // assumed: a boost clock above the stated one
constexpr double other_unit = 100;    // assumed: no device is so much faster; what the fit says of such rows is clearer

void require_device(double of_peak, std::string_view which, KernelMeasurement const& row) {
    if (of_peak > most_of_peak && of_peak < other_unit)
        throw InputError("fit of {} {}: {} at {:.2f} times the peak of {} (are the rows of this device?)",
                         name_of(row.kind), row.variant, which, of_peak, row.device->name);
}

}  // namespace

double large_efficiency(std::vector<KernelMeasurement const*> const& rows) {
    constexpr double large_product = 2.0 * 4096 * 4096 * 4096;
    constexpr double large_attention = 3e11;
    std::vector<double> products;
    std::vector<double> reached;
    for (auto const* row : rows) {
        double const seconds = row->row.measured->base();
        if (auto const* g = std::get_if<Gemm>(&row->row.what)) {
            GemmFormat const& format = *find_gemm_format(row->variant);
            double const flops =
                2.0 * static_cast<double>(g->m) * static_cast<double>(g->n) * static_cast<double>(g->k);
            products.push_back(flops / seconds / kernel_rates(*row->device, format).peak);
            if (flops >= large_product && std::min({g->m, g->n, g->k}) >= 2048) reached.push_back(products.back());
        } else if (auto const* a = std::get_if<Attention>(&row->row.what)) {
            double const flops = timed_flops(*a, row->row.passes);
            if (flops >= large_attention && a->head_dim == 128 && a->keys >= 2048)
                reached.push_back(flops / seconds / kernel_rates(*row->device, two_byte_precision(*row->device)).peak);
        }
    }
    if (products.size() >= fewest) {
        std::nth_element(products.begin(), products.begin() + (fewest - 1), products.end(), std::greater<>());
        require_device(products[fewest - 1], "several shapes run", *rows.front());
    }
    if (reached.size() < fewest) return 0;
    double const usual = quantile_of(reached, 0.5);
    require_device(usual, "large shapes run", *rows.front());
    return usual;
}

}  // namespace sextant
