#include "core/graph/step_graph.hpp"

#include "core/error.hpp"
#include "core/graph/model_flops.hpp"
#include "core/graph/plan_check.hpp"
#include "core/spec/parameters.hpp"
#include "core/spec/schedule_traits.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <functional>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

double number(std::int64_t n) { return static_cast<double>(n); }

/// Sum over stages, microbatches and ranks.
Flops step_flops(StepGraph const& graph, Pass pass) {
    Flops total;
    for (std::size_t stage = 0; stage < graph.layout.stages.size(); ++stage)
        total += stage_work(graph, stage, pass).model;
    ParallelPlan const& p = graph.plan;
    return number(p.tp * p.cp * p.dp * graph.microbatches) * total;
}

ParallelPlan random_plan(std::mt19937_64& random, bool experts) {
    ParallelPlan plan;
    plan.dp = pick<std::int64_t>(random, {1, 2, 8});
    plan.tp = pick<std::int64_t>(random, {1, 2, 4, 8});
    plan.pp = pick<std::int64_t>(random, {1, 2, 4});
    plan.cp = pick<std::int64_t>(random, {1, 2});
    plan.micro_batch = pick<std::int64_t>(random, {1, 2});
    plan.sequence_parallel = plan.tp > 1 ? pick(random, {Switch::off, Switch::on}) : Switch::off;
    if (plan.pp > 1 && random() % 2 == 0) {
        plan.schedule = pick(random, {Schedule::interleaved, Schedule::zb_v, Schedule::dualpipe});
        plan.vpp = traits_of(plan.schedule).least_chunks;
    }
    if (experts && plan.dp * plan.cp * plan.tp >= 4) plan.ep = pick<std::int64_t>(random, {1, 2, 4});
    return plan;
}

}  // namespace

TEST_CASE("a step does the same FLOPs however it is split", "[INV-5]") {
    std::mt19937_64 random(seeded(1));
    Workload const workload{.sequence = 2048, .global_batch = 64};
    int tried = 0;
    for (int i = 0; i < 300; ++i) {
        bool const experts = i % 2 == 1;
        // Vocabularies that need no padding, so that all work is the model's.
        ModelSpec const model = experts      ? mixture(1024, 16, 16, 2, 768, 2)
                                : i % 3 == 0 ? hybrid(i % 4 == 0 ? StateRule::delta : StateRule::decay, 1024, 16)
                                             : llama(2048, 16, 8, 16, 8192);
        ParallelPlan const plan = random_plan(random, experts);
        if (find_fault(model, plan, workload)) continue;
        ++tried;
        StepGraph const graph = build_step_graph(model, plan, workload);
        CAPTURE(plan.dp, plan.tp, plan.pp, plan.cp, plan.ep, plan.vpp, plan.micro_batch);
        double const expected = model_flops_per_step(model, workload).base();
        CHECK(step_flops(graph, Pass::forward).base() == Approx(expected / 3).epsilon(1e-12));
        CHECK(step_flops(graph, Pass::backward).base() == Approx(2 * expected / 3).epsilon(1e-12));
    }
    CHECK(tried > 200);
}

TEST_CASE("FLOPs of a step are 6 (N - embedding - norms) D plus attention", "[INV-4]") {
    ModelSpec const model = llama(4096, 32, 8, 32, 14336, 128256);
    Workload const workload{.sequence = 8192, .global_batch = 16};
    ParameterCounts const n = count_parameters(model);
    double const norms = 4096.0 * (2 * 32 + 1);
    double const tokens = number(workload.tokens());
    double const attention = 3 * 4.0 * 32 * 8192 * 4096 * tokens;  // 3 passes, 4 s h per layer and token
    CHECK(model_flops_per_step(model, workload).base() ==
          Approx(6 * (number(n.total - n.embedding) - norms) * tokens + attention).epsilon(1e-12));
    CHECK(six_n_d(model, workload).base() == 6 * number(n.total) * tokens);
    CHECK(forward_flops_per_token(model, 8192).base() * tokens * 3 ==
          Approx(model_flops_per_step(model, workload).base()).epsilon(1e-12));
}

