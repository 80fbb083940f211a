#include "planner/remat_policies.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/spec/parallel_plan.hpp"

#include <algorithm>
#include <map>

namespace sextant {
namespace {

using Group = ActivationGroup;

/// The sum of the layer is needed by no backward pass; latents are small beside what they are expanded to.
constexpr std::array without_effect{std::string_view("mlpwo"),         std::string_view("moe_mlpwo"),
                                    std::string_view("query_wa_proj"), std::string_view("kv_wa_proj"),
                                    std::string_view("mla_q"),         std::string_view("mla_kv")};
enum class Place { remat, device, offload };

Place place_of(std::string_view name, std::string_view tensor) {
    if (name == "remat") return Place::remat;
    if (name == "device") return Place::device;
    if (name == "offload") return Place::offload;
    throw InputError("remat policy: {} is '{}' (remat, device or offload)", tensor, name);
}

/// Tensors and places in "decoder_layer_input=offload, out_proj=device".
RematPolicy tensor_by_tensor(std::string_view text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
    std::map<Group, Place> places;
    for (std::size_t equals = text.find('='); equals != std::string_view::npos; equals = text.find('=', equals + 1)) {
        std::size_t const before = text.substr(0, equals).find_last_not_of(letters) + 1;  // 0 after npos
        std::string_view const tensor = text.substr(before, equals - before);
        std::size_t const end = std::min(text.find_first_not_of(letters, equals + 1), text.size());
        Place const place = place_of(text.substr(equals + 1, end - equals - 1), tensor);
        if (is_one_of(without_effect, tensor)) continue;
        auto const known = std::find_if(remat_tensors.begin(), remat_tensors.end(),
                                        [&](RematTensor const& t) { return t.name == tensor; });
        if (known == remat_tensors.end()) throw InputError("remat policy: tensor '{}' is not modelled", tensor);
        auto const [found, is_new] = places.emplace(known->group, place);
        if (!is_new && found->second != place)
            throw InputError("remat policy: {} is in another place than what belongs to it", tensor);
    }
    if (places.empty()) throw InputError("remat policy: custom, but which tensors it keeps is not stated");
    RematPolicy policy;
    for (auto const& [group, place] : places) {
        if (place != Place::remat && group != Group::layer_input) policy.kept.add(group);
        if (place == Place::offload) policy.offloaded.add(group);
    }
    return policy;
}

}  // namespace

std::optional<RematPolicy> remat_policy_in(std::string_view text) {
    auto const has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
    if (std::size_t const custom = text.find("custom"); custom != std::string_view::npos)
        return tensor_by_tensor(text.substr(custom));
    if (has("minimal_flash")) return remat_policy("minimal_with_context");
    // Names that others begin with come after these. "full" says more in tables: of how many layers.
    auto const named = std::find_if(remat_policies.begin() + 1, remat_policies.end(),
                                    [&](NamedRematPolicy const& p) { return has(p.name); });
    if (named == remat_policies.end()) return {};
    return named->keeps;
}

RematPolicy remat_policy_of(ParallelPlan const& plan) {
    RematPolicy policy{.kept = plan.kept_activations};
    if (!offloads_activations(plan)) return policy;
    policy.offloaded = policy.kept;
    policy.offloaded.add(Group::layer_input);
    policy.offloaded = policy.offloaded & plan.offloaded_activations;
    return policy;
}

void apply(RematPolicy const& policy, ParallelPlan& plan) {
    plan.recompute = Recompute::full;
    plan.kept_activations = policy.kept;
    if (policy.offloaded.empty()) return;
    plan.offload = with_activations(plan.offload);
    plan.offloaded_activations = policy.offloaded;
}

}  // namespace sextant
