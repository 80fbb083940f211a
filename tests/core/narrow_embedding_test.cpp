// OPT-350M: the embedding table is narrower than the model, with a projection on either side.
#include "core/graph/block.hpp"
#include "core/graph/model_flops.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>
#include <vector>

using namespace sextant;

namespace {

Gemm product(Block const& block, std::string const& name) {
    auto const found = std::find_if(block.ops.begin(), block.ops.end(), [&](Op const& op) { return op.name == name; });
    REQUIRE(found != block.ops.end());
    return std::get<Gemm>(found->what);
}

}  // namespace

TEST_CASE("a narrow embedding is projected to the width of the model, and back before the output matrix") {
    ModelSpec const model = find_model("opt-350m");
    Block const embedding = build_embedding(model, {}, 2048);
    Block const head = build_head(model, {}, 2048);
    CHECK(
        (product(embedding, "embedding projection").n == 1024 && product(embedding, "embedding projection").k == 512));
    CHECK((product(head, "head projection").n == 512 && product(head, "head projection").k == 1024));
    CHECK((product(head, "head").n == 50304 && product(head, "head").k == 512));
    CHECK(forward_flops_per_token(model, 2048).base() == 858'882'048);
    ParallelPlan stages{};
    stages.pp = 2;
    CHECK(build_blocks(model, stages, 2048).embedding_copy.total() == 50304.0 * 512);
}

TEST_CASE("an embedding of the model's width has no projections") {
    ModelSpec const model = find_model("opt-125m");
    for (Block const& block : {build_embedding(model, {}, 2048), build_head(model, {}, 2048)})
        CHECK(std::none_of(block.ops.begin(), block.ops.end(),
                           [](Op const& op) { return op.name.find("projection") != std::string::npos; }));
}

TEST_CASE("a cap on the logits streams them once more, and its tanh is counted with the logits", "[INV-6]") {
    ModelSpec model = fixtures::llama(2048, 16, 8, 2, 5632, 256000);
    ParallelPlan plan;
    plan.tp = 2;
    auto const head = [&] { return build_head(model, plan, 4096); };
    Block const plain = head();
    model.capped_logits = true;
    Block const capped = head();
    double const logits = 4096.0 * 128000;
    CHECK(capped.kept(Recompute::none) == plain.kept(Recompute::none));
    CHECK((capped.work(Pass::forward).moved - plain.work(Pass::forward).moved).base() == 4 * logits);
    CHECK((capped.work(Pass::backward).moved - plain.work(Pass::backward).moved).base() == 6 * logits);
}
