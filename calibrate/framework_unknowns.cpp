#include "calibrate/framework_unknowns.hpp"

#include "calibrate/framework_fit.hpp"
#include "core/error.hpp"
#include "core/spec/framework_fields.hpp"
#include "cost_models/kernel_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace sextant {

double get_constant(FrameworkTiming const& timing, std::string_view key) {
    for (auto const& field : timing_numbers)
        if (field.key == key) return (timing.*field.member).value;
    for (auto const& field : timing_times)
        if (field.key == key) return (timing.*field.member).value.base();
    throw InputError("framework constant '{}' is unknown", key);
}

void set_constant(FrameworkTiming& timing, std::string_view key, double value) {
    for (auto const& field : timing_numbers)
        if (field.key == key) (timing.*field.member).value = std::min(value, field.most);
    for (auto const& field : timing_times)
        if (field.key == key) (timing.*field.member).value = value * units::s;
}

Execution execution_of(std::string const& framework) {
    if (framework == "megatron" || framework == "generic") return Execution::fused;
    if (framework == "torchtitan" || framework == "maxtext") return Execution::compiled;
    return Execution::eager;
}

std::vector<TimingConstant> expected_factors(std::vector<FrameworkFit const*> const& others) {
    std::map<std::array<std::string, 3>, std::pair<double, double>> sums;  // logarithms, and the weights
    for (FrameworkFit const* other : others)
        for (TimingConstant const& c : other->constants) {
            bool const scale = c.key == "gemm_scale" || c.key == "attention_scale" || c.key == "memory_scale";
            if (!c.is_factor || !scale) continue;
            auto& [sum, weight] = sums[{c.key, c.generation, c.precision}];
            sum += static_cast<double>(c.sources) * std::log(c.value);
            weight += static_cast<double>(c.sources);
        }
    std::vector<TimingConstant> expected;
    for (auto const& [name, total] : sums)
        expected.push_back({.key = name[0],
                            .generation = name[1],
                            .precision = name[2],
                            .is_factor = true,
                            .value = std::exp(total.first / (total.second + 1))});
    return expected;
}

std::vector<TimingConstant> known_otherwise(std::string const& framework) {
    // PyTorch's scaled_dot_product_attention is FlashAttention-2.
    if (framework == "fsdp" || framework == "torchtitan")
        return {{.key = "attention_scale",
                 .generation = "hopper",
                 .is_factor = true,
                 .value = ampere_attention_on_hopper,
                 .spread = 0.15}};  // assumed: newer releases have kernels of Hopper's own
    // XLA's program of a step launches layers with experts as it does any others.
    if (framework == "maxtext") return {{.key = "moe_floor_forward", .value = 84e-6, .spread = 0.5}};
    if (framework != "megatron") return {};
    // 41 steps of dense models on DGX H100 are 16 ms and 3.7 ms for each layer and microbatch, forward and backward
    // (least squares, median residual 9 %), where 1.35 and 1.95 ms are expected of any fused framework. The same on
    // DGX A100 (98 steps) is 5.3 ms, on GB200 (37) 5.6; no step that is fitted waits for a host on Hopper, while those
    // on the other two tell of older releases and of launches from graphs (docs/step-time.md). They say so of their own
    // generation: what is expected of any other, and what Hopper is a multiple of, stays.
    constexpr double hopper = 3.7 / (1.35 + 1.95);
    constexpr double spread = 0.15;  // assumed: the residual, and what the tests' own 16 ms may hide
    std::vector<TimingConstant> out;
    for (auto const& [key, any] :
         {std::pair{"host_floor_forward", 1.35e-3}, std::pair{"host_floor_backward", 1.95e-3}}) {
        out.push_back({.key = key, .value = any, .spread = spread});
        out.push_back({.key = key, .generation = "hopper", .is_factor = true, .value = hopper, .spread = spread});
    }
    // Of models with experts 24 steps on DGX H100 are 8.4 ms a layer, 32 on DGX A100 8.3 (residual 21 %, and as many
    // differ in how experts are called); twice as long backward as forward.
    constexpr char const* experts = "moe_floor_forward";
    constexpr double widely = 0.25;
    out.push_back({.key = experts, .value = 8.4e-3 / 3, .spread = widely});
    out.push_back({.key = experts, .generation = "hopper", .is_factor = true, .value = 1, .spread = widely});
    return out;
}

std::vector<TimingConstant> known_constants(FrameworkProfile const& known) {
    double const closer = std::sqrt(0.5);
    std::vector<TimingConstant> out;
    for (UnknownSpec const& spec : unknown_specs) {
        FrameworkTiming const& any = known.timing.front();
        double value = get_constant(any, spec.key);
        if (!spec.relative_to.empty()) value /= get_constant(any, spec.relative_to);
        if (!(value >= spec.low)) continue;  // a profile that never saw experts says nothing of them
        if (spec.scope == FrameworkScope::releases) {
            auto const entry = std::find_if(known.timing.begin(), known.timing.end(), [&](FrameworkTiming const& t) {
                return t.precision == spec.of_precision &&
                       (spec.of_generation == "*" || t.generation == spec.of_generation);
            });
            if (entry != known.timing.end())
                out.push_back({.key = std::string(spec.key),
                               .generation = std::string(spec.of_generation),
                               .precision = std::string(spec.of_precision),
                               .value = get_constant(*entry, spec.key),
                               .spread = spec.spread * closer});
            continue;
        }
        out.push_back({.key = std::string(spec.key), .value = value, .spread = spec.spread * closer});
        for (FrameworkTiming const& entry : known.timing) {
            if (entry.generation == "*") continue;
            bool const narrow = entry.precision == "fp8";
            bool const own_value = spec.scope == FrameworkScope::per_generation && entry.precision == "*";
            bool const own_factor =
                narrow ? spec.scope == FrameworkScope::generation_precision
                       : entry.precision == "*" && (spec.scope == FrameworkScope::generation ||
                                                    spec.scope == FrameworkScope::generation_precision);
            if (!own_value && !own_factor) continue;
            TimingConstant constant{.key = std::string(spec.key),
                                    .generation = entry.generation,
                                    .precision = entry.precision,
                                    .is_factor = own_factor,
                                    .value = get_constant(entry, spec.key),
                                    .spread = spec.spread * closer};
            if (own_factor) {
                constant.value /= narrow ? get_constant(timing_for(known, entry.generation, "*"), spec.key) : value;
                constant.spread = spec.factor_spread * closer;
            }
            out.push_back(std::move(constant));
        }
    }
    return out;
}

}  // namespace sextant
