#include "cli/plan/plan_report_json.hpp"
#include "cli/run_plan/view.hpp"
#include "core/json/json_text.hpp"
#include "core/spec/parameters.hpp"
#include "planner/explain.hpp"
#include "planner/run_plan/global_batch.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json money(std::optional<Dollars> const& amount) { return amount ? Json(amount->base()) : Json(nullptr); }

Json model_object(ModelSpec const& m) {
    ParameterCounts const counts = count_parameters(m);
    return {{"name", m.name},
            {"layers", m.layer_count()},
            {"hidden", m.hidden},
            {"heads", m.attention.heads},
            {"kv_heads", m.attention.kv_heads},
            {"head_dim", m.attention.head_dim},
            {"intermediate", m.mlp.intermediate},
            {"vocab", m.vocab},
            {"tied_embeddings", m.tied_embeddings},
            {"parameters_total", counts.total},
            {"parameters_active", counts.active}};
}

Json interval(WithInterval const& value) {
    if (!value.known()) return nullptr;
    Json json{{"value", value.value}, {"low", nullptr}, {"high", nullptr}};
    if (value.high > 0) {
        json["low"] = value.low;
        json["high"] = value.high;
    }
    return json;
}

Json law_object(RunPlanReport const& report) {
    LawAnswer const& law = report.answer.law;
    if (!(law.flops > 0)) return nullptr;
    return {{"title", report.question.law.title},
            {"source", report.question.law.source},
            {"basis", report.question.law.basis},
            {"resamples", law.resamples},
            {"flops", law.flops},
            {"loss", interval(law.run_loss)},
            {"optimum",
             {{"parameters", interval(law.parameters)},
              {"tokens", interval(law.tokens)},
              {"tokens_per_parameter", interval(law.tokens_per_parameter)},
              {"loss", interval(law.loss)}}},
            {"twenty_tokens_per_parameter",
             {{"parameters", law.twenty_parameters},
              {"tokens", law.twenty_tokens},
              {"loss", law.twenty_loss > 0 ? Json(law.twenty_loss) : Json(nullptr)}}},
            {"warnings", law.warnings}};
}

Json goodput_object(TrainingRun const& run) {
    if (!run.goodput) return nullptr;
    TimeUse<double> const& s = run.goodput->expected.shares;
    return {{"mtbf_s", run.goodput->expected.mtbf.base()},
            {"checkpoint_bytes", run.goodput->checkpoint.base()},
            {"checkpoint_interval_s", run.goodput->interval.base()},
            {"shares",
             {{"useful", s.useful},
              {"checkpoints", s.stall},
              {"lost_work", s.rewind},
              {"restarts", 1 - s.useful - s.stall - s.rewind}}}};
}

Json run_object(TrainingRun const& run) {
    StepReport const& step = run.step;
    double const low = step.interval.low;
    double const high = step.interval.high;
    Json json{{"gpus", step.accelerators},
              {"plan", Json::parse(plan_object_json(step.plan))},
              {"iteration_time_s", step.estimate.time.base()},
              {"iteration_time_low_s", low * step.estimate.time.base()},
              {"iteration_time_high_s", high * step.estimate.time.base()},
              {"mfu", step.mfu},
              {"hfu", step.hfu},
              {"peak_bytes", step.estimate.peak().base()},
              {"usable_bytes", step.limit.usable.base()},
              {"steps", run.steps},
              {"productive_s", run.productive.base()},
              {"effective_training_time_ratio", run.effective_share()},
              {"wall_s", run.wall.base()},
              {"wall_low_s", low * run.wall.base()},
              {"wall_high_s", high * run.wall.base()},
              {"days", run.wall.in(units::day)},
              {"gpu_hours", run.accelerator_hours},
              {"gpu_hours_low", low * run.accelerator_hours},
              {"gpu_hours_high", high * run.accelerator_hours},
              {"dollars", money(run.cost)},
              {"dollars_low", money(run.cost ? std::optional(low * *run.cost) : std::nullopt)},
              {"dollars_high", money(run.cost ? std::optional(high * *run.cost) : std::nullopt)},
              {"tokens_per_s", run.tokens_per_second()},
              {"tokens_per_s_while_training", step.tokens_per_second},
              {"energy",
               {{"kwh", run.energy.kilowatt_hours},
                {"kwh_low", low * run.energy.kilowatt_hours},
                {"kwh_high", high * run.energy.kilowatt_hours},
                {"device_watts", run.energy.device_watts},
                {"site_watts", run.energy.site_watts},
                {"busy_share", run.energy.busy_share}}},
              {"goodput", goodput_object(run)}};
    return json;
}

Json plain_object(RunPlanReport const& report) {
    if (!report.plain) return nullptr;
    PlainArithmetic const& plain = *report.plain;
    Json json{{"mfu", plain.mfu},
              {"parameters", plain.parameters},
              {"tokens", plain.tokens},
              {"gpus", plain.accelerators},
              {"peak_flops_per_s", plain.peak.base()},
              {"flops", 6 * plain.parameters * plain.tokens},
              {"wall_s", plain.time().base()},
              {"days", plain.time().in(units::day)}};
    if (report.answer.run) json["mfu_that_would_be_right"] = plain_mfu_of(plain, report.answer.run->wall);
    Json terms = Json::array();
    for (TimeTerm const& term : report.difference)
        terms.push_back({{"name", term.name}, {"time_s", term.time.base()}, {"why", term.why}});
    json["difference"] = std::move(terms);
    return json;
}

