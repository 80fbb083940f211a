#include "cli/scaling/optimum.hpp"
#include "cli/scaling/predict.hpp"
#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Null where it is missing or endless.

Json number_json(std::optional<double> value) {
    return value && std::abs(*value) < 1e100 ? Json(*value) : Json(nullptr);
}

Json interval_json(std::optional<LawInterval> const& interval) {
    if (!interval) return nullptr;
    return {{"low_95", number_json(interval->low95)},
            {"low_80", number_json(interval->low80)},
            {"median", number_json(interval->median)},
            {"high_80", number_json(interval->high80)},
            {"high_95", number_json(interval->high95)}};
}

Json point_json(ScalingPoint const& point) {
    return {{"parameters", point.parameters}, {"tokens", point.tokens}, {"loss", point.loss}};
}

Json answer_json(ScalingAnswer const& a) {
    Json outside = Json::array();
    for (Extrapolation const& e : a.outside)
        outside.push_back({{"input", e.input}, {"value", e.value}, {"factor", e.factor}, {"above", e.above}});
    return {{"law", a.name},
            {"form", a.form},
            {"title", a.title},
            {"basis", a.basis},
            {"source", a.source},
            {"counting", a.counting},
            {"parameters", a.parameters},
            {"tokens", a.tokens},
            {"tokens_per_parameter", a.ratio()},
            {"loss", number_json(a.loss)},
            {"intervals",
             {{"parameters", interval_json(a.parameters_interval)},
              {"tokens", interval_json(a.tokens_interval)},
              {"tokens_per_parameter", interval_json(a.ratio_interval)},
              {"loss", interval_json(a.loss_interval)}}},
            {"outside_fitted_range", outside},
            {"warnings", a.warnings}};
}

Json rates_json(RateBand const& band) {
    Json out{{"learning_rate", {band.learning_rate_low, band.learning_rate_high}},
             {"batch_tokens", {band.batch_low, band.batch_high}},
             {"laws", Json::array()}};
    for (RateBand::Entry const& e : band.entries)
        out["laws"].push_back({{"law", e.law->name},
                               {"basis", e.law->basis},
                               {"source", e.law->source},
                               {"learning_rate", number_json(e.learning_rate)},
                               {"batch_tokens", number_json(e.batch)},
                               {"critical_batch_tokens", number_json(e.critical_batch)},
                               {"noise_scale_tokens", number_json(e.noise_scale)}});
    return out;
}

Json rows_json(std::vector<OptimumRow> const& rows) {
    Json list = Json::array();
    for (OptimumRow const& row : rows) {
        Json entry = answer_json(row.answer);
        entry["flops"] = row.flops;
        list.push_back(std::move(entry));
    }
    return list;
}

Json cost_json(RunCost const& cost) {
    return {{"accelerator_hours", cost.accelerator_hours},
            {"time_s", cost.time.base() > 0 ? Json(cost.time.base()) : Json(nullptr)},
            {"cost_usd", cost.money.base() > 0 ? Json(cost.money.base()) : Json(nullptr)}};
}

Json lifetime_json(InferenceOptimum const& o) {
    Json out = point_json(o.point);
    out["training_flops"] = o.training_flops;
    out["inference_flops"] = o.inference_flops;
    out["cost"] = o.cost;
    return out;
}

Json inference_json(InferenceAnswer const& a) {
    return {{"prefill_tokens", a.demand.prefill_tokens},
            {"decode_tokens", a.demand.decode_tokens},
            {"cost_unit", a.in_dollars ? "usd" : "flop"},
            {"optimum", lifetime_json(a.optimum)},
            {"compute_optimum", lifetime_json(a.training_only)},
            {"saved", a.training_only.cost - a.optimum.cost},
            {"saved_share", 1 - a.optimum.cost / a.training_only.cost}};
}

Json repeated_json(std::vector<RepeatedAnswer> const& answers) {
    Json list = Json::array();
    for (RepeatedAnswer const& a : answers) {
        Json entry{{"law", a.law}, {"unique_tokens", a.unique_tokens}};
        entry.update(point_json(a.point.point));
        entry["epochs"] = a.point.epochs;
        entry["intervals"] = {{"epochs", interval_json(a.epochs_interval)},
                              {"parameters", interval_json(a.parameters_interval)}};
        entry["effective_tokens"] = a.point.effective_tokens;
        entry["with_enough_data"] = point_json(a.point.with_enough_data);
        list.push_back(std::move(entry));
    }
    return list;
}

Json experts_json(std::vector<ExpertAnswer> const& answers) {
    Json list = Json::array();
    for (ExpertAnswer const& a : answers)
        list.push_back({{"law", a.law},
                        {"effective_dense_parameters", number_json(a.effective_dense)},
                        {"loss", number_json(a.loss)},
                        {"dense_loss", number_json(a.dense_loss)},
                        {"optimum", a.optimum ? point_json(*a.optimum) : Json(nullptr)}});
    return list;
}

