// Encoders: attention that looks both ways, and the layers around it that decoders do not have.
#include "core/graph/block.hpp"
#include "core/graph/model_flops.hpp"
#include "core/spec/hf_config.hpp"
#include "core/spec/parameters.hpp"
#include "tests/catch.hpp"

#include <string>

using namespace sextant;

namespace {

ModelSpec bert_base(std::string const& model_class) {
    return read_hf_config(R"({"model_type": "bert", "architectures": [")" + model_class + R"("], "hidden_size": 768,
        "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522,
        "max_position_embeddings": 512, "type_vocab_size": 2})",
                          "bert");
}

ModelSpec modernbert_base(std::string const& model_class) {
    return read_hf_config(R"({"model_type": "modernbert", "architectures": [")" + model_class + R"("]})", "modernbert");
}

std::int64_t total_of(ModelSpec const& model) { return count_parameters(model).total; }

}  // namespace

TEST_CASE("encoders: published counts are met to the unit", "[INV-3]") {
    // Sums of the shapes in transformers' classes: BERT base is 110 M, RoBERTa base 125 M, ModernBERT base 149 M.
    CHECK(total_of(bert_base("BertModel")) == 109'482'240);
    CHECK(total_of(bert_base("BertForMaskedLM")) == 109'514'298);
    CHECK(total_of(bert_base("BertForSequenceClassification")) == 109'482'240 + 2 * 768);
    CHECK(total_of(bert_base("BertForTokenClassification")) == 109'482'240 - 768 * 769 + 2 * 768);
    ModelSpec const roberta = read_hf_config(R"({"model_type": "roberta", "hidden_size": 768, "num_hidden_layers": 12,
        "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265, "max_position_embeddings": 514,
        "type_vocab_size": 1})",
                                             "roberta");
    CHECK(total_of(roberta) == 124'697'433);
    CHECK(roberta.max_positions == 512);
    CHECK(total_of(modernbert_base("ModernBertForMaskedLM")) == 149'655'232);
}

TEST_CASE("encoders: every token sees all others, so the kernels run what the model counts", "[INV-4]") {
    ModelSpec const encoder = bert_base("BertForMaskedLM");
    ModelSpec decoder = encoder;
    decoder.causal = true;
    CHECK(forward_flops_per_token(encoder, 512) == forward_flops_per_token(decoder, 512));
    CHECK(causal_forward_flops_per_token(encoder, 512) == forward_flops_per_token(encoder, 512));
    // A query of a decoder sees half of the keys: 2 s h of 4 s h FLOPs a layer, 12 layers.
    CHECK((causal_forward_flops_per_token(encoder, 512) - causal_forward_flops_per_token(decoder, 512)).base() ==
          Approx(12.0 * 2 * 512 * 768));
}

TEST_CASE("encoders: the layer before the logits of masked tokens is a product of the width", "[INV-4]") {
    double const with = forward_flops_per_token(bert_base("BertForMaskedLM"), 512).base();
    double const without = forward_flops_per_token(bert_base("BertForTokenClassification"), 512).base();
    CHECK(with - without == Approx(2.0 * 768 * (768 + 30522 - 2)));
    ParallelPlan plan;
    plan.vocab_multiple = 1;
    Block const head = build_head(bert_base("BertForMaskedLM"), plan, 512);
    CHECK(head.work(Pass::forward).executed.base() == Approx(512 * 2.0 * 768 * (768 + 30522)));
}

TEST_CASE("encoders: the layers of ModernBERT that look to a window alone are those that layer_types names") {
    auto const of_four = [](std::string const& keys) {
        return read_hf_config(R"({"model_type": "modernbert", "num_hidden_layers": 4)" + keys + "}", "modernbert");
    };
    ModelSpec const all_wide =
        of_four(R"(, "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"])");
    CHECK(all_wide.attention.window == 0);
    CHECK(forward_flops_per_token(all_wide, 8192) ==
          forward_flops_per_token(of_four(R"(, "global_attn_every_n_layers": 1)"), 8192));
    ModelSpec const last_wide = of_four(R"(, "global_attn_every_n_layers": 3, "layer_types":
        ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"])");
    CHECK(last_wide.layers[0].sliding);
    CHECK_FALSE(last_wide.layers[3].sliding);
    CHECK(last_wide.attention.window == 128);
    CHECK_FALSE(of_four("").layers[0].sliding);
    CHECK_THROWS_WITH(of_four(R"(, "layer_types": ["full_attention", "local", "full_attention", "full_attention"])"),
                      Catch::Matchers::Contains("layer_types[1]: is 'local'"));
}

TEST_CASE("encoders: two of three layers of ModernBERT look 64 tokens to each side") {
    ModelSpec const model = modernbert_base("ModernBertModel");
    CHECK(model.attention.window == 128);
    std::int64_t wide = 0;
    for (LayerKind const kind : model.layers)
        wide += kind.sliding ? 0 : 1;
    CHECK(wide == 8);
    CHECK_FALSE(model.layers.front().sliding);
    LayerKind const sliding{.sliding = true};
    Block const layer = build_layer(model, sliding, {}, 8192);
    Block const whole = build_layer(model, LayerKind{}, {}, 8192);
    // 4 (s - w) h FLOPs a token less.
    CHECK((whole.work(Pass::forward).executed - layer.work(Pass::forward).executed).base() ==
          Approx(8192.0 * 4 * (8192 - 128) * 768));
}
