#include "calibrate/large_efficiency.hpp"

#include "core/error.hpp"
#include "core/ops/work.hpp"
#include "core/quantile.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <algorithm>

namespace sextant {

double large_efficiency(std::vector<KernelMeasurement const*> const& rows) {
    constexpr double large_product = 2.0 * 4096 * 4096 * 4096;
    constexpr double large_attention = 3e11;
    std::vector<double> reached;
    for (auto const* row : rows) {
        double const seconds = row->row.measured->base();
        if (auto const* g = std::get_if<Gemm>(&row->row.what)) {
            GemmFormat const& format = *find_gemm_format(row->variant);
            double const flops =
                2.0 * static_cast<double>(g->m) * static_cast<double>(g->n) * static_cast<double>(g->k);
            if (flops >= large_product && std::min({g->m, g->n, g->k}) >= 2048)
                reached.push_back(flops / seconds / kernel_rates(*row->device, format).peak);
        } else if (auto const* a = std::get_if<Attention>(&row->row.what)) {
            double const flops = work_of(Op{.name = "attention", .what = *a}, Pass::forward).executed.base();
            if (flops >= large_attention && a->head_dim == 128 && a->keys >= 2048)
                reached.push_back(flops / seconds / kernel_rates(*row->device, two_byte_precision(*row->device)).peak);
        }
    }
    if (reached.size() < 5) return 0;
    std::sort(reached.begin(), reached.end());
    double const usual = quantile(reached, 0.5);
    constexpr double most = 1.2;  // assumed: a boost clock above the stated one
    if (usual > most)
        throw InputError("fit of {} {}: large shapes run at {:.2f} times the peak of {} (are the rows of this device?)",
                         name_of(rows.front()->kind), rows.front()->variant, usual, rows.front()->device->name);
    return usual;
}

}  // namespace sextant
