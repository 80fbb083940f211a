#include "planner/exporters/job_files.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "tests/catch.hpp"
#include "tests/planner/exporters/exported.hpp"

using namespace sextant;
using namespace sextant::fixtures;

namespace {

bool all_note(ParallelPlan const& plan, char const* model, std::string const& part, std::string const& field) {
    return notes(exported("megatron", model, plan), part, field) && notes(exported("nemo", model, plan), part, field);
}

}  // namespace

TEST_CASE("positions are as many as the sequence needs", "[export]") {
    for (char const* const format : {"megatron", "deepspeed"}) {
        CAPTURE(format);
        auto const written = [&](char const* model, std::int64_t sequence) {
            return exported({.format = format, .model = find_model(model), .sequence = sequence});
        };
        CHECK(writes(written("llama-2-7b", 2048), "--max-position-embeddings 4096\n"));
        CHECK(writes(written("llama-2-7b", 16384), "--max-position-embeddings 16384\n"));
        CHECK(writes(written("gpt2", 512), "--max-position-embeddings 1024\n"));
    }
}

TEST_CASE("activations of some layers are offloaded by Megatron-LM alone", "[export]") {
    ParallelPlan plan;
    plan.offload = Offload::activations;
    CHECK(writes(exported("megatron", "llama-3.1-8b", plan), "--cpu-offloading-num-layers 31\n"));
    plan.offload_layers = 12;
    Export const some = exported("megatron", "llama-3.1-8b", plan);
    CHECK(writes(some, "--cpu-offloading-num-layers 12\n"));
    CHECK(some.expressed.offload_layers == 12);
    CHECK_FALSE(notes(some, "", "offload_layers"));
    plan.recompute = Recompute::full;
    Export const all = exported("deepspeed", "llama-3.1-8b", plan);
    CHECK(notes(all, "and not those of 12", "offload_layers"));
    CHECK(all.expressed.offload_layers == 0);
    CHECK(notes(exported("maxtext", "llama-3.1-8b", plan), "and not those of 12", "offload_layers"));
}

TEST_CASE("inputs of activations in fp8 are Megatron-LM's and NeMo's, of SwiGLU", "[export]") {
    ParallelPlan plan;
    plan.fp8_activation_input = Switch::on;
    Export const llama = exported("megatron", "llama-3.1-8b", plan);
    CHECK(writes(llama, "--activation-func-fp8-input-store\n"));
    CHECK(notes(llama, "refuse --activation-func-fp8-input-store", "fp8_activation_input"));
    CHECK(writes(exported("nemo", "llama-3.1-8b", plan), "activation_func_fp8_input_store=True"));
    CHECK(exported("megatron", "gemma-2-9b", plan).expressed.fp8_activation_input == Switch::off);  // GeGLU
    for (char const* const format : {"deepspeed", "maxtext", "torchtitan", "fsdp2"}) {
        Export const other = exported(format, "llama-3.1-8b", plan);
        CHECK(notes(other, "kept as it is", "fp8_activation_input"));
        CHECK(other.expressed.fp8_activation_input == Switch::off);
    }
}

TEST_CASE("Megatron-Core chooses the kernel itself for sinks and latent attention", "[export]") {
    CHECK(writes(exported("megatron", "llama-3.1-8b"), "--attention-backend flash\n"));
    CHECK(writes(exported("megatron", "gpt-oss-20b"), "--attention-backend auto\n"));
    CHECK(writes(exported("megatron", "deepseek-v3"), "--attention-backend auto\n"));
    CHECK(writes(exported("nemo", "llama-3.1-8b"), "AttnBackend.flash"));
    CHECK(writes(exported("nemo", "deepseek-v3"), "AttnBackend.auto"));
    ParallelPlan unfused;
    unfused.attention = AttentionKernel::unfused;
    CHECK(writes(exported("megatron", "deepseek-v3", unfused), "--attention-backend unfused\n"));
}

