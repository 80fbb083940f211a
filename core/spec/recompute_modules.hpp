#pragma once

#include "core/spec/enum_set.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

struct ModelSpec;

/// Parts of a decoder layer that selective recompute runs again in the backward pass, so that what they leave is not
/// kept. Names and meaning are those of Megatron-Core's `--recompute-modules`, but for the last two:
/// - core_attn: the product of queries, keys and values with its softmax
/// - layernorm: the norms before attention and before the feed-forward; their outputs are not kept
/// - mla_up_proj: what expands the latents of multi-head latent attention, and rotary embedding
/// - mlp: the dense feed-forward
/// - moe: the feed-forward of experts: router, exchange of tokens, routed and shared experts
/// - moe_act: the activation of the routed experts
/// - shared_experts: the shared experts alone
/// - mlp_act: the activation of the dense feed-forward and of shared experts (XLA's policies that keep products only)
/// - op: torchtitan's selective_ac_option "op": every second matrix product and what is neither a product, an attention
///   core nor a reduce-scatter
enum class RecomputeModule : std::uint8_t {
    core_attn,
    layernorm,
    mla_up_proj,
    mlp,
    moe,
    moe_act,
    shared_experts,
    mlp_act,
    op,
};

using RecomputeModules = EnumSet<RecomputeModule>;
/// What selective recompute runs again where nothing else is said.
inline constexpr RecomputeModules attention_core{RecomputeModule::core_attn};

/// Names with "," or "+" between (a list of lists has commas already). @throws InputError: an unknown or empty name,
/// "op" beside others.
RecomputeModules recompute_modules_from(std::string_view text, std::string_view where);
/// The text that `recompute_modules_from` reads as this set; `between` for other programs' spelling.
std::string modules_text(RecomputeModules modules, std::string_view between = ",");
/// The modules that some layer of the model has.
RecomputeModules modules_of(ModelSpec const& model);
/// @throws InputError: a module that no layer of the model has.
void require_modules(ModelSpec const& model, RecomputeModules modules, std::string_view where);
/// "selective", or "selective(layernorm,moe_act)" where it is not the attention core alone.
std::string selective_label(RecomputeModules modules);

}  // namespace sextant
