#include "core/graph/block.hpp"

#include "core/graph/model_flops.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

double number(std::int64_t n) { return static_cast<double>(n); }

/// The setting of arXiv:2205.05198: dropout on, unfused attention.
ParallelPlan paper_plan(std::int64_t tp, Switch sequence_parallel, std::int64_t micro_batch) {
    ParallelPlan plan;
    plan.tp = tp;
    plan.sequence_parallel = sequence_parallel;
    plan.micro_batch = micro_batch;
    plan.attention = AttentionKernel::unfused;
    plan.dropout = Switch::on;
    return plan;
}

int count(Block const& block, CollectiveKind kind, Passes passes, Hiding hiding) {
    return static_cast<int>(std::count_if(block.ops.begin(), block.ops.end(), [&](Op const& op) {
        auto const* c = std::get_if<Collective>(&op.what);
        return c != nullptr && c->kind == kind && op.passes == passes && op.hiding == hiding;
    }));
}

Flops gemm_flops(Block const& block, Pass pass) {
    Flops total;
    for (Op const& op : block.ops)
        if (op.op_class() == OpClass::gemm) total += work_of(op, pass).executed;
    return total;
}

Flops model_flops(Block const& block) { return block.work(Pass::forward).model + block.work(Pass::backward).model; }

}  // namespace

TEST_CASE("activations of a layer are the formulas of Korthikanti et al., per s b h", "[INV-6]") {
    std::mt19937_64 random(seeded(1));
    for (int i = 0; i < 100; ++i) {
        auto const tp = pick<std::int64_t>(random, {1, 2, 4, 8});
        auto const heads = tp * pick<std::int64_t>(random, {2, 3, 5, 12});
        auto const hidden = heads * pick<std::int64_t>(random, {64, 80, 128});
        auto const sequence = 1024 * pick<std::int64_t>(random, {1, 2, 3, 8});
        auto const batch = pick<std::int64_t>(random, {1, 2, 5});
        ModelSpec const model = gpt(hidden, heads, 2);
        double const sbh = number(sequence * batch * hidden);
        double const scores = 5 * number(heads * sequence) / number(hidden);
        auto const t = number(tp);
        CAPTURE(tp, heads, hidden, sequence, batch);

        Block const plain = build_layer(model, {}, paper_plan(tp, Switch::off, batch), sequence);
        CHECK(plain.kept(Recompute::none).base() / sbh == Approx(10 + 24 / t + scores / t).epsilon(1e-12));
        CHECK(plain.kept(Recompute::selective).base() / sbh == Approx(10 + 24 / t).epsilon(1e-12));
        CHECK(plain.kept(Recompute::full).base() / sbh == Approx(2).epsilon(1e-12));
        if (tp == 1) {
            CHECK(plain.kept(Recompute::none).base() / sbh == Approx(34 + scores).epsilon(1e-12));
            continue;
        }
        Block const split = build_layer(model, {}, paper_plan(tp, Switch::on, batch), sequence);
        CHECK(split.kept(Recompute::none).base() / sbh == Approx((34 + scores) / t).epsilon(1e-12));
        CHECK(split.kept(Recompute::selective).base() / sbh == Approx(34 / t).epsilon(1e-12));
        CHECK(split.kept(Recompute::full).base() / sbh == Approx(2 / t).epsilon(1e-12));
    }
}

TEST_CASE("flash attention keeps 4 bytes per head and token in place of the score tensors", "[INV-6]") {
    ModelSpec const model = gpt(2048, 16, 2);
    ParallelPlan plan = paper_plan(1, Switch::off, 2);
    double const tokens = 2 * 4096;
    double const unfused = build_layer(model, {}, plan, 4096).kept(Recompute::none).base();
    plan.attention = AttentionKernel::flash;
    double const flash = build_layer(model, {}, plan, 4096).kept(Recompute::none).base();
    CHECK(unfused - flash == Approx(5 * 16 * tokens * 4096 - 4 * tokens * 16).epsilon(1e-12));
}

