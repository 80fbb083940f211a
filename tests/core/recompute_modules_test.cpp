#include "core/spec/recompute_modules.hpp"

#include "core/graph/block.hpp"
#include "core/graph/plan_check.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;
using Module = RecomputeModule;

namespace {

ParallelPlan selective(RecomputeModules modules, Precision precision = Precision::bf16) {
    ParallelPlan plan;
    plan.recompute = Recompute::selective;
    plan.recompute_modules = modules;
    plan.precision = precision;
    return plan;
}

Block layer_of(ModelSpec const& model, ParallelPlan const& plan, std::int64_t sequence = 4096) {
    return build_layer(model, model.layers.back(), plan, sequence);
}

/// Names of what runs again in the forward pass.
std::set<std::string> again(Block const& block) {
    std::set<std::string> names;
    for (Op const& op : block.ops)
        if (op.in(Pass::forward) && runs_again(Recompute::selective, op.rerun)) names.emplace(op.name);
    return names;
}

/// Tensors that are kept whatever the framework, and experts' outputs.
std::set<std::string> dropped(Block const& block) {
    std::set<std::string> names;
    for (SavedTensor const& tensor : block.saved)
        if (tensor.kept({}) > Bytes{} && runs_again(Recompute::selective, tensor.dropped_by))
            names.emplace(tensor.name);
    return names;
}

using Names = std::set<std::string>;

}  // namespace

TEST_CASE("modules of selective recompute have Megatron-Core's names, and each is read as it is written", "[INV-7]") {
    for (char const* text : {"core_attn", "layernorm,moe_act", "core_attn,layernorm,mla_up_proj,mlp,moe,moe_act", "op",
                             "shared_experts,mlp_act"})
        CHECK(modules_text(recompute_modules_from(text, "test")) == text);
    CHECK(recompute_modules_from("moe_act,layernorm", "test") == RecomputeModules{Module::layernorm, Module::moe_act});
    CHECK(recompute_modules_from("layernorm+mlp", "test") == RecomputeModules{Module::layernorm, Module::mlp});
    CHECK(modules_text({Module::layernorm, Module::moe}, " ") == "layernorm moe");
    CHECK(selective_label(attention_core) == "selective");
    CHECK(selective_label({Module::layernorm, Module::moe_act}) == "selective(layernorm,moe_act)");
    CHECK_THROWS_WITH(recompute_modules_from("layer_norm", "x"), contains("x: unknown module 'layer_norm'") &&
                                                                     contains("did you mean 'layernorm'") &&
                                                                     contains("known: core_attn"));
    CHECK_THROWS_WITH(recompute_modules_from("", "x"), contains("unknown module ''"));
    CHECK_THROWS_WITH(recompute_modules_from("moe,", "x"), contains("unknown module ''"));
    CHECK_THROWS_WITH(recompute_modules_from("op,moe", "x"), contains("beside op"));
}