Json context_json(ContextAnswer const& c) {
    Json out{{"context", c.context},
             {"attention_share", c.share},
             {"layers", c.layers},
             {"width", c.width},
             {"optimum", point_json(c.optimum)}};
    if (c.model_share) {
        out["model"] = c.model;
        out["model_attention_share"] = *c.model_share;
    }
    return out;
}

Json penalty_json(AllocationPenalty const& p, double ratio) {
    return {{"tokens_per_parameter", ratio}, {"parameters", p.point.parameters},
            {"tokens", p.point.tokens},      {"loss", p.point.loss},
            {"loss_penalty", p.loss},        {"compute_needed_share", p.compute_needed}};
}

void add_first_law(Json& out, BudgetAnswer const& budget) {
    if (budget.flops_interval) out["flops_interval"] = interval_json(budget.flops_interval);
    if (budget.flat)
        out["flat_region"] = {{"parameters", {budget.flat->parameters_low, budget.flat->parameters_high}},
                              {"tokens", {budget.flat->tokens_low, budget.flat->tokens_high}},
                              {"loss_share", equal_loss_share}};
    if (budget.rule) out["rule"] = penalty_json(*budget.rule, budget.rule_ratio);
    out["smaller_models"] = Json::array();
    for (SmallerModel const& m : budget.smaller)
        out["smaller_models"].push_back({{"size_factor", m.size_factor},
                                         {"token_factor", number_json(m.trade.token_factor)},
                                         {"overhead_share", number_json(m.trade.overhead)}});
}

void add_sections(Json& out, BudgetAnswer const& budget) {
    if (budget.inference) out["inference"] = inference_json(*budget.inference);
    if (!budget.repeated.empty()) out["repeated_data"] = repeated_json(budget.repeated);
    if (!budget.experts.empty()) out["experts"] = experts_json(budget.experts);
    if (budget.bits)
        out["bits"] = {{"bits", budget.bits->bits},
                       {"retention", budget.bits->retention},
                       {"optimal_bits", budget.bits->optimal_bits},
                       {"equal_parameters", budget.bits->equal_parameters}};
    if (budget.context) out["context"] = context_json(*budget.context);
    if (budget.counting)
        out["non_embedding"] = {{"parameters", budget.counting->point.parameters},
                                {"total_parameters", budget.counting->total_parameters},
                                {"tokens", budget.counting->point.tokens},
                                {"local_exponent", budget.counting->local_exponent},
                                {"exponent_over_kaplan_sizes", budget.kaplan_exponent}};
    out["rates"] = rates_json(budget.rates);
    out["rates"]["adamw_timescale"] = adamw_timescale(budget.first().parameters, budget.first().tokens);
    if (!budget.batch) return;
    out["batch"] = {{"batch_tokens", budget.batch->batch}, {"trades", Json::array()}};
    for (BatchAnswer::Trade const& t : budget.batch->trades)
        out["batch"]["trades"].push_back({{"law", t.law},
                                          {"critical_batch_tokens", t.critical_batch},
                                          {"noise_scale_tokens", t.noise_scale},
                                          {"steps_factor", t.steps_factor},
                                          {"samples_factor", t.samples_factor}});
}

}  // namespace

std::string optimum_json(OptimumReport const& report) {
    BudgetAnswer const& budget = report.budgets.front();
    ScalingAnswer const& first = budget.first();
    // The first law's answer to the first budget, where a program that asks one thing looks.
    Json out{{"format", "scaling-optimum"},
             {"version", 1},
             {"law", first.name},
             {"flops", budget.flops},
             {"parameters", first.parameters},
             {"tokens", first.tokens},
             {"tokens_per_parameter", first.ratio()},
             {"loss", number_json(first.loss)},
             {"given", name_of(report.kind)}};
    if (report.machine) out["machine"] = report.machine->text;
    out["budgets"] = Json::array();
    for (BudgetAnswer const& b : report.budgets) {
        Json entry{{"amount", b.amount}, {"flops", b.flops}};
        if (b.cost) entry["run"] = cost_json(*b.cost);
        entry["laws"] = rows_json(b.rows);
        add_first_law(entry, b);
        add_sections(entry, b);
        out["budgets"].push_back(std::move(entry));
    }
    out["left_out"] = report.left_out;
    out["assumptions"] = report.assumptions;
    return json_text(out, 2) + "\n";
}

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
    out["rates"]["adamw_timescale"] = adamw_timescale(report.parameters, report.tokens);
    if (report.cost) {
        out["machine"] = report.machine->text;
        out["run"] = {{"accelerator_hours", report.cost->accelerator_hours},
                      {"time_s", report.cost->time.base() > 0 ? Json(report.cost->time.base()) : Json(nullptr)},
                      {"cost_usd", report.cost->money.base() > 0 ? Json(report.cost->money.base()) : Json(nullptr)}};
    }
    out["assumptions"] = report.assumptions;
    return json_text(out, 2) + "\n";
}

}  // namespace sextant::cli
