#include "cli/scaling_answer_json.hpp"
#include "cli/scaling_predict.hpp"
#include "cli/scaling_rates_json.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

using Json = nlohmann::ordered_json;

std::string predict_json(PredictReport const& report) {
    PredictRow const& first = report.rows.front();
    Json out{{"format", "scaling-prediction"},
             {"version", 1},
             {"law", first.answer.name},
             {"parameters", report.parameters},
             {"total_parameters", report.total_parameters},
             {"tokens", report.tokens},
             {"flops", report.flops()},
             {"tokens_per_parameter", report.tokens / report.parameters},
             {"loss", number_json(first.answer.loss)},
             {"loss_interval", interval_json(first.answer.loss_interval)}};
    if (report.setting.unique_tokens > 0) out["unique_tokens"] = report.setting.unique_tokens;
    if (report.target) out["target_loss"] = *report.target;
    out["laws"] = Json::array();
    for (PredictRow const& row : report.rows) {
        Json entry = answer_json(row.answer);
        if (row.penalty) {
            entry["optimum"] = point_json(row.penalty->optimum);
            entry["loss_penalty"] = row.penalty->loss;
            entry["compute_needed_share"] = row.penalty->compute_needed;
        }
        if (report.target) entry["tokens_for_target"] = number_json(row.tokens_for_target);
        out["laws"].push_back(std::move(entry));
    }
    if (report.same_loss) {
        out["same_loss_optimum"] = point_json(*report.same_loss);
        out["overhead_share"] = *report.flops_over_same_loss - 1;
    }
    if (report.rounding)
        out["post_training"] = {{"bits", report.post_training_bits}, {"loss_penalty", *report.rounding}};
    out["rates"] = rates_json(report.rates);
    if (report.cost) {
        out["machine"] = report.machine->text;
        out["run"] = {{"accelerator_hours", report.cost->accelerator_hours},
                      {"time_s", report.cost->time.base() > 0 ? Json(report.cost->time.base()) : Json(nullptr)},
                      {"cost_usd", report.cost->money.base() > 0 ? Json(report.cost->money.base()) : Json(nullptr)}};
    }
    out["assumptions"] = report.assumptions;
    return out.dump(2) + "\n";
}

}  // namespace sextant::cli
