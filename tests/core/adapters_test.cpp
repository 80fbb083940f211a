#include "core/error.hpp"
#include "core/graph/model_flops.hpp"
#include "core/graph/plan_check.hpp"
#include "core/graph/step_graph.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

double number(std::int64_t n) { return static_cast<double>(n); }

LowRankAdapters adapters(std::int64_t rank, std::string_view targets = "attention",
                         BaseWeights base = BaseWeights::bf16) {
    return {.rank = rank, .targets = adapter_targets_from(targets, "test"), .base = base};
}

bool of_adapter(Op const& op) { return op.name.starts_with("lora "); }

ModelSpec any_model(std::mt19937_64& random) {
    switch (random() % 6) {
        case 0: return gpt(2048, 16, 4);
        case 1: return llama(4096, 32, 8, 4, 14336);
        case 2: return mixture(2048, 4, 16, 2, 1408, 1);
        case 3: return hybrid(StateRule::delta, 2048, 4);
        case 4: return hybrid(StateRule::decay, 2048, 4);
        default: return find_model("deepseek-v2-lite");
    }
}

ParallelPlan any_plan(std::mt19937_64& random) {
    ParallelPlan plan;
    plan.tp = pick<std::int64_t>(random, {1, 2, 4, 8, 16});
    plan.sequence_parallel = plan.tp > 1 ? pick(random, {Switch::off, Switch::on}) : Switch::off;
    plan.micro_batch = pick<std::int64_t>(random, {1, 2});
    plan.precision = pick(random, {Precision::bf16, Precision::fp8});
    plan.adapters = adapters(pick<std::int64_t>(random, {4, 16, 64}), pick(random, {"attention", "all", "o", "q,v"}),
                             pick(random, {BaseWeights::bf16, BaseWeights::fp8, BaseWeights::int8, BaseWeights::nf4}));
    return plan;
}

}  // namespace

TEST_CASE("adapters: trained parameters are those that are counted by hand", "[INV-72]") {
    // q, o: 16 (4096 + 4096); k, v: 16 (4096 + 1024); gate, up, down: 16 (4096 + 14336); 32 layers.
    ModelSpec const model = find_model("llama-3-8b");
    CHECK(count_adapter_parameters(model, adapters(16)) == 32 * 16 * (2 * 8192 + 2 * 5120));
    CHECK(count_adapter_parameters(model, adapters(16, "q,v")) == 32 * 16 * (8192 + 5120));
    CHECK(count_adapter_parameters(model, adapters(16, "all")) == 41'943'040);
    // One A for all three: 16 (4096 + 6144).
    CHECK(count_adapter_parameters(model, adapters(16, "qkv")) == 32 * 16 * (4096 + 6144));
    CHECK(count_adapter_parameters(model, adapters(16, "gate_up,down")) == 32 * 16 * (4096 + 2 * 14336 + 18432));
    CHECK(count_adapter_parameters(model, {}) == 0);
}

TEST_CASE("adapters: a rank of the tp group holds all of the factor that is not split", "[INV-72]") {
    ModelSpec const model = llama(4096, 32, 8, 1, 14336);
    double const r = 8;
    for (std::int64_t const tp : {1, 2, 4, 8, 16}) {
        CAPTURE(tp);
        ParallelPlan plan;
        plan.tp = tp;
        plan.adapters = adapters(8, "all");
        double const t = number(tp);
        double const kv = 1024 / std::min(t, 8.0);
        double const by_output = 5 * 4096 + 4096 / t + 2 * kv + 2 * 14336 / t;  // q, k, v, gate, up: A whole, B split
        double const by_input = 4096 / t + 14336 / t + 2 * 4096;                // o, down: A split, B whole
        Block const layer = build_layer(model, {}, plan, 1024);
        CHECK(layer.parameters.total() == Approx(r * (by_output + by_input)).epsilon(1e-14));
    }
}

TEST_CASE("adapters: what is frozen is exactly what full training holds", "[INV-72]") {
    std::mt19937_64 random(seeded(3));
    for (int i = 0; i < 100; ++i) {
        ModelSpec const model = any_model(random);
        ParallelPlan const plan = any_plan(random);
        ParallelPlan full = plan;
        full.adapters = {};
        for (LayerKind const kind : distinct_kinds(model)) {
            Block const frozen = build_layer(model, kind, plan, 2048);
            Block const trained = build_layer(model, kind, full, 2048);
            CHECK(frozen.frozen.total() == Approx(trained.parameters.total()).epsilon(1e-14));
            CHECK(trained.frozen.total() == 0);
        }
        CHECK(build_head(model, plan, 2048).parameters.total() == 0);
        CHECK(build_embedding(model, plan, 2048).frozen.total() ==
              build_embedding(model, full, 2048).parameters.total());
    }
}

