#include "core/error.hpp"
#include "core/graph/block.hpp"
#include "core/spec/hf_config.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>
#include <map>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

std::int64_t count(ModelSpec const& model, LayerKind kind) {
    return std::count(model.layers.begin(), model.layers.end(), kind);
}

std::string message_of(std::string const& text) {
    try {
        read_hf_config(text, "test.json");
    } catch (InputError const& error) {
        return error.what();
    }
    return "(accepted)";
}

/// A small config of Nemotron-H with these lines more.
std::string nemotron(std::string const& lines) {
    return R"({"model_type": "nemotron_h", "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
               "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 1000, "mamba_num_heads": 8,
               "mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 16)" +
           lines + "}";
}

std::string qwen(std::string const& lines) {
    return R"({"model_type": "qwen3_5_text", "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
               "num_key_value_heads": 2, "num_hidden_layers": 4, "vocab_size": 1000)" +
           lines + "}";
}

std::string granite(std::string const& lines) {
    return R"({"model_type": "granitemoehybrid", "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
               "num_key_value_heads": 2, "num_hidden_layers": 3, "vocab_size": 1000)" +
           lines + "}";
}

bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("hybrid: layers are what the configs say") {
    ModelSpec const next = find_model("qwen3-next-80b-a3b");
    CHECK(count(next, {.moe = true, .mixer = Mixer::recurrent}) == 36);
    CHECK(count(next, {.moe = true}) == 12);
    CHECK(next.layers[3].mixer == Mixer::attention);
    ModelSpec const nano = find_model("nemotron-3-nano-30b-a3b");
    CHECK(count(nano, {.mixer = Mixer::recurrent, .feed_forward = false}) == 23);
    CHECK(count(nano, {.feed_forward = false}) == 6);
    CHECK(count(nano, {.moe = true, .mixer = Mixer::none}) == 23);
    ModelSpec const dense = find_model("nemotron-h-8b");
    CHECK(count(dense, {.mixer = Mixer::none}) == 24);
    CHECK_FALSE(dense.moe);
}

TEST_CASE("hybrid: sizes in the models' names are those that are counted") {
    std::map<char const*, double> const billions{
        {"qwen3-next-80b-a3b", 80},        {"qwen3.5-27b", 27},           {"qwen3.5-35b-a3b", 35},
        {"qwen3.5-122b-a10b", 122},        {"qwen3.5-397b-a17b", 397},    {"nemotron-h-8b", 8},
        {"nemotron-3-nano-30b-a3b", 31.6}, {"granite-4.0-h-small", 32},   {"nemotron-h-47b", 46.8},
        {"nemotron-h-56b", 56.3},          {"nemotron-nano-9b-v2", 8.89}, {"nemotron-nano-12b-v2", 12.31}};
    for (auto const& [name, size] : billions) {
        INFO(name);
        CHECK(static_cast<double>(count_parameters(find_model(name)).total) / 1e9 == Approx(size).epsilon(0.015));
    }
}

TEST_CASE("hybrid: the cache grows in layers of attention alone, states in the others") {
    ModelSpec const model = find_model("nemotron-h-8b");
    CHECK(kv_cache_bytes_per_token(model, 2) == 4 * 2 * 8 * 128 * 2);
    CHECK(recurrent_state_bytes(model) == 24 * (4.0 * 128 * 128 * 64 + 2.0 * 3 * (8192 + 2 * 8 * 128)));
    CHECK(recurrent_state_bytes(find_model("llama-3.1-8b")) == 0);
}

