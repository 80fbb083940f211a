#include "tests/catch.hpp"
#include "tests/planner/exporters/exported.hpp"

using namespace sextant;
using namespace sextant::fixtures;

TEST_CASE("NeMo's recipe imports the precision plugin that it uses and no other", "[export]") {
    struct Row {
        Precision precision;
        char const* plugin;  ///< nullptr: none
    };
    // The functions of nemo/collections/llm/recipes/precision/mixed_precision.py in NeMo 2.5.
    for (Row const& row : {Row{Precision::bf16, "bf16_mixed"}, Row{Precision::fp16, "fp16_mixed"},
                           Row{Precision::fp8, "bf16_with_fp8_mixed"},
                           Row{Precision::fp8_block, "bf16_with_fp8_subchannel_scaling_mixed"},
                           Row{Precision::mxfp8, "bf16_with_mxfp8_mixed"}, Row{Precision::fp32, nullptr}}) {
        ParallelPlan plan{.dp = 8};
        plan.precision = row.precision;
        Export const e = exported("nemo", "llama-3.1-8b", plan);
        CAPTURE(name_of(row.precision));
        CHECK(writes(e, "mixed_precision import ") == (row.plugin != nullptr));
        if (row.plugin == nullptr) continue;
        CHECK(writes(e, std::string("mixed_precision import ") + row.plugin + "\n"));
        CHECK(writes(e, std::string("plugins=") + row.plugin + "(),"));
    }
    CHECK(std::string_view(find_exporter("nemo", "test").written) == "NeMo 2.5");
}

TEST_CASE("NeMo's strategy, which overwrites those of its ddp config, has the optimizer's instances", "[export]") {
    ParallelPlan plan{.dp = 8};
    plan.zero = 1;
    plan.shard_group = 2;
    Export const e = exported("nemo", "llama-3.1-8b", plan);
    std::string const& recipe = e.files.front().text;
    std::size_t const instances = recipe.find("    num_distributed_optimizer_instances=4,\n");
    REQUIRE(instances != std::string::npos);
    CHECK(instances < recipe.find("ddp=run.Config("));
}

TEST_CASE("NeMo's precision-aware optimizer is a distributed one, as Megatron-Core asks", "[export]") {
    ParallelPlan plan{.tp = 8};
    plan.optimizer = Optimizer::adamw_bf16;
    Export const moments = exported("nemo", "llama-3.1-8b", plan);
    plan.optimizer = Optimizer::adamw;
    Export const whole = exported("nemo", "llama-3.1-8b", plan);
    plan.offload = Offload::optimizer;
    Export const offloaded = exported("nemo", "llama-3.1-8b", plan);
    for (Export const* const e : {&moments, &offloaded}) {
        CHECK(writes(*e, "use_precision_aware_optimizer=True"));
        CHECK(writes(*e, "use_distributed_optimizer=True"));
        CHECK_FALSE(writes(*e, "use_distributed_optimizer=False"));  // of ddp and of the optimizer
    }
    CHECK_FALSE(writes(whole, "use_precision_aware_optimizer=True"));
    CHECK_FALSE(writes(whole, "use_distributed_optimizer=True"));
}

TEST_CASE("NeMo adds gradients up apart from their products under Megatron FSDP", "[export]") {
    for (int const zero : {0, 1, 2, 3}) {
        CAPTURE(zero);
        Export const e = exported("nemo", "llama-3.1-8b", {.dp = 8, .zero = zero});
        CHECK(writes(e, "fsdp=\"megatron\"") == (zero >= 2));
        CHECK(writes(e, "gradient_accumulation_fusion=False") == (zero >= 2));
    }
}

TEST_CASE("NeMo's router chooses from the groups that the model's does", "[export]") {
    Export const e = exported("nemo", "ling-flash-2.0", {.dp = 8, .ep = 8});
    MoeSpec const moe = *find_model("ling-flash-2.0").moe;
    CHECK(writes(e, "moe_router_num_groups=" + std::to_string(moe.groups) + ","));
    CHECK(writes(e, "moe_router_group_topk=" + std::to_string(moe.chosen_groups) + ","));
    CHECK_FALSE(writes(exported("nemo", "qwen3-30b-a3b", {.dp = 8, .ep = 8}), "moe_router_num_groups"));
}

