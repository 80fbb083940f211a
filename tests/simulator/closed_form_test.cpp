#include "simulator/closed_form.hpp"

#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "core/spec/parameters.hpp"
#include "core/spec/schedule_traits.hpp"
#include "simulator/step_program.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

Workload const workload{.sequence = 2048, .global_batch = 128};

ModelSpec model_of(std::size_t i) {
    switch (i % 3) {
        case 0: return gpt(2048, 16, 16);
        case 1: return llama(4096, 32, 8, 32, 14336);
        default: return mixture(2048, 16, 16, 2, 1408, 1);
    }
}

ParallelPlan random_plan(std::mt19937_64& random, ModelSpec const& model) {
    for (;;) {
        ParallelPlan plan;
        plan.dp = pick<std::int64_t>(random, {1, 2, 8, 16});
        plan.tp = pick<std::int64_t>(random, {1, 2, 4, 8, 16});
        plan.pp = pick<std::int64_t>(random, {1, 2, 4, 8});
        plan.cp = pick<std::int64_t>(random, {1, 1, 2});
        plan.ep = model.moe ? pick<std::int64_t>(random, {1, 2, 8}) : 1;
        plan.micro_batch = pick<std::int64_t>(random, {1, 2, 4});
        plan.schedule =
            pick(random, {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::breadth_first,
                          Schedule::zb_h1, Schedule::zb_h2, Schedule::zb_v, Schedule::dualpipe, Schedule::dualpipe_v});
        plan.vpp = traits_of(plan.schedule).least_chunks;
        plan.zero = static_cast<int>(random() % 4);
        plan.recompute = pick(random, {Recompute::none, Recompute::selective, Recompute::full});
        plan.sequence_parallel = pick(random, {Switch::off, Switch::on});
        plan.attention = pick(random, {AttentionKernel::flash, AttentionKernel::unfused, AttentionKernel::eager});
        plan.offload = pick(random, {Offload::none, Offload::none, Offload::optimizer, Offload::activations});
        if (plan.zero == 3 && plan.offload == Offload::optimizer) plan.offload = Offload::parameters;
        plan.dropout = pick(random, {Switch::off, Switch::on});
        plan.loss_chunks = pick<std::int64_t>(random, {1, 1, 8});
        if (random() % 4 == 0)
            plan.adapters = {.rank = 16,
                             .targets = adapter_targets_from(pick(random, {"attention", "all", "q,v"}), "test"),
                             .base = pick(random, {BaseWeights::bf16, BaseWeights::fp8, BaseWeights::nf4})};
        if (!find_fault(model, plan, workload)) return plan;
    }
}

FrameworkProfile lifelike() {
    FrameworkProfile framework = neutral_framework();
    FrameworkTiming& t = framework.timing.front();
    t.gemm_scale = known(0.85);
    t.host_floor_forward = known(200 * units::us);
    t.host_floor_backward = known(400 * units::us);
    t.kernel_gap = known(1 * units::us);
    t.fixed_per_step = known(20 * units::ms);
    t.tp_overlap = t.dp_overlap = t.fsdp_overlap = t.pp_overlap = t.cp_overlap = known(0.5);
    return framework;
}

StepEstimate estimate(ModelSpec const& model, ParallelPlan const& plan, ClusterSpec const& machine,
                      FrameworkProfile const& framework) {
    return ClosedForm(model, workload, machine, framework, plan.precision).evaluate(plan);
}

}  // namespace

