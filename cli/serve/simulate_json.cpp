#include "cli/serve/simulate_report.hpp"
#include "cli/serve/support_json.hpp"
#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json spread_json(LatencySpread const& l) {
    if (l.count == 0) return nullptr;
    return {{"count", l.count},      {"mean_s", l.mean.base()}, {"p50_s", l.p50.base()},        {"p90_s", l.p90.base()},
            {"p95_s", l.p95.base()}, {"p99_s", l.p99.base()},   {"largest_s", l.largest.base()}};
}

/// Replicas for prompts that differ from those which decode.
Json prefill_json(SimulatedReplica const& prompts, ReplicaLimits const& limits) {
    ServingPlan const& plan = prompts.what.plan;
    return {{"gpus_each", plan.accelerators()},
            {"tp", plan.tp},
            {"pp", plan.pp},
            {"ep", plan.ep},
            {"attention_dp", plan.attention_dp},
            {"weights", plan.weights},
            {"weights_origin", name_of(plan.weights_origin)},
            {"max_batch", limits.max_batch},
            {"max_batched_tokens", limits.max_batched_tokens},
            {"blocks", limits.all_blocks()},
            {"cache_tokens", limits.cache_tokens()},
            {"weights_bytes", prompts.memory.weights.base()}};
}

Json setup_json(ServeSimulateReport const& report) {
    ServingPlan const& plan = report.what.plan;
    ReplicaLimits const& limits = report.setup.limits;
    Json out{{"replicas", report.setup.replicas},
             {"prefill_replicas", report.setup.prefill_replicas},
             {"gpus", report.accelerators()},
             {"tp", plan.tp},
             {"pp", plan.pp},
             {"ep", plan.ep},
             {"attention_dp", plan.attention_dp},
             {"weights", plan.weights},
             {"weights_origin", name_of(plan.weights_origin)},
             {"kv_cache", name_of(plan.cache)},
             {"kv_cache_origin", name_of(plan.cache_origin)},
             {"engine", report.what.engine.name},
             {"scheduler", limits.scheduler.name},
             {"router", name_of(report.setup.router)},
             {"max_batch", limits.max_batch},
             {"max_batched_tokens", limits.max_batched_tokens},
             {"block_tokens", limits.shape.block_tokens},
             {"layer_groups", limits.shape.groups()},
             {"state_blocks", limits.shape.state_blocks},
             {"blocks", limits.all_blocks()},
             {"watermark_blocks", limits.watermark_blocks * limits.groups},
             {"speculate", limits.speculation.tokens},
             {"acceptance", limits.speculation.acceptance},
             {"draft_cost", limits.speculation.draft_share},
             {"prefix_caching", limits.prefix_caching == PrefixCaching::on},
             {"preemption", name_of(limits.preemption)},
             {"host_cache_bytes", report.host_cache.base()},
             {"host_prefixes_bytes", report.host_prefixes.base()},
             {"adapters", report.adapters},
             {"adapter_rank", report.adapter_rank},
             {"adapter_slots", limits.adapter_slots}};
    if (report.prompts) out["prefill"] = prefill_json(*report.prompts, report.setup.limits_for_prompts());
    return out;
}

Json objective_json(LatencyObjective const& objective) {
    Json out = Json::object();
    if (objective.ttft) out["ttft_s"] = objective.ttft->base();
    if (objective.tpot) out["tpot_s"] = objective.tpot->base();
    return out;
}

Json series_json(ServingOutcome const& outcome) {
    Json out = Json::array();
    for (ServingSample const& s : outcome.series)
        out.push_back({{"at_s", s.at.base()},
                       {"waiting", s.waiting},
                       {"running", s.running},
                       {"cache_use", s.cache_use},
                       {"tokens_out", s.tokens_out},
                       {"replicas_up", s.up},
                       {"replicas_held", s.held},
                       {"busy_s", s.busy.base()}});
    return out;
}

Json tenants_json(ServeSimulateReport const& report) {
    Json out = Json::array();
    for (std::size_t i = 0; i < report.outcome.tenants.size(); ++i) {
        TenantOutcome const& t = report.outcome.tenants[i];
        Json row{{"name", i < report.tenants.size() ? report.tenants[i] : ""},
                 {"measured", t.measured},
                 {"prompt_tokens", t.prompt_tokens},
                 {"output_tokens", t.output_tokens},
                 {"token_share", report.token_share(t)},
                 {"ttft", spread_json(t.ttft)},
                 {"tpot", spread_json(t.tpot)},
                 {"e2e", spread_json(t.e2e)}};
        if (report.setup.objective.any() && t.measured > 0)
            row["good_share"] = static_cast<double>(t.good) / static_cast<double>(t.measured);
        out.push_back(std::move(row));
    }
    return out;
}

Json overload_json(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    auto const missed = report.ttft_missed_from();
    auto const drift = report.drift();
    return {{"since_s", o.onset.base()},
            {"capacity_requests_per_s", o.capacity ? Json(*o.capacity) : Json(nullptr)},
            {"offered_requests_per_s", o.offered},
            {"drift_requests_per_s", drift ? Json(*drift) : Json(nullptr)},
            {"ttft_missed_from_s", missed ? Json(missed->base()) : Json(nullptr)},
            {"unfinished", o.whole.arrived - o.whole.finished}};
}

