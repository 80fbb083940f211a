#include "planner/validation/kernel_validation.hpp"

#include "core/error.hpp"
#include "core/measurements/source_name.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "cost_models/kernel_limits.hpp"
#include "cost_models/kernel_time.hpp"
#include "cost_models/training_attention.hpp"
#include "planner/validation/kernel_doubts.hpp"
#include "planner/validation/kernel_interval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {
namespace {

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

char const* what_it_stands_on(KernelSupport support) {
    switch (support) {
        case KernelSupport::measured: return "measurements around this shape";
        case KernelSupport::extended: return "measurements of this device at other shapes";
        case KernelSupport::by_format: return "measurements of this device in the other 16-bit format";
        case KernelSupport::by_class: return "measurements of other devices or kernels";
        case KernelSupport::assumed: return "no measurement";
    }
    return "?";
}

/// What `attention_time` stands on: a fit of a training library's kernel, else of a serving engine's; of attention op
/// by op, products and passes over memory.
KernelSupport support_of_training_attention(Attention const& a, AcceleratorProfile const& accelerator) {
    if (a.kernel != AttentionKernel::flash) return KernelSupport::by_class;
    return estimate_prefill(a, "bf16/bf16", accelerator, {.library = AttentionLibrary::training}).support;
}

constexpr int last_of_source = 1;  ///< the order of the last split that has rows of the fit's source

/// The kind of kernel and the variant under which a fit of this row would stand.
std::pair<KernelKind, std::string> fit_key(KernelCase const& c, AcceleratorProfile const& accelerator) {
    if (std::holds_alternative<Gemm>(c.what)) return {product_kind(accelerator), c.variant};
    if (std::holds_alternative<Attention>(c.what)) return {KernelKind::prefill, c.variant};
    if (auto const* decode = std::get_if<DecodeAttention>(&c.what))
        return {KernelKind::decode,
                fmt::format("{}/{}", c.variant, c.latent ? "latent" : name_of(sharing_of(*decode)))};
    return {KernelKind::memory, c.variant};
}

}  // namespace

std::string generation_of_kernels(KernelCase const& c, AcceleratorProfile const& accelerator) {
    auto const [kind, variant] = fit_key(c, accelerator);
    return kernel_class(accelerator, kind, variant).substr(std::string_view("class-").size());
}

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

namespace {

/// assumed: eight ninths are the latent and the rest is the rotated part, as of DeepSeek's 576 and MiniCPM3's 288
LatentDecode latent_of(DecodeAttention const& a) {
    std::int64_t const rank = a.head_dim * 8 / 9;
    return {.batch = a.batch,
            .heads = a.heads,
            .keys = a.keys,
            .kv_rank = rank,
            .rope_head_dim = a.head_dim - rank,
            .cache_bytes = a.cache_bytes};
}

/// FlashAttention-2 needs Ampere's instructions, or AMD's port of it (README of Dao-AILab/flash-attention).
bool runs_flash_2(AcceleratorProfile const& accelerator) {
    constexpr std::array<std::string_view, 3> earlier{"pascal", "volta", "turing"};
    bool const is_earlier = std::find(earlier.begin(), earlier.end(), accelerator.generation) != earlier.end();
    return accelerator.vendor == "AMD" || (accelerator.vendor == "NVIDIA" && !is_earlier);
}

bool has_own_fit(KernelCase const& c, AcceleratorProfile const& accelerator) {
    auto const& own = accelerator.kernels;
    return own && !own->is_class() && own->find(KernelKind::prefill, c.variant) != nullptr;
}

/// Of a kernel that no fit is of: what a step's attention takes, of FlashAttention-2 with Ampere's instructions; on
/// Blackwell, assumed, at Hopper's share.
Seconds training_time(Attention const& a, Pass pass, std::string_view library, AcceleratorProfile const& accelerator) {
    bool const is_flash = a.kernel == AttentionKernel::flash && library == flash_attention_2;
    if (is_flash)
        if (auto const measured = estimate_training_attention(a, pass, accelerator, 1, library)) return measured->time;
    FrameworkTiming timing = kernel_alone();
    if (is_flash && has_later_instructions(accelerator)) timing.attention_scale.value = ampere_attention_on_hopper;
    return attention_time(a, pass, accelerator, timing);
}

}  // namespace