TEST_CASE("each module of selective recompute runs its ops again and drops what they leave", "[INV-7]") {
    ModelSpec const dense = llama(4096, 32, 8, 1, 14336);
    ModelSpec const experts = mixture(2048, 1, 8, 2, 5632);
    auto const block = [](ModelSpec const& model, Module module) { return layer_of(model, selective({module})); };
    CHECK(again(block(dense, Module::core_attn)) == Names{"attention"});
    CHECK(dropped(block(dense, Module::core_attn)) == Names{"softmax statistics"});
    CHECK(again(block(dense, Module::layernorm)) == Names{"input norm", "mlp norm"});
    CHECK(dropped(block(dense, Module::layernorm)) == Names{"linear input"});
    CHECK(again(block(dense, Module::mlp_act)) == Names{"activation"});
    CHECK(dropped(block(dense, Module::mlp_act)) == Names{"activation output"});
    CHECK(again(block(dense, Module::mlp)) == Names{"mlp up", "activation", "mlp down"});
    CHECK(dropped(block(dense, Module::mlp)) == Names{"mlp up output", "activation output"});
    CHECK(again(block(experts, Module::moe_act)) == Names{"expert activation"});
    CHECK(dropped(block(experts, Module::moe_act)) == Names{"expert activation output"});
    CHECK(again(block(experts, Module::moe)) ==
          Names{"router", "top-k", "permute", "experts up", "expert activation", "experts down", "combine"});
    CHECK(dropped(block(experts, Module::moe)) == Names{"router scores", "dispatched tokens", "experts up output",
                                                        "expert activation output", "expert outputs"});
    // Norms: half of the kept hidden-sized tensors beside attention, 4 T h of bytes each pair.
    Bytes const freed = block(dense, Module::layernorm).kept(Recompute::none) -
                        block(dense, Module::layernorm).kept(Recompute::selective);
    CHECK(freed.base() == 2.0 * 2 * 4096 * 4096);

    ModelSpec const latent = find_model("deepseek-v3");
    Block const expanded = layer_of(latent, selective({Module::mla_up_proj}));
    CHECK(again(expanded) == Names{"q up", "kv up", "assemble q, k, v", "rotary"});
    CHECK(dropped(expanded) == Names{"q, k, v"});
    Block const shared = layer_of(latent, selective({Module::shared_experts}));
    CHECK(again(shared) == Names{"mlp up", "activation", "mlp down"});
    CHECK(dropped(shared) == Names{"mlp up output", "activation output"});

    ParallelPlan split = selective({Module::moe});
    split.dp = split.ep = 8;
    CHECK(again(layer_of(latent, split)).contains("dispatch"));
}

TEST_CASE("recompute by op keeps every second product, attention and reduce-scatters", "[INV-7]") {
    ModelSpec const model = llama(4096, 32, 8, 1, 14336);
    Block const layer = layer_of(model, selective({Module::op}), 8192);
    CHECK(again(layer) ==
          Names{"input norm", "k", "rotary", "attention out", "residual", "mlp norm", "mlp up", "activation"});
    // Input, queries, values, attention's output and statistics, gate; nothing reads the result of the last product.
    double const each = 2.0 * (4096 + 4096 + 1024 + 4096 + 14336) + 4 * 32;
    CHECK(layer.kept(Recompute::selective).base() == each * 8192);
    Flops products;
    for (Op const& op : layer.ops)
        if (op.op_class() == OpClass::gemm && runs_again(Recompute::selective, op.rerun))
            products += work_of(op, Pass::forward).executed;
    CHECK(products.base() == 2.0 * 8192 * 4096 * (1024 + 4096 + 14336));

    // Split projections are the same work; without the policy they are one product.
    Block const whole = layer_of(model, ParallelPlan{}, 8192);
    CHECK(layer.work(Pass::forward).executed == whole.work(Pass::forward).executed);
    CHECK(layer.work(Pass::backward).executed == whole.work(Pass::backward).executed);
    ParallelPlan off = selective({Module::op});
    off.recompute = Recompute::none;
    CHECK(layer_of(model, off, 8192).kept(Recompute::none) == whole.kept(Recompute::none));

    ParallelPlan split = selective({Module::op});
    split.tp = 4;
    split.sequence_parallel = Switch::on;
    auto const kept = [&](char const* name) {
        double sum = 0;
        for (SavedTensor const& tensor : layer_of(model, split, 8192).saved)
            if (tensor.name == name && !runs_again(Recompute::selective, tensor.dropped_by)) sum += tensor.bytes.base();
        return sum;
    };
    CHECK(kept("attention out") == 2.0 * 8192 * 4096 / 4);
    CHECK(kept("mlp out") == 0);
    CHECK(kept("mlp down") == 0);
    split.dropout = Switch::on;  // whose mask is made of what is sent
    CHECK(kept("mlp out") == 2.0 * 8192 * 4096 / 4);
    CHECK(kept("mlp down") == 2.0 * 8192 * 4096);  // a partial sum: of the whole width
    CHECK(again(layer_of(model, split, 8192)).contains("mlp in"));
    CHECK_FALSE(again(layer_of(model, split, 8192)).contains("mlp out"));
}

