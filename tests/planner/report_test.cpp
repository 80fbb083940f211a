#include "planner/report.hpp"

#include "core/error.hpp"
#include "core/graph/executed_flops.hpp"
#include "core/graph/model_flops.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "planner/expert_overlap.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

struct Subject {
    ModelSpec model = llama(4096, 32, 8, 32, 14336);
    Workload workload{.sequence = 2048, .global_batch = 64};
    ClusterSpec machine = cluster();
    FrameworkProfile framework = neutral_framework();
    MemoryLimit limit{.capacity = 80 * units::GB, .usable = 76 * units::GB, .host = 256 * units::GB};

    [[nodiscard]] StepReport report(ParallelPlan const& plan) const {
        ClosedForm form(model, workload, machine, framework, plan.precision);
        return make_report(form, plan, limit);
    }
};

ParallelPlan tensor_pipeline_plan() {
    ParallelPlan plan;
    plan.tp = 2;
    plan.pp = 4;
    plan.dp = 2;
    plan.zero = 1;
    plan.sequence_parallel = Switch::on;
    return plan;
}

}  // namespace

TEST_CASE("report: rates are work over time and accelerators, utilisations those over the peak", "[INV-25]") {
    Subject const s;
    StepReport const r = s.report(tensor_pipeline_plan());
    double const time = r.estimate.time.base();
    double const flops = model_flops_per_step(s.model, s.workload).base();
    CHECK(r.accelerators == 16);
    CHECK(r.microbatches == 32);
    CHECK(r.tokens_per_second == Approx(64.0 * 2048 / time));
    CHECK(r.model_rate.base() == Approx(flops / time / 16));
    CHECK(r.mfu == Approx(r.model_rate.base() / 989.4e12));
    CHECK(r.hardware_rate < r.model_rate);  // nothing is run again, and the masked half of the scores not at all
    CHECK(r.fits);
}

TEST_CASE("report: recompute raises the hardware rate above the model rate, by one forward of four", "[INV-7]") {
    Subject const s;
    ParallelPlan plan = tensor_pipeline_plan();
    plan.recompute = Recompute::full;
    StepReport const r = s.report(plan);
    CHECK(r.hfu > r.mfu);
    // A full rerun repeats the layers' forward, a third of forward and backward, less the head.
    StepReport const once = s.report(tensor_pipeline_plan());
    double const executed = r.hardware_rate * r.estimate.time / (once.hardware_rate * once.estimate.time);
    CHECK(executed > 1.28);
    CHECK(executed < 4.0 / 3 + 1e-9);
}

TEST_CASE("report: what a framework does not run again of a layer is no hardware FLOP", "[INV-7]") {
    Subject s;
    ParallelPlan plan{.dp = 8};
    plan.recompute = Recompute::full;
    auto const executed = [&] {
        StepReport const r = s.report(plan);
        return (r.hardware_rate * r.estimate.time).base() * 8;
    };
    double const to_the_end = executed();
    s.framework.timing.front().early_stop = known(1.0);
    // The product of every layer's feed-forward that leaves it: 2 x 14336 x 4096 for each token.
    CHECK(to_the_end - executed() == Approx(2.0 * 14336 * 4096 * 64 * 2048 * 32).epsilon(1e-9));
}

TEST_CASE("report: hardware FLOPs are executed ones, without the masked half of long sequences", "[INV-7]") {
    Subject s;
    s.workload = {.sequence = 1 << 20, .global_batch = 8};
    StepReport const r = s.report({.dp = 1, .tp = 8});
    StepGraph const graph = build_step_graph(s.model, r.plan, s.workload);
    CHECK(r.hardware_rate * r.estimate.time * 8 == executed_flops_per_step(graph).total);
    // Attention is nearly all of it. Half of the square, forward once and, as scores are computed again, backward 2.5
    // times: of 3 in model FLOPs.
    CHECK(r.hfu / r.mfu == Approx(3.5 / 2 / 3).epsilon(0.1));
}