TEST_CASE("attention is not fused in 32 bits or before Ampere, and context parallelism is with fused attention only",
          "[export]") {
    for (char const* const format : {"megatron", "nemo"}) {
        CAPTURE(format);
        auto const written = [&](ParallelPlan const& plan, char const* cluster) {
            return exported({.format = format, .model = find_model("llama-3.2-1b"), .plan = plan, .cluster = cluster});
        };
        ParallelPlan half{.dp = 2};
        half.precision = Precision::fp16;
        Export const old = written(half, "v100-sxm");
        CHECK(notes(old, "before Ampere", "attention"));
        CHECK(old.expressed.attention == AttentionKernel::unfused);
        CHECK_FALSE(notes(written(half, "a100-sxm"), "", "attention"));
        ParallelPlan wide = half;
        wide.precision = Precision::fp32;
        CHECK(notes(written(wide, "h100-sxm"), "in 32 bits", "attention"));
        wide.cp = 2;
        CHECK(notes(written(wide, "h100-sxm"), "will not start", "cp"));
        ParallelPlan split{.cp = 2};
        split.attention = AttentionKernel::eager;
        Export const fused = written(split, "h100-sxm");
        CHECK(notes(fused, "with fused attention only", "attention"));
        CHECK(fused.expressed.attention == AttentionKernel::flash);
    }
}

TEST_CASE("context parallelism moves keys as windows, sinks and latent attention allow", "[export]") {
    ParallelPlan plan{.cp = 2};
    auto const mode = [&](char const* format, char const* model, ContextParallel asked) {
        plan.cp_mode = asked;
        return exported(format, model, plan).expressed.cp_mode;
    };
    using enum ContextParallel;
    CHECK(mode("megatron", "llama-3.1-8b", ring) == ring);
    CHECK(mode("megatron", "gemma-3-1b", ring) == all_gather);
    CHECK(mode("megatron", "gemma-3-1b", ulysses) == ulysses);
    CHECK(mode("nemo", "gemma-3-1b", ring) == ring);  // whose recipe has no windows
    for (ContextParallel const asked : {ring, all_gather, ulysses}) {
        CHECK(mode("megatron", "gpt-oss-20b", asked) == ulysses);
        CHECK(mode("megatron", "deepseek-v2-lite", asked) == ring);
        CHECK(mode("nemo", "deepseek-v2-lite", asked) == ring);
    }
    plan.cp_mode = ring;
    CHECK_FALSE(notes(exported("megatron", "gpt-oss-20b", plan), "not divisible", "cp"));
    plan.cp = 16;
    CHECK(notes(exported("megatron", "gpt-oss-20b", plan), "not divisible", "cp"));
    plan.cp_mode = ulysses;
    CHECK(all_note(plan, "llama-3.1-8b", "32 heads and 8 key-value heads are not divisible", "cp"));
    ModelSpec even = find_model("deepseek-v2-lite");
    even.attention.value_head_dim = even.attention.head_dim;
    plan.cp = 2;
    Export const e = exported({.format = "megatron", .model = even, .plan = plan});
    CHECK(e.expressed.cp_mode == ulysses);
    CHECK(writes(e, "--attention-backend flash\n"));
}

TEST_CASE("experts are multiplied in one kernel in bf16 and what is built on it", "[export]") {
    ParallelPlan plan{.dp = 8, .ep = 8};
    for (Precision const precision : {Precision::bf16, Precision::fp8, Precision::fp8_block, Precision::mxfp8,
                                      Precision::fp4, Precision::fp16, Precision::fp32, Precision::tf32}) {
        plan.precision = precision;
        bool const wide = precision == Precision::fp16 || precision == Precision::fp32 || precision == Precision::tf32;
        Export const e = exported("megatron", "mixtral-8x7b", plan);
        CAPTURE(name_of(precision));
        CHECK(writes(e, "--moe-grouped-gemm") != wide);
        CHECK(notes(e, "refuses expert parallelism in fp16", "precision") == (precision == Precision::fp16));
    }
    plan.precision = Precision::fp16;
    plan.recompute = Recompute::selective;
    plan.recompute_modules = {RecomputeModule::moe_act, RecomputeModule::layernorm};
    Export const recomputed = exported("megatron", "mixtral-8x7b", plan);
    CHECK(notes(recomputed, "moe_act", "recompute_modules"));
    CHECK(modules_text(recomputed.expressed.recompute_modules) == "layernorm");
}

