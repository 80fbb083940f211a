#include "cli/serve/plan_report.hpp"
#include "cli/serve/support_json.hpp"
#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json plan_json(ServeQuestion const& q, std::size_t machine, ServingPlan const& plan) {
    ServeCandidate candidate;
    candidate.machine = machine;
    candidate.plan = plan;
    Json out{{"tp", plan.tp}, {"pp", plan.pp}, {"ep", plan.ep}, {"attention_dp", plan.attention_dp}};
    out.update(Json::parse(formats_json(q.case_of(candidate))));
    out["memory_utilisation"] = plan.memory_utilisation;
    return out;
}

Json candidate_json(ServePlanReport const& report, ServeCandidate const& c) {
    ServeMachine const& machine = report.question.machines[c.machine];
    std::int64_t const replicas = c.trial ? c.replicas : c.least_replicas;
    Json out{{"cluster", machine.cluster.name},          {"plan", plan_json(report.question, c.machine, c.plan)},
             {"simulated", c.trial.has_value()},         {"replicas", replicas},
             {"gpus", c.accelerators(replicas)},         {"least_replicas", c.least_replicas},
             {"rate_bound_requests_per_s", c.rate_bound}};
    if (c.prompts)
        out["prefill"] = {{"plan", plan_json(report.question, c.machine, c.prompts->plan)},
                          {"replicas", c.prompts->replicas},
                          {"gpus", c.prompts->replicas * c.prompts->plan.accelerators()},
                          {"rate_bound_requests_per_s", c.prompts->rate_bound}};
    auto const error = format_error_of(report.question.errors, c.plan);
    out["error"] = error ? Json(*error) : Json(nullptr);
    out["time_interval"] = Json::parse(support_json(support_of(report.question, c)));
    if (machine.usd_per_hour)
        out["usd_per_hour"] = *machine.usd_per_hour * static_cast<double>(c.accelerators(replicas));
    if (c.trial)
        out["simulation"] = {{"kept_share", c.trial->kept},
                             {"ttft_p50_s", c.trial->ttft_p50.base()},
                             {"ttft_p99_s", c.trial->ttft_p99.base()},
                             {"tpot_p50_s", c.trial->tpot_p50.base()},
                             {"tpot_p99_s", c.trial->tpot_p99.base()},
                             {"ttft_kept_s", c.trial->ttft_kept.base()},
                             {"tpot_kept_s", c.trial->tpot_kept.base()},
                             {"output_tokens_per_s", c.trial->output_tokens_per_s}};
    if (auto const& confirmed = c.confirmed)
        out["confirmation"] = {{"simulations", confirmed->simulations},
                               {"longest_requests", confirmed->longest},
                               {"least_kept_share", confirmed->least_kept},
                               {"ttft_kept_s", {confirmed->ttft_shortest.base(), confirmed->ttft_longest.base()}},
                               {"tpot_kept_s", {confirmed->tpot_shortest.base(), confirmed->tpot_longest.base()}},
                               {"unsteady", confirmed->is_unsteady(report.question.ttft, report.question.tpot)},
                               {"added_gpus", confirmed->added}};
    return out;
}

}  // namespace

std::string serve_plan_json(ServePlanReport const& report) {
    ServeQuestion const& q = report.question;
    ServeAnswer const& a = report.answer;
    ServeLoadWords const load = load_words(report);
    Json out{
        {"format", "serving-plan"},
        {"version", 1},
        {"model", q.model.name},
        {"requests_per_s", q.rate},
        {"engine", q.engine.name},
        {"scheduler", q.used_scheduler().name},
        {"arrivals", load.arrivals},
        {"prompt", q.trace.empty() ? q.prompt.spelling() : load.prompts},
        {"output", q.trace.empty() ? q.output.spelling() : load.answers},
        {"context", report.context ? Json(*report.context) : Json(nullptr)},
        {"objectives",
         {{"ttft_s", q.ttft > Seconds{} ? Json(q.ttft.base()) : Json(nullptr)},
          {"tpot_s", q.tpot > Seconds{} ? Json(q.tpot.base()) : Json(nullptr)},
          {"share", q.share}}},
        {"found", a.found()},
        {"interrupted", a.interrupted},
        {"best_ttft_s", a.best_ttft ? Json(a.best_ttft->base()) : Json(nullptr)},
        {"best_tpot_s", a.best_tpot ? Json(a.best_tpot->base()) : Json(nullptr)},
        {"shortage", Json(nullptr)},
        {"counts",
         {{"enumerated", a.enumerated}, {"simulated", a.simulated}, {"untried", a.untried}, {"rejected", a.rejected}}},
        {"candidates", Json::array()},
        {"frontier", Json::array()},
        {"assumptions", report.assumptions}};
    if (a.shortage)
        out["shortage"] = {{"cluster", q.machines[a.shortage->machine].cluster.name},
                           {"plan", plan_json(q, a.shortage->machine, a.shortage->plan)},
                           {"needed_bytes", a.shortage->needed.base()},
                           {"usable_bytes", a.shortage->usable.base()},
                           {"reason", no_deployment(report)}};
    for (ServeCandidate const& c : a.ranked)
        out["candidates"].push_back(candidate_json(report, c));
    for (FrontierPoint const& p : a.frontier)
        out["frontier"].push_back({{"cluster", q.machines[p.machine].cluster.name},
                                   {"plan", plan_json(q, p.machine, p.plan)},
                                   {"concurrency", p.concurrency},
                                   {"tokens_per_s_per_user", p.tokens_per_s_user},
                                   {"output_tokens_per_s_per_gpu", p.tokens_per_s_accelerator}});
    return json_text(out, 2) + "\n";
}

}  // namespace sextant::cli
