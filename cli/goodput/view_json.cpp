#include "cli/goodput/view.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinity.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

template <class Amount>
Json use_json(TimeUse<Amount> const& use, char const* suffix) {
    auto const value = [](Amount const& amount) {
        if constexpr (std::is_same_v<Amount, double>)
            return amount;
        else
            return amount.base();
    };
    Json json;
    auto const add = [&](char const* name, Amount const& amount) { json[std::string(name) + suffix] = value(amount); };
    add("useful", use.useful);
    add("stall", use.stall);
    add("rewind", use.rewind);
    add("detection", use.detection);
    add("restart", use.restart);
    add("waiting", use.waiting);
    add("shrink", use.shrink);
    add("maintenance", use.maintenance);
    return json;
}

Json spread_json(Spread const& spread) {
    return {{"mean", spread.mean}, {"standard_error", spread.standard_error},
            {"p5", spread.p5},     {"p25", spread.p25},
            {"p50", spread.p50},   {"p75", spread.p75},
            {"p95", spread.p95}};
}

Json failures_json(GoodputReport const& report) {
    Json list = Json::array();
    for (FailureProcess const& process : report.subject.run.failures)
        list.push_back({{"name", process.name},
                        {"scope", name_of(process.scope)},
                        {"components", process.components},
                        {"mtbf_s", finite(process.mtbf.base())},
                        {"weibull_shape", process.shape},
                        {"basis", process.basis},
                        {"source", process.source}});
    return list;
}

Json tiers_json(GoodputReport const& report) {
    Json list = Json::array();
    for (std::size_t i = 0; i < report.subject.run.tiers.size(); ++i) {
        CheckpointTier const& tier = report.subject.run.tiers[i];
        TierInterval const& interval = report.expected.intervals[i];
        list.push_back({{"name", tier.name},
                        {"interval_s", tier.interval.base()},
                        {"young_s", finite(interval.young.base())},
                        {"daly_s", finite(interval.daly.base())},
                        {"exact_s", finite(interval.exact.base())},
                        {"mtbf_s", finite(interval.mtbf.base())},
                        {"stall_s", tier.stall.base()},
                        {"write_behind_s", tier.lag.base()},
                        {"load_s", tier.load.base()},
                        {"survives", name_of(tier.survives)}});
    }
    return list;
}

Json study_json(FaultStudy const& study) {
    Json json{{"trials", study.trials}, {"finished", study.finished}, {"interrupted", study.interrupted}};
    if (study.finished == 0) return json;
    json["effective_training_time_ratio"] = study.ratio_of_means();
    json["ratio_standard_error"] = study.ratio_error();
    json["wall_s"] = spread_json(study.wall_s);
    json["ratio"] = spread_json(study.ratio);
    json["failures"] = spread_json(study.failures);
    json["shares"] = use_json(study.shares, "");
    json["causes"] = Json::array();
    for (SimulatedCause const& cause : study.causes)
        json["causes"].push_back(
            {{"name", cause.name}, {"per_day", cause.per_day}, {"each_s", cause.each.base()}, {"share", cause.share}});
    return json;
}

Json search_json(IntervalSearch const& search) {
    Json json{{"best_s", search.best.base()},
              {"flat_low_s", search.flat_low.base()},
              {"flat_high_s", search.flat_high.base()},
              {"interrupted", search.interrupted},
              {"tried", Json::array()}};
    for (IntervalTrial const& one : search.tried)
        json["tried"].push_back({{"interval_s", one.interval.base()},
                                 {"ratio", one.ratio},
                                 {"behind", one.behind},
                                 {"behind_standard_error", one.behind_error}});
    return json;
}

Json timeline_json(GoodputReport const& report) {
    TrialOutcome const& outcome = *report.timeline;
    Json json{{"finished", outcome.finished},       {"wall_s", outcome.wall.base()},
              {"checkpoints", outcome.checkpoints}, {"failures", outcome.failures},
              {"use", use_json(outcome.use, "_s")}, {"incidents", Json::array()}};
    for (Incident const& incident : outcome.incidents) {
        Json entry{{"at_s", incident.at.base()}, {"kind", name_of(incident.kind)}};
        if (incident.cause >= 0) {
            entry["cause"] = report.subject.run.failures[static_cast<std::size_t>(incident.cause)].name;
            entry["component"] = incident.component;
        }
        entry["scope"] = name_of(incident.scope);
        if (incident.tier)
            entry["back_to"] = report.subject.run.tiers[*incident.tier].name;
        else
            entry["back_to"] = nullptr;
        entry["rewind_s"] = incident.rewind.base();
        entry["detection_s"] = incident.detection.base();
        entry["waiting_s"] = incident.waiting.base();
        entry["restart_s"] = incident.restart.base();
        entry["planned_s"] = incident.planned.base();
        entry["also"] = incident.also;
        entry["broken_nodes"] = incident.broken;
        entry["missing_replicas"] = incident.missing;
        json["incidents"].push_back(std::move(entry));
    }
    return json;
}

}  // namespace

std::string goodput_json(GoodputReport const& report) {
    GoodputSubject const& subject = report.subject;
    Json json{{"format", "goodput"}, {"version", 1}};
    if (!subject.model.empty()) json["model"] = subject.model;
    json["gpus"] = subject.gpus;
    json["gpus_per_node"] = subject.gpus_per_node;
    json["work_s"] = subject.run.work.base();
    json["seed"] = report.seed;
    json["checkpoint"] = {{"bytes", subject.checkpoint.total.base()},
                          {"bytes_per_parameter", subject.checkpoint.bytes_per_parameter},
                          {"busiest_rank_bytes", subject.checkpoint.busiest_rank.base()},
                          {"busiest_node_bytes", subject.checkpoint.per_node.base()},
                          {"mode", name_of(subject.mode)},
                          {"storage", subject.storage}};
    if (auto const hours = goodput_hours(report)) {
        json["accelerator_hours"] = hours->all;
        json["lost_accelerator_hours"] = hours->lost;
        if (auto const price = subject.usd_per_gpu_hour) {
            json["usd_per_gpu_hour"] = *price;
            json["usd"] = hours->all * *price;
            json["lost_usd"] = hours->lost * *price;
        }
    }
    json["detection_s"] = subject.run.detection.base();
    json["restart_s"] = subject.run.restart.base();
    if (subject.run.replacement.spares)
        json["spares"] = *subject.run.replacement.spares;
    else
        json["spares"] = nullptr;
    json["repair_s"] = subject.run.replacement.repair.base();
    json["failures"] = failures_json(report);
    json["tiers"] = tiers_json(report);
    Goodput const& expected = report.expected;
    Json closed{{"effective_training_time_ratio", expected.ratio()},
                {"wall_s", finite(expected.wall.base())},
                {"mtbf_s", finite(expected.mtbf.base())},
                {"approximation", expected.approximation},
                {"shares", use_json(expected.shares, "")},
                {"causes", Json::array()}};
    for (CauseLoss const& cause : expected.causes)
        closed["causes"].push_back(
            {{"name", cause.name}, {"per_day", cause.per_day}, {"each_s", cause.each.base()}, {"share", cause.share}});
    json["closed_form"] = std::move(closed);
    if (report.study) json["simulation"] = study_json(*report.study);
    if (!report.not_simulated.empty()) json["not_simulated"] = report.not_simulated;
    if (report.search) json["interval_search"] = search_json(*report.search);
    if (report.timeline) json["timeline"] = timeline_json(report);
    json["assumptions"] = subject.assumptions;
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
