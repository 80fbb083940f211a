#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/exporters/exporter.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "planner/importers/shell_words.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <numeric>

using namespace sextant;
using Words = std::vector<std::string>;

namespace {

ModelSpec const& llama() {
    static ModelSpec const model = find_model("llama-2-7b");
    return model;
}

bool has(std::vector<std::string> const& list, std::string const& part) {
    return std::any_of(list.begin(), list.end(),
                       [&](auto const& text) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("words of a script are those that a shell would see", "[import]") {
    CHECK(shell_words("a 'b c' \"d e\" f\\ g # h\ni", "s") == Words{"a", "b c", "d e", "f g", "i"});
    CHECK(shell_words("TP=8\nrun --tp $TP --x=\"${TP}0\" $OTHER", "s") ==
          Words{"run", "--tp", "8", "--x=80", "$OTHER"});
    CHECK(shell_words("ARGS=\"--a 1 \\\n --b 2\"\nrun $ARGS \"$ARGS\"", "s") ==
          Words{"run", "--a", "1", "--b", "2", "--a 1  --b 2"});
    CHECK(shell_words("A=(--a 'x y'\n --b)\nA+=(--c)\nrun ${A[@]} \"${A[@]}\"", "s") ==
          Words{"run", "--a", "x", "y", "--b", "--c", "--a", "x y", "--b", "--c"});
    CHECK(shell_words("N=${M:-4}; run $N ${M:-5}", "s") == Words{"run", "4", "5"});
    CHECK(shell_words("run ''", "s") == Words{"run", ""});
    CHECK_THROWS_WITH(shell_words("a\n'b", "s.sh"), contains("s.sh: line 2"));
}

TEST_CASE("of a script with several launches the first is read, and values given twice are warned of", "[import]") {
    std::string const size =
        "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --swiglu --untie-embeddings-and-output-weights "
        "--bf16 "
        "--overlap-grad-reduce ";
    auto const megatron = [](std::string const& text) { return import_megatron(text, "t.sh", llama()); };
    ForeignPlan const two = megatron("torchrun --nproc_per_node 8 a.py " + size +
                                     "--tensor-model-parallel-size 4 2>&1 | tee log\n"
                                     "torchrun --nproc_per_node 8 b.py " +
                                     size + "--tensor-model-parallel-size 2 --micro-batch-size 16\n");
    CHECK(two.plan.tp == 4);
    CHECK(two.plan.micro_batch == 1);
    CHECK(has(two.warnings, "2 commands have --num-layers or --tensor-model-parallel-size; the first is read"));
    // Other programs are passed over; what stands in parentheses belongs to the command around it.
    ForeignPlan const one =
        megatron("mkdir --parents out; torchrun --nproc_per_node 8 --log-interval $(echo 8 | cat) a.py " + size +
                 "--micro-batch-size 2\npython eval.py --micro-batch-size 16\n");
    CHECK(one.plan.micro_batch == 2);
    CHECK(one.warnings.empty());
    // A list of arguments may have a line for each.
    CHECK(megatron("--num-layers 32\n--tensor-model-parallel-size 2\n--bf16\n").plan.tp == 2);

    ForeignPlan const twice = megatron("MBS=1\nif x; then MBS=4; fi\nARGS=\"" + size +
                                       "--micro-batch-size 1 --micro-batch-size $MBS --lr 1 --lr 2\"\n"
                                       "ARGS=\"$ARGS --tensor-model-parallel-size 2\"\nOTHER=1\nOTHER=2\n"
                                       "torchrun --nproc_per_node 8 a.py $ARGS\n");
    CHECK(twice.plan.micro_batch == 4);
    CHECK(twice.warnings == Words{"MBS: assigned several values; the last one before each use counts",
                                  "--micro-batch-size: given as 1 and as 4; the last one counts"});
}

TEST_CASE("a script without prediction modules has a model without them", "[import]") {
    ModelSpec const model = find_model("deepseek-v3");
    auto const modules = [&](std::string const& more) {
        return import_megatron("--num-layers 61 --bf16 " + more, "x", model).mtp_modules;
    };
    CHECK(modules("") == 0);
    CHECK(modules("--mtp-num-layers 0") == 0);
    CHECK_FALSE(modules("--mtp-num-layers 1"));
    CHECK_FALSE(import_megatron("--bf16", "x", llama()).mtp_modules);
    CHECK_FALSE(import_deepspeed("{}", "", "x", model).mtp_modules);  // which does not say
}

TEST_CASE("a Megatron-LM script without a layout has even stages, with prediction modules too", "[import]") {
    ModelSpec model = find_model("deepseek-v3");
    model.layers.pop_back();
    auto const stages = [&](std::string const& more) {
        return import_megatron("--num-layers 60 --bf16 --pipeline-model-parallel-size 4 " + more, "x", model)
            .plan.stage_layers;
    };
    using Layers = std::vector<std::int64_t>;
    CHECK(stages("--mtp-num-layers 1") == Layers{15, 15, 15, 15});
    CHECK(stages("--mtp-num-layers 0").empty());  // what a plan has that leaves them open
    CHECK(stages("--mtp-num-layers 1 --pipeline-model-parallel-layout 'Et*15|t*16|t*16|t*13mL'").empty());
    CHECK(stages("--mtp-num-layers 1 --pipeline-model-parallel-layout 'Et*16|t*16|t*16|t*12mL'") ==
          Layers{16, 16, 16, 12});
    CHECK(stages("--mtp-num-layers 0 --pipeline-model-parallel-layout 'Et*15|t*16|t*16|t*13L'") ==
          Layers{15, 16, 16, 13});
}

TEST_CASE("torchtitan spreads layers over stages with embedding and output as one each", "[import]") {
    using Layers = std::vector<std::int64_t>;
    auto const stages = [](std::string const& more) {
        return import_torchtitan("[parallelism]\npipeline_parallel_degree = 4\n" + more, "t.toml", llama())
            .plan.stage_layers;
    };
    CHECK(stages("") == Layers{8, 9, 8, 7});
    CHECK(stages("pipeline_parallel_schedule = \"Interleaved1F1B\"\n") == Layers{4, 5, 4, 4, 4, 4, 4, 3});
    CHECK(stages("pipeline_parallel_layers_per_stage = 9\n") == stages(""));  // 34 / 9 on 4 ranks: one each
    CHECK(stages("pipeline_parallel_first_stage_less_layers = 0\npipeline_parallel_last_stage_less_layers = 0\n")
              .empty());  // 8 each
    CHECK(stages("pipeline_parallel_last_stage_less_layers = 3\n") == Layers{8, 9, 9, 6});
    CHECK_THROWS_WITH(stages("pipeline_parallel_last_stage_less_layers = 30\n"), contains("32 layers on 4 stages"));
}

TEST_CASE("sections of DeepSpeed's file are read to their last key", "[import]") {
    ForeignPlan const f =
        import_deepspeed(R"({"bf16": {"enabled": true, "new": 1}, "tensor_parallel": {"autotp_size": 2,
        "tp_grain_size": 64, "fast": true}, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu",
        "pin_memory": true, "ratio": 0.5, "rate": 1}, "offload_param": {"device": "none", "x": 1}},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}, "y": 2},
        "activation_checkpointing": {"partition_activations": true, "number_checkpoints": 4, "profile": true, "z": 1}})",
                         "", "ds.json", llama());
    for (char const* const key :
         {"bf16.new: not known", "tensor_parallel.fast: not known", "offload_optimizer.ratio: counted as all",
          "offload_optimizer.rate: not known", "offload_param.x: not known", "optimizer.y: not known",
          "activation_checkpointing.partition_activations: ", "activation_checkpointing.number_checkpoints: ",
          "activation_checkpointing.z: not known"}) {
        INFO(key);
        CHECK(has(f.warnings, key));
    }
    CHECK(f.ignored == Words{"tensor_parallel.tp_grain_size", "optimizer.params",
                             "zero_optimization.offload_optimizer.pin_memory", "activation_checkpointing.profile"});
}

