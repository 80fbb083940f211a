#include "cli/plan/flops_view.hpp"
#include "core/graph/model_flops.hpp"
#include "core/json/json_text.hpp"
#include "core/spec/not_modelled.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json work_object(Work const& work) {
    return {{"flops", work.executed.base()},
            {"model_flops", work.model.base()},
            {"bytes", work.moved.base()},
            {"sent_bytes", work.sent.base()}};
}

}  // namespace

std::string flops_json(FlopsSheet const& sheet) {
    StepGraph const& g = sheet.graph;
    FlopsTotals const t = flops_totals(sheet);
    Json ops = Json::array();
    for (FlopsRow const& row : flops_rows(sheet))
        ops.push_back({{"block", row.block},
                       {"op", row.op},
                       {"shape", row.shape},
                       {"forward", work_object(row.forward)},
                       {"backward", work_object(row.backward)}});
    Json stages = Json::array();
    for (std::size_t i = 0; i < g.layout.stages.size(); ++i)
        stages.push_back({{"layers", g.layout.stages[i].layers},
                          {"forward", work_object(stage_work(g, i, Pass::forward))},
                          {"backward", work_object(stage_work(g, i, Pass::backward))},
                          {"recompute", work_object(stage_rerun_work(g, i))},
                          {"parameters", stage_parameters(g, i).total() + stage_frozen_weights(g, i).total()}});
    if (g.plan.adapters.on())
        for (std::size_t i = 0; i < g.layout.stages.size(); ++i)
            stages[i]["trained_parameters"] = stage_parameters(g, i).total();
    auto const optional = [](Flops flops) { return flops > Flops{} ? Json(flops.base()) : Json(nullptr); };
    Json json{
        {"format", "flops"},
        {"version", 1},
        {"model", sheet.model.name},
        {"left_out", left_out_of(sheet.model.architecture)},
        {"seq", g.workload.sequence},
        {"global_batch", g.workload.global_batch},
        {"forward_flops_per_token", forward_flops_per_token(sheet.model, g.workload.shape()).base()},
        {"causal_forward_flops_per_token", causal_forward_flops_per_token(sheet.model, g.workload.shape()).base()},
        {"step_model_flops", t.model.base()},
        {"step_executed_flops", t.executed.base()},
        {"step_recompute_flops", t.recompute.base()},
        {"six_n_d_flops", t.six_n_d.base()},
        {"gpt_72_flops", optional(t.gpt_72)},
        {"megatron_96_flops", optional(t.megatron_96)},
        {"stages", std::move(stages)},
        {"ops", std::move(ops)},
        {"graph_digest", digest(g)}};
    if (g.workload.document > 0) json["document_tokens"] = g.workload.document;
    if (g.workload.preference != Preference::none) json["preference"] = name_of(g.workload.preference);
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
