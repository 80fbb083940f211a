#include "core/spec/hardware_catalog.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "tests/catch.hpp"
#include "tests/planner/exporters/exported.hpp"

using namespace sextant;
using namespace sextant::fixtures;

TEST_CASE("torchtitan is told of a backend of experts only where it is DeepEP", "[export]") {
    ParallelPlan plan{.dp = 8, .ep = 8};
    plan.zero = 3;
    CHECK_FALSE(writes(exported("torchtitan", "mixtral-8x7b", plan), "expert_parallel_comm_backend"));
    plan.dispatcher = Dispatcher::deduplicated;
    CHECK(writes(exported("torchtitan", "mixtral-8x7b", plan),
                 "expert_parallel_comm_backend = \"deepep\"  # torchtitan 0.2.1 or later\n"));
    plan.tp = plan.expert_tp = 2;
    Export const cut = exported("torchtitan", "mixtral-8x7b", plan);
    CHECK(notes(cut, "no DeepEP with tensor parallelism inside experts", "moe_dispatcher"));
    CHECK(cut.expressed.dispatcher == Dispatcher::all_to_all);
}

TEST_CASE("torchtitan has replicas that share nothing only without any other parallelism", "[export]") {
    auto const sharded = [](ParallelPlan const& plan, char const* model) {
        Export const e = exported("torchtitan", model, plan);
        CHECK(notes(e, "without any other parallelism", "zero") == (e.expressed.zero != 0));
        return e.expressed.zero;
    };
    CHECK(sharded({.dp = 8}, "llama-3.1-8b") == 0);
    CHECK(sharded({.dp = 4, .tp = 2}, "llama-3.1-8b") == 2);
    CHECK(sharded({.dp = 4, .pp = 2}, "llama-3.1-8b") == 1);
    CHECK(sharded({.dp = 8, .ep = 2}, "mixtral-8x7b") == 2);
    Export const split = exported("torchtitan", "llama-3.1-8b", {.dp = 4, .tp = 2});
    CHECK(writes(split, "data_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 4\n"));
}

TEST_CASE("torchtitan divides experts over whole parts of a shard group", "[export]") {
    ParallelPlan plan{.dp = 8, .ep = 8};
    plan.zero = 3;
    plan.shard_group = 4;
    Export const all = exported("torchtitan", "mixtral-8x7b", plan);
    CHECK(notes(all, "no multiple of ep 8", "shard_group"));
    CHECK(all.expressed.shard_group == 0);
    plan.ep = 4;
    CHECK_FALSE(notes(exported("torchtitan", "mixtral-8x7b", plan), "", "shard_group"));
    plan.ep = 8;
    plan.tp = 2;  // whose ranks hold whole experts: 4 x 2 of them
    CHECK_FALSE(notes(exported("torchtitan", "mixtral-8x7b", plan), "", "shard_group"));
}

TEST_CASE("torchtitan has all of the state in bf16, but reduces gradients in fp32", "[export][import]") {
    ParallelPlan plan{.dp = 8};
    CHECK_FALSE(writes(exported("torchtitan", "llama-3.1-8b", plan), "\ndtype = "));
    plan.optimizer = Optimizer::adamw_pure_bf16;
    Export const e = exported("torchtitan", "llama-3.1-8b", plan);
    CHECK(writes(e, "\ndtype = \"bfloat16\""));
    CHECK(notes(e, "FSDP2 sends them in fp32", "gradients"));
    CHECK(e.expressed.optimizer == Optimizer::adamw_pure_bf16);
    auto const read = [](std::string const& training) {
        return import_torchtitan("[training]\n" + training, "x", find_model("llama-3.1-8b")).plan.optimizer;
    };
    CHECK(read("dtype = \"bfloat16\"\n") == Optimizer::adamw_pure_bf16);
    CHECK(read("dtype = \"float32\"\n") == Optimizer::adamw);
    CHECK_THROWS_WITH(read("dtype = \"float16\"\n"), contains("training.dtype: 'float16'"));
    CHECK_THROWS_WITH(read("dtype = \"bfloat16\"\nmixed_precision_param = \"float32\"\n"),
                      contains("mixed_precision_param"));
}