TEST_CASE("a model that is trained in fp8 has its weights in fp8, where the optimizer is distributed", "[export]") {
    ParallelPlan plan{.dp = 8, .zero = 1};
    for (Precision const precision :
         {Precision::bf16, Precision::fp8, Precision::fp8_block, Precision::mxfp8, Precision::fp4}) {
        plan.precision = precision;
        CAPTURE(name_of(precision));
        Export const e = exported("megatron", "llama-3.1-8b", plan);
        CHECK(writes(e, "--fp8-param-gather\n") == (unscaled(precision) == Precision::fp8));
        CHECK(writes(e, "--fp4-param-gather\n") == (precision == Precision::fp4));
        CHECK(writes(e, "--reuse-grad-buf-for-mxfp8-param-ag\n") == (precision == Precision::mxfp8));
        CHECK(e.expressed.narrow_copies == Switch::off);
    }
    plan.precision = Precision::fp8;
    plan.narrow_copies = Switch::on;
    CHECK_FALSE(writes(exported("megatron", "llama-3.1-8b", plan), "--fp8-param-gather"));
    CHECK(writes(exported("nemo", "llama-3.1-8b", plan), "fp8_param_gather = False"));
    plan.narrow_copies = Switch::off;
    CHECK(writes(exported("nemo", "llama-3.1-8b", plan), "fp8_param_gather = True"));
    plan.zero = 0;
    Export const whole = exported("megatron", "llama-3.1-8b", plan);
    CHECK_FALSE(writes(whole, "--fp8-param-gather"));
    CHECK(whole.expressed.narrow_copies == Switch::on);
    CHECK(notes(whole, "narrow copies beside them", "narrow_copies"));
    plan.adapters = {.rank = 16, .targets = attention_targets()};
    Export const tuned = exported("nemo", "llama-3.1-8b", plan);
    CHECK(tuned.expressed.narrow_copies == Switch::off);
    CHECK(notes(tuned, "which are not counted", "narrow_copies"));
}

TEST_CASE("beside an optimizer in host memory weights are in fp8 with delayed scaling alone", "[export]") {
    ParallelPlan plan{.dp = 4, .tp = 2, .zero = 1, .offload = Offload::optimizer};
    for (Precision const precision : {Precision::fp8, Precision::fp8_block, Precision::mxfp8}) {
        plan.precision = precision;
        CAPTURE(name_of(precision));
        bool const delayed = precision == Precision::fp8;
        Export const e = exported("megatron", "llama-3.1-8b", plan);
        CHECK(writes(e, "--optimizer-cpu-offload\n"));
        CHECK(writes(e, "--fp8-param-gather\n") == delayed);
        CHECK_FALSE(writes(e, "--reuse-grad-buf-for-mxfp8-param-ag\n"));
        CHECK((e.expressed.narrow_copies == Switch::on) == !delayed);
        CHECK(notes(e, "beside an optimizer in host memory", "narrow_copies") == !delayed);
        CHECK(writes(exported("nemo", "llama-3.1-8b", plan),
                     std::string("fp8_param_gather = ") + (delayed ? "True" : "False")));
    }
    plan.precision = Precision::fp8;
    plan.recompute = Recompute::selective;
    plan.recompute_modules = {RecomputeModule::layernorm};  // which delayed scaling refuses
    CHECK_FALSE(writes(exported("megatron", "llama-3.1-8b", plan), "--fp8-param-gather"));
    plan.zero = 3;
    Export const sharded = exported("megatron", "llama-3.1-8b", plan);
    CHECK_FALSE(writes(sharded, "--fp8-param-gather"));
    CHECK(notes(sharded, "which are not counted", "narrow_copies"));
}

TEST_CASE("experts are chosen from the groups that the model's are", "[export]") {
    Export const e = exported("megatron", "deepseek-v3", {.dp = 8, .ep = 8});
    CHECK(writes(e, "--moe-router-num-groups 8"));
    CHECK(writes(e, "--moe-router-group-topk 4"));
    CHECK_FALSE(writes(exported("megatron", "qwen3-30b-a3b", {.dp = 8, .ep = 8}), "--moe-router-num-groups"));
}

TEST_CASE("Megatron-LM has the one queue of work that it asks for, on accelerators of AMD as well", "[export]") {
    for (char const* const cluster : {"h100-sxm", "mi300x"}) {
        CAPTURE(cluster);
        auto const written = [&](ParallelPlan const& plan) {
            return exported(
                {.format = "megatron", .model = find_model("llama-3.1-8b"), .plan = plan, .cluster = cluster});
        };
        CHECK(writes(written({.tp = 2}), "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"));
        CHECK(writes(written({.cp = 2}), "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"));
        CHECK_FALSE(writes(written({.dp = 2}), "CUDA_DEVICE_MAX_CONNECTIONS"));
        CHECK_FALSE(writes(written({.dp = 2, .tp = 2, .zero = 3}), "CUDA_DEVICE_MAX_CONNECTIONS"));
    }
}

