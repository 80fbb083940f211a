#include "cli/serve/quality_report.hpp"
#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json optional_json(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

Json errors_json(std::optional<FormatQuality> const& quality, char const* first, char const* second) {
    if (!quality) return nullptr;
    Json scalings = Json::array();
    for (ScalingError const& s : quality->scalings)
        scalings.push_back({{"scaling", s.scaling},
                            {first, s.first},
                            {second, s.second},
                            {"output_error_normal", s.plain},
                            {"output_error_worst", s.worst},
                            {"worst_inputs", s.worst_inputs},
                            {"zeroed_share", s.flushed},
                            {"saturated_share", s.clipped}});
    return {{"formats", quality->formats}, {"output_error", quality->usual().worst}, {"scalings", scalings}};
}

Json choice_json(QualityReport const& report, FormatChoice const& c) {
    Json out{{"weights", c.weights},
             {"products_in", c.products_in},
             {"as_released", c.released},
             {"note", c.note.empty() ? Json(nullptr) : Json(c.note)},
             {"activations", c.activations},
             {"kv_cache", name_of(c.cache)},
             {"weight_bytes_per_gpu", c.memory.weights.base()},
             {"kv_bytes_per_token", c.cache_bytes_per_token},
             {"largest_batch", c.largest},
             {"refused", c.refused.empty() ? Json(nullptr) : Json(c.refused)}};
    if (c.timed()) {
        out["saturated"] = c.estimate.saturated;
        out["ttft_s"] = c.estimate.saturated ? Json(nullptr) : Json(c.estimate.ttft.total().base());
        out["tpot_s"] = report.request.has_later_tokens() ? Json(c.estimate.tpot.base()) : Json(nullptr);
        out["output_tokens_per_s_per_gpu"] = report.tokens_per_s_per_gpu(c);
        out["speed_up"] = optional_json(report.speed_up(c));
        out["usd_per_million_output_tokens"] = optional_json(report.usd_per_million(c));
    }
    out["weight_bytes_saved_share"] = 1 - c.memory.weights / report.baseline.memory.weights;
    out["error"] = optional_json(c.error);
    out["error_is_high"] = c.error ? Json(c.high_error()) : Json(nullptr);
    out["products"] = errors_json(c.products, "weights_error", "activations_error");
    out["attention"] = errors_json(c.attention, "keys_error", "values_error");
    return out;
}

}  // namespace

std::string quality_json(QualityReport const& report) {
    Json out{{"format", "serving-quality"},
             {"version", 1},
             {"model", report.what.model.name},
             {"cluster", report.what.cluster.name},
             {"tp", report.what.plan.tp},
             {"gpus", report.what.plan.accelerators()},
             {"prompt_tokens", report.request.prompt},
             {"output_tokens", report.request.output},
             {report.by_rate ? "requests_per_s" : "concurrency", report.load},
             {"baseline", {{"weights", report.baseline.weights}, {"kv_cache", name_of(report.baseline.cache)}}},
             {"high_error", high_format_error},
             {"errors_from", report.source},
             {"choices", Json::array()},
             {"assumptions", report.assumptions}};
    for (FormatChoice const& c : report.choices)
        out["choices"].push_back(choice_json(report, c));
    return json_text(out, 2) + "\n";
}

}  // namespace sextant::cli