TEST_CASE("a shard group of one is no ZeRO, one of all ranks is ZeRO without groups, for experts too",
          "[INV-24][INV-25]") {
    std::mt19937_64 random(seeded(11));
    int groups_of_one = 0, of_all = 0;
    for (std::size_t i = 0; i < 600; ++i) {
        ModelSpec const model = model_of(i);
        ParallelPlan const plan = random_plan(random, model);
        if (plan.zero == 0) continue;
        CAPTURE(plan.dp, plan.tp, plan.pp, plan.cp, plan.ep, plan.zero, name_of(plan.schedule), model.name);
        auto const same = [&](ParallelPlan const& a, ParallelPlan const& b) {
            StepEstimate const one = estimate(model, a, cluster(), lifelike());
            StepEstimate const other = estimate(model, b, cluster(), lifelike());
            CHECK(one.time.base() == Approx(other.time.base()).epsilon(1e-12));
            CHECK(one.memory.reserved().base() == Approx(other.memory.reserved().base()).epsilon(1e-12));
        };
        ParallelPlan grouped = plan;
        grouped.shard_group = plan.dp * plan.cp;
        if (!find_fault(model, grouped, workload)) {
            same(grouped, plan);
            ++of_all;
        }
        grouped.shard_group = 1;
        // Tensor-parallel ranks that hold the same experts share their state in the smallest group.
        if (model.moe && plan.tp > plan.ep) continue;
        if (find_fault(model, grouped, workload)) continue;
        ParallelPlan replicas = plan;
        replicas.zero = 0;
        same(grouped, replicas);
        ++groups_of_one;
    }
    CHECK(groups_of_one > 100);
    CHECK(of_all > 200);
}

TEST_CASE("the breakdown adds up to the step time, and no part is negative", "[INV-25]") {
    std::mt19937_64 random(seeded(1));
    for (std::size_t i = 0; i < 600; ++i) {
        ModelSpec const model = model_of(i);
        ParallelPlan const plan = random_plan(random, model);
        StepEstimate const e = estimate(model, plan, cluster(), lifelike());
        StepBreakdown const& b = e.breakdown;
        CAPTURE(plan.dp, plan.tp, plan.pp, plan.vpp, plan.cp, plan.ep, plan.zero, name_of(plan.schedule),
                name_of(plan.recompute));
        CHECK(e.time.base() == Approx(b.total().base()).epsilon(1e-12));
        for (Seconds const part : {b.gemm, b.attention, b.memory_bound, b.host, b.recompute, b.tp, b.cp, b.ep, b.pp,
                                   b.bubble, b.dp, b.optimizer, b.offload, b.fixed})
            CHECK(part.base() >= -1e-12 * e.time.base());
        CHECK(b.gemm > Seconds{});
        if (plan.offload == Offload::none) CHECK(b.offload == Seconds{});
        if (plan.pp == 1) CHECK(b.pp == Seconds{});
        if (plan.recompute == Recompute::none) CHECK(b.recompute == Seconds{});
        // Walked, the same: it only says the bubble more exactly, and pairs hide no more when it does.
        ClusterSpec const machine = cluster();
        FrameworkProfile const framework = lifelike();
        StepEstimate const walked =
            ClosedForm(model, workload, machine, framework, plan.precision).evaluate(plan, PipelineMethod::walk);
        CHECK(walked.time.base() == Approx(walked.breakdown.total().base()).epsilon(1e-12));
        // With chunks the closed form takes a rank's for alike, which they are but for the ends of the model.
        CHECK(walked.time.base() >= e.time.base() * (1 - (plan.vpp > 1 ? 5e-3 : 1e-9)));
        CHECK(walked.peak() == e.peak());
        CHECK(walked.breakdown.bubble.base() >= -1e-12 * e.time.base());
    }
}

TEST_CASE("on one data-parallel rank every ZeRO stage takes the same time") {
    ClusterSpec const machine = cluster();
    ModelSpec const model = model_of(1);
    for (double const summed : {0.0, 6.0, 12.0}) {
        FrameworkProfile framework = neutral_framework();
        framework.timing.front().gradient_sum_bytes = known(summed);
        ClosedForm form(model, workload, machine, framework, Precision::bf16);
        ParallelPlan plan{.tp = 8};
        Seconds const whole = form.evaluate(plan).time;
        for (plan.zero = 1; plan.zero <= 3; ++plan.zero)
            CHECK(form.evaluate(plan).time.base() == whole.base());
    }
}

TEST_CASE("a step is never shorter than its FLOPs at the peak of all accelerators", "[INV-14]") {
    std::mt19937_64 random(seeded(2));
    for (std::size_t i = 0; i < 200; ++i) {
        ModelSpec const model = model_of(i);
        ParallelPlan const plan = random_plan(random, model);
        StepGraph const graph = build_step_graph(model, plan, workload);
        Flops executed;
        for (std::size_t stage = 0; stage < graph.layout.stages.size(); ++stage)
            executed +=
                stage_work(graph, stage, Pass::forward).executed + stage_work(graph, stage, Pass::backward).executed;
        Seconds const floor = static_cast<double>(graph.microbatches) * executed / static_cast<double>(plan.pp) /
                              accelerator().peak_of(Precision::bf16).value;
        CHECK(estimate(model, plan, cluster(), neutral_framework()).time > floor);
    }
}

