#include "tests/catch.hpp"

#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"

#include <algorithm>
#include <map>

using namespace sextant;

namespace {

std::int64_t total(char const* preset) { return count_parameters(find_model(preset)).total; }
std::int64_t active(char const* preset) { return count_parameters(find_model(preset)).active; }

Parameter find(std::vector<Parameter> const& list, std::string const& name) {
    auto const found = std::find_if(list.begin(), list.end(), [&](Parameter const& p) { return p.name == name; });
    REQUIRE(found != list.end());
    return *found;
}

}  // namespace

TEST_CASE("parameters: totals equal the published sizes of the checkpoints") {
    // Sizes of the safetensors files on the Hugging Face Hub, or the papers' own counts.
    std::map<char const*, std::int64_t> const published{
        {"gpt2", 124'439'808},
        {"gpt2-xl", 1'557'611'200},
        {"llama-2-7b", 6'738'415'616},
        {"llama-2-13b", 13'015'864'320},
        {"llama-2-70b", 68'976'648'192},
        {"llama-3-8b", 8'030'261'248},
        {"llama-3.1-70b", 70'553'706'496},
        {"llama-3.1-405b", 405'853'388'800},
        {"llama-3.2-1b", 1'235'814'400},
        {"llama-3.2-3b", 3'212'749'824},
        {"mistral-7b", 7'241'732'096},
        {"mixtral-8x7b", 46'702'792'704},
        {"mixtral-8x22b", 140'620'634'112},
        {"qwen2.5-0.5b", 494'032'768},
        {"qwen2.5-7b", 7'615'616'512},
        {"qwen2.5-72b", 72'706'203'648},
        {"qwen3-30b-a3b", 30'532'122'624},
        {"qwen3-235b-a22b", 235'093'634'560},
        {"gemma-2-9b", 9'241'705'984},
        {"gemma-3-1b", 999'885'952},
        {"deepseek-v2-lite", 15'706'484'224},
        {"deepseek-v2", 235'741'434'880},
        {"deepseek-v3", 671'026'419'200},
        {"bloom-176b", 176'247'271'424},
        {"mpt-7b", 6'649'286'656},
        {"olmo-2-7b", 7'298'617'344},
        {"phi-3-mini", 3'821'079'552},
        {"gpt-neox-20b", 20'554'567'680},
        {"gpt-oss-20b", 20'914'757'184},
        {"gpt-oss-120b", 116'829'156'672},
        {"opt-350m", 331'196'416},
        {"command-r", 34'980'831'232},
        {"starcoder2-15b", 15'957'889'024},
        {"starcoder-15.5b", 15'517'456'384},
        {"yi-6b", 6'061'035'520},
        {"yi-34b", 34'388'917'248},
        {"codellama-34b", 33'743'970'304},
        {"internlm2-7b", 7'737'708'544},
        {"baichuan2-7b", 7'505'973'248},
        {"qwen1.5-110b", 111'209'914'368},
        {"phi-2", 2'779'683'840},
        {"phi-3.5-moe", 41'873'153'344},
        {"dbrx-132b", 131'596'523'520},
        {"olmo-7b", 6'888'095'744},
        {"olmoe-1b-7b", 6'919'161'856},
        {"smollm2-1.7b", 1'711'376'384},
        {"solar-10.7b", 10'731'524'096},
        {"glm-4-9b", 9'400'279'040},
    };
    for (auto const& [name, count] : published) {
        INFO(name);
        CHECK(total(name) == count);
    }
}

TEST_CASE("parameters: the Megatron-LM SC'21 models have the sizes of the paper's table") {
    // arXiv:2104.04473 table 1, billions to one decimal.
    std::map<char const*, double> const published{
        {"megatron-1.7b", 1.7},   {"megatron-3.6b", 3.6}, {"megatron-7.5b", 7.5},   {"megatron-18b", 18.4},
        {"megatron-39b", 39.1},   {"megatron-76b", 76.1}, {"megatron-145b", 145.6}, {"megatron-310b", 310.1},
        {"megatron-530b", 529.6}, {"megatron-1t", 1008.0}};
    for (auto const& [name, billions] : published) {
        INFO(name);
        auto const model = find_model(name);
        CHECK(static_cast<double>(total(name)) / 1e9 == Approx(billions).margin(0.051));
        // Equation 2 of the paper: 12 l h^2 (1 + 13 / 12h + (V + s) / 12lh), plus the final norm that it leaves out.
        auto const h = model.hidden;
        CHECK(total(name) ==
              12 * model.layer_count() * h * h + 13 * model.layer_count() * h + (model.vocab + 2048) * h + 2 * h);
    }
}

TEST_CASE("parameters: a token uses top_k of the experts and everything else") {
    CHECK(active("mixtral-8x7b") == 46'702'792'704 - 32LL * 6 * 3 * 4096 * 14336);  // 12.88 B
    CHECK(active("deepseek-v3") == 671'026'419'200 - 58LL * 248 * 3 * 7168 * 2048);
    CHECK(static_cast<double>(active("deepseek-v3")) / 1e9 == Approx(37.5).margin(0.1));
    CHECK(static_cast<double>(active("qwen3-235b-a22b")) / 1e9 == Approx(22.2).margin(0.1));
    CHECK(static_cast<double>(active("glm-4.5")) / 1e9 == Approx(32).epsilon(0.06));
    CHECK(active("llama-3-8b") == total("llama-3-8b"));
    // gpt-oss experts have biases, and idle experts' biases are idle too.
    CHECK(active("gpt-oss-20b") == 20'914'757'184 - 24LL * 28 * (3LL * 2880 * 2880 + 2 * 2880 + 2880));
}

TEST_CASE("parameters: what a token uses of a mixture is what its publisher says") {
    // Billions, of papers and model cards, as they are rounded there. Some leave embeddings out, some leave out only
    // the table that is read row by row, some count both.
    struct Published {
        char const* name;
        double billions, rounding;
    };
    auto const whole = [](char const* name, double billions) { return Published{name, billions, 0.5}; };
    auto const tenth = [](char const* name, double billions) { return Published{name, billions, 0.05}; };
    for (auto const& [name, billions, rounding] : {tenth("mixtral-8x7b", 12.9),
                                                   whole("mixtral-8x22b", 39),
                                                   whole("deepseek-v2", 21),
                                                   tenth("deepseek-v2-lite", 2.4),
                                                   whole("deepseek-v3", 37),
                                                   tenth("deepseek-moe-16b", 2.8),
                                                   tenth("qwen1.5-moe-a2.7b", 2.7),
                                                   whole("qwen2-57b-a14b", 14),
                                                   tenth("qwen3-30b-a3b", 3.3),
                                                   whole("qwen3-235b-a22b", 22),
                                                   whole("qwen3-coder-480b-a35b", 35),
                                                   whole("qwen3.5-397b-a17b", 17),
                                                   tenth("gpt-oss-20b", 3.6),
                                                   tenth("gpt-oss-120b", 5.1),
                                                   whole("glm-4.5", 32),
                                                   whole("glm-4.5-air", 12),
                                                   whole("glm-5", 40),
                                                   whole("kimi-k2", 32),
                                                   whole("llama-4-scout-17b-16e", 17),
                                                   whole("llama-4-maverick-17b-128e", 17),
                                                   whole("dbrx-132b", 36),
                                                   tenth("phi-3.5-moe", 6.6),
                                                   tenth("olmoe-1b-7b", 1.3),
                                                   whole("minimax-m2", 10),
                                                   whole("ling-1t", 50),
                                                   tenth("ling-flash-2.0", 6.1),
                                                   tenth("ling-mini-2.0", 1.4),
                                                   whole("hunyuan-a13b", 13),
                                                   whole("dots.llm1-142b", 14),
                                                   whole("ernie-4.5-21b-a3b", 3),
                                                   whole("ernie-4.5-300b-a47b", 47),
                                                   whole("moonlight-16b-a3b", 3),
                                                   whole("mistral-large-3-675b", 41 - 2.5),  // but the encoder's
                                                   tenth("mistral-small-4-119b", 6.5),
                                                   whole("grok-2", 115),
                                                   whole("arctic-480b", 17),
                                                   whole("granite-4.0-h-small", 9),
                                                   tenth("nemotron-3-nano-30b-a3b", 3.2)}) {
        INFO(name);
        auto const counts = count_parameters(find_model(name));
        double const most = static_cast<double>(counts.active) / 1e9;
        double const least = static_cast<double>(counts.active - counts.embedding - counts.head) / 1e9;
        CHECK(billions >= least - rounding);
        CHECK(billions <= most + rounding);
    }
}

TEST_CASE("parameters: embedding, head and prediction modules are counted apart") {
    auto const tied = count_parameters(find_model("gpt2"));
    CHECK(tied.embedding == 50257 * 768 + 1024 * 768);
    CHECK(tied.head == 0);
    auto const untied = count_parameters(find_model("llama-3-8b"));
    CHECK(untied.embedding == 128256LL * 4096);
    CHECK(untied.head == 128256LL * 4096);
    CHECK(untied.without_embedding == untied.total - 2 * 128256LL * 4096);
    CHECK(untied.mtp == 0);
    // The published checkpoint (684,489,845,504 values besides quantisation scales) repeats the embedding and the
    // output matrix inside the prediction module.
    auto const v3 = count_parameters(find_model("deepseek-v3"));
    CHECK(v3.mtp == 11'610'068'224);
    CHECK(v3.total + v3.mtp + 2 * 129280LL * 7168 == 684'489'845'504);
    auto const glm = count_parameters(find_model("glm-4.5-air"));
    CHECK(glm.mtp > 0);
}

TEST_CASE("parameters: the key/value cache of a token") {
    CHECK(kv_cache_bytes_per_token(find_model("llama-3-8b"), 2) == 131072);
    CHECK(kv_cache_bytes_per_token(find_model("llama-2-7b"), 2) == 524288);
    CHECK(kv_cache_bytes_per_token(find_model("deepseek-v3"), 2) == 70272);
    CHECK(kv_cache_bytes_per_token(find_model("falcon-7b"), 2) == 2 * 64 * 32 * 2);
    CHECK(kv_cache_bytes_per_token(find_model("llama-3-8b"), 0.5) == 32768);
}

TEST_CASE("parameters: every preset's parts add up, and its sizes are consistent") {
    for (auto const& name : model_names()) {
        INFO(name);
        auto const model = find_model(name);
        auto const counts = count_parameters(model);
        std::int64_t sum = total_count(embedding_parameters(model)) + total_count(head_parameters(model));
        for (LayerKind const kind : model.layers)
            sum += total_count(layer_parameters(model, kind));
        CHECK(counts.total == sum);
        CHECK(counts.active <= counts.total);
        CHECK((counts.active < counts.total) == model.moe.has_value());
        CHECK(counts.embedding + counts.head + counts.without_embedding == counts.total);
        CHECK((counts.head == 0) == model.tied_embeddings);
        CHECK((counts.mtp > 0) == (model.mtp_modules > 0));
        CHECK(model.attention.heads % model.attention.kv_heads == 0);
        CHECK(model.attention.head_dim > 0);
        CHECK(model.attention.value_head_dim > 0);
        CHECK(model.max_positions >= 1024);
        bool const slides =
            std::any_of(model.layers.begin(), model.layers.end(), [](LayerKind k) { return k.sliding; });
        CHECK(slides == (model.attention.window > 0));
    }
}

TEST_CASE("parameters: sharding follows Megatron-LM's split") {
    auto const llama = find_model("llama-3-8b");
    auto const layer = layer_parameters(llama, {});
    auto const q = find(layer, "attention.q");
    CHECK((q.rows == 4096 && q.columns == 4096 && q.sharding == Sharding::tensor));
    auto const k = find(layer, "attention.k");
    CHECK((k.rows == 1024 && k.columns == 4096 && k.sharding == Sharding::heads && k.heads == 8));
    auto const down = find(layer, "mlp.down");
    CHECK((down.rows == 4096 && down.columns == 14336 && down.sharding == Sharding::tensor));
    CHECK(find(layer, "norms").sharding == Sharding::replicated);
    CHECK(find(embedding_parameters(llama), "embedding").sharding == Sharding::vocabulary);
    CHECK(find(head_parameters(llama), "head").sharding == Sharding::vocabulary);

    auto const gpt = layer_parameters(find_model("gpt2"), {});
    CHECK(find(gpt, "mlp.up bias").sharding == Sharding::tensor);
    CHECK(find(gpt, "mlp.down bias").sharding == Sharding::replicated);
    CHECK(find(gpt, "attention.output bias").sharding == Sharding::replicated);

    auto const mixtral = layer_parameters(find_model("mixtral-8x7b"), {.moe = true});
    auto const up = find(mixtral, "experts.up");
    CHECK((up.rows == 14336 && up.columns == 4096 && up.copies == 8 && up.sharding == Sharding::expert));
    CHECK(find(mixtral, "router").sharding == Sharding::replicated);

    auto const v3 = layer_parameters(find_model("deepseek-v3"), {.moe = true});
    CHECK(find(v3, "attention.kv_down").sharding == Sharding::replicated);
    CHECK(find(v3, "attention.kv_up").sharding == Sharding::tensor);
    CHECK(find(v3, "router.correction").count() == 256);
    CHECK(find(v3, "shared_expert.down").columns == 2048);
}
