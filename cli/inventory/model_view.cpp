#include "cli/inventory/model_view.hpp"

#include "core/graph/model_flops.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/not_modelled.hpp"
#include "core/spec/output_head.hpp"
#include "core/spec/parameters.hpp"

#include <fmt/format.h>

#include <map>

namespace sextant::cli {
namespace {

/// 8030261248 -> "8,030,261,248".
std::string grouped(std::int64_t value) {
    std::string digits = fmt::format("{}", value);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

std::string short_count(std::int64_t value) { return human_count(static_cast<double>(value)); }

std::string split_of(Parameter const& parameter) {
    switch (parameter.sharding) {
        case Sharding::replicated: return "-";
        case Sharding::tensor: return "tp";
        case Sharding::heads: return fmt::format("tp, by {} heads", parameter.heads);
        case Sharding::vocabulary: return "tp, by vocabulary";
        case Sharding::expert: return "ep";
    }
    return "?";
}

std::string shape_of(Parameter const& parameter) {
    auto shape = parameter.columns > 1 ? fmt::format("{} x {}", parameter.rows, parameter.columns)
                                       : fmt::format("{}", parameter.rows);
    return parameter.copies > 1 ? fmt::format("{} * [{}]", parameter.copies, shape) : shape;
}

std::string heads_text(AttentionSpec const& a) {
    auto text = fmt::format("{} heads of {}, {} key/value heads", a.heads, a.head_dim, a.kv_heads);
    if (a.value_head_dim != a.head_dim) text += fmt::format(", values of {}", a.value_head_dim);
    if (a.keys_are_values) text += ", values from the keys";
    return text + (a.gated ? ", gated output" : "");
}

std::string attention_text(ModelSpec const& model) {
    AttentionSpec const& a = model.attention;
    if (a.latent)
        return fmt::format("latent: {} heads of {} + {}, values of {}, query rank {}, key/value rank {}{}", a.heads,
                           a.latent->nope_head_dim, a.latent->rope_head_dim, a.value_head_dim,
                           a.latent->query_rank > 0 ? fmt::format("{}", a.latent->query_rank) : "none",
                           a.latent->kv_rank,
                           a.index ? fmt::format(", over {} keys chosen by {} heads of {}", a.index->chosen,
                                                 a.index->heads, a.index->head_dim)
                                   : "");
    auto text = heads_text(a) + (model.causal ? "" : ", both ways");
    if (a.window > 0) {
        std::int64_t sliding = 0;
        for (LayerKind const kind : model.layers)
            sliding += kind.sliding ? 1 : 0;
        text += fmt::format(", window of {} in {} of {} layers", a.window, sliding, model.layer_count());
        if (model.window_attention) text += " with " + heads_text(*model.window_attention);
    }
    if (std::int64_t const layers = count_mixers(model, Mixer::attention); layers < model.layer_count())
        text += fmt::format(", in {} of {} layers", layers, model.layer_count());
    return text;
}

std::string recurrent_text(ModelSpec const& model) {
    RecurrentSpec const& r = *model.recurrent;
    return fmt::format("{}: {} heads of {} x {}, {} key heads, convolution of {}, in {} of {} layers",
                       r.rule == StateRule::delta ? "gated delta rule" : "Mamba-2", r.heads, r.key_head_dim,
                       r.value_head_dim, r.key_heads, r.convolution, count_mixers(model, Mixer::recurrent),
                       model.layer_count());
}

std::string experts_text(MoeSpec const& moe) {
    auto text = fmt::format("{} of width {}, {} per token", moe.experts, moe.intermediate, moe.top_k);
    return moe.shared_intermediate > 0 ? text + fmt::format(", shared width {}", moe.shared_intermediate) : text;
}

/// Key figures: exact counts, sizes, work and cache of one token.
std::vector<std::pair<std::string, std::string>> key_figures(ModelSpec const& model, std::int64_t sequence) {
    auto const counts = count_parameters(model);
    std::vector<std::pair<std::string, std::string>> lines{
        {"parameters", grouped(counts.total)},
        {"  used by one token", grouped(counts.active)},
        {"  embedding", grouped(counts.embedding)},
        {"  output matrix", model.head == OutputHead::none ? "none"
                            : counts.head > 0              ? grouped(counts.head)
                                                           : "tied to the embedding"},
        {"  without both", grouped(counts.without_embedding)},
    };
    if (counts.mtp > 0) lines.emplace_back("prediction modules (not in the total)", grouped(counts.mtp));
    lines.emplace_back("layers", fmt::format("{}", model.layer_count()));
    lines.emplace_back("hidden", fmt::format("{}", model.hidden));
    lines.emplace_back("attention", attention_text(model));
    if (model.recurrent) lines.emplace_back("recurrent", recurrent_text(model));
    lines.emplace_back("feed-forward width",
                       fmt::format("{}{}", model.mlp.intermediate, model.mlp.gated ? ", gated" : ""));
    if (model.moe) lines.emplace_back("experts", experts_text(*model.moe));
    lines.emplace_back("vocabulary", grouped(model.vocab));
    if (model.head != OutputHead::vocabulary) lines.emplace_back("output head", head_text(model));
    lines.emplace_back("longest sequence", grouped(model.max_positions));
    lines.emplace_back(fmt::format("forward work per token at {}", sequence),
                       human(forward_flops_per_token(model, sequence)));
    lines.emplace_back("  without the masked half", human(causal_forward_flops_per_token(model, sequence)));
    lines.emplace_back("key/value cache per token (16-bit)",
                       fmt::format("{} B", static_cast<std::int64_t>(kv_cache_bytes_per_token(model, 2))));
    if (model.recurrent)
        lines.emplace_back("recurrent state per sequence", human(recurrent_state_bytes(model) * units::B));
    if (auto const left_out = left_out_of(model.architecture); !left_out.empty())
        lines.emplace_back("left out", left_out);
    return lines;
}

/// One row per weight tensor of each part of the model.
Table weight_table(ModelSpec const& model, Format format) {
    bool const exact = format == Format::csv;
    Table table({{"part"},
                 {"copies", Align::right},
                 {"weight"},
                 {"shape"},
                 {"parameters", Align::right},
                 {exact ? "split_over" : "split over"}});
    for (WeightRow const& w : weight_rows(model))
        table.add_row({w.part, fmt::format("{}", w.copies), w.name, w.shape,
                       exact ? fmt::format("{}", w.parameters) : grouped(w.parameters), w.split_over});
    return table;
}

}  // namespace

std::vector<WeightRow> weight_rows(ModelSpec const& model) {
    std::vector<WeightRow> rows;
    auto const add = [&](std::string const& part, std::int64_t copies, std::vector<Parameter> const& weights) {
        for (auto const& weight : weights)
            rows.push_back({.part = part,
                            .copies = copies,
                            .name = weight.name,
                            .shape = shape_of(weight),
                            .parameters = weight.count(),
                            .split_over = split_of(weight)});
    };
    add("embedding", 1, embedding_parameters(model));
    std::map<LayerKind, std::int64_t> layers_of_kind;
    for (LayerKind const kind : model.layers)
        ++layers_of_kind[kind];
    for (auto const& [kind, layers] : layers_of_kind)
        add("layer (" + kind_text(kind) + ")", layers, layer_parameters(model, kind));
    add("head", 1, head_parameters(model));
    if (model.mtp_modules > 0) add("prediction", model.mtp_modules, mtp_parameters(model));
    return rows;
}

std::string kind_text(LayerKind kind) {
    if (!kind.feed_forward) return kind.mixer == Mixer::recurrent ? "recurrent alone" : "attention alone";
    std::string const text = kind.moe ? "experts" : "dense";
    if (kind.mixer == Mixer::none) return text + " alone";
    return text + (kind.mixer == Mixer::recurrent ? ", recurrent" : kind.sliding ? ", sliding window" : "");
}

std::string model_list(Format format) {
    if (format == Format::json) return model_list_json();
    bool const exact = format == Format::csv;
    Table table({{"name"},
                 {"architecture"},
                 {"parameters", Align::right},
                 {"active", Align::right},
                 {"layers", Align::right},
                 {"hidden", Align::right},
                 {"heads", Align::right},
                 {exact ? "kv_heads" : "kv heads", Align::right},
                 {"vocab", Align::right},
                 {"context", Align::right}});
    auto const number = [&](std::int64_t value) { return exact ? fmt::format("{}", value) : grouped(value); };
    for (auto const& name : model_names()) {
        auto const model = find_model(name);
        auto const counts = count_parameters(model);
        auto const count = [&](std::int64_t value) { return exact ? fmt::format("{}", value) : short_count(value); };
        table.add_row({name, model.architecture, count(counts.total), count(counts.active),
                       fmt::format("{}", model.layer_count()), fmt::format("{}", model.hidden),
                       fmt::format("{}", model.attention.heads), fmt::format("{}", model.attention.kv_heads),
                       number(model.vocab), number(model.max_positions)});
    }
    return render(table, format);
}

std::string model_details(ModelSpec const& model, std::int64_t sequence, Format format) {
    if (format == Format::json) return model_details_json(model, sequence);
    auto const weights = render(weight_table(model, format), format);
    if (format == Format::csv) return weights;
    auto const figures = key_figures(model, sequence);
    if (format == Format::text)
        return fmt::format("{} ({})\n\n{}\n{}", model.name, model.architecture, aligned_pairs(figures), weights);
    Table table({{"figure"}, {"value"}});
    for (auto const& [name, value] : figures)
        table.add_row({name, value});
    return fmt::format("# {} ({})\n\n{}\n{}", model.name, model.architecture, table.markdown(), weights);
}

}  // namespace sextant::cli