TEST_CASE("eager attention keeps the softmax in fp32 and what the next product reads of it", "[INV-6]") {
    ModelSpec const model = gpt(2048, 16, 2);
    ParallelPlan plan = paper_plan(1, Switch::off, 2);
    double const scores = 2.0 * 16 * 4096 * 4096;
    for (Switch const dropout : {Switch::off, Switch::on}) {
        plan.dropout = dropout;
        plan.attention = AttentionKernel::unfused;
        double const unfused = build_layer(model, {}, plan, 4096).kept(Recompute::none).base();
        double const dropped = build_layer(model, {}, plan, 4096).kept(Recompute::selective).base();
        plan.attention = AttentionKernel::eager;
        Block const eager = build_layer(model, {}, plan, 4096);
        // With dropout the next product reads what dropout wrote, and the softmax in 16 bits is gone.
        CHECK(eager.kept(Recompute::none).base() - unfused == Approx((dropout == Switch::on ? 2 : 4) * scores));
        CHECK(eager.kept(Recompute::selective).base() == Approx(dropped));
    }
}

TEST_CASE("a GPT layer costs 72 h^2 FLOPs per token forward and backward, plus 12 s h for attention", "[INV-4]") {
    std::mt19937_64 random(seeded(2));
    for (int i = 0; i < 50; ++i) {
        auto const heads = pick<std::int64_t>(random, {8, 12, 96});
        auto const hidden = heads * pick<std::int64_t>(random, {64, 128});
        auto const sequence = 512 * pick<std::int64_t>(random, {1, 4, 16});
        Block const layer = build_layer(gpt(hidden, heads, 1), {}, paper_plan(1, Switch::off, 1), sequence);
        auto const h = number(hidden);
        CHECK(model_flops(layer).base() / number(sequence) ==
              Approx(72 * h * h + 12 * number(sequence) * h).epsilon(1e-12));
    }
}

TEST_CASE("matrix products cost 2 FLOPs per parameter and token forward, whatever the model", "[INV-4]") {
    // Embeddings and norms multiply nothing; of the experts a token uses top_k.
    std::mt19937_64 random(seeded(3));
    for (int i = 0; i < 50; ++i) {
        ModelSpec model = i % 5 == 0          ? hybrid(i % 2 == 0 ? StateRule::delta : StateRule::decay, 1024, 4)
                          : random() % 2 == 0 ? llama(2048, 16, pick<std::int64_t>(random, {2, 4, 16}), 2, 5632)
                                              : mixture(1024, 2, 16, pick<std::int64_t>(random, {1, 2, 4}), 768);
        if (model.moe && random() % 2 == 0) model.moe->shared_intermediate = 1536;
        LayerKind const kind = model.layers[static_cast<std::size_t>(i / 5) % model.layers.size()];
        std::int64_t used = 0;
        for (Parameter const& p : layer_parameters(model, kind)) {
            if (p.columns == 1) continue;  // norms, and what recurrent layers multiply channel by channel
            used += p.sharding == Sharding::expert ? p.rows * p.columns * model.moe->top_k : p.count();
        }
        Block const layer = build_layer(model, kind, {}, 1024);
        CHECK(gemm_flops(layer, Pass::forward).base() / 1024 == Approx(2 * number(used)).epsilon(1e-12));
        CHECK(gemm_flops(layer, Pass::backward).base() ==
              Approx(2 * gemm_flops(layer, Pass::forward).base()).epsilon(1e-12));
    }
}

TEST_CASE("tensor, sequence and context parallelism divide a layer's FLOPs without loss", "[INV-5]") {
    ModelSpec const model = llama(4096, 32, 8, 2, 14336);
    double const whole = model_flops(build_layer(model, {}, {}, 8192)).base();
    for (std::int64_t const tp : {1, 2, 4, 8})
        for (std::int64_t const cp : {1, 2, 4})
            for (ContextParallel const mode :
                 {ContextParallel::ring, ContextParallel::all_gather, ContextParallel::ulysses})
                for (Switch const sp : {Switch::off, Switch::on}) {
                    if (sp == Switch::on && tp == 1) continue;
                    ParallelPlan plan;
                    plan.tp = tp;
                    plan.cp = cp;
                    plan.cp_mode = mode;
                    plan.sequence_parallel = sp;
                    CAPTURE(tp, cp, name_of(mode));
                    CHECK(model_flops(build_layer(model, {}, plan, 8192)).base() * number(tp * cp) ==
                          Approx(whole).epsilon(1e-12));
                }
}

