#include "cli/plan/plan_report_json.hpp"

#include "cli/plan/memory_view.hpp"
#include "core/json/json_text.hpp"
#include "core/spec/not_modelled.hpp"
#include "planner/explain.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json plan_object(ParallelPlan const& p) {
    Json json{{"dp", p.dp},
              {"tp", p.tp},
              {"pp", p.pp},
              {"cp", p.cp},
              {"ep", p.ep},
              {"expert_tp", p.expert_tp},
              {"vpp", p.vpp},
              {"micro_batch", p.micro_batch},
              {"schedule", name_of(p.schedule)},
              {"zero", p.zero},
              {"shard_group", p.shard_group},
              {"recompute", name_of(p.recompute)},
              {"recompute_layers", p.recompute_layers},
              {"sequence_parallel", p.sequence_parallel == Switch::on},
              {"cp_mode", name_of(p.cp_mode)},
              {"moe_dispatcher", name_of(p.dispatcher)},
              {"offload", name_of(p.offload)},
              {"attention", name_of(p.attention)},
              {"optimizer", name_of(p.optimizer)},
              {"precision", name_of(p.precision)},
              {"dropout", p.dropout == Switch::on},
              {"fused_cross_entropy", p.fused_cross_entropy == Switch::on}};
    if (p.recompute == Recompute::selective) json["recompute_modules"] = modules_text(p.recompute_modules);
    if (keeps_activations(p)) json["kept_activations"] = activations_text(p.kept_activations);
    if (offloads_some_activations(p)) json["offloaded_activations"] = activations_text(p.offloaded_activations);
    if (offloads_some_layers(p)) json["offload_layers"] = p.offload_layers;
    if (p.gradients != GradientFormat::usual) json["gradients"] = name_of(p.gradients);
    if (p.fp8_activation_input == Switch::on) json["fp8_activation_input"] = true;
    if (p.narrow_copies == Switch::on) json["narrow_copies"] = true;
    if (p.expert_imbalance > 1) json["expert_imbalance"] = p.expert_imbalance;
    if (p.loss_chunks > 1) json["loss_chunks"] = p.loss_chunks;
    if (!p.stage_layers.empty()) json["stage_layers"] = p.stage_layers;
    if (p.adapters.on()) {
        json["lora_rank"] = p.adapters.rank;
        json["lora_targets"] = targets_text(p.adapters.targets);
        json["base_weights"] = name_of(p.adapters.base);
    }
    return json;
}

Json memory_object(StageMemory const& m, MemoryLimit const& limit) {
    return {{"peak_bytes", m.reserved().base()},
            {"weights_bytes", m.weights.base()},
            {"gradients_bytes", m.gradients.base()},
            {"optimizer_bytes", m.optimizer.base()},
            {"reference_bytes", m.reference.base()},
            {"activations_bytes", (m.activations + m.logits).base()},
            {"layer_activations_bytes", m.activations.base()},
            {"logits_bytes", m.logits.base()},
            {"buffers_bytes", m.buffers.base()},
            {"overhead_bytes", (m.workspaces + m.slack).base()},
            {"workspaces_bytes", m.workspaces.base()},
            {"slack_bytes", m.slack.base()},
            {"capacity_bytes", limit.capacity.base()},
            {"usable_bytes", limit.usable.base()},
            {"allocated_bytes", m.allocated().base()},
            {"reserved_low_bytes", m.reserved_low.base()},
            {"reserved_high_bytes", m.reserved_high.base()},
            {"host_bytes", m.host.base()},
            {"host_usable_bytes", limit.host.base()}};
}

Json breakdown_object(StepBreakdown const& b) {
    return {{"gemm_s", b.gemm.base()},
            {"attention_s", b.attention.base()},
            {"memory_bound_s", b.memory_bound.base()},
            {"host_s", b.host.base()},
            {"recompute_s", b.recompute.base()},
            {"tp_s", b.tp.base()},
            {"cp_s", b.cp.base()},
            {"ep_s", b.ep.base()},
            {"pp_s", b.pp.base()},
            {"bubble_s", b.bubble.base()},
            {"dp_s", b.dp.base()},
            {"optimizer_s", b.optimizer.base()},
            {"offload_s", b.offload.base()},
            {"reference_s", b.reference.base()},
            {"fixed_s", b.fixed.base()}};
}

