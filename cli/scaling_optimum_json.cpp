#include "cli/scaling_answer_json.hpp"
#include "cli/scaling_optimum.hpp"
#include "cli/scaling_rates_json.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

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
                                {"local_exponent", budget.counting->local_exponent}};
    out["rates"] = rates_json(budget.rates);
    if (!budget.batch) return;
    out["batch"] = {{"batch_tokens", budget.batch->batch}, {"trades", Json::array()}};
    for (BatchAnswer::Trade const& t : budget.batch->trades)
        out["batch"]["trades"].push_back({{"law", t.law},
                                          {"critical_batch_tokens", t.critical_batch},
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
    return out.dump(2) + "\n";
}

}  // namespace sextant::cli
