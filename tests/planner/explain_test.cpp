#include "planner/explain.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/settings_advice.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

StepReport report_with(StepBreakdown const& breakdown, ParallelPlan const& plan = {}) {
    StepReport report;
    report.plan = plan;
    report.workload = {.sequence = 2048, .global_batch = 320};
    report.microbatches = 8;
    report.estimate.breakdown = breakdown;
    report.estimate.time = breakdown.total();
    report.limit = {.capacity = 80 * units::GB, .usable = 76 * units::GB, .host = 256 * units::GB};
    report.fits = true;
    return report;
}

std::string all_of(std::vector<std::string> const& lines) {
    std::string text;
    for (std::string const& line : lines)
        text += line + "\n";
    return text;
}

/// What explains the report of a plan of `model` with Megatron-LM, or with another framework.
std::string why(StepReport const& report, ModelSpec const& model = llama(4096, 32, 8, 32, 14336),
                char const* framework_name = "megatron") {
    ClusterSpec const machine = cluster();
    FrameworkProfile framework = neutral_framework();
    framework.name = framework_name;
    FrameworkTiming& timing = framework.timing.front();
    timing.host_floor_forward = timing.host_floor_backward = known(1 * units::us);
    timing.moe_floor_forward = timing.moe_floor_backward = known(2 * units::us);
    ClosedForm form(model, report.workload, machine, framework, Precision::bf16);
    return all_of(explain(report, form));
}

/// The same of a plan as it is timed, with a global batch of 128.
std::string why_evaluated(ModelSpec const& model, ParallelPlan const& plan) {
    ClusterSpec const machine = cluster();
    FrameworkProfile framework = neutral_framework();
    framework.name = "megatron";
    ClosedForm form(model, {.sequence = 2048, .global_batch = 128}, machine, framework, Precision::bf16);
    return all_of(explain(make_report(form, plan, default_memory_limit(machine, framework)), form));
}

}  // namespace

TEST_CASE("explain: the parts are all of the breakdown", "[INV-25]") {
    StepBreakdown b;
    double unit = 1;
    for (Seconds StepBreakdown::*part :
         {&StepBreakdown::gemm, &StepBreakdown::attention, &StepBreakdown::memory_bound, &StepBreakdown::host,
          &StepBreakdown::recompute, &StepBreakdown::tp, &StepBreakdown::cp, &StepBreakdown::ep, &StepBreakdown::pp,
          &StepBreakdown::bubble, &StepBreakdown::dp, &StepBreakdown::optimizer, &StepBreakdown::offload,
          &StepBreakdown::reference, &StepBreakdown::fixed}) {
        b.*part = unit * units::s;
        unit *= 2;
    }
    Seconds sum;
    for (auto const& [name, time] : breakdown_parts(b))
        sum += time;
    CHECK(sum == (unit - 1) * units::s);
    CHECK(sum == b.total());
}

TEST_CASE("explain: the largest losses are named, useful work is none", "[INV-25]") {
    StepBreakdown b;
    b.gemm = 50 * units::s;
    b.attention = 20 * units::s;
    StepEstimate e{.time = b.total(), .breakdown = b, .memory = {}};
    CHECK(largest_losses(e) == "compute");
    b.bubble = 20 * units::s;
    b.tp = 10 * units::s;
    b.dp = 1 * units::s;
    e.breakdown = b;
    e.time = b.total();
    CHECK(largest_losses(e) == "bubble 20 %, tp 10 %");
}

TEST_CASE("explain: each sentence comes with what causes it and not without", "[INV-25]") {
    StepBreakdown b;
    b.gemm = 80 * units::s;
    b.attention = 5 * units::s;
    CHECK_THAT(why(report_with(b)), contains("the largest part is matrix products with 94 %"));
    CHECK_THAT(why(report_with(b)), !contains("exposed communication"));
    CHECK_THAT(why(report_with(b)), !contains("bubble"));

    ParallelPlan plan;
    plan.pp = 4;
    b.bubble = 10 * units::s;
    b.pp = 2 * units::s;
    CHECK_THAT(why(report_with(b, plan)),
               contains("bubble 10 s") && contains("--schedule interleaved --vpp 2, if it fits, would shrink"));
    CHECK_THAT(why(report_with(b, plan)), contains("exposed communication 2 s (2.1 %): pp 2 s"));
    plan.schedule = Schedule::interleaved;
    plan.vpp = 2;
    CHECK_THAT(why(report_with(b, plan)), !contains("--schedule interleaved"));
    plan.schedule = Schedule::zb_v;
    CHECK_THAT(why(report_with(b, plan)), contains("fewer stages would") && !contains("interleaved"));

    plan.tp = 8;
    b.tp = 20 * units::s;
    CHECK_THAT(why(report_with(b, plan)), contains("stays inside a domain"));
    plan.tp = 16;
    CHECK_THAT(why(report_with(b, plan)), contains("crosses scale-up domains"));
    b.host = 30 * units::s;
    CHECK_THAT(why(report_with(b, plan)),
               contains("the host launches kernels slower") && contains("CUDA graphs would help"));
    b.recompute = 20 * units::s;
    CHECK_THAT(why(report_with(b, plan)), contains("recompute runs 20 s again"));
}

