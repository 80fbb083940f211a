#include "core/error.hpp"
#include "planner/importers/argument_reader.hpp"
#include "planner/importers/layer_pattern.hpp"

#include <algorithm>
#include <array>
#include <charconv>

// Defaults of megatron/training/arguments.py, Megatron-Core 0.15, and of Megatron-DeepSpeed's.

namespace sextant {
namespace {

constexpr std::int64_t most_of_shape = std::int64_t{1} << 31;

/// Arguments of a model against the one that was named.
struct ModelArguments {
    ArgumentReader& in;
    ForeignPlan& out;
    ModelSpec const& model;
    bool described;  ///< by the arguments alone: what is missing has its default

    [[noreturn]] void refuse(std::string const& argument, std::string const& has) const {
        throw InputError("{}: {}, but {} {} (--model has to name the model of the file)", in.where(), argument,
                         model.name, has);
    }
    void missing(char const* argument, std::string const& built) const {
        if (described)
            out.warnings.push_back(fmt::format("{} is not there: Megatron-LM builds {}; {} is counted as it is",
                                               argument, built, model.name));
    }
    [[nodiscard]] std::optional<std::int64_t> number(char const* argument) const {
        return in.integer(argument, 0, most_of_shape);
    }
};

void check_feed_forward(ModelArguments const& a) {
    bool const gated = a.model.mlp.gated;
    bool const swiglu = a.in.flag("--swiglu");
    bool const geglu = a.in.flag("--quick-geglu");
    bool const has_gate = swiglu || geglu;
    if (has_gate && !gated) a.refuse(swiglu ? "--swiglu" : "--quick-geglu", "has no gate in its feed-forward halves");
    if (a.in.flag("--squared-relu") && gated) a.refuse("--squared-relu", "has a gate in its feed-forward halves");
    if (gated && !has_gate) a.missing("--swiglu", "feed-forward halves without a gate");
    bool const dense =
        std::any_of(a.model.layers.begin(), a.model.layers.end(), [](LayerKind const& l) { return !l.moe; });
    if (a.number("--ffn-hidden-size") || !dense) return;
    std::int64_t const built = has_gate ? 4 * a.model.hidden * 2 / 3 / 64 * 64 : 4 * a.model.hidden;
    if (built != a.model.mlp.intermediate)
        a.missing("--ffn-hidden-size", fmt::format("{} units between the halves of a feed-forward layer", built));
}

void check_ends(ModelArguments const& a) {
    bool const apart = a.in.flag("--untie-embeddings-and-output-weights");
    if (apart && a.model.tied_embeddings) a.refuse("--untie-embeddings-and-output-weights", "has one matrix for both");
    if (!apart && !a.model.tied_embeddings)
        a.missing("--untie-embeddings-and-output-weights", "one matrix for the embedding and the output");
}

void check_heads(ModelArguments const& a, MegatronDialect dialect) {
    AttentionSpec const& attention = a.model.attention;
    if (attention.latent) return;
    if (!a.number("--kv-channels") && attention.heads > 0 && attention.head_dim != a.model.hidden / attention.heads)
        a.missing("--kv-channels", fmt::format("heads of {} channels", a.model.hidden / attention.heads));
    bool const grouped = dialect == MegatronDialect::deepspeed || a.in.flag("--group-query-attention");
    char const* const name = dialect == MegatronDialect::deepspeed ? "--num-key-value-heads" : "--num-query-groups";
    std::int64_t const otherwise = dialect == MegatronDialect::deepspeed ? attention.heads : 1;
    std::int64_t const built = grouped ? a.number(name).value_or(otherwise) : attention.heads;
    if (built != attention.kv_heads)
        a.missing(grouped ? name : "--group-query-attention", fmt::format("{} key-value heads", built));
}

void check_latent_attention(ModelArguments const& a) {
    auto const& latent = a.model.attention.latent;
    bool const flag = a.in.flag("--multi-latent-attention");
    if (!latent) {
        if (flag) a.refuse("--multi-latent-attention", "has none");
        return;
    }
    if (!flag) a.missing("--multi-latent-attention", "attention whose heads have keys and values of their own");
    struct Size {
        char const* name;
        std::int64_t otherwise, has;
    };
    for (Size const& size :
         {Size{"--q-lora-rank", 0, latent->query_rank}, Size{"--kv-lora-rank", 32, latent->kv_rank},
          Size{"--qk-head-dim", 128, latent->nope_head_dim}, Size{"--qk-pos-emb-head-dim", 64, latent->rope_head_dim},
          Size{"--v-head-dim", 128, a.model.attention.value_head_dim}}) {
        auto const said = a.number(size.name);
        if (said && *said != size.has)
            a.refuse(fmt::format("{} {}", size.name, *said), fmt::format("has {}", size.has));
        if (flag && !said && size.otherwise != size.has)
            a.missing(size.name, fmt::format("latent attention with {} there", size.otherwise));
    }
}

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t value = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size()) return {};
    return value;
}

