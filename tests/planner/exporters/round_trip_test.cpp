#include "core/graph/plan_check.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/exporters/exporter.hpp"
#include "planner/exporters/megatron_translation.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "simulator/closed_form.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>
#include <set>

using namespace sextant;
using fixtures::pick;

namespace {

struct Case {
    ModelSpec model;
    ParallelPlan plan;
    Workload workload;
};

using Random = std::mt19937_64;

Switch coin(Random& random) { return random() % 2 == 0 ? Switch::on : Switch::off; }

/// Layers of every chunk in model order, unequal.
std::vector<std::int64_t> uneven_layers(Random& random, std::int64_t layers, std::int64_t chunks) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(chunks), 0);
    for (std::int64_t i = 0; i < layers; ++i)
        ++out[random() % out.size()];
    return out;
}

/// A plan of any kind, valid for its model.
Case random_case(Random& random) {
    static std::vector<ModelSpec> const models{find_model("llama-3.2-1b"), find_model("gpt2"),
                                               find_model("llama-3.1-405b"), find_model("mixtral-8x7b"),
                                               find_model("deepseek-v2-lite")};
    for (;;) {
        Case c{.model = models[random() % models.size()], .plan = {}, .workload = {}};
        ParallelPlan& p = c.plan;
        p.tp = pick<std::int64_t>(random, {1, 1, 2, 4, 8});
        p.pp = pick<std::int64_t>(random, {1, 1, 2, 3, 4, 7});
        p.cp = pick<std::int64_t>(random, {1, 1, 1, 2, 4});
        p.dp = pick<std::int64_t>(random, {1, 2, 4, 8});
        p.vpp = p.pp > 1 ? pick<std::int64_t>(random, {1, 1, 2, 3}) : 1;
        p.micro_batch = pick<std::int64_t>(random, {1, 2, 4});
        p.schedule = static_cast<Schedule>(random() % 10);
        p.zero = static_cast<int>(random() % 4);
        p.shard_group = random() % 4 == 0 ? pick<std::int64_t>(random, {1, 2, 4, 8}) : 0;
        p.recompute = static_cast<Recompute>(random() % 3);
        p.recompute_layers = p.recompute == Recompute::full ? pick<std::int64_t>(random, {0, 0, 1, 2, 3, 4}) : 0;
        if (p.recompute == Recompute::selective && random() % 2 == 0)
            p.recompute_modules = recompute_modules_from(
                pick(random,
                     {"layernorm", c.model.moe ? "moe,moe_act" : "layernorm,mlp_act", "op", "core_attn,layernorm"}),
                "test");
        p.sequence_parallel = p.tp > 1 ? coin(random) : Switch::off;
        p.cp_mode = static_cast<ContextParallel>(random() % 3);
        p.offload = static_cast<Offload>(random() % 8 < 4 ? 0 : random() % 4);
        p.attention = pick(
            random, {AttentionKernel::flash, AttentionKernel::flash, AttentionKernel::unfused, AttentionKernel::eager});
        p.optimizer = random() % 2 == 0 ? Optimizer::adamw : static_cast<Optimizer>(random() % 6);
        p.precision = random() % 2 == 0 ? Precision::bf16 : static_cast<Precision>(random() % 8);
        if (random() % 4 == 0) p.gradients = GradientFormat::bf16;
        p.dropout = coin(random);
        p.fused_cross_entropy = coin(random);
        if (random() % 16 == 0)
            p.adapters = {.rank = 8,
                          .targets = adapter_targets_from(pick(random, {"attention", "q,v", "o"}), "test"),
                          .base = pick(random, {BaseWeights::bf16, BaseWeights::nf4})};
        if (c.model.moe) {
            p.ep = pick<std::int64_t>(random, {1, 2, 4, 8});
            p.expert_tp = pick<std::int64_t>(random, {1, 1, 2, p.tp});
            p.dispatcher = random() % 3 == 0 ? Dispatcher::deduplicated : Dispatcher::all_to_all;
        }
        if (p.pp > 1 && random() % 3 == 0) p.stage_layers = uneven_layers(random, c.model.layer_count(), p.pp * p.vpp);
        c.workload = {.sequence = 1024,
                      .global_batch = p.dp * p.micro_batch * pick<std::int64_t>(random, {1, 4, 8, 14})};
        if (!find_problem(c.model, p, c.workload)) return c;
    }
}

ForeignPlan import_again(std::string const& format, Export const& exported, ModelSpec const& model) {
    if (format == "megatron") return import_megatron(exported.files[0].text, "megatron.sh", model);
    if (format == "torchtitan") return import_torchtitan(exported.files[0].text, "torchtitan.toml", model);
    return import_deepspeed(exported.files[0].text, exported.files[1].text, "deepspeed.sh", model);
}