TEST_CASE("gradients that DeepSpeed adds up in fp32 are as wide as its optimizer holds them", "[import]") {
    auto const framework = [](std::string const& zero, std::string const& type, std::string const& half = "bf16") {
        ForeignPlan const f = import_deepspeed(fmt::format(R"({{"{}": {{"enabled": true}}, "zero_optimization":
            {{"stage": {}}}, "data_types": {{"grad_accum_dtype": "{}"}}}})",
                                                           half, zero, type),
                                               "", "ds.json", llama());
        CHECK_FALSE(has(f.warnings, "data_types"));
        return find_framework(f.framework, "test").memory.gradient_bytes.value;
    };
    CHECK(framework("2", "bf16") == 2);
    CHECK(framework("2", "fp32") == 4);
    CHECK(framework("3", "fp32") == 4);
    CHECK(framework("1", "fp32") == 6);
    CHECK(framework("2", "fp32", "fp16") == 2);  // which has figures of its own
    CHECK(has(import_deepspeed(R"({"data_types": {"x": 1}})", "", "x", llama()).warnings, "data_types.x: not known"));
}

TEST_CASE("units of several layers that run again are said to be counted one by one", "[import]") {
    auto const warnings = [](char const* layers) {
        return import_megatron(fmt::format("--bf16 --recompute-granularity full --recompute-method uniform "
                                           "--recompute-num-layers {}",
                                           layers),
                               "x", llama())
            .warnings;
    };
    CHECK_FALSE(has(warnings("1"), "--recompute-num-layers"));
    CHECK(has(warnings("4"), "has all 4 layers at once while it runs again"));
}

