#include "cli/plan/plan_report_json.hpp"
#include "cli/rl/view.hpp"
#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json phases_object(RlStep const& s) {
    RlPhases const& p = s.phases;
    return {{"generation_s", p.generation.base()},
            {"reward_s", (p.reward + p.rules).base()},
            {"policy_scores_s", p.policy_scores.base()},
            {"reference_scores_s", p.reference_scores.base()},
            {"critic_values_s", p.critic_values.base()},
            {"policy_training_s", p.policy_training.base()},
            {"critic_training_s", p.critic_training.base()},
            {"swaps_s", p.swaps.base()},
            {"weight_sync_s", p.sync.base()},
            {"controller_s", p.controller.base()},
            {"offload_s", p.offload.base()}};
}

Json generation_object(BatchGeneration const& g) {
    return {{"time_s", g.time.base()},
            {"mean_busy_s", g.mean_busy.base()},
            {"equal_lengths_s", g.even.base()},
            {"long_tail_s", g.straggling().base()},
            {"prompts_s", g.prefill.base()},
            {"responses", g.responses},
            {"tokens", g.tokens},
            {"mean_batch", g.mean_batch},
            {"longest_tokens", g.longest}};
}

Json memory_array(RlStep const& s) {
    Json list = Json::array();
    for (RoleMemory const& m : s.memory)
        list.push_back({{"role", m.role},
                        {"needed_bytes", m.needed.base()},
                        {"usable_bytes", m.usable.base()},
                        {"remark", m.remark}});
    return list;
}

Json step_object(RlQuestion const& q, RlStep const& s) {
    Json json{{"mode", name_of(s.mode)},
              {"rollout_gpus", s.rollout_accelerators},
              {"train_gpus", s.train_accelerators},
              {"engine",
               {{"tp", s.engine.tp},
                {"pp", s.engine.pp},
                {"ep", s.engine.ep},
                {"attention_dp", s.engine.attention_dp},
                {"max_batch", s.engine.max_batch},
                {"replicas", s.replicas}}},
              {"possible", s.possible()}};
    if (!s.possible()) {
        json["reason"] = s.reason;
        return json;
    }
    json["step_time_s"] = s.step.base();
    if (q.overheads.log_error > 0) {
        RlInterval const range = rl_interval(q.overheads, s.step);
        json["step_time_80_low_s"] = range.low.base();
        json["step_time_80_high_s"] = range.high.base();
    }
    if (auto const usd = usd_per_step(q, s)) {
        json["usd_per_step"] = *usd;
        json["usd_per_thousand_samples"] = *usd_per_thousand_responses(q, s);
    }
    if (s.followed > 0) json["followed_replicas"] = s.followed;
    json["phases"] = phases_object(s);
    json["generation"] = generation_object(s.generation);
    json["weight_sync"] = {{"rank_bytes", s.sync.rank_bytes.base()}, {"gathered_from", s.sync.gathered_from},
                           {"gather_s", s.sync.gather.base()},       {"broadcast_s", s.sync.broadcast.base()},
                           {"copy_s", s.sync.copy.base()},           {"over_host_s", s.sync.over_host.base()},
                           {"software_s", s.sync.software.base()}};
    json["state_offloaded"] = s.state_offloaded;
    json["train_plan"] = Json::parse(plan_object_json(s.training->plan));
    json["update_time_s"] = s.update.base();
    json["fastest_update_time_s"] = s.fastest_update.base();
    json["train_plans_compared"] = s.plans_compared;
    json["mfu"] = s.training->mfu * (s.training->estimate.time / s.update);
    json["memory"] = memory_array(s);
    json["rollout_busy"] = s.rollout_busy;
    json["train_busy"] = s.train_busy;
    json["samples_per_s"] = s.responses_per_s;
    json["tokens_per_s_per_gpu"] = s.tokens_per_s_per_gpu;
    json["age_shares"] = s.age;
    json["mean_age"] = s.mean_age();
    if (s.followed > 0) json["group_wait_s"] = s.group_wait.base();
    json["worth"] = s.worth;
    json["effective_samples_per_s"] = s.effective_rate();
    return json;
}

Json question_object(RlReport const& report) {
    RlQuestion const& q = report.question;
    return {{"algorithm", name_of(q.algorithm)},
            {"model", q.policy.name},
            {"cluster", q.machine.cluster.name},
            {"framework", q.machine.framework.name},
            {"engine", q.engine.name},
            {"gpus", q.accelerators},
            {"prompts", q.prompts},
            {"group", q.group},
            {"prompt_tokens", q.prompt_tokens},
            {"output",
             {{"distribution", name_of(q.lengths.kind)},
              {"mean_tokens", q.lengths.mean},
              {"variation", q.lengths.variation},
              {"maximum_tokens", q.lengths.maximum},
              {"longest_tokens", report.longest},
              {"longest_of_group_tokens", report.longest_of_group}}},
            {"update_batch", q.batch()},
            {"updates", q.updates()},
            {"usd_per_gpu_hour", q.usd_per_hour ? Json(*q.usd_per_hour) : Json(nullptr)},
            {"overheads", q.overheads.log_error > 0 ? "fitted" : "none"},
            {"staleness", q.staleness},
            {"staleness_penalty", q.staleness_penalty},
            {"seed", q.seed}};
}

Json optional(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

Json speed_up_object(RlAnswer const& answer) {
    Json json = Json::object();
    RlStep const* const fast = answer.best(RlMode::asynchronous);
    for (RlMode const mode : {RlMode::colocated, RlMode::split}) {
        RlStep const* const slow = answer.best(mode);
        std::string const name = "over_" + std::string(name_of(mode));
        json[name] = nullptr;
        if (fast != nullptr && slow != nullptr)
            json[name] = {{"raw", fast->responses_per_s / slow->responses_per_s},
                          {"with_staleness", fast->effective_rate() / slow->effective_rate()},
                          {"break_even_penalty", optional(break_even_penalty(*fast, *slow))}};
    }
    return json;
}

}  // namespace

std::string rl_json(RlReport const& report) {
    Json json{{"format", "rl"}, {"version", 1}, {"question", question_object(report)}};
    Json modes = Json::array();
    for (RlModeAnswer const& mode : report.answer.modes) {
        Json entry{{"mode", name_of(mode.mode)},
                   {"best", mode.best ? step_object(report.question, *mode.best) : Json(nullptr)}};
        if (!mode.best) entry["reason"] = mode.reason;
        entry["splits"] = Json::array();
        for (RlStep const& s : mode.splits)
            entry["splits"].push_back(step_object(report.question, s));
        modes.push_back(entry);
    }
    json["modes"] = modes;
    RlStep const* const best = report.answer.best();
    json["best_mode"] = best != nullptr ? Json(name_of(best->mode)) : Json(nullptr);
    json["speed_up_of_asynchrony"] = speed_up_object(report.answer);
    json["assumptions"] = rl_assumptions(report);
    json["interrupted"] = report.answer.interrupted;
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