bool is_of_other_library(KernelCase const& c, AcceleratorProfile const& accelerator) {
    bool const is_of_training = std::holds_alternative<Attention>(c.what) && (c.variant.empty() || !c.library.empty());
    return is_of_training && !has_own_fit(c, accelerator);
}

KernelEstimate predicted_time(KernelCase const& c, AcceleratorProfile const& accelerator) {
    struct Visitor {
        KernelCase const& c;
        AcceleratorProfile const& accelerator;

        KernelEstimate operator()(Gemm const& g) const {
            GemmFormat const format = product_format(c);
            if (!accelerator.multiplies(format))
                throw RowSkip(fmt::format("{} has no {} products", accelerator.name, format.name));
            double const rate = row_share(g.n, g.k, format.left, format.precision, accelerator);
            return estimate_product({.groups = c.products, .m = g.m, .n = g.n, .k = g.k}, format, accelerator,
                                    {.cache = c.cache, .rate = rate},
                                    c.quantised == Quantised::with_product ? Quantising::included : Quantising::apart);
        }
        KernelEstimate operator()(Attention const& a) const {
            if (c.variant.starts_with("fp8/") && !accelerator.peak.contains(Precision::fp8))
                throw RowSkip(fmt::format("{} has no fp8 attention", accelerator.name));
            if (c.library == flash_attention_3 && accelerator.generation != "hopper")
                throw RowSkip(fmt::format("{} has not the instructions of FlashAttention-3", accelerator.name));
            if (c.library == flash_attention_2 && !runs_flash_2(accelerator))
                throw RowSkip(fmt::format("FlashAttention-2 does not run on {}", accelerator.name));
            if (!is_of_other_library(c, accelerator))
                return estimate_prefill(a, c.variant, accelerator,
                                        measured_use(c.variant, timed_work(c.passes), accelerator));
            Seconds time;
            if (c.passes != TimedPasses::backward) time += training_time(a, Pass::forward, c.library, accelerator);
            if (c.passes != TimedPasses::forward) time += training_time(a, Pass::backward, c.library, accelerator);
            return {.time = time,
                    .factors = other_library_factors,
                    .support = support_of_training_attention(a, accelerator)};
        }
        KernelEstimate operator()(DecodeAttention const& a) const {
            if (c.latent) return estimate_latent_decode(latent_of(a), c.variant, accelerator, c.cache);
            return estimate_decode(a, c.variant, accelerator, c.cache);
        }
        KernelEstimate operator()(MemoryKernel const& k) const {
            return estimate_memory_kernel(k.moved, c.variant, accelerator, c.cache);
        }
    };
    return std::visit(Visitor{c, accelerator}, c.what);
}

RowGroup split_of(KernelCase const& c, AcceleratorProfile const& accelerator) {
    auto const group = [](int order, char const* name) {
        return RowGroup{.by = "split", .order = order, .name = name};
    };
    auto const& own = accelerator.kernels;
    auto const [kind, variant] = fit_key(c, accelerator);
    KernelFit const* const fit = own && !own->is_class() ? own->find(kind, variant) : nullptr;
    if (fit == nullptr || c.products > 1) return group(3, "kernel not measured on this device");
    auto const& sources = fit->sources.empty() ? own->sources : fit->sources;
    auto const is_source = [source = source_name(c.source)](std::string const& of_fit) {
        return source_name(of_fit) == source;
    };
    if (std::none_of(sources.begin(), sources.end(), is_source))
        return group(last_of_source + 1, "measured by others than the fit's source");
    // A fit says which shapes it has seen; one that does not may have seen all but those that none sees.
    auto const& seen = fit->seen;
    bool const fitted = seen.empty() ? !is_held_out(c) : std::binary_search(seen.begin(), seen.end(), shape_mark(c));
    return !fitted ? group(0, "held out of the fit") : group(last_of_source, "fitted");
}