TEST_CASE("expert parallelism divides the parameters of experts and keeps each rank's work", "[INV-5]") {
    ModelSpec const model = mixture(2048, 2, 64, 4, 1408);
    ParallelPlan one;
    one.dp = 64;
    Block const alone = build_layer(model, {.moe = true}, one, 4096);
    for (std::int64_t const ep : {2, 8, 64}) {
        ParallelPlan plan = one;
        plan.ep = ep;
        Block const layer = build_layer(model, {.moe = true}, plan, 4096);
        CHECK(layer.parameters.expert * number(ep) == Approx(alone.parameters.expert));
        CHECK(layer.parameters.dense == alone.parameters.dense);
        CHECK(model_flops(layer).base() == Approx(model_flops(alone).base()).epsilon(1e-12));
        CHECK(count(layer, CollectiveKind::all_to_all, Passes::both, Hiding::exposed) == 2);  // dispatch and combine
    }
    CHECK(count(alone, CollectiveKind::all_to_all, Passes::both, Hiding::exposed) == 0);
}

TEST_CASE("narrow formats quantise the inputs of experts' products as those of any other", "[INV-5]") {
    ModelSpec const model = mixture(2048, 2, 64, 4, 1408);
    auto const quantised = [&](Precision precision) {
        ParallelPlan plan;
        plan.precision = precision;
        double bytes = 0;
        for (Op const& op : build_layer(model, {.moe = true}, plan, 4096).ops)
            if (auto const* s = std::get_if<Streaming>(&op.what); s != nullptr && op.name == "quantise")
                bytes += s->forward.base();
        return bytes;
    };
    CHECK(quantised(Precision::bf16) == 0);
    // Experts read 4 x 4096 rows of hidden and of intermediate width; attention 4096 rows, twice, of hidden width.
    CHECK(quantised(Precision::fp8) == Approx(3.0 * 4096 * (4 * (2048 + 1408) + 2 * 2048)));
    // Two bytes read, half a byte and a sixteenth of a scale written along rows and along columns; in fp8 along rows.
    CHECK(quantised(Precision::fp4) == Approx((2 + 2 * (0.5 + 1.0 / 16)) / 3 * quantised(Precision::fp8)));
}

TEST_CASE("work of a pass sends what its collectives do, and so does what runs again", "[INV-7]") {
    ParallelPlan const plan = paper_plan(8, Switch::on, 1);
    Block const layer = build_layer(llama(4096, 32, 8, 1, 14336), {}, plan, 4096);
    double const tensor = 2.0 * 4096 * 4096;  // 16 bits of [T, h]
    // Two regions: gathered and reduced; backward the same, and what was gathered once more.
    CHECK(layer.work(Pass::forward).sent.base() == 4 * tensor);
    CHECK(layer.work(Pass::backward).sent.base() == 6 * tensor);
    CHECK(layer.rerun_work(Recompute::full).sent == layer.work(Pass::forward).sent);
    CHECK(layer.rerun_work(Recompute::selective).sent == Bytes{});
    CHECK(build_layer(llama(4096, 32, 8, 1, 14336), {}, {}, 4096).work(Pass::forward).sent == Bytes{});
}

TEST_CASE("recompute runs again what it says: nothing, the attention core, the whole forward pass", "[INV-7]") {
    for (ModelSpec const& model : {gpt(1024, 16, 1), llama(4096, 32, 8, 1, 14336), mixture(2048, 1, 8, 2, 5632)}) {
        Block const layer = build_layer(model, model.layers.front(), {}, 4096);
        CHECK(layer.rerun_work(Recompute::none).executed == Flops{});
        CHECK(layer.rerun_work(Recompute::full).executed == layer.work(Pass::forward).executed);
        CHECK(layer.rerun_work(Recompute::full).moved == layer.work(Pass::forward).moved);
        auto const core = std::find_if(layer.ops.begin(), layer.ops.end(),
                                       [](Op const& op) { return op.op_class() == OpClass::attention; });
        REQUIRE(core != layer.ops.end());
        CHECK(layer.rerun_work(Recompute::selective).executed == work_of(*core, Pass::forward).executed);
    }
}

