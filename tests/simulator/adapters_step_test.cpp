#include "core/graph/plan_check.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/schedule_traits.hpp"
#include "simulator/closed_form.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

using namespace sextant;
using namespace sextant::fixtures;

namespace {

Workload const workload{.sequence = 4096, .global_batch = 64};

LowRankAdapters adapters(std::int64_t rank, std::string_view targets = "attention",
                         BaseWeights base = BaseWeights::bf16) {
    return {.rank = rank, .targets = adapter_targets_from(targets, "test"), .base = base};
}

ParallelPlan random_plan(std::mt19937_64& random, ModelSpec const& model) {
    for (;;) {
        ParallelPlan plan;
        plan.dp = pick<std::int64_t>(random, {1, 2, 8});
        plan.tp = pick<std::int64_t>(random, {1, 2, 4});
        plan.pp = pick<std::int64_t>(random, {1, 2, 4});
        plan.cp = pick<std::int64_t>(random, {1, 1, 2});
        plan.schedule = pick(random, {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zb_h1,
                                      Schedule::dualpipe});
        plan.vpp = traits_of(plan.schedule).least_chunks;
        plan.zero = static_cast<int>(random() % 4);
        plan.recompute = pick(random, {Recompute::none, Recompute::selective, Recompute::full});
        plan.sequence_parallel = plan.tp > 1 ? Switch::on : Switch::off;
        plan.precision = pick(random, {Precision::bf16, Precision::fp8});
        if (!find_fault(model, plan, workload)) return plan;
    }
}

StepEstimate evaluate(ModelSpec const& model, ParallelPlan const& plan) {
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ClosedForm form(model, workload, machine, framework, plan.precision);
    return form.evaluate(plan, PipelineMethod::walk);
}

}  // namespace

TEST_CASE("adapters: of a large model a bf16 step is no slower than full training, and none takes more memory",
          "[INV-72]") {
    std::mt19937_64 random(seeded(1));
    ModelSpec const model = llama(8192, 64, 8, 16, 28672);
    for (int i = 0; i < 150; ++i) {
        ParallelPlan plan = random_plan(random, model);
        StepEstimate const full = evaluate(model, plan);
        plan.adapters = adapters(pick<std::int64_t>(random, {8, 16, 64}), pick(random, {"attention", "all", "qkv,o"}));
        StepEstimate const tuned = evaluate(model, plan);
        CAPTURE(plan.dp, plan.tp, plan.pp, plan.cp, plan.zero, name_of(plan.schedule), name_of(plan.recompute));
        // Adapters run in 16 bit beside fp8 products: on many small matrices they may cost what weight gradients do.
        if (plan.precision == Precision::bf16) CHECK(tuned.time <= full.time);
        CHECK(tuned.peak() <= full.peak());
        CHECK(tuned.breakdown.total().base() == Approx(tuned.time.base()));
    }
}

TEST_CASE("adapters: frozen weights take their format's bytes, and no gradient or optimizer state", "[INV-72]") {
    ModelSpec const model = llama(4096, 32, 8, 32, 14336);
    ParallelPlan plan;
    plan.recompute = Recompute::full;
    plan.adapters = adapters(16);
    double const matrices = 32.0 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336);
    double const others = 32.0 * 2 * 4096 + 4096 + 2 * 4096.0 * 32768;
    double const trained = 32 * 16.0 * (2 * 8192 + 2 * 5120);
    for (BaseWeights const base : {BaseWeights::bf16, BaseWeights::fp8, BaseWeights::int8, BaseWeights::nf4}) {
        CAPTURE(name_of(base));
        plan.adapters.base = base;
        StageMemory const m = evaluate(model, plan).memory;
        CHECK(m.weights.base() == Approx(bytes_per_weight(base) * matrices + 2 * others + 2 * trained).epsilon(1e-12));
        CHECK(m.gradients.base() == Approx(2 * trained).epsilon(1e-12));
        CHECK(m.optimizer.base() == Approx(12 * trained).epsilon(1e-12));
    }
}

