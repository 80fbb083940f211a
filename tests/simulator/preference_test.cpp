// Training on pairs: a pair is two sequences side by side, and the reference of DPO one more forward pass and one more
// copy of the weights.
#include "core/error.hpp"
#include "core/graph/executed_flops.hpp"
#include "core/graph/model_flops.hpp"
#include "core/graph/step_graph.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/low_rank_adapters.hpp"
#include "core/spec/model_catalog.hpp"
#include "simulator/forward_pass.hpp"
#include "simulator/task_graph_builder.hpp"
#include "tests/catch.hpp"

using namespace sextant;

namespace {

struct PreferenceCase {
    ModelSpec model = find_model("llama-3.2-1b");
    ClusterSpec cluster = find_cluster("h100-sxm", "test");
    FrameworkProfile framework;
    ParallelPlan plan{};

    explicit PreferenceCase(char const* name) : framework(find_framework(name, "test")) {}
    [[nodiscard]] StepEstimate of(Workload const& workload) const {
        return ClosedForm(model, workload, cluster, framework, plan.precision).evaluate(plan);
    }
};

constexpr std::int64_t answer = 1024;
constexpr std::int64_t batch = 64;

}  // namespace

TEST_CASE("pairs without a reference take what twice as many sequences take") {
    PreferenceCase c("megatron");
    c.plan.dp = 2;
    c.plan.tp = GENERATE(1, 2);
    c.plan.pp = GENERATE(1, 2);
    c.plan.zero = 1;
    c.plan.attention = GENERATE(AttentionKernel::flash, AttentionKernel::unfused, AttentionKernel::eager);
    StepEstimate const pairs = c.of(Workload::pairs(Preference::reference_free, answer, batch));
    ParallelPlan const of_pairs = c.plan;
    c.plan.micro_batch = 2;
    Workload const plain{.sequence = answer, .global_batch = 2 * batch};
    StepEstimate const sequences = c.of(plain);
    CHECK(pairs.time / sequences.time == Approx(1).epsilon(1e-9));
    CHECK(pairs.memory.reserved() / sequences.memory.reserved() == Approx(1).epsilon(1e-9));
    Workload const workload = Workload::pairs(Preference::reference_free, answer, batch);
    CHECK(model_flops_per_step(c.model, workload) / model_flops_per_step(c.model, plain) == Approx(1));
    CHECK(executed_flops_per_step(build_step_graph(c.model, of_pairs, workload)).total /
              executed_flops_per_step(build_step_graph(c.model, c.plan, plain)).total ==
          Approx(1));
}

