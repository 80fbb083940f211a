#include "cli/calibrate/calibration_times.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/nearest.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/collective_time.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/kernel_time.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>

namespace sextant::cli {
namespace {

constexpr std::array<std::int64_t, 5> rows_of_products{1, 16, 128, 1024, 8192};
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 4> weights{
    {{4096, 4096}, {14336, 4096}, {4096, 14336}, {1024, 8192}}};
constexpr std::array<std::array<std::int64_t, 3>, 8> host_products{{{16, 16, 16},
                                                                    {64, 64, 64},
                                                                    {256, 256, 256},
                                                                    {1024, 1024, 1024},
                                                                    {1, 4096, 4096},
                                                                    {16, 4096, 1024},
                                                                    {128, 512, 2048},
                                                                    {2048, 512, 64}}};

/// The heads that a decode variant "bf16/bf16/grouped" stands for.
std::pair<std::int64_t, std::int64_t> heads_of(std::string const& variant) {
    if (variant.ends_with("/single")) return {32, 32};
    return variant.ends_with("/unshared") ? std::pair<std::int64_t, std::int64_t>{64, 1}
                                          : std::pair<std::int64_t, std::int64_t>{32, 8};
}

class KernelGrid {
public:
    KernelGrid(AcceleratorProfile const& device, KernelFit const& fit) : device_(device), fit_(fit) {}

    std::vector<GridTime> times() {
        switch (fit_.kind) {
            case KernelKind::gemm:
                for (auto const& [n, k] : weights)
                    for (std::int64_t const m : rows_of_products)
                        product(m, n, k);
                break;
            case KernelKind::host_gemm:
                for (auto const& [m, n, k] : host_products)
                    product(m, n, k);
                break;
            case KernelKind::prefill: prefill(); break;
            case KernelKind::decode: decode(); break;
            case KernelKind::memory:
                for (double bytes = 65536; bytes < 8e9; bytes *= 8)
                    add(human(bytes * units::B),
                        estimate_memory_kernel(bytes * units::B, fit_.variant, device_, CacheState::cold));
                break;
        }
        return std::move(out_);
    }

private:
    void add(std::string shape, KernelEstimate const& estimate) {
        out_.push_back({.part = fmt::format("{} {}", name_of(fit_.kind), fit_.variant),
                        .shape = std::move(shape),
                        .time = estimate.time});
    }
    void product(std::int64_t m, std::int64_t n, std::int64_t k) {
        GemmFormat const* const format = find_gemm_format(fit_.variant);
        if (format == nullptr || !device_.multiplies(*format)) return;
        add(fmt::format("{} x {} x {}", m, n, k),
            estimate_product({.groups = 1, .m = m, .n = n, .k = k}, *format, device_, {.cache = CacheState::hot}));
    }
    void prefill() {
        for (std::int64_t const tokens : {128, 1024, 4096, 16384})
            for (std::int64_t const batch : {1, 8})
                add(fmt::format("batch {}, {} tokens", batch, tokens), estimate_prefill({.batch = batch,
                                                                                         .heads = 32,
                                                                                         .kv_heads = 8,
                                                                                         .queries = tokens,
                                                                                         .keys = tokens,
                                                                                         .head_dim = 128,
                                                                                         .value_head_dim = 128},
                                                                                        fit_.variant, device_, {}));
    }
    void decode() {
        auto const slash = fit_.variant.rfind('/');
        std::string const variant = fit_.variant.substr(0, slash);
        auto const [heads, kv_heads] = heads_of(fit_.variant);
        double const bytes = variant.ends_with("fp8") ? 1 : 2;
        for (std::int64_t const tokens : {512, 4096, 32768})
            for (std::int64_t const batch : {1, 16, 128})
                add(fmt::format("batch {}, {} tokens", batch, tokens),
                    estimate_decode({.batch = batch,
                                     .heads = heads,
                                     .kv_heads = kv_heads,
                                     .keys = tokens,
                                     .head_dim = 128,
                                     .cache_bytes = bytes},
                                    variant, device_, CacheState::hot));
    }
    AcceleratorProfile const& device_;
    KernelFit const& fit_;
    std::vector<GridTime> out_;
};

struct Times {
    std::string const& machine;

    std::vector<GridTime> operator()(KernelCalibration const& file) const {
        AcceleratorProfile device = find_accelerator(machine, "--on");
        device.kernels = std::make_shared<KernelCalibration const>(file);
        std::vector<GridTime> out;
        for (KernelFit const& fit : device.kernels->fits)
            for (GridTime& time : KernelGrid(device, fit).times())
                out.push_back(std::move(time));
        return out;
    }