Json curve_object(std::optional<ScalingCurve> const& curve) {
    if (!curve) return nullptr;
    Json points = Json::array();
    for (CurvePoint const& p : curve->points) {
        if (!p.run) {
            points.push_back({{"gpus", p.accelerators}, {"fits", false}, {"reason", p.reason}});
            continue;
        }
        Json point{{"gpus", p.accelerators},
                   {"fits", true},
                   {"efficiency", p.efficiency},
                   {"marginal_efficiency", p.marginal_efficiency},
                   {"dollars_per_halving", money(p.cost_per_halving)},
                   {"dollars_per_day_saved", money(p.cost_per_day_saved)}};
        point.update(run_object(*p.run));
        points.push_back(std::move(point));
    }
    return {{"points", std::move(points)},
            {"pays_above", curve->pays_above},
            {"stops_paying_at_gpus", curve->stops_paying_at ? Json(*curve->stops_paying_at) : Json(nullptr)},
            {"interrupted", curve->interrupted}};
}

/// Whether the run ends in time, and what other numbers of accelerators were found to do.
Json deadline_object(RunPlanReport const& report) {
    RunAnswer const& answer = report.answer;
    if (!answer.deadline && !report.question.deadline) return nullptr;
    DeadlineAnswer const d = answer.deadline.value_or(DeadlineAnswer{});
    auto const short_run = [](std::optional<TrainingRun> const& run) {
        if (!run) return Json(nullptr);
        return Json{{"gpus", run->step.accelerators}, {"wall_s", run->wall.base()}};
    };
    return {{"met", ends_in_time(report.question, answer)},
            {"fewest", short_run(d.run)},
            {"largest_that_misses", short_run(d.missed)},
            {"fastest", short_run(d.fastest)},
            {"tried", d.tried},
            {"multiples_of", d.step}};
}

Json question_object(RunQuestion const& q) {
    Json json{{"budget", nullptr}, {"deadline_s", nullptr}, {"gpus", nullptr}};
    if (q.budget) json["budget"] = {{"kind", name_of(q.budget->kind)}, {"amount", q.budget->amount}};
    if (q.deadline) json["deadline_s"] = q.deadline->base();
    if (q.accelerators) json["gpus"] = *q.accelerators;
    return json;
}

}  // namespace

std::string model_config_json(ModelSpec const& m) {
    Json const json{{"architectures", {"LlamaForCausalLM"}},
                    {"model_type", "llama"},
                    {"hidden_act", "silu"},
                    {"hidden_size", m.hidden},
                    {"intermediate_size", m.mlp.intermediate},
                    {"num_hidden_layers", m.layer_count()},
                    {"num_attention_heads", m.attention.heads},
                    {"num_key_value_heads", m.attention.kv_heads},
                    {"head_dim", m.attention.head_dim},
                    {"max_position_embeddings", m.max_positions},
                    {"vocab_size", m.vocab},
                    {"tie_word_embeddings", m.tied_embeddings},
                    {"attention_bias", false},
                    {"mlp_bias", false},
                    {"rms_norm_eps", 1e-5}};
    return json_text(json, 2) + "\n";
}

std::string run_plan_json(RunPlanReport const& report) {
    RunAnswer const& answer = report.answer;
    Json json{{"format", "run_plan"},
              {"version", 1},
              {"cluster", report.setting.cluster.name},
              {"framework", report.setting.framework.name},
              {"question", question_object(report.question)}};
    bool const chosen = answer.parameters > 0;
    json["model"] = chosen ? model_object(answer.model) : Json(nullptr);
    json["tokens"] = answer.tokens;
    json["seq"] = answer.workload.sequence;
    json["global_batch"] = answer.workload.global_batch;
    if (answer.workload.document > 0) json["document_tokens"] = answer.workload.document;
    json["critical_batch_tokens"] = chosen ? Json(critical_batch_tokens(answer.tokens)) : Json(nullptr);
    json["law"] = law_object(report);
    json["run"] = answer.run ? run_object(*answer.run) : Json(nullptr);
    json["reason"] = ends_in_time(report.question, answer) ? "" : answer.reason;
    json["advice"] = report.advice;
    json["plain"] = plain_object(report);
    json["deadline"] = deadline_object(report);
    json["curve"] = curve_object(report.curve);
    Json rounds = Json::array();
    for (BudgetRound const& r : answer.rounds)
        rounds.push_back({{"flops", r.flops},
                          {"model", r.model},
                          {"parameters", r.parameters},
                          {"tokens", r.tokens},
                          {"mfu", r.mfu},
                          {"loss", r.loss > 0 ? Json(r.loss) : Json()},
                          {"taken", answer.run && rounds.size() == answer.taken}});
    json["rounds"] = std::move(rounds);
    json["convergence"] = name_of(answer.convergence);
    json["choices"] = answer.choices;
    json["unsupported"] = answer.run ? answer.run->step.unsupported : std::vector<std::string>{};
    json["assumptions"] = run_assumptions(report);
    json["interrupted"] = answer.interrupted || (report.curve && report.curve->interrupted);
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