TEST_CASE("a Megatron-LM script gives its plan", "[import]") {
    ForeignPlan const f = import_megatron(R"(#!/bin/bash
GPUS=8
TP=4
DIST=(--nproc_per_node $GPUS --nnodes 4)
MODEL="--num-layers 32 --hidden-size 4096 --seq-length 4096"
torchrun ${DIST[@]} pretrain_gpt.py $MODEL --tensor-model-parallel-size $TP --sequence-parallel \
  --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 4 --micro-batch-size 2 \
  --global-batch-size 128 --bf16 --use-distributed-optimizer --overlap-grad-reduce --hidden-dropout 0 \
  --attention-dropout 0 --recompute-granularity full --recompute-method block --recompute-num-layers 1 \
  --log-interval 10 --tp-comm-overlap --my-own 3 --save "$UNKNOWN"
)",
                                          "train.sh", llama());
    CHECK(f.accelerators == 32);
    CHECK(f.plan.tp == 4);
    CHECK(f.plan.pp == 2);
    CHECK(f.plan.dp == 4);
    CHECK(f.plan.vpp == 4);
    CHECK(f.plan.schedule == Schedule::interleaved);
    CHECK(f.plan.recompute_layers == 4);
    CHECK(f.plan.zero == 1);
    CHECK(f.plan.dropout == Switch::off);
    CHECK(f.plan.precision == Precision::bf16);
    CHECK(f.global_batch == 128);
    CHECK(f.ignored == Words{"--log-interval", "--save"});
    CHECK(has(f.warnings, "--tp-comm-overlap"));
    CHECK(has(f.warnings, "--my-own: not known here"));
}

TEST_CASE("heads that Transformer Engine does not exchange are said to be counted otherwise", "[import]") {
    ModelSpec const grouped = find_model("llama-3.1-8b");  // eight key-value heads
    auto const warned = [&](std::string const& more) {
        return has(import_megatron("--bf16 --cp-comm-type a2a " + more, "x", grouped).warnings, "--cp-comm-type: a2a");
    };
    CHECK_FALSE(warned("--context-parallel-size 4"));
    CHECK_FALSE(warned("--context-parallel-size 4 --tensor-model-parallel-size 2"));
    CHECK(warned("--context-parallel-size 8 --tensor-model-parallel-size 2"));
}

TEST_CASE("modules whose input is offloaded are what they read", "[import]") {
    auto const megatron = [](std::string const& more) { return import_megatron("--bf16 " + more, "x", llama()); };
    ForeignPlan const some =
        megatron("--fine-grained-activation-offloading --offload-modules attn_norm core_attn expert_fc1");
    CHECK(some.plan.offload == Offload::activations);
    // The model has no experts.
    CHECK(some.plan.offloaded_activations == ActivationGroups{ActivationGroup::layer_input, ActivationGroup::qkv});
    ForeignPlan const both = megatron(
        "--optimizer-cpu-offload --use-distributed-optimizer --fine-grained-activation-offloading --offload-modules "
        "attn_proj mlp_norm mlp");
    CHECK(both.plan.offload == Offload::optimizer_and_activations);
    CHECK(both.plan.offloaded_activations ==
          ActivationGroups{ActivationGroup::context, ActivationGroup::attention_out});
    CHECK(has(both.warnings, "--offload-modules: what 'mlp' reads is counted as kept"));
    CHECK(megatron("--offload-modules core_attn").plan.offload == Offload::none);
    ForeignPlan const all = megatron("--cpu-offloading-num-layers 31");
    CHECK(all.plan.offloaded_activations == all_activations);
    CHECK(all.plan.offload_layers == 0);  // Megatron keeps the last of 32 here
    ForeignPlan const half = megatron("--cpu-offloading-num-layers 16");
    CHECK(half.plan.offload == Offload::activations);
    CHECK(half.plan.offload_layers == 16);
    CHECK_FALSE(has(half.warnings, "--cpu-offloading-num-layers"));
    CHECK(megatron("--cpu-offloading-num-layers 0").plan.offload == Offload::none);
}

