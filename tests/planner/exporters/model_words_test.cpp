#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/planner/exporters/exported.hpp"

using namespace sextant;
using namespace sextant::fixtures;

TEST_CASE("the activation is the model's, or is said to be another", "[export]") {
    for (char const* const format : {"megatron", "deepspeed"}) {
        CAPTURE(format);
        CHECK(writes(exported(format, "llama-2-7b"), "--swiglu"));
        CHECK(writes(exported(format, "nemotron-4-15b"), "--squared-relu"));
        Export const geglu = exported(format, "gemma-2b");
        CHECK(writes(geglu, "--swiglu"));  // the same shapes
        CHECK(notes(geglu, "GELU within a gate"));
        CHECK(notes(exported(format, "opt-6.7b"), "ReLU (the file has GELU"));
        CHECK_FALSE(notes(exported(format, "gpt2"), ""));
    }
    CHECK(writes(exported("nemo", "llama-2-7b"), "activation_func=torch.nn.functional.silu"));
    CHECK(writes(exported("nemo", "gemma-2b"), "activation_func=torch.nn.functional.gelu"));
    CHECK(writes(exported("nemo", "opt-6.7b"), "activation_func=torch.nn.functional.relu"));
    CHECK(writes(exported("nemo", "nemotron-4-15b"), "import squared_relu"));
    CHECK_FALSE(writes(exported("nemo", "llama-2-7b"), "squared_relu"));
    CHECK(notes(exported("nemo", "gpt-oss-20b"), "activation function"));
}

TEST_CASE("Megatron-DeepSpeed gets the interval, the width and the heads of a model, or says that it cannot",
          "[export]") {
    Export const mixtral = exported("deepspeed", "mixtral-8x7b");
    CHECK(writes(mixtral, "--expert-interval 1"));
    CHECK_FALSE(notes(mixtral, ""));
    CHECK(writes(exported("deepspeed", "qwen3-30b-a3b"), "--ffn-hidden-size 768"));
    Export const dense_first = exported("deepspeed", "deepseek-v2-lite");
    CHECK(notes(dense_first, "every n-th layer"));
    CHECK(notes(dense_first, "one feed-forward width"));
    CHECK(writes(exported("deepspeed", "gemma-7b"), "--kv-channels 256"));
    CHECK(notes(exported("deepspeed", "qwen2.5-7b"), "queries, keys and values"));
    CHECK(notes(exported("deepspeed", "gpt-oss-20b"), "sinks"));
    CHECK(notes(exported("deepspeed", "deepseek-v3"), "multi-token prediction"));
}

TEST_CASE("what no Megatron has words for is said by every exporter of its line", "[export]") {
    for (char const* const format : {"megatron", "deepspeed", "nemo"}) {
        CAPTURE(format);
        CHECK(notes(exported(format, "bloom-7b1"), "ALiBi"));
        CHECK(notes(exported(format, "bloom-7b1"), "a norm after the embedding"));
        CHECK(notes(exported(format, "falcon-7b"), "in parallel"));
        CHECK(notes(exported(format, "gemma-2-9b"), "norms after"));
        CHECK(notes(exported(format, "olmoe-1b-7b"), "over all heads"));
        CHECK_FALSE(notes(exported(format, "llama-3.1-8b"), ""));
    }
}

TEST_CASE("NeMo's recipe has the norms of queries and keys and the layers with experts", "[export]") {
    CHECK(writes(exported("nemo", "qwen3-30b-a3b"), "qk_layernorm=True"));
    CHECK(writes(exported("nemo", "deepseek-v2-lite"), "moe_layer_freq=[0,1,"));
    CHECK_FALSE(writes(exported("nemo", "mixtral-8x7b"), "moe_layer_freq"));
    CHECK(notes(exported("nemo", "gpt-oss-20b"), "sliding window"));
    CHECK(writes(exported("nemo", "bloom-7b1"), "position_embedding_type=\"none\""));
}

TEST_CASE("routers whose scores are corrected, or Llama 4's, score by sigmoid", "[export]") {
    for (char const* const model : {"deepseek-v3", "glm-4.5", "llama-4-scout-17b-16e"}) {
        CAPTURE(model);
        Export const megatron = exported("megatron", model);
        CHECK(writes(megatron, "--moe-router-score-function sigmoid"));
        CHECK_FALSE(writes(megatron, "--moe-router-pre-softmax"));
        Export const nemo = exported("nemo", model);
        CHECK(writes(nemo, "moe_router_score_function=\"sigmoid\""));
        CHECK_FALSE(writes(nemo, "moe_router_pre_softmax"));
    }
    for (char const* const format : {"megatron", "nemo"}) {
        CAPTURE(format);
        CHECK(notes(exported(format, "ernie-4.5-21b-a3b"), "the scores of a softmax"));
        CHECK_FALSE(notes(exported(format, "deepseek-v3"), "the scores of a softmax"));
    }
}

