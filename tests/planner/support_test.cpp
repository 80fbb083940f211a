#include "planner/support.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/report.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

using namespace sextant;

namespace {

bool any_has(std::vector<std::string> const& lines, std::string const& part) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](std::string const& line) { return line.find(part) != std::string::npos; });
}

std::vector<std::string> terms(char const* cluster, ParallelPlan const& plan, char const* model = "llama-3.1-8b") {
    return unsupported_terms(find_model(model), find_cluster(cluster, "test"), find_framework("megatron", "test"),
                             plan);
}

}  // namespace

TEST_CASE("support: a machine whose generation was never measured says so of its kernels and of the framework") {
    ParallelPlan const plan{.dp = 64};
    CHECK_FALSE(any_has(terms("h100-sxm", plan), "kernels"));
    CHECK(any_has(terms("tpu-v5p", plan), "kernels on tpu-v5p"));
    CHECK(any_has(terms("tpu-v5p", plan), "framework megatron"));
}

TEST_CASE("support: a job larger than any that was measured says so, and its interval is wider") {
    CHECK_FALSE(any_has(terms("h100-sxm", {.dp = 384, .tp = 8}), "accelerators: no measured step"));
    ParallelPlan const large{.dp = 2048, .tp = 8};
    CHECK(any_has(terms("h100-sxm", large), "16384 accelerators: no measured step ran on more than 3072"));
    FrameworkProfile const megatron = find_framework("megatron", "test");
    std::vector<std::string> const without, with{"16384 accelerators"};
    StepEstimate const estimate;
    auto const of = [&](auto const& terms) {
        return step_interval(megatron, find_model("llama-3.1-8b"), estimate, terms);
    };
    CHECK(of(with).high > of(without).high);
    CHECK(of(with).low < of(without).low);
}

TEST_CASE("support: a framework counts as measured where steps of this generation and format were fitted to") {
    ClusterSpec const cluster = find_cluster("b200-sxm", "test");
    FrameworkProfile framework = find_framework("megatron", "test");
    auto const term = [&](Precision precision) {
        ParallelPlan plan{.dp = 8};
        plan.precision = precision;
        for (std::string const& line : unsupported_terms(find_model("llama-3.1-8b"), cluster, framework, plan))
            if (line.starts_with("framework")) return line;
        return std::string();
    };
    FrameworkTiming any = framework.timing.front();
    FrameworkTiming wide = any;
    wide.generation = "blackwell";
    FrameworkTiming narrow = wide;
    narrow.precision = "fp8";
    // What the constants are, identified or expected, does not say whether steps were measured.
    any.gemm_scale.basis = wide.gemm_scale.basis = narrow.gemm_scale.basis = Basis::assumed;
    framework.timing = {any};
    CHECK(term(Precision::bf16) == "framework megatron: no step on blackwell was fitted");
    wide.steps = 7;
    framework.timing = {any, wide};
    CHECK(term(Precision::bf16).empty());
    CHECK(term(Precision::fp8) == "framework megatron: no step in fp8 on blackwell was fitted");
    narrow.steps = 1;
    framework.timing = {any, wide, narrow};
    CHECK(term(Precision::fp8) == "framework megatron: fitted to 1 step in fp8 on blackwell only");
    CHECK(term(Precision::mxfp8) == term(Precision::fp8));
    narrow.steps = 5;
    wide.steps = 0;
    framework.timing = {any, wide, narrow};
    CHECK(term(Precision::fp8).empty());
    CHECK(term(Precision::bf16) == "framework megatron: no step in bf16 on blackwell was fitted");
    narrow.steps = 0;
    framework.timing = {any, wide, narrow};
    CHECK(term(Precision::fp8) == "framework megatron: no step on blackwell was fitted");
    // A file that does not say: what its owner measured or fitted counts.
    wide.steps.reset();
    narrow.steps.reset();
    framework.timing = {any, wide, narrow};
    CHECK(term(Precision::fp8) == "framework megatron: no step on blackwell was fitted");
    framework.timing[1].gemm_scale.basis = framework.timing[2].gemm_scale.basis = Basis::measured;
    CHECK(term(Precision::fp8).empty());
    CHECK(term(Precision::bf16).empty());
}