TEST_CASE("a machine twice as fast in every respect takes half the step time", "[INV-13]") {
    ClusterSpec const machine = cluster();
    ClusterSpec twice = machine;
    for (auto& [precision, peak] : twice.accelerator.peak)
        peak.value *= 2;
    twice.accelerator.vector_peak.value *= 2;
    twice.accelerator.memory_bandwidth.value *= 2;
    twice.accelerator.host_bandwidth.value *= 2;
    twice.accelerator.launch_latency.value /= 2;
    twice.scale_up.bandwidth.value *= 2;
    twice.scale_out->bandwidth.value *= 2;
    for (Seconds* latency : {&twice.scale_up.base_latency.value, &twice.scale_up.hop_latency.value,
                             &twice.scale_out->base_latency.value, &twice.scale_out->hop_latency.value})
        *latency /= 2;
    FrameworkProfile const framework = lifelike();
    FrameworkProfile quick = framework;
    FrameworkTiming& t = quick.timing.front();
    for (Seconds* time :
         {&t.host_floor_forward.value, &t.host_floor_backward.value, &t.kernel_gap.value, &t.fixed_per_step.value})
        *time /= 2;
    std::mt19937_64 random(seeded(3));
    for (std::size_t i = 0; i < 200; ++i) {
        ModelSpec const model = model_of(i);
        ParallelPlan plan = random_plan(random, model);
        if (offloads_optimizer(plan)) plan.offload = Offload::none;  // the host's own speed is no part of the profile
        CHECK(estimate(model, plan, twice, quick).time.base() ==
              Approx(0.5 * estimate(model, plan, machine, framework).time.base()).epsilon(1e-9));
    }
}

TEST_CASE("a faster machine or network is never slower", "[INV-15]") {
    ClusterSpec const machine = cluster();
    std::mt19937_64 random(seeded(4));
    for (std::size_t i = 0; i < 300; ++i) {
        ModelSpec const model = model_of(i);
        ParallelPlan const plan = random_plan(random, model);
        ClusterSpec better = machine;
        switch (random() % 5) {
            case 0: better.scale_up.bandwidth.value *= 2; break;
            case 1: better.scale_out->bandwidth.value *= 2; break;
            case 2: better.accelerator.memory_bandwidth.value *= 2; break;
            case 3: better.accelerator.host_bandwidth.value *= 2; break;
            default: better.scale_out->hop_latency.value /= 2; break;
        }
        CAPTURE(model.name, plan.dp, plan.tp, plan.pp, plan.cp, plan.ep, plan.vpp, plan.zero, name_of(plan.schedule),
                name_of(plan.recompute), name_of(plan.offload), adapters_label(plan.adapters), plan.micro_batch);
        // Without overlap: with it, faster compute leaves less to hide transfers behind.
        CHECK(estimate(model, plan, better, neutral_framework()).time.base() <=
              estimate(model, plan, machine, neutral_framework()).time.base() * (1 + 1e-12));
    }
}

TEST_CASE("a faster device is never slower where sends, gathers and copies to the host run beside its passes",
          "[INV-15]") {
    // Of split backwards the half that the host binds need not become shorter with the other.
    ClusterSpec machine = cluster();
    machine.accelerator.host_bandwidth.value = 10 * units::GB / units::s;
    std::mt19937_64 random(seeded(14));
    int offloaded = 0;
    for (std::size_t i = 0; offloaded < 100; ++i) {
        ModelSpec const model = model_of(i);
        ParallelPlan plan = random_plan(random, model);
        plan.offload = pick(random, {Offload::none, Offload::activations, Offload::optimizer_and_activations});
        if (traits_of(plan.schedule).split_backward == Switch::on || find_fault(model, plan, workload)) continue;
        if (plan.offload != Offload::none) ++offloaded;
        ClusterSpec better = machine;
        if (random() % 2 == 0)
            better.accelerator.memory_bandwidth.value *= 2;
        else
            for (auto& [precision, peak] : better.accelerator.peak)
                peak.value *= 2;
        CAPTURE(model.name, plan.dp, plan.tp, plan.cp, plan.ep, plan.zero, name_of(plan.recompute),
                name_of(plan.offload), plan.micro_batch);
        CHECK(estimate(model, plan, better, lifelike()).time.base() <=
              estimate(model, plan, machine, lifelike()).time.base() * (1 + 1e-12));
    }
}