TEST_CASE("a softmax of which one expert is taken comes before the choice", "[export]") {
    ModelSpec one = find_model("mixtral-8x7b");
    one.moe->top_k = 1;
    CHECK(writes(exported({.format = "megatron", .model = one}), "--moe-router-pre-softmax"));
    CHECK(writes(exported({.format = "nemo", .model = one}), "moe_router_pre_softmax=True"));
    for (char const* const format : {"megatron", "nemo"}) {
        CAPTURE(format);
        Export const two = exported(format, "mixtral-8x7b");
        CHECK_FALSE(writes(two, "softmax=True"));
        CHECK_FALSE(writes(two, "pre-softmax"));
        CHECK_FALSE(writes(two, "sigmoid"));
    }
}

TEST_CASE("Megatron-LM is asked for the norms of the latents", "[export]") {
    for (char const* const model : {"deepseek-v2-lite", "deepseek-v3"})
        CHECK(writes(exported("megatron", model), "--qk-layernorm"));
    CHECK_FALSE(writes(exported("megatron", "llama-2-7b"), "--qk-layernorm"));
}

TEST_CASE("DeepSpeed has experts neither with ZeRO 3 nor in a pipeline", "[export]") {
    ParallelPlan sharded;
    sharded.dp = 8;
    sharded.zero = 3;
    Export const experts = exported("deepspeed", "mixtral-8x7b", sharded);
    CHECK(notes(experts, "refuses experts with ZeRO 3", "zero"));
    CHECK(experts.expressed.zero == 2);
    CHECK(writes(experts, "--zero-stage 2"));
    Export const dense = exported("deepspeed", "llama-3.1-8b", sharded);
    CHECK_FALSE(notes(dense, "", "zero"));
    CHECK(dense.expressed.zero == 3);

    ParallelPlan staged;
    staged.dp = 4;
    staged.pp = 2;
    CHECK(notes(exported("deepspeed", "mixtral-8x7b", staged), "experts in a pipeline", "pp"));
    CHECK_FALSE(notes(exported("deepspeed", "llama-3.1-8b", staged), "", "pp"));
}

TEST_CASE("fsdp2 reduces the gradients of every microbatch with ZeRO 2 and 3", "[export]") {
    for (int const zero : {0, 1, 2, 3}) {
        CAPTURE(zero);
        ParallelPlan plan;
        plan.dp = 4;
        plan.zero = zero;
        Export const e = exported("fsdp2", "llama-3.2-1b", plan, 16);
        CHECK(writes(e, zero >= 2 ? "REDUCE_EVERY_MICROBATCH = True\n" : "REDUCE_EVERY_MICROBATCH = False\n"));
        CHECK(writes(e, "set_requires_gradient_sync(REDUCE_EVERY_MICROBATCH or index + 1 == ACCUMULATION_STEPS)"));
        CHECK(writes(e, "ACCUMULATION_STEPS = 4\n"));
        CHECK(notes(e, "gradients stay whole", "zero") == (zero == 1));
        CHECK(e.expressed.zero == zero);
    }
}

TEST_CASE("fsdp2 reduces gradients in fp32, or in bf16 where the plan does", "[export]") {
    ParallelPlan plan{.dp = 8, .zero = 3};
    CHECK(writes(exported("fsdp2", "llama-3.2-1b", plan), "REDUCED = torch.float32"));
    plan.gradients = GradientFormat::bf16;
    Export const narrow = exported("fsdp2", "llama-3.2-1b", plan);
    CHECK(writes(narrow, "REDUCED = torch.bfloat16"));
    CHECK(writes(narrow, "STATE = torch.float32"));
    CHECK(writes(narrow, "MixedPrecisionPolicy(param_dtype=PARAMETERS, reduce_dtype=REDUCED)"));
    CHECK_FALSE(notes(narrow, "", "gradients"));
    CHECK(narrow.expressed.gradients == GradientFormat::bf16);
}