TEST_CASE("adapters: the backward product of a frozen matrix is half of a trained one's", "[INV-72]") {
    std::mt19937_64 random(seeded(4));
    for (int i = 0; i < 100; ++i) {
        ModelSpec const model = any_model(random);
        ParallelPlan const plan = any_plan(random);
        for (LayerKind const kind : distinct_kinds(model))
            for (Op const& op : build_layer(model, kind, plan, 2048).ops) {
                if (op.op_class() != OpClass::gemm) continue;
                double const passes = of_adapter(op) ? 2 : 1;
                CHECK(work_of(op, Pass::backward).executed == passes * work_of(op, Pass::forward).executed);
                CHECK(work_of(op, Pass::backward).moved > Bytes{});
            }
    }
}

TEST_CASE("adapters: a layer keeps no more than in full training, but the adapters' latents", "[INV-72]") {
    std::mt19937_64 random(seeded(5));
    for (int i = 0; i < 200; ++i) {
        ModelSpec const model = any_model(random);
        ParallelPlan const plan = any_plan(random);
        ParallelPlan full = plan;
        full.adapters = {};
        for (LayerKind const kind : distinct_kinds(model)) {
            Block const frozen = build_layer(model, kind, plan, 2048);
            Block const trained = build_layer(model, kind, full, 2048);
            Bytes latents;
            for (SavedTensor const& t : frozen.saved)
                if (t.name == "adapter latent") latents += t.bytes;
            for (Recompute const policy : {Recompute::none, Recompute::selective, Recompute::full})
                CHECK(frozen.kept(policy) <= trained.kept(policy) + latents);
            // By hand: every adapter leaves 2 bytes for each of its R columns and of its tokens.
            double const columns = latents.base() / (2 * number(plan.adapters.rank * plan.micro_batch * 2048));
            CHECK(columns <= 7);
        }
    }
}

TEST_CASE("adapters: the input of a linear layer is kept where it is adapted, and only there", "[INV-72]") {
    ModelSpec const model = llama(4096, 32, 8, 1, 14336);
    auto const kept = [&](std::string_view targets) {
        ParallelPlan plan;
        plan.adapters = adapters(8, targets);
        Block const layer = build_layer(model, {}, plan, 1024);
        auto const has = [&](std::string_view name) {
            return std::count_if(layer.saved.begin(), layer.saved.end(),
                                 [&](SavedTensor const& t) { return t.name == name; });
        };
        return std::pair{has("linear input"), has("activation output")};
    };
    CHECK(kept("q") == std::pair{1L, 0L});
    CHECK(kept("o") == std::pair{0L, 0L});  // attention needs its own output in any case
    CHECK(kept("up") == std::pair{1L, 0L});
    CHECK(kept("down") == std::pair{0L, 1L});
    CHECK(kept("all") == std::pair{2L, 1L});
    CHECK(kept("qkv,gate_up") == std::pair{2L, 0L});
}

TEST_CASE("adapters: a packed matrix is dequantised once in each pass that uses it", "[INV-72]") {
    std::mt19937_64 random(seeded(6));
    for (int i = 0; i < 100; ++i) {
        ModelSpec const model = any_model(random);
        ParallelPlan plan = any_plan(random);
        plan.adapters.base = pick(random, {BaseWeights::nf4, BaseWeights::int8});
        double const bytes = bytes_per_weight(plan.adapters.base) + 2;
        for (LayerKind const kind : distinct_kinds(model)) {
            Block const layer = build_layer(model, kind, plan, 2048);
            for (Pass const pass : {Pass::forward, Pass::backward}) {
                Bytes moved;
                for (Op const& op : layer.ops)
                    if (op.name == "dequantise") moved += work_of(op, pass).moved;
                CHECK(moved.base() == Approx(bytes * layer.frozen.packed.total()).epsilon(1e-12));
            }
            CHECK(layer.frozen.largest_packed > 0);
            CHECK(layer.frozen.largest_packed <= layer.frozen.packed.total());
        }
    }
    ParallelPlan plan;
    plan.adapters = adapters(8, "all", BaseWeights::fp8);
    plan.precision = Precision::fp8;  // its products take the weights as they are
    for (Op const& op : build_layer(llama(4096, 32, 8, 1, 14336), {}, plan, 1024).ops)
        CHECK(op.name != "dequantise");
}

TEST_CASE("adapters: nothing flows into the embedding, and the head has no weight gradient", "[INV-72]") {
    for (ModelSpec const& model : {gpt(2048, 16, 2), llama(4096, 32, 8, 2, 14336)}) {
        ParallelPlan plan;
        plan.tp = 2;
        plan.sequence_parallel = Switch::on;
        plan.adapters = adapters(8);
        Block const embedding = build_embedding(model, plan, 2048);
        CHECK(embedding.work(Pass::backward).moved == Bytes{});
        CHECK(embedding.saved.empty());
        CHECK(std::none_of(embedding.ops.begin(), embedding.ops.end(),
                           [](Op const& op) { return op.in(Pass::backward); }));
        CHECK(
            std::any_of(embedding.ops.begin(), embedding.ops.end(), [](Op const& op) { return op.in(Pass::forward); }));
        Block const head = build_head(model, plan, 2048);
        CHECK(head.work(Pass::backward).executed == head.work(Pass::forward).executed);
    }
}

