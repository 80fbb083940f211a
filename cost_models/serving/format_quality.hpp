#pragma once

#include "core/measurements/format_error.hpp"
#include "core/spec/serving_plan.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Errors of one format under one scaling, over the inputs that were measured.
struct ScalingError {
    std::string scaling;
    double first = 0;          ///< rms error of the weights (or keys), on the inputs of `worst`
    double second = 0;         ///< of the activations (or values)
    double plain = 0;          ///< of the output, normal inputs
    double worst = 0;          ///< of the output, the worst inputs
    std::string worst_inputs;  ///< "t5+outlier_channels"
    double flushed = 0;        ///< share of the elements that became zero there
    double clipped = 0;
};

/// What choosing a format costs. The first scaling is the one that engines use unless told otherwise.
struct FormatQuality {
    std::string formats;  ///< as measured: "e4m3+e4m3" (weights and activations), "int4"
    std::vector<ScalingError> scalings;
    [[nodiscard]] ScalingError const& usual() const { return scalings.front(); }
};

/// Of the products with weights in this format of `gemm_formats`; nothing where it was not measured (fp32, tf32).
///
/// Which operands a format stores how: fp8 as e4m3 with scales per tensor, fp8-block as 128 x 128 weights and 1 x 128
/// activations (DeepSeek-V3, arXiv:2412.19437, section 3.3), fp4 as NVFP4, int8 as output channels and tokens, the
/// weight-only formats with bf16 activations, int4 in groups of 128 (GPTQ, AWQ).
/// The usual scaling is what vLLM's and TensorRT-LLM's quantisers write by default (assumed).
std::optional<FormatQuality> weights_quality(std::span<FormatError const> table, std::string_view weights);

/// Whether weights are stored in another format than they are multiplied in; groups of another size ("int4-weights/32")
/// are none.
bool are_stored_otherwise(ServingPlan const& plan);

/// Of the weights of a plan: as they are stored, and of the checkpoint's own, which lose nothing by being run as they
/// were released, what the rounding of activations alone does (e_Y = e_X).
std::optional<FormatQuality> weights_quality(std::span<FormatError const> table, ServingPlan const& plan);

/// Of attention over a cache in this format. fp8 without a scale is what engines do without calibration (assumed), int4
/// has a scale and a zero point for each token and head.
std::optional<FormatQuality> cache_quality(std::span<FormatError const> table, CacheFormat cache);

/// The larger of the output errors of products and attention under their usual scalings, on their worst inputs; nothing
/// where one was not measured.
std::optional<double> format_error_of(std::span<FormatError const> table, std::string_view weights, CacheFormat cache);
std::optional<double> format_error_of(std::span<FormatError const> table, ServingPlan const& plan);

/// An output error above which a format is called high: noise 20 dB below the signal (assumed; no error of a product
/// says how much a model's answers lose).
constexpr double high_format_error = 0.1;

}  // namespace sextant
