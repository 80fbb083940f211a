#include "core/error.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "planner/importers/layer_pattern.hpp"
#include "tests/catch.hpp"
#include "tests/planner/exporters/exported.hpp"

#include <fmt/format.h>

#include <algorithm>

using namespace sextant;

namespace {

ModelSpec const& llama_of_defaults() {
    static ModelSpec const model = find_model("llama-3.1-8b");
    return model;
}

bool warns_of(ForeignPlan const& f, std::string const& part) {
    return std::any_of(f.warnings.begin(), f.warnings.end(),
                       [&](std::string const& text) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("switches of the environment are what a script assigns, quoted or not, and no comment", "[import]") {
    auto const precision = [](std::string const& script) {
        return import_megatron(script + "\ntorchrun pretrain_gpt.py --micro-batch-size 1\n", "t.sh",
                               llama_of_defaults())
            .plan.precision;
    };
    auto const of_deepspeed = [](std::string const& script) {
        return import_deepspeed("{}", script + "\ntorchrun pretrain_gpt.py --micro-batch-size 1\n", "t.sh",
                                llama_of_defaults())
            .plan.precision;
    };
    std::string const name = "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE";
    for (std::string const& on :
         {"export " + name + "=1", "export " + name + "='1'", name + "=\"1\"", "ON=1\nexport " + name + "=$ON",
          "export " + name + "=${TF32:-1}", "docker run -e \"" + name + "=1\" image"}) {
        CAPTURE(on);
        CHECK(precision(on) == Precision::tf32);
        CHECK(of_deepspeed(on) == Precision::tf32);
    }
    for (std::string const& off : {"# export " + name + "=1", "export " + name + "=0", "export " + name + "=10",
                                   "export " + name + "=1\nexport " + name + "=0", "export MY_" + name + "=1"}) {
        CAPTURE(off);
        CHECK(precision(off) == Precision::fp32);
        CHECK(of_deepspeed(off) == Precision::fp32);
    }
    auto const attention = [](std::string const& script) {
        return import_megatron(script + "\ntorchrun pretrain_gpt.py --bf16 --attention-backend unfused\n", "t.sh",
                               llama_of_defaults())
            .plan.attention;
    };
    CHECK(attention("export NVTE_MASKED_SOFTMAX_FUSION=\"0\"") == AttentionKernel::eager);
    CHECK(attention("# NVTE_MASKED_SOFTMAX_FUSION=0 is slow") == AttentionKernel::unfused);
}

TEST_CASE("Megatron FSDP without a strategy shards nothing, and says so", "[import]") {
    auto const megatron = [](std::string const& more) {
        return import_megatron("--bf16 --use-distributed-optimizer " + more, "t.sh", llama_of_defaults());
    };
    ForeignPlan const open = megatron("--use-megatron-fsdp");
    CHECK(open.plan.zero == 0);
    CHECK(warns_of(open, "--data-parallel-sharding-strategy is not there"));
    ForeignPlan const said = megatron("--use-megatron-fsdp --data-parallel-sharding-strategy no_shard");
    CHECK(said.plan.zero == 0);
    CHECK_FALSE(warns_of(said, "--data-parallel-sharding-strategy"));
    CHECK(megatron("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads").plan.zero == 2);
    CHECK(megatron("").plan.zero == 1);
    CHECK(megatron("--data-parallel-sharding-strategy optim_grads").plan.zero == 1);  // FSDP's
}

TEST_CASE("tokens that Megatron-LM gathers by default are said to be counted as sent", "[import]") {
    ModelSpec const experts = find_model("mixtral-8x7b");
    auto const warned = [&](std::string const& more) {
        return warns_of(import_megatron("--bf16 " + more, "t.sh", experts), "counted as all-to-all");
    };
    CHECK(warned("--expert-model-parallel-size 8"));
    CHECK(warned("--expert-model-parallel-size 8 --moe-token-dispatcher-type allgather"));
    CHECK_FALSE(warned("--expert-model-parallel-size 8 --moe-token-dispatcher-type alltoall"));
    CHECK_FALSE(warned(""));
    CHECK_FALSE(warns_of(import_megatron("--bf16 --expert-model-parallel-size 8", "t.sh", llama_of_defaults()),
                         "counted as all-to-all"));
}

TEST_CASE("stages that torchtitan refuses are refused", "[import]") {
    auto const titan = [](std::string const& more) {
        return import_torchtitan("[parallelism]\npipeline_parallel_degree = 4\n" + more, "t.toml", llama_of_defaults());
    };
    auto const scheduled = [&](char const* schedule, std::int64_t layers) {
        return titan(fmt::format("pipeline_parallel_schedule = \"{}\"\npipeline_parallel_layers_per_stage = {}\n",
                                 schedule, layers))
            .plan;
    };
    // 32 layers, and one each for embedding and output, on four ranks.
    CHECK(scheduled("1F1B", 9).vpp == 1);
    CHECK(scheduled("Interleaved1F1B", 3).vpp == 3);
    CHECK(titan("pipeline_parallel_schedule = \"ZBVZeroBubble\"\n").plan.vpp == 2);
    CHECK_THROWS_WITH(scheduled("1F1B", 5), contains("7 stages are no multiple of the 4 ranks"));
    CHECK_THROWS_WITH(scheduled("1F1B", 3), contains("1F1B has one stage on each rank, and not 3"));
    CHECK_THROWS_WITH(scheduled("Interleaved1F1B", 9), contains("at least two stages on each rank"));
    CHECK_THROWS_WITH(scheduled("ZBVZeroBubble", 3), contains("ZBVZeroBubble has two stages on each rank, and not 3"));
    auto const parts = [&](char const* schedule) {
        std::string lists;
        for (int stage = 0; stage < 4; ++stage)
            for (int layer = 0; layer < 8; ++layer)
                lists += fmt::format("{}\"layers.{}\"{}", layer == 0 ? "[" : ", ", 8 * stage + layer,
                                     layer < 7   ? ""
                                     : stage < 3 ? "], "
                                                 : "]");
        return titan(fmt::format("pipeline_parallel_schedule = \"{}\"\nmodule_fqns_per_model_part = [{}]\n", schedule,
                                 lists))
            .plan;
    };
    CHECK(parts("GPipe").vpp == 1);
    CHECK_THROWS_WITH(parts("LoopedBFS"), contains("at least two stages on each rank"));
}

TEST_CASE("layers are marked by lists as Megatron-LM evaluates them", "[import]") {
    using Marks = std::vector<bool>;
    CHECK(layer_pattern("[0,1,1]") == Marks{false, true, true});
    CHECK(layer_pattern("[0]*1+[1]*2") == Marks{false, true, true});
    CHECK(layer_pattern("([1]*2+[0])*2") == Marks{true, true, false, true, true, false});
    CHECK(layer_pattern("([1])*0") == Marks{});
    for (char const* const none : {"", "3", "[", "[]", "[1,]", "[1]*", "([1]", "[1]+", "[1]]",
                                   "[1]*99999999999999999999", "([1]*60000)*60000", "[a]", "[1] "}) {
        CAPTURE(none);
        CHECK_FALSE(layer_pattern(none));
    }
    CHECK_FALSE(layer_pattern(std::string(100000, '(')));
}

TEST_CASE("arguments of another model than the one that is named are refused", "[import]") {
    struct Row {
        char const* model;
        char const* arguments;
        char const* why;
    };
    for (Row const& row :
         {Row{"gpt3-6.7b", "--swiglu", "--swiglu, but gpt3-6.7b has no gate"},
          Row{"llama-3.1-8b", "--squared-relu", "has a gate"},
          Row{"llama-3.1-8b", "--window-size 511,0", "--window-size 511,0, but llama-3.1-8b has no sliding window"},
          Row{"gpt-oss-20b", "--window-size 511,0", "has a window of 128 tokens"},
          Row{"gpt-oss-20b", "--window-size 127,0 --window-attn-skip-freq 3", "has other layers of that kind"},
          Row{"llama-3.1-8b", "--multi-latent-attention", "--multi-latent-attention, but llama-3.1-8b has none"},
          Row{"deepseek-v2-lite", "--kv-lora-rank 256", "--kv-lora-rank 256, but deepseek-v2-lite has 512"},
          Row{"deepseek-v2-lite", "--qk-head-dim 64", "has 128"},
          Row{"deepseek-v2-lite", "--q-lora-rank 1536", "has 0"},
          Row{"deepseek-v2-lite", "--num-experts 64 --moe-layer-freq 2", "has other layers of that kind"},
          Row{"deepseek-v2-lite", "--num-experts 64 --moe-layer-freq '([0]*2+[1]*25)'",
              "has other layers of that kind"},
          Row{"llama-3.2-1b", "--untie-embeddings-and-output-weights", "has one matrix for both"}}) {
        CAPTURE(row.model, row.arguments);
        CHECK_THROWS_WITH(import_megatron(std::string("--bf16 ") + row.arguments, "t.sh", find_model(row.model)),
                          contains(row.why));
    }
    auto const of = [](char const* model, char const* arguments) {
        return import_megatron(std::string("--bf16 ") + arguments, "t.sh", find_model(model));
    };
    CHECK_NOTHROW(of("gpt-oss-20b", "--window-size 128,0 --window-attn-skip-freq 2"));
    CHECK_NOTHROW(of("gpt-oss-20b", "--window-size '(127, 0)' --window-attn-skip-freq '([1,0])*12'"));
    CHECK_NOTHROW(of("deepseek-v2-lite", "--num-experts 64 --moe-layer-freq '([0]*1+[1]*26)' --kv-lora-rank 512"));
    CHECK_NOTHROW(of("llama-3.1-8b", "--window-size '-1,0'"));
}

TEST_CASE("a script that leaves out what its model needs is told what Megatron-LM builds", "[import]") {
    auto const of = [](char const* model, std::string const& arguments) {
        return import_megatron("--bf16 " + arguments, "t.sh", find_model(model));
    };
    ForeignPlan const bare = of("llama-3.1-8b", "--num-layers 32 --hidden-size 4096 --num-query-groups 8");
    CHECK(warns_of(bare, "--swiglu is not there: Megatron-LM builds feed-forward halves without a gate"));
    CHECK(warns_of(bare, "--group-query-attention is not there: Megatron-LM builds 32 key-value heads"));
    CHECK(warns_of(bare, "--untie-embeddings-and-output-weights is not there: Megatron-LM builds one matrix"));
    CHECK(warns_of(bare, "--ffn-hidden-size is not there: Megatron-LM builds 16384 units"));
    CHECK(warns_of(of("llama-3.1-8b", "--hidden-size 4096 --group-query-attention"), "builds 1 key-value heads"));
    CHECK(warns_of(of("gpt-oss-20b", "--hidden-size 2880"), "--window-size is not there"));
    CHECK(
        warns_of(of("gpt-oss-20b", "--hidden-size 2880 --window-size 127,0"), "--window-attn-skip-freq is not there"));
    ForeignPlan const latent = of("deepseek-v2-lite", "--hidden-size 2048 --num-experts 64 --multi-latent-attention");
    CHECK(warns_of(latent, "--kv-lora-rank is not there: Megatron-LM builds latent attention with 32 there"));
    CHECK_FALSE(warns_of(latent, "--qk-head-dim"));
    CHECK(warns_of(latent, "--moe-layer-freq is not there: Megatron-LM builds experts in every layer"));
    CHECK(warns_of(of("mixtral-8x7b", "--hidden-size 4096"), "--num-experts is not there"));
    // Not where the arguments are a part of the whole, or the checkpoint has the rest.
    CHECK_FALSE(warns_of(of("llama-3.1-8b", "--num-layers 32"), "Megatron-LM builds"));
    CHECK_FALSE(warns_of(of("llama-3.1-8b", "--hidden-size 4096 --use-checkpoint-args"), "Megatron-LM builds"));
    ForeignPlan const deepspeed =
        import_deepspeed("{}", "--bf16 --micro-batch-size 1 --hidden-size 4096 --swiglu --ffn-hidden-size 14336",
                         "t.sh", llama_of_defaults());
    CHECK(warns_of(deepspeed, "--num-key-value-heads is not there: Megatron-LM builds 32 key-value heads"));
    CHECK_FALSE(warns_of(deepspeed, "--group-query-attention"));
}

TEST_CASE("an exported script describes its model whole", "[import][export]") {
    int written = 0;
    for (std::string const& name : model_names()) {
        CAPTURE(name);
        ModelSpec const model = find_model(name);
        for (char const* const format : {"megatron", "deepspeed"}) {
            Export e;
            try {
                e = fixtures::exported({.format = format, .model = model});
            } catch (InputError const&) {
                continue;  // recurrent layers and others that no files are written for
            }
            ForeignPlan const back = std::string_view(format) == "megatron"
                                         ? import_megatron(e.files[0].text, "t.sh", model)
                                         : import_deepspeed(e.files[0].text, e.files[1].text, "t.sh", model);
            CHECK_FALSE(warns_of(back, "Megatron-LM builds"));
            ++written;
        }
    }
    CHECK(written > 100);
}
