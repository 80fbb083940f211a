#include "cli/rl/rows_view.hpp"
#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json errors_object(ErrorStatistics const& e) {
    return {{"n", e.n},
            {"mape_pct", e.mape_pct},
            {"median_ape_pct", e.median_ape_pct},
            {"p90_ape_pct", e.p90_ape_pct},
            {"bias_pct", e.bias_pct}};
}

}  // namespace

std::string rl_rows_json(std::vector<RlRow> const& rows) {
    Json json{{"format", "rl-validation"}, {"version", 1}, {"overall", errors_object(rl_errors(rows))}};
    json["modes"] = Json::object();
    for (auto const& [mode, group] : scored_by_mode(rows))
        json["modes"][mode] = errors_object(rl_errors(group));
    json["speed_up_of_asynchrony"] = errors_object(speed_up_errors(rl_speed_ups(rows)));
    json["rows"] = Json::array();
    for (RlRow const& row : rows) {
        Json entry{{"source_id", row.source}, {"model", row.model},           {"mode", row.mode},
                   {"gpu", row.device},       {"num_gpus", row.accelerators}, {"step_time_s", row.measured.base()}};
        entry["pred_step_time_s"] = row.predicted ? Json(row.predicted->step.base()) : Json(nullptr);
        entry["pred_tokens_per_s_per_gpu"] = row.predicted ? Json(row.predicted->tokens_per_s_per_gpu) : Json(nullptr);
        if (row.predicted) {
            RlPhases const& p = row.predicted->phases;
            entry["pred_phases"] = {
                {"generation_s", p.generation.base()},
                {"scores_s", (p.reward + p.policy_scores + p.reference_scores + p.critic_values).base()},
                {"training_s", (p.policy_training + p.critic_training + p.swaps).base()},
                {"weight_sync_s", p.sync.base()},
                {"controller_s", p.controller.base()},
                {"offload_s", p.offload.base()}};
        }
        entry["skip_reason"] = row.skip_reason;
        entry["assumptions"] = row.assumptions;
        json["rows"].push_back(entry);
    }
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
