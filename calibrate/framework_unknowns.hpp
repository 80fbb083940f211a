#pragma once

#include "calibrate/least_squares.hpp"
#include "core/spec/framework_profile.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace sextant {

/// For which part of the rows a constant is an unknown of its own.
enum class FrameworkScope : std::uint8_t {
    framework,             ///< one value
    generation,            ///< one value, and a factor per accelerator generation
    generation_precision,  ///< the same, and a further factor for formats narrower than two bytes
    per_generation,        ///< a value of its own per generation
    releases,              ///< one value for `of_generation` and `of_precision`, where rows of several releases tell
};

/// A constant that step times say something of, with what is believed of it before.
struct UnknownSpec {
    std::string_view key;
    FrameworkScope scope;
    FitScale scale;
    double low;
    double high;
    std::array<double, 3> expected;  ///< eager, fused, compiled
    double spread;                   ///< of the prior, on the scale
    double factor_spread = 0;        ///< of the factors' logarithms about zero
    bool experts_only = false;
    std::string_view relative_to{};  ///< another one's key, of which this is a multiple, whatever the generation
    std::string_view of_generation = "*";
    std::string_view of_precision = "*";  ///< "fp8": formats narrower than two bytes
};

// assumed: expectations and spreads are what the families' own fits span, geometric means of those of one execution.
// Times in seconds.
inline constexpr std::array unknown_specs{
    UnknownSpec{"gemm_scale",
                FrameworkScope::generation_precision,
                FitScale::logarithmic,
                0.4,
                1.3,
                {0.77, 0.85, 0.84},
                0.15,
                0.12},
    // Products in 16 bits have been what they are for years; recipes of fp8 are still being worked on.
    UnknownSpec{"yearly_gemm_gain",
                FrameworkScope::releases,
                FitScale::linear,
                0,
                0.3,
                {0.0, 0.0, 0.0},
                0.1,
                0,
                false,
                {},
                "*",
                "fp8"},
    // Kernels with Hopper's own instructions came in after it did (cuDNN 9, FlashAttention-3); older devices have had
    // FlashAttention-2 all along, newer ones cuDNN's.
    UnknownSpec{"yearly_attention_gain",
                FrameworkScope::releases,
                FitScale::linear,
                0,
                0.5,
                {0.0, 0.0, 0.0},
                0.15,
                0,
                false,
                {},
                "hopper"},
    UnknownSpec{"grouped_gemm_scale",
                FrameworkScope::framework,
                FitScale::logarithmic,
                0.2,
                1.2,
                {0.6, 0.6, 0.6},
                0.3,
                0,
                true},
    UnknownSpec{
        "attention_scale", FrameworkScope::generation, FitScale::logarithmic, 0.2, 2, {0.58, 0.7, 0.65}, 0.2, 0.15},
    UnknownSpec{
        "memory_scale", FrameworkScope::generation, FitScale::logarithmic, 0.15, 1.2, {0.9, 0.9, 0.95}, 0.15, 0.15},
    // Generations hardly differ in it (Megatron's 1.6 to 1.8), rows of one no longer decide what is said of another.
    UnknownSpec{
        "activation_passes", FrameworkScope::generation, FitScale::logarithmic, 0.8, 3.5, {1.9, 1.3, 1.4}, 0.3, 0.15},
    // At most some hundred launches of 20 to 30 us: with more a fit hides in them what else a source is slow at.
    // A generation is a time as well: of hosts, and of releases that record steps in graphs.
    // Fused: 3.3 ms for both passes, the geometric mean over generations of what is known but for vTrain's steps:
    // Megatron-Core's tests on DGX A100 5.3 and on DGX H100 3.7, those fitted on Blackwell 1.7.
    UnknownSpec{"host_floor_forward",
                FrameworkScope::generation,
                FitScale::logarithmic,
                5e-6,
                2e-3,
                {1.1e-3, 1.35e-3, 0.1e-3},
                0.6,
                0.5},
    UnknownSpec{"host_floor_backward",
                FrameworkScope::generation,
                FitScale::logarithmic,
                5e-6,
                3.5e-3,
                {2.2e-3, 1.95e-3, 0.2e-3},
                0.6,
                0.5},
    UnknownSpec{"moe_floor_forward",
                FrameworkScope::generation,
                FitScale::logarithmic,
                1e-5,
                2e-2,
                {2e-3, 2e-3, 2e-3},
                0.8,
                0.5,
                true},
    // Rows tell what the host needs for both passes, hardly for which.
    UnknownSpec{"moe_floor_backward",
                FrameworkScope::framework,
                FitScale::logarithmic,
                0.5,
                4,
                {2, 2, 2},
                0.15,
                0,
                true,
                "moe_floor_forward"},
    UnknownSpec{"cross_domain_floor_growth", FrameworkScope::framework, FitScale::linear, 0, 3, {0.8, 0.8, 0.1}, 0.3},
    UnknownSpec{"kernel_gap", FrameworkScope::framework, FitScale::logarithmic, 1e-7, 3e-5, {3e-6, 1e-6, 5e-7}, 0.8},
    UnknownSpec{
        "fixed_per_step", FrameworkScope::framework, FitScale::logarithmic, 1e-4, 0.3, {35e-3, 10e-3, 8e-3}, 0.8},
    UnknownSpec{"tp_overlap", FrameworkScope::per_generation, FitScale::linear, 0, 0.95, {0.0, 0.4, 0.3}, 0.25},
    UnknownSpec{"dp_overlap", FrameworkScope::framework, FitScale::linear, 0, 0.97, {0.3, 0.8, 0.9}, 0.15},
    UnknownSpec{"fsdp_overlap", FrameworkScope::framework, FitScale::linear, 0, 0.97, {0.2, 0.6, 0.9}, 0.15},
    UnknownSpec{"pp_overlap", FrameworkScope::framework, FitScale::linear, 0, 1, {0.0, 0.4, 0.3}, 0.3},
    UnknownSpec{"ep_overlap", FrameworkScope::framework, FitScale::linear, 0, 0.95, {0.0, 0.1, 0.1}, 0.2, 0, true},
};

/// By its key in the profile, in seconds where it is a time. @throws InputError for an unknown key.
double get_constant(FrameworkTiming const& timing, std::string_view key);

/// A number is cut at the most that it may be.
void set_constant(FrameworkTiming& timing, std::string_view key, double value);

}  // namespace sextant