TEST_CASE("hybrid: configs that say nothing sensible are refused with what is wrong") {
    CHECK(has(message_of(nemotron("")), "hybrid_override_pattern: is missing"));
    CHECK(has(message_of(nemotron(R"(, "hybrid_override_pattern": "M-X")")),
              "hybrid_override_pattern: layer 3 is none of M, *, - and E"));
    CHECK(has(message_of(nemotron(R"(, "hybrid_override_pattern": "M-M-")")), "no layer has attention"));
    CHECK(
        has(message_of(nemotron(R"(, "hybrid_override_pattern": "M*-", "num_hidden_layers": 4)")), "3 entries for 4"));
    CHECK(has(message_of(nemotron(R"(, "layers_block_type": ["mamba", "rnn"])")), "layers_block_type[1]: is 'rnn'"));
    CHECK(has(message_of(nemotron(R"(, "hybrid_override_pattern": "M*E", "moe_latent_size": 64)")), "moe_latent_size"));
    CHECK(has(message_of(nemotron(R"(, "hybrid_override_pattern": "M*-", "mamba_proj_bias": true)")), "not modelled"));
    CHECK(has(message_of(nemotron(R"(, "hybrid_override_pattern": "M*E", "num_experts_per_tok": 9)")), "9 of 8"));
    CHECK(message_of(nemotron(R"(, "hybrid_override_pattern": "*-*-")")) == "(accepted)");
    CHECK(has(message_of(qwen(R"(, "full_attention_interval": 5)")), "no layer has attention"));
    CHECK(has(message_of(qwen(R"(, "linear_num_key_heads": 5)")), "linear_num_key_heads: is 5"));
    CHECK(has(message_of(qwen(R"(, "layer_types": ["full_attention"])")), "1 entries for 4"));
    CHECK(has(message_of(qwen(R"(, "layer_types": ["full_attention", "mamba", "mamba", "mamba"])")),
              "layer_types[1]: is 'mamba'"));
    CHECK(has(message_of(R"({"model_type": "qwen3_5"})"), "text_config: is missing"));
    CHECK(has(message_of(granite(R"(, "layer_types": ["mamba", "attention"])")), "2 entries for 3"));
    CHECK(has(message_of(granite(R"(, "layer_types": ["mamba", "mlp", "attention"])")), "layer_types[1]: is 'mlp'"));
    CHECK(has(message_of(granite(R"(, "layer_types": ["mamba", "mamba", "mamba"])")), "no layer has attention"));
    std::string const layers = R"(, "layer_types": ["mamba", "attention", "mamba"])";
    CHECK(has(message_of(granite(layers + R"(, "mamba_n_heads": 7)")), "mamba_n_heads: is 7"));
    CHECK(has(message_of(granite(layers + R"(, "mamba_n_heads": 4, "mamba_n_groups": 3)")), "mamba_n_groups: is 3"));
    CHECK(message_of(granite(layers + R"(, "mamba_n_heads": 4, "num_local_experts": 0)")) == "(accepted)");
}

TEST_CASE("hybrid: heads of a group share the scores of the decay rule, and none of those of the delta rule",
          "[INV-4]") {
    Recurrence r{.batch = 1,
                 .tokens = 8192,
                 .heads = 128,
                 .key_heads = 1,
                 .key_dim = 128,
                 .value_dim = 64,
                 .chunk = 256,
                 .rule = StateRule::decay};
    auto const executed = [&] { return work_of({.name = "recurrence", .what = r}, Pass::forward).executed.base(); };
    // Granite 4.0-H-Small: 2 C d_k for the group, 2 C d_v + 4 d_k d_v for each head.
    double const shared = executed();
    CHECK(shared == 8192.0 * (2 * 256 * 128 + 128 * (2 * 256 * 64 + 4 * 128 * 64)));
    r.key_heads = 8;
    CHECK(executed() - shared == 7.0 * 8192 * 2 * 256 * 128);
    r.rule = StateRule::delta;
    double const delta = executed();
    r.key_heads = 1;
    CHECK(executed() == delta);
}

TEST_CASE("hybrid: work of a recurrence is linear in its tokens, and a long chunk costs more", "[INV-4]") {
    for (StateRule const rule : {StateRule::decay, StateRule::delta}) {
        Recurrence r{.batch = 2,
                     .tokens = 4096,
                     .heads = 16,
                     .key_heads = 4,
                     .key_dim = 128,
                     .value_dim = 64,
                     .chunk = 64,
                     .rule = rule};
        auto const work = [&](Pass pass) { return work_of({.name = "recurrence", .what = r}, pass); };
        Work const one = work(Pass::forward);
        // As Megatron-LM counts it: 7 or 8 times the size of a head's state for each token.
        CHECK(one.model.base() == (rule == StateRule::delta ? 8.0 : 7.0) * 2 * 4096 * 16 * 128 * 64);
        CHECK(work(Pass::backward).executed.base() == 2.5 * one.executed.base());
        r.tokens *= 4;
        Work const four = work(Pass::forward);
        CHECK(four.executed.base() == Approx(4 * one.executed.base()).epsilon(1e-12));
        CHECK(four.moved.base() == Approx(4 * one.moved.base()).epsilon(1e-12));
        r.chunk *= 2;
        CHECK(work(Pass::forward).executed > four.executed);
        CHECK(work(Pass::forward).moved < four.moved);
        // One token has no chunk: the state is what it costs.
        r.tokens = 1;
        CHECK(work(Pass::forward).moved >= 2.0 * state_bytes(r));
    }
}