TEST_CASE("inputs of activations in fp8 are read from Megatron's arguments", "[import]") {
    CHECK(import_megatron("--bf16 --activation-func-fp8-input-store", "x", llama()).plan.fp8_activation_input ==
          Switch::on);
    CHECK(import_megatron("--bf16", "x", llama()).plan.fp8_activation_input == Switch::off);
}

TEST_CASE("modules of selective recompute and the format of gradients are read", "[import]") {
    auto const megatron = [](std::string const& more) {
        return import_megatron("--bf16 --recompute-granularity selective " + more, "x", llama());
    };
    CHECK(megatron("").plan.recompute_modules == attention_core);
    CHECK(modules_text(megatron("--recompute-modules layernorm mlp --fp8-format hybrid").plan.recompute_modules) ==
          "layernorm,mlp");
    CHECK(modules_text(megatron("--recompute-modules core_attn mlp ${MORE[@]}").plan.recompute_modules) ==
          "core_attn,mlp");
    CHECK_THROWS_WITH(megatron("--recompute-modules"), contains("--recompute-modules: a value is missing"));
    CHECK_THROWS_WITH(megatron("--recompute-modules mlpp"), contains("unknown module 'mlpp'"));
    CHECK(megatron("").plan.gradients == GradientFormat::usual);
    CHECK(megatron("--grad-reduce-in-bf16").plan.gradients == GradientFormat::bf16);
    CHECK(import_megatron("--fp16 --grad-reduce-in-bf16", "x", llama()).plan.gradients == GradientFormat::usual);
    ForeignPlan const precise = megatron("--use-precision-aware-optimizer --main-grads-dtype bf16");
    CHECK(precise.plan.gradients == GradientFormat::bf16);
    CHECK_FALSE(has(precise.warnings, "--main-grads-dtype"));
    CHECK(megatron("--use-precision-aware-optimizer --main-grads-dtype fp32").plan.gradients == GradientFormat::usual);
    ForeignPlan const titan = import_torchtitan(
        "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n", "x.toml", llama());
    CHECK(titan.plan.recompute == Recompute::selective);
    CHECK(modules_text(titan.plan.recompute_modules) == "op");
}

TEST_CASE("weights in 16 bits beside fp8 have narrow copies, or the import says that they are not counted",
          "[import]") {
    auto const read = [](std::string const& more) {
        return import_megatron("--bf16 --overlap-grad-reduce " + more, "x", llama());
    };
    auto const copies = [&](std::string const& more) { return read(more).plan.narrow_copies == Switch::on; };
    CHECK(copies("--fp8-format hybrid"));
    CHECK(copies("--fp4-format e2m1"));
    CHECK_FALSE(copies("--fp8-format hybrid --fp8-param-gather"));
    CHECK_FALSE(copies("--fp4-format e2m1 --fp4-param-gather"));
    CHECK_FALSE(copies(""));
    auto const warns = [&](std::string const& more) {
        auto const warnings = read(more).warnings;
        return std::any_of(warnings.begin(), warnings.end(), [](std::string const& text) {
            return text.find("without --fp8-param-gather") != std::string::npos;
        });
    };
    std::string const sharded = "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params ";
    CHECK(warns(sharded + "--fp8-format hybrid"));
    CHECK_FALSE(copies(sharded + "--fp8-format hybrid"));
    CHECK_FALSE(warns(sharded + "--fp8-format hybrid --fp8-param-gather"));
    CHECK_FALSE(warns("--fp8-format hybrid"));
}

TEST_CASE("how fp8 is scaled is read and written", "[import][export]") {
    auto const megatron = [](std::string const& more) {
        return import_megatron("--bf16 --fp8-format e4m3 " + more, "x", llama()).plan.precision;
    };
    CHECK(megatron("") == Precision::fp8);
    CHECK(megatron("--fp8-recipe tensorwise") == Precision::fp8);
    CHECK(megatron("--fp8-recipe mxfp8") == Precision::mxfp8);
    CHECK(megatron("--fp8-recipe blockwise") == Precision::fp8_block);
    CHECK(import_torchtitan("[model]\nconverters = [\"quantize.linear.mx\"]\n", "x.toml", llama()).plan.precision ==
          Precision::mxfp8);
    auto const text = [](char const* format, Precision precision) {
        ParallelPlan plan{.dp = 8};
        plan.precision = precision;
        LaunchPlan const launch = make_launch_plan(llama(), find_cluster("b200-sxm", "--cluster"),
                                                   {.sequence = 4096, .global_batch = 64}, plan, {});
        std::string all;
        for (auto const& file : find_exporter(format, "--format").write(launch).files)
            all += file.text;
        return all;
    };
    CHECK_THAT(text("megatron", Precision::mxfp8), contains("--fp8-recipe mxfp8"));
    CHECK_THAT(text("megatron", Precision::fp8_block), contains("--fp8-recipe blockwise"));
    CHECK_THAT(text("nemo", Precision::mxfp8), contains("bf16_with_mxfp8_mixed()"));
    CHECK_THAT(text("nemo", Precision::fp8_block), contains("bf16_with_fp8_subchannel_scaling_mixed()"));
    CHECK_THAT(text("torchtitan", Precision::mxfp8), contains("quantize.linear.mx"));
    CHECK_THAT(text("torchtitan", Precision::fp8_block), contains("scales are of rows, not of blocks"));
}

