#include "cli/validate/view.hpp"

#include "core/json/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Figures of no rows are null, not zero.
Json statistics_object(ErrorStatistics const& s) {
    auto const figure = [&](double value) { return s.n > 0 ? Json(value) : Json(nullptr); };
    return {{"n", s.n},
            {"mape_pct", figure(s.mape_pct)},
            {"median_ape_pct", figure(s.median_ape_pct)},
            {"p90_ape_pct", figure(s.p90_ape_pct)},
            {"bias_pct", figure(s.bias_pct)}};
}

Json reasons_array(ReasonCounts const& counts) {
    Json array = Json::array();
    for (auto const& [reason, count] : counts)
        array.push_back({{"reason", reason}, {"rows", count}});
    return array;
}

Json score_object(ValidationKind kind, SourceScore const& s) {
    Json json{{"source", s.source}, {"n", s.n}, {"skipped", s.skipped}, {"time", statistics_object(s.time)}};
    json["inside_interval_pct"] = inside_interval_pct(s) ? Json(*inside_interval_pct(s)) : Json(nullptr);
    if (kind == ValidationKind::train) {
        json["memory"] = statistics_object(s.memory);
        json["oom"] = {{"n", s.oom.n},
                       {"accuracy_pct", s.oom.n > 0 ? Json(s.oom.accuracy_pct()) : Json(nullptr)},
                       {"missed", s.oom.missed},
                       {"false_alarms", s.oom.false_alarms}};
    }
    if (kind == ValidationKind::serving)
        for (std::size_t i = 0; i < served_names.size(); ++i)
            json[std::string(served_names[i])] = statistics_object(s.served[i]);
    json["skip_reasons"] = reasons_array(s.skip_reasons);
    json["time_not_scored"] = reasons_array(s.time_reasons);
    if (kind == ValidationKind::train) json["memory_not_scored"] = reasons_array(s.memory_reasons);
    json["assumptions"] = reasons_array(s.assumptions);
    return json;
}

Json groups_array(Validation const& v) {
    Json array = Json::array();
    for (auto const& [group, score] : v.groups) {
        Json entry{
            {"by", group.by},
            {"group", group.name},
            {"n", score.n},
            {"time", statistics_object(score.time)},
            {"inside_interval_pct", inside_interval_pct(score) ? Json(*inside_interval_pct(score)) : Json(nullptr)}};
        if (v.kind == ValidationKind::serving)
            for (std::size_t i = 0; i < served_names.size(); ++i)
                entry[std::string(served_names[i])] = statistics_object(score.served[i]);
        array.push_back(std::move(entry));
    }
    return array;
}

}  // namespace

std::string validation_json(Validation const& v) {
    Json json{{"format", fmt::format("{}-validation", name_of(v.kind))}, {"version", 1}};
    json["interrupted"] = v.interrupted;
    IntervalFactors const interval = interval_factors(v.kind);
    json["interval"] = {{"coverage", 0.8},
                        {"basis", interval_note(v.kind)},
                        {"without_fit", {{"low_factor", interval.low}, {"high_factor", interval.high}}}};
    json["overall"] = score_object(v.kind, v.overall);
    json["sources"] = Json::array();
    for (SourceScore const& source : v.sources)
        json["sources"].push_back(score_object(v.kind, source));
    if (v.ranking.questions > 0)
        json["ranking"] = {{"questions", v.ranking.questions},
                           {"rows", v.ranking.rows},
                           {"spearman_median", v.ranking.median},
                           {"spearman_p10", v.ranking.low}};
    json["worst"] = Json::array();
    for (WorstRow const& row : v.worst) {
        Json entry{{"row", row.where}, {"source", row.source}, {"what", row.what}};
        if (row.tokens_per_s) {
            entry["measured_tokens_per_s"] = row.tokens_per_s->measured;
            entry["predicted_tokens_per_s"] = row.tokens_per_s->predicted;
        } else {
            entry["measured_s"] = row.measured.base();
            entry["predicted_s"] = row.predicted.base();
        }
        entry["error_pct"] = row.error_pct();
        entry["split"] = row.split;
        entry["reason"] = row.reason;
        json["worst"].push_back(std::move(entry));
    }
    if (v.kind != ValidationKind::train) json["groups"] = groups_array(v);
    // Cells of a foreign file may hold anything; what is not UTF-8 is replaced.
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