Json fleet_json(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    return {{"up_mean", report.replicas_up()},
            {"held_mean", report.replicas_held()},
            {"gpu_hours", report.gpu_hours()},
            {"cost_usd", report.price ? Json(*report.price * report.gpu_hours()) : Json(nullptr)},
            {"availability", report.availability()},
            {"started", o.started},
            {"stopped", o.stopped},
            {"failures", o.failures},
            {"drains", o.drains},
            {"restarted_requests", o.restarted},
            {"restarted_tokens", o.restarted_tokens},
            {"cold_start_s", report.setup.autoscale.cold_start.base()}};
}

/// What was asked, and how far it came.
Json head_json(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    return {{"format", "serving-simulation"},
            {"version", 1},
            {"model", report.what.model.name},
            {"cluster", report.what.cluster.name},
            {"fits", true},
            {"setup", setup_json(report)},
            {"load", report.load},
            {"prompt", report.prompt},
            {"output", report.output},
            {"seed", report.seed},
            {"events", name_of(report.clock)},
            {"state", name_of(o.state)},
            {"interrupted", o.interrupted},
            {"requests",
             {{"asked", report.requests},
              {"arrived", o.whole.arrived},
              {"finished", o.whole.finished},
              {"measured", o.measured}}},
            {"simulated_s", o.whole.at.base()},
            {"window_s", o.window.at.base()},
            {"window_to_end", o.window_to_end},
            {"requests_per_s", report.requests_per_s()},
            {"output_tokens_per_s", report.output_tokens_per_s()},
            {"output_tokens_per_s_per_gpu", report.output_tokens_per_s_per_gpu()},
            {"prompt_tokens_per_s", report.per_second(static_cast<double>(o.window.counters.prompt_tokens))}};
}

void add_latencies(Json& json, ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    bool const latencies = report.has_latencies();
    json["ttft"] = latencies ? spread_json(o.ttft) : Json(nullptr);
    json["tpot"] = latencies ? spread_json(o.tpot) : Json(nullptr);
    json["itl"] = latencies ? spread_json(o.itl) : Json(nullptr);
    json["e2e"] = latencies ? spread_json(o.e2e) : Json(nullptr);
    json["queue"] = latencies ? spread_json(o.queue) : Json(nullptr);
    if (report.setup.objective.any() && latencies)
        json["objective"] = {{"limits", objective_json(report.setup.objective)},
                             {"good_share", report.good_share()},
                             {"good_requests_per_s", report.good_share() * report.requests_per_s()}};
}

/// Means and counts of batches and caches.
void add_use(Json& json, ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    json["running_mean"] = report.per_second(o.window.running);
    json["waiting_mean"] = report.per_second(o.window.waiting);
    json["waiting_most"] = o.most_waiting;
    json["cache_use_mean"] = report.mean_cache_use();
    json["cache_use_most"] = o.most_cache_use;
    json["prefix_hit_rate"] = report.hit_rate();
    json["host_prefix_tokens"] = report.outcome.window.counters.loaded_tokens;
    json["tokens_per_step"] = report.tokens_per_step();
    json["preemptions"] = o.whole.counters.preemptions;
    json["recomputed_tokens"] = o.whole.counters.recomputed_tokens;
}

/// What only some fleets do: adapters, swapped caches, caches that move between replicas.
void add_copies(Json& json, ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    if (report.adapter_cost)
        json["adapters"] = {{"bytes_each", report.adapter_cost->bytes.base()},
                            {"wanted", o.whole.counters.adapters_wanted},
                            {"loaded", o.whole.counters.adapters_loaded},
                            {"hit_rate", report.adapter_hit_rate()}};
    if (report.setup.limits.preemption == PreemptionPolicy::swap)
        json["swap"] = {{"count", o.whole.counters.swaps},
                        {"tokens", o.whole.counters.swapped_tokens},
                        {"copying_s", o.whole.counters.copying.base()}};
    if (o.window.transfers > 0)
        json["transfers"] = {{"count", o.window.transfers},
                             {"network", name_of(report.setup.network)},
                             {"mean_s", o.window.transferring.base() / static_cast<double>(o.window.transfers)},
                             {"alone_s", o.window.transferring_alone.base() / static_cast<double>(o.window.transfers)}};
}

}  // namespace

std::string serve_simulate_json(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    Json json = head_json(report);
    auto const usd = report.usd_per_million_output_tokens();
    json["usd_per_million_output_tokens"] = usd ? Json(*usd) : Json(nullptr);
    if (o.state == SteadyState::overloaded) json["overload"] = overload_json(report);
    add_latencies(json, report);
    add_use(json, report);
    if (report.has_latencies() && !o.tenants.empty()) json["tenants"] = tenants_json(report);
    if (report.setup.changes()) json["fleet"] = fleet_json(report);
    add_copies(json, report);
    json["utilisation"] = report.utilisation();
    json["iterations"] = o.window.counters.iterations;
    json["output_tokens"] = o.whole.counters.tokens_out;
    json["series"] = series_json(o);
    json["time_interval"] = Json::parse(support_json(report.support()));
    json["assumptions"] = report.assumptions;
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