KernelPredictor::KernelPredictor(std::string const& profile, std::string const& calibration) {
    if (!profile.empty()) profile_ = find_accelerator(profile, "--profile");
    if (calibration.empty()) return;
    auto const fitted = std::make_shared<KernelCalibration const>(read_kernel_calibration_file(calibration));
    if (profile_) {
        auto const& devices = fitted->devices;
        if (!fitted->is_class() && std::find(devices.begin(), devices.end(), profile_->name) == devices.end())
            throw InputError("{}: is of {}, not of {} (give a calibration of that device, or leave the device out)",
                             calibration, devices.front(), profile_->name);
        profile_->kernels = fitted;
        return;
    }
    if (fitted->is_class())
        throw InputError(
            "{}: is of a class of devices (name one: 'validate kernels --profile NAME', 'calibrate report --device "
            "NAME')",
            calibration);
    for (std::string const& device : fitted->devices) {
        AcceleratorProfile const* const known = known_accelerator(device);
        if (known == nullptr)
            throw InputError(
                "{}: is of '{}', which does not ship (name its file: 'validate kernels --profile {}.json', "
                "'calibrate report --device {}.json')",
                calibration, device, device, device);
        calibrated_.push_back(*known);
        calibrated_.back().kernels = fitted;
    }
}

AcceleratorProfile const* KernelPredictor::accelerator_of(std::string const& device) const {
    if (profile_) return &*profile_;
    AcceleratorProfile const* const known = known_accelerator(device);
    for (AcceleratorProfile const& calibrated : calibrated_)
        if (known != nullptr && calibrated.name == known->name) return &calibrated;
    return known;
}

ScoredRow KernelPredictor::predict(KernelTable kind, RowCells const& row, std::optional<KernelCase>& read) const {
    ScoredRow out{.source = row.text("source_ref"), .groups = {}, .prediction = {}};
    if (out.source.empty() && kind == KernelTable::bench) out.source = "sextant-bench " + row.text("backend");
    RowPrediction& p = out.prediction;
    try {
        KernelCase c = kernel_case(kind, row, profile_ ? profile_->name : "");
        AcceleratorProfile const* const accelerator = accelerator_of(c.device);
        if (accelerator == nullptr) throw RowSkip(fmt::format("no profile for device '{}'", c.device.substr(0, 60)));
        auto const is_it = [&](AcceleratorProfile const& calibrated) { return &calibrated == accelerator; };
        if (!calibrated_.empty() && std::none_of(calibrated_.begin(), calibrated_.end(), is_it))
            throw RowSkip(fmt::format("of another device than the calibration ({})", accelerator->name));
        KernelEstimate const estimate = predicted_time(c, *accelerator);
        AcceleratorProfile const* const named = known_accelerator(c.device);
        bool const is_of_device = named == nullptr || named->name == accelerator->name;
        if (is_of_device && !why_too_fast(c, *accelerator).empty())
            throw RowSkip("faster than the device can be: is the time in another unit?");
        p.time = estimate.time;
        RowGroup const split = split_of(c, *accelerator);
        TimeInterval factors = row_interval(
            c, estimate, *accelerator, split.order <= last_of_source ? MeasuredBy::source_of_fit : MeasuredBy::others);
        factors.low = std::max(factors.low, std::min(1.0, estimate.least / estimate.time));
        p.interval = {.low = factors.low, .high = factors.high};
        p.measured_time = c.measured;
        p.assumptions = c.assumptions;
        if (estimate.support != KernelSupport::measured)
            out.doubt = fmt::format("the model stands on: {}", what_it_stands_on(estimate.support));
        out.what = fmt::format("{}, {}", kernel_text(c), accelerator->name);
        out.groups = {split,
                      {.by = "kernel", .order = 0, .name = c.kind},
                      {.by = "kernel on device", .order = 0, .name = fmt::format("{}, {}", c.kind, accelerator->name)},
                      duration_group(*p.time)};
        read = std::move(c);
    } catch (RowSkip const& skip) {
        p = {};
        p.skip_reason = skip.what();
        p.unreadable = skip.place();
    }
    return out;
}

std::vector<ScoredRow> KernelPredictor::predict(CsvTable const& table) const {
    KernelTable const kind = kernel_table_of(table);
    std::vector<ScoredRow> out;
    out.reserve(table.records.size());
    std::vector<std::optional<KernelCase>> cases(table.records.size());
    for (std::size_t i = 0; i < table.records.size(); ++i)
        out.push_back(predict(kind, RowCells(table, table.records[i]), cases[i]));
    std::vector<std::string> const doubts = kernel_doubts(cases);
    for (std::size_t i = 0; i < out.size(); ++i)
        if (!doubts[i].empty()) out[i].doubt = doubts[i];
    return out;
}

}  // namespace sextant