TEST_CASE("fsdp2 and MaxText have all of the state in bf16 where the plan has", "[export]") {
    ParallelPlan plan{.dp = 8};
    plan.zero = 3;
    CHECK(writes(exported("fsdp2", "llama-3.2-1b", plan), "STATE = torch.float32"));
    CHECK_FALSE(writes(exported("maxtext", "llama-3.2-1b", plan), "weight_dtype"));
    plan.optimizer = Optimizer::adamw_pure_bf16;
    Export const fsdp2 = exported("fsdp2", "llama-3.2-1b", plan);
    CHECK(writes(fsdp2, "STATE = torch.bfloat16"));
    CHECK_FALSE(notes(fsdp2, "", "optimizer"));
    Export const maxtext = exported("maxtext", "llama-3.2-1b", plan);
    CHECK(writes(maxtext, "weight_dtype: \"bfloat16\""));
    CHECK_FALSE(notes(maxtext, "", "optimizer"));
    for (Export const& e : {fsdp2, maxtext}) {
        CHECK_FALSE(notes(e, "", "gradients"));
        CHECK(e.expressed.optimizer == Optimizer::adamw_pure_bf16);
    }
}

TEST_CASE("fsdp2 scales the loss in fp16 and nowhere else", "[export]") {
    for (Precision const precision : {Precision::fp16, Precision::bf16, Precision::fp32}) {
        ParallelPlan plan;
        plan.precision = precision;
        Export const e = exported("fsdp2", "llama-3.2-1b", plan);
        CAPTURE(name_of(precision));
        CHECK(writes(e, precision == Precision::fp16 ? "GradScaler(\"cuda\", enabled=True)\n"
                                                     : "GradScaler(\"cuda\", enabled=False)\n"));
        CHECK(writes(e,
                     "SCALER.scale(loss_of(model, next(batches)) / ACCUMULATION_STEPS).backward()\n"
                     "    SCALER.step(optimizer)\n    SCALER.update()\n"));
    }
}

TEST_CASE("fsdp2 counts the ranks of a pipeline it does not have as data-parallel", "[export]") {
    ParallelPlan plan;
    plan.dp = 2;
    plan.pp = 2;
    Export const even = exported("fsdp2", "llama-3.2-1b", plan, 16);
    CHECK(writes(even, "GLOBAL_BATCH = 16\nMICRO_BATCH = 1\nACCUMULATION_STEPS = 4\n"));
    CHECK(notes(even, "data-parallel", "pp"));
    CHECK_FALSE(notes(even, "", "global_batch"));
    Export const uneven = exported("fsdp2", "llama-3.2-1b", plan, 6);
    CHECK(writes(uneven, "GLOBAL_BATCH = 4\nMICRO_BATCH = 1\nACCUMULATION_STEPS = 1\n"));
    CHECK(notes(uneven, "a step of the file trains 4 sequences", "global_batch"));
    plan.dp = 4;
    Export const few = exported("fsdp2", "llama-3.2-1b", plan, 4);
    CHECK(writes(few, "ACCUMULATION_STEPS = 1\n"));
    CHECK(notes(few, "a step of the file trains 8 sequences", "global_batch"));

    ParallelPlan split;
    split.dp = 2;
    split.tp = 2;
    split.cp = 2;
    CHECK(writes(exported("fsdp2", "llama-3.2-1b", split, 8), "ACCUMULATION_STEPS = 4\n"));
}

TEST_CASE("fsdp2 recomputes the layers that all stages of the plan recompute", "[export]") {
    ParallelPlan plan{.dp = 2, .pp = 4};
    auto const recomputed = [&](std::int64_t layers, ParallelPlan const& p) {
        Export const e = exported("fsdp2", "llama-3.1-8b", p, 16);
        CHECK(e.expressed.recompute_layers == (layers == 32 ? 0 : layers));
        return writes(e, "RECOMPUTED_LAYERS = " + std::to_string(layers) + "\n");
    };
    plan.recompute = Recompute::full;
    CHECK(recomputed(32, plan));
    plan.recompute_layers = 4;
    CHECK(recomputed(16, plan));
    plan.schedule = Schedule::dualpipe;  // each layer on two ranks
    CHECK(recomputed(8, plan));
    plan.schedule = Schedule::one_f_one_b;
    plan.stage_layers = {2, 10, 10, 10};
    CHECK(recomputed(14, plan));
    plan = {.dp = 8, .recompute = Recompute::full};
    plan.recompute_layers = 4;
    CHECK(recomputed(4, plan));
}