TEST_CASE("torchtitan compiles the loss, which its memory counts on", "[export][import]") {
    ModelSpec const model = find_model("llama-3.1-8b");
    ParallelPlan plan{.dp = 8};
    Export const e = exported("torchtitan", "llama-3.1-8b", plan);
    CHECK(writes(e, "enable = true\ncomponents = [\"model\", \"loss\"]\n"));
    CHECK(notes(e, "the loss is compiled", "fused_cross_entropy"));
    CHECK_FALSE(notes(e, "", "loss_chunks"));
    plan.loss_chunks = 8;
    Export const chunked = exported("torchtitan", "llama-3.1-8b", plan);
    CHECK(notes(chunked, "ChunkedLossWrapper", "loss_chunks"));
    CHECK(chunked.expressed.loss_chunks == 1);
    plan.loss_chunks = 1;
    plan.fused_cross_entropy = Switch::on;
    CHECK_FALSE(notes(exported("torchtitan", "llama-3.1-8b", plan), "", "fused_cross_entropy"));
    auto const warned = [&](std::string const& compile) {
        ForeignPlan const f = import_torchtitan("[compile]\n" + compile, "x", model);
        CHECK((f.plan.fused_cross_entropy == Switch::off) == !f.warnings.empty());
        return !f.warnings.empty();
    };
    CHECK(warned("enable = false\n"));
    CHECK(warned("enable = true\ncomponents = [\"model\"]\n"));
    CHECK_FALSE(warned("enable = true\n"));
}

TEST_CASE("torchtitan without torch.compile has the memory of what runs op by op", "[import]") {
    ModelSpec const model = find_model("llama-3.1-8b");
    auto const memory = [&](std::string const& toml) {
        return find_framework(import_torchtitan(toml, "x", model).framework, "test").memory;
    };
    std::string const split = "[parallelism]\ntensor_parallel_degree = 2\n";
    FrameworkMemory const compiled = memory("[compile]\nenable = true\n");
    CHECK(compiled.logits_bytes.value == 4);
    CHECK(compiled.gated_extra_bytes.value == 0);
    FrameworkMemory const loss = memory("[compile]\nenable = true\ncomponents = [\"model\"]\n");
    CHECK(loss.logits_bytes.value == 12);
    CHECK(loss.gated_extra_bytes.value == 0);
    CHECK(memory(split + "[compile]\nenable = true\ncomponents = [\"model\"]\n").split_logits_bytes.value == 38);
    for (char const* const none : {"", "[compile]\nenable = false\n"}) {
        FrameworkMemory const eager = memory(none);
        CHECK(eager.logits_bytes.value == 12);
        CHECK(eager.gated_extra_bytes.value == 2);
        CHECK(eager.end_units.value == 1);
        CHECK(eager.norm_copy_bytes.value == 0);
        CHECK(memory(split + none).split_logits_bytes.value == 38);
    }
    std::string const layers = "[compile]\nenable = true\ncomponents = [\"loss\"]\n";
    CHECK(memory(layers).fused_logits_bytes.value == 4);
    CHECK(memory(layers).gated_extra_bytes.value == 2);
    CHECK(memory(split + layers).split_logits_bytes.value == 10);
}

TEST_CASE("torchtitan does not compile mxfp8 with tensor parallelism", "[export]") {
    auto const written = [](ParallelPlan plan, Precision precision) {
        plan.precision = precision;
        return exported(
            {.format = "torchtitan", .model = find_model("llama-3.1-8b"), .plan = plan, .cluster = "b200-sxm"});
    };
    CHECK(writes(written({.dp = 8}, Precision::mxfp8), "enable = true\ncomponents = [\"model\", \"loss\"]\n"));
    Export const split = written({.tp = 2}, Precision::mxfp8);
    CHECK(writes(split, "[compile]\nenable = true\ncomponents = [\"loss\"]\n"));
    CHECK(notes(split, "refuses to compile", "precision"));
    CHECK_FALSE(notes(written({.tp = 2}, Precision::fp8), "", "precision"));
}

