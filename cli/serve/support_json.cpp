#include "cli/serve/support_json.hpp"

#include "core/json/json_text.hpp"
#include "cost_models/serving/expert_exchange.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string support_json(ServingSupport const& support) {
    auto const interval = [](EngineInterval const& i) {
        return Json{{"low", i.low}, {"high", i.high}, {"rows", i.rows}};
    };
    return json_text(Json{
        {"tpot", interval(support.interval)}, {"ttft", interval(support.first_token)}, {"unsupported", support.terms}});
}

std::string formats_json(ServingCase const& what) {
    ServingPlan const& plan = what.plan;
    Json const dispatcher = sends_to_experts(plan) ? Json(name_of(dispatcher_of(what))) : Json(nullptr);
    return json_text(Json{{"moe_dispatcher", dispatcher},
                          {"redundant_experts", plan.redundant_experts},
                          {"weights", plan.weights},
                          {"weights_stored", plan.stored.empty() ? plan.weights : plan.stored},
                          {"weights_origin", name_of(plan.weights_origin)},
                          {"kv_cache", name_of(plan.cache)},
                          {"kv_cache_origin", name_of(plan.cache_origin)},
                          {"max_batch", plan.max_batch},
                          {"max_batched_tokens", plan.max_batched_tokens}});
}

}  // namespace sextant::cli