TEST_CASE("NeMo sends between stages in the format of the model, and in none that the recipe lacks", "[export]") {
    ParallelPlan plan{.dp = 2, .pp = 4};
    for (auto const& [precision, type] :
         {std::pair{Precision::fp32, "torch.float32"}, std::pair{Precision::tf32, "torch.float32"},
          std::pair{Precision::fp16, "torch.float16"}, std::pair{Precision::bf16, "torch.bfloat16"},
          std::pair{Precision::fp8, "torch.bfloat16"}, std::pair{Precision::fp4, "torch.bfloat16"}}) {
        plan.precision = precision;
        CAPTURE(name_of(precision));
        Export const e = exported("nemo", "llama-3.1-8b", plan);
        CHECK(writes(e, std::string("pipeline_dtype=") + type + ","));
        // bf16, which fp4 becomes, has no narrow copies.
        CHECK((e.expressed.narrow_copies == Switch::on) == (precision == Precision::fp8));
    }
}

TEST_CASE("activations that a format does not offload are not in the plan that its files run", "[export]") {
    ParallelPlan plan{.dp = 8, .zero = 1};
    for (auto const& [planned, kept] : {std::pair{Offload::activations, Offload::none},
                                        std::pair{Offload::optimizer_and_activations, Offload::optimizer}}) {
        plan.offload = planned;
        for (char const* const format : {"nemo", "fsdp2", "torchtitan"}) {
            CAPTURE(format, name_of(planned));
            plan.zero = std::string_view(format) == "nemo" ? 1 : 3;
            Export const e = exported(format, "llama-3.1-8b", plan);
            // FSDP takes weights along.
            bool const all = kept == Offload::optimizer && std::string_view(format) != "nemo";
            CHECK(e.expressed.offload == (all ? Offload::parameters : kept));
            CHECK(notes(e, "moves weights and gradients to the host as well", "offload") == all);
            CHECK(notes(e, "activations are not offloaded", "offload"));
            CHECK(e.predictable);
        }
    }
}

TEST_CASE("fp8 that recomputes norms or the activations of experts is scaled by the values at hand", "[export]") {
    ParallelPlan plan{.dp = 8};
    plan.precision = Precision::fp8;
    plan.recompute = Recompute::selective;
    CHECK_FALSE(writes(exported("megatron", "llama-3.1-8b", plan), "--fp8-recipe"));
    CHECK(writes(exported("nemo", "llama-3.1-8b", plan), "plugins=bf16_with_fp8_mixed()"));
    plan.recompute_modules = {RecomputeModule::layernorm};
    CHECK(writes(exported("megatron", "llama-3.1-8b", plan), "--fp8-recipe tensorwise"));
    Export const nemo = exported("nemo", "llama-3.1-8b", plan);
    CHECK(writes(nemo, "plugins=bf16_with_fp8_current_scaling_mixed()"));
    CHECK(writes(nemo, "RECIPE.trainer.plugins.first_last_layers_bf16 = False"));
    plan.recompute_modules = {RecomputeModule::moe_act};
    CHECK(writes(exported("megatron", "mixtral-8x7b", plan), "--fp8-recipe tensorwise"));
}

TEST_CASE("NeMo's recipe asks for the kernels that Megatron-LM fuses by itself, as Megatron-Core takes them",
          "[export]") {
    struct Row {
        char const* model;
        bool activation, rotary;
    };
    for (Row const& row :
         {Row{"llama-3.1-8b", true, true}, Row{"gpt2", true, false}, Row{"mixtral-8x7b", true, true},
          Row{"deepseek-v2-lite", true, false}, Row{"gemma-7b", true, true}, Row{"falcon-7b", false, true}}) {
        CAPTURE(row.model);
        Export const e = exported("nemo", row.model);
        auto const says = [&](std::string const& name, bool value) {
            return writes(e, name + (value ? "=True,\n" : "=False,\n"));
        };
        CHECK(says("bias_activation_fusion", row.activation));
        CHECK(says("bias_dropout_fusion", true));
        CHECK(says("apply_rope_fusion", row.rotary));
    }
}

TEST_CASE("NeMo overlaps the transfers of several chunks, and starts with the queues that its overlap counts on",
          "[export]") {
    ParallelPlan plan{.dp = 2, .pp = 4};
    CHECK_FALSE(writes(exported("nemo", "llama-3.1-8b", plan), "overlap_p2p_comm"));
    CHECK_FALSE(writes(exported("nemo", "llama-3.1-8b", plan), "CUDA_DEVICE_MAX_CONNECTIONS"));
    plan.vpp = 2;
    plan.tp = 2;
    plan.schedule = Schedule::interleaved;
    Export const e = exported("nemo", "llama-3.1-8b", plan);
    CHECK(writes(e, "overlap_p2p_comm=True,\n        batch_p2p_comm=False,\n"));
    CHECK(writes(e, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"));
}
