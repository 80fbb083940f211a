#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/planner/validation_rows.hpp"

#include <algorithm>

using namespace sextant;

namespace {

bool assumes(TrainingCase const& c, std::string_view text) {
    return std::any_of(c.assumptions.begin(), c.assumptions.end(),
                       [&](std::string const& one) { return one.find(text) != std::string::npos; });
}

/// A row of that model alone, without its dimensions.
TrainingRow named(char const* model) {
    TrainingRow row = complete_row();
    row.model = model;
    row.arch = "";
    row.layers = row.hidden = row.ffn_hidden = row.heads = row.kv_heads = row.head_dim = row.vocab = std::nullopt;
    row.gated_mlp = row.tied_embed = std::nullopt;
    return row;
}

TrainingRow mixtral() {
    TrainingRow row = complete_row();
    row.model = "mistralai/Mixtral-8x7B-v0.1";
    row.ffn_hidden = 14336;
    row.kv_heads = 8;
    return row;
}

}  // namespace

TEST_CASE("a preset's experts are the model's, whatever the row leaves out of them") {
    for (char const* const arch : {"MoE", "moe", "Mixture of experts", ""}) {
        TrainingRow row = mixtral();
        row.arch = arch;
        ModelSpec const model = built(row).model;
        REQUIRE(model.moe);
        CHECK(model.moe->experts == 8);
        CHECK(model.layer_count() == 32);
    }
    TrainingRow row = mixtral();
    row.arch = "dense";  // as the row says
    CHECK_FALSE(built(row).model.moe);
    row.arch = "MoE";
    row.model = "my mixture";
    CHECK_THROWS_AS(built(row), RowSkip);
}

TEST_CASE("the width of heads is the preset's where the row does not state it") {
    TrainingRow row = complete_row();
    row.model = "Qwen/Qwen3-32B";
    row.layers = 64, row.hidden = 5120, row.ffn_hidden = 25600, row.heads = 64, row.kv_heads = 8, row.vocab = 151936;
    row.head_dim.reset();
    CHECK(built(row).model.attention.head_dim == 128);
    CHECK(assumes(built(row), "head_dim 128 of the preset of that name"));
    row.head_dim = 80;
    CHECK(built(row).model.attention.head_dim == 80);
    row.head_dim.reset();
    row.model = "my own";
    CHECK(built(row).model.attention.head_dim == 80);
}

TEST_CASE("fewer layers than the preset's are its first ones") {
    TrainingRow row = named("DeepSeek-V3");
    row.ep = 8;
    row.layers = 8;
    TrainingCase const c = built(row);
    CHECK(c.model.layer_count() == 8);
    CHECK(c.model.attention.latent);
    CHECK_FALSE(c.model.layers[2].moe);
    CHECK(c.model.layers[3].moe);
    CHECK(assumes(c, "the first 8 of 61 layers of the preset of that name"));
    row.layers = 61;
    CHECK_FALSE(assumes(built(row), "the first"));
    // With all columns, too.
    row.layers = 8, row.hidden = 7168, row.ffn_hidden = 18432, row.heads = 128, row.kv_heads = 128, row.vocab = 129280;
    row.gated_mlp = 1, row.moe_experts = 256, row.moe_topk = 8, row.moe_ffn_hidden = 2048, row.moe_shared = 1;
    CHECK(built(row).model.attention.latent);
    CHECK_FALSE(built(row).model.layers[2].moe);
    row.moe_experts = 64;  // another model
    CHECK_FALSE(built(row).model.attention.latent);
    CHECK(assumes(built(row), "the preset of that name has other dimensions"));
    TrainingRow longer = named("Llama-2-7B");
    longer.layers = 64;
    CHECK_THROWS_WITH(built(longer), "gated_mlp is not stated, and the preset of that name has other dimensions");
}

TEST_CASE("a name that a preset has is a decoder's, and other words count whole") {
    for (char const* const model : {"DeepSeek-R1-Distill-Llama-70B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B"})
        CHECK_NOTHROW(built(named(model)));
    auto const why = [](char const* model) { return skip_reason([&](TrainingRow& row) { row.model = model; }); };
    for (char const* const model :
         {"Albert-7B", "Llama-3.1-8B + T5 tokenizer", "Alberta-8B", "HT5-7B", "DeepSeek-R1-Distill-Qwen-1.5B"})
        CHECK(why(model).empty());
    for (char const* const model : {"BERT-24L", "bert_large", "RoBERTa-large", "ALBERT-xxlarge", "ModernBERT"})
        CHECK(why(model) == "encoder model (BERT): only decoders here");
    for (char const* const model : {"T5-11B", "google/flan-t5-xxl", "mT5-XL"})
        CHECK(why(model) == "encoder-decoder model: only decoders here");
    for (char const* const model : {"Llama distillation", "Distilled Llama-3B"})
        CHECK(why(model) == "distillation holds a teacher model as well");
}

TEST_CASE("shared experts are counted; a multiple of an expert's width is a width") {
    TrainingRow row = complete_row();
    row.arch = "moe";
    row.moe_experts = 64, row.moe_topk = 6, row.moe_ffn_hidden = 1408;
    auto const width = [&](std::int64_t shared) {
        row.moe_shared = shared;
        TrainingCase const c = built(row);
        bool const said = std::count(c.assumptions.begin(), c.assumptions.end(),
                                     "moe_shared is a width: a multiple of moe_ffn_hidden") == 1;
        CHECK(said == (shared > 16));
        return c.model.moe->shared_intermediate;
    };
    CHECK(width(2) == 2816);
    CHECK(width(2816) == 2816);
    CHECK(width(0) == 0);
    row.moe_shared = 2000;
    CHECK_THROWS_WITH(built(row), "moe_shared is more than moe_experts and no multiple of moe_ffn_hidden");
}
