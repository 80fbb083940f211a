#include "cli/scaling/fit.hpp"
#include "core/json/json_text.hpp"
#include "cost_models/scaling/fitted_law.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// What is not bounded is null. @param form whose parameter it is; null for other quantities.
Json interval(LawForm const* form, ParameterInterval const& p) {
    auto const shown = [&](double value) {
        return number(form == nullptr ? value : shown_value(*form, p.name, value));
    };
    Json out = Json::object();
    if (p.at_80) {
        out["low_80"] = shown(p.at_80->low);
        out["high_80"] = shown(p.at_80->high);
        out["low_95"] = shown(p.at_95->low);
        out["high_95"] = shown(p.at_95->high);
        out["median"] = shown(p.median);
        out["standard_error"] = shown(p.standard_error);
    }
    if (p.profile) {
        out["profile_low_95"] = p.profile->open_below ? Json(nullptr) : shown(p.profile->low);
        out["profile_high_95"] = p.profile->open_above ? Json(nullptr) : shown(p.profile->high);
    }
    out["fitted"] = p.fitted;
    return out;
}

Json named(LawForm const& form, std::vector<double> const& values) {
    Json out = Json::object();
    for (std::size_t k = 0; k < values.size(); ++k)
        out[form.parameters[k].name] = number(values[k]);
    return out;
}

void add_study(Json& out, ScalingFitReport const& r) {
    LawStudy const& study = *r.study;
    LawForm const& form = *study.problem.form;
    out["objective"] = study.fit.objective;
    out["objective_function"] = name_of(study.problem.objective);
    out["converged"] = study.fit.converged;
    out["starts"] = {{"solved", study.fit.starts}, {"agreeing", study.fit.agreeing}};
    if (study.flops > 0) out["at_flops"] = study.flops;
    for (LawBasin const& b : study.fit.others)
        out["basins"].push_back(
            {{"objective", b.objective}, {"starts", b.starts}, {"parameters", named(form, b.values)}});
    for (ObjectiveRow const& o : study.objectives)
        out["sensitivity"].push_back({{"objective_function", name_of(o.objective)},
                                      {"objective", number(o.fit.objective)},
                                      {"converged", o.fit.converged},
                                      {"parameters", named(form, o.fit.values)},
                                      {"quantity", number(o.quantity)}});
    for (InfluenceRow const& row : study.influence)
        out["influence"].push_back(
            {{"line", r.table.lines[row.row]}, {"residual", row.residual}, {"quantity", number(row.quantity)}});
    for (BackTest const& t : study.back_tests)
        out["backtest"].push_back({{"cut_flops", t.cut},
                                   {"rows_fitted", t.fitted},
                                   {"rows_judged", t.judged},
                                   {"median_error_pct", t.median_error_pct},
                                   {"bias_pct", t.bias_pct},
                                   {"quantity", number(t.quantity)}});
    out["bootstrap"] = {{"resamples", study.bootstrap.values.size()}, {"failed", study.bootstrap.failed}};
}

void add_curves(Json& out, ScalingFitReport const& r) {
    if (r.isoflop) {
        out["objective"] = nullptr;
        for (IsoflopVertex const& v : r.isoflop->vertices)
            out["vertices"].push_back({{"flops", v.flops},
                                       {"parameters", number(v.parameters)},
                                       {"tokens", number(v.tokens)},
                                       {"loss", number(v.loss)},
                                       {"rows", v.rows},
                                       {"dropped", v.dropped.empty() ? Json(nullptr) : Json(v.dropped)}});
        out["quantities"]["N_r2"] = {{"value", r.isoflop->size.r2}};
        out["quantities"]["D_r2"] = {{"value", r.isoflop->data.r2}};
    }
    if (r.surface_size) {
        char const* const found = r.isoflop ? "surface_parabola_exponent" : "surface_envelope_exponent";
        out["quantities"][found] = {{"value", r.surface_size->exponent}};
        out["quantities"]["surface_exponent"] = {{"value", r.surface_exponent}};
    }
    if (r.allocation) {
        out["quantities"]["N_r2"] = {{"value", r.allocation->first.r2}};
        out["quantities"]["D_r2"] = {{"value", r.allocation->second.r2}};
    }
    if (r.envelope)
        for (IsoflopRow const& p : r.envelope->points)
            out["envelope"].push_back(
                {{"flops", p.flops}, {"parameters", p.parameters}, {"tokens", p.tokens}, {"loss", p.loss}});
    if (r.batch)
        for (CriticalBatchOfSize const& s : r.batch->sizes)
            out["sizes"].push_back({{"parameters", s.parameters},
                                    {"S_min", s.least_steps},
                                    {"E_min", s.least_samples},
                                    {"half_squares", s.half_squares},
                                    {"batch_at_overhead", s.batch_at_overhead},
                                    {"rows", s.rows}});
    if (r.tuning)
        out["cells"] = {{"all", r.tuning->cells}, {"rows_near_optimum", r.tuning->rows}, {"at_edge", r.tuning->edges}};
}

FittedLaw law_of(ScalingFitReport const& r) {
    FittedLaw law;
    law.law = r.law;
    law.title = r.law + " fitted to " + r.table.name;
    law.basis = "fitted";
    law.source = "sextant scaling fit --law " + r.law + ", data " + r.table.name;
    for (ParameterInterval const& p : r.parameters) {
        law.names.push_back(p.name);
        law.values.push_back(p.value);
    }
    law.warnings = r.warnings;
    for (auto const& resample : r.resamples)
        if (std::all_of(resample.begin(), resample.end(), [](double v) { return std::isfinite(v); }))
            law.resamples.push_back(resample);
    for (char const* part : {"parameters", "tokens", "flops"})
        if (r.table.has(part)) {
            auto const [low, high] = std::minmax_element(r.table.column(part).begin(), r.table.column(part).end());
            law.ranges[part] = {*low, *high};
        }
    return law;
}

}  // namespace

std::string scaling_fit_json(ScalingFitReport const& r) {
    // What makes it a law file, then the report; the resamples last, they are long.
    std::string const law = fitted_law_text(law_of(r));
    Json const file = Json::parse(law);
    Json out = Json::object();
    for (auto const& [key, value] : file.items())
        if (key != "resamples") out[key] = value;
    out["warnings"] = r.warnings;  // also when there are none
    out["formula"] = r.formula;
    out["data"] = r.table.name;
    out["columns"] = r.columns;
    out["rows_used"] = r.rows_used;
    out["rows_left_out"] = r.table.left_out;
    out["missing"] = r.table.missing;
    out["intervals"] = Json::object();
    for (ParameterInterval const& p : r.parameters)
        out["intervals"][p.name] = interval(r.study ? r.study->problem.form : nullptr, p);
    out["quantities"] = Json::object();
    for (ParameterInterval const& p : r.quantities) {
        out["quantities"][p.name] = interval(nullptr, p);
        out["quantities"][p.name]["value"] = number(p.value);
    }
    if (r.study) add_study(out, r);
    add_curves(out, r);
    out["assumptions"] = r.assumptions;
    std::string text = json_text(out, 2);
    std::size_t const resamples = law.find("\n  \"resamples\":");
    if (resamples == std::string::npos) return text + "\n";
    text.resize(text.size() - 2);  // the closing brace and its line end
    return text + "," + law.substr(resamples);
}

}  // namespace sextant::cli