TEST_CASE("a stronger recompute policy never keeps more", "[INV-7]") {
    std::mt19937_64 random(seeded(4));
    for (int i = 0; i < 200; ++i) {
        ModelSpec const model = random() % 2 == 0 ? llama(2048, 16, 4, 1, 5632) : mixture(1024, 1, 16, 2, 768);
        ParallelPlan plan;
        plan.tp = pick<std::int64_t>(random, {1, 2, 4});
        plan.cp = pick<std::int64_t>(random, {1, 2});
        plan.micro_batch = pick<std::int64_t>(random, {1, 3, 8});
        plan.sequence_parallel = plan.tp > 1 ? pick(random, {Switch::off, Switch::on}) : Switch::off;
        plan.attention = pick(random, {AttentionKernel::flash, AttentionKernel::unfused, AttentionKernel::eager});
        plan.dropout = pick(random, {Switch::off, Switch::on});
        Block const layer = build_layer(model, model.layers.front(), plan, 4096);
        CHECK(layer.kept(Recompute::none) >= layer.kept(Recompute::selective));
        CHECK(layer.kept(Recompute::selective) >= layer.kept(Recompute::full));
        CHECK(layer.kept(Recompute::full) == layer.input);
        CHECK(layer.input > Bytes{});
    }
}

TEST_CASE("full recompute keeps what it is told to, and does not make it again", "[INV-7]") {
    ModelSpec const model = llama(2048, 16, 4, 1, 5632);
    ParallelPlan plan{.recompute = Recompute::full};
    auto const layer = [&](ActivationGroups kept) {
        plan.kept_activations = kept;
        return build_layer(model, model.layers.front(), plan, 4096);
    };
    auto const kept = [&](ActivationGroups groups) {
        return ((layer(groups).kept(Recompute::full) - layer({}).kept(Recompute::full)) / (4096 * units::B));
    };
    auto const spared = [&](ActivationGroups groups) {
        return (layer({}).rerun_work(Recompute::full).executed - layer(groups).rerun_work(Recompute::full).executed)
                   .base() /
               4096;
    };
    CHECK(kept({ActivationGroup::qkv}) == Approx(2.0 * (2048 + 2 * 512)));
    CHECK(spared({ActivationGroup::qkv}) == Approx(2.0 * 2048 * (2048 + 2 * 512)));
    CHECK(kept({ActivationGroup::context}) == Approx(2.0 * 2048 + 4 * 16));  // and the statistics of each head
    CHECK(kept({ActivationGroup::attention_out}) == Approx(2.0 * 2048));
    CHECK(spared({ActivationGroup::attention_out}) == Approx(2.0 * 2048 * 2048));
    CHECK(kept({ActivationGroup::mlp_up}) == Approx(2.0 * 2 * 5632));
    CHECK(spared({ActivationGroup::mlp_up}) == Approx(2.0 * 2048 * 2 * 5632));
    CHECK(kept({ActivationGroup::mlp_act}) == Approx(2.0 * 5632));
    CHECK(kept({ActivationGroup::norm_out}) == Approx(2 * 2.0 * 2048));

    std::mt19937_64 random(seeded(40));
    for (int i = 0; i < 200; ++i) {
        ModelSpec const any = random() % 2 == 0 ? llama(2048, 16, 4, 1, 5632) : mixture(1024, 1, 16, 2, 768);
        plan.tp = pick<std::int64_t>(random, {1, 2, 4});
        plan.attention = pick(random, {AttentionKernel::flash, AttentionKernel::unfused});
        auto const drawn = [&](ActivationGroups groups) {
            plan.kept_activations = groups;
            return build_layer(any, any.layers.front(), plan, 4096);
        };
        ActivationGroups groups;
        Block less = drawn(groups);
        for (int bit = 0; bit < 8; ++bit) {
            auto const group = static_cast<ActivationGroup>(random() % 8);
            if (!keepable_activations.has(group)) continue;
            groups.add(group);
            Block const more = drawn(groups);
            CHECK(more.kept(Recompute::full) >= less.kept(Recompute::full));
            CHECK(more.kept(Recompute::full) <= more.kept(Recompute::none));
            CHECK(more.rerun_work(Recompute::full).executed <= less.rerun_work(Recompute::full).executed);
            less = more;
        }
        Bytes parts;
        for (int group = 0; group <= static_cast<int>(ActivationGroup::other); ++group)
            parts += less.kept(Recompute::full, {}, {static_cast<ActivationGroup>(group)});
        CHECK(parts == less.kept(Recompute::full));
    }
}

