#include "core/graph/block.hpp"
#include "core/graph/shapes.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <map>
#include <string>
#include <string_view>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

constexpr std::int64_t sequence_length = 4096;
constexpr std::int64_t chosen = 4;

/// The memory-bound kernels of an expert layer of gpt-oss-120b, forward and backward bytes added up by name.
std::map<std::string, Streaming> streams(ModelSpec const& model, ParallelPlan const& plan) {
    std::map<std::string, Streaming> out;
    for (Op const& op : build_layer(model, model.layers.back(), plan, sequence_length).ops) {
        auto const* s = std::get_if<Streaming>(&op.what);
        if (s == nullptr) continue;
        Streaming& sum = out[std::string(op.name)];
        sum.forward += s->forward;
        sum.backward += s->backward;
        sum.counted = s->counted;
    }
    return out;
}

ParallelPlan shared_by(std::int64_t ranks) {
    ParallelPlan plan;
    plan.dp = plan.ep = ranks;
    return plan;
}

}  // namespace

TEST_CASE("experts with biases clamp what their activation reads and add weighted biases, op by op", "[INV-7]") {
    ModelSpec const model = find_model("gpt-oss-120b");
    auto const found = streams(model, shared_by(8));
    constexpr double rows = chosen * sequence_length;
    Streaming const& clamp = found.at(std::string(clamped_experts));
    CHECK(clamp.forward.base() == 8 * rows * 2 * 2880);
    CHECK(clamp.backward.base() == 10 * rows * 2 * 2880);
    Streaming const& bias = found.at(std::string(weighted_expert_bias));
    CHECK(bias.forward.base() == 12 * rows * 2880);
    CHECK(bias.backward.base() == 12 * rows * 2880);
    CHECK(clamp.counted);
    CHECK(bias.counted);

    ModelSpec const plain = find_model("qwen3-30b-a3b");
    CHECK_FALSE(streams(plain, shared_by(8)).contains(std::string(clamped_experts)));
    CHECK_FALSE(streams(plain, shared_by(8)).contains(std::string(weighted_expert_bias)));
}

TEST_CASE("what the clamp leaves is kept, unless the activation runs again with it", "[INV-7]") {
    ModelSpec const model = find_model("gpt-oss-120b");
    ParallelPlan plan = shared_by(8);
    auto const kept = [&](Recompute policy) {
        return build_layer(model, model.layers.back(), plan, sequence_length).kept(policy).base();
    };
    plan.recompute_modules = {RecomputeModule::moe_act};
    constexpr double rows = chosen * sequence_length;
    // The clamped halves, and what the activation makes of them; the product's own output stays.
    CHECK(kept(Recompute::none) - kept(Recompute::selective) == Approx(rows * 2880 * (4 + 2)));
    for (Op const& op : build_layer(model, model.layers.back(), plan, sequence_length).ops) {
        if (op.name == clamped_experts) CHECK(runs_again(Recompute::selective, op.rerun));
        if (op.name == weighted_expert_bias) CHECK_FALSE(runs_again(Recompute::selective, op.rerun));
    }
}

TEST_CASE("routed tokens are sorted by expert on both ways, where they come from several ranks for several experts") {
    ModelSpec const model = find_model("qwen3-30b-a3b");
    std::string const sorts(sorted_tokens);
    Streaming const sorted = streams(model, shared_by(8)).at(sorts);
    CHECK(sorted.forward.base() == 2.0 * 2 * 2 * sequence_length * 8 * 2048);  // read and written, there and back
    CHECK(sorted.backward == sorted.forward);
    CHECK(streams(model, shared_by(32)).at(sorts).forward == sorted.forward);
    CHECK_FALSE(streams(model, shared_by(1)).contains(sorts));
    CHECK_FALSE(streams(model, shared_by(128)).contains(sorts));  // one expert a rank
    ParallelPlan once = shared_by(8);
    once.dispatcher = Dispatcher::deduplicated;
    CHECK_FALSE(streams(model, once).contains(sorts));
}

TEST_CASE("experts' tokens are padded for products in narrow formats alone, and not where they are sent once") {
    ModelSpec const model = find_model("qwen3-30b-a3b");
    ParallelPlan plan = shared_by(8);
    std::string const pads(expert_padding);
    CHECK_FALSE(streams(model, plan).contains(pads));
    for (Precision const precision : {Precision::fp8, Precision::mxfp8, Precision::fp4}) {
        plan.precision = precision;
        CHECK(streams(model, plan).at(pads).forward.base() == 2.0 * 2 * 2 * sequence_length * 8 * 2048);
    }
    plan.dispatcher = Dispatcher::deduplicated;
    CHECK_FALSE(streams(model, plan).contains(pads));
}

TEST_CASE("the busiest of an expert group receives, multiplies and keeps so much more, and FLOPs stay", "[INV-7]") {
    ModelSpec const model = find_model("qwen3-30b-a3b");  // 8 of 128 experts
    ParallelPlan const equal = shared_by(8);
    ParallelPlan unequal = equal;
    unequal.expert_imbalance = 1.5;
    auto const layer = [&](ParallelPlan const& plan) {
        return build_layer(model, model.layers.back(), plan, sequence_length);
    };
    Block const one = layer(equal), other = layer(unequal);
    for (Pass const pass : {Pass::forward, Pass::backward})
        CHECK(other.work(pass).executed == one.work(pass).executed);
    std::string const sorts(sorted_tokens);
    CHECK(streams(model, unequal).at(sorts).forward.base() ==
          Approx(1.5 * streams(model, equal).at(sorts).forward.base()));
    CHECK(streams(model, unequal).at("permute").forward == streams(model, equal).at("permute").forward);  // as sent
    REQUIRE(other.ops.size() == one.ops.size());
    for (std::size_t i = 0; i < one.ops.size(); ++i) {
        if (auto const* g = std::get_if<GroupedGemm>(&other.ops[i].what)) {
            CHECK(g->m == sequence_length * 8);
            CHECK(g->busiest_rows() == sequence_length * 12);
        }
        auto const* c = std::get_if<Collective>(&other.ops[i].what);
        if (c != nullptr && c->group == GroupKind::expert)
            CHECK(c->bytes.base() == Approx(1.5 * std::get<Collective>(one.ops[i].what).bytes.base()));
    }
    // Two bytes of input, gate and up, activation, the gate's product beside, and of what the experts leave.
    double const more = 0.5 * sequence_length * 8 * (2.0 * 2048 + (4 + 2) * 768 + 2 * 2048);
    CHECK((other.kept(Recompute::none) - one.kept(Recompute::none)).base() == Approx(more));
}

TEST_CASE("no rank of an expert group gets more than all that its experts may get", "[INV-7]") {
    MoeSpec const moe = *find_model("qwen3-30b-a3b").moe;
    ParallelPlan plan = shared_by(8);
    plan.expert_imbalance = 100;
    CHECK(busiest_share(moe, plan) == 8);  // its 16 experts are all that are chosen of every token
    plan.dp = plan.ep = 64;
    CHECK(busiest_share(moe, plan) == 16);  // two of eight chosen
    plan.dp = plan.ep = 1;
    CHECK(busiest_share(moe, plan) == 1);
    plan.dp = plan.ep = 8;
    plan.expert_imbalance = 1.3;
    CHECK(busiest_share(moe, plan) == 1.3);
}
