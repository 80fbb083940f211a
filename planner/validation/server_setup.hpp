#pragma once

#include "core/spec/engine_profile.hpp"
#include "core/spec/hardware_profile.hpp"
#include "planner/validation/serving_row.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace sextant {

/// How a scheduler takes prompts that the token limit of an iteration does not hold.
enum class PromptCut : std::uint8_t {
    chunks,  ///< it cuts them
    whole    ///< it leaves them to a later iteration
};

/// Who started the servers and the clients of a table's rows, as far as that is known to set their options.
enum class Benchmark : std::uint8_t {
    unknown,
    aiconfigurator,  ///< servers with the options that it generates
    inferencex       ///< the scripts of InferenceX, formerly InferenceMAX
};
Benchmark benchmark_of(ServingRow const& row);

/// What a server of a closed loop was started with where a row does not state it.
struct ServerSetup {
    std::int64_t max_batched_tokens = 8192;   ///< the default of vLLM on large devices, and of TensorRT-LLM
    std::optional<std::int64_t> max_batch;    ///< sequences at a time, of all attention groups, as it was told
    std::optional<std::int64_t> group_batch;  ///< the same of one group, by default
    PromptCut cut = PromptCut::chunks;
    std::optional<PromptOrder> prompts;  ///< if not the engine's
    std::string assumption;              ///< for the report; empty: defaults
};

/// What an engine takes by itself on such a device. vLLM since 0.8, on devices of 70 GiB that are no A100: 8,192 tokens
/// of an iteration and 1,024 sequences; on others 2,048 and 256; before, 256 sequences. SGLang: a chunk
/// (`default_chunk`). Source: vLLM, vllm/engine/arg_utils.py (_set_default_args, of API servers); SGLang,
/// `default_memory_share`.
ServerSetup default_setup(EngineProfile const& engine, AcceleratorProfile const& device);

/// @param prompt nominal length, in tokens
/// @param in_flight requests of one replica
/// Source: defaults of the engines (TensorRT-LLM leaves prompts whole: `enable_chunked_prefill` is off);
/// the options that AIConfigurator generates for SGLang (`--enable-mixed-chunk` since
/// 0.5.3, `--max-prefill-tokens` prompt + 1500; 16,384 before); the scripts of InferenceX for one node of Hopper. For
/// vLLM and TensorRT-LLM AIConfigurator writes batch + prompt + 1500; the times of its rows are those of one prompt at
/// a time.
ServerSetup server_setup(ServingRow const& row, EngineProfile const& engine, AcceleratorProfile const& device,
                         double prompt, double in_flight);

}  // namespace sextant