TEST_CASE("a tensor-parallel layer has Megatron's collectives: two all-reduces of 2 s b h bytes per pass", "[INV-8]") {
    ModelSpec const model = gpt(1024, 16, 1);
    ParallelPlan plan;
    plan.tp = 4;
    plan.micro_batch = 2;
    Block const layer = build_layer(model, {}, plan, 2048);
    CHECK(count(layer, CollectiveKind::all_reduce, Passes::forward, Hiding::exposed) == 2);
    CHECK(count(layer, CollectiveKind::all_reduce, Passes::backward, Hiding::exposed) == 2);
    for (Op const& op : layer.ops)
        if (auto const* c = std::get_if<Collective>(&op.what)) CHECK(c->bytes.base() == 2.0 * 2048 * 2 * 1024);
    plan.tp = 1;
    for (Op const& op : build_layer(model, {}, plan, 2048).ops)
        CHECK(op.op_class() != OpClass::communication);
}

TEST_CASE("sequence parallelism turns each all-reduce into an all-gather and a reduce-scatter of the same size",
          "[INV-8]") {
    ParallelPlan plan;
    plan.tp = 4;
    plan.sequence_parallel = Switch::on;
    Block const layer = build_layer(gpt(1024, 16, 1), {}, plan, 2048);
    CHECK(count(layer, CollectiveKind::all_reduce, Passes::forward, Hiding::exposed) == 0);
    for (Passes const passes : {Passes::forward, Passes::backward}) {
        CHECK(count(layer, CollectiveKind::all_gather, passes, Hiding::exposed) == 2);
        CHECK(count(layer, CollectiveKind::reduce_scatter, passes, Hiding::exposed) == 2);
    }
    // The inputs of the two column-parallel products are gathered once more, beside the backward products.
    CHECK(count(layer, CollectiveKind::all_gather, Passes::backward, Hiding::hidden) == 2);
}

TEST_CASE("a parallel block that adds its halves first has one sum, and one entry where they read one norm",
          "[INV-8]") {
    ModelSpec model = gpt(4096, 32, 2);
    model.parallel_block = true;
    model.joint_sum = true;
    for (int const norms : {1, 2}) {
        model.norms_per_layer = norms;
        CAPTURE(norms);
        Block const plain = build_layer(model, {}, paper_plan(4, Switch::off, 2), 2048);
        CHECK(count(plain, CollectiveKind::all_reduce, Passes::forward, Hiding::exposed) == 1);
        CHECK(count(plain, CollectiveKind::all_reduce, Passes::backward, Hiding::exposed) == norms);
        Block const split = build_layer(model, {}, paper_plan(4, Switch::on, 2), 2048);
        CHECK(count(split, CollectiveKind::all_gather, Passes::forward, Hiding::exposed) == norms);
        CHECK(count(split, CollectiveKind::reduce_scatter, Passes::forward, Hiding::exposed) == 1);
        CHECK(count(split, CollectiveKind::all_gather, Passes::backward, Hiding::exposed) == 1);
        CHECK(count(split, CollectiveKind::all_gather, Passes::backward, Hiding::hidden) == norms);
        CHECK(count(split, CollectiveKind::reduce_scatter, Passes::backward, Hiding::exposed) == norms);
    }
}

TEST_CASE("adapters on either half of a joint region need what enters it", "[INV-8]") {
    ModelSpec model = gpt(4096, 32, 2);
    model.parallel_block = model.joint_sum = true;
    model.norms_per_layer = 1;
    ParallelPlan plan = paper_plan(4, Switch::on, 2);
    plan.adapters.rank = 8;
    for (AdapterTarget const target : {AdapterTarget::q, AdapterTarget::up, AdapterTarget::output}) {
        plan.adapters.targets = {};
        plan.adapters.targets.add(target);
        Block const layer = build_layer(model, {}, plan, 2048);
        CHECK(count(layer, CollectiveKind::all_gather, Passes::backward, Hiding::hidden) ==
              (target == AdapterTarget::output ? 0 : 1));
    }
}

TEST_CASE("ring context parallelism sends every key and value to all other ranks", "[INV-8]") {
    ParallelPlan plan;
    plan.cp = 4;
    Block const layer = build_layer(llama(4096, 32, 8, 1, 14336), {}, plan, 8192);
    double forward = 0, backward = 0;
    for (Op const& op : layer.ops)
        if (auto const* c = std::get_if<Collective>(&op.what)) {
            REQUIRE(c->group == GroupKind::context);
            (op.passes == Passes::forward ? forward : backward) += c->bytes.base();
        }
    double const own = 2.0 * (8192 / 4) * 8 * (128 + 128);  // keys and values of this rank in bf16
    CHECK(forward == 3 * own);
    CHECK(backward == 6 * own);
}

