#pragma once

#include "core/spec/enum_set.hpp"
#include "core/spec/parameters.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Matrices of a decoder layer that an adapter can sit on. `qkv` and `gate_up` are one adapter for several matrices
/// that read the same input (Megatron-LM's fused layers): one A, and a B over all their outputs. Of latent attention
/// `q` are the query projections, `k` and `v` both those of keys and values. Experts and router have no adapters.
enum class AdapterTarget : std::uint8_t { q, k, v, qkv, output, gate, up, gate_up, down };
std::string_view name_of(AdapterTarget target);

/// How the frozen matrices of the decoder layers are held. Norms, embeddings and output matrix stay in 16 bit.
enum class BaseWeights : std::uint8_t { bf16, fp8, int8, nf4 };
std::string_view name_of(BaseWeights format);
/// @throws InputError with the known names and the nearest one.
BaseWeights base_weights_from(std::string_view name, std::string_view where);
/// Bytes per weight, scales included: bf16 2, fp8 and int8 1 (their scales per tensor or row are below 0.1 %), nf4
/// 0.516: 4 bits, 8 per block of 64 and 32 per 256 blocks. Source: Dettmers et al., arXiv:2305.14314 sec. 3.
double bytes_per_weight(BaseWeights format);

using AdapterTargets = EnumSet<AdapterTarget>;

/// q, k, v and output.
AdapterTargets attention_targets();
/// The same with gate, up and down of dense feed-forward layers and shared experts.
AdapterTargets all_targets();
/// "attention", "all", or names with commas between. @throws InputError: an unknown name, or q, k or v beside qkv.
AdapterTargets adapter_targets_from(std::string_view text, std::string_view where);
/// The text that `adapter_targets_from` reads as this set.
std::string targets_text(AdapterTargets targets);

/// Low-rank adapters on frozen weights: y = W x + s B (A x) with A [rank, in] and B [out, rank] trained and all else
/// frozen. Source: Hu et al., arXiv:2106.09685; with quantised frozen weights Dettmers et al., arXiv:2305.14314.
struct LowRankAdapters {
    std::int64_t rank = 0;  ///< 0: none, everything is trained
    AdapterTargets targets{};
    BaseWeights base = BaseWeights::bf16;
    [[nodiscard]] bool on() const { return rank > 0; }
    friend bool operator==(LowRankAdapters const&, LowRankAdapters const&) = default;
};

/// "lora16", "lora16 (all)", "lora16 (attention, nf4)": rank, targets and format where they are not the usual ones.
std::string adapters_label(LowRankAdapters const& adapters);

/// True for a matrix that tensor parallelism splits along its input (row-parallel); the others are split along their
/// output, or not at all.
bool splits_input(Parameter const& matrix);
/// True for a matrix of a decoder layer that is held in the format of the base weights: all but router and vectors.
bool is_base_matrix(Parameter const& parameter);

/// Adapters of a layer with these weights, each factor a parameter of its own, split by tensor parallelism as
/// Megatron's layers are: beside a matrix split along its output A is whole on every rank and B split, beside one split
/// along its input A is split and B whole.
std::vector<Parameter> adapter_parameters(std::vector<Parameter> const& layer, LowRankAdapters const& adapters);

/// @throws InputError: a rank below 1 or larger than a matrix it is for, no target, a target that the model has not, or
/// fused targets of latent attention.
void require_adapters(ModelSpec const& model, LowRankAdapters const& adapters, std::string_view where);

/// Trained parameters of a whole model, multi-token-prediction modules not counted.
std::int64_t count_adapter_parameters(ModelSpec const& model, LowRankAdapters const& adapters);

}  // namespace sextant
