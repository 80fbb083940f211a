#pragma once

#include "core/spec/serving_plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sextant {

/// What a quantised checkpoint leaves in two bytes beside embeddings, norms and the output matrix.
enum class Exclusions : std::uint8_t {
    as_config,        ///< what its config says (`ModelSpec::only_experts_narrow`), or nothing
    all_but_experts,  ///< attention, and what lies beside the routed experts
    unknown           ///< its format is known by its name alone
};

/// How a checkpoint stores its matrices and wants its cache, as `quantization_config` of its config.json says (or
/// ModelOpt's `hf_quant_config.json` beside it, see `with_quantisation`).
struct CheckpointFormat {
    std::string method;      ///< `quant_method`, "compressed-tensors"; empty: not quantised
    std::string weights;     ///< a format of `gemm_formats`; empty: not quantised, or `unknown`
    std::string unknown;     ///< why `weights` is not known, a clause: "its quant_method 'aqlm' is not known"
    std::int64_t group = 0;  ///< values of int4 weights for one scale; 0: not stated
    std::optional<CacheFormat> cache{};  ///< where the config states one that is known
    Exclusions exclusions = Exclusions::as_config;
};

/// How its weights are stored, as `scale_bytes_per_value` has it: "mxfp4" where the method is that, "int4-weights/32"
/// where their groups are not of the usual 128, else `weights`.
std::string stored_format(CheckpointFormat const& checkpoint);

/// Reads it from the text of a Hugging Face config: fp8, fbgemm_fp8, compressed-tensors, modelopt, gptq, awq,
/// auto-round, bitsandbytes and mxfp4; of any other method, or another width, the format stays unknown and is not
/// guessed. Multimodal configs have it beside or in their `text_config`.
/// @throws InputError naming `where` and the key: not JSON, a key of the wrong type.
/// Source: the configurations of transformers (utils/quantization_config.py), compressed-tensors and ModelOpt.
CheckpointFormat read_checkpoint_format(std::string_view config, std::string where);

}  // namespace sextant