TEST_CASE("recompute by op keeps what experts' tokens were exchanged to, but Qwen3's, and no product", "[INV-7]") {
    ModelSpec model = mixture(2048, 1, 8, 2, 5632);
    model.moe->shared_intermediate = 5632;
    ParallelPlan plan = selective({Module::op});
    plan.dp = plan.ep = 8;
    auto const exchanges = [&] {
        Block const layer = layer_of(model, plan);
        return std::count_if(layer.ops.begin(), layer.ops.end(), [](Op const& op) {
            return op.op_class() == OpClass::communication && runs_again(Recompute::selective, op.rerun);
        });
    };
    auto const kept = [&](char const* name) {
        double sum = 0;
        for (SavedTensor const& tensor : layer_of(model, plan).saved)
            if (tensor.name == name && !runs_again(Recompute::selective, tensor.dropped_by)) sum += tensor.bytes.base();
        return sum;
    };
    double const hidden = 2.0 * 4096 * 2048;
    CHECK(exchanges() == 0);
    CHECK(kept("dispatch") == 2 * hidden);
    CHECK(kept("combine") == 2 * hidden);
    // The policy sees no product of modules that are compiled one by one.
    for (char const* const product : {"q", "v", "router", "mlp gate", "mlp up", "mlp down"}) {
        CAPTURE(product);
        CHECK(kept(product) == 0);
        CHECK(again(layer_of(model, plan)).contains(product));
    }
    CHECK_FALSE(again(layer_of(model, plan)).contains("attention"));
    CHECK(kept("attention output") == hidden);

    plan.dispatcher = Dispatcher::deduplicated;  // which leaves one sum of what comes back
    CHECK(kept("dispatch") == 2 * hidden);
    CHECK(kept("combine") == hidden);
    plan.ep = 1;
    CHECK(kept("dispatch") == 0);
    plan.ep = 8;

    model.architecture = "qwen3_moe";
    CHECK(exchanges() == 2);
    CHECK(kept("dispatch") == 0);
}

TEST_CASE("frameworks that do not gather again keep what tensor-parallel layers read, and experts' rows of all ranks",
          "[INV-6]") {
    ParallelPlan plan{.tp = 4};
    KeptFormats const gathers{.gathered_copy = 2};
    auto const more = [&](ModelSpec const& model, Recompute recompute) {
        Block const layer = layer_of(model, plan);
        return (layer.kept(recompute, gathers) - layer.kept(recompute, {})).base();
    };
    ModelSpec const dense = llama(4096, 32, 8, 1, 14336);
    CHECK(more(dense, Recompute::none) == 0);  // every rank has all of it as it is
    plan.sequence_parallel = Switch::on;
    CHECK(more(dense, Recompute::none) == 2 * 2.0 * 4096 * 4096 * 3 / 4);
    CHECK(more(dense, Recompute::full) == 0);
    // Two experts of each token, in fp32; attention and the router read 2 bytes.
    ModelSpec const experts = mixture(2048, 1, 8, 2, 5632);
    CHECK(more(experts, Recompute::none) == (2 * 2.0 + 4 * 2) * 4096 * 2048 * 3 / 4);
    plan.expert_tp = 4;
    CHECK(more(experts, Recompute::none) == 2 * 2.0 * 4096 * 2048 * 3 / 4);
    plan = {.tp = 1};
    CHECK(more(dense, Recompute::none) == 0);
}

