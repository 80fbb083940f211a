#pragma once

#include "core/spec/model_spec.hpp"
#include "planner/exporters/exporter.hpp"

namespace sextant {

/// What the feed-forward halves apply, gated or not. `other`: xIELU (Apertus), the clamped one of gpt-oss.
enum class Activation : std::uint8_t { silu, gelu, relu, squared_relu, other };

/// By family: a ModelSpec does not say. Published configs of a family agree on it; exact and approximated GELU count as
/// one.
Activation activation_of(ModelSpec const& model);

/// "GELU".
char const* name_of(Activation activation);

/// What none of Megatron-LM, NeMo and Megatron-DeepSpeed has words for, to be read after "has no argument for".
std::vector<std::string> without_argument(ModelSpec const& model);

/// --swiglu (a gate, with SiLU), --squared-relu, or nothing (GELU); any other function is added to `missing`.
void add_megatron_activation(ArgumentLines& lines, std::vector<std::string>& missing, ModelSpec const& model);

/// Whether the router scores experts by sigmoid. A ModelSpec does not say: Llama 4 does, and Megatron-Core refuses a
/// correction of the scores of any other function.
bool scores_by_sigmoid(ModelSpec const& model);
/// Whether Megatron-Core wants the softmax over all experts: that over the one chosen expert has no gradient, and it
/// refuses to start.
bool softmax_before_choice(ModelSpec const& model);

/// ERNIE 4.5 corrects the scores of a softmax, which Megatron-Core does not.
bool corrects_softmax(ModelSpec const& model);
/// To be read after "has no argument for".
inline constexpr char const* softmax_correction = "a correction of the scores of a softmax (the file has a sigmoid)";

/// [0,1,1,1]: 1 for layers that have experts.
std::string expert_pattern(ModelSpec const& model);
bool experts_everywhere(ModelSpec const& model);

/// `--max-position-embeddings`, which no sequence may exceed. A plan's is never longer than a learned table.
std::int64_t positions_argument(LaunchPlan const& launch);

/// Whether Megatron-LM multiplies the experts of a rank in one kernel (`--moe-grouped-gemm`): in bf16 and what is built
/// on it.
bool groups_experts(Precision precision);

/// The architecture in Megatron-LM's arguments, as far as a ModelSpec knows it; what it does not (rotary base, epsilon
/// of the norms, router details) is named in a comment.
/// @return what Megatron-LM has no argument for, a sentence each.
std::vector<std::string> add_megatron_model(ArgumentLines& lines, LaunchPlan const& launch, Precision precision);

/// "E|t*4|t*3L": Megatron-LM's pipeline layout for layers of each chunk in model order. E: embedding, t: layer, m:
/// multi-token prediction, L: loss. Source: megatron/core/transformer/pipeline_parallel_layer_layout.py.
std::string megatron_layout(std::vector<std::int64_t> const& chunks, std::int64_t mtp_modules);

}  // namespace sextant
