#include "planner/exporters/job_files.hpp"
#include "planner/remat_policies.hpp"
#include "tests/catch.hpp"
#include "tests/planner/exporters/exported.hpp"

#include <fmt/format.h>

#include <regex>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

/// Product of the axes across slices ("dcn") or within one ("ici"), 1 where there are none.
std::int64_t product(Export const& e, std::string const& kind) {
    std::string const& text = e.files.front().text;
    std::regex const axis("\n" + kind + "_[a-z_]+_parallelism: ([0-9]+)");
    std::int64_t out = 1;
    for (std::sregex_iterator it(text.begin(), text.end(), axis), end; it != end; ++it)
        out *= std::stoll((*it)[1]);
    return out;
}

Export written(ParallelPlan const& plan, char const* cluster, char const* model = "llama-3.1-8b",
               std::int64_t global_batch = 512) {
    return exported({.format = "maxtext",
                     .model = find_model(model),
                     .plan = plan,
                     .global_batch = global_batch,
                     .cluster = cluster});
}

}  // namespace

TEST_CASE("MaxText's axes across slices have as many ranks as slices, those within one as many as its devices",
          "[export]") {
    struct Row {
        char const* cluster;
        ParallelPlan plan;
        std::int64_t slices;
    };
    for (Row const& row : {Row{"h100-sxm", {.dp = 8}, 1}, Row{"h100-sxm", {.dp = 4, .tp = 8}, 4},
                           Row{"h100-sxm", {.dp = 4, .tp = 4, .pp = 4}, 8}, Row{"h100-sxm", {.dp = 2, .tp = 16}, 4},
                           Row{"h100-sxm", {.dp = 2, .tp = 2, .pp = 3, .cp = 4}, 6},
                           Row{"gb200-nvl72", {.dp = 9, .tp = 8}, 1}, Row{"gb200-nvl72", {.dp = 18, .tp = 8}, 2}}) {
        ParallelPlan plan = row.plan;
        for (int const zero : {0, 1, 3}) {
            if (zero == 3 && plan.pp > 1) continue;
            plan.zero = zero;
            Export const e = written(plan, row.cluster, "llama-3.1-405b", 2 * 3 * 4 * 9 * 8);
            CAPTURE(row.cluster, row.slices, zero, e.files.front().text);
            CHECK(product(e, "dcn") == row.slices);
            CHECK(product(e, "dcn") * product(e, "ici") == plan.world_size());
            CHECK_FALSE(notes(e, "slices", "dp"));
        }
    }
    // Stages are the outermost ranks, then replicas.
    Export const staged = written({.dp = 4, .tp = 4, .pp = 4}, "h100-sxm");
    CHECK(writes(staged, "dcn_pipeline_parallelism: 4\ndcn_data_parallelism: 2\n"));
    CHECK(writes(staged, "ici_pipeline_parallelism: 1\nici_data_parallelism: 2\n"));
}

TEST_CASE("MaxText's context and expert axes shard weights, in the file and in the plan that it runs", "[export]") {
    Export const split = written({.dp = 2, .cp = 4}, "tpu-v5p");
    CHECK(notes(split, "shard all state, over 4 ranks", "zero"));
    CHECK(split.expressed.zero == 3);
    CHECK(split.expressed.shard_group == 4);
    CHECK(split.predictable);
    CHECK(writes(split,
                 "ici_data_parallelism: 2\nici_fsdp_parallelism: 1\nici_expert_parallelism: 1\n"
                 "ici_context_parallelism: 4\n"));
    CHECK(written({.cp = 4}, "tpu-v5p").expressed.shard_group == 0);
    Export const experts = written({.dp = 8, .ep = 4}, "tpu-v5p", "mixtral-8x7b");
    CHECK(experts.expressed.zero == 3);
    CHECK(experts.expressed.shard_group == 4);
    // ZeRO 1, and a pipeline, are none of the plans that it runs.
    CHECK_FALSE(written({.dp = 2, .cp = 4, .zero = 1}, "tpu-v5p").predictable);
    CHECK_FALSE(written({.dp = 2, .pp = 4, .cp = 2}, "tpu-v5p").predictable);
    CHECK(written({.dp = 2, .pp = 4}, "tpu-v5p").predictable);
    CHECK_FALSE(notes(written({.dp = 2, .cp = 4, .zero = 3}, "tpu-v5p"), "", "zero"));
    // Groups of whole axes: four of eight ranks are the expert axis alone, two are no group of it.
    ParallelPlan grouped{.dp = 16, .ep = 4, .zero = 3, .shard_group = 8};
    Export const whole = written(grouped, "tpu-v5p", "mixtral-8x7b");
    CHECK(writes(whole, "ici_data_parallelism: 2\nici_fsdp_parallelism: 2\nici_expert_parallelism: 4\n"));
    CHECK_FALSE(notes(whole, "", "shard_group"));
    grouped.shard_group = 2;
    Export const wider = written(grouped, "tpu-v5p", "mixtral-8x7b");
    CHECK(wider.expressed.shard_group == 4);
    CHECK(notes(wider, "groups are of 4 ranks", "shard_group"));
    CHECK(writes(wider, "ici_data_parallelism: 4\nici_fsdp_parallelism: 1\nici_expert_parallelism: 4\n"));
}

