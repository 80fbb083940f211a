#include "core/graph/stage_layout.hpp"

#include "core/spec/schedule_traits.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <numeric>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

std::int64_t sum(std::vector<std::int64_t> const& values) {
    return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

}  // namespace

TEST_CASE("balanced_split: loses no layer and differs by at most one between chunks", "[INV-10]") {
    for (std::int64_t layers = 1; layers <= 130; ++layers)
        for (std::int64_t pp = 1; pp <= 20; ++pp)
            for (std::int64_t vpp = 1; vpp <= 8; ++vpp) {
                if (!can_split(layers, pp, vpp)) continue;
                if (vpp > 1 && pp == 1) continue;
                std::vector<std::int64_t> const split = balanced_split(layers, pp, vpp);
                CAPTURE(layers, pp, vpp);
                REQUIRE(static_cast<std::int64_t>(split.size()) == pp * vpp);
                REQUIRE(sum(split) == layers);
                auto const [least, most] = std::minmax_element(split.begin(), split.end());
                REQUIRE(*most - *least <= 1);
                // The last chunk also holds the head: no other has fewer layers.
                REQUIRE(split.back() == *least);
            }
}

TEST_CASE("balanced_split: known layouts", "[INV-10]") {
    CHECK(balanced_split(32, 4, 1) == std::vector<std::int64_t>{8, 8, 8, 8});
    CHECK(balanced_split(30, 4, 1) == std::vector<std::int64_t>{7, 8, 8, 7});  // ends short
    CHECK(balanced_split(31, 4, 1) == std::vector<std::int64_t>{8, 8, 8, 7});  // last short
    CHECK(balanced_split(33, 4, 1) == std::vector<std::int64_t>{8, 8, 9, 8});
    std::vector<std::int64_t> llama_405b(16, 8);  // arXiv:2407.21783 sec. 3.3.2
    llama_405b.front() = llama_405b.back() = 7;
    CHECK(balanced_split(126, 16, 1) == llama_405b);
}

TEST_CASE("can_split: needs a layer per stage, and equal chunks (but for the ends) when interleaved", "[INV-10]") {
    CHECK(can_split(4, 4, 1));
    CHECK_FALSE(can_split(3, 4, 1));
    CHECK(can_split(32, 4, 2));
    CHECK(can_split(30, 4, 2));  // both ends one short
    CHECK(can_split(31, 4, 2));  // the last one short
    CHECK_FALSE(can_split(28, 4, 2));
    CHECK(can_split(126, 16, 8));
}

TEST_CASE("balanced_split: prediction modules take layers off the last chunk", "[INV-10]") {
    using Layers = std::vector<std::int64_t>;
    auto const ends = [](std::size_t chunks, std::int64_t first, std::int64_t each, std::int64_t last) {
        Layers layers(chunks, each);
        layers.front() = first;
        layers.back() = last;
        return layers;
    };
    // DeepSeek-V3, 61 layers and a module, as Megatron-Bridge lays it out.
    CHECK(balanced_split(61, 4, 1, 1) == Layers{16, 16, 16, 13});
    CHECK(balanced_split(61, 8, 1, 1) == ends(8, 8, 8, 5));
    CHECK(balanced_split(61, 16, 1, 1) == ends(16, 4, 4, 1));
    CHECK(balanced_split(61, 8, 2, 1) == ends(16, 4, 4, 1));
    CHECK(balanced_split(61, 16, 2, 1) == ends(32, 1, 2, 0));
    CHECK(balanced_split(61, 1, 1, 1) == Layers{61});
    CHECK(balanced_split(60, 4, 1, 1) == Layers{15, 16, 16, 13});  // not even: the last would count as 18
    CHECK(balanced_split(60, 4, 1, 0) == Layers{15, 15, 15, 15});
    for (std::int64_t const vpp : {1, 2})
        CHECK(balanced_split(61, 16, vpp, 0).back() + 1 >= balanced_split(61, 16, vpp, 0).front());
}