TEST_CASE("inputs of fp8 products are kept narrow where the framework does so, once or beside", "[INV-6]") {
    ModelSpec const model = llama(4096, 32, 8, 1, 14336);
    auto const kept = [&](Precision precision, double input_bytes) {
        return layer_of(model, selective({Module::core_attn}, precision))
            .kept(Recompute::none, {.narrow_input = input_bytes})
            .base();
    };
    CHECK(kept(Precision::bf16, 1) == kept(Precision::bf16, 2));
    CHECK(kept(Precision::fp8, 2) == kept(Precision::bf16, 2));
    // Two norms' outputs and the activation's are halved; attention keeps its output and the product a copy.
    double const saved = 4096.0 * (2 * 4096 + 14336 - 4096);
    CHECK(kept(Precision::fp8, 2) - kept(Precision::fp8, 1) == saved);

    // In fp4 half a byte and a scale for every sixteen, and none where the framework keeps them as they come.
    CHECK(kept(Precision::fp8, 1) - kept(Precision::fp4, 1) ==
          Approx((1 - 0.5625) * 4096.0 * (2 * 4096 + 14336 + 4096)));
    CHECK(kept(Precision::fp4, 2) == kept(Precision::bf16, 2));
    // With sequence parallelism what a norm leaves for products is kept by rows and by columns.
    ParallelPlan split = selective({Module::core_attn}, Precision::fp4);
    split.tp = 4;
    split.sequence_parallel = Switch::on;
    CHECK(layer_of(model, split).kept(Recompute::none, {.narrow_input = 1}).base() ==
          Approx(kept(Precision::fp4, 1) / 4 + 0.5625 * 4096.0 * 2 * 4096 / 4));

    // A router reads the norm's output in 16 bit: alone, or beside shared experts.
    auto const narrow = [&](ModelSpec const& of, char const* name) {
        Block const block = layer_of(of, selective({Module::core_attn}, Precision::fp8));
        auto const last = std::find_if(block.saved.rbegin(), block.saved.rend(),
                                       [&](SavedTensor const& tensor) { return tensor.name == name; });
        REQUIRE(last != block.saved.rend());
        return last->narrow;
    };
    CHECK(narrow(model, "linear input") == NarrowInput::instead);
    CHECK(narrow(mixture(2048, 1, 8, 2, 5632), "linear input") == NarrowInput::no);
    CHECK(narrow(find_model("deepseek-v3"), "linear input") == NarrowInput::beside);
    CHECK(narrow(mixture(2048, 1, 8, 2, 5632), "dispatched tokens") == NarrowInput::instead);
}

TEST_CASE("what a gated activation reads is kept in fp8 where asked, by a kernel that writes it and one that reads it",
          "[INV-6]") {
    ParallelPlan plan;
    auto const difference = [&](ModelSpec const& model, auto figure) {
        plan.fp8_activation_input = Switch::off;
        double const usual = figure(layer_of(model, plan));
        plan.fp8_activation_input = Switch::on;
        return figure(layer_of(model, plan)) - usual;
    };
    auto const kept = [](Block const& block) { return block.kept(Recompute::none).base(); };
    auto const moved = [](Block const& block) {
        return block.work(Pass::forward).moved.base() + block.work(Pass::backward).moved.base();
    };
    double const values = 2.0 * 4096 * 14336;  // gate and up of 4,096 tokens
    ModelSpec const dense = llama(4096, 32, 8, 1, 14336);
    CHECK(difference(dense, kept) == -values);
    CHECK(difference(dense, moved) == Approx(6 * values));
    ModelSpec const experts = mixture(2048, 1, 8, 2, 5632);
    double const routed = 2.0 * 2 * 4096 * 5632;
    CHECK(difference(experts, kept) == -routed);
    CHECK(difference(experts, moved) == Approx(6 * routed));
    plan.tp = 2, plan.sequence_parallel = Switch::on;
    CHECK(difference(dense, kept) == -values / 2);
    auto const same = [](Block const& block) { return block.kept(Recompute::full).base(); };
    CHECK(difference(dense, same) == 0);
}

TEST_CASE("tokens that are sent once per domain leave no copies beside the experts' inputs", "[INV-6]") {
    ModelSpec const model = mixture(2048, 1, 8, 2, 5632);
    ParallelPlan plan;
    plan.dp = plan.ep = 8;
    Bytes const copied = layer_of(model, plan).kept(Recompute::none);
    plan.dispatcher = Dispatcher::deduplicated;
    CHECK((copied - layer_of(model, plan).kept(Recompute::none)).base() == 2.0 * 4096 * 2 * 2048);
}