TEST_CASE("a GPT step with full recomputation is Megatron-LM's 96 B s l h^2 (1 + s/6h + V/16lh), exactly", "[INV-4]") {
    std::mt19937_64 random(seeded(2));
    for (int i = 0; i < 50; ++i) {
        auto const heads = pick<std::int64_t>(random, {16, 24, 96});
        auto const hidden = heads * 128;
        ModelSpec const model = gpt(hidden, heads, pick<std::int64_t>(random, {8, 16, 96}));
        Workload const workload{.sequence = pick<std::int64_t>(random, {1024, 2048}), .global_batch = 32};
        ParallelPlan plan;
        plan.recompute = Recompute::full;
        plan.attention = AttentionKernel::unfused;
        plan.tp = 4;
        plan.pp = 4;
        StepGraph const graph = build_step_graph(model, plan, workload);
        Flops total = step_flops(graph, Pass::forward) + step_flops(graph, Pass::backward);
        for (std::size_t stage = 0; stage < 4; ++stage)
            total += number(plan.tp * graph.microbatches) * stage_rerun_work(graph, stage).model;
        CHECK(total.base() == Approx(megatron_step_flops(model, workload).base()).epsilon(1e-12));
    }
}

TEST_CASE("causal FLOPs are fewer by half of the attention scores", "[INV-4]") {
    ModelSpec const model = llama(4096, 32, 8, 32, 14336);
    double const saved = (forward_flops_per_token(model, 4096) - causal_forward_flops_per_token(model, 4096)).base();
    CHECK(saved == Approx(0.5 * 4 * 32 * 4096.0 * 4096.0).epsilon(1e-12));
}

TEST_CASE("a stage that predicts further tokens looks them up in an embedding of its own", "[INV-9]") {
    // Megatron-Core builds one where `pre_process or mtp_process`.
    ModelSpec model = mixture(1024, 16, 16, 2, 768, 2);
    model.mtp_modules = 1;
    Workload const workload{.sequence = 2048, .global_batch = 64};
    for (bool const tied : {false, true})
        for (std::int64_t const pp : {1, 4}) {
            model.tied_embeddings = tied;
            ParallelPlan plan;
            plan.pp = pp;
            StepGraph const graph = build_step_graph(model, plan, workload);
            double held = 0;
            for (std::size_t stage = 0; stage < graph.layout.stages.size(); ++stage)
                held += stage_parameters(graph, stage).total();
            ParameterCounts const counts = count_parameters(model);
            double const copy = pp > 1 ? number(model.vocab * model.hidden) : 0;
            CHECK(held == number(counts.total + counts.mtp) + copy);
        }
}

TEST_CASE("stages together hold the model, and a tied output matrix twice", "[INV-9]") {
    std::mt19937_64 random(seeded(3));
    Workload const workload{.sequence = 2048, .global_batch = 64};
    for (int i = 0; i < 100; ++i) {
        bool const tied = i % 2 == 0;
        ModelSpec const model = tied ? gpt(1024, 16, 16) : mixture(1024, 16, 16, 2, 768, 2);
        ParallelPlan plan;
        plan.pp = pick<std::int64_t>(random, {1, 2, 4, 8});
        double held = 0;
        StepGraph const graph = build_step_graph(model, plan, workload);
        for (std::size_t stage = 0; stage < graph.layout.stages.size(); ++stage)
            held += stage_parameters(graph, stage).total();
        double const copy = tied && plan.pp > 1 ? 51200.0 * 1024 : 0;
        CHECK(held == number(count_parameters(model).total) + copy);
    }
}

TEST_CASE("recomputed_share: none, all, or as many layers as asked for", "[INV-7]") {
    ParallelPlan plan;
    CHECK(recomputed_share(plan, 8) == 0);
    plan.recompute = Recompute::full;
    CHECK(recomputed_share(plan, 8) == 1);
    plan.recompute_layers = 2;
    CHECK(recomputed_share(plan, 8) == 0.25);
    CHECK(recomputed_share(plan, 1) == 1);
    plan.recompute = Recompute::selective;
    CHECK(recomputed_share(plan, 8) == 1);
}

TEST_CASE("layers that run again are the first of each chunk, whatever their kinds", "[INV-7]") {
    ModelSpec const model = mixture(1024, 16, 16, 2, 768, 3);
    ParallelPlan plan;
    plan.pp = 4;
    plan.recompute = Recompute::full;
    plan.recompute_layers = 3;
    StepGraph const graph = build_step_graph(model, plan, {.sequence = 2048, .global_batch = 64});
    REQUIRE(graph.blocks.kinds.size() == 2);
    std::size_t const dense = graph.blocks.kinds[0].moe ? 1 : 0;
    auto const forward = [&](std::size_t kind) { return graph.blocks.layers[kind].work(Pass::forward).executed; };
    // The first stage has three dense layers, which run again, and one of experts, which does not.
    CHECK(stage_rerun_work(graph, 0).executed.base() == Approx((3 * forward(dense)).base()).epsilon(1e-12));
    CHECK(stage_rerun_work(graph, 1).executed.base() == Approx((3 * forward(1 - dense)).base()).epsilon(1e-12));
    Flops const last = forward(dense) - graph.blocks.layers[dense].rerun_work(plan.recompute, Rerun::full).executed;
    CHECK(last.base() == Approx(2.0 * 2048 * 4096 * 1024));
    CHECK(stage_rerun_work(graph, 0, Rerun::full).executed.base() == Approx((3 * (forward(dense) - last)).base()));
    // Both ranks of a pair run the same again.
    plan.schedule = Schedule::dualpipe;
    StepGraph const both = build_step_graph(model, plan, {.sequence = 2048, .global_batch = 64});
    CHECK(stage_rerun_work(both, 0).executed == stage_rerun_work(both, 3).executed);
}

