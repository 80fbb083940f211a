#pragma once

#include "core/spec/activation_groups.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <string_view>

namespace sextant {

struct ParallelPlan;

/// What a remat_policy of MaxText keeps of a layer beside what comes in, and what of both is in host memory. All else
/// runs again.
struct RematPolicy {
    ActivationGroups kept{};
    ActivationGroups offloaded{};
    bool operator==(RematPolicy const&) const = default;
};

struct NamedRematPolicy {
    std::string_view name;
    RematPolicy keeps;
};
/// Source: get_remat_policy of layers/decoders.py, MaxText 0.2.
inline constexpr std::array remat_policies{
    NamedRematPolicy{"full", {}},
    NamedRematPolicy{"minimal_with_context",
                     {.kept = {ActivationGroup::qkv, ActivationGroup::context, ActivationGroup::attention_out,
                               ActivationGroup::mlp_up}}},
    NamedRematPolicy{"minimal_offloaded",
                     {.kept = {ActivationGroup::qkv, ActivationGroup::attention_out, ActivationGroup::mlp_up},
                      .offloaded = {ActivationGroup::qkv, ActivationGroup::attention_out, ActivationGroup::mlp_up}}},
    NamedRematPolicy{"minimal",
                     {.kept = {ActivationGroup::qkv, ActivationGroup::attention_out, ActivationGroup::mlp_up}}},
    NamedRematPolicy{"save_dot_with_context_except_mlp",
                     {.kept = {ActivationGroup::qkv, ActivationGroup::context, ActivationGroup::attention_out}}},
    NamedRematPolicy{"save_dot_except_mlp", {.kept = {ActivationGroup::qkv, ActivationGroup::attention_out}}},
    NamedRematPolicy{"save_qkv_proj", {.kept = {ActivationGroup::qkv}}},
    NamedRematPolicy{"qkv_proj_offloaded", {.kept = {ActivationGroup::qkv}, .offloaded = {ActivationGroup::qkv}}},
    NamedRematPolicy{"save_out_proj", {.kept = {ActivationGroup::attention_out}}},
};
/// The policy of that name. @pre there is one.
constexpr RematPolicy remat_policy(std::string_view name) {
    auto const found = std::find_if(remat_policies.begin(), remat_policies.end(),
                                    [&](NamedRematPolicy const& policy) { return policy.name == name; });
    assert(found != remat_policies.end());
    return found->keeps;
}

/// A tensor that MaxText's custom policy has a place for: `remat`, `device` or `offload`.
struct RematTensor {
    std::string_view name;
    ActivationGroup group;
};
/// Source: configs/base.yml, MaxText 0.2.
inline constexpr std::array remat_tensors{
    RematTensor{"decoder_layer_input", ActivationGroup::layer_input},
    RematTensor{"query_proj", ActivationGroup::qkv},
    RematTensor{"key_proj", ActivationGroup::qkv},
    RematTensor{"value_proj", ActivationGroup::qkv},
    RematTensor{"qkv_proj", ActivationGroup::qkv},
    RematTensor{"context", ActivationGroup::context},
    RematTensor{"out_proj", ActivationGroup::attention_out},
    RematTensor{"mlpwi", ActivationGroup::mlp_up},
    RematTensor{"mlpwi_0", ActivationGroup::mlp_up},
    RematTensor{"mlpwi_1", ActivationGroup::mlp_up},
};
/// What of these a policy can keep beside the layer's input.
inline constexpr ActivationGroups remat_keeps = remat_policy("minimal_with_context").kept;

/// The policy that a text names, by MaxText's name of it or tensor by tensor ("custom (out_proj=offload, ...)"); none
/// if it names none of these. Tensors that no backward pass needs (mlpwo) have no effect.
/// @throws InputError: a tensor or a place that MaxText has not, or parts of one group in several places.
std::optional<RematPolicy> remat_policy_in(std::string_view lower_case_text);

/// What a plan with full recompute keeps, as a policy.
RematPolicy remat_policy_of(ParallelPlan const& plan);
/// Full recompute with what such a policy keeps.
void apply(RematPolicy const& policy, ParallelPlan& plan);

}  // namespace sextant