std::string shown(std::vector<std::string> const& names) {
    std::string out;
    for (std::string const& name : names)
        out += name + " ";
    return out;
}

}  // namespace

TEST_CASE("find_exporter offers the nearest format of one that is not there", "[export]") {
    CHECK_THROWS_WITH(find_exporter("megatro", "--format"),
                      contains("--format: unknown format 'megatro'; did you mean 'megatron'?"));
}

TEST_CASE("an exported plan comes back as the plan its file expresses, and all else is said", "[export][INV-69]") {
    auto const* const format = GENERATE("megatron", "deepspeed", "torchtitan");
    ClusterSpec const cluster = find_cluster("h100-sxm", "--cluster");
    Random random(7);
    int whole = 0;
    constexpr int rounds = 4000;
    for (int i = 0; i < rounds; ++i) {
        Case c = random_case(random);
        if (i % 40 == 0) c.plan.loss_chunks = 8;
        if (i % 16 == 1) c.plan.offload_layers = 1 + i % 8;
        if (ParallelPlan away = c.plan; i % 8 == 5) {
            away.offload = i % 16 == 5 ? Offload::parameters : Offload::parameters_and_activations;
            if (!find_problem(c.model, away, c.workload)) c.plan = away;
        }
        if (i % 64 == 2 && c.model.mlp.gated) c.plan.fp8_activation_input = Switch::on;
        // Megatron-LM's weights without the distributed optimizer have them, and beside most offloaded ones.
        bool const always = format == std::string_view("megatron") &&
                            (normal_form(c.plan, c.model).zero == 0 || c.plan.optimizer == Optimizer::muon ||
                             !offloads_beside_narrow_weights(c.plan));
        if (is_narrow(c.plan.precision) && c.plan.zero < 3 && !c.plan.adapters.on() && (always || i % 32 == 3))
            c.plan.narrow_copies = Switch::on;
        LaunchPlan const launch = make_launch_plan(c.model, cluster, c.workload, c.plan, {});
        Export const exported = find_exporter(format, "--format").write(launch);
        ForeignPlan const back = import_again(format, exported, c.model);
        INFO(format << " case " << i << " " << c.model.name << "\n"
                    << exported.files.back().text << exported.files[0].text);
        CAPTURE(shown(differing_fields(normal_form(back.plan, c.model), normal_form(exported.expressed, c.model))));
        REQUIRE(differing_fields(normal_form(back.plan, c.model), normal_form(exported.expressed, c.model)).empty());
        REQUIRE(back.accelerators == c.plan.world_size());
        REQUIRE(back.sequence == c.workload.sequence);
        REQUIRE(back.global_batch == c.workload.global_batch);
        std::set<std::string> said;
        for (NotExpressed const& note : exported.not_expressed)
            said.insert(note.field);
        for (std::string const& field : differing_fields(normal_form(c.plan, c.model), exported.expressed)) {
            CAPTURE(field);
            REQUIRE(said.contains(field));
        }
        // What is said is also in the file.
        for (NotExpressed const& note : exported.not_expressed)
            REQUIRE(exported.files.back().text.find("# - " + note.field + ": ") != std::string::npos);
        whole += exported.not_expressed.empty() ? 1 : 0;
    }
    CHECK(whole > (std::string_view(format) == "megatron" ? rounds / 20 : 5));
}

TEST_CASE("the normal form of a plan is the same plan: as long a step, as much memory", "[export][INV-69]") {
    ClusterSpec const cluster = find_cluster("h100-sxm", "--cluster");
    FrameworkProfile const framework = find_framework("megatron", "--framework");
    Random random(11);
    int changed = 0;
    for (int i = 0; i < 400; ++i) {
        Case const c = random_case(random);
        ParallelPlan const normal = normal_form(c.plan, c.model);
        if (c.plan.precision == Precision::fp4 || c.plan.precision == Precision::mxfp8)
            continue;  // not on this machine
        ClosedForm form(c.model, c.workload, cluster, framework, c.plan.precision);
        StepEstimate const as_given = form.evaluate(c.plan);
        StepEstimate const as_normal = form.evaluate(normal);
        CAPTURE(i, c.model.name, shown(differing_fields(c.plan, normal)));
        // ZeRO of a rank by itself says when gradients are added up, which is not the same to the clock.
        if (normal.zero == c.plan.zero) CHECK(as_normal.time.base() == Approx(as_given.time.base()).epsilon(1e-12));
        CHECK(as_normal.peak().base() == Approx(as_given.peak().base()).epsilon(1e-12));
        CHECK(differing_fields(normal_form(normal, c.model), normal).empty());
        changed += differing_fields(c.plan, normal).empty() ? 0 : 1;
    }
    CHECK(changed > 100);
}