TEST_CASE("scores weight experts' outputs, which are kept, or their activation, which without a gate is kept twice",
          "[INV-6]") {
    ModelSpec const gated = mixture(2048, 1, 8, 2, 5632);
    ModelSpec plain = gated;
    plain.mlp.gated = false;
    constexpr double routed = 4096 * 2;
    KeptFormats const outputs{.routed_copy = 2}, activation{.routed_copy = 0};
    ParallelPlan plan;
    plan.dp = plan.ep = 8;
    ParallelPlan once = plan;
    once.dispatcher = Dispatcher::deduplicated;
    auto const kept = [&](ModelSpec const& model, ParallelPlan const& how, KeptFormats const& formats) {
        return layer_of(model, how).kept(Recompute::none, formats).base();
    };
    CHECK(kept(gated, plan, outputs) - kept(gated, plan, activation) == 2 * routed * 2048);
    CHECK(kept(plain, plan, outputs) - kept(plain, plan, activation) == 2 * routed * 2048 - 2 * routed * 5632);
    for (ModelSpec const& model : {gated, plain})
        for (KeptFormats const& formats : {outputs, activation})
            CHECK(kept(model, once, formats) == kept(model, plan, activation));
    // It runs again with the activation.
    Block const again = layer_of(plain, selective({Module::moe_act}));
    CHECK((again.kept(Recompute::none, activation) - again.kept(Recompute::selective, activation)).base() ==
          2 * 2 * routed * 5632);
    CHECK((again.kept(Recompute::none) - again.kept(Recompute::selective)).base() == 2 * routed * 5632);
}

TEST_CASE("copies that a framework keeps go with the tensors that they are of", "[INV-6]") {
    ModelSpec const dense = llama(4096, 32, 8, 1, 14336), experts = mixture(4096, 1, 8, 2, 14336);
    constexpr double tokens = 4096;
    auto const copies = [](ModelSpec const& model, RecomputeModules modules, KeptFormats const& formats,
                           Recompute policy = Recompute::selective) {
        Block const block = layer_of(model, selective(modules));
        return (block.kept(policy, formats) - block.kept(policy)).base();
    };
    KeptFormats const gate{.gate_copy = 2}, routed{.routed_copy = 8};
    CHECK(copies(dense, {Module::core_attn}, gate) == 2 * tokens * 14336);
    CHECK(copies(dense, {Module::core_attn}, routed) == 0);
    for (Module const module : {Module::mlp, Module::mlp_act, Module::op})
        CHECK(copies(dense, {module}, gate) == 0);

    KeptFormats const norm{.norm_copy = 3}, repeated{.repeated_copy = 2};
    CHECK(copies(dense, {Module::core_attn}, norm) == 2 * 3 * tokens * 4096);
    CHECK(copies(dense, {Module::layernorm}, norm) == 0);
    CHECK(copies(dense, {Module::core_attn}, repeated) == 2 * tokens * 2 * 24 * 128);
    CHECK(copies(llama(4096, 32, 32, 1, 14336), {Module::core_attn}, repeated) == 0);
    CHECK(copies(find_model("deepseek-v3"), {Module::core_attn}, repeated) == 0);  // latents are expanded to all heads
    KeptFormats const planned{.gate_copy = 2, .norm_copy = 3, .planned = true};
    CHECK(copies(dense, {Module::core_attn}, planned.of_layer_run_again()) ==
          copies(dense, {Module::core_attn}, planned) - 2 * 3 * tokens * 4096);
    CHECK(copies(dense, {Module::core_attn}, norm.of_layer_run_again()) == 2 * 3 * tokens * 4096);
    for (KeptFormats const& formats : {norm, repeated})
        CHECK(copies(dense, {Module::core_attn}, formats, Recompute::full) == 0);

    CHECK(copies(experts, {Module::core_attn}, gate) == 2 * 2 * tokens * 14336);
    CHECK(copies(experts, {Module::core_attn}, routed) == (8 - 2) * 2 * tokens * 4096);  // beside experts' outputs
    CHECK(copies(experts, {Module::moe_act}, gate) == 0);
    CHECK(copies(experts, {Module::moe_act}, routed) > 0);
    for (Module const module : {Module::moe, Module::op}) {
        CHECK(copies(experts, {module}, gate) == 0);
        CHECK(copies(experts, {module}, routed) == 0);
    }
    CHECK(copies(experts, {Module::core_attn}, routed, Recompute::full) == 0);

    ModelSpec narrow = experts;  // experts have a width of their own, and shared ones another
    narrow.moe->intermediate = 1024;
    narrow.moe->shared_intermediate = 512;
    CHECK(copies(narrow, {Module::core_attn}, gate) == 2 * tokens * (2 * 1024 + 512));
    CHECK(copies(narrow, {Module::shared_experts}, gate) == 2 * tokens * 2 * 1024);
}

