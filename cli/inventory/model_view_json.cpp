#include "cli/inventory/model_view.hpp"
#include "core/graph/model_flops.hpp"
#include "core/json/json_text.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/not_modelled.hpp"
#include "core/spec/output_head.hpp"
#include "core/spec/parameters.hpp"

#include <nlohmann/json.hpp>

#include <map>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Sizes and counts of one model, as in the list and at the head of the details.
Json summary(ModelSpec const& model) {
    auto const counts = count_parameters(model);
    Json out{{"name", model.name},
             {"architecture", model.architecture},
             {"left_out", left_out_of(model.architecture)},
             {"parameters_total", counts.total},
             {"parameters_active", counts.active},
             {"parameters_embedding", counts.embedding},
             {"parameters_head", counts.head},
             {"parameters_mtp", counts.mtp},
             {"parameters_without_embedding", counts.without_embedding},
             {"layers", model.layer_count()},
             {"hidden", model.hidden},
             {"intermediate", model.mlp.intermediate},
             {"heads", model.attention.heads},
             {"kv_heads", model.attention.kv_heads},
             {"head_dim", model.attention.head_dim},
             {"value_head_dim", model.attention.value_head_dim},
             {"vocab", model.vocab},
             {"max_positions", model.max_positions},
             {"output_head", head_text(model)},
             {"tied_embeddings", model.tied_embeddings},
             {"causal", model.causal},
             {"sliding_window", model.attention.window},
             {"mtp_modules", model.mtp_modules},
             {"kv_cache_bytes_per_value", 2},
             {"kv_cache_bytes_per_token", kv_cache_bytes_per_token(model, 2)}};
    if (RecurrentSpec const* const r = model.recurrent ? &*model.recurrent : nullptr)
        out["recurrent"] = {{"rule", r->rule == StateRule::delta ? "delta" : "decay"},
                            {"layers", count_mixers(model, Mixer::recurrent)},
                            {"heads", r->heads},
                            {"key_heads", r->key_heads},
                            {"key_head_dim", r->key_head_dim},
                            {"value_head_dim", r->value_head_dim},
                            {"convolution", r->convolution},
                            {"state_bytes_per_sequence", recurrent_state_bytes(model)}};
    if (model.window_attention)
        out["sliding_layers"] = {{"heads", model.window_attention->heads},
                                 {"kv_heads", model.window_attention->kv_heads},
                                 {"head_dim", model.window_attention->head_dim},
                                 {"value_head_dim", model.window_attention->value_head_dim}};
    if (model.attention.index)
        out["key_index"] = {{"heads", model.attention.index->heads},
                            {"head_dim", model.attention.index->head_dim},
                            {"chosen", model.attention.index->chosen}};
    if (model.moe)
        out["moe"] = {{"experts", model.moe->experts},
                      {"top_k", model.moe->top_k},
                      {"intermediate", model.moe->intermediate},
                      {"shared_intermediate", model.moe->shared_intermediate}};
    return out;
}

Json document() { return {{"format", "models"}, {"version", 1}}; }

}  // namespace

std::string model_list_json() {
    Json out = document();
    out["models"] = Json::array();
    for (auto const& name : model_names())
        out["models"].push_back(summary(find_model(name)));
    return json_text(out, 2) + "\n";
}

std::string model_details_json(ModelSpec const& model, std::int64_t sequence) {
    Json out{{"format", "model"}, {"version", 1}};
    out.update(summary(model));
    out["sequence"] = sequence;
    out["forward_flops_per_token"] = forward_flops_per_token(model, sequence).base();
    out["forward_flops_per_token_causal"] = causal_forward_flops_per_token(model, sequence).base();
    std::map<LayerKind, std::int64_t> layers_of_kind;
    for (LayerKind const kind : model.layers)
        ++layers_of_kind[kind];
    out["layer_kinds"] = Json::array();
    for (auto const& [kind, layers] : layers_of_kind)
        out["layer_kinds"].push_back({{"kind", kind_text(kind)},
                                      {"layers", layers},
                                      {"parameters_per_layer", total_count(layer_parameters(model, kind))}});
    out["weights"] = Json::array();
    for (WeightRow const& w : weight_rows(model))
        out["weights"].push_back({{"part", w.part},
                                  {"copies", w.copies},
                                  {"weight", w.name},
                                  {"shape", w.shape},
                                  {"parameters", w.parameters},
                                  {"split_over", w.split_over}});
    return json_text(out, 2) + "\n";
}

}  // namespace sextant::cli