TEST_CASE("MaxText is said to refuse slices that the axes do not divide into", "[export]") {
    CHECK_FALSE(notes(written({.dp = 10, .tp = 8}, "gb200-nvl72", "llama-3.1-8b", 40), "slices", "dp"));
    CHECK(notes(written({.dp = 75, .tp = 1}, "gb200-nvl72", "llama-3.1-8b", 75), "JAX sees 2 slices", "dp"));
}

TEST_CASE("MaxText's pipeline has the layers of DeepSeek that follow its dense ones", "[export]") {
    ParallelPlan plan{.dp = 2, .pp = 2};
    Export const e = written(plan, "h100-sxm", "deepseek-v3", 8);  // 61 layers, three of them dense
    CHECK(writes(e, "num_layers_per_pipeline_stage: 29\n"));
    CHECK(notes(e, "3 dense layers", "pp"));
    CHECK_FALSE(notes(e, "not divisible", "pp"));
    Export const other = written(plan, "h100-sxm", "mixtral-8x7b", 8);
    CHECK(writes(other, "num_layers_per_pipeline_stage: 16\n"));
    CHECK_FALSE(notes(other, "", "pp"));
}

TEST_CASE("MaxText reads the sequences of all devices back from the share of one", "[export]") {
    std::regex const line("per_device_batch_size: ([0-9]+\\.[0-9]+)\n");
    for (std::int64_t const tp : {1, 3})
        for (std::int64_t const pp : {1, 3, 6, 7, 9, 11})
            for (std::int64_t const batch : {1, 7, 11, 23, 98, 1001}) {
                std::string const text = written({.tp = tp, .pp = pp}, "h100-sxm", "gpt2", batch).files.front().text;
                std::smatch found;
                REQUIRE(std::regex_search(text, found, line));
                CAPTURE(tp, pp, batch, found[1].str());
                CHECK(static_cast<std::int64_t>(std::stod(found[1]) * static_cast<double>(tp * pp)) ==
                      (pp > 1 ? batch : 1));
            }
}

TEST_CASE("MaxText's policies run again what they are said to, and keep no more than the plan does", "[export]") {
    auto const policy = [](ParallelPlan plan, char const* name, char const* kept) {
        plan.dp = 8;
        Export const e = written(plan, "tpu-v5p");
        CAPTURE(e.files.front().text);
        CHECK(writes(e, std::string("remat_policy: \"") + name + "\"\n"));
        CHECK(e.expressed.recompute == Recompute::full);
        CHECK(activations_text(e.expressed.kept_activations) == kept);
        CHECK(notes(e, "runs again what no policy keeps", "recompute") == (plan.recompute != Recompute::full));
    };
    policy({.recompute = Recompute::full}, "full", "");
    policy({}, "minimal_with_context", "qkv,context,attention_out,mlp_up");
    policy({.recompute = Recompute::selective}, "minimal", "qkv,attention_out,mlp_up");
    policy({.recompute = Recompute::selective, .recompute_modules = {RecomputeModule::layernorm}},
           "minimal_with_context", "qkv,context,attention_out,mlp_up");
    RecomputeModules const without_mlp{RecomputeModule::core_attn, RecomputeModule::layernorm, RecomputeModule::mlp};
    policy({.recompute = Recompute::selective, .recompute_modules = without_mlp}, "save_dot_except_mlp",
           "qkv,attention_out");
    // Of those that keep the same the first.
    for (auto const& [name, keeps] : remat_policies) {
        ParallelPlan plan{.dp = 8};
        apply(keeps, plan);
        Export const e = written(plan, "tpu-v5p");
        CAPTURE(name);
        CHECK(writes(e, fmt::format("remat_policy: \"{}\"\n", name)));
        CHECK_FALSE(notes(e, "", "recompute"));
        CHECK_FALSE(notes(e, "", "kept_activations"));
        CHECK_FALSE(notes(e, "", "offload"));
    }
}

TEST_CASE("MaxText's tiles of the vocabulary's product are the chunks of the loss", "[export]") {
    ParallelPlan plan{.dp = 8, .zero = 3};
    CHECK_FALSE(writes(exported("maxtext", "llama-3.1-8b", plan), "num_vocab_tiling"));
    plan.loss_chunks = 8;
    Export const e = exported("maxtext", "llama-3.1-8b", plan);
    CHECK(writes(e, "num_vocab_tiling: 8\n"));
    CHECK(e.expressed.loss_chunks == 8);
}