TEST_CASE("what Megatron-Core refuses when it starts is said", "[export]") {
    ParallelPlan wide{.tp = 8};
    wide.sequence_parallel = Switch::on;
    CHECK(all_note(wide, "qwen3-30b-a3b", "refuses 4 key-value heads on 8", "tp"));
    CHECK_FALSE(notes(exported("megatron", "llama-3.1-8b", wide), "", "tp"));

    ParallelPlan sharded{.dp = 8, .ep = 8};
    sharded.zero = 1;
    sharded.shard_group = 4;
    CHECK(all_note(sharded, "mixtral-8x7b", "2 instances of the distributed optimizer for 1 copies", "shard_group"));
    sharded.ep = 4;
    CHECK_FALSE(notes(exported("megatron", "mixtral-8x7b", sharded), "", "shard_group"));
}

TEST_CASE("Muon needs a later Megatron-Core, and checkpoints that are written in the open", "[export]") {
    ParallelPlan plan{.dp = 8};
    plan.zero = 1;
    CHECK(writes(exported("megatron", "llama-3.1-8b", plan), "--async-save"));
    plan.optimizer = Optimizer::muon;
    Export const muon = exported("megatron", "llama-3.1-8b", plan);
    CHECK(writes(muon, "--optimizer dist_muon\n"));
    CHECK(writes(muon, "--ckpt-format torch\n"));
    CHECK_FALSE(writes(muon, "--async-save"));
    CHECK(notes(muon, "after Megatron-Core 0.15", "optimizer"));
}

TEST_CASE("Megatron FSDP beside expert parallelism wants a release after 0.15: the file has it, and says so",
          "[export]") {
    ParallelPlan plan{.dp = 8, .ep = 8};
    for (char const* const format : {"megatron", "nemo"}) {
        for (int const zero : {2, 3}) {
            CAPTURE(format, zero);
            plan.ep = 8;
            plan.zero = zero;
            Export const e = exported(format, "mixtral-8x7b", plan);
            CHECK(e.expressed.zero == zero);
            CHECK(notes(e, "after Megatron-Core 0.15", "zero"));
            CHECK(writes(e, "fsdp"));
            plan.ep = 1;
            Export const without = exported(format, "mixtral-8x7b", plan);
            CHECK(without.expressed.zero == zero);
            CHECK_FALSE(notes(without, "after Megatron-Core 0.15", "zero"));
        }
    }
}

TEST_CASE("Megatron-Core shares no state of SGD, and NeMo's Adam is shared as the plan says", "[export]") {
    for (int const zero : {1, 2, 3}) {
        CAPTURE(zero);
        ParallelPlan plan{.dp = 8};
        plan.zero = zero;
        plan.shard_group = 4;
        plan.optimizer = Optimizer::sgd;
        Export const e = exported("megatron", "llama-3.2-1b", plan);
        CHECK(e.expressed.zero == 0);
        CHECK(e.expressed.shard_group == 0);
        CHECK(notes(e, "no SGD", "zero"));
        CHECK_FALSE(writes(e, "--use-distributed-optimizer"));
        CHECK_FALSE(writes(e, "--num-distributed-optimizer-instances"));
        Export const adam = exported("nemo", "llama-3.2-1b", plan);
        CHECK(adam.expressed.zero == zero);
        CHECK_FALSE(notes(adam, "", "zero"));
    }
}

TEST_CASE("DeepEP is for experts on several ranks", "[export]") {
    ParallelPlan plan{.dp = 8};
    plan.dispatcher = Dispatcher::deduplicated;
    CHECK(all_note(plan, "mixtral-8x7b", "refuses DeepEP", "moe_dispatcher"));
    CHECK(writes(exported("megatron", "mixtral-8x7b", plan), "--moe-token-dispatcher-type alltoall\n"));
    plan.ep = 2;
    CHECK(writes(exported("megatron", "mixtral-8x7b", plan), "--moe-token-dispatcher-type flex\n"));
    plan = {.dp = 4, .tp = 2, .expert_tp = 2};
    plan.sequence_parallel = Switch::on;
    plan.dispatcher = Dispatcher::deduplicated;
    CHECK_FALSE(notes(exported("megatron", "mixtral-8x7b", plan), "", "moe_dispatcher"));
}

