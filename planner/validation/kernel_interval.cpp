#include "planner/validation/kernel_interval.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "planner/validation/kernel_validation.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace sextant {
namespace {

/// The interval of a measurement by others than those of the fit.
TimeInterval widened(TimeInterval factors) {
    auto const farther = [](double factor) { return std::hypot(std::log(factor), spread_between_benchmarks); };
    return {.low = std::exp(-farther(factors.low)), .high = std::exp(farther(factors.high))};
}

TimeInterval united(TimeInterval a, TimeInterval b) {
    return {.low = std::min(a.low, b.low), .high = std::max(a.high, b.high)};
}

/// A kernel as one shipped device takes it.
struct Elsewhere {
    std::string_view generation;
    TimeInterval factors;
};

bool is_from_device(KernelSupport support) {
    return support == KernelSupport::measured || support == KernelSupport::extended ||
           support == KernelSupport::by_format;
}

/// On each shipped device on which it was measured, of this generation where one is.
std::vector<Elsewhere> measured_elsewhere(KernelCase const& c, std::string const& generation) {
    std::vector<Elsewhere> out;
    for (AcceleratorProfile const& device : all_accelerators()) {
        if (!device.kernels || device.kernels->is_class()) continue;
        try {
            KernelEstimate const there = predicted_time(c, device);
            if (is_from_device(there.support)) out.push_back({device.generation, there.factors});
        } catch (RowSkip const&) {  // it has no such kernel
        } catch (InputError const&) {
        }
    }
    auto const is_other = [&](Elsewhere const& there) { return there.generation != generation; };
    if (!std::all_of(out.begin(), out.end(), is_other)) std::erase_if(out, is_other);
    return out;
}

/// Of the class of any device, the fit of this kind that stands on the most generations.
std::optional<TimeInterval> interval_across_generations(KernelCase const& c) {
    auto const any = shipped_kernel_calibration("class-any");
    if (!any) return std::nullopt;
    KernelFit const* fit = nullptr;
    if (std::holds_alternative<Gemm>(c.what)) fit = any->find(KernelKind::gemm, "bf16");
    if (std::holds_alternative<Attention>(c.what)) fit = any->find(KernelKind::prefill, "bf16/bf16");
    if (auto const* decode = std::get_if<DecodeAttention>(&c.what))
        fit = any->find(KernelKind::decode, "bf16/bf16/" + std::string(name_of(sharing_of(*decode))));
    return fit != nullptr ? std::optional(fit->outside) : std::nullopt;
}

TimeInterval with_those_elsewhere(TimeInterval factors, KernelCase const& c, std::string const& generation) {
    auto const elsewhere = measured_elsewhere(c, generation);
    for (Elsewhere const& there : elsewhere)
        factors = united(factors, there.factors);
    bool const one_other = !elsewhere.empty() && elsewhere.front().generation != generation &&
                           std::all_of(elsewhere.begin(), elsewhere.end(), [&](Elsewhere const& there) {
                               return there.generation == elsewhere.front().generation;
                           });
    auto const across = one_other ? interval_across_generations(c) : std::nullopt;
    return across ? united(factors, *across) : factors;
}

}  // namespace

TimeInterval row_interval(KernelCase const& c, KernelEstimate const& estimate, AcceleratorProfile const& accelerator,
                          MeasuredBy who) {
    if (who == MeasuredBy::source_of_fit) return estimate.factors;
    bool const is_assumed =
        estimate.support == KernelSupport::assumed || c.latent || is_of_other_library(c, accelerator);
    if (is_assumed) return estimate.factors;
    if (estimate.support != KernelSupport::by_class) return widened(estimate.factors);
    return widened(with_those_elsewhere(estimate.factors, c, generation_of_kernels(c, accelerator)));
}

}  // namespace sextant