TEST_CASE("a faster network is never slower where exchanges hide in pairs that the host has to launch", "[INV-15]") {
    ModelSpec const model = mixture(2048, 16, 16, 2, 1408, 1);
    ClusterSpec const machine = cluster();
    std::mt19937_64 random(seeded(15));
    int bound = 0;
    for (int i = 0; i < 100; ++i) {
        ParallelPlan plan{.dp = 8, .tp = pick<std::int64_t>(random, {1, 2}), .pp = 4, .ep = 8};
        plan.schedule = pick(random, {Schedule::dualpipe, Schedule::dualpipe_v, Schedule::overlapped});
        plan.vpp = traits_of(plan.schedule).least_chunks;
        FrameworkProfile framework = lifelike();
        FrameworkTiming& t = framework.timing.front();
        t.host_floor_forward = known(uniform(random, 0, 8) * units::ms);
        t.host_floor_backward = known(2.0 * t.host_floor_forward.value);
        ClusterSpec better = machine;
        better.scale_up.bandwidth.value *= 2;
        better.scale_out->bandwidth.value *= 2;
        CAPTURE(i, plan.tp, name_of(plan.schedule), t.host_floor_forward.value.base());
        StepEstimate const before = estimate(model, plan, machine, framework);
        if (before.breakdown.host > 0.1 * before.time) ++bound;
        // A thousandth: what the host waits for moves between the halves of a backward.
        CHECK(estimate(model, plan, better, framework).time.base() <= before.time.base() * 1.001);
    }
    CHECK(bound > 20);
    CHECK(bound < 100);
}

TEST_CASE("keys and values that are gathered from all context-parallel ranks are there in a layer's backward") {
    ModelSpec const model = llama(4096, 32, 8, 4, 14336, 1024);  // a head too small to hold the peak
    ParallelPlan plan;
    plan.cp = 8;
    plan.recompute = Recompute::full;
    auto const allocated = [&](ContextParallel mode) {
        plan.cp_mode = mode;
        return estimate(model, plan, cluster(), neutral_framework()).memory.allocated();
    };
    // All tokens' keys and values of 8 heads of 128 in two bytes, and as much of gradients.
    Bytes const gathered = 2.0 * (2 * 2048 * 2 * 8 * 128) * units::B;
    CHECK((allocated(ContextParallel::all_gather) - allocated(ContextParallel::ring)).base() ==
          Approx(gathered.base()));
}

TEST_CASE("stronger recompute never raises the peak and never saves time", "[INV-7]") {
    std::mt19937_64 random(seeded(5));
    for (std::size_t i = 0; i < 300; ++i) {
        ModelSpec const model = model_of(i);
        ParallelPlan plan = random_plan(random, model);
        if (plan.pp > 4) plan.pp = 4;  // several layers a stage: a single one is held whole while it is run again
        if (find_fault(model, plan, workload)) continue;
        plan.offload = Offload::none;
        StepEstimate before;
        for (Recompute const policy : {Recompute::none, Recompute::selective, Recompute::full}) {
            plan.recompute = policy;
            StepEstimate const now = estimate(model, plan, cluster(), lifelike());
            CAPTURE(name_of(policy), plan.pp, plan.tp, plan.zero);
            if (policy != Recompute::none) {
                CHECK(now.peak() <= before.peak());
                CHECK(now.time.base() >= before.time.base() * (1 - 1e-12));
            }
            before = now;
        }
    }
}

