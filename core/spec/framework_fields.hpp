#pragma once

#include "core/spec/framework_profile.hpp"

#include <string_view>

namespace sextant {

/// A field of a profile, its key in files, and the range of sensible values.
template <class Owner, class Value>
struct ProfileField {
    std::string_view key;
    Sourced<Value> Owner::*member;
    double most;
    Presence presence = Presence::required;
    std::string_view unused{};  ///< why a change of it is refused; empty: it is not
    double least = 0;
};

/// No kernel is a thousand times slower in a step, and times stay numbers.
inline constexpr double least_scale = 1e-3;

/// False for what a profile may leave out and does.
template <class Owner, class Value>
bool is_stated(ProfileField<Owner, Value> const& field, Owner const& owner) {
    return field.presence == Presence::required || !(owner.*field.member).source.empty();
}

inline constexpr std::string_view release_gain_key = "yearly_gemm_gain";
inline constexpr std::string_view attention_gain_key = "yearly_attention_gain";

/// The dimensionless constants of a timing entry, in the order of the file.
inline constexpr ProfileField<FrameworkTiming, double> timing_numbers[] = {
    {"gemm_scale", &FrameworkTiming::gemm_scale, 2, Presence::required, {}, least_scale},
    {release_gain_key, &FrameworkTiming::yearly_gemm_gain, 1, Presence::optional,
     "it tells releases apart (such as release=24.07)"},
    {attention_gain_key, &FrameworkTiming::yearly_attention_gain, 1, Presence::optional,
     "it tells releases apart (such as release=24.07)"},
    {"grouped_gemm_scale", &FrameworkTiming::grouped_gemm_scale, 2, Presence::required, {}, least_scale},
    {"attention_scale", &FrameworkTiming::attention_scale, 3, Presence::required, {}, least_scale},
    {"memory_scale", &FrameworkTiming::memory_scale, 2, Presence::required, {}, least_scale},
    {"activation_passes", &FrameworkTiming::activation_passes, 10},
    {"tp_overlap", &FrameworkTiming::tp_overlap, 1},
    {"dp_overlap", &FrameworkTiming::dp_overlap, 1},
    {"fsdp_overlap", &FrameworkTiming::fsdp_overlap, 1},
    {"pp_overlap", &FrameworkTiming::pp_overlap, 1},
    {"ep_overlap", &FrameworkTiming::ep_overlap, 1},
    {"cp_overlap", &FrameworkTiming::cp_overlap, 1},
    {"cross_domain_floor_growth", &FrameworkTiming::cross_domain_floor_growth, 10},
    {"early_stop", &FrameworkTiming::early_stop, 1, Presence::optional},
    {"casts_weights", &FrameworkTiming::casts_weights, 1, Presence::optional},
    {"pads_experts", &FrameworkTiming::pads_experts, 1, Presence::optional},
    {"gradient_bytes_sent", &FrameworkTiming::gradient_bytes_sent, 16},
    {"cp_gradient_bytes_sent", &FrameworkTiming::cp_gradient_bytes_sent, 16, Presence::optional},
    {"all_reduces_gradients", &FrameworkTiming::all_reduces_gradients, 1, Presence::optional},
    {"gathers_after_step", &FrameworkTiming::gathers_after_step, 1, Presence::optional},
    {"weight_bytes_sent", &FrameworkTiming::weight_bytes_sent, 16},
    {"gradient_sum_bytes", &FrameworkTiming::gradient_sum_bytes, 32, Presence::optional},
    {"optimizer_bytes_per_parameter", &FrameworkTiming::optimizer_bytes_per_parameter, 1000},
};

/// The times of a timing entry; `most` in seconds.
inline constexpr ProfileField<FrameworkTiming, Seconds> timing_times[] = {
    {"host_floor_forward", &FrameworkTiming::host_floor_forward, 1},
    {"host_floor_backward", &FrameworkTiming::host_floor_backward, 1},
    {"moe_floor_forward", &FrameworkTiming::moe_floor_forward, 1},
    {"moe_floor_backward", &FrameworkTiming::moe_floor_backward, 1},
    {"kernel_gap", &FrameworkTiming::kernel_gap, 0.1},
    {"fixed_per_step", &FrameworkTiming::fixed_per_step, 100},
};

/// Bytes per something, and fractions.
inline constexpr ProfileField<FrameworkMemory, double> memory_numbers[] = {
    {"weight_bytes", &FrameworkMemory::weight_bytes, 16},
    {"gradient_bytes", &FrameworkMemory::gradient_bytes, 16},
    {"master_bytes", &FrameworkMemory::master_bytes, 32},
    {"fp16_gradient_bytes", &FrameworkMemory::fp16_gradient_bytes, 16},
    {"fp16_master_bytes", &FrameworkMemory::fp16_master_bytes, 32},
    {"bucket_bytes", &FrameworkMemory::bucket_bytes, 16},
    {"gather_bytes", &FrameworkMemory::gather_bytes, 16},
    {"logits_bytes", &FrameworkMemory::logits_bytes, 64},
    {"logits_bytes_reserved", &FrameworkMemory::logits_bytes_reserved, 64},
    {"fused_logits_bytes", &FrameworkMemory::fused_logits_bytes, 64},
    {"split_logits_bytes", &FrameworkMemory::split_logits_bytes, 64, Presence::optional},
    {"gated_extra_bytes", &FrameworkMemory::gated_extra_bytes, 16},
    {"extra_hidden_bytes", &FrameworkMemory::extra_hidden_bytes, 200},
    {"held_gather_bytes", &FrameworkMemory::held_gather_bytes, 200},
    {"step_buffer_bytes", &FrameworkMemory::step_buffer_bytes, 200},
    {"routed_token_bytes", &FrameworkMemory::routed_token_bytes, 200},
    {"norm_copy_bytes", &FrameworkMemory::norm_copy_bytes, 200, Presence::optional},
    {"repeated_key_value_bytes", &FrameworkMemory::repeated_key_value_bytes, 16, Presence::optional},
    {"gathered_input_bytes", &FrameworkMemory::gathered_input_bytes, 2, Presence::optional},
    {"whole_embedding_gradient", &FrameworkMemory::whole_embedding_gradient, 1, Presence::optional},
    {"cast_weight_bytes", &FrameworkMemory::cast_weight_bytes, 16, Presence::optional},
    {"narrow_input_bytes", &FrameworkMemory::narrow_input_bytes, 2},
    {"gathered_share", &FrameworkMemory::gathered_share, 1},
    {"frees_gradients", &FrameworkMemory::frees_gradients, 1, Presence::optional},
    {"offloads_gradients", &FrameworkMemory::offloads_gradients, 1, Presence::optional},
    {"stacks_layers", &FrameworkMemory::stacks_layers, 1, Presence::optional},
    {"worst_case_experts", &FrameworkMemory::worst_case_experts, 1, Presence::optional},
    {"working_gradient_share", &FrameworkMemory::working_gradient_share, 10, Presence::optional},
    {"reduce_buffer_bytes", &FrameworkMemory::reduce_buffer_bytes, 16, Presence::optional},
    {"reduce_bucket_layers", &FrameworkMemory::reduce_bucket_layers, 10000, Presence::optional},
    {"end_units", &FrameworkMemory::end_units, 1, Presence::optional},
    {"reserved_low", &FrameworkMemory::reserved_low, 10},
    {"reserved_typical", &FrameworkMemory::reserved_typical, 10},
    {"reserved_high", &FrameworkMemory::reserved_high, 10},
    {"usable_fraction", &FrameworkMemory::usable_fraction, 1},
};

inline constexpr ProfileField<FrameworkMemory, Bytes> memory_sizes[] = {
    {"constant", &FrameworkMemory::constant, 1e12},
    {"context", &FrameworkMemory::context, 1e12},
    {"usable_fraction_up_to", &FrameworkMemory::usable_fraction_up_to, 1e12, Presence::optional},
};

}  // namespace sextant
