#include "planner/expert_choices.hpp"

#include "cost_models/token_dispatch.hpp"
#include "planner/exporters/megatron_model.hpp"

namespace sextant {

ExpertChoices expert_choices(FrameworkProfile const& framework) {
    if (is_framework(framework, "megatron"))
        return {.deduplicates = Switch::on, .overlaps = Switch::on, .recomputes_modules = Switch::on};
    if (is_framework(framework, "torchtitan")) return {.deduplicates = Switch::on};
    return {};
}

std::vector<Dispatcher> dispatchers_to_try(ClusterSpec const& cluster, std::int64_t accelerators,
                                           ExpertChoices const& choices) {
    bool const spans = accelerators > cluster.domain_size && cluster.scale_out;
    bool const can = choices.deduplicates == Switch::on && spans &&
                     sends_once(cluster, place_group(2 * cluster.domain_size, 1, cluster));
    if (can) return {Dispatcher::all_to_all, Dispatcher::deduplicated};
    return {Dispatcher::all_to_all};
}

std::vector<RecomputeModules> module_sets_to_try(ModelSpec const& model, Precision precision) {
    RecomputeModules cheap{RecomputeModule::layernorm, RecomputeModule::mla_up_proj};
    if (groups_experts(precision)) cheap.add(RecomputeModule::moe_act);
    RecomputeModules more = cheap;
    more |= {RecomputeModule::mlp, RecomputeModule::shared_experts};
    std::vector<RecomputeModules> sets;
    for (RecomputeModules const wanted : {cheap, more}) {
        RecomputeModules const set = wanted & modules_of(model);
        if (sets.empty() || sets.back() != set) sets.push_back(set);
    }
    return sets;
}

}  // namespace sextant