TEST_CASE("blocks on one device hold every parameter of the model once", "[INV-9]") {
    for (ModelSpec const& model : {gpt(1024, 16, 3), llama(2048, 16, 4, 4, 5632), mixture(1024, 4, 16, 2, 768, 1),
                                   hybrid(StateRule::delta, 1024, 8), hybrid(StateRule::decay, 1024, 8)}) {
        BlockSet const blocks = build_blocks(model, {}, 2048);
        double held = blocks.embedding.parameters.total() + blocks.head.parameters.total();
        for (std::size_t k = 0; k < blocks.kinds.size(); ++k)
            held += number(std::count(model.layers.begin(), model.layers.end(), blocks.kinds[k])) *
                    blocks.layers[k].parameters.total();
        // All three vocabularies are multiples of 128, so padding adds nothing.
        CHECK(held == number(count_parameters(model).total));
    }
}

TEST_CASE("a layer runs every norm that it has parameters of, and keeps the input of each") {
    ModelSpec model = llama(1024, 8, 8, 2, 4096);
    ParallelPlan const plan{.micro_batch = 2};
    auto const kept_with = [&](int norms) {
        model.norms_per_layer = norms;
        Block const block = build_layer(model, {}, plan, 512);
        auto const is_norm = [](Op const& op) { return op.name.ends_with("norm") && op.in(Pass::forward); };
        CAPTURE(norms);
        CHECK(std::count_if(block.ops.begin(), block.ops.end(), is_norm) == norms);
        return block.kept(Recompute::none).base();
    };
    double const two = kept_with(2);
    for (int const norms : {4, 8})
        CHECK(kept_with(norms) - two == Approx((norms - 2) * 2.0 * 2 * 512 * 1024));
}

TEST_CASE("tensor parallelism divides matrices and repeats norms", "[INV-9]") {
    ModelSpec const model = llama(4096, 32, 8, 1, 14336);
    double const norms = 2 * 4096;
    double const whole = build_layer(model, {}, {}, 1024).parameters.dense - norms;
    for (std::int64_t const tp : {2, 4, 8}) {
        ParallelPlan plan;
        plan.tp = tp;
        CHECK(build_layer(model, {}, plan, 1024).parameters.dense == Approx(whole / number(tp) + norms).epsilon(1e-15));
    }
    // Beyond the key/value heads their projections are repeated.
    ParallelPlan wide;
    wide.tp = 16;
    double const key_value = 2.0 * 8 * 128 * 4096;
    CHECK(build_layer(model, {}, wide, 1024).parameters.dense ==
          Approx((whole - key_value) / 16 + key_value / 8 + norms).epsilon(1e-15));
}

TEST_CASE("the vocabulary is padded to a multiple of 128 per tensor-parallel rank", "[INV-9]") {
    CHECK(padded_vocabulary(50257, {}) == 50304);
    CHECK(padded_vocabulary(50257, {.tp = 8}) == 51200);  // the V of arXiv:2104.04473
    CHECK(padded_vocabulary(50257, {.tp = 8, .vocab_multiple = 1}) == 50264);
    std::mt19937_64 random(seeded(5));
    for (int i = 0; i < 200; ++i) {
        auto const vocab = static_cast<std::int64_t>(1 + random() % 300000);
        auto const tp = pick<std::int64_t>(random, {1, 2, 3, 8, 64});
        std::int64_t const padded = padded_vocabulary(vocab, {.tp = tp});
        CHECK(padded >= vocab);
        CHECK(padded - vocab < 128 * tp);
        CHECK(padded % (128 * tp) == 0);
    }
}

TEST_CASE("a model without multi-token prediction has an empty block for it", "[INV-9]") {
    Block const none = build_mtp(llama(2048, 16, 4, 2, 5632), {}, 1024);
    CHECK(none.ops.empty());
    CHECK(none.parameters.total() == 0);
    ModelSpec model = llama(2048, 16, 4, 2, 5632);
    model.mtp_modules = 1;
    CHECK(build_mtp(model, {}, 1024).parameters.total() == number(count_parameters(model).mtp));
}