TEST_CASE("explain: 1f1b-overlap is advised where Megatron-Core can run it, with the options that it takes",
          "[INV-26]") {
    ModelSpec const model = mixture(2048, 16, 16, 2, 1408);
    ParallelPlan plan{.dp = 8, .ep = 8};
    StepBreakdown b;
    b.gemm = 80 * units::s;
    b.ep = 20 * units::s;
    auto const advice = [&](char const* framework = "megatron") { return why(report_with(b, plan), model, framework); };
    CHECK_THAT(advice(), contains("with --schedule 1f1b-overlap, if it fits,"));
    for (char const* other : {"fsdp", "torchtitan", "maxtext", "deepspeed"})
        CHECK_THAT(advice(other), !contains("1f1b-overlap"));
    plan.pp = 2;
    plan.recompute = Recompute::full;
    CHECK_THAT(advice(), contains("with --schedule 1f1b-overlap --vpp 2 --recompute none, if it fits,"));
    plan.schedule = Schedule::interleaved;
    plan.vpp = 4;
    CHECK_THAT(advice(), contains("with --schedule 1f1b-overlap --recompute none, if it fits,"));
    plan.precision = Precision::fp32;
    CHECK_THAT(advice(), !contains("1f1b-overlap"));
    plan = {.dp = 8, .ep = 8, .schedule = Schedule::overlapped};
    CHECK_THAT(advice(), !contains("1f1b-overlap"));
    plan = {.dp = 8, .ep = 8, .zero = 3};  // which does not go with it
    CHECK_THAT(advice(), !contains("1f1b-overlap"));

    // One microbatch has no other to hide beside.
    for (std::int64_t const micro_batch : {1, 8})
        CHECK((why_evaluated(model, {.dp = 16, .ep = 16, .micro_batch = micro_batch}).find("--schedule 1f1b-overlap") !=
               std::string::npos) == (micro_batch == 1));
}

TEST_CASE("explain: interleaving is advised where layers can be split so, and where it shrinks the bubble",
          "[INV-26]") {
    StepBreakdown b;
    b.gemm = 80 * units::s;
    b.bubble = 10 * units::s;
    auto const advice = [&](std::int64_t layers, ParallelPlan const& plan) {
        return why(report_with(b, plan), llama(1024, 16, 8, layers, 4096));
    };
    CHECK_THAT(advice(16, {.pp = 8}), contains("--schedule interleaved --vpp 2, if it fits,"));
    CHECK_THAT(advice(24, {.pp = 8}), contains("--schedule interleaved --vpp 3, if it fits,"));
    CHECK_THAT(advice(16, {.pp = 16}), contains("fewer stages would shrink") && !contains("interleaved"));
    CHECK_THAT(advice(61, {.pp = 2}), contains("fewer stages would shrink") && !contains("interleaved"));

    // One microbatch passes one stage at a time, however they are cut.
    ModelSpec const model = llama(1024, 16, 8, 16, 4096);
    for (std::int64_t const micro_batch : {1, 8})
        CHECK((why_evaluated(model, {.dp = 16, .pp = 4, .micro_batch = micro_batch}).find("--schedule interleaved") !=
               std::string::npos) == (micro_batch == 1));
}

TEST_CASE("explain: graphs are to cover the layers with experts where these wait longest for the host", "[INV-26]") {
    StepBreakdown b;
    b.host = 80 * units::s;
    CHECK_THAT(why(report_with(b), mixture(2048, 16, 16, 2, 1408)),
               contains("CUDA graphs, which have to cover the layers with experts, would help"));
}

