#include "core/graph/block.hpp"
#include "core/graph/model_flops.hpp"
#include "core/graph/plan_check.hpp"
#include "core/graph/step_graph.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <random>

using namespace sextant;
using fixtures::hybrid;
using fixtures::llama;
using fixtures::pick;

namespace {

Work work_named(Block const& block, std::string_view name, Pass pass) {
    auto const found = std::find_if(block.ops.begin(), block.ops.end(), [&](Op const& op) { return op.name == name; });
    return found == block.ops.end() ? Work{} : work_of(*found, pass);
}

}  // namespace

TEST_CASE("SequenceShape: documents fill the sequence, the last one shorter", "[INV-4]") {
    CHECK(SequenceShape(4096).documents() == 1);
    CHECK(SequenceShape(4096).attended() == 4096);
    CHECK(SequenceShape(4096, 4096).documents() == 1);
    CHECK(SequenceShape(4096, 512).documents() == 8);
    CHECK(SequenceShape(4096, 512).attended() == 512);
    CHECK(SequenceShape(4096, 200).documents() == 21);
    CHECK(SequenceShape(4096, 200).attended() == 196);
    for (std::int64_t document = 1; document <= 300; ++document) {
        SequenceShape const shape(300, document);
        CHECK(shape.documents() * shape.attended() >= 300);
        CHECK(shape.documents() * (shape.attended() - 1) < 300);
        CHECK(shape.attended() <= document);
    }
}

TEST_CASE("packed documents: attention is that of so many short sequences, all else that of one long one", "[INV-4]") {
    std::mt19937_64 random(fixtures::seeded(17));
    for (int i = 0; i < 60; ++i) {
        bool const recurrent = pick(random, {0, 0, 1}) == 1;
        ModelSpec const model = recurrent ? hybrid(pick(random, {StateRule::decay, StateRule::delta}), 1024, 16)
                                          : llama(2048, 16, 4, 2, 5632);
        ParallelPlan plan;
        plan.tp = pick<std::int64_t>(random, {1, 2});
        plan.cp = recurrent ? 1 : pick<std::int64_t>(random, {1, 2, 4});
        plan.cp_mode = pick(random, {ContextParallel::ring, ContextParallel::all_gather, ContextParallel::ulysses});
        plan.micro_batch = pick<std::int64_t>(random, {1, 2});
        std::int64_t const count = pick<std::int64_t>(random, {2, 8, 32});
        ParallelPlan apart = plan;
        apart.micro_batch *= count;
        for (LayerKind const kind : distinct_kinds(model)) {
            Block const packed = build_layer(model, kind, plan, {8192, 8192 / count});
            Block const short_sequences = build_layer(model, kind, apart, 8192 / count);
            Block const whole = build_layer(model, kind, plan, 8192);
            // The same tokens in the same order: every op and tensor is that of so many short sequences.
            REQUIRE(packed.ops.size() == short_sequences.ops.size());
            for (std::size_t op = 0; op < packed.ops.size(); ++op)
                for (Pass const pass : {Pass::forward, Pass::backward}) {
                    CAPTURE(packed.ops[op].name, count, plan.cp);
                    CHECK(work_of(packed.ops[op], pass).executed == work_of(short_sequences.ops[op], pass).executed);
                    CHECK(work_of(packed.ops[op], pass).moved == work_of(short_sequences.ops[op], pass).moved);
                    CHECK(work_of(packed.ops[op], pass).sent == work_of(whole.ops[op], pass).sent);
                }
            CHECK(packed.kept(Recompute::none) == whole.kept(Recompute::none));
            if (kind.mixer == Mixer::attention) {
                Work const with = work_named(packed, "attention", Pass::forward);
                Work const without = work_named(whole, "attention", Pass::forward);
                CHECK(with.executed.base() == Approx(without.executed.base() / static_cast<double>(count)));
                CHECK(with.model.base() == Approx(without.model.base() / static_cast<double>(count)));
            }
        }
    }
}

TEST_CASE("packed documents: FLOPs per token are those of a sequence of a document", "[INV-4]") {
    for (char const* const name : {"llama-3.1-8b", "gpt-oss-20b", "deepseek-v3.2", "qwen3-next-80b-a3b"}) {
        ModelSpec const model = find_model(name);
        CAPTURE(name);
        CHECK(forward_flops_per_token(model, {8192, 1024}).base() ==
              Approx(forward_flops_per_token(model, 1024).base()).epsilon(1e-12));
        CHECK(causal_forward_flops_per_token(model, {8192, 1024}).base() ==
              Approx(causal_forward_flops_per_token(model, 1024).base()).epsilon(1e-12));
        Workload const packed{.sequence = 8192, .global_batch = 4, .document = 1024};
        Workload const apart{.sequence = 1024, .global_batch = 32};
        CHECK(model_flops_per_step(model, packed).base() ==
              Approx(model_flops_per_step(model, apart).base()).epsilon(1e-12));
    }
}

TEST_CASE("packed documents: sparse attention chooses within a document", "[INV-4]") {
    ModelSpec const model = find_model("deepseek-v3.2");
    Block const packed = build_layer(model, model.layers.back(), {}, {65536, 2048});
    CHECK(work_named(packed, "index scores", Pass::forward).executed == Flops{});
    Block const longer = build_layer(model, model.layers.back(), {}, {65536, 8192});
    CHECK(work_named(longer, "index scores", Pass::forward).executed > Flops{});
}

TEST_CASE("packed documents: they are part of the digest, and a document of the whole sequence changes no work") {
    ModelSpec const model = llama(2048, 16, 4, 2, 5632);
    auto const graph = [&](std::int64_t document) {
        return build_step_graph(model, {}, {.sequence = 4096, .global_batch = 1, .document = document});
    };
    CHECK(digest(graph(0)) != digest(graph(512)));
    CHECK(digest(graph(512)) != digest(graph(1024)));
    CHECK(stage_work(graph(0), 0, Pass::forward).executed == stage_work(graph(4096), 0, Pass::forward).executed);
}

TEST_CASE("packed documents: what cannot be is refused", "[INV-11]") {
    ModelSpec const model = llama(2048, 16, 4, 2, 5632);
    auto const fault = [&](ParallelPlan const& plan, std::int64_t document) {
        return find_fault(model, plan, {.sequence = 4096, .global_batch = 8, .document = document});
    };
    CHECK_FALSE(fault({}, 0));
    CHECK_FALSE(fault({}, 200));
    CHECK_FALSE(fault({}, 4096));
    for (std::int64_t const document : {std::int64_t{-1}, std::int64_t{4097}}) {
        auto const found = fault({}, document);
        REQUIRE(found);
        CHECK(found->problem == PlanProblem::sequence);
        CHECK(found->message.find("documents of") != std::string::npos);
    }
    CHECK(fault({.cp = 8}, 4));
    CHECK_FALSE(fault({.cp = 8}, 8));
    for (AttentionKernel const kernel : {AttentionKernel::unfused, AttentionKernel::eager}) {
        ParallelPlan plan;
        plan.attention = kernel;
        CHECK(fault(plan, 200));
        CHECK_FALSE(fault(plan, 4096));
    }
}
