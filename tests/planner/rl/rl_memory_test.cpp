#include "core/spec/output_head.hpp"
#include "planner/rl/rl_split.hpp"
#include "planner/rl/role_costs.hpp"
#include "tests/catch.hpp"
#include "tests/planner/rl/rl_case.hpp"

#include <algorithm>

using namespace sextant;

namespace {

RoleMemory const* memory_of(RlStep const& step, std::string const& role) {
    auto const found =
        std::find_if(step.memory.begin(), step.memory.end(), [&](RoleMemory const& m) { return m.role == role; });
    return found == step.memory.end() ? nullptr : &*found;
}

RlQuestion fixed_question(double tokens) {
    RlQuestion q = small_question();
    q.lengths = {.kind = LengthKind::fixed, .mean = tokens, .variation = 0, .maximum = tokens};
    return q;
}

}  // namespace

TEST_CASE("rl: an update of equal sequences is that of the plan, and its memory too", "[memory]") {
    RlQuestion const q = fixed_question(600);
    RlPlanner planner(q);
    RlStep const step = planner.step(RlMode::split, 4, 1);
    REQUIRE(step.possible());
    Workload const workload = update_workload(q);
    ClosedForm form(q.policy, workload, q.machine.cluster, q.machine.framework, Precision::bf16);
    StepEstimate const alone = form.evaluate(step.training->plan, PipelineMethod::walk);
    CHECK(step.update / alone.time == Approx(1));
    CHECK(step.training->estimate.peak() / alone.peak() == Approx(1));
}

TEST_CASE("rl: a microbatch of the trainer holds the longest sequence", "[memory]") {
    RlQuestion const q = small_question();
    Workload const mean{.sequence = 800, .global_batch = 128};
    Workload const longest{.sequence = 3200, .global_batch = 128};
    ParallelPlan plan;
    plan.dp = 2;
    plan.pp = GENERATE(1, 2);
    plan.recompute = GENERATE(Recompute::none, Recompute::full);
    ClosedForm form(q.policy, mean, q.machine.cluster, q.machine.framework, Precision::bf16);
    ClosedForm long_form(q.policy, longest, q.machine.cluster, q.machine.framework, Precision::bf16);
    StepEstimate const before = form.evaluate(plan);
    form.hold_longest(3200);
    StepEstimate const held = form.evaluate(plan);
    CHECK(held.time == before.time);
    CHECK(held.peak() / long_form.evaluate(plan).peak() == Approx(1).epsilon(1e-6));
    plan.micro_batch = 4;  // as many tokens
    CHECK(form.evaluate(plan).peak() / held.peak() == Approx(1).epsilon(1e-6));
}

TEST_CASE("rl: a step whose longest response cannot be trained on is not possible", "[memory]") {
    RlQuestion q = small_question();
    // One plan, so that nothing else fits in its place.
    q.machine.constraints.recompute = {Recompute::none};
    for (auto axis : {&SearchConstraints::tp, &SearchConstraints::pp, &SearchConstraints::cp,
                      &SearchConstraints::micro_batch, &SearchConstraints::zero})
        q.machine.constraints.*axis = AxisFilter::parse("1", "test");
    auto const split = [&] { return RlPlanner(q).step(RlMode::split, 4, 1); };
    RlStep const fits = split();
    INFO(fits.reason);
    REQUIRE(fits.possible());
    Bytes const needed = fits.training->estimate.peak();
    q.machine.limit.usable = 0.99 * needed;
    CHECK_THAT(split().reason, contains("training: memory"));
    q.lengths.kind = LengthKind::fixed;  // of the same mean
    RlStep const equal = split();
    REQUIRE(equal.possible());
    CHECK(equal.training->plan.dp == fits.training->plan.dp);
    CHECK(equal.training->estimate.peak() < 0.9 * needed);
}

TEST_CASE("rl: attention of unequal sequences goes by their squares", "[memory]") {
    SequenceLengths const lengths = sequence_lengths(100, {500, 500, 1700, 1700});
    CHECK(lengths.longest == 1800);
    CHECK(lengths.attended == Approx((600.0 * 600 + 1800.0 * 1800) / (600 + 1800)));
    RlQuestion const q = small_question();
    // Two thirds of the sequences of 2,048 tokens and one third of 8,192 have a mean of 4,096.
    auto const time = [&](std::int64_t tokens, double attended) {
        ClosedForm form(q.policy, {.sequence = tokens, .global_batch = 96}, q.machine.cluster, q.machine.framework,
                        Precision::bf16);
        ParallelPlan plan;
        plan.dp = 8;
        plan.pp = 1;
        PipelineCost const pipeline = pipeline_of_unequal(form, plan, {.longest = attended, .attended = attended});
        return form.finish(pipeline, plan).breakdown;
    };
    double const attended = (2 * 2048.0 * 2048 + 8192.0 * 8192) / (2 * 2048 + 8192);
    StepBreakdown const mixed = time(4096, attended);
    double const apart = (2 * time(2048, 0).attention.base() + time(8192, 0).attention.base()) / 3;
    CHECK(mixed.attention.base() == Approx(apart).epsilon(0.05));
    CHECK(mixed.attention > 1.2 * time(4096, 0).attention);
    CHECK(mixed.gemm == time(4096, 0).gemm);
}