TEST_CASE("once per domain is HybridEP's to send where a domain is of several hosts, and DeepEP's elsewhere",
          "[export]") {
    auto const written = [](char const* format, char const* cluster, ParallelPlan plan) {
        plan.dispatcher = Dispatcher::deduplicated;
        return exported({.format = format,
                         .model = find_model("qwen3-30b-a3b"),
                         .plan = plan,
                         .global_batch = plan.dp,
                         .cluster = cluster});
    };
    Export const rack = written("megatron", "gb200-nvl72", {.dp = 64, .ep = 64});
    CHECK(writes(rack, "--moe-token-dispatcher-type flex\n"));
    CHECK(writes(rack, "--moe-flex-dispatcher-backend hybridep"));
    CHECK_FALSE(writes(rack, "deepep"));
    CHECK(writes(rack, "export NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=64\n"));
    CHECK(writes(rack, "export NVLINK_DOMAIN_SIZE=72\n"));
    CHECK(writes(rack, "export USE_MNNVL=1\n"));
    Export const halves = written("megatron", "gb200-nvl72", {.dp = 128, .ep = 128});
    CHECK(writes(halves, "export NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=64\n"));
    Export const nodes = written("megatron", "h100-sxm", {.dp = 64, .ep = 64});
    CHECK(writes(nodes, "--moe-enable-deepep"));
    CHECK_FALSE(writes(nodes, "HYBRID_EP"));
    CHECK(notes(written("nemo", "gb200-nvl72", {.dp = 64, .ep = 64}), "DeepEP alone", "moe_dispatcher"));
    CHECK_FALSE(notes(written("nemo", "h100-sxm", {.dp = 64, .ep = 64}), "", "moe_dispatcher"));
}

TEST_CASE("a job on racks asks Slurm for hosts of one rack together, in whole groups of experts", "[export]") {
    auto const batch = [](char const* cluster, ParallelPlan const& plan) {
        LaunchPlan const launch = make_launch_plan(find_model("qwen3-30b-a3b"), find_cluster(cluster, "test"),
                                                   {.sequence = 1024, .global_batch = plan.dp}, plan, {});
        return slurm_job(launch, {.files = {}, .command = {"bash", "megatron.sh"}}).text;
    };
    CHECK_THAT(batch("gb200-nvl72", {.dp = 256, .ep = 64}), contains("#SBATCH --segment=16\n"));
    CHECK_THAT(batch("gb200-nvl72", {.dp = 256, .ep = 128}), contains("#SBATCH --segment=16\n"));
    CHECK_THAT(batch("gb200-nvl72", {.dp = 288, .ep = 8}), contains("#SBATCH --segment=18\n"));
    CHECK_THAT(batch("gb200-nvl72", {.dp = 576, .ep = 64}), contains("#SBATCH --segment=16\n"));  // not 18
    CHECK_THAT(batch("gb200-nvl72", {.dp = 32, .ep = 8}), contains("#SBATCH --segment=8\n"));
    CHECK(batch("h100-sxm", {.dp = 256, .ep = 64}).find("--segment") == std::string::npos);
}

TEST_CASE("a sequence that context parallelism does not cut into two parts for each rank is said to be refused",
          "[export]") {
    auto const refused = [](char const* format, ParallelPlan const& plan, std::int64_t sequence, char const* field) {
        return notes(
            exported({.format = format, .model = find_model("llama-3.2-1b"), .plan = plan, .sequence = sequence}),
            "a multiple of", field);
    };
    ParallelPlan const split{.cp = 4};
    for (char const* const format : {"megatron", "nemo", "torchtitan"}) {
        CAPTURE(format);
        CHECK_FALSE(refused(format, split, 1024, "cp"));
        CHECK(refused(format, split, 1028, "cp"));
    }
    ParallelPlan const wide{.tp = 4};
    CHECK_FALSE(refused("torchtitan", wide, 1032, "tp"));
    CHECK(refused("torchtitan", wide, 1028, "tp"));
    CHECK_FALSE(refused("megatron", wide, 1028, "tp"));
}

