#pragma once

#include "core/spec/kernel_constants.hpp"
#include "core/spec/sourced.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

/// 80 % interval of a measured time, as factors on the predicted one, from rows of groups that a fit had not seen.
struct EngineInterval {
    double low = 0.7;  ///< assumed, until a fit says otherwise
    double high = 1.5;
    std::int64_t rows = 0;  ///< it comes from; 0: assumed
};

/// Whether an iteration may hold prompt tokens beside decodes.
enum class PromptOrder : std::uint8_t {
    mixed,  ///< chunks of prompts fill what decodes leave of the token limit
    first   ///< waiting prompts have iterations of their own, decodes pause meanwhile
};

/// When an iteration is put together.
enum class IterationPlanning : std::uint8_t {
    in_turn,  ///< after the one before has ended
    ahead     ///< while the one before runs: a request that comes meanwhile is in the iteration after the next
};

/// When a waiting request has room in the cache.
enum class Admission : std::uint8_t {
    prompt,  ///< when its prompt has: what has no room later goes (preemption)
    whole    ///< when its prompt and all tokens that it asks for have, beside those of all that run: nothing ever goes
};

/// What layers with a sliding window keep of a sequence that is longer.
enum class WindowCache : std::uint8_t {
    window,  ///< the blocks that the window touches, in groups of layers that share one pool
    whole,   ///< everything, as other layers do
    pools    ///< the blocks that the window touches, in a pool of its own, of some models; of others everything
};

/// What the share of the memory that an engine is told is a share of.
enum class MemoryShare : std::uint8_t {
    device,              ///< of all memory, for weights, activations and cache together
    weights_and_cache,   ///< of all memory, for these two; activations and graphs take of the rest
    left_by_weights,     ///< of what weights leave, for the cache; activations take of the rest
    left_by_activations  ///< of what weights and activations leave, for the cache
};

/// The program that a profile describes, on any device: what its code does is no constant of a file. vLLM before 0.8,
/// whose engine was another, is a program of its own.
enum class EngineProgram : std::uint8_t { other, vllm, vllm_v0, sglang, tensorrt_llm, lmdeploy, deepspeed };

constexpr bool is_vllm(EngineProgram program) {
    return program == EngineProgram::vllm || program == EngineProgram::vllm_v0;
}
/// The two whose kernels and caches come from the same libraries.
constexpr bool is_vllm_or_sglang(EngineProgram program) { return is_vllm(program) || program == EngineProgram::sglang; }

/// Which pipeline stages have a layer more where these do not divide the layers.
enum class LongerStages : std::uint8_t { first, last, before_last };

/// What a serving engine makes of the hardware and adds to it.
struct EngineProfile {
    std::string name;  ///< "vllm"
    std::string title;
    std::vector<std::string> aliases;  ///< other spellings, as measurement files write it
    EngineProgram program = EngineProgram::other;
    Sourced<double> gemm_scale;  ///< time of matrix products over what the kernel models say
    /// Time of dense products over their FLOPs at the device's peak, where that is longer than what the kernel models
    /// say: kernels that nobody tuned for the device. 1: nowhere.
    Sourced<double> gemm_compute_scale{.value = 1, .basis = Basis::assumed, .source = "the file does not state it"};
    Sourced<double> prefill_scale;  ///< the same for attention over prompts
    Sourced<double> decode_scale;   ///< the same for attention over the cache
    /// Operations of the vector units to widen one value of an fp8 cache, for all query heads that read it, on a device
    /// that has no fp8: kernels that do it bit by bit. 1: as if it had an instruction for it.
    Sourced<double> fp8_widening{.value = 1, .basis = Basis::assumed, .source = "the file does not state it"};
    Sourced<double> communication_scale;
    /// Time to read the experts that a batch touches, over their bytes at the device's bandwidth.
    Sourced<double> expert_stream_scale;
    /// Time of the experts' products when those bind, over one product of as many rows: uneven groups, gathered rows.
    Sourced<double> expert_compute_scale;
    /// The same once more where narrow weights are widened before they are multiplied (int4-weights, int8-weights).
    Sourced<double> expert_unpack_scale;
    Sourced<Seconds> kernel_gap;  ///< per kernel, within a captured graph
    /// To launch one kernel of an iteration that holds prompt tokens: those are not captured beforehand.
    Sourced<Seconds> prompt_launch;
    /// Beside each product whose inputs are rounded (fp8, int8), where rounding and scaling run op by op.
    Sourced<Seconds> rounding_overhead;
    Sourced<Seconds> expert_launch;  ///< the same, beside its kernels, of the experts of one layer: sorting, dispatch
    Sourced<Seconds>
        host_per_iteration;  ///< scheduler, input preparation, sampling, output; hidden in part if planned ahead
    Sourced<Seconds> host_per_sequence;  ///< the same for each sequence of the batch
    Sourced<Seconds> request_overhead;  ///< client, server and queue hand-over of a request, before its first iteration
    Sourced<Seconds> tokenise_per_token;
    /// Share of memory when the user does not say. 0: the engine reserves by device and plan (`default_memory_share`).
    Sourced<double> memory_utilisation{.value = 0, .basis = Basis::assumed, .source = "the file does not state it"};
    MemoryShare memory_share = MemoryShare::device;  ///< what that is a share of
    Sourced<Bytes> memory_overhead;                  ///< context, communication buffers and captured graphs of one rank
    PromptOrder prompts = PromptOrder::mixed;        ///< as the engine comes, when nobody sets it
    IterationPlanning planning = IterationPlanning::in_turn;
    Admission admission = Admission::prompt;
    WindowCache window_cache = WindowCache::window;
    GroupedHeads grouped_heads = GroupedHeads::shared;
    LongerStages longer_stages = LongerStages::first;
    std::string vendor;                     ///< of the devices that it stands for; empty: any
    std::vector<std::string> fitted_on;     ///< the devices whose rows alone its constants come from; empty: of several
    EngineInterval interval{};              ///< of the time of an output token, and so of the throughput
    EngineInterval first_token_interval{};  ///< of the time to the first token
};

/// Whether an optional constant of a profile says something: a factor that is not 1, a time that is not 0.
inline bool states_constant(Sourced<double> const& scale) { return scale.value != 1; }
inline bool states_constant(Sourced<Seconds> const& time) { return time.value > Seconds{}; }

}  // namespace sextant
