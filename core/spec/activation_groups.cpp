#include "core/spec/activation_groups.hpp"

#include "core/spec/named_set.hpp"
#include "core/spec/parameters.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace sextant {
namespace {

using Group = ActivationGroup;

constexpr Named<Group> groups[] = {
    {Group::layer_input, "layer_input"},
    {Group::norm_out, "norm_out"},
    {Group::qkv, "qkv"},
    {Group::context, "context"},
    {Group::attention_out, "attention_out"},
    {Group::expert_in, "expert_in"},
    {Group::mlp_up, "mlp_up"},
    {Group::mlp_act, "mlp_act"},
    {Group::other, "other"},
};

}  // namespace

ActivationGroups activation_groups_from(std::string_view text, std::string_view where, ActivationGroups allowed) {
    std::vector<Named<Group>> names;
    std::copy_if(std::begin(groups), std::end(groups), std::back_inserter(names),
                 [&](Named<Group> const& entry) { return allowed.has(entry.value); });
    return set_in<Group>(names, text, where, "activations");
}

ActivationGroups activations_of(ModelSpec const& model) {
    ActivationGroups found{Group::layer_input, Group::norm_out, Group::other};
    for (LayerKind const kind : distinct_kinds(model)) {
        if (kind.mixer == Mixer::attention) found |= {Group::qkv, Group::context, Group::attention_out};
        if (kind.feed_forward) found |= {Group::mlp_up, Group::mlp_act};
        if (kind.feed_forward && kind.moe) found.add(Group::expert_in);
    }
    return found;
}

void require_activations(ModelSpec const& model, ActivationGroups set, std::string_view where) {
    ActivationGroups const there = activations_of(model);
    if (ActivationGroups const missing = set.without(there); !missing.empty())
        throw InputError("{}: {} has no activations of '{}' (it has {})", where, model.name, activations_text(missing),
                         activations_text(there, ", "));
}

std::string activations_text(ActivationGroups set, std::string_view between) {
    return names_in<Group>(groups, set, between);
}

}  // namespace sextant