TEST_CASE("Megatron's overlap of expert communication is a schedule, there and back", "[import][export]") {
    ModelSpec const model = find_model("mixtral-8x7b");
    auto const megatron = [&](std::string const& more) {
        return import_megatron("--bf16 --overlap-moe-expert-parallel-comm --expert-tensor-parallel-size 1 " + more, "x",
                               model);
    };
    CHECK(megatron("--expert-model-parallel-size 8").plan.schedule == Schedule::overlapped);
    std::string const staged = "--expert-model-parallel-size 8 --pipeline-model-parallel-size 4 ";
    CHECK(megatron(staged + "--num-virtual-stages-per-pipeline-rank 2").plan.schedule == Schedule::overlapped);
    ForeignPlan const without_chunks = megatron(staged);
    CHECK(without_chunks.plan.schedule == Schedule::one_f_one_b);
    CHECK(has(without_chunks.warnings, "--overlap-moe-expert-parallel-comm has no effect"));

    ParallelPlan plan{.dp = 8, .pp = 4, .ep = 8};
    plan.schedule = Schedule::overlapped;
    auto const written = [&](char const* format) {
        LaunchPlan const launch = make_launch_plan(model, find_cluster("h100-sxm", "--cluster"),
                                                   {.sequence = 4096, .global_batch = 128}, plan, {});
        return find_exporter(format, "--format").write(launch);
    };
    auto const says = [](Export const& exported, std::string_view words) {
        return std::any_of(exported.files.begin(), exported.files.end(),
                           [&](auto const& file) { return file.text.find(words) != std::string::npos; });
    };
    CHECK_FALSE(says(written("megatron"), "--overlap-moe-expert-parallel-comm"));  // no chunks
    CHECK(says(written("megatron"), "hides exchanges with"));
    plan.vpp = 2;
    CHECK(says(written("megatron"), "--overlap-moe-expert-parallel-comm"));
    CHECK(says(written("nemo"), "overlap_moe_expert_parallel_comm=True"));
    plan.recompute = Recompute::full;
    CHECK_FALSE(says(written("megatron"), "--overlap-moe-expert-parallel-comm"));
    CHECK(written("megatron").expressed.schedule == Schedule::interleaved);
}