TEST_CASE("what predicts further tokens runs again like a layer, but not its share of the head", "[INV-7]") {
    ModelSpec model = llama(2048, 16, 4, 2, 5632);
    model.mtp_modules = 1;
    Block const mtp = build_mtp(model, {}, 1024);
    Block const layer = build_layer(model, model.layers.back(), {}, 1024);
    double const tensor = 2.0 * 1024 * 2048;
    // Hidden states, embeddings, what the last norm and the output matrix read.
    CHECK(mtp.kept(Recompute::full).base() == 4 * tensor);
    CHECK((mtp.kept(Recompute::none) - layer.kept(Recompute::none)).base() == 6 * tensor);
    CHECK(mtp.kept(Recompute::none) - mtp.kept(Recompute::selective) ==
          layer.kept(Recompute::none) - layer.kept(Recompute::selective));
    CHECK(mtp.rerun_work(Recompute::selective).executed == layer.rerun_work(Recompute::selective).executed);
    Flops const projection = 2.0 * 1024 * 2048 * 4096 * units::flop;
    CHECK((mtp.rerun_work(Recompute::full).executed - layer.rerun_work(Recompute::full).executed).base() ==
          Approx(projection.base()));
    CHECK(recompute_of_mtp({.recompute = Recompute::full}) == Recompute::full);
    CHECK(recompute_of_mtp({.recompute = Recompute::full, .recompute_layers = 1}) == Recompute::none);
}

TEST_CASE("a prediction module has three norms, looks tokens up, and gathers what its projection reads and leaves") {
    ModelSpec model = llama(2048, 16, 4, 2, 5632);
    model.mtp_modules = 1;
    ParallelPlan plan = paper_plan(4, Switch::on, 1);
    Block const layer = build_layer(model, model.layers.back(), plan, 1024);
    Block const head = build_head(model, plan, 1024);
    auto const sent = [&](Pass pass) {
        return build_mtp(model, plan, 1024).work(pass).sent - layer.work(pass).sent - head.work(pass).sent;
    };
    double const tensor = 2.0 * 1024 * 2048;  // 16 bits of [T, h]
    // Forward: embeddings are reduced, both halves of the projection's input gathered, and its output. Backward:
    // gradients of embeddings are gathered, the input once more, its gradient is reduced, that of the output gathered.
    CHECK(sent(Pass::forward).base() == (1 + 2 + 1) * tensor);
    CHECK(sent(Pass::backward).base() == (1 + 2 + 2 + 1) * tensor);
    plan.sequence_parallel = Switch::off;  // embeddings are all-reduced, and gradients of the projection's input
    CHECK(build_mtp(model, plan, 1024).work(Pass::forward).sent -
              build_layer(model, {}, plan, 1024).work(Pass::forward).sent -
              build_head(model, plan, 1024).work(Pass::forward).sent ==
          (1 + 1) * tensor * units::B);
    CHECK(build_mtp(model, plan, 1024).work(Pass::backward).sent -
              build_layer(model, {}, plan, 1024).work(Pass::backward).sent -
              build_head(model, plan, 1024).work(Pass::backward).sent ==
          2 * tensor * units::B);

    auto const count = [](Block const& block, std::string_view part) {
        return std::count_if(block.ops.begin(), block.ops.end(), [&](Op const& op) { return op.name == part; });
    };
    Block const mtp = build_mtp(model, {}, 1024);
    for (char const* const name :
         {"mtp hidden norm", "mtp embedding norm", "mtp final norm", "lookup", "table gradient"})
        CHECK(count(mtp, name) == 1);
    ParallelPlan adapted;
    adapted.adapters = {.rank = 16, .targets = adapter_targets_from("all", "test")};
    CHECK(count(build_mtp(model, adapted, 1024), "table gradient") == 0);
}