TEST_CASE("explain: less tensor parallelism is advised by a degree that can be built", "[INV-26]") {
    StepBreakdown b;
    b.gemm = 80 * units::s;
    b.tp = 20 * units::s;
    auto const advice = [&](std::int64_t heads, std::int64_t tp) {
        return why(report_with(b, {.tp = tp}), llama(heads * 64, heads, heads, 4, 7200));
    };
    CHECK_THAT(advice(25, 5), contains("--tp 1 ("));
    CHECK_THAT(advice(24, 6), contains("--tp 3 ("));
    CHECK_THAT(advice(32, 8), contains("--tp 4 ("));

    StepReport report = report_with(b, {.dp = 16, .tp = 6});
    report.workload.global_batch = 48;  // no multiple of twice the replicas, but of three times
    CHECK_THAT(why(report, llama(24 * 64, 24, 24, 4, 7200)), contains("--tp 2 ("));
    report.workload.global_batch = 16;
    CHECK_THAT(why(report, llama(24 * 64, 24, 24, 4, 7200)), contains("stays inside a domain: overlapping it"));
}

TEST_CASE("explain: headroom when it fits, the shortfall when it does not", "[INV-21]") {
    StepBreakdown b;
    b.gemm = 1 * units::s;
    StepReport report = report_with(b);
    report.estimate.memory.weights = 70 * units::GB;
    CHECK_THAT(why(report), contains("70 GB of 76 GB usable, 6 GB to spare"));
    report.estimate.memory.weights = 90 * units::GB;
    CHECK_THAT(why(report), contains("needs 90 GB, 14 GB more than the 76 GB that are usable"));
    report.estimate.memory.host = 300 * units::GB;
    CHECK_THAT(why(report), contains("host memory: 300 GB are offloaded but there are 256 GB"));
}

TEST_CASE("explain: digits are grouped in threes", "[INV-12]") {
    CHECK(grouped_digits(0) == "0");
    CHECK(grouped_digits(999) == "999");
    CHECK(grouped_digits(1000) == "1,000");
    CHECK(grouped_digits(1234567) == "1,234,567");
    CHECK(grouped_digits(-123) == "-123");
    CHECK(grouped_digits(-1234) == "-1,234");
    CHECK(grouped_digits(INT64_MAX) == "9,223,372,036,854,775,807");
}

TEST_CASE("explain: rejections are summed and ordered by number", "[INV-26]") {
    SearchCounts counts;
    CHECK(rejection_summary(counts) == "none rejected");
    counts.rejected[static_cast<std::size_t>(PlanProblem::heads)] = 244;
    counts.rejected[rejected_for_memory] = 960;
    CHECK(rejection_summary(counts) == "1,204 rejected: 960 memory, 244 heads");
    for (std::size_t a = 0; a < rejection_kinds; ++a) {
        CHECK_FALSE(rejection_name(a).empty());
        for (std::size_t b = a + 1; b < rejection_kinds; ++b)
            CHECK(rejection_name(a) != rejection_name(b));
    }
}

TEST_CASE("explain: what most refused plans broke is said by the first of them", "[INV-26]") {
    ModelSpec const model = llama(4096, 32, 8, 2, 14336);
    Workload const workload{.sequence = 4096, .global_batch = 12};
    SearchResult result;
    CHECK(commonest_refusal(result, model, workload).empty());
    auto const refuse = [&](PlanProblem problem, std::size_t shape, ParallelPlan const& plan, std::int64_t times) {
        result.refused.note(problem, shape, plan);
        result.counts.rejected[static_cast<std::size_t>(problem)] += times;
    };
    refuse(PlanProblem::batch, 7, {.dp = 5}, 3);
    refuse(PlanProblem::heads, 4, {.tp = 6}, 1);
    result.counts.rejected[rejected_for_memory] = 100;
    CHECK_THAT(commonest_refusal(result, model, workload), contains("the first, dp5 mb1 zero0: global batch 12"));
    refuse(PlanProblem::heads, 3, {.tp = 3}, 4);
    CHECK_THAT(commonest_refusal(result, model, workload),
               contains("the first, tp3 mb1 zero0: tp 3 does not divide the 32 attention heads"));
    refuse(PlanProblem::schedule, 1, {.schedule = Schedule::overlapped}, 9);  // a rule of what is modelled
    CHECK_THAT(commonest_refusal(result, model, workload), contains("1f1b-overlap needs --ep 2 or more"));
    CHECK_THAT(rejection_summary(result, model, workload),
               contains("117 rejected: 100 memory, 9 schedule") && contains("; the first, 1f1b-overlap mb1 zero0"));
    SearchResult only_memory;
    only_memory.counts.rejected[rejected_for_memory] = 2;
    CHECK(rejection_summary(only_memory, model, workload) == "2 rejected: 2 memory");
}