TEST_CASE("what is wrong in a file of others is said with its name", "[import]") {
    auto const megatron = [](std::string const& text) { return import_megatron(text, "train.sh", llama()); };
    CHECK_THROWS_WITH(megatron(""), contains("no argument"));
    CHECK_THROWS_WITH(megatron("--tensor-model-parallel-size x"), contains("'x' is not a whole number"));
    CHECK_THROWS_WITH(megatron("--tensor-model-parallel-size 0"), contains("out of range"));
    CHECK_THROWS_WITH(megatron("--tensor-model-parallel-size $TP"), contains("the value of $TP"));
    CHECK_THROWS_WITH(megatron("--tensor-model-parallel-size"), contains("a value is missing"));
    CHECK_THROWS_WITH(megatron("--num-layers 80"), contains("80 layers, but llama-2-7b has 32"));
    CHECK_THROWS_WITH(megatron("--recompute-granularity some"), contains("full or selective"));
    CHECK_THROWS_WITH(megatron("--use-megatron-fsdp --data-parallel-sharding-strategy optin"),
                      contains("'optin' (no_shard, optim,"));
    CHECK_THAT(megatron("--nnodes 3 --tensor-model-parallel-size 2").no_accelerators, contains("no multiple"));
    CHECK_FALSE(megatron("--nnodes 3 --tensor-model-parallel-size 2").accelerators);
    CHECK_THROWS_WITH(megatron("--pipeline-model-parallel-layout 'E(t|*3'"), contains("without ')'"));
    CHECK_THROWS_WITH(megatron("--pipeline-model-parallel-layout 'Et*99999999999|L'"), contains("too long"));
    auto const deepspeed = [](std::string const& text) { return import_deepspeed(text, "", "ds.json", llama()); };
    CHECK_THROWS_AS(deepspeed("{"), InputError);
    CHECK_THROWS_WITH(deepspeed("[]"), contains("no object"));
    CHECK_THROWS_WITH(deepspeed(R"({"zero_optimization": {"stage": 4}})"), contains("stage: 4"));
    CHECK_THROWS_WITH(deepspeed(R"({"train_batch_size": -1})"), contains("train_batch_size"));
    CHECK_THROWS_WITH(deepspeed(R"({"train_batch_size": 10, "train_micro_batch_size_per_gpu": 3,
                                    "gradient_accumulation_steps": 1})"),
                      contains("no multiple"));
    CHECK_THROWS_WITH(deepspeed(R"({"train_batch_size": 1.5})"), contains("train_batch_size is no whole number"));
    CHECK_THROWS_WITH(deepspeed(R"({"train_batch_size": 99999999999999999999})"), contains("train_batch_size"));
    CHECK_THROWS_WITH(deepspeed(R"({"bf16": {"enabled": "yes"}})"), contains("bf16.enabled is neither true nor false"));
    CHECK_THROWS_WITH(deepspeed(R"({"zero_optimization": {"offload_optimizer": {"device": 1}}})"),
                      contains("zero_optimization.offload_optimizer.device is no text"));
    auto const titan = [](std::string const& text) { return import_torchtitan(text, "t.toml", llama()); };
    CHECK_THROWS_WITH(titan("a ="), contains("t.toml:1: "));
    CHECK_THROWS_WITH(titan("[parallelism]\ntensor_parallel_degree = \"8\""), contains("no whole number"));
    CHECK_THROWS_WITH(titan("[parallelism]\npipeline_parallel_schedule = \"X\""), contains("'X' is not known"));
    CHECK_THROWS_WITH(titan("[activation_checkpoint]\nselective_ac_option = \"0\""), contains("'op' or a number"));
    CHECK_THROWS_WITH(titan("[parallelism]\ntensor_parallel_degree = 0"), contains("0 is out of range"));
    CHECK_THROWS_WITH(titan("[parallelism]\ndata_parallel_shard_degree = 0"), contains("0 (-1, or at least 1)"));
    CHECK_THROWS_WITH(titan("[parallelism]\npipeline_parallel_schedule = 1"), contains("no text"));
    CHECK_THROWS_WITH(titan("[training]\nmixed_precision_param = \"int8\""), contains("bfloat16 or float32"));
}

TEST_CASE("stages of Megatron whose ends hold other numbers of layers are as it builds them", "[import]") {
    using Layers = std::vector<std::int64_t>;
    ModelSpec const model = llama();  // 32 layers
    auto const stages = [&](ModelSpec const& of, std::string const& text) {
        ForeignPlan const f = import_megatron(text, "train.sh", of);
        CHECK(f.warnings.size() == (f.plan.dp * f.plan.cp > 1 || !f.accelerators ? 1 : 0));  // no overlap of gradients
        if (!f.plan.stage_layers.empty())
            CHECK(std::accumulate(f.plan.stage_layers.begin(), f.plan.stage_layers.end(), std::int64_t{0}) ==
                  of.layer_count());
        return f.plan.stage_layers;
    };
    std::string const four = "--pipeline-model-parallel-size 4 ";
    CHECK(stages(model, four + "--decoder-first-pipeline-num-layers 5") == Layers{5, 9, 9, 9});
    CHECK(stages(model, four + "--decoder-first-pipeline-num-layers 6 --decoder-last-pipeline-num-layers 4") ==
          Layers{6, 11, 11, 4});
    CHECK(stages(model, four + "--decoder-last-pipeline-num-layers 2 --num-virtual-stages-per-pipeline-rank 2") ==
          Layers{5, 5, 5, 1, 5, 5, 5, 1});
    CHECK(stages(model, "--decoder-first-pipeline-num-layers 5").empty());  // no pipeline
    ModelSpec thirty = model;
    thirty.layers.resize(30);
    std::string const both = "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split ";
    // One short at either end is also what is usual here.
    CHECK(stages(thirty, four + both).empty());
    CHECK(stages(thirty, four + both + "--num-layers-per-virtual-pipeline-stage 4").empty());
    ModelSpec other = model;
    other.layers.resize(31);
    CHECK(stages(other, four + "--account-for-embedding-in-pipeline-split") == Layers{7, 8, 8, 8});
    CHECK(stages(other, four + "--account-for-loss-in-pipeline-split").empty());
    auto const refused = [&](std::string const& text) { return import_megatron(four + text, "train.sh", model); };
    CHECK_THROWS_WITH(refused("--decoder-first-pipeline-num-layers 6"), contains("26 cannot be spread evenly over 3"));
    CHECK_THROWS_WITH(refused("--decoder-first-pipeline-num-layers 40"), contains("spread evenly"));
    CHECK_THROWS_WITH(refused("--account-for-loss-in-pipeline-split"), contains("33 cannot be spread evenly over 4"));
    CHECK_THROWS_WITH(refused("--decoder-last-pipeline-num-layers 2 --num-virtual-stages-per-pipeline-rank 4"),
                      contains("10 of a stage are no multiple of 4 virtual stages"));
    CHECK_THROWS_WITH(refused("--decoder-last-pipeline-num-layers 2 --num-virtual-stages-per-pipeline-rank 60000"),
                      contains("fewer than 60000"));
    CHECK_THROWS_WITH(refused("--decoder-last-pipeline-num-layers 2 --account-for-loss-in-pipeline-split"),
                      contains("do not go with"));
    CHECK_THROWS_WITH(refused("--decoder-last-pipeline-num-layers 2 --num-layers-per-virtual-pipeline-stage 2"),
                      contains("--num-virtual-stages-per-pipeline-rank"));
    CHECK_THROWS_WITH(
        refused("--decoder-last-pipeline-num-layers 2 --pipeline-model-parallel-layout 'Et*8|(t*8|)*2t*8L'"),
        contains("leave them out"));
}