TEST_CASE("hybrid: tensor parallelism divides a recurrent layer, and repeats key heads beyond them", "[INV-9]") {
    ModelSpec const model = hybrid(StateRule::decay, 4096, 4);
    LayerKind const kind = model.layers.front();
    RecurrentSpec const& r = *model.recurrent;
    Block const whole = build_layer(model, kind, {}, 1024);
    double const keys = static_cast<double>(r.key_width() * (4096 + r.convolution + 1));
    for (std::int64_t const tp : {2, 8, 16}) {
        ParallelPlan plan;
        plan.tp = tp;
        Block const part = build_layer(model, kind, plan, 1024);
        double const shards = static_cast<double>(std::min<std::int64_t>(tp, 8));
        CHECK(part.parameters.dense ==
              Approx((whole.parameters.dense - keys - 4096) / static_cast<double>(tp) + keys / shards + 4096));
        if (tp <= 8)
            CHECK(part.work(Pass::forward).model.base() * static_cast<double>(tp) ==
                  Approx(whole.work(Pass::forward).model.base()).epsilon(1e-12));
    }
}

TEST_CASE("hybrid: the delta rule's queries and keys are repeated for every value head that they serve", "[INV-6]") {
    auto const convolved = [](ModelSpec const& model, std::int64_t tp) {
        ParallelPlan plan;
        plan.tp = tp;
        Block const layer = build_layer(model, model.layers.front(), plan, 1024);
        double kept = 0;
        for (SavedTensor const& tensor : layer.saved)
            if (tensor.name.starts_with("convolved")) kept += tensor.bytes.base();
        bool const repeats = std::any_of(layer.ops.begin(), layer.ops.end(),
                                         [](Op const& op) { return op.name == "repeat queries and keys"; });
        return std::pair{kept, repeats};
    };
    ModelSpec model = hybrid(StateRule::delta, 2048, 4);  // 32 heads of 128 values, 8 of 64 queries and keys
    CHECK(convolved(model, 1) == std::pair{2.0 * 1024 * 32 * (2 * 64 + 128), true});
    CHECK(convolved(model, 16) == std::pair{2.0 * 1024 * 2 * (2 * 64 + 128), true});
    model.recurrent->key_heads = 32;
    CHECK(convolved(model, 1) == std::pair{2.0 * 1024 * 32 * (2 * 64 + 128), false});
    CHECK(convolved(hybrid(StateRule::decay, 2048, 4), 1) == std::pair{0.0, false});
}

TEST_CASE("hybrid: layers of one half have one norm and one residual, and end where they stop being needed",
          "[INV-7]") {
    ModelSpec const model = hybrid(StateRule::decay, 1024, 4);
    for (LayerKind const kind : distinct_kinds(model)) {
        Block const layer = build_layer(model, kind, {}, 1024);
        auto const named = [&](std::string_view name) {
            return std::count_if(layer.ops.begin(), layer.ops.end(), [&](Op const& op) { return op.name == name; });
        };
        CHECK(named("input norm") == 1);
        CHECK(named("mlp norm") == 0);
        CHECK(named("residual") == 1);
        CHECK(named("recurrence") == (kind.mixer == Mixer::recurrent ? 1 : 0));
        CHECK(named("attention") == (kind.mixer == Mixer::attention ? 1 : 0));
        CHECK(named("mlp down") == (kind.mixer == Mixer::none ? 1 : 0));
        // What full recomputation may leave out is the end of a dense feed-forward.
        bool const ends =
            std::any_of(layer.ops.begin(), layer.ops.end(), [](Op const& op) { return op.rerun == Rerun::to_the_end; });
        CHECK(ends == (kind.mixer == Mixer::none));
        CHECK(layer.kept(Recompute::full) == layer.input);
    }
}