TEST_CASE("explain: a label says what sets a plan apart", "[INV-12]") {
    ParallelPlan plan;
    CHECK(plan_label(plan) == "mb1 zero0");
    plan.tp = 8;
    plan.pp = 4;
    plan.dp = 16;
    plan.zero = 1;
    plan.sequence_parallel = Switch::on;
    CHECK(plan_label(plan) == "tp8 pp4 dp16 mb1 zero1 sp");
    plan.recompute = Recompute::full;
    plan.recompute_layers = 2;
    plan.offload = Offload::optimizer;
    CHECK(plan_label(plan) == "tp8 pp4 dp16 mb1 zero1 recompute-full-2 offload-optimizer sp");
    ParallelPlan experts{.dp = 16, .cp = 2, .ep = 8, .expert_tp = 2, .zero = 1, .shard_group = 4};
    experts.cp_mode = ContextParallel::ulysses;
    experts.dispatcher = Dispatcher::deduplicated;
    CHECK(plan_label(experts) == "cp2 dp16 ep8 etp2 ulysses deduplicated mb1 zero1 groups-of-4");
}

TEST_CASE("explain: a plan whose logits are too many fits with a loss in parts or fused", "[INV-26]") {
    ClusterSpec const machine = find_cluster("rtx-4090", "test");
    FrameworkProfile const framework = find_framework("transformers", "test");
    ModelSpec const model = find_model("qwen3-32b");
    ClosedForm form(model, {.sequence = 2048, .global_batch = 16}, machine, framework, Precision::bf16);
    MemoryLimit const limit = default_memory_limit(machine, framework);
    ParallelPlan plan{.micro_batch = 1, .recompute = Recompute::full};
    plan.adapters = {.rank = 16, .targets = attention_targets(), .base = base_weights_from("nf4", "test")};
    StepReport const large = make_report(form, plan, limit);
    REQUIRE_FALSE(large.fits);
    auto const fitting = better_settings(large, form);
    REQUIRE(fitting);
    CHECK((fitting->options == "--loss-chunks 8" || fitting->options == "--fused-cross-entropy"));
    CHECK(limit.admits(fitting->estimate.memory));
}

TEST_CASE("explain: settings that make a plan faster, or make it fit, are named with what they reach", "[INV-26]") {
    ClusterSpec const machine = find_cluster("h100-sxm", "test");
    FrameworkProfile const megatron = find_framework("megatron", "test");
    ModelSpec const model = find_model("llama-3.1-70b");
    Workload const workload{.sequence = 8192, .global_batch = 512};
    ClosedForm form(model, workload, machine, megatron, Precision::bf16);
    MemoryLimit const limit = default_memory_limit(machine, megatron);
    ParallelPlan plan{.dp = 2, .tp = 8, .pp = 8, .micro_batch = 1};
    plan.recompute = Recompute::full;
    plan.sequence_parallel = Switch::off;
    StepReport const slow = make_report(form, plan, limit);
    auto const faster = better_settings(slow, form);
    REQUIRE(faster);
    CHECK(faster->options == "--recompute none --sequence-parallel");
    plan.recompute = Recompute::none;
    plan.sequence_parallel = Switch::on;
    StepReport const good = make_report(form, plan, limit);
    CHECK(faster->estimate.time == good.estimate.time);
    CHECK(good.fits);
    CHECK(faster->estimate.time < 0.8 * slow.estimate.time);
    CHECK_THAT(all_of(explain(slow, form)), contains("with --recompute none --sequence-parallel it would take"));
    CHECK_FALSE(better_settings(good, form));

    ModelSpec const small_model = find_model("llama-3.1-8b");
    ClosedForm small(small_model, workload, machine, megatron, Precision::bf16);
    StepReport const large = make_report(small, {.dp = 8, .micro_batch = 1, .zero = 1}, limit);
    REQUIRE_FALSE(large.fits);
    auto const fitting = better_settings(large, small);
    REQUIRE(fitting);
    CHECK(limit.admits(fitting->estimate.memory));
    CHECK_THAT(all_of(explain(large, small)), contains("with --recompute full it fits:"));
    StepReport const hopeless = make_report(form, {.tp = 8, .micro_batch = 1}, limit);
    CHECK_FALSE(better_settings(hopeless, form));
    std::string const advice = all_of(explain(hopeless, form));
    CHECK_THAT(advice, contains("makes these degrees fit") && !contains("--tp 4"));
}