TEST_CASE("a DeepSpeed file as trainers write it gives what it says and no more", "[import]") {
    ForeignPlan const f = import_deepspeed(R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": 2,
        "bf16": {"enabled": true}, "fp16": {"enabled": false}, "zero_optimization": {"stage": 3,
        "offload_optimizer": {"device": "cpu"}, "stage3_max_live_parameters": 1e9, "zero_hpz_partition_size": 8},
        "new_key": 1})",
                                           "", "ds.json", llama());
    CHECK_FALSE(f.accelerators);
    CHECK_FALSE(f.global_batch);
    CHECK(f.plan.micro_batch == 2);
    CHECK(f.plan.zero == 3);
    CHECK(f.plan.offload == Offload::optimizer);
    CHECK(f.plan.precision == Precision::bf16);
    CHECK(f.ignored == Words{"zero_optimization.stage3_max_live_parameters"});
    CHECK(has(f.warnings, "zero_hpz_partition_size"));
    CHECK(has(f.warnings, "new_key: not known here"));
}

TEST_CASE("parameters in host memory come from DeepSpeed's offload_param and torchtitan's enable_cpu_offload",
          "[import]") {
    auto const deepspeed = [](std::string const& offload) {
        return import_deepspeed(R"({"zero_optimization": {"stage": 3, )" + offload + "}}", "", "ds.json", llama());
    };
    std::string const state = R"("offload_optimizer": {"device": "cpu"})";
    CHECK(deepspeed(state + R"(, "offload_param": {"device": "cpu", "pin_memory": true})").plan.offload ==
          Offload::parameters);
    CHECK(deepspeed(state + R"(, "offload_param": {"device": "none"})").plan.offload == Offload::optimizer);
    ForeignPlan const disk = deepspeed(state + R"(, "offload_param": {"device": "nvme", "nvme_path": "/x"})");
    CHECK(disk.plan.offload == Offload::parameters);
    CHECK(has(disk.warnings, "zero_optimization.offload_param: NVMe is counted as host memory"));
    CHECK_THROWS_WITH(deepspeed(R"("offload_param": {"device": "cpu"})"), contains("without offload_optimizer"));
    auto const torchtitan = [](std::string const& reshard) {
        return import_torchtitan("[training]\nenable_cpu_offload = true\n[parallelism]\n" + reshard, "t", llama());
    };
    CHECK(torchtitan("").plan.offload == Offload::parameters);
    ForeignPlan const kept = torchtitan("fsdp_reshard_after_forward = \"never\"\n");
    CHECK(kept.plan.offload == Offload::optimizer);
    CHECK(has(kept.warnings, "training.enable_cpu_offload: weights and gradients are counted on the accelerator"));
}

TEST_CASE("a misspelt name in a file of others is warned of with the one that it may be", "[import]") {
    CHECK(has(import_megatron("--tensor-model-parallel-siz 8", "a", llama()).warnings,
              "did you mean '--tensor-model-parallel-size'?"));
    CHECK(
        has(import_deepspeed(R"({"train_bach_size": 8, "zero_optimization": {"stag": 3}})", "", "d", llama()).warnings,
            "did you mean 'train_batch_size'?"));
    CHECK(has(import_torchtitan("[parallelism]\ntensor_parallel_degre = 8\n", "t", llama()).warnings,
              "did you mean 'parallelism.tensor_parallel_degree'?"));
}

