#include "planner/importers/foreign_plan.hpp"
#include "tests/catch.hpp"
#include "tests/planner/exporters/exported.hpp"

#include <fmt/format.h>

#include <algorithm>

using namespace sextant;
using namespace sextant::fixtures;

TEST_CASE("Megatron-DeepSpeed's sequence parallelism has the one queue of work that it asks for", "[export]") {
    ParallelPlan plan{.tp = 2};
    CHECK_FALSE(writes(exported("deepspeed", "llama-3.1-8b", plan), "CUDA_DEVICE_MAX_CONNECTIONS"));
    plan.sequence_parallel = Switch::on;
    CHECK(writes(exported("deepspeed", "llama-3.1-8b", plan), "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"));
    Export const other =
        exported({.format = "deepspeed", .model = find_model("llama-3.1-8b"), .plan = plan, .cluster = "mi300x"});
    CHECK(writes(other, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"));
}

TEST_CASE("DeepSpeed drops no tokens and shards experts apart, and a file that drops some is warned of",
          "[export][import]") {
    ModelSpec const mixtral = find_model("mixtral-8x7b");
    Export const experts = exported("deepspeed", "mixtral-8x7b", {.dp = 8, .ep = 8});
    CHECK(writes(experts, "--create-moe-param-group\n"));
    CHECK(writes(experts, "--disable-moe-token-dropping\n"));
    CHECK_FALSE(writes(exported("deepspeed", "llama-3.1-8b"), "moe"));
    CHECK(import_deepspeed(experts.files[0].text, experts.files[1].text, "x", mixtral).warnings.empty());
    std::vector<std::string> const warnings =
        import_deepspeed("{}", "--bf16 --micro-batch-size 1", "x", mixtral).warnings;
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings.front(), contains("dropped without --disable-moe-token-dropping"));
}

TEST_CASE("DeepSpeed's offloaded optimizer is one of the host", "[export]") {
    ParallelPlan plan{.dp = 8};
    plan.zero = 1;
    CHECK_FALSE(writes(exported("deepspeed", "llama-3.1-8b", plan), "--cpu-optimizer"));
    plan.offload = Offload::optimizer;
    CHECK(writes(exported("deepspeed", "llama-3.1-8b", plan), "--cpu-optimizer\n"));
}

TEST_CASE("Megatron-DeepSpeed has Adam for Muon, and says so", "[export]") {
    ParallelPlan plan{.dp = 8};
    plan.optimizer = Optimizer::muon;
    Export const e = exported("deepspeed", "llama-3.1-8b", plan);
    CHECK(e.expressed.optimizer == Optimizer::adamw);
    CHECK(notes(e, "no Muon", "optimizer"));
    CHECK_FALSE(writes(e, "\"Muon\""));
}

TEST_CASE("state that is all in bf16 becomes the narrowest that a framework has", "[export]") {
    ParallelPlan plan{.dp = 8};
    plan.zero = 1;
    plan.optimizer = Optimizer::adamw_pure_bf16;
    Export const deepspeed = exported("deepspeed", "llama-3.1-8b", plan);
    CHECK(deepspeed.expressed.optimizer == Optimizer::adamw);
    CHECK(notes(deepspeed, "keeps fp32 weights", "optimizer"));
    for (char const* format : {"megatron", "nemo"}) {
        Export const megatron = exported(format, "llama-3.1-8b", plan);
        CHECK(megatron.expressed.optimizer == Optimizer::adamw_bf16);
        CHECK(megatron.expressed.gradients == GradientFormat::bf16);
        CHECK(notes(megatron, "a copy of the weights in fp32", "optimizer"));
    }
    CHECK(writes(exported("megatron", "llama-3.1-8b", plan), "--grad-reduce-in-bf16"));
}

TEST_CASE("Megatron-DeepSpeed's pipeline recomputes all layers of a stage or none", "[export]") {
    ParallelPlan plan{.dp = 4, .pp = 2};
    plan.recompute = Recompute::full;
    plan.recompute_layers = 3;
    Export const staged = exported("deepspeed", "llama-3.1-8b", plan);
    CHECK(staged.expressed.recompute_layers == 0);
    CHECK(notes(staged, "all layers of a stage or none", "recompute_layers"));
    CHECK(writes(staged, "--recompute-method uniform"));
    plan.pp = 1;
    Export const flat = exported("deepspeed", "llama-3.1-8b", plan);
    CHECK(flat.expressed.recompute_layers == 3);
    CHECK(writes(flat, "--recompute-method block"));
}

TEST_CASE("DeepSpeed offloads the optimizer of one rank by ZeRO, and of replicas only with it", "[export]") {
    ParallelPlan plan{.tp = 8};
    plan.offload = Offload::optimizer;
    for (int const zero : {0, 1, 2, 3}) {
        CAPTURE(zero);
        plan.zero = zero;
        Export const e = exported("deepspeed", "llama-3.1-8b", plan);
        std::string const stage = std::to_string(std::max(zero, 1));
        CHECK(e.expressed.offload == Offload::optimizer);
        CHECK_FALSE(notes(e, "", "offload"));
        CHECK(writes(e, "\"stage\": " + stage));
        CHECK(writes(e, "--zero-stage " + stage + "\n"));
        CHECK(writes(e, "\"offload_optimizer\""));
    }
    CHECK(writes(exported("deepspeed", "mixtral-8x7b", plan), "--zero-stage 2\n"));
    plan.dp = 2;
    plan.zero = 0;
    Export const replicas = exported("deepspeed", "llama-3.1-8b", plan);
    CHECK(notes(replicas, "ZeRO 1, 2 or 3 only", "offload"));
    CHECK_FALSE(writes(replicas, "\"offload_optimizer\""));
}

TEST_CASE("DeepSpeed offloads parameters with ZeRO 3, on one rank as on many, and no other format but FSDP's does",
          "[export]") {
    for (std::int64_t const dp : {1, 8}) {
        ParallelPlan const plan{.dp = dp, .zero = 3, .offload = Offload::parameters};
        Export const e = exported("deepspeed", "llama-3.1-8b", plan);
        CHECK(e.expressed.offload == Offload::parameters);
        CHECK(e.expressed.zero == 3);
        CHECK_FALSE(notes(e, "", "offload"));
        for (char const* const line : {"\"offload_param\"", "\"offload_optimizer\"", "\"stage\": 3"})
            CHECK(writes(e, line));
        CHECK(writes(e, "--cpu-optimizer\n"));
    }
    ParallelPlan plan{.dp = 8, .zero = 3, .offload = Offload::parameters};
    Export const experts = exported("deepspeed", "mixtral-8x7b", plan);
    CHECK(experts.expressed.offload == Offload::optimizer);
    CHECK(notes(experts, "with ZeRO 3 only", "offload"));
    CHECK_FALSE(writes(experts, "\"offload_param\""));
    for (char const* const format : {"megatron", "nemo", "maxtext"}) {
        Export const e = exported(format, "llama-3.1-8b", plan);
        CAPTURE(format);
        CHECK_FALSE(offloads_parameters(e.expressed));
        CHECK(notes(e, "weights stay on the accelerator", "offload"));
    }
}

TEST_CASE("DeepSpeed's ZeRO is told to take SGD, whose state Megatron-DeepSpeed does not offload", "[export]") {
    ParallelPlan plan{.dp = 8};
    std::string const allowed = "\"zero_allow_untested_optimizer\": true";
    plan.zero = 1;
    CHECK_FALSE(writes(exported("deepspeed", "llama-3.2-1b", plan), allowed));
    plan.optimizer = Optimizer::sgd;
    CHECK(writes(exported("deepspeed", "llama-3.2-1b", plan), allowed));
    plan.offload = Offload::optimizer;
    Export const e = exported("deepspeed", "llama-3.2-1b", plan);
    CHECK(notes(e, "Adam's state only", "offload"));
    CHECK_FALSE(writes(e, "--cpu-optimizer"));
    plan.offload = Offload::none;
    plan.zero = 0;
    CHECK_FALSE(writes(exported("deepspeed", "llama-3.2-1b", plan), allowed));
}

TEST_CASE("DeepSpeed's buckets of gradients hold a layer, and a file that says nothing has DeepSpeed's own",
          "[export][import]") {
    ModelSpec const model = find_model("llama-3.1-8b");
    double const layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336.0 + 2 * 4096;
    Export const whole = exported("deepspeed", "llama-3.1-8b", {.dp = 8, .zero = 2});
    CHECK(writes(whole, fmt::format("\"reduce_bucket_size\": {:.0f}", layer)));
    CHECK(import_deepspeed(whole.files[0].text, whole.files[1].text, "x", model).framework == "deepspeed");
    CHECK_FALSE(writes(exported("deepspeed", "llama-3.1-8b", {.dp = 8}), "reduce_bucket_size"));
    auto const framework = [&](std::string const& zero) {
        return import_deepspeed(fmt::format(R"({{"bf16": {{"enabled": true}}, "zero_optimization": {{{}}}}})", zero),
                                "", "x", model)
            .framework;
    };
    auto const layers = [](double elements) { return fmt::format("deepspeed:reduce_bucket_layers={:.4g}", elements); };
    CHECK(framework(R"("stage": 2)") == layers(5e8 / layer));
    CHECK(framework(R"("stage": 3, "reduce_bucket_size": 2e8)") == layers(2e8 / layer));
    CHECK(framework(R"("stage": 2, "reduce_bucket_size": "auto")") == layers(4096 * 4096 / layer));
    CHECK(framework(R"("stage": 0)") == "deepspeed");
    CHECK_THROWS_WITH(framework(R"("stage": 2, "reduce_bucket_size": 0)"), contains("reduce_bucket_size"));
    CHECK_THROWS_WITH(framework(R"("stage": 2, "reduce_bucket_size": [])"), contains("is no number"));
}

TEST_CASE("what DeepSpeed's file says of how gradients are sent is read", "[import]") {
    auto const framework = [](std::string const& more, int cp = 1) {
        ForeignPlan const f = import_deepspeed(
            fmt::format(R"({{"bf16": {{"enabled": true}}, "sequence_parallel_size": {}, "zero_optimization":
                        {{"stage": 2, "reduce_bucket_size": 218112000, "use_multi_rank_bucket_allreduce": {}}}{}}})",
                        cp, more == "by rank" ? "false" : "true", more == "by rank" ? "" : more),
            "", "x", find_model("llama-3.1-8b"));
        CHECK(f.warnings.size() == 1);  // how the model is split
        return f.framework;
    };
    CHECK(framework("") == "deepspeed");
    CHECK(framework(R"(, "communication_data_type": "fp32")") == "deepspeed:gradient_bytes_sent=4");
    CHECK(framework(R"(, "communication_data_type": "bf16")") == "deepspeed");
    CHECK(framework(R"(, "seq_parallel_communication_data_type": "bf16")") == "deepspeed");
    CHECK(framework(R"(, "seq_parallel_communication_data_type": "bf16")", 2) == "deepspeed:cp_gradient_bytes_sent=2");
    CHECK(framework(R"(, "seq_parallel_communication_data_type": "fp32")", 2) == "deepspeed");
    CHECK(framework("by rank") == "deepspeed:all_reduces_gradients=0");
    ForeignPlan const unknown =
        import_deepspeed(R"({"communication_data_type": "int8"})", "", "x", find_model("llama-3.1-8b"));
    CHECK_THAT(unknown.warnings.front() + unknown.warnings.back(), contains("communication_data_type: 'int8'"));
}