TEST_CASE("MaxText keeps and offloads tensor by tensor where no policy of a name does", "[export]") {
    ParallelPlan const selective{.dp = 8, .recompute = Recompute::selective, .offload = Offload::activations};
    for (char const* const line : {"remat_policy: \"custom\"\n", "decoder_layer_input: \"offload\"\n",
                                   "context: \"remat\"\n", "out_proj: \"offload\"\n", "mlpwi_0: \"offload\"\n"})
        CHECK(writes(written(selective, "tpu-v5p"), line));
    ParallelPlan plan{.dp = 8, .recompute = Recompute::full, .offload = Offload::activations};
    Export const whole = written(plan, "tpu-v5p");
    CHECK(writes(whole, "remat_policy: \"custom\"\ndecoder_layer_input: \"offload\"\nquery_proj: \"remat\"\n"));
    CHECK_FALSE(notes(whole, "", "recompute"));

    plan.kept_activations = {ActivationGroup::qkv, ActivationGroup::context, ActivationGroup::mlp_act};
    plan.offloaded_activations = {ActivationGroup::context, ActivationGroup::attention_out};
    Export const some = written(plan, "tpu-v5p");
    for (char const* const line : {"decoder_layer_input: \"device\"\n", "key_proj: \"device\"\n",
                                   "context: \"offload\"\n", "out_proj: \"remat\"\n", "mlpwi_0: \"remat\"\n"})
        CHECK(writes(some, line));
    CHECK(some.expressed.kept_activations == ActivationGroups{ActivationGroup::qkv, ActivationGroup::context});
    CHECK(notes(some, "qkv, context, attention_out, mlp_up", "kept_activations"));

    plan.offload = Offload::none;
    plan.offloaded_activations = all_activations;
    plan.kept_activations = {ActivationGroup::attention_out};
    CHECK(writes(written(plan, "tpu-v5p"), "remat_policy: \"save_out_proj\"\n"));
    // Others say that they do not: what is written runs all again.
    Export const other = exported("megatron", "llama-3.1-8b", plan);
    CHECK(other.expressed.kept_activations.empty());
    CHECK(notes(other, "attention_out are made again", "kept_activations"));
}

TEST_CASE("MaxText's own models are called by its names, others are left to be filled in", "[export]") {
    for (auto const& [ours, theirs] :
         {std::pair{"llama-3.1-8b", "llama3.1-8b"}, std::pair{"gemma-2-9b", "gemma2-9b"},
          std::pair{"mixtral-8x7b", "mixtral-8x7b"}, std::pair{"deepseek-v3", "deepseek3-671b"}})
        CHECK(writes(written({.dp = 8}, "tpu-v5p", ours), std::string("model_name: \"") + theirs + "\"\n"));
    CHECK(writes(written({.dp = 8}, "tpu-v5p", "phi-4"), "model_name: \"REPLACE_WITH_MODEL_NAME\"\n"));
}

TEST_CASE("MaxText's own checks are met, or it is said that they are not", "[export]") {
    ParallelPlan const fp8{.dp = 8, .precision = Precision::fp8};
    CHECK(notes(written(fp8, "h100-sxm"), "gradient accumulation", "precision"));  // 64 microbatches
    CHECK_FALSE(notes(written(fp8, "h100-sxm", "llama-3.1-8b", 8), "", "precision"));
    CHECK(writes(written(fp8, "h100-sxm"), "max_segments_per_seq: "));
    CHECK_FALSE(writes(written({.dp = 8}, "tpu-v5p"), "max_segments_per_seq"));
}

TEST_CASE("a Kubernetes job on TPUs asks GKE for the slice that the plan is priced on", "[export]") {
    auto const job = [](char const* cluster, std::int64_t dp) {
        LaunchPlan const launch = make_launch_plan(find_model("llama-3.1-8b"), find_cluster(cluster, "test"),
                                                   {.sequence = 1024, .global_batch = dp}, {.dp = dp, .zero = 3}, {});
        return kubernetes_job(launch, {.files = {}, .command = {"bash", "maxtext.sh"}}).text;
    };
    std::string const v5p = job("tpu-v5p", 256);
    CHECK_THAT(v5p, contains("      nodeSelector:\n        cloud.google.com/gke-tpu-accelerator: tpu-v5p-slice\n"
                             "        cloud.google.com/gke-tpu-topology: 4x8x8\n      containers:\n"));
    CHECK(v5p.find("Multislice") == std::string::npos);
    std::string const pods = job("tpu-v6e", 512);
    CHECK_THAT(pods, contains("gke-tpu-topology: 16x16\n"));
    CHECK_THAT(pods, contains("JobSet with one Job of 64 pods per slice"));
    CHECK(job("h100-sxm", 64).find("nodeSelector") == std::string::npos);
}