TEST_CASE("an unfused softmax is asked for where Transformer Engine reads it", "[export][import]") {
    ParallelPlan plan{.dp = 8};
    plan.attention = AttentionKernel::unfused;
    std::string const variable = "export NVTE_MASKED_SOFTMAX_FUSION=0\n";
    CHECK_FALSE(writes(exported("megatron", "llama-3.2-1b", plan), variable));
    plan.attention = AttentionKernel::eager;
    CHECK(writes(exported("megatron", "llama-3.2-1b", plan), variable));
    CHECK(writes(exported("nemo", "llama-3.2-1b", plan), variable));

    ModelSpec const model = find_model("llama-3.2-1b");
    auto const read = [&](std::string const& text) { return import_megatron("--bf16 " + text, "x", model); };
    std::string const flag = "--overlap-grad-reduce --attention-backend unfused --no-masked-softmax-fusion";
    using enum AttentionKernel;
    CHECK(read(flag).plan.attention == unfused);
    REQUIRE(read(flag).warnings.size() == 1);
    CHECK_THAT(read(flag).warnings.front(), contains("NVTE_MASKED_SOFTMAX_FUSION=0"));
    ForeignPlan const set = import_megatron(variable + "run --bf16 " + flag, "x", model);
    CHECK(set.plan.attention == eager);
    CHECK(set.warnings.empty());
    CHECK(read("--transformer-impl local").plan.attention == unfused);
    CHECK(read("--transformer-impl local --use-flash-attn").plan.attention == unfused);
    CHECK(read("--transformer-impl local --no-masked-softmax-fusion").plan.attention == eager);
    CHECK(read("--transformer-impl transformer_engine").plan.attention == flash);
    CHECK(read("--transformer-impl local").ignored.empty());
}

TEST_CASE("nodes hold whole tensor-parallel groups where the plan leaves them a choice", "[export]") {
    auto const nodes = [](std::int64_t dp, std::int64_t tp, std::optional<std::int64_t> asked = {}) {
        LaunchSettings settings;
        settings.per_node = asked;
        LaunchPlan const launch =
            make_launch_plan(find_model("llama-3.1-8b"), find_cluster("h100-sxm", "test"),
                             {.sequence = 1024, .global_batch = dp}, {.dp = dp, .tp = tp}, settings);
        return std::pair(launch.nodes, launch.per_node);
    };
    using Nodes = std::pair<std::int64_t, std::int64_t>;
    CHECK(nodes(3, 4) == Nodes(3, 4));
    CHECK(nodes(5, 4) == Nodes(5, 4));
    CHECK(nodes(4, 4) == Nodes(2, 8));
    CHECK(nodes(12, 1) == Nodes(2, 6));
    CHECK(nodes(3, 16) == Nodes(6, 8));
    CHECK(nodes(3, 4, 6) == Nodes(2, 6));
}

TEST_CASE("a file for a model of other sizes is refused, of whatever size", "[import]") {
    auto const of = [](char const* model, std::string const& text) {
        return import_megatron("--bf16 " + text, "x", find_model(model));
    };
    struct Row {
        char const* model;
        char const* argument;
        char const* why;
    };
    for (Row const& row :
         {Row{"llama-3.1-8b", "--ffn-hidden-size 28672", "28672 units between the halves"},
          Row{"llama-3.1-8b", "--num-query-groups 32", "32 key-value heads, but llama-3.1-8b has 8"},
          Row{"llama-3.1-8b", "--vocab-size 32000", "32000 words"},
          Row{"llama-3.1-8b", "--kv-channels 64", "64 channels"},
          Row{"mixtral-8x7b", "--moe-router-topk 4", "4 experts of a token"},
          Row{"mixtral-8x7b", "--moe-ffn-hidden-size 2048", "2048 units within an expert"},
          Row{"mixtral-8x7b", "--ffn-hidden-size 2048", "2048 units within an expert"},
          Row{"deepseek-v3", "--moe-shared-expert-intermediate-size 4096", "within the shared experts"},
          Row{"deepseek-v3", "--mtp-num-layers 2", "2 modules of multi-token prediction"},
          Row{"llama-3.2-1b", "--untie-embeddings-and-output-weights", "one matrix for both"}}) {
        CAPTURE(row.argument);
        CHECK_THROWS_WITH(of(row.model, row.argument), contains(row.why) && contains("--model has to name the model"));
    }
    // What Megatron-LM pads to the same matrix, and widths that are not looked at.
    CHECK_NOTHROW(of("llama-2-7b", "--vocab-size 31999"));
    CHECK_NOTHROW(of("gpt2", "--vocab-size 50304"));
    CHECK_NOTHROW(of("llama-3.1-8b", "--vocab-size 128255 --make-vocab-size-divisible-by 1"));
    CHECK_THROWS_WITH(of("gpt2", "--vocab-size 50304 --make-vocab-size-divisible-by 1"), contains("50304 words"));
    CHECK_NOTHROW(of("qwen3-30b-a3b", "--ffn-hidden-size 6144 --moe-ffn-hidden-size 768"));
    CHECK_NOTHROW(of("deepseek-v3",
                     "--ffn-hidden-size 18432 --moe-ffn-hidden-size 2048 --mtp-num-layers 1 "
                     "--moe-shared-expert-intermediate-size 2048 --kv-channels 128"));
}