/// Compares the layers that an argument marks with those of the model; `of_number` gives them for a plain number.
template <class OfNumber>
void check_pattern(ModelArguments const& a, char const* name, std::vector<bool> const& has, OfNumber const& of_number,
                   std::string const& otherwise) {
    auto const text = a.in.text(name);
    std::optional<std::vector<bool>> built;
    auto const every = text ? whole_number(*text) : std::optional<std::int64_t>{};
    if (!text || (every && *every > 0)) {
        built.emplace();
        for (std::size_t layer = 0; layer < has.size(); ++layer)
            built->push_back(of_number(static_cast<std::int64_t>(layer), every));
    } else if (!every) {
        built = layer_pattern(*text);
    }
    if (!built)
        a.out.warnings.push_back(
            fmt::format("{}: '{}' is not read; the layers of {} are counted", name, *text, a.model.name));
    else if (*built != has && text)
        a.refuse(fmt::format("{} {}", name, *text), "has other layers of that kind");
    else if (*built != has)
        a.missing(name, otherwise);
}

void check_windows(ModelArguments const& a) {
    std::vector<bool> slides;
    for (LayerKind const& layer : a.model.layers)
        slides.push_back(layer.sliding);
    bool const any = std::find(slides.begin(), slides.end(), true) != slides.end();
    auto const text = a.in.text("--window-size");
    std::string_view before = text ? std::string_view(*text) : std::string_view();
    if (before.starts_with('(')) before.remove_prefix(1);
    auto const tokens = whole_number(before.substr(0, before.find(',')));
    if (text && !tokens)
        a.out.warnings.push_back(
            fmt::format("--window-size: '{}' is not read; the windows of {} are counted", *text, a.model.name));
    if (text && !tokens) return;
    if (!tokens || *tokens < 0) {
        if (any) a.missing("--window-size", "layers that see all tokens before");
        return;
    }
    if (!any) a.refuse("--window-size " + *text, "has no sliding window");
    // A token sees so many before itself, which some count as one of them.
    std::int64_t const window = a.model.attention.window;
    if (*tokens != window - 1 && *tokens != window)
        a.refuse("--window-size " + *text, fmt::format("has a window of {} tokens", window));
    auto const skips = [](std::int64_t layer, std::optional<std::int64_t> every) {
        return !every || (layer + 1) % *every != 0;
    };
    check_pattern(a, "--window-attn-skip-freq", slides, skips, "a window in every layer");
}

void check_expert_layers(ModelArguments const& a) {
    if (!a.model.moe) return;
    std::vector<bool> experts;
    for (LayerKind const& layer : a.model.layers)
        experts.push_back(layer.moe);
    auto const has = [](std::int64_t layer, std::optional<std::int64_t> every) {
        return layer % every.value_or(1) == 0;
    };
    if (!a.in.flag("--num-experts"))
        a.missing("--num-experts", "layers without experts");
    else
        check_pattern(a, "--moe-layer-freq", experts, has, "experts in every layer");
}

}  // namespace

void check_megatron_model(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model, MegatronDialect dialect) {
    bool const elsewhere = in.flag("--use-checkpoint-args") || in.flag("--yaml-cfg");
    ModelArguments const arguments{in, out, model, in.flag("--hidden-size") && !elsewhere};
    check_feed_forward(arguments);
    check_ends(arguments);
    check_heads(arguments, dialect);
    if (dialect == MegatronDialect::deepspeed) return;
    check_latent_attention(arguments);
    check_windows(arguments);
    check_expert_layers(arguments);
}

}  // namespace sextant