TEST_CASE("recomputing some layers lies between none and all", "[INV-7]") {
    ModelSpec const model = llama(4096, 32, 8, 32, 14336);
    ParallelPlan plan{.dp = 4, .tp = 2, .pp = 4, .micro_batch = 2};
    plan.recompute = Recompute::full;
    StepEstimate before;
    for (std::int64_t layers = 1; layers <= 8; ++layers) {
        plan.recompute_layers = layers;
        StepEstimate const now = estimate(model, plan, cluster(), neutral_framework());
        if (layers > 1) {
            CHECK(now.peak() < before.peak());
            CHECK(now.time > before.time);
        }
        before = now;
    }
    plan.recompute_layers = 0;
    CHECK(estimate(model, plan, cluster(), neutral_framework()).time == before.time);
}

TEST_CASE("recomputing some layers of two kinds keeps all of those behind the first", "[INV-7]") {
    ModelSpec const model = mixture(1024, 16, 16, 2, 768, 3);
    ParallelPlan plan{.dp = 4, .pp = 4, .ep = 4};
    plan.recompute = Recompute::full;
    plan.recompute_layers = GENERATE(1, 3);
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    Workload const work{.sequence = 2048, .global_batch = 64};
    ClosedForm form(model, work, machine, framework, plan.precision);
    std::vector<StageMemory> const memory = memory_by_stage(form, plan);
    StepProgram const program = build_step_program(form, plan);  // layer by layer
    for (std::size_t stage = 0; stage < 4; ++stage)
        CHECK(memory[stage].activations.base() ==
              Approx(static_cast<double>(4 - stage) * program.kept(stage).base()).epsilon(1e-12));
}

TEST_CASE("the reported memory is that of the fullest stage of the budget sheet", "[INV-21]") {
    std::mt19937_64 random(seeded(6));
    for (std::size_t i = 0; i < 300; ++i) {
        ModelSpec const model = model_of(i);
        ParallelPlan const plan = random_plan(random, model);
        ClusterSpec const machine = cluster();
        FrameworkProfile const framework = lifelike();
        ClosedForm form(model, workload, machine, framework, plan.precision);
        std::vector<StageMemory> const sheet = memory_by_stage(form, plan);
        REQUIRE(static_cast<std::int64_t>(sheet.size()) == plan.pp);
        Bytes fullest;
        for (StageMemory const& stage : sheet)
            fullest = std::max(fullest, stage.reserved());
        StepEstimate const e = form.evaluate(plan);
        CHECK(e.peak() == fullest);
        CHECK(sheet[static_cast<std::size_t>(e.fullest_stage)].reserved() == fullest);
    }
}

TEST_CASE("an evaluator that has seen other plans says the same, to the bit", "[INV-12]") {
    std::mt19937_64 random(seeded(7));
    for (std::size_t kind = 0; kind < 3; ++kind) {
        ModelSpec const model = model_of(kind);
        ClusterSpec const machine = cluster();
        FrameworkProfile const framework = lifelike();
        ClosedForm used(model, workload, machine, framework, Precision::bf16);
        for (int i = 0; i < 200; ++i) {
            ParallelPlan const plan = random_plan(random, model);
            StepEstimate const a = used.evaluate(plan);
            StepEstimate const b = estimate(model, plan, machine, framework);
            CHECK(a.time == b.time);
            CHECK(a.peak() == b.peak());
            CHECK(a.slowest_stage == b.slowest_stage);
        }
    }
}

TEST_CASE("one accelerator: the step is the sum of its passes and the update", "[INV-25]") {
    ModelSpec const model = llama(1024, 8, 8, 4, 4096);
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ParallelPlan const plan;
    Pricer pricer(machine, framework.timing.front());
    PricedBlocks const blocks = pricer.price(build_blocks(model, plan, workload.sequence), plan);
    Seconds const passes = 4 * (blocks.layers[0].forward.total() + blocks.layers[0].backward.total()) +
                           blocks.embedding.forward.total() + blocks.embedding.backward.total() +
                           blocks.head.forward.total() + blocks.head.backward.total();
    StepEstimate const e = estimate(model, plan, machine, framework);
    CHECK(e.time.base() == Approx((128 * passes + e.breakdown.optimizer).base()).epsilon(1e-12));
    CHECK(e.breakdown.bubble.base() == Approx(0).margin(1e-12));
    CHECK(e.breakdown.dp == Seconds{});
}