TEST_CASE("fsdp2's tensor-parallel plan has embedding, last norm and head", "[export]") {
    ParallelPlan plan;
    plan.tp = 2;
    Export const e = exported("fsdp2", "llama-3.2-1b", plan);
    CHECK(writes(e, "\"model.embed_tokens\": RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate())"));
    CHECK(writes(e, "\"model.norm\": SequenceParallel()"));
    CHECK(writes(e,
                 "\"lm_head\": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), "
                 "use_local_output=False)"));
    CHECK(writes(e, "        with loss_parallel() if TENSOR > 1 else nullcontext():\n            SCALER.scale("));
    CHECK(writes(e, "    if TENSOR > 1:\n        split_ends(model, layers, mesh)\n"));
    CHECK(writes(e, "TIED_EMBEDDINGS = True\n"));
    CHECK(writes(exported("fsdp2", "llama-3.1-8b", plan), "TIED_EMBEDDINGS = False\n"));
}

TEST_CASE("fsdp2 says what its tensor-parallel plan leaves whole or stops at", "[export]") {
    ParallelPlan plan;
    plan.tp = 2;
    for (char const* const model : {"llama-3.1-8b", "qwen3-8b", "gemma-3-4b", "olmo-2-7b"}) {
        CAPTURE(model);
        CHECK_FALSE(notes(exported("fsdp2", model, plan), "", "tp"));
        CHECK_FALSE(notes(exported("fsdp2", model, plan), "", "model"));
    }
    CHECK(notes(exported("fsdp2", "qwen3-30b-a3b", plan), "not the experts", "tp"));
    CHECK(notes(exported("fsdp2", "deepseek-v2-lite", plan), "latent attention", "model"));
    CHECK(notes(exported("fsdp2", "gpt-oss-20b", plan), "sinks", "model"));
    ParallelPlan wide;
    wide.tp = 8;
    CHECK(notes(exported("fsdp2", "gemma-3-4b", wide), "no multiple of tp 8", "tp"));
    wide.tp = 1;
    CHECK_FALSE(notes(exported("fsdp2", "qwen3-30b-a3b", wide), "", "tp"));
}

TEST_CASE(
    "interleaved chunks take as many microbatches in a row as Megatron-Core allows where stages do not divide them",
    "[export]") {
    auto const interleaved = [](char const* format, std::int64_t stages, std::int64_t microbatches) {
        ParallelPlan plan;
        plan.pp = stages;
        plan.vpp = 2;
        plan.schedule = Schedule::interleaved;
        return exported(format, "llama-3.1-8b", plan, microbatches);
    };
    std::string const flag = "--microbatch-group-size-per-virtual-pipeline-stage ";
    CHECK(writes(interleaved("megatron", 4, 7), flag + "7"));  // 5 would leave 2, 6 leave 1: fewer than stages
    CHECK_FALSE(notes(interleaved("megatron", 4, 7), "", "micro_batch"));
    CHECK(writes(interleaved("megatron", 2, 7), flag + "4"));  // 4 and 3, where the plan has 3, 2 and 2
    CHECK(notes(interleaved("megatron", 2, 7), "more activations are held", "micro_batch"));
    CHECK_FALSE(writes(interleaved("megatron", 4, 8), flag));
    CHECK(notes(interleaved("megatron", 4, 3), "refuses 3", "micro_batch"));
    CHECK(writes(interleaved("nemo", 4, 7), "microbatch_group_size_per_vp_stage=7"));
}

TEST_CASE("files for machines that a framework does not run on say so", "[export]") {
    struct Row {
        char const* format;
        char const* cluster;
        bool runs;
    };
    for (Row const& row :
         {Row{"megatron", "h100-sxm", true}, Row{"megatron", "mi300x", true}, Row{"megatron", "tpu-v5p", false},
          Row{"deepspeed", "gaudi3", true}, Row{"torchtitan", "trainium2", false}, Row{"fsdp2", "gaudi3", false},
          Row{"nemo", "mi300x", false}, Row{"maxtext", "tpu-v5p", true}, Row{"maxtext", "h100-sxm", true},
          Row{"maxtext", "gaudi3", false}}) {
        CAPTURE(row.format, row.cluster);
        Export const e = exported({.format = row.format, .model = find_model("llama-3.1-8b"), .cluster = row.cluster});
        CHECK(notes(e, "do not start on", "accelerator") == !row.runs);
        CHECK(writes(e, "# - accelerator: ") == !row.runs);
    }
}
