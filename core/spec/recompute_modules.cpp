#include "core/spec/recompute_modules.hpp"

#include "core/spec/named_set.hpp"
#include "core/spec/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

using Module = RecomputeModule;

constexpr Named<Module> modules[] = {
    {Module::core_attn, "core_attn"},
    {Module::layernorm, "layernorm"},
    {Module::mla_up_proj, "mla_up_proj"},
    {Module::mlp, "mlp"},
    {Module::moe, "moe"},
    {Module::moe_act, "moe_act"},
    {Module::shared_experts, "shared_experts"},
    {Module::mlp_act, "mlp_act"},
    {Module::op, "op"},
};

}  // namespace

RecomputeModules recompute_modules_from(std::string_view text, std::string_view where) {
    RecomputeModules const set = set_in<Module>(modules, text, where, "module");
    if (set.has(Module::op) && set != RecomputeModules{Module::op})
        throw InputError("{}: '{}' names modules beside op, which is a policy for the whole layer", where, text);
    return set;
}

std::string modules_text(RecomputeModules set, std::string_view between) {
    return names_in<Module>(modules, set, between);
}

RecomputeModules modules_of(ModelSpec const& model) {
    RecomputeModules found{Module::layernorm};
    for (LayerKind const kind : distinct_kinds(model)) {
        if (kind.mixer == Mixer::attention) found.add(Module::core_attn);
        if (kind.mixer == Mixer::attention && model.attention.latent) found.add(Module::mla_up_proj);
        if (!kind.feed_forward) continue;
        bool const shared = kind.moe && model.moe->shared_intermediate > 0;
        if (!kind.moe) found.add(Module::mlp);
        if (!kind.moe || shared) found.add(Module::mlp_act);
        if (kind.moe) found |= {Module::moe, Module::moe_act};
        if (shared) found.add(Module::shared_experts);
    }
    // What the policy by op keeps of recurrences, and of the choice of keys, is not known.
    if (!model.recurrent && !model.attention.index) found.add(Module::op);
    return found;
}

void require_modules(ModelSpec const& model, RecomputeModules set, std::string_view where) {
    RecomputeModules const there = modules_of(model);
    for (auto const& entry : modules)
        if (set.has(entry.value) && !there.has(entry.value))
            throw InputError("{}: {} has nothing to recompute as '{}' (it has {})", where, model.name, entry.name,
                             modules_text(there, ", "));
}

std::string selective_label(RecomputeModules set) {
    if (set == attention_core) return "selective";
    return fmt::format("selective({})", modules_text(set));
}

}  // namespace sextant