Json report_object(StepReport const& r) {
    Json json{{"iteration_time_s", r.estimate.time.base()},
              {"iteration_time_low_s", r.interval.low * r.estimate.time.base()},
              {"iteration_time_high_s", r.interval.high * r.estimate.time.base()},
              {"tokens_per_s", r.tokens_per_second},
              {"tokens_per_s_per_gpu", r.tokens_per_second / static_cast<double>(r.accelerators)},
              {"model_tflops_per_gpu", r.model_rate.base() / 1e12},
              {"hardware_tflops_per_gpu", r.hardware_rate.base() / 1e12},
              {"mfu", r.mfu},
              {"hfu", r.hfu},
              {"gpus", r.accelerators},
              {"microbatches", r.microbatches},
              {"memory", memory_object(r.estimate.memory, r.limit)},
              {"fullest_stage", r.estimate.fullest_stage},
              {"fits", r.fits},
              {"breakdown", breakdown_object(r.estimate.breakdown)},
              {"slowest_stage", r.estimate.slowest_stage},
              {"unsupported", r.unsupported},
              {"assumptions", all_assumptions(r)},
              {"graph_digest", r.digest}};
    if (r.plan.adapters.on()) json["trained_parameters"] = r.trained_parameters;
    json["step_cost_usd"] = r.step_cost ? Json(r.step_cost->base()) : Json(nullptr);
    json["million_tokens_cost_usd"] = r.million_tokens_cost ? Json(r.million_tokens_cost->base()) : Json(nullptr);
    return json;
}

Json header(char const* format, PlanQuestion const& q) {
    Json json{{"format", format},
              {"version", 1},
              {"model", q.model.name},
              {"cluster", q.cluster.name},
              {"framework", q.framework.name},
              {"seq", q.workload.sequence},
              {"global_batch", q.workload.global_batch}};
    if (q.workload.document > 0) json["document_tokens"] = q.workload.document;
    if (q.workload.preference != Preference::none) json["preference"] = name_of(q.workload.preference);
    return json;
}

Json candidate_list(std::vector<StepReport> const& reports) {
    Json list = Json::array();
    for (StepReport const& report : reports) {
        Json entry{{"plan", plan_object(report.plan)}, {"report", report_object(report)}};
        entry["why"] = largest_losses(report.estimate);
        list.push_back(std::move(entry));
    }
    return list;
}

Json host_misfit(std::optional<Candidate> const& c) {
    if (!c) return nullptr;
    return {{"plan", plan_object(c->plan)},
            {"peak_bytes", c->estimate.peak().base()},
            {"host_bytes", c->estimate.memory.host.base()}};
}

std::string text(Json const& json) { return json_text(json, 2) + "\n"; }

}  // namespace

std::vector<std::pair<std::string, std::string>> question_cells(PlanQuestion const& q) {
    return {{"model", q.model.name},
            {"cluster", q.cluster.name},
            {"framework", q.framework.name},
            {"seq", fmt::format("{}", q.workload.sequence)},
            {"global_batch", fmt::format("{}", q.workload.global_batch)}};
}

std::string plan_object_json(ParallelPlan const& plan) { return json_text(plan_object(plan)); }

std::string step_report_json(PlanQuestion const& question, StepReport const& report,
                             std::vector<std::string> const& explanation) {
    Json json = header("step_report", question);
    json["plan"] = plan_object(report.plan);
    json.update(report_object(report));
    json["not_expressed"] = report.not_expressed;
    if (!report.measured.empty()) json["measured"] = report.measured;
    json["explanation"] = explanation;
    return text(json);
}