TEST_CASE("adapters: model FLOPs are forward, gradients of inputs and adapters", "[INV-4]") {
    ModelSpec const model = llama(4096, 32, 8, 6, 14336);
    Workload const workload{.sequence = 2048, .global_batch = 3};
    double const tokens = number(workload.tokens());
    double const matrices = 6.0 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 4096.0 * 32768;
    double const scores = 6.0 * 4 * 2048 * 4096;  // forward, of one token: queries and keys, scores and values
    double const trained = number(count_adapter_parameters(model, adapters(16, "all")));
    CHECK(model_flops_per_step(model, workload, adapters(16, "all")).base() ==
          Approx(tokens * (4 * matrices + 3 * scores + 6 * trained)).epsilon(1e-12));
    CHECK(model_flops_per_step(model, workload, {}).base() == model_flops_per_step(model, workload).base());
}

TEST_CASE("adapters: another rank, target or format is another digest", "[INV-5]") {
    ModelSpec const model = llama(2048, 16, 8, 4, 5504);
    auto const digest_of = [&](LowRankAdapters const& a) {
        ParallelPlan plan;
        plan.adapters = a;
        return digest(build_step_graph(model, plan, {.sequence = 1024, .global_batch = 4}));
    };
    std::vector<std::string> digests{digest_of({}),
                                     digest_of(adapters(8)),
                                     digest_of(adapters(16)),
                                     digest_of(adapters(8, "q,k,v")),
                                     digest_of(adapters(8, "qkv,o")),
                                     digest_of(adapters(8, "attention", BaseWeights::nf4))};
    std::sort(digests.begin(), digests.end());
    CHECK(std::adjacent_find(digests.begin(), digests.end()) == digests.end());
}

TEST_CASE("adapters: targets are read as they are written", "[INV-11]") {
    for (std::string const text : {"attention", "all", "q,v", "qkv,o", "qkv,o,gate_up,down", "down"})
        CHECK(targets_text(adapter_targets_from(text, "test")) == text);
    CHECK(adapter_targets_from("attention,gate,up,down", "test") == all_targets());
    CHECK_THROWS_WITH(adapter_targets_from("q_proj", "--lora-targets"),
                      contains("--lora-targets: unknown target 'q_proj'"));
    CHECK_THROWS_WITH(adapter_targets_from("", "t"), contains("t: unknown target ''"));
    CHECK_THROWS_WITH(adapter_targets_from("q,", "t"), contains("t: unknown target ''"));
    CHECK_THROWS_WITH(adapter_targets_from("q,qkv", "t"), contains("twice"));
    CHECK_THROWS_WITH(adapter_targets_from("gate_up,up", "t"), contains("twice"));
    CHECK_THROWS_WITH(base_weights_from("nf8", "t"), contains("nf4"));
    CHECK(bytes_per_weight(BaseWeights::nf4) == Approx(0.5159).epsilon(1e-4));
}

TEST_CASE("adapters: a rank or target that the model has no place for is an error", "[INV-11]") {
    ModelSpec const dense = llama(4096, 32, 8, 2, 14336);
    ModelSpec const experts = mixture(2048, 4, 8, 2, 1408);
    auto const refuse = [](ModelSpec const& model, LowRankAdapters const& a) { require_adapters(model, a, "lora"); };
    CHECK_THROWS_WITH(refuse(dense, {.rank = -1}), contains("at least 1"));
    CHECK_THROWS_WITH(refuse(dense, {.rank = 8}), contains("no target"));
    CHECK_NOTHROW(refuse(dense, adapters(1024)));
    CHECK_THROWS_WITH(refuse(dense, adapters(1025)), contains("rank 1025 is larger than attention.k"));
    CHECK_NOTHROW(refuse(dense, adapters(4096, "q,o")));
    CHECK_NOTHROW(refuse(experts, adapters(8, "all")));  // all that there are: attention
    CHECK_THROWS_WITH(refuse(experts, adapters(8, "up")), contains("experts and router have none"));
    CHECK_THROWS_WITH(refuse(gpt(2048, 16, 2), adapters(8, "gate")), contains("has no 'gate'"));
    CHECK_THROWS_WITH(refuse(find_model("deepseek-v2-lite"), adapters(8, "qkv")), contains("has no 'qkv'"));
    ParallelPlan plan;
    plan.adapters = adapters(5000);
    CHECK_THROWS_AS(require_valid(dense, plan, {.sequence = 1024, .global_batch = 1}), InputError);
}