TEST_CASE("torchtitan multiplies experts in the format of the plan, where it can", "[export][import]") {
    ModelSpec const mixtral = find_model("mixtral-8x7b");
    auto const written = [&](ParallelPlan plan, Precision precision) {
        plan.precision = precision;
        return exported({.format = "torchtitan", .model = mixtral, .plan = plan, .cluster = "b200-sxm"});
    };
    struct Row {
        Precision precision;
        std::string name;
    };
    for (Row const& row : {Row{Precision::fp8, "float8"}, Row{Precision::mxfp8, "mx"}}) {
        CAPTURE(row.name);
        Export const e = written({.dp = 8}, row.precision);
        CHECK(
            writes(e, "converters = [\"quantize.linear." + row.name + "\", \"quantize.grouped_mm." + row.name + "\"]"));
        CHECK(writes(e, "[quantize.grouped_mm." + row.name + "]\nfqns = [\"experts\"]\n"));
        CHECK_FALSE(notes(e, "", "precision"));
        ForeignPlan const back = import_torchtitan(e.files.front().text, "x", mixtral);
        CHECK(back.plan.precision == row.precision);
        CHECK(back.warnings.empty());
        Export const staged = written({.dp = 4, .pp = 2}, row.precision);
        bool const narrow = row.precision == Precision::mxfp8;
        CHECK(writes(staged, "grouped_mm") == narrow);
        CHECK(notes(staged, "here in bf16", "precision") != narrow);
    }
    CHECK_FALSE(writes(exported({.format = "torchtitan",
                                 .model = find_model("llama-3.1-8b"),
                                 .plan = {.dp = 8, .precision = Precision::fp8}}),
                       "grouped_mm"));
}

TEST_CASE("torchtitan's DualPipeV recomputes nothing with expert parallelism, and that is said", "[export]") {
    ParallelPlan plan{.dp = 4, .pp = 2, .ep = 4, .vpp = 2};
    plan.schedule = Schedule::dualpipe_v;
    CHECK_FALSE(notes(exported("torchtitan", "mixtral-8x7b", plan, 32), "DualPipeV", "recompute"));
    plan.recompute = Recompute::full;
    CHECK(notes(exported("torchtitan", "mixtral-8x7b", plan, 32), "DualPipeV", "recompute"));
    plan.ep = 1;
    CHECK_FALSE(notes(exported("torchtitan", "mixtral-8x7b", plan, 32), "DualPipeV", "recompute"));
}

TEST_CASE("torchtitan offloads what FSDP shards, and nothing without it", "[export]") {
    ParallelPlan plan;
    plan.offload = Offload::optimizer;
    auto const offloads = [&](char const* model) {
        Export const e = exported("torchtitan", model, plan);
        bool const on = writes(e, "enable_cpu_offload = true\n");
        CHECK((e.expressed.offload == Offload::optimizer) == on);
        CHECK(notes(e, "nothing is offloaded", "offload") != on);
        return on;
    };
    CHECK_FALSE(offloads("llama-3.2-1b"));
    plan.tp = 8;
    CHECK_FALSE(offloads("llama-3.2-1b"));
    plan = {.dp = 8, .offload = Offload::optimizer};
    CHECK_FALSE(offloads("llama-3.2-1b"));  // replicas
    plan.zero = 2;
    CHECK(offloads("llama-3.2-1b"));
    for (char const* const format : {"torchtitan", "fsdp2"}) {
        CHECK_FALSE(exported(format, "llama-3.2-1b", plan).predictable);
        ParallelPlan all{.dp = 8, .zero = 3, .offload = Offload::optimizer};
        Export const e = exported(format, "llama-3.2-1b", all);
        CHECK(e.expressed.offload == Offload::parameters);
        CHECK(notes(e, "moves weights and gradients to the host as well", "offload"));
        all.offload = Offload::parameters;
        Export const same = exported(format, "llama-3.2-1b", all);
        CHECK(same.expressed.offload == Offload::parameters);
        CHECK_FALSE(notes(same, "", "offload"));
        CHECK(same.predictable);
        CHECK(writes(same, std::string_view(format) == "fsdp2" ? "OFFLOAD = torch.bfloat16, True\n"
                                                               : "enable_cpu_offload = true\n"));
    }
    plan = {.cp = 2, .offload = Offload::optimizer};
    CHECK(offloads("llama-3.2-1b"));
    plan = {.tp = 2, .ep = 2, .offload = Offload::optimizer};
    CHECK(offloads("mixtral-8x7b"));
}

