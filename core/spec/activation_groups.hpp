#pragma once

#include "core/spec/enum_set.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

struct ModelSpec;

/// What a decoder layer leaves for its backward pass, in groups that a plan may name. In brackets what MaxText calls
/// them, and the modules of Megatron-Core's `--offload-modules` whose input they are:
/// - layer_input: what comes in (decoder_layer_input; attn_norm)
/// - norm_out: outputs of the norms that linear layers read (qkv_linear)
/// - qkv: queries, keys and values as attention reads them (query_proj, key_proj, value_proj; core_attn)
/// - context: attention's output, and its softmax's statistics (context; attn_proj)
/// - attention_out: the sum after attention's output projection (out_proj; mlp_norm)
/// - expert_in: routed tokens (expert_fc1)
/// - mlp_up: results of gate and up, of experts too (mlpwi; moe_act)
/// - mlp_act: results of the activation
/// - other: all else, such as scores in memory, masks and states of recurrent layers
enum class ActivationGroup : std::uint8_t {
    layer_input,
    norm_out,
    qkv,
    context,
    attention_out,
    expert_in,
    mlp_up,
    mlp_act,
    other,
};

using ActivationGroups = EnumSet<ActivationGroup>;
inline constexpr ActivationGroups all_activations{
    ActivationGroup::layer_input, ActivationGroup::norm_out,      ActivationGroup::qkv,
    ActivationGroup::context,     ActivationGroup::attention_out, ActivationGroup::expert_in,
    ActivationGroup::mlp_up,      ActivationGroup::mlp_act,       ActivationGroup::other};
/// What full recompute may be told to keep: each is the result of some operations, which then do not run again.
inline constexpr ActivationGroups keepable_activations{
    ActivationGroup::norm_out,  ActivationGroup::qkv,    ActivationGroup::context, ActivationGroup::attention_out,
    ActivationGroup::expert_in, ActivationGroup::mlp_up, ActivationGroup::mlp_act};

/// Names with "," or "+" between. @throws InputError: a name that is unknown, empty or none of `allowed`.
ActivationGroups activation_groups_from(std::string_view text, std::string_view where,
                                        ActivationGroups allowed = all_activations);
/// The groups that some layer of the model has.
ActivationGroups activations_of(ModelSpec const& model);
/// @throws InputError: a group that no layer of the model has.
void require_activations(ModelSpec const& model, ActivationGroups groups, std::string_view where);
/// The text that `activation_groups_from` reads as this set.
std::string activations_text(ActivationGroups groups, std::string_view between = ",");

}  // namespace sextant