    std::vector<GridTime> operator()(NetworkCalibration const& file) const {
        ClusterSpec cluster = find_cluster(machine, "--on");
        apply_network_calibration(cluster, file, all_network_calibrations());
        std::vector<std::int64_t> groups;
        if (file.scale_up) groups.push_back(cluster.domain_size);
        if (file.scale_out) groups.insert(groups.end(), {2 * cluster.domain_size, 8 * cluster.domain_size});
        std::vector<GridTime> out;
        for (std::int64_t const size : groups)
            for (CollectiveKind const kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                              CollectiveKind::reduce_scatter, CollectiveKind::all_to_all}) {
                GroupPlacement const group = place_group(size, 1, cluster.domain_size);
                CollectiveCurve const curve = collective_curve(cluster, kind, group);
                for (double bytes = 1024; bytes < 2e9; bytes *= 16)
                    out.push_back({.part = fmt::format("{}, {} ranks", name_of(kind), size),
                                   .shape = human(bytes * units::B),
                                   .time = curve.time(bytes * units::B)});
            }
        return out;
    }

    std::vector<GridTime> operator()(FrameworkProfile const& file) const {
        AcceleratorProfile const device = find_accelerator(machine, "--on");
        std::vector<GridTime> out;
        for (Precision const precision : {Precision::bf16, Precision::fp8}) {
            if (!device.peak.contains(precision)) continue;
            FrameworkTiming const& timing = timing_for(file, device.generation, precision);
            std::string const what = fmt::format(", {}", name_of(precision));
            for (auto const& [n, k] : weights)
                out.push_back({.part = "products" + what,
                               .shape = fmt::format("8192 x {} x {}", n, k),
                               .time = gemm_time(8192, n, k, precision, device, timing)});
            for (std::int64_t const tokens : {2048, 8192})
                out.push_back({.part = "attention" + what,
                               .shape = fmt::format("{} tokens", tokens),
                               .time = attention_time({.batch = 1,
                                                       .heads = 32,
                                                       .kv_heads = 8,
                                                       .queries = tokens,
                                                       .keys = tokens,
                                                       .head_dim = 128,
                                                       .value_head_dim = 128},
                                                      Pass::forward, device, timing)});
            for (double bytes = 1e6; bytes < 2e9; bytes *= 30)
                out.push_back({.part = "element-wise kernels" + what,
                               .shape = human(bytes * units::B),
                               .time = streaming_time(bytes * units::B, 1, device, timing)});
        }
        return out;
    }
};

}  // namespace

std::string machine_of(CalibrationFile const& file, std::string const& on) {
    if (!on.empty()) return on;
    if (auto const* kernels = std::get_if<KernelCalibration>(&file)) {
        for (std::string const& device : kernels->devices)
            if (known_accelerator(device) != nullptr) return device;
        for (AcceleratorProfile const& device : all_accelerators())
            if (kernels->is_class() && (kernels->generation == "*" || kernels->generation == device.generation))
                return device.name;
        return "";
    }
    if (auto const* network = std::get_if<NetworkCalibration>(&file)) {
        auto const first_of = [](auto const& section) {
            if (section)
                for (std::string const& cluster : section->scope.clusters)
                    if (known_cluster(cluster) != nullptr) return cluster;
            return std::string();
        };
        std::string const up = first_of(network->scale_up);
        return up.empty() ? first_of(network->scale_out) : up;
    }
    return "h100-sxm";  // a framework's constants hold for many devices
}

std::string fitted_to_others(CalibrationFile const& file, std::string const& machine) {
    auto const others = [](std::vector<std::string> const& names, std::string const& generation,
                           std::string const& name, std::string const& its_generation) {
        if (!names.empty()) return is_one_of(names, name) ? "" : join(names);
        return generation == "*" || generation == its_generation ? "" : generation + " devices";
    };
    if (auto const* kernels = std::get_if<KernelCalibration>(&file)) {
        AcceleratorProfile const device = find_accelerator(machine, "--on");
        return others(kernels->devices, kernels->generation, device.name, device.generation);
    }
    if (auto const* network = std::get_if<NetworkCalibration>(&file)) {
        ClusterSpec const cluster = find_cluster(machine, "--on");
        auto const of = [&](auto const& section) {
            return section ? others(section->scope.clusters, section->scope.generation, cluster.name,
                                    cluster.accelerator.generation)
                           : std::string();
        };
        std::string const up = of(network->scale_up);
        return up.empty() ? of(network->scale_out) : up;
    }
    return "";  // a framework's constants hold for many devices
}

std::vector<GridTime> grid_times(CalibrationFile const& file, std::string const& machine) {
    return std::visit(Times{machine}, file);
}

}  // namespace sextant::cli