TEST_CASE("report: in fp32 nothing is more than all of the peak, which says what it is of", "[INV-25]") {
    Subject s;
    s.machine = find_cluster("gb200-nvl72", "test");
    s.workload = {.sequence = 131072, .global_batch = 8};
    ParallelPlan plan{.dp = 8, .zero = 3};
    plan.precision = Precision::fp32;
    auto const says = [](StepReport const& r) {
        return std::any_of(r.assumptions.begin(), r.assumptions.end(), [](std::string const& line) {
            return line.starts_with("MFU and HFU: attention's FLOPs are of 416.7 TFLOP/s");
        });
    };
    StepReport const fused = s.report(plan);
    CHECK(fused.hfu < 1);                                                // of MFU the masked half of the scores is part
    double const attention = 3 * 4.0 * 32 * 131072 * 4096 * 8 * 131072;  // 3 passes, 4 s h per layer and token
    double const others = model_flops_per_step(s.model, s.workload).base() - attention;
    CHECK(fused.mfu == Approx((others / 80e12 + attention / (1250e12 / 3)) / 8 / fused.estimate.time.base()));
    CHECK(says(fused));
    // Scores in memory are matrix products on the vector units.
    s.workload.sequence = 2048;
    plan.attention = AttentionKernel::unfused;
    StepReport const apart = s.report(plan);
    CHECK(apart.mfu == Approx(apart.model_rate.base() / 80e12));
    CHECK_FALSE(says(apart));
    plan.precision = Precision::tf32;
    CHECK_FALSE(says(s.report(plan)));
}

TEST_CASE("report: the price is per accelerator and hour, the user's before the device's", "[INV-25]") {
    Subject s;
    StepReport const unpriced = s.report(tensor_pipeline_plan());
    CHECK_FALSE(unpriced.step_cost);
    CHECK_FALSE(unpriced.million_tokens_cost);
    CHECK_FALSE(price_of(s.machine, 16));

    s.machine.accelerator.price_usd_per_hour = known(3.6);
    StepReport const device = s.report(tensor_pipeline_plan());
    REQUIRE(device.step_cost);
    CHECK(device.step_cost->base() == Approx(16 * 3.6 / 3600 * device.estimate.time.base()));
    CHECK(device.million_tokens_cost->base() == Approx(device.step_cost->base() * 1e6 / (64.0 * 2048)));

    s.machine.usd_per_accelerator_hour = known(7.2);
    CHECK(s.report(tensor_pipeline_plan()).step_cost->base() == Approx(2 * device.step_cost->base()));
}

TEST_CASE("report: the digest tells plans apart and is the same each time", "[INV-12]") {
    Subject const s;
    std::set<std::string> digests;
    ParallelPlan plan = tensor_pipeline_plan();
    digests.insert(s.report(plan).digest);
    CHECK(s.report(plan).digest == *digests.begin());
    plan.micro_batch = 2;
    digests.insert(s.report(plan).digest);
    plan.recompute = Recompute::full;
    digests.insert(s.report(plan).digest);
    plan.pp = 2;
    digests.insert(s.report(plan).digest);
    CHECK(digests.size() == 4);
}

TEST_CASE("report: a plan that breaks a rule is refused", "[INV-11]") {
    Subject const s;
    ParallelPlan plan = tensor_pipeline_plan();
    plan.tp = 3;
    CHECK_THROWS_AS(s.report(plan), InputError);
}

TEST_CASE(
    "report: assumed values that the plan uses are listed once with value and source, and no network it does not use",
    "[INV-12]") {
    Subject const s;
    ParallelPlan inside;
    inside.tp = 8;
    inside.sequence_parallel = Switch::on;
    StepReport const one_node = s.report(inside);
    StepReport const two_nodes = s.report(tensor_pipeline_plan());
    auto const mentions = [](StepReport const& r, std::string const& word) {
        for (std::string const& line : r.assumptions)
            if (line.find(word) != std::string::npos) return true;
        return false;
    };
    REQUIRE_FALSE(one_node.assumptions.empty());
    CHECK_FALSE(mentions(one_node, "scale-out"));
    CHECK(mentions(two_nodes, "scale-out test-cluster bandwidth = "));
    for (StepReport const* r : {&one_node, &two_nodes})
        for (std::string const& line : r->assumptions) {
            CAPTURE(line);
            CHECK_THAT(line, contains(" = ") && contains(": "));
        }
    std::set<std::string> const once(two_nodes.assumptions.begin(), two_nodes.assumptions.end());
    CHECK(once.size() == two_nodes.assumptions.size());
}

