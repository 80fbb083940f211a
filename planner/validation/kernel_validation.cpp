#include "planner/validation/kernel_validation.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hardware_json.hpp"
#include "cost_models/kernel_time.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

AcceleratorProfile accelerator_from(std::string const& profile) {
    if (profile.ends_with(".json")) return read_accelerator(ObjectReader(JsonDocument::from_file(profile)));
    return find_accelerator(profile, "--profile");
}

/// By what the model says, so that a group does not select rows by their error.
RowGroup duration_group(Seconds time) {
    struct Band {
        Seconds below;
        char const* name;
    };
    constexpr Band bands[] = {{10 * units::us, "below 10 us"},
                              {100 * units::us, "10 to 100 us"},
                              {1 * units::ms, "0.1 to 1 ms"},
                              {10 * units::ms, "1 to 10 ms"}};
    int order = 0;
    for (Band const& band : bands) {
        if (time < band.below) return {.by = "predicted time", .order = order, .name = band.name};
        ++order;
    }
    return {.by = "predicted time", .order = order, .name = "10 ms and more"};
}

}  // namespace

FrameworkTiming kernel_alone() {
    FrameworkTiming timing;
    timing.generation = "*";
    timing.precision = "*";
    Sourced<double> const one{.value = 1, .basis = Basis::measured, .source = "a kernel that runs alone"};
    timing.gemm_scale = one;
    timing.grouped_gemm_scale = one;
    timing.attention_scale = one;
    timing.memory_scale = one;
    timing.activation_passes = one;
    return timing;
}

KernelEstimate predicted_time(KernelCase const& c, AcceleratorProfile const& accelerator) {
    static FrameworkTiming const alone = kernel_alone();
    struct Visitor {
        KernelCase const& c;
        AcceleratorProfile const& accelerator;

        KernelEstimate operator()(Gemm const& g) const {
            if (!accelerator.peak.contains(g.precision))
                throw RowSkip(fmt::format("{} has no {} products", accelerator.name, name_of(g.precision)));
            return estimate_product({.groups = 1, .m = g.m, .n = g.n, .k = g.k}, *find_gemm_format(c.variant),
                                    accelerator, {.cache = CacheState::hot}, Quantising::included);
        }
        KernelEstimate operator()(Attention const& a) const {
            if (!c.variant.empty()) return estimate_prefill(a, c.variant, accelerator, {});
            Seconds time = attention_time(a, Pass::forward, accelerator, alone);
            if (c.with_backward) time += attention_time(a, Pass::backward, accelerator, alone);
            KernelEstimate const fused = estimate_prefill(a, "bf16/bf16", accelerator, {});
            return {
                .time = time, .factors = {0.6, 1.6}, .support = fused.support};  // assumed: another library's kernel
        }
        KernelEstimate operator()(DecodeAttention const& a) const {
            return estimate_decode(a, c.variant, accelerator, CacheState::hot);
        }
    };
    return std::visit(Visitor{c, accelerator}, c.what);
}

KernelPredictor::KernelPredictor(std::string const& profile) {
    if (!profile.empty()) profile_ = accelerator_from(profile);
}

ScoredRow KernelPredictor::predict(KernelTable kind, RowCells const& row) const {
    ScoredRow out{.source = row.text("source_ref"), .groups = {}, .prediction = {}};
    RowPrediction& p = out.prediction;
    try {
        KernelCase c = kernel_case(kind, row);
        AcceleratorProfile const* const accelerator = profile_ ? &*profile_ : known_accelerator(c.device);
        if (accelerator == nullptr) throw RowSkip(fmt::format("no profile for device '{}'", c.device.substr(0, 60)));
        KernelEstimate const estimate = predicted_time(c, *accelerator);
        p.time = estimate.time;
        p.interval = {.low = estimate.factors.low, .high = estimate.factors.high};
        p.measured_time = c.measured;
        p.assumptions = std::move(c.assumptions);
        out.groups = {{.by = "kernel", .order = 0, .name = c.kind},
                      {.by = "kernel on device", .order = 0, .name = fmt::format("{}, {}", c.kind, accelerator->name)},
                      duration_group(*p.time)};
    } catch (RowSkip const& skip) {
        p = {};
        p.skip_reason = skip.what();
    }
    return out;
}

std::vector<ScoredRow> KernelPredictor::predict(CsvTable const& table) const {
    KernelTable const kind = kernel_table_of(table);
    std::vector<ScoredRow> out;
    out.reserve(table.records.size());
    for (CsvRecord const& record : table.records)
        out.push_back(predict(kind, RowCells(table, record)));
    return out;
}

}  // namespace sextant