TEST_CASE("a torchtitan file with nothing in it has torchtitan's defaults", "[import]") {
    ForeignPlan const f = import_torchtitan("", "t.toml", llama());
    CHECK_FALSE(f.accelerators);
    CHECK(f.sequence == 2048);
    CHECK(f.plan.micro_batch == 8);
    CHECK(f.plan.zero == 3);
    CHECK(f.plan.recompute == Recompute::full);  // every second layer
    CHECK(f.plan.recompute_layers == 16);
}

TEST_CASE("random bytes as a file of others end in a plan or in a refusal", "[import]") {
    std::mt19937_64 random(fixtures::seeded(11));
    std::vector<std::string> const seeds{
        "--tensor-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|(t*2|)*3tL' --cp-comm-type p2p ${A[@]} "
        "\"x",
        "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 5 --decoder-last-pipeline-num-layers 9 "
        "--num-virtual-stages-per-pipeline-rank 1",
        R"({"train_batch_size": 8, "zero_optimization": {"stage": 1}, "bf16": {"enabled": true}})",
        "[parallelism]\ntensor_parallel_degree = 2\nmodule_fqns_per_model_part = [[\"layers.0\"], []]\n"};
    int read = 0;
    for (int i = 0; i < 6000; ++i) {
        std::string text = seeds[random() % seeds.size()];
        for (std::size_t k = random() % 6; k > 0; --k)
            text[random() % text.size()] = static_cast<char>(random() % 2 == 0 ? random() % 128 : random() % 256);
        if (random() % 4 == 0) text.resize(random() % text.size());
        for (int format = 0; format < 3; ++format) {
            try {
                if (format == 0) static_cast<void>(import_megatron(text, "f", llama()));
                if (format == 1) static_cast<void>(import_deepspeed(text, text, "f", llama()));
                if (format == 2) static_cast<void>(import_torchtitan(text, "f", llama()));
                ++read;
            } catch (InputError const&) {
            }
        }
    }
    CHECK(read > 100);
}

TEST_CASE("adapters in a Megatron-LM script are warned of: every weight is counted as trained", "[import]") {
    ForeignPlan const f = import_megatron(
        "torchrun --nproc_per_node 8 train.py --num-layers 32 --hidden-size 4096 --seq-length 4096 --micro-batch-size "
        "1 "
        "--global-batch-size 8 --bf16 --lora-rank 16 --lora-target-modules linear_qkv --peft lora\n",
        "tune.sh", llama());
    CHECK_FALSE(f.plan.adapters.on());
    CHECK(f.warnings.size() >= 3);
    CHECK(has(f.warnings, "--lora-rank"));
    CHECK(has(f.warnings, "--lora-target-modules"));
    CHECK(has(f.warnings, "--peft"));
    CHECK(has(f.warnings, "every weight is counted as trained"));
}

TEST_CASE("NeMo's recipe has adapters on fused layers or on their parts, and says what it cannot", "[export]") {
    auto const exported = [](char const* targets, BaseWeights base, char const* model) {
        ParallelPlan plan;
        plan.adapters = {.rank = 8, .targets = adapter_targets_from(targets, "test"), .base = base};
        return find_exporter("nemo", "test")
            .write(make_launch_plan(find_model(model), find_cluster("h100-sxm", "test"),
                                    {.sequence = 1024, .global_batch = 8}, plan, {}));
    };
    auto const fields = [](Export const& e) {
        std::vector<std::string> names;
        for (NotExpressed const& n : e.not_expressed)
            names.push_back(n.field);
        return names;
    };
    Export const fused = exported("qkv,gate_up,down", BaseWeights::bf16, "llama-2-7b");
    CHECK(fused.files[0].text.find(
              "run.Config(LoRA, target_modules=[\"linear_qkv\", \"linear_fc1\", \"linear_fc2\"]") != std::string::npos);
    CHECK(fields(fused).empty());
    Export const mixed = exported("qkv,up", BaseWeights::nf4, "llama-2-7b");
    CHECK(mixed.files[0].text.find("CanonicalLoRA, target_modules=[\"linear_q\", \"linear_k\", \"linear_v\", "
                                   "\"linear_fc1_up\"]") != std::string::npos);
    CHECK(fields(mixed) == std::vector<std::string>{"base_weights", "lora_targets"});
    CHECK(targets_text(mixed.expressed.adapters.targets) == "q,k,v,up");
    CHECK(fields(exported("all", BaseWeights::bf16, "olmoe-1b-7b")).front() == "lora_targets");
}