TEST_CASE("a torchtitan file for another of its models is refused", "[import]") {
    auto const read = [](char const* name, char const* flavor, char const* model) {
        return import_torchtitan(std::string("[model]\nname = \"") + name + "\"\nflavor = \"" + flavor + "\"\n",
                                 "t.toml", find_model(model));
    };
    CHECK_NOTHROW(read("llama3", "8B", "llama-3.1-8b"));
    CHECK_NOTHROW(read("deepseek_v3", "671B", "deepseek-v3"));
    CHECK_NOTHROW(read("qwen3", "30B-A3B", "qwen3-30b-a3b"));
    CHECK_THROWS_WITH(read("llama3", "70B", "llama-3.1-8b"),
                      contains("model.flavor: 70B: 80 layers, but llama-3.1-8b has 32 (--model has to name"));
    CHECK_THROWS_WITH(read("qwen3", "30B-A3B", "llama-3.1-8b"), contains("48 layers"));
    CHECK(read("llama3", "my_own", "llama-3.1-8b").ignored == std::vector<std::string>{"model.flavor"});
}

TEST_CASE("torchtitan's own models are called by its names, others are left to be filled in", "[export]") {
    ParallelPlan plan{.dp = 8};
    plan.zero = 3;
    auto const called = [&](char const* preset, std::string const& family, std::string const& flavor) {
        CAPTURE(preset);
        CHECK(writes(exported("torchtitan", preset, plan),
                     fmt::format("name = \"{}\"\nflavor = \"{}\"\n", family, flavor)));
    };
    called("llama-3.1-8b", "llama3", "8B");
    called("qwen3-30b-a3b-2507", "qwen3", "30B-A3B");
    called("deepseek-v3", "deepseek_v3", "671B");
    called("gpt-oss-20b", "gpt_oss", "20b");
    called("llama-3.2-1b", "REPLACE_WITH_MODEL_NAME", "REPLACE_WITH_MODEL_FLAVOR");
}

TEST_CASE("torchtitan does not compile layers where PyTorch's schedule refuses them, and says so", "[export]") {
    auto const in = [](Schedule schedule) {
        ParallelPlan const plan{.dp = 2, .pp = 2, .vpp = 2, .schedule = schedule};
        return exported("torchtitan", "llama-3.1-8b", plan);
    };
    for (Schedule const schedule : {Schedule::zb_v, Schedule::dualpipe_v}) {
        CHECK(writes(in(schedule), "components = [\"loss\"]\n"));
        CHECK(notes(in(schedule), "refuses compiled layers", "schedule"));
    }
    CHECK(writes(in(Schedule::interleaved), "components = [\"model\", \"loss\"]\n"));
    CHECK_FALSE(notes(in(Schedule::interleaved), "refuses compiled layers", "schedule"));
}

TEST_CASE("torchtitan 0.3 is configured by a module with the plan's degrees, loss and recompute", "[export]") {
    ParallelPlan plan{.dp = 4, .tp = 2, .pp = 2};
    plan.zero = 1;
    plan.loss_chunks = 8;
    plan.recompute = Recompute::full;
    Export const e = exported("torchtitan-0.3", "llama-3.1-8b", plan, 64);
    CHECK(writes(e, "from torchtitan.models.llama3 import model_registry\n"));
    CHECK(writes(e, "model_registry(\n        \"8B\",\n    )\n"));
    CHECK(writes(e, "ChunkedLossWrapper.Config(\n        num_chunks=8,\n"));
    CHECK_FALSE(notes(e, "", "loss_chunks"));
    CHECK(e.expressed.loss_chunks == 8);
    CHECK(writes(e, "data_parallel_replicate_degree=1,\n            data_parallel_shard_degree=4,\n"));
    CHECK(writes(e, "local_batch_size=16,\n            global_batch_size=64,\n"));
    CHECK(writes(e, "pipeline_parallel_schedule=\"1F1B\",\n            pipeline_parallel_microbatch_size=1,\n"));
    CHECK(writes(e, "[\"tok_embeddings\", *(f\"layers.{i}\" for i in range(0, 16))],\n"));
    CHECK(writes(e, "[*(f\"layers.{i}\" for i in range(16, 32)), \"norm\", \"lm_head\"],\n"));
    CHECK(writes(e, "activation_checkpoint=FullAC.Config(),\n"));
    CHECK(writes(e, "-m torchtitan.train --module torchtitan_config --config plan\n"));
    plan.loss_chunks = 1;
    plan.recompute = Recompute::none;
    Export const plain = exported("torchtitan-0.3", "llama-3.1-8b", plan, 64);
    CHECK(writes(plain, "    loss = CrossEntropyLoss.Config("));
    CHECK_FALSE(writes(plain, "ChunkedLossWrapper"));
    CHECK(writes(plain, "activation_checkpoint=None,\n"));
    CHECK(writes(exported("torchtitan-0.3", "llama-2-7b", plan, 64), "REPLACE_WITH_MODEL_FLAVOR"));
    CHECK(writes(exported("torchtitan-0.3", "llama-3.2-1b", plan, 64), "\"1B\""));
}