TEST_CASE("report: what a schedule asks for is said, and only that", "[INV-21]") {
    Subject const s;
    auto const lines = [&](Schedule schedule, std::int64_t vpp) {
        ParallelPlan plan = tensor_pipeline_plan();
        plan.schedule = schedule;
        plan.vpp = vpp;
        std::string text;
        for (std::string const& line : s.report(plan).assumptions)
            text += line + "\n";
        return text;
    };
    CHECK_THAT(lines(Schedule::one_f_one_b, 1), !contains("schedule"));
    CHECK_THAT(lines(Schedule::interleaved, 2), !contains("schedule"));
    CHECK_THAT(lines(Schedule::zb_h1, 1), contains("zb-h1") && contains("weight half") && !contains("2 pp - 1"));
    CHECK_THAT(lines(Schedule::zb_h2, 1), contains("weight half") && contains("2 pp - 1"));
    CHECK_THAT(lines(Schedule::zb_v, 2), contains("passes of equal length"));
    CHECK_THAT(lines(Schedule::dualpipe, 1), contains("two ranks") && contains("hides behind"));
    CHECK_THAT(lines(Schedule::dualpipe_v, 2), !contains("two ranks") && contains("hides behind"));
}

TEST_CASE("expert overlap: what Megatron-Core refuses is said with what it wants", "[INV-21]") {
    ParallelPlan plan{.pp = 2, .ep = 4, .vpp = 2, .schedule = Schedule::overlapped};
    CHECK(can_overlap_experts(plan));
    CHECK(missing_for_expert_overlap(plan).empty());
    plan = {.pp = 2, .schedule = Schedule::overlapped, .recompute = Recompute::full, .precision = Precision::fp32};
    CHECK_FALSE(can_overlap_experts(plan));
    CHECK(missing_for_expert_overlap(plan) == std::vector<std::string>{"--ep 2 or more", "--vpp 2 or more",
                                                                       "--precision bf16",
                                                                       "--recompute none or selective"});
    plan.pp = 1;
    CHECK(missing_for_expert_overlap(plan).size() == 3);
    Subject const s;
    plan = tensor_pipeline_plan();
    plan.schedule = Schedule::overlapped;
    std::vector<std::string> const lines = s.report(plan).assumptions;
    CHECK(std::count(
              lines.begin(), lines.end(),
              "schedule 1f1b-overlap: Megatron-Core refuses this plan; it wants --ep 2 or more, --vpp 2 or more") == 1);
}

TEST_CASE("report: interleaving a rest of microbatches is said and walked", "[INV-22]") {
    Subject s;
    s.workload.global_batch = 2 * 30;  // 30 microbatches on 4 stages
    ParallelPlan plan = tensor_pipeline_plan();
    plan.schedule = Schedule::interleaved;
    plan.vpp = 2;
    StepReport const r = s.report(plan);
    CHECK_THAT(r.assumptions.back(), contains("30 microbatches, no multiple of pp 4"));
    ClosedForm form(s.model, s.workload, s.machine, s.framework, plan.precision);
    CHECK(r.estimate.time == form.evaluate(plan, PipelineMethod::walk).time);
    CHECK(r.estimate.time > form.evaluate(plan).time);
}

TEST_CASE("memory limit: what is not usable does not grow beyond the device that the fraction is of", "[INV-21]") {
    FrameworkProfile framework = neutral_framework();  // 5 % are not usable
    auto const usable = [&](Bytes capacity) {
        ClusterSpec machine = cluster();
        machine.accelerator.memory_capacity.value = capacity;
        return default_memory_limit(machine, framework).usable.base();
    };
    CHECK(usable(200 * units::GB) == Approx(190e9));
    framework.memory.usable_fraction_up_to = known(80 * units::GB);
    CHECK(usable(200 * units::GB) == Approx(196e9));
    CHECK(usable(80 * units::GB) == Approx(76e9));
    CHECK(usable(40 * units::GB) == Approx(38e9));
    framework.memory.usable_fraction = known(0.5);
    CHECK(usable(200 * units::GB) == Approx(160e9));
}

