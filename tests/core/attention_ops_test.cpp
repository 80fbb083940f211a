#include "core/graph/block.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

using namespace sextant;
using namespace sextant::fixtures;

TEST_CASE("Ulysses keeps attention's output twice: of a rank's heads, and exchanged of its tokens", "[INV-6]") {
    ModelSpec const model = llama(4096, 32, 8, 1, 14336);
    ParallelPlan plan;
    plan.cp = 4;
    auto const kept = [&](ContextParallel mode, double input_bytes = 2) {
        plan.cp_mode = mode;
        return build_layer(model, {}, plan, 8192).kept(Recompute::none, {.narrow_input = input_bytes}).base();
    };
    double const output = 2.0 * 8192 / 4 * 4096;
    CHECK(kept(ContextParallel::ulysses) - kept(ContextParallel::ring) == output);
    // In fp8 the second one is what the product reads, and a ring's is kept narrow beside it.
    plan.precision = Precision::fp8;
    CHECK(kept(ContextParallel::ulysses, 1) == kept(ContextParallel::ring, 1));
    // Frozen weights do not need it, a gate does.
    plan.precision = Precision::bf16;
    plan.adapters = {.rank = 8, .targets = adapter_targets_from("q,v", "test")};
    CHECK(kept(ContextParallel::ulysses) == kept(ContextParallel::ring));
    ModelSpec gated = model;
    gated.attention.gated = true;
    auto const of_gated = [&](ContextParallel mode) {
        plan.cp_mode = mode;
        return build_layer(gated, {}, plan, 8192).kept(Recompute::none).base();
    };
    CHECK(of_gated(ContextParallel::ulysses) - of_gated(ContextParallel::ring) == output);
}

TEST_CASE("Ulysses repeats keys and values for the ranks that have no head of them", "[INV-4][INV-6]") {
    ModelSpec const model = llama(4096, 32, 8, 1, 14336);
    ParallelPlan plan;
    plan.cp_mode = ContextParallel::ulysses;
    struct Found {
        double kept = 0;
        double exchanged = 0;
        double key_value_heads = 0;
    };
    auto const of = [&](std::int64_t cp) {
        plan.cp = cp;
        Block const layer = build_layer(model, {}, plan, 8192 * cp);
        Found found;
        for (SavedTensor const& tensor : layer.saved)
            if (tensor.name == "q, k, v") found.kept += tensor.bytes.base();
        for (Op const& op : layer.ops) {
            if (op.name == "cp heads") found.exchanged += std::get<Collective>(op.what).bytes.base();
            if (op.name == "attention")
                found.key_value_heads = static_cast<double>(std::get<Attention>(op.what).kv_heads);
        }
        return found;
    };
    double const heads = 2.0 * 8192 * 128;  // of one head, keys or values of a rank's tokens
    CHECK(of(8).kept == heads * (32 + 2 * 8));
    CHECK(of(32).kept == heads * (32 + 2 * 32));
    CHECK(of(32).exchanged - of(8).exchanged == heads * 2 * (32 - 8));
    CHECK(of(4).key_value_heads == 2);
    CHECK(of(32).key_value_heads == 1);
}

TEST_CASE("rotary embedding of latent attention turns a part of each query and one key", "[INV-4]") {
    auto const moved = [](ModelSpec const& model, std::int64_t tp) {
        ParallelPlan plan;
        plan.tp = tp;
        for (Op const& op : build_layer(model, model.layers.back(), plan, 4096).ops)
            if (op.name == "rotary") return work_of(op, Pass::forward).moved.base();
        return 0.0;
    };
    ModelSpec const latent = find_model("deepseek-v3");
    CHECK(moved(latent, 1) == 2 * 2.0 * 4096 * (128 + 1) * 64);
    CHECK(moved(latent, 8) == 2 * 2.0 * 4096 * (16 + 1) * 64);
    CHECK(moved(llama(4096, 32, 8, 1, 14336), 1) == 2 * 2.0 * 4096 * (32 + 8) * 128);
}

TEST_CASE("latent attention: tensor-parallel ranks gather latents, and the hidden state where queries have none") {
    auto const bytes_of = [](char const* model, ParallelPlan const& plan, CollectiveKind kind, Pass pass) {
        ModelSpec const spec = find_model(model);
        double bytes = 0;
        for (Op const& op : build_layer(spec, spec.layers.front(), plan, 4096).ops)
            if (auto const* c = std::get_if<Collective>(&op.what))
                if (op.name == "attention in" && c->kind == kind && op.in(pass)) bytes += c->bytes.base();
        return bytes;
    };
    ParallelPlan plan;
    plan.tp = 8;
    plan.sequence_parallel = Switch::on;
    double const v3 = 2.0 * 4096 * (1536 + 512 + 64);
    double const lite = 2.0 * 4096 * (2048 + 512 + 64);
    CHECK(bytes_of("deepseek-v3", plan, CollectiveKind::all_gather, Pass::forward) == v3);
    CHECK(bytes_of("deepseek-v3", plan, CollectiveKind::reduce_scatter, Pass::backward) == v3);
    CHECK(bytes_of("deepseek-v2-lite", plan, CollectiveKind::all_gather, Pass::forward) == lite);
    plan.sequence_parallel = Switch::off;
    CHECK(bytes_of("deepseek-v3", plan, CollectiveKind::all_reduce, Pass::backward) == v3);
    CHECK(bytes_of("llama-3.1-8b", plan, CollectiveKind::all_reduce, Pass::backward) == 2.0 * 4096 * 4096);
}
