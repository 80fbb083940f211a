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