TEST_CASE("rl: a frozen model that does not fit beside the training state makes gradients and optimizer move",
          "[memory]") {
    RlQuestion q = small_question();
    q.machine.constraints.zero = AxisFilter::parse("0", "test", 0);
    RlPlanner roomy(q);
    RlStep const fits = roomy.step(RlMode::split, 4, 1);
    REQUIRE(fits.possible());
    CHECK(fits.phases.swaps == Seconds{});
    RoleMemory const* const beside = memory_of(fits, "reference");
    REQUIRE(beside != nullptr);
    StageMemory const& state = fits.training->estimate.memory;
    CHECK(beside->needed > state.state() + state.weights);
    q.machine.limit.usable = std::max(state.reserved(), 0.999 * beside->needed);
    if (q.machine.limit.usable >= beside->needed) return;
    RlPlanner narrow(q);
    RlStep const moved = narrow.step(RlMode::split, 4, 1);
    REQUIRE(moved.possible());
    Bytes const out = moved.training->estimate.memory.gradients + moved.training->estimate.memory.optimizer;
    CHECK(moved.phases.swaps.base() ==
          Approx(2 * out.base() / q.machine.cluster.accelerator.host_bandwidth.value.base()));
    CHECK(memory_of(moved, "host memory")->needed == moved.waiting_weights + out);
}

TEST_CASE("rl: host memory holds what the training plan offloads", "[memory]") {
    RlQuestion q = small_question();
    q.machine.constraints.offload = {Offload::optimizer};
    RlPlanner planner(q);
    RlStep const step = planner.step(RlMode::split, 4, 1);
    REQUIRE(step.possible());
    Bytes const offloaded = step.training->estimate.memory.host;
    CHECK(offloaded > Bytes{});
    CHECK(memory_of(step, "host memory")->needed >= step.waiting_weights + offloaded);
    // A plan that needs a little less of it may do; where none has room there is none.
    q.machine.limit.host = 0.99 * memory_of(step, "host memory")->needed;
    RlStep const other = RlPlanner(q).step(RlMode::split, 4, 1);
    if (other.possible()) CHECK(memory_of(other, "host memory")->needed <= q.machine.limit.host);
    q.machine.limit.host = 0.5 * offloaded;
    CHECK_FALSE(RlPlanner(q).step(RlMode::split, 4, 1).possible());
}

TEST_CASE("rl: new weights that do not fit beside the trainer's come by way of host memory", "[memory]") {
    RlQuestion q = small_question();
    q.machine.constraints.base.adapters = {.rank = 16, .targets = attention_targets()};
    q.offload = StateOffload::always;
    RlPlanner roomy(q);
    RlStep const direct = roomy.step(RlMode::colocated, 8, 1);
    REQUIRE(direct.possible());
    CHECK(direct.sync.over_host == Seconds{});
    q.policy = find_model("qwen2.5-32b");
    q.accelerators = 1;
    q.prompts = 8;
    q.update_batch = 64;
    q.machine.constraints.base.adapters.targets = all_targets();
    RlPlanner narrow(q);
    RlStep const step = narrow.step(RlMode::colocated, 1, 1);
    INFO(step.reason);
    REQUIRE(step.possible());
    CHECK(step.sync.over_host.base() ==
          Approx(step.sync.rank_bytes.base() / q.machine.cluster.accelerator.host_bandwidth.value.base()));
    CHECK(step.phases.sync == step.sync.total());
    CHECK_THAT(memory_of(step, "new weights")->remark, contains("host memory"));
}

TEST_CASE("rl: a reward model only has to hold its weights and one forward microbatch", "[memory]") {
    RlQuestion q = small_question();
    q.reward = find_model("llama-3.1-70b");
    RlPlanner planner(q);
    RlStep const step = planner.step(RlMode::colocated, 8, 1);
    INFO(step.reason);
    REQUIRE(step.possible());
    CHECK(step.phases.reward > Seconds{});
    // 70.6e9 weights in two bytes over eight accelerators, without the output matrix.
    Trainer trainer(q.machine, update_workload(q), {});
    TrainerRole const& frozen = trainer.frozen(with_labels(*q.reward), 8, {});
    CHECK(frozen.weights.base() == Approx(2 * 69.5e9 / 8).epsilon(0.03));
    q.reward = find_model("llama-3.1-405b");
    RlPlanner large(q);
    CHECK_THAT(large.step(RlMode::colocated, 8, 1).reason, contains("reward model: memory: "));
}