TEST_CASE("support: what the shipped frameworks were fitted to is not called unmeasured") {
    auto const is_named = [](char const* framework, char const* cluster, Precision precision) {
        ParallelPlan plan{.dp = 8};
        plan.precision = precision;
        return any_has(unsupported_terms(find_model("llama-3.1-8b"), find_cluster(cluster, "test"),
                                         find_framework(framework, "test"), plan),
                       "framework");
    };
    CHECK_FALSE(is_named("megatron", "gb200-nvl72", Precision::bf16));
    CHECK_FALSE(is_named("megatron", "b200-sxm", Precision::fp8));
    CHECK_FALSE(is_named("fsdp", "h100-sxm", Precision::bf16));
    CHECK_FALSE(is_named("torchtitan", "h100-sxm", Precision::bf16));
    CHECK_FALSE(is_named("nanotron", "h100-sxm", Precision::bf16));
    CHECK_FALSE(is_named("maxtext", "tpu-v5p", Precision::bf16));
    CHECK_FALSE(is_named("maxtext", "h100-sxm", Precision::bf16));
    CHECK_FALSE(is_named("pytorch", "h100-sxm", Precision::bf16));
    CHECK(is_named("maxtext", "b200-sxm", Precision::bf16));
    CHECK(is_named("transformers", "a100-sxm", Precision::bf16));
    CHECK(is_named("fsdp", "b200-sxm", Precision::bf16));
    CHECK(is_named("nanotron", "h100-sxm", Precision::fp8));
}

TEST_CASE("support: schedules and offload that no measured step ran are named, in plans that use them") {
    ParallelPlan plan{.dp = 8, .pp = 8};
    CHECK_FALSE(any_has(terms("h100-sxm", plan), "schedule"));
    plan.schedule = Schedule::zb_v;
    CHECK(any_has(terms("h100-sxm", plan), "schedule zb-v"));
    plan.pp = 1;
    CHECK_FALSE(any_has(terms("h100-sxm", plan), "schedule"));
    plan.offload = Offload::optimizer;
    CHECK(any_has(terms("h100-sxm", plan), "offload"));
    auto const of_maxtext = [&](Offload offload) {
        plan.offload = offload;
        return unsupported_terms(find_model("llama-3.1-8b"), find_cluster("tpu-v5e", "test"),
                                 find_framework("maxtext", "test"), plan);
    };
    CHECK_FALSE(any_has(of_maxtext(Offload::activations), "offload"));
    CHECK(any_has(of_maxtext(Offload::optimizer_and_activations), "offload optimizer+activations"));
}

TEST_CASE("support: experts of a framework without such rows, modes of cp and optimizers that no step ran are named") {
    auto const of = [](char const* framework, char const* model) {
        return unsupported_terms(find_model(model), find_cluster("h100-sxm", "test"), find_framework(framework, "test"),
                                 {.dp = 64});
    };
    CHECK(any_has(of("fsdp", "mixtral-8x7b"), "experts under fsdp"));
    CHECK_FALSE(any_has(of("fsdp", "llama-3.1-8b"), "experts"));
    CHECK_FALSE(any_has(of("megatron", "mixtral-8x7b"), "experts"));
    ParallelPlan plan{.dp = 8, .cp = 8};
    CHECK_FALSE(any_has(terms("h100-sxm", plan), "cp mode"));
    plan.cp_mode = ContextParallel::ulysses;
    CHECK(any_has(terms("h100-sxm", plan), "cp mode ulysses"));
    CHECK_FALSE(any_has(terms("h100-sxm", plan), "optimizer"));
    plan.optimizer = Optimizer::adamw_pure_bf16;
    CHECK_FALSE(any_has(terms("h100-sxm", plan), "optimizer"));
    for (Optimizer const unmeasured : {Optimizer::sgd, Optimizer::muon, Optimizer::adamw_8bit, Optimizer::adamw_bf16}) {
        plan.optimizer = unmeasured;
        CHECK(any_has(terms("h100-sxm", plan), fmt::format("optimizer {}", name_of(unmeasured))));
    }
}

TEST_CASE("support: a calibration of one's own counts for the kernels that it has, under their own formats") {
    auto const named = [](char const* name, std::vector<KernelFit> const& fits, Precision precision) {
        ClusterSpec cluster = find_cluster(name, "test");
        KernelCalibration own{};
        own.name = "mine";
        own.devices = {cluster.accelerator.name};
        own.fits = fits;
        cluster.accelerator.kernels = std::make_shared<KernelCalibration const>(own);
        ParallelPlan plan{.dp = 8};
        plan.precision = precision;
        return unsupported_terms(find_model("llama-3.1-8b"), cluster, find_framework("megatron", "test"), plan);
    };
    auto const fit = [](KernelKind kind, char const* variant) {
        KernelFit out;
        out.kind = kind;
        out.variant = variant;
        for (KernelConstant const& c : kernel_constants(kind))
            out.constants.push_back(c.start);
        return out;
    };
    using enum KernelKind;
    KernelFit const attention = fit(prefill, "bf16/bf16");
    auto const narrow = named("mi300x", {fit(gemm, "fp8")}, Precision::fp8);
    CHECK_FALSE(any_has(narrow, "fp8 products"));
    CHECK(any_has(narrow, "bf16 products on mi300x: not measured"));
    CHECK(any_has(narrow, "attention on mi300x: not measured"));
    CHECK_FALSE(
        any_has(named("mi300x", {fit(gemm, "fp8"), fit(gemm, "fp16"), attention}, Precision::fp8), "mi300x: not"));
    auto const old = named("v100-sxm-32gb", {fit(gemm, "fp16"), attention}, Precision::fp16);
    CHECK_FALSE(any_has(old, "v100-sxm-32gb: not"));
    CHECK(
        any_has(named("v100-sxm-32gb", {attention}, Precision::fp16), "fp16 products on v100-sxm-32gb: not measured"));
    CHECK_FALSE(any_has(named("h100-sxm", {attention}, Precision::bf16), "products"));  // of its class
    CHECK_FALSE(any_has(named("h100-sxm", {fit(gemm, "fp16")}, Precision::bf16), "not measured"));
    // One of a kernel that a step hardly has leaves what is said of a device that nobody measured.
    ParallelPlan const plan{.dp = 8};
    CHECK(named("mi300x", {fit(memory, "rmsnorm bf16")}, Precision::bf16) == terms("mi300x", plan));
}

