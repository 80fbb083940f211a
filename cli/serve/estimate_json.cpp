#include "cli/serve/estimate.hpp"
#include "cli/serve/support_json.hpp"
#include "core/json/json_text.hpp"
#include "cost_models/serving/format_quality.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

double s(Seconds time) { return time.base(); }

Json iteration_json(IterationTime const& t) {
    return {{"total_s", s(t.total())},
            {"gemm_s", s(t.gemm)},
            {"prefill_attention_s", s(t.prefill)},
            {"decode_attention_s", s(t.decode)},
            {"streaming_s", s(t.streaming)},
            {"communication_s", s(t.communication)},
            {"head_s", s(t.head)},
            {"host_s", s(t.host)}};
}

Json row_json(ServeEstimateReport const& report, ServeRow const& row) {
    ServingEstimate const& e = row.estimate;
    FirstTokenTime const& t = e.ttft;
    auto const tpot = report.tpot(row);
    Json out{
        {std::string(name_of(report.load)), row.load},
        {"ttft_s", e.saturated ? Json(nullptr) : Json(s(t.total()))},
        {"ttft_parts",
         {{"boundary_s", s(t.boundary)},
          {"tokenise_s", s(t.tokenise)},
          {"queue_s", s(t.queue)},
          {"host_s", s(t.host)},
          {"prefill_s", s(t.prefill)}}},
        {"tpot_s", tpot ? Json(s(*tpot)) : Json(nullptr)},
        {"latency_s", e.saturated ? Json(nullptr) : Json(s(e.latency))},
        {"output_tokens_per_s", e.output_tokens_per_s},
        {"output_tokens_per_s_per_gpu", e.output_tokens_per_s / static_cast<double>(report.what.plan.accelerators())},
        {"requests_per_s", e.requests_per_s},
        {"batch", e.decodes},
        {"running", e.decodes + e.prompts},
        {"cache_share", e.cache_share},
        {"saturated", e.saturated},
        {"near_capacity", e.near_capacity()},
        {"bound", row.bound},
        {"watts_per_gpu", row.watts},
        {"decode_iteration", iteration_json(e.iteration)},
        {"chunk_iteration", iteration_json(e.chunk)}};
    if (report.what.model.moe) out["experts_touched_share"] = row.touched;
    if (report.price) out["usd_per_million_output_tokens"] = usd_per_million(report, row);
    return out;
}

Json plan_json(ServingCase const& what) {
    ServingPlan const& plan = what.plan;
    Json out{{"tp", plan.tp},
             {"pp", plan.pp},
             {"ep", plan.ep},
             {"attention_dp", plan.attention_dp},
             {"gpus", plan.accelerators()}};
    out.update(Json::parse(formats_json(what)));
    out["block_tokens"] = plan.block_tokens;
    out["memory_utilisation"] = plan.memory_utilisation;
    return out;
}

}  // namespace

std::string serve_estimate_json(ServeEstimateReport const& report) {
    ServingPlan const& plan = report.what.plan;
    ServingMemory const& m = report.memory;
    Json out{{"format", "serving-estimate"},
             {"version", 1},
             {"model", report.what.model.name},
             {"cluster", report.what.cluster.name},
             {"engine", report.what.engine.name},
             {"plan", plan_json(report.what)},
             {"fits", true},
             {"context", report.what.model.max_positions},
             {"request",
              {{"prompt", report.request.prompt},
               {"output", report.request.output},
               {"cached", report.request.cached},
               {"shared", report.request.shared}}},
             {"memory",
              {{"capacity_bytes", m.capacity.base()},
               {"usable_bytes", m.usable.base()},
               {"weights_bytes", m.weights.base()},
               {"activations_bytes", m.activations.base()},
               {"overhead_bytes", m.overhead.base()},
               {"cache_bytes", m.cache.base()},
               {"cache_bytes_per_token", m.cache_per_token.base()},
               {"model_cache_bytes_per_token", report.cache_bytes_per_token},
               {"cache_tokens", m.cache_tokens},
               {"state_bytes_per_sequence", m.state.base()},
               {"request_cache_tokens", m.shape.kept(report.request.prompt + report.request.output)}}},
             {"largest_batch", report.largest},
             {"capacity_requests_per_s", report.capacity},
             {"time_interval", Json::parse(support_json(report.support))},
             {"rows", Json::array()},
             {"assumptions", report.assumptions}};
    if (m.state_pool > Bytes{}) out["memory"]["state_pool_bytes"] = m.state_pool.base();
    auto const output_error = [](std::optional<FormatQuality> const& quality) {
        return quality ? Json(quality->usual().worst) : Json(nullptr);
    };
    out["quality"] = {{"products_output_error", output_error(weights_quality(shipped_format_errors(), plan))},
                      {"attention_output_error", output_error(cache_quality(shipped_format_errors(), plan.cache))},
                      {"high_error", high_format_error}};
    if (report.price) out["usd_per_gpu_hour"] = *report.price;
    for (ServeRow const& row : report.rows)
        out["rows"].push_back(row_json(report, row));
    for (ServeMisfitRow const& row : report.misfits)
        out["rows"].push_back({{"batch", row.batch}, {"fits", false}, {"reason", row.reason}});
    return json_text(out, 2) + "\n";
}

}  // namespace sextant::cli