TEST_CASE("adapters: ZeRO 3 shards and gathers frozen weights in their format, and reduces adapters only", "[INV-72]") {
    ModelSpec const model = llama(4096, 32, 8, 32, 14336);
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    ParallelPlan plan;
    plan.dp = 8;
    plan.zero = 3;
    double const matrices = 32.0 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336);
    double const others = 32.0 * 2 * 4096 + 4096 + 2 * 4096.0 * 32768;
    double const trained = 32 * 16.0 * (2 * 8192 + 2 * 5120);
    for (BaseWeights const base : {BaseWeights::bf16, BaseWeights::nf4}) {
        plan.adapters = adapters(16, "attention", base);
        PipelineCost const cost = form.assemble(form.price_shape(plan), plan);
        StageLoad const& load = cost.stages.front().load;
        double const held = bytes_per_weight(base) * matrices + 2 * others;
        CHECK(frozen_bytes(load.frozen, plan).base() == Approx(held).epsilon(1e-12));
        CHECK(stage_memory(load, plan, framework.memory).weights.base() ==
              Approx((held + 2 * trained) / 8).epsilon(1e-12));
        auto const time_of = [&](CollectiveCurve const& curve, double bytes) {
            return 32 * curve.time(bytes / 32 * units::B).base();
        };
        for (DataParallelCall const& call : data_parallel_calls(load, plan, cost.data_parallel, form.timing())) {
            bool const gathers = call.kind == CollectiveKind::all_gather;
            CHECK(call.stage_time().base() == Approx(gathers
                                                         ? time_of(*cost.data_parallel.dense.gather, held + 2 * trained)
                                                         : time_of(*cost.data_parallel.dense.scatter, 4 * trained)));
        }
    }
}

TEST_CASE("adapters: FSDP's units gather frozen weights before each forward under ZeRO 2, DeepSpeed's ranks have them",
          "[INV-72]") {
    ModelSpec const model = llama(4096, 32, 8, 32, 14336);
    ClusterSpec const machine = cluster();
    for (char const* const name : {"fsdp", "torchtitan", "deepspeed"}) {
        FrameworkProfile const framework = find_framework(name, "test");
        ClosedForm form(model, workload, machine, framework, Precision::bf16);
        ParallelPlan plan{.dp = 8, .zero = 2};
        plan.adapters = adapters(16);
        PipelineCost const cost = form.assemble(form.price_shape(plan), plan);
        StageLoad const& load = cost.stages.front().load;
        bool const units = name != std::string_view("deepspeed");
        double const held = frozen_bytes(load.frozen, plan).base();
        double const sent = (units ? held : 0) + 2 * load.parameters.dense;
        CAPTURE(name);
        int gathers = 0;
        for (DataParallelCall const& call : data_parallel_calls(load, plan, cost.data_parallel, form.timing())) {
            if (call.kind != CollectiveKind::all_gather) continue;
            ++gathers;
            CHECK(call.moment == (units ? DataParallelMoment::forward_each : DataParallelMoment::forward_first));
            CHECK(call.stage_time().base() ==
                  Approx(32 * cost.data_parallel.dense.gather->time(sent / 32 * units::B).base()));
        }
        CHECK(gathers == 1);
        double const ranks = units ? 8 : 1;
        CHECK(stage_memory(load, plan, framework.memory).weights.base() >= held / ranks);
        CHECK(stage_memory(load, plan, framework.memory).weights.base() < 1.1 * held / ranks);
    }
}

TEST_CASE("adapters: quantised weights take less memory and more time, with recompute most of all", "[INV-72]") {
    ModelSpec const model = llama(4096, 32, 8, 32, 14336);
    ParallelPlan plan;
    plan.adapters = adapters(16);
    auto const extra = [&](Recompute recompute) {
        plan.recompute = recompute;
        plan.adapters.base = BaseWeights::bf16;
        StepEstimate const plain = evaluate(model, plan);
        plan.adapters.base = BaseWeights::nf4;
        StepEstimate const packed = evaluate(model, plan);
        CHECK(packed.peak() < plain.peak());
        return packed.time - plain.time;
    };
    Seconds const without = extra(Recompute::none);
    CHECK(without > Seconds{});
    CHECK(extra(Recompute::full) / without == Approx(1.5).epsilon(0.01));  // three uses of each matrix, not two
}