TEST_CASE("support: recurrent layers and sparse attention stand on no measurement") {
    ParallelPlan const plan{.dp = 64};
    CHECK_FALSE(any_has(terms("h100-sxm", plan), "recurrent"));
    CHECK(any_has(terms("h100-sxm", plan, "nemotron-h-8b"), "recurrent layers"));
    CHECK(any_has(terms("h100-sxm", plan, "glm-5"), "sparse attention"));
}

TEST_CASE("support: keep_measured leaves the measured schedules, and refuses an axis without any") {
    SearchSpace space;
    space.pipelining = {{Schedule::zb_h1, 1}, {Schedule::interleaved, 2}};
    space.offload = {Offload::none, Offload::optimizer};
    space.cp_modes = {ContextParallel::ring, ContextParallel::ulysses};
    FrameworkProfile const framework = find_framework("megatron", "test");
    keep_measured(space, framework, "hopper");
    CHECK(space.cp_modes == std::vector{ContextParallel::ring});
    REQUIRE(space.pipelining.size() == 1);
    CHECK(space.pipelining[0].schedule == Schedule::interleaved);
    CHECK(space.offload == std::vector{Offload::none});
    space.offload = {Offload::none, Offload::optimizer, Offload::activations};
    keep_measured(space, find_framework("maxtext", "test"), "tpu");
    CHECK(space.offload == std::vector{Offload::none, Offload::activations});
    // Gathered keys and values were not measured: what is left has none.
    space.cp_modes = {ContextParallel::all_gather};
    space.cp = {1, 2, 4};
    keep_measured(space, framework, "hopper");
    CHECK(space.cp == std::vector<std::int64_t>{1});
    space.cp_modes = {ContextParallel::all_gather};
    space.cp = {2, 4};
    CHECK_THROWS_AS(keep_measured(space, framework, "hopper"), InputError);
    space.cp = {1};
    space.pipelining = {{Schedule::dualpipe, 1}};
    CHECK_THROWS_AS(keep_measured(space, framework, "hopper"), InputError);
}

TEST_CASE("support: the interval of a step that waits for the host is never narrower than that of one that does not") {
    StepEstimate busy;
    busy.time = 1 * units::s;
    busy.breakdown.host = 0.09 * units::s;
    StepEstimate waiting = busy;
    waiting.breakdown.host = 0.11 * units::s;
    for (double const low : {0.99, 0.9, 0.5}) {
        FrameworkProfile framework;
        framework.interval = {.low = low, .high = 1 / low, .rows = 100};
        StepInterval const narrow = step_interval(framework, {}, busy, {});
        StepInterval const wide = step_interval(framework, {}, waiting, {});
        CHECK(narrow.low == low);
        CHECK(wide.low <= narrow.low);
        CHECK(wide.high >= narrow.high);
        CHECK((wide.high > 1.1 && wide.low < 0.95));
    }
}

TEST_CASE("support: the interval widens with every unsupported term") {
    FrameworkProfile framework;
    framework.interval = {.low = 0.9, .high = 1.2, .rows = 100};
    ModelSpec model;
    StepEstimate estimate;
    estimate.time = 1 * units::s;
    std::vector<std::string> unsupported;
    StepInterval last = step_interval(framework, model, estimate, unsupported);
    CHECK(last.low == 0.9);
    CHECK(last.high == 1.2);
    for (int i = 0; i < 3; ++i) {
        unsupported.emplace_back("something");
        StepInterval const wider = step_interval(framework, model, estimate, unsupported);
        CHECK(wider.low < last.low);
        CHECK(wider.high > last.high);
        last = wider;
    }
    model.moe = MoeSpec{};
    StepInterval const experts = step_interval(framework, model, estimate, {});
    CHECK(experts.high > framework.interval.high);
    CHECK(experts.low < 0.85);
    CHECK(experts.high / experts.low > 1.5 / 0.85);
}

