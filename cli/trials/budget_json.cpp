#include "cli/trials/budget.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json bracket_json(Bracket const& bracket) {
    Json json{{"halvings", bracket.early},
              {"units", bracket.units()},
              {"units_resumed", bracket.units_resumed()},
              {"rungs", Json::array()}};
    for (Rung const& rung : bracket.rungs)
        json["rungs"].push_back({{"trials", rung.trials}, {"units", rung.units}, {"new_units", rung.new_units}});
    return json;
}

Json study_json(BudgetReport const& report, SearchStudy const& study) {
    Json json{{"searches", study.runs}, {"interrupted", study.interrupted}};
    if (study.runs == 0) return json;
    std::string const suffix = report.timed ? "_s" : "_units";
    json["wall" + suffix] = study.wall_s;
    json["wall_p5" + suffix] = study.wall_p5_s;
    json["wall_p50" + suffix] = study.wall_p50_s;
    json["wall_p95" + suffix] = study.wall_p95_s;
    json["first_whole" + suffix] = study.first_full_s ? Json(*study.first_full_s) : Json(nullptr);
    json["units"] = study.units;
    json["idle_share"] = study.idle_share;
    json["winner_rank"] = study.winner_rank;
    json["trials_by_rung"] = study.by_rung;
    return json;
}

}  // namespace

std::string budget_json(BudgetReport const& report) {
    Json json{{"format", "trials-budget"},
              {"version", 1},
              {"seed", report.seed},
              {"workers", report.machine.workers},
              {"gpus_per_trial", report.trial.gpus_per_trial}};
    if (report.trial.flops) json["trial_flops"] = *report.trial.flops;
    if (report.trial.gpu_seconds) json["trial_gpu_s"] = *report.trial.gpu_seconds;
    if (report.trial.usd_per_gpu_hour) json["usd_per_gpu_hour"] = *report.trial.usd_per_gpu_hour;
    json["methods"] = Json::array();
    for (SearchAnswer const& answer : report.answers) {
        double const trials = report.trials_of(answer, answer.cost.units);
        Json entry{{"method", name_of(answer.plan.method)},
                   {"eta", answer.plan.eta},
                   {"least_units", answer.plan.least},
                   {"full_units", answer.plan.full},
                   {"resume", answer.plan.resume == SearchPlan::Resume::from_checkpoint},
                   {"started", answer.cost.started},
                   {"finished", answer.cost.finished},
                   {"units", answer.cost.units},
                   {"worst_units", answer.cost.worst_units},
                   {"critical_units", answer.cost.critical_units}};
        if (report.trial.flops) entry["flops"] = trials * *report.trial.flops;
        auto const add = [&](std::string const& unit, BudgetReport::Amounts const& amounts) {
            if (amounts.usual) entry[unit] = *amounts.usual;
            if (amounts.mean) entry["mean_" + unit] = *amounts.mean;
            if (amounts.worst) entry["worst_" + unit] = *amounts.worst;
        };
        add("gpu_s", report.gpu_seconds_of(answer));
        add("usd", report.usd_of(answer));
        entry["brackets"] = Json::array();
        for (Bracket const& bracket : answer.cost.brackets)
            entry["brackets"].push_back(bracket_json(bracket));
        entry["simulation"] = study_json(report, answer.study);
        json["methods"].push_back(std::move(entry));
    }
    json["assumptions"] = report.assumptions;
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