TEST_CASE("memory limit: a share, an amount, or the framework's usable fraction", "[INV-21]") {
    ClusterSpec const machine = cluster();
    MemoryLimit const usual = default_memory_limit(machine, neutral_framework());
    CHECK(usual.capacity == 80 * units::GB);
    CHECK(usual.usable.base() == Approx(76e9));
    CHECK(usual.host == 256 * units::GB);
    for (char const* half : {"50%", "50 %", " 50 %"})
        CHECK(parse_memory_limit(half, machine, neutral_framework(), "x").usable.base() == Approx(40e9));
    CHECK(parse_memory_limit("100%", machine, neutral_framework(), "x").usable.base() == Approx(80e9));
    CHECK(parse_memory_limit("70 GB", machine, neutral_framework(), "x").usable.base() == Approx(70e9));
    CHECK(parse_memory_limit("64 GiB", machine, neutral_framework(), "x").usable.base() == Approx(68719476736.0));
    for (char const* text : {"", "%", "0%", "-5%", "120%", "nan%", "inf%", "90 %%", "80", "5 parsecs", "81 GB", "0 GB",
                             "-1 GB", "1e999 GB", "1e99%"}) {
        CAPTURE(text);
        CHECK_THROWS_WITH(parse_memory_limit(text, machine, neutral_framework(), "--max-memory"),
                          contains("--max-memory"));
    }
}

TEST_CASE("memory limit: both the device and the host must have room", "[INV-21]") {
    MemoryLimit const limit{.capacity = 80 * units::GB, .usable = 10 * units::GB, .host = 5 * units::GB};
    StageMemory memory;
    memory.weights = 9 * units::GB;
    memory.slack = 1 * units::GB;
    memory.host = 5 * units::GB;
    CHECK(limit.admits(memory));
    memory.slack = 1.1 * units::GB;
    CHECK_FALSE(limit.admits(memory));
    memory.slack = Bytes{};
    memory.host = 5.1 * units::GB;
    CHECK_FALSE(limit.admits(memory));
}

TEST_CASE("report: the slice of a torus that a plan is priced on is named") {
    Subject s;
    s.machine = find_cluster("tpu-v5p", "test");
    s.workload.global_batch = 256;
    std::vector<std::string> const lines = s.report({.dp = 256}).assumptions;
    CHECK(std::count(lines.begin(), lines.end(),
                     "a slice of 4x8x8, the most compact for 256 accelerators; others may be slower") == 1);
}

TEST_CASE("report: groups that the edge of a domain cuts are named, and those that fit are not") {
    Subject s;
    auto const cut = [&](ParallelPlan const& plan) {
        for (std::string const& line : s.report(plan).assumptions)
            if (line.find("the edge of a domain") != std::string::npos) return line;
        return std::string();
    };
    CHECK(cut({.dp = 2, .tp = 8, .pp = 2}).empty());
    s.machine = find_cluster("gb200-nvl72", "test");
    s.workload.global_batch = 1152;
    CHECK(cut({.dp = 9, .tp = 8, .pp = 2}).empty());  // 72 ranks of each stage: a rack
    std::string const line = cut({.dp = 9, .tp = 16});
    CHECK_THAT(line, contains("tp over 16 ranks: the edge of a domain of 72"));
    CHECK_THAT(cut({.dp = 4, .tp = 8, .pp = 4}), contains("dp over 4 ranks"));
    CHECK(cut({.dp = 4, .tp = 16}).empty());                                        // one rack has them all
    CHECK_THAT(cut({.dp = 128, .tp = 1, .pp = 2}), contains("dp over 128 ranks"));  // a rack and 56, not 64 and 64
    CHECK(cut({.dp = 144, .tp = 1, .pp = 2}).empty());
}
