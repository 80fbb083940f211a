#include "calibrate/kernel_measurement.hpp"

#include "cost_models/kernel_estimate.hpp"
#include "cost_models/training_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <variant>

namespace sextant {

std::optional<KernelMeasurement> kernel_measurement(KernelCase const& row, AcceleratorProfile const& device) {
    if (!row.measured || row.variant.empty() || row.latent || row.products > 1) return std::nullopt;
    KernelMeasurement out{.row = row, .device = &device, .kind = KernelKind::gemm, .variant = row.variant};
    if (std::holds_alternative<Gemm>(row.what)) {
        if (!device.multiplies(*find_gemm_format(row.variant))) return std::nullopt;
        out.kind = product_kind(device);
    } else if (std::holds_alternative<MemoryKernel>(row.what)) {
        out.kind = KernelKind::memory;
    } else if (auto const* attention = std::get_if<Attention>(&row.what)) {
        if (attention->window > 0) return std::nullopt;  // the grids are of kernels without
        out.kind = KernelKind::prefill;
    } else {
        out.kind = KernelKind::decode;
        out.variant += fmt::format("/{}", name_of(sharing_of(std::get<DecodeAttention>(row.what))));
    }
    return out;
}

namespace {

/// Keys and values that a decode reads, each once; 0 for other kernels.
double cache_bytes_of(KernelMeasurement const& row) {
    auto const* shape = std::get_if<DecodeAttention>(&row.row.what);
    return shape != nullptr ? cache_bytes(*shape).base() : 0;
}

}  // namespace

bool outruns_memory(std::vector<KernelMeasurement> const& rows) {
    constexpr double several = 4;
    std::size_t large = 0, faster = 0;
    for (KernelMeasurement const& row : rows) {
        double const bytes = cache_bytes_of(row);
        if (bytes <= several * row.device->l2.value.base()) continue;
        ++large;
        if (bytes / row.row.measured->base() > row.device->memory_bandwidth.value.base()) ++faster;
    }
    return faster > 0 && 4 * faster >= large;
}

std::vector<KernelGroup> group_kernels(std::vector<KernelMeasurement> const& rows) {
    std::vector<KernelGroup> groups;
    for (KernelMeasurement const& row : rows) {
        auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](KernelGroup const& g) { return g.kind == row.kind && g.variant == row.variant; });
        if (found == groups.end())
            found = groups.insert(groups.end(), {.kind = row.kind, .variant = row.variant, .rows = {}});
        found->rows.push_back(row);
    }
    std::sort(groups.begin(), groups.end(),
              [](auto const& a, auto const& b) { return std::tie(a.kind, a.variant) < std::tie(b.kind, b.variant); });
    return groups;
}

double model_seconds(KernelMeasurement const& row, std::span<double const> constants) {
    AcceleratorProfile const& device = *row.device;
    struct Visitor {
        KernelMeasurement const& row;
        AcceleratorProfile const& device;
        std::span<double const> constants;

        Seconds operator()(Gemm const& g) const {
            GemmFormat const format = product_format(row.row);
            GemmShape const shape{.groups = 1, .m = g.m, .n = g.n, .k = g.k};
            KernelRates const rates = kernel_rates(device, format);
            if (row.kind == KernelKind::host_gemm)
                return host_gemm_model(shape, format, rates, constants, {.cache = row.row.cache});
            Seconds time = gemm_model(shape, format, rates, constants,
                                      {.cache = row.row.cache, .rate = row_share(g.n, g.k, format.left)});
            if (format.quantises && row.row.quantised == Quantised::with_product)
                time += quantise_model(shape, rates, constants);
            return time;
        }
        Seconds operator()(Attention const& a) const {
            return prefill_model(a, kernel_rates(device, two_byte_precision(device)), constants,
                                 measured_use(row.variant, timed_work(row.row.passes), device));
        }
        Seconds operator()(DecodeAttention const& a) const {
            return decode_model(a, kernel_rates(device, two_byte_precision(device)), constants, row.row.cache);
        }
        Seconds operator()(MemoryKernel const& k) const {
            return memory_model(k.moved, kernel_rates(device, two_byte_precision(device)), constants, row.row.cache);
        }
    };
    return std::visit(Visitor{row, device, constants}, row.row.what).base();
}

}  // namespace sextant