TEST_CASE("model FLOPs have the words of the model, those of prediction modules too", "[INV-4]") {
    ModelSpec padded = llama(2048, 16, 4, 2, 5632, 50'304);
    ModelSpec plain = llama(2048, 16, 4, 2, 5632, 50'257);
    padded.mtp_modules = plain.mtp_modules = 2;
    Workload const workload{.sequence = 1024, .global_batch = 4};
    double const more = (model_flops_per_step(padded, workload) - model_flops_per_step(plain, workload)).base();
    CHECK(more == Approx(3 * 3 * 2.0 * 4 * 1024 * 2048 * (50'304 - 50'257)).epsilon(1e-9));
}

TEST_CASE("Newton-Schulz steps of a layer are those of its matrices, cut along their longer sides", "[INV-6]") {
    double const h = 2048;
    auto const steps = [](double m, double n) { return 5 * (4 * m * m * n + 2 * m * m * m); };
    for (std::int64_t const tp : {1, 2, 4}) {
        auto const t = static_cast<double>(tp);
        LocalParameters const local =
            build_layer(gpt(2048, 16, 2), {}, paper_plan(tp, Switch::off, 1), 1024).parameters;
        // q, k, v, output: square, cut; up and down: h x 4 h, which is square for tp 4.
        CHECK(local.dense_orthogonal == Approx(4 * steps(h / t, h) + 2 * steps(h, 4 * h / t)));
        CHECK(local.largest_orthogonal == Approx(steps(h, 4 * h / t)));
        CHECK(local.expert_orthogonal == 0);
    }
}

TEST_CASE("a layer runs as many norms of its width as its parameters hold", "[INV-9]") {
    for (std::string const& name : model_names()) {
        ModelSpec const model = find_model(name);
        for (LayerKind const kind : model.layers) {
            INFO(name);
            if (kind.mixer == Mixer::none || !kind.feed_forward || model.norms_per_layer == 8) continue;
            auto const ops = build_layer(model, kind, {}, 1024).ops;
            auto const run = std::count_if(ops.begin(), ops.end(), [](Op const& op) {
                return op.name == "input norm" || op.name == "mlp norm" || op.name == "expert norm" ||
                       op.name == "post-attention norm" || op.name == "post-mlp norm";
            });
            CHECK(run == model.norms_per_layer);
        }
    }
}

TEST_CASE(
    "values between products in fp32 and tf32 take four bytes, scores, statistics and masks what they always take") {
    ModelSpec model = llama(1024, 8, 4, 2, 2816);
    ParallelPlan plan{.tp = 2, .cp = 2, .sequence_parallel = Switch::on};
    plan.dropout = Switch::on;
    auto const traffic = [](Block const& block, std::string_view name) {
        Bytes bytes;
        for (Op const& op : block.ops) {
            auto const* streaming = std::get_if<Streaming>(&op.what);
            auto const* collective = std::get_if<Collective>(&op.what);
            if (op.name == name && streaming != nullptr) bytes += streaming->forward + streaming->backward;
            if (op.name == name && collective != nullptr) bytes += collective->bytes;
        }
        return bytes.base();
    };
    auto const kept = [](Block const& block, std::string_view name) {
        Bytes bytes;
        for (SavedTensor const& tensor : block.saved)
            if (tensor.name == name) bytes += tensor.bytes;
        return bytes.base();
    };
    plan.precision = Precision::bf16;
    Block const layer = build_layer(model, {}, plan, 4096), head = build_head(model, plan, 4096);
    for (Precision const precision : {Precision::fp32, Precision::tf32}) {
        plan.precision = precision;
        Block const wide = build_layer(model, {}, plan, 4096), wide_head = build_head(model, plan, 4096);
        CHECK(wide.input == 2.0 * layer.input);
        CHECK(wide_head.input == 2.0 * head.input);
        for (char const* const name : {"input norm", "activation", "attention in", "cp ring", "mlp out"}) {
            CAPTURE(name);
            CHECK(traffic(layer, name) > 0);
            CHECK(traffic(wide, name) == Approx(2 * traffic(layer, name)));
        }
        for (char const* const name : {"q, k, v", "linear input", "activation output", "attention output"}) {
            CAPTURE(name);
            CHECK(kept(layer, name) > 0);
            CHECK(kept(wide, name) == Approx(2 * kept(layer, name)));
        }
        for (Op const& op : wide.ops)
            if (auto const* attention = std::get_if<Attention>(&op.what)) CHECK(attention->precision == precision);
        for (char const* const name : {"softmax statistics", "dropout mask"}) {
            CAPTURE(name);
            CHECK(kept(layer, name) > 0);
            CHECK(kept(wide, name) == kept(layer, name));
        }
        CHECK(traffic(wide_head, "loss") == traffic(head, "loss"));
        CHECK(traffic(wide_head, "head in") == Approx(2 * traffic(head, "head in")));
    }
    plan.precision = Precision::fp16;
    CHECK(build_layer(model, {}, plan, 4096).kept(Recompute::none) == layer.kept(Recompute::none));
    // A prediction module has a layer in it, which is no wider than others.
    model.mtp_modules = 1;
    plan.precision = Precision::bf16;
    double const module = kept(build_mtp(model, plan, 4096), "q, k, v");
    plan.precision = Precision::fp32;
    CHECK(kept(build_mtp(model, plan, 4096), "q, k, v") == Approx(2 * module));
}