std::string plan_json(PlanQuestion const& question, PlanAnswer const& answer) {
    Json json = header("plan", question);
    SearchCounts const& counts = answer.result.counts;
    Json rejected = Json::object();
    for (std::size_t i = 0; i < rejection_kinds; ++i) {
        std::string key(rejection_name(i));
        for (char& c : key)
            if (c == ' ') c = '_';
        rejected[key] = counts.rejected[i];
    }
    json["counts"] = {{"enumerated", counts.enumerated}, {"evaluated", counts.evaluated}, {"rejected", rejected}};
    json["interrupted"] = answer.result.interrupted;
    json["share_done"] = answer.result.share_done;
    json["candidates"] = candidate_list(answer.reports);
    for (std::size_t i = 0; i < answer.reports.size(); ++i)
        json["candidates"][i]["not_expressed"] = answer.reports[i].not_expressed;
    for (std::size_t i = 0; i < answer.verified.size(); ++i) {
        Verification const& v = answer.verified[i];
        json["candidates"][i]["simulation"] = {{"state", name_of(v.state)},
                                               {"iteration_time_s", v.finished() ? Json(v.time.base()) : Json(nullptr)},
                                               {"message", v.message}};
    }
    if (answer.present) {
        json["present"] = candidate_list({*answer.present}).front();
        json["present"]["not_expressed"] = answer.present->not_expressed;
    }
    json["pareto"] = candidate_list(answer.pareto);
    auto const misfit = [](std::optional<Candidate> const& c) {
        if (!c) return Json(nullptr);
        return Json{{"plan", plan_object(c->plan)},
                    {"iteration_time_s", c->estimate.time.base()},
                    {"peak_bytes", c->estimate.peak().base()}};
    };
    json["fastest_rejected_for_memory"] = misfit(answer.result.fastest_misfit);
    json["smallest_rejected_for_memory"] = misfit(answer.result.smallest_misfit);
    json["smallest_rejected_for_host_memory"] = host_misfit(answer.result.smallest_host_misfit);
    json["explanation"] = answer.explanation;
    json["advice"] = answer.advice;
    return text(json);
}

std::string memory_json(MemorySheet const& sheet) {
    Json json = header("memory", sheet.question);
    json["left_out"] = left_out_of(sheet.question.model.architecture);
    json["plan"] = plan_object(sheet.plan);
    json["not_expressed"] = sheet.not_expressed;
    std::size_t const fullest = fullest_stage(sheet.stages);
    json["microbatches"] = sheet.graph.microbatches;
    json["fits"] = sheet.limit.admits(sheet.stages[fullest]);
    json["fullest_stage"] = fullest;
    json["graph_digest"] = sheet.digest;
    Json stages = Json::array();
    for (std::size_t i = 0; i < sheet.stages.size(); ++i) {
        Json stage{{"layers", sheet.graph.layout.stages[i].layers},
                   {"microbatches_in_flight", sheet.stages[i].in_flight}};
        stage.update(memory_object(sheet.stages[i], sheet.limit));
        stages.push_back(std::move(stage));
    }
    json["stages"] = std::move(stages);
    Json tensors = Json::array();
    for (KeptTensor const& t : kept_tensors(sheet, fullest))
        tensors.push_back({{"block", t.block},
                           {"tensor", t.tensor},
                           {"formula", t.formula},
                           {"bytes_per_layer", t.per_layer.base()},
                           {"layers", t.layers},
                           {"dropped_by", t.dropped_by}});
    json["tensors_of_fullest_stage"] = std::move(tensors);
    Json variants = Json::array();
    for (MemorySheet::Variant const& v : sheet.variants)
        variants.push_back({{"name", v.name},
                            {"allocated_bytes", v.fullest.allocated().base()},
                            {"peak_bytes", v.fullest.reserved().base()},
                            {"fits", sheet.limit.admits(v.fullest)}});
    json["variants"] = std::move(variants);
    return text(json);
}

}  // namespace sextant::cli