TEST_CASE("torchtitan 0.3 shards otherwise than 0.2 where it does", "[export]") {
    auto const both = [](char const* model, ParallelPlan const& plan) {
        return std::pair(exported("torchtitan", model, plan), exported("torchtitan-0.3", model, plan));
    };
    // Replicas beside other parallelism are FSDP's with one rank each.
    auto const [no_replicas, replicas] = both("llama-3.1-8b", {.dp = 4, .tp = 2});
    CHECK(no_replicas.expressed.zero == 2);
    CHECK(replicas.expressed.zero == 0);
    CHECK(writes(replicas, "data_parallel_replicate_degree=4,\n            data_parallel_shard_degree=1,\n"));
    Export const experts = exported("torchtitan-0.3", "mixtral-8x7b", {.dp = 8, .ep = 8});
    CHECK(notes(experts, "without expert parallelism", "zero"));

    ParallelPlan cut{.dp = 8, .tp = 2, .ep = 8};
    cut.zero = 3;
    cut.expert_tp = 2;
    auto const [inside, whole] = both("mixtral-8x7b", cut);
    CHECK(inside.expressed.expert_tp == 2);
    CHECK(whole.expressed.expert_tp == 1);
    CHECK(notes(whole, "whole experts", "expert_tp"));
    cut.dispatcher = Dispatcher::deduplicated;
    CHECK(writes(exported("torchtitan-0.3", "mixtral-8x7b", cut), "moe_comm_backend=\"deepep\""));

    ParallelPlan some{.dp = 8};
    some.zero = 3;
    some.recompute = Recompute::full;
    some.recompute_layers = 8;
    auto const [every_fourth, all] = both("llama-3.1-8b", some);
    CHECK(every_fourth.expressed.recompute_layers == 8);
    CHECK(all.expressed.recompute_layers == 0);
    CHECK(notes(all, "recomputes all layers or none", "recompute_layers"));
}

TEST_CASE("torchtitan 0.3 gathers keys and values, splits sequences or not, and has NVFP4", "[export]") {
    ParallelPlan around{.dp = 2, .cp = 4};
    around.zero = 3;
    Export const gathered = exported("torchtitan-0.3", "llama-3.1-8b", around);
    CHECK(notes(gathered, "gathers keys and values", "cp_mode"));
    CHECK(gathered.expressed.cp_mode == ContextParallel::all_gather);
    CHECK(writes(gathered, "attn_backend=\"flex\""));

    ParallelPlan split{.dp = 2, .tp = 4};
    split.zero = 3;
    for (Switch const on : {Switch::on, Switch::off}) {
        split.sequence_parallel = on;
        Export const e = exported("torchtitan-0.3", "llama-3.1-8b", split);
        CHECK_FALSE(notes(e, "", "sequence_parallel"));
        CHECK(writes(e, on == Switch::on ? "enable_sequence_parallel=True" : "enable_sequence_parallel=False"));
    }

    auto const narrow = [](char const* model, Precision precision) {
        return exported({.format = "torchtitan-0.3",
                         .model = find_model(model),
                         .plan = {.dp = 8, .precision = precision},
                         .cluster = "b200-sxm"});
    };
    CHECK(writes(narrow("llama-3.1-8b", Precision::fp4), "NVFP4LinearConverter.Config(fqns=[\"layers\"], "));
    CHECK(notes(narrow("mixtral-8x7b", Precision::fp4), "experts in NVFP4", "precision"));
    CHECK(writes(narrow("mixtral-8x7b", Precision::mxfp8), "MXFP8GroupedExpertsConverter.Config("));
    CHECK(writes(narrow("mixtral-8x7b", Precision::fp8), "Float8GroupedExpertsConverter.Config("));
    CHECK_FALSE(writes(narrow("llama-3.1-8b", Precision::bf16), "converters"));
}