TEST_CASE(
    "support: frozen weights that a step dequantises stand on no measurement, those it multiplies as they are do") {
    auto const names_base = [](Switch adapters, BaseWeights base, Precision precision) {
        ParallelPlan plan{.dp = 8};
        plan.precision = precision;
        if (adapters == Switch::on) plan.adapters.rank = 16;
        plan.adapters.base = base;
        return any_has(terms("h100-sxm", plan), "base weights");
    };
    CHECK(names_base(Switch::on, BaseWeights::nf4, Precision::bf16));
    CHECK(names_base(Switch::on, BaseWeights::int8, Precision::fp8));
    CHECK(names_base(Switch::on, BaseWeights::fp8, Precision::bf16));
    CHECK_FALSE(names_base(Switch::on, BaseWeights::fp8, Precision::fp8));
    CHECK_FALSE(names_base(Switch::on, BaseWeights::bf16, Precision::bf16));
    CHECK_FALSE(names_base(Switch::on, BaseWeights::bf16, Precision::fp8));
    CHECK_FALSE(names_base(Switch::off, BaseWeights::nf4, Precision::bf16));
}

TEST_CASE("support: a class of one generation is a measurement of it, the class of any is none") {
    std::size_t of_generation = 0;
    std::size_t of_any = 0;
    for (ClusterSpec const& cluster : all_clusters()) {
        AcceleratorProfile const& a = cluster.accelerator;
        bool const measured = a.kernels && !(a.kernels->is_class() && a.kernels->generation == "*");
        CAPTURE(cluster.name);
        ParallelPlan plan{.dp = 8};
        CHECK(any_has(terms(cluster.name.c_str(), plan), "no device of its generation was measured") == !measured);
        if (a.kernels && a.kernels->is_class()) ++(measured ? of_generation : of_any);
    }
    CHECK(of_generation > 0);
    CHECK(of_any > 0);
}

TEST_CASE("support: kernels of another generation's class are no measurement, those fitted on the device itself are") {
    FrameworkProfile const framework = find_framework("megatron", "test");
    ModelSpec const model = find_model("llama-3.1-8b");
    ClusterSpec cluster = find_cluster("rtx-5090-box", "test");
    auto const lacks_products = [&] {
        return any_has(unsupported_terms(model, cluster, framework, {.dp = 8}), "bf16 products on rtx-5090");
    };
    CHECK(lacks_products());
    KernelCalibration own = *shipped_kernel_calibration("class-ada");
    own.devices = {"rtx-5090"};
    cluster.accelerator.kernels = std::make_shared<KernelCalibration const>(std::move(own));
    CHECK_FALSE(lacks_products());
}

TEST_CASE("assumptions: constants of pipelines, tensor and context parallelism count in plans that have them") {
    FrameworkProfile const framework = find_framework("deepspeed", "test");
    ClusterSpec const cluster = find_cluster("h100-sxm", "test");
    FrameworkTiming timing = timing_for(framework, cluster.accelerator.generation, "bf16");
    for (auto* value : {&timing.pp_overlap, &timing.tp_overlap, &timing.cp_overlap})
        value->basis = Basis::assumed;
    auto const names = [&](char const* key, ParallelPlan const& plan) {
        return any_has(collect_assumptions(find_model("llama-3.1-8b"), cluster, framework, timing, plan), key);
    };
    CHECK(names("pp_overlap", {.dp = 4, .pp = 2}));
    CHECK_FALSE(names("pp_overlap", {.dp = 8}));
    CHECK(names("tp_overlap", {.dp = 4, .tp = 2}));
    CHECK_FALSE(names("tp_overlap", {.dp = 8}));
    CHECK(names("cp_overlap", {.dp = 4, .cp = 2}));
    CHECK_FALSE(names("cp_overlap", {.dp = 8}));
}

TEST_CASE("support: sending a token once per domain needs devices that start transfers") {
    ParallelPlan plan{.dp = 16, .pp = 4, .ep = 16};
    auto const said = [&](char const* cluster) {
        return any_has(terms(cluster, plan, "qwen3-30b-a3b"), "dispatcher deduplicated");
    };
    plan.dispatcher = Dispatcher::deduplicated;
    CHECK(said("aws-p5"));
    CHECK_FALSE(said("h100-sxm"));
    plan.ep = 8;  // in one domain
    CHECK_FALSE(said("aws-p5"));
    plan.ep = 16, plan.dispatcher = Dispatcher::all_to_all;
    CHECK_FALSE(said("aws-p5"));
}