TEST_CASE("digest: equal for equal input, different when anything about the work changes", "[INV-12]") {
    using Change = std::function<void(ModelSpec&, ParallelPlan&, Workload&)>;
    std::vector<Change> const changes{
        [](auto&, auto&, auto&) {},
        [](auto& m, auto&, auto&) {
            m.hidden = 2304;
            m.attention.heads = 18;
            m.attention.kv_heads = 18;
        },
        [](auto& m, auto&, auto&) { m.mlp.intermediate = 5888; },
        [](auto& m, auto&, auto&) { m.vocab = 64000; },
        [](auto& m, auto&, auto&) { m.layers.resize(12); },
        [](auto&, auto& p, auto&) { p.dp = 2; },
        [](auto&, auto& p, auto&) { p.tp = 2; },
        [](auto&, auto& p, auto&) {
            p.tp = 2;
            p.sequence_parallel = Switch::on;
        },
        [](auto&, auto& p, auto&) { p.pp = 2; },
        [](auto&, auto& p, auto&) {
            p.pp = 2;
            p.schedule = Schedule::gpipe;
        },
        [](auto&, auto& p, auto&) {
            p.pp = 2;
            p.vpp = 2;
            p.schedule = Schedule::interleaved;
        },
        [](auto&, auto& p, auto&) { p.cp = 2; },
        [](auto&, auto& p, auto&) {
            p.cp = 2;
            p.cp_mode = ContextParallel::all_gather;
        },
        [](auto&, auto& p, auto&) { p.micro_batch = 2; },
        [](auto&, auto& p, auto&) { p.zero = 1; },
        [](auto&, auto& p, auto&) { p.recompute = Recompute::full; },
        [](auto&, auto& p, auto&) {
            p.recompute = Recompute::full;
            p.recompute_layers = 3;
        },
        [](auto&, auto& p, auto&) { p.recompute = Recompute::selective; },
        [](auto&, auto& p, auto&) {
            p.recompute = Recompute::selective;
            p.recompute_modules = {RecomputeModule::layernorm};
        },
        [](auto&, auto& p, auto&) {
            p.recompute = Recompute::selective;
            p.recompute_modules = {RecomputeModule::op};
        },
        [](auto&, auto& p, auto&) { p.offload = Offload::optimizer; },
        [](auto&, auto& p, auto&) { p.attention = AttentionKernel::unfused; },
        [](auto&, auto& p, auto&) { p.optimizer = Optimizer::sgd; },
        [](auto&, auto& p, auto&) { p.precision = Precision::fp8; },
        [](auto&, auto& p, auto&) { p.gradients = GradientFormat::bf16; },
        [](auto&, auto& p, auto&) { p.dropout = Switch::on; },
        [](auto&, auto& p, auto&) { p.fused_cross_entropy = Switch::on; },
        [](auto&, auto& p, auto&) { p.fp8_activation_input = Switch::on; },
        [](auto&, auto& p, auto&) { p.loss_chunks = 8; },
        [](auto&, auto&, auto& w) { w.sequence = 4096; },
        [](auto&, auto&, auto& w) { w.global_batch = 128; },
    };
    std::set<std::string> digests;
    for (Change const& change : changes) {
        ModelSpec model = llama(2048, 16, 8, 16, 5632);
        ParallelPlan plan;
        Workload workload{.sequence = 2048, .global_batch = 64};
        change(model, plan, workload);
        std::string const text = digest(build_step_graph(model, plan, workload));
        CHECK(text == digest(build_step_graph(model, plan, workload)));
        CHECK(text.size() == 16);
        CHECK(text.find_first_not_of("0123456789abcdef") == std::string::npos);
        digests.insert(text);
    }
    CHECK(digests.size() == changes.size());
}

TEST_CASE("build_step_graph: refuses a plan that breaks a rule", "[INV-11]") {
    CHECK_THROWS_AS(build_step_graph(llama(2048, 16, 8, 16, 5632), {.tp = 3}, {.sequence = 2048, .global_batch = 64}),
                    InputError);
}
