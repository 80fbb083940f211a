// Reward models, classifiers and embedding models: what is there in place of logits over the vocabulary.
#include "core/spec/output_head.hpp"

#include "core/error.hpp"
#include "core/graph/block.hpp"
#include "core/graph/model_flops.hpp"
#include "core/graph/plan_check.hpp"
#include "core/spec/low_rank_adapters.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <string>

using namespace sextant;

namespace {

bool has_head_op(Block const& block, std::string const& name) {
    return std::any_of(block.ops.begin(), block.ops.end(), [&](Op const& op) { return op.name == name; });
}

}  // namespace

TEST_CASE("output head: a scalar head is a vector of the width in place of the output matrix", "[INV-3]") {
    // LlamaForSequenceClassification of Llama 3.1 8B with one label: 8,030,261,248 - 128256 * 4096 + 4096.
    CHECK(count_parameters(find_model("llama-3.1-8b:head=scalar")).total == 7'504'928'768);
    CHECK(count_parameters(find_model("llama-3.1-8b:head=none")).total == 7'504'924'672);
    CHECK(count_parameters(find_model("llama-3.1-8b:head=5")).head == 5 * 4096);
    // A tied table stays, as the embedding.
    auto const tied = count_parameters(find_model("llama-3.2-1b"));
    CHECK(count_parameters(find_model("llama-3.2-1b:head=scalar")).total == tied.total + 2048);
    CHECK(count_parameters(find_model("llama-3.2-1b:head=none")).total == tied.total);
    CHECK(find_model("llama-3.1-8b:head=vocabulary").head == OutputHead::vocabulary);
    CHECK(find_model("deepseek-v3:head=scalar").mtp_modules == 0);
    // OPT-350M's score is on what the decoder has projected to the table's width.
    CHECK(count_parameters(find_model("opt-350m:head=1")).head == 512);
    CHECK_THROWS_WITH(find_model("llama-3.1-8b:head=reward"), Catch::Matchers::Contains("vocabulary, scalar, none"));
}

TEST_CASE("output head: model FLOPs lose the vocabulary's product and nothing else", "[INV-4]") {
    for (char const* const name : {"llama-3.1-8b", "llama-3.2-1b", "opt-350m", "mixtral-8x7b"}) {
        CAPTURE(name);
        ModelSpec const whole = find_model(name);
        double const width = static_cast<double>(whole.embedding_width > 0 ? whole.embedding_width : whole.hidden);
        auto const without = [&](std::string const& head) {
            ModelSpec const model = find_model(std::string(name) + ":head=" + head);
            return (forward_flops_per_token(whole, 2048) - forward_flops_per_token(model, 2048)).base();
        };
        CHECK(without("none") == Approx(2 * width * static_cast<double>(whole.vocab)));
        CHECK(without("3") == Approx(2 * width * static_cast<double>(whole.vocab - 3)));
    }
}

TEST_CASE("output head: no cross entropy, no copy of the embedding, and labels whole on every rank") {
    ParallelPlan plan;
    plan.tp = 4;
    plan.pp = 2;
    plan.sequence_parallel = GENERATE(Switch::off, Switch::on);
    BlockSet const tied = build_blocks(find_model("llama-3.2-1b"), plan, 2048);
    CHECK(tied.embedding_copy.total() > 0);
    CHECK(has_head_op(tied.head, "cross entropy"));
    BlockSet const scalar = build_blocks(find_model("llama-3.2-1b:head=scalar"), plan, 2048);
    CHECK(scalar.embedding_copy.total() == 0);
    CHECK_FALSE(has_head_op(scalar.head, "cross entropy"));
    CHECK(scalar.head.parameters.total() == 2048 + 2048);  // with the final norm
    bool const split = plan.sequence_parallel == Switch::on;
    CHECK(has_head_op(scalar.head, "labels") == split);
    double const tokens = split ? 512 : 2048;
    CHECK(scalar.head.work(Pass::forward).executed.base() == 2 * tokens * 2048);
    BlockSet const none = build_blocks(find_model("llama-3.2-1b:head=none"), plan, 2048);
    CHECK(none.head.work(Pass::forward).executed == Flops{});
    CHECK(has_head_op(none.head, "pooling"));
    CHECK(none.head.parameters.total() == 2048);
    CHECK(none.head.kept(Recompute::none) < scalar.head.kept(Recompute::none));
}

TEST_CASE("output head: the labels of a narrower table's model are made of what is projected to its width") {
    ParallelPlan const plan{};
    Block const head = build_head(find_model("opt-350m:head=3"), plan, 2048);
    CHECK(head.work(Pass::forward).executed.base() == 2048 * 2.0 * (1024 * 512 + 512 * 3));
    Block const none = build_head(find_model("opt-350m:head=none"), plan, 2048);
    CHECK(none.work(Pass::forward).executed.base() == 2048 * 2.0 * 1024 * 512);
}

TEST_CASE("output head: adapters leave a head of labels trained, as PEFT does") {
    ParallelPlan plan;
    plan.adapters = {.rank = 8, .targets = attention_targets()};
    Block const head = build_head(find_model("llama-3.2-1b:head=3"), plan, 2048);
    CHECK(head.parameters.total() == 3 * 2048);
    CHECK(head.frozen.total() == 2048);
    CHECK(head.work(Pass::backward).executed.base() == 2 * head.work(Pass::forward).executed.base());
    Block const logits = build_head(find_model("llama-3.2-1b"), plan, 2048);
    CHECK(logits.parameters.total() == 0);
}

TEST_CASE("output head: a loss over no vocabulary is not cut into chunks") {
    ParallelPlan plan;
    plan.loss_chunks = 4;
    Workload const workload{.sequence = 2048, .global_batch = 1};
    CHECK_NOTHROW(require_valid(find_model("llama-3.2-1b"), plan, workload));
    CHECK_THROWS_WITH(require_valid(find_model("llama-3.2-1b:head=scalar"), plan, workload),
                      Catch::Matchers::Contains("loss chunks"));
}