TEST_CASE("balanced_split: with prediction modules no other number of layers on the last chunk is better", "[INV-10]") {
    for (std::int64_t modules = 1; modules <= 2; ++modules)
        for (std::int64_t layers = 2; layers <= 100; ++layers)
            for (std::int64_t chunks = 2; chunks <= std::min<std::int64_t>(layers, 40); ++chunks) {
                auto const longest = [&](std::int64_t most_of_others, std::int64_t last) {
                    return std::max(most_of_others, last + 1 + 2 * modules);
                };
                std::vector<std::int64_t> const split = balanced_split(layers, chunks, 1, modules);
                CAPTURE(layers, chunks, modules);
                REQUIRE(split.size() == static_cast<std::size_t>(chunks));
                REQUIRE(sum(split) == layers);
                REQUIRE(split.back() >= 0);
                auto const [least, most] = std::minmax_element(split.begin(), split.end() - 1);
                REQUIRE(*most - *least <= 1);
                for (std::int64_t last = 0; last < layers; ++last) {
                    std::int64_t const others = layers - last;
                    std::int64_t const even = others / (chunks - 1) + (others % (chunks - 1) > 0 ? 1 : 0);
                    REQUIRE(longest(*most, split.back()) <= longest(even, last));
                }
            }
}

TEST_CASE("can_split: prediction modules leave the last of interleaved chunks shorter", "[INV-10]") {
    CHECK_FALSE(can_split(61, 8, 2));
    CHECK(can_split(61, 8, 2, 1));         // 15 times 4, and 1
    CHECK(can_split(61, 16, 2, 1));        // 1, 30 times 2, and 0
    CHECK_FALSE(can_split(61, 16, 4, 1));  // 64 chunks for 61 layers
    CHECK_FALSE(can_split(61, 8, 3, 1));   // 24 chunks: neither 2 nor 3 in all of them
    CHECK_FALSE(can_split(3, 4, 1, 1));
    for (std::int64_t layers = 1; layers <= 100; ++layers)
        for (std::int64_t pp = 2; pp <= 16; ++pp)
            for (std::int64_t vpp = 2; vpp <= 8; ++vpp) {
                if (!can_split(layers, pp, vpp, 1)) continue;
                std::vector<std::int64_t> const split = balanced_split(layers, pp, vpp, 1);
                CAPTURE(layers, pp, vpp);
                for (std::size_t i = 2; i + 1 < split.size(); ++i)
                    REQUIRE(split[i] == split[1]);
                REQUIRE((split[1] > 0 && split.front() <= split[1] && split.front() >= split[1] - 1));
                REQUIRE((split.back() <= split[1] && split.back() >= split[1] - 3));
            }
}

TEST_CASE("lay_out_stages: a plan that leaves the layers open has room for the model's prediction modules") {
    ModelSpec model = mixture(1024, 61, 8, 2, 512, 3);
    ParallelPlan plan;
    plan.pp = 16;
    CHECK(lay_out_stages(model, plan).stages.back().layers == 3);
    model.mtp_modules = 1;
    StageLayout const layout = lay_out_stages(model, plan);
    CHECK(layout.chunk_layers == balanced_split(61, 16, 1, 1));
    CHECK(layout.stages.back().layers == 1);
    CHECK(layout.stages.front().layers == 4);
    plan.stage_layers = balanced_split(61, 16, 1, 0);
    CHECK(lay_out_stages(model, plan).stages.back().layers == 3);  // as stated
}

TEST_CASE("lay_out_stages: every layer lies on one stage, the ends on the first and the last", "[INV-10]") {
    std::mt19937_64 random(seeded(1));
    for (int i = 0; i < 300; ++i) {
        auto const layers = static_cast<std::int64_t>(1 + random() % 96);
        ModelSpec model =
            mixture(1024, layers, 8, 2, 512, static_cast<std::int64_t>(random() % static_cast<unsigned>(layers)));
        for (std::size_t k = 0; k < model.layers.size(); k += 2)
            model.layers[k].sliding = random() % 2 == 0;
        ParallelPlan plan;
        plan.pp = static_cast<std::int64_t>(1 + random() % 16);
        plan.vpp = plan.pp > 1 ? static_cast<std::int64_t>(1 + random() % 4) : 1;
        if (!can_split(layers, plan.pp, plan.vpp)) continue;
        StageLayout const layout = lay_out_stages(model, plan);
        REQUIRE(static_cast<std::int64_t>(layout.stages.size()) == plan.pp);
        std::vector<std::int64_t> of_kind(layout.kinds.size(), 0);
        for (std::size_t s = 0; s < layout.stages.size(); ++s) {
            StageContent const& stage = layout.stages[s];
            CHECK(stage.embedding == (s == 0));
            CHECK(stage.head == (s + 1 == layout.stages.size()));
            CHECK(stage.layers == sum(stage.layers_of_kind));
            for (std::size_t k = 0; k < of_kind.size(); ++k)
                of_kind[k] += stage.layers_of_kind[k];
        }
        for (std::size_t k = 0; k < of_kind.size(); ++k)
            CHECK(of_kind[k] == std::count(model.layers.begin(), model.layers.end(), layout.kinds[k]));
    }
}

