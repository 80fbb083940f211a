#include "cli/serve/support_json.hpp"

#include "core/json/json_text.hpp"
#include "cost_models/serving/expert_exchange.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

std::string support_json(ServingSupport const& support) {
    using Json = nlohmann::ordered_json;
    auto const interval = [](EngineInterval const& i) {
        return Json{{"low", i.low}, {"high", i.high}, {"rows", i.rows}};
    };
    return json_text(Json{
        {"tpot", interval(support.interval)}, {"ttft", interval(support.first_token)}, {"unsupported", support.terms}});
}

void add_formats(nlohmann::ordered_json& out, ServingCase const& what) {
    ServingPlan const& plan = what.plan;
    out["moe_dispatcher"] = nullptr;
    if (sends_to_experts(plan)) out["moe_dispatcher"] = name_of(dispatcher_of(what));
    out["redundant_experts"] = plan.redundant_experts;
    out["weights"] = plan.weights;
    out["weights_stored"] = plan.stored.empty() ? plan.weights : plan.stored;
    out["weights_origin"] = name_of(plan.weights_origin);
    out["kv_cache"] = name_of(plan.cache);
    out["kv_cache_origin"] = name_of(plan.cache_origin);
    out["max_batch"] = plan.max_batch;
    out["max_batched_tokens"] = plan.max_batched_tokens;
}

}  // namespace sextant::cli