TEST_CASE("a send to the next stage is all of the hidden states, and a rank's tokens with sequence parallelism") {
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ModelSpec const model = model_of(1);  // h = 4096
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    ParallelPlan plan{.dp = 2, .tp = 4, .pp = 2, .micro_batch = 2};
    CollectiveCurve const& link =
        form.pricer().curve(CollectiveKind::send_receive, place(GroupKind::pipeline, plan, machine));
    // 2 sequences of 2048 tokens, 4096 values of 2 bytes each: 33,554,432 bytes, a quarter with sequence parallelism.
    CHECK(form.assemble(form.price_shape(plan), plan).transfer == link.time(33'554'432 * units::B));
    plan.sequence_parallel = Switch::on;
    CHECK(form.assemble(form.price_shape(plan), plan).transfer == link.time(8'388'608 * units::B));
}

TEST_CASE("under frameworks that send parts, ranks send one each to the next stage and gather them") {
    ClusterSpec const machine = cluster();
    FrameworkProfile framework = neutral_framework();
    framework.usual.sends = StageSends::parts;
    ModelSpec const model = model_of(1);
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    ParallelPlan plan{.dp = 2, .tp = 4, .pp = 2, .micro_batch = 2};
    CollectiveCurve const& link =
        form.pricer().curve(CollectiveKind::send_receive, place(GroupKind::pipeline, plan, machine));
    CollectiveCurve const& gather =
        form.pricer().curve(CollectiveKind::all_gather, place(GroupKind::tensor, plan, machine));
    auto const transfer = [&] { return form.assemble(form.price_shape(plan), plan).transfer; };
    CHECK(transfer() == link.time(8'388'608 * units::B) + gather.time(33'554'432 * units::B));
    plan.sequence_parallel = Switch::on;
    CHECK(transfer() == link.time(8'388'608 * units::B));
}

TEST_CASE("a prediction module is held as a layer: gathered by itself, and with narrow copies", "[INV-20]") {
    ModelSpec model = mixture(2048, 16, 16, 2, 1408);
    FrameworkProfile framework = neutral_framework();
    framework.memory.logits_bytes = known(0.0);  // what is there at another time
    auto const memory = [&](std::int64_t modules, ParallelPlan const& plan) {
        model.mtp_modules = modules;
        return estimate(model, plan, cluster(), framework).memory;
    };
    ParallelPlan plan{.dp = 8, .zero = 3};
    // A layer, its projection from 2 h to h, and norms of the embedding, the hidden state and the output.
    double const layer = static_cast<double>(total_count(layer_parameters(model, model.layers.back())));
    model.mtp_modules = 1;
    double const module = static_cast<double>(total_count(mtp_parameters(model)));
    // Weights and gradients of the module at work and weights of the next, in two bytes, where a layer had them.
    Bytes const without = memory(0, plan).buffers;
    CHECK((memory(1, plan).buffers - without).base() == Approx(6 * (module - layer)));
    CHECK(memory(2, plan).buffers == memory(1, plan).buffers);

    plan = {.dp = 8, .zero = 1, .precision = Precision::fp8};
    auto const copies = [&](std::int64_t modules) {
        plan.narrow_copies = Switch::off;
        Bytes const alone = memory(modules, plan).weights;
        plan.narrow_copies = Switch::on;
        return (memory(modules, plan).weights - alone).base();
    };
    CHECK(copies(1) - copies(0) == Approx(2 * module));
}

TEST_CASE("a prediction module that runs again beside no layers is there in full", "[INV-21]") {
    ModelSpec model = mixture(2048, 16, 16, 2, 1408);
    model.mtp_modules = 1;
    ParallelPlan plan{.pp = 2, .recompute = Recompute::full};
    plan.stage_layers = {16, 0};
    FrameworkProfile framework = neutral_framework();
    framework.memory.logits_bytes = known(0.0);  // what is there at another time
    ClusterSpec const machine = cluster();
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    PipelineCost const pipeline = form.assemble(form.price_shape(plan), plan);
    Bytes const of_layers = pipeline.stages.front().load.working_layer;
    CHECK(of_layers > Bytes{});
    CHECK(pipeline.stages.back().load.working_layer >= of_layers);
}

TEST_CASE("a bad plan is refused, not evaluated", "[INV-11]") {
    CHECK_THROWS_AS(estimate(llama(4096, 32, 8, 32, 14336), {.tp = 3}, cluster(), neutral_framework()), InputError);
}