TEST_CASE("more modules keep less and run more again, up to full recompute", "[INV-7]") {
    std::mt19937_64 random(seeded(7));
    for (int i = 0; i < 200; ++i) {
        ModelSpec const model = pick(random, {0, 1, 2}) == 0 ? find_model("deepseek-v3")
                                : pick(random, {0, 1}) == 0  ? llama(2048, 16, 4, 1, 5632)
                                                             : mixture(1024, 1, 16, 2, 768);
        RecomputeModules const there = modules_of(model);
        RecomputeModules few, more;
        for (Module const module : {Module::core_attn, Module::layernorm, Module::mla_up_proj, Module::mlp, Module::moe,
                                    Module::moe_act, Module::shared_experts, Module::mlp_act}) {
            if (!there.has(module)) continue;
            bool const in_few = random() % 3 == 0;
            if (in_few) few.add(module);
            if (in_few || random() % 2 == 0) more.add(module);
        }
        ParallelPlan plan = selective(few, pick(random, {Precision::bf16, Precision::fp8}));
        plan.tp = pick<std::int64_t>(random, {1, 2, 4});
        plan.sequence_parallel = plan.tp > 1 ? pick(random, {Switch::off, Switch::on}) : Switch::off;
        plan.attention = pick(random, {AttentionKernel::flash, AttentionKernel::unfused});
        Block const less = layer_of(model, plan, 2048);
        plan.recompute_modules = more;
        Block const larger = layer_of(model, plan, 2048);
        CAPTURE(modules_text(few), modules_text(more), plan.tp);
        CHECK(less.kept(Recompute::selective) >= larger.kept(Recompute::selective));
        CHECK(larger.kept(Recompute::selective) >= larger.kept(Recompute::full));
        CHECK(less.kept(Recompute::none) == larger.kept(Recompute::none));
        Work const few_again = less.rerun_work(Recompute::selective);
        Work const more_again = larger.rerun_work(Recompute::selective);
        CHECK(few_again.executed <= more_again.executed);
        CHECK(few_again.moved <= more_again.moved);
        CHECK(more_again.executed <= larger.rerun_work(Recompute::full).executed);
    }
}

TEST_CASE("a module that no layer of the model has is refused by name", "[INV-7]") {
    ModelSpec const dense = llama(2048, 16, 4, 2, 5632);
    CHECK(modules_text(modules_of(dense)) == "core_attn,layernorm,mlp,mlp_act,op");
    CHECK(modules_text(modules_of(mixture(1024, 2, 16, 2, 768))) == "core_attn,layernorm,moe,moe_act,op");
    CHECK(modules_text(modules_of(find_model("deepseek-v3"))) ==
          "core_attn,layernorm,mla_up_proj,mlp,moe,moe_act,shared_experts,mlp_act,op");
    CHECK_FALSE(modules_of(hybrid(StateRule::delta, 1024, 4)).has(Module::op));
    CHECK_THROWS_WITH(require_modules(dense, {Module::moe_act}, "here"),
                      contains("here: ") && contains("nothing to recompute as 'moe_act'") &&
                          contains("it has core_attn, layernorm, mlp, mlp_act, op"));
    Workload const workload{.sequence = 2048, .global_batch = 8};
    CHECK_THROWS_WITH(require_valid(dense, selective({Module::mla_up_proj}), workload), contains("mla_up_proj"));
    ParallelPlan unused = selective({Module::moe});
    unused.recompute = Recompute::none;
    CHECK_NOTHROW(require_valid(dense, unused, workload));
}