TEST_CASE("lay_out_stages: chunks go round the stages, and a given split is kept", "[INV-10]") {
    ModelSpec model = mixture(1024, 8, 8, 2, 512, 2);  // two dense layers, then six of experts
    ParallelPlan plan;
    plan.pp = 2;
    plan.vpp = 2;
    StageLayout const layout = lay_out_stages(model, plan);
    // Chunks of two layers: 0 and 2 on stage 0, 1 and 3 on stage 1.
    REQUIRE(layout.kinds.size() == 2);
    CHECK(layout.stages[0].layers_of_kind == std::vector<std::int64_t>{2, 2});
    CHECK(layout.stages[1].layers_of_kind == std::vector<std::int64_t>{0, 4});
    plan.vpp = 1;
    plan.stage_layers = {3, 5};
    CHECK(lay_out_stages(model, plan).stages[0].layers == 3);
    CHECK(lay_out_stages(model, plan).stages[1].layers == 5);
}

TEST_CASE("lay_out_stages: a V has both ends of the model on its first stage", "[INV-10]") {
    ModelSpec const model = mixture(1024, 8, 8, 2, 512, 2);  // two dense layers, then six of experts
    ParallelPlan plan;
    plan.pp = 2;
    plan.vpp = 2;
    for (Schedule const schedule : {Schedule::zb_v, Schedule::dualpipe_v}) {
        plan.schedule = schedule;
        StageLayout const layout = lay_out_stages(model, plan);
        // Chunks of two layers: 0 and 3 on stage 0, 1 and 2 on stage 1.
        CHECK(layout.stages[0].layers_of_kind == std::vector<std::int64_t>{2, 2});
        CHECK(layout.stages[1].layers_of_kind == std::vector<std::int64_t>{0, 4});
        CHECK(layout.stages[0].embedding);
        CHECK(layout.stages[0].head);
        CHECK_FALSE(layout.stages[1].embedding);
        CHECK_FALSE(layout.stages[1].head);
        CHECK(layout.copies == 1);
    }
}

TEST_CASE("lay_out_stages: a pipeline that runs both ways holds every stage twice", "[INV-10]") {
    ModelSpec const model = mixture(1024, 8, 8, 2, 512, 3);
    ParallelPlan plan;
    plan.pp = 4;
    StageLayout const plain = lay_out_stages(model, plan);
    plan.schedule = Schedule::dualpipe;
    StageLayout const both = lay_out_stages(model, plan);
    REQUIRE(both.stages.size() == 4);
    CHECK(both.copies == 2);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        StageContent expected = plain.stages[rank];
        expected += plain.stages[3 - rank];
        CHECK(both.stages[rank] == expected);
        CHECK(both.stages[rank].embedding == (rank == 0 || rank == 3));
        CHECK(both.stages[rank].head == (rank == 0 || rank == 3));
    }
    CHECK(both.chunks == plain.chunks);
}

TEST_CASE("lay_out_stages: chunks hold what the stages hold, once per copy", "[INV-10]") {
    ModelSpec const model = mixture(1024, 32, 8, 2, 512, 3);
    for (int i = 0; i <= static_cast<int>(Schedule::dualpipe_v); ++i) {
        ParallelPlan plan;
        plan.schedule = static_cast<Schedule>(i);
        CHECK(traits_of(plan.schedule).schedule == plan.schedule);  // the table is in order
        plan.pp = 4;
        plan.vpp = traits_of(plan.schedule).least_chunks;
        StageLayout const layout = lay_out_stages(model, plan);
        StageContent chunks, stages;
        for (StageContent const& chunk : layout.chunks)
            chunks += chunk;
        for (StageContent const& stage : layout.stages)
            stages += stage;
        CAPTURE(name_of(plan.schedule));
        CHECK(static_cast<std::int64_t>(layout.chunks.size()) == plan.pp * plan.vpp);
        CHECK(chunks.layers == 32);
        CHECK(stages.layers == layout.copies * 32);
        for (std::size_t k = 0; k < layout.kinds.size(); ++k)
            CHECK(stages.layers_of_kind[k] == layout.copies * chunks.layers_of_kind[k]);
        CHECK(layout.chunks.front().embedding);
        CHECK(layout.chunks.back().head);
    }
}