TEST_CASE("the reference of DPO is a forward pass, and the weights once more as they are sharded") {
    PreferenceCase c("fsdp");
    c.plan.dp = 8;
    c.plan.zero = GENERATE(0, 2, 3);
    Workload const free = Workload::pairs(Preference::reference_free, answer, batch);
    Workload const with = Workload::pairs(Preference::dpo, answer, batch);
    StepEstimate const without_reference = c.of(free);
    StepEstimate const with_reference = c.of(with);
    ClosedForm form(c.model, free, c.cluster, c.framework, c.plan.precision);
    CHECK(with_reference.breakdown.reference == forward_pass(form, c.plan));
    CHECK((with_reference.time - without_reference.time).base() ==
          Approx(with_reference.breakdown.reference.base()).epsilon(1e-9));
    // 1,235,814,400 parameters with the embedding, whose table has 128,256 rows: a multiple of 128 already. Beside its
    // shards the root, embedding and last norm, stays gathered, and under ZeRO 2 all of it.
    double const all = 2 * 1'235'814'400.0;
    double const root = 2 * (128'256.0 * 2048 + 2048);
    double const held = c.plan.zero == 0 ? all : all / 8 + (c.plan.zero == 2 ? all : root);
    CHECK(with_reference.memory.reference.base() == Approx(held).epsilon(1e-9));
    CHECK((with_reference.memory.allocated() - without_reference.memory.allocated()).base() ==
          Approx(with_reference.memory.reference.base()));
    CHECK(without_reference.memory.reference == Bytes{});
}

TEST_CASE("a reference whose embedding is a unit of its own, or that is not in units, is its shards") {
    PreferenceCase c(GENERATE("torchtitan", "deepspeed"));
    c.plan.dp = 8;
    c.plan.zero = 3;
    StepEstimate const estimate = c.of(Workload::pairs(Preference::dpo, answer, batch));
    CHECK(estimate.memory.reference.base() == Approx(2 * 1'235'814'400.0 / 8));
}

TEST_CASE("the reference comes from host memory in the working format, whatever the trained weights are held in") {
    PreferenceCase c("fsdp");
    c.plan.zero = 3;
    c.plan.offload = Offload::parameters;
    Workload const with = Workload::pairs(Preference::dpo, answer, batch);
    StepEstimate const held_in_fp32 = c.of(with);
    Workload const free = Workload::pairs(Preference::reference_free, answer, batch);
    ClosedForm form(c.model, free, c.cluster, c.framework, c.plan.precision);
    Seconds const as_held = forward_pass(form, c.plan);
    c.plan.optimizer = Optimizer::adamw_pure_bf16;
    StepEstimate const held_in_bf16 = c.of(with);
    CHECK(held_in_fp32.breakdown.reference.base() == Approx(held_in_bf16.breakdown.reference.base()).epsilon(1e-9));
    CHECK(held_in_fp32.breakdown.reference < as_held);
}

TEST_CASE("a pair may be longer than a table of positions that each of its sequences fits into") {
    PreferenceCase c("megatron");
    c.model = find_model("gpt2");
    CHECK_NOTHROW(c.of(Workload::pairs(Preference::dpo, 1024, batch)));
    CHECK_THROWS_WITH(c.of(Workload::pairs(Preference::dpo, 1025, batch)),
                      Catch::Matchers::Contains("longer than the 1024"));
}

TEST_CASE("DPO's FLOPs are four forward passes, of adapters those of the model without them once more", "[INV-4]") {
    ModelSpec const model = find_model("llama-3.2-1b");
    Workload const free = Workload::pairs(Preference::reference_free, answer, batch);
    Workload const with = Workload::pairs(Preference::dpo, answer, batch);
    CHECK(model_flops_per_step(model, with) / model_flops_per_step(model, free) == Approx(4.0 / 3));
    LowRankAdapters const adapters{.rank = 16, .targets = attention_targets()};
    CHECK((model_flops_per_step(model, with, adapters) - model_flops_per_step(model, free, adapters)) /
              model_flops_per_step(model, free) ==
          Approx(1.0 / 3));
    ParallelPlan const plan{};
    ExecutedFlops const executed = executed_flops_per_step(build_step_graph(model, plan, free));
    StepGraph const graph = build_step_graph(model, plan, with);
    CHECK((executed_flops_per_step(graph).total - executed.total) / stage_work(graph, 0, Pass::forward).executed ==
          Approx(batch));
}

TEST_CASE("without its adapters the model is its own reference: no weights beside it") {
    PreferenceCase c("fsdp");
    c.plan.adapters = {.rank = 16, .targets = attention_targets()};
    StepEstimate const estimate = c.of(Workload::pairs(Preference::dpo, answer, batch));
    CHECK(estimate.memory.reference == Bytes{});
    CHECK(estimate.breakdown.reference > Seconds{});
}

TEST_CASE("the passes of a reference are not simulated, and said not to be") {
    PreferenceCase const c("megatron");
    Workload const with = Workload::pairs(Preference::dpo, answer, batch);
    ClosedForm form(c.model, with, c.cluster, c.framework, c.plan.precision);
    CHECK_THROWS_WITH(build_task_graph(form, c.plan, {}), Catch::Matchers::Contains("reference-free"));
    Workload const free = Workload::pairs(Preference::reference_free, answer, batch);
    ClosedForm other(c.model, free, c.cluster, c.framework, c.plan.precision);
    CHECK_NOTHROW(build_task_graph(other, c.plan, {}));
}
