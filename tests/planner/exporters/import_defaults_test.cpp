#include "core/error.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "tests/catch.hpp"

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
