#pragma once

#include "core/spec/recompute_modules.hpp"

#include <string_view>

namespace sextant {

/// A remat_policy of MaxText that a plan can mean: what runs again of a layer, beside nothing and all of it.
struct RematPolicy {
    std::string_view name;
    RecomputeModules again;
};

inline constexpr RematPolicy remat_minimal_with_context{
    .name = "minimal_with_context",
    .again = {RecomputeModule::layernorm, RecomputeModule::mlp_act, RecomputeModule::moe_act}};
inline constexpr RematPolicy remat_minimal{.name = "minimal",
                                           .again = {RecomputeModule::core_attn, RecomputeModule::layernorm,
                                                     RecomputeModule::mlp_act, RecomputeModule::moe_act}};
/// What `minimal` keeps, in host memory.
inline constexpr RematPolicy remat_minimal_offloaded{.name = "minimal_offloaded", .again = remat_minimal.again};
inline constexpr RematPolicy remat_save_dot_except_mlp{
    .name = "save_dot_except_mlp",
    .again = {RecomputeModule::core_attn, RecomputeModule::layernorm, RecomputeModule::mlp, RecomputeModule::moe}};

}  // namespace sextant
