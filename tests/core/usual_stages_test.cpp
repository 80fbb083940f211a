#include "core/graph/usual_stages.hpp"

#include "core/graph/stage_layout.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>
#include <numeric>

using namespace sextant;
using namespace sextant::fixtures;

TEST_CASE("cost_balanced_layers: stage 0 holds what nanotron's runs held") {
    ModelSpec model = llama(2048, 32, 32, 16, 8192);
    model.vocab = 131072;
    // Stage 0 of the 1.34B runs held 10, 5, 3 and 2 layers at pp 2, 4, 8 and 16; 11 and 6 at pp 2 and 4 before the rule
    // changed.
    for (auto const& [pp, first] : {std::pair{2, 10}, {4, 5}, {8, 3}, {16, 2}}) {
        auto const stages = cost_balanced_layers(model, pp, Tie::next_stage);
        CHECK(stages.front() == first);
        CHECK(std::accumulate(stages.begin(), stages.end(), std::int64_t{0}) == 16);
    }
    CHECK(cost_balanced_layers(model, 2, Tie::same_stage).front() == 11);
    CHECK(cost_balanced_layers(model, 4, Tie::same_stage).front() == 6);
}

TEST_CASE("usual_stage_layers: who spreads by cost does so with dense models and what a plan leaves open") {
    FrameworkProfile framework = neutral_framework();
    ModelSpec const model = llama(4096, 32, 8, 32, 14336);
    ParallelPlan plan{.pp = 8};
    CHECK(usual_stage_layers(framework, model, plan).empty());
    framework.usual.layers = LayerSpread::by_cost;
    CHECK(usual_stage_layers(framework, model, plan) == cost_balanced_layers(model, 8, Tie::next_stage));
    CHECK(usual_stage_layers(framework, mixture(2048, 16, 16, 2, 1408), plan).empty());
    plan.stage_layers = {4, 4, 4, 4, 4, 4, 4, 4};
    CHECK(usual_stage_layers(framework, model, plan) == plan.stage_layers);
    CHECK(usual_stage_layers(framework, model, {.pp = 1}).empty());
    CHECK(usual_stage_layers(framework, model, {.pp = 64}).empty());  // an error elsewhere
    CHECK(usual_stage_layers(framework, model, {.pp = 4, .vpp = 2}).empty());
}

TEST_CASE("uneven_chunks: models that no number of chunks divides evenly are short at the ends", "[INV-10]") {
    using Layers = std::vector<std::int64_t>;
    auto const of_61 = llama(4096, 32, 8, 61, 14336);
    Layers fours(16, 4);
    fours.back() = 1;
    CHECK(uneven_chunks(of_61, 8, 2) == fours);
    CHECK(uneven_chunks(of_61, 4, 4) == fours);
    Layers twos(32, 2);
    twos.front() = 1;
    twos.back() = 0;
    CHECK(uneven_chunks(of_61, 16, 2) == twos);
    CHECK(uneven_chunks(of_61, 16, 4).empty());  // 64 chunks for 61 layers
    CHECK(uneven_chunks(of_61, 8, 1).empty());
    CHECK(uneven_chunks(of_61, 1, 2).empty());
    ModelSpec with_module = of_61;
    with_module.mtp_modules = 1;  // has a rule of its own
    CHECK(uneven_chunks(with_module, 8, 2).empty());
    for (std::int64_t layers = 2; layers <= 130; ++layers)
        for (std::int64_t const pp : {2, 3, 4, 8, 16})
            for (std::int64_t v = 2; v <= 8; ++v) {
                Layers const chunks = uneven_chunks(llama(4096, 32, 8, layers, 14336), pp, v);
                CAPTURE(layers, pp, v);
                if (chunks.empty()) continue;
                CHECK_FALSE(can_split(layers, pp, v));
                CHECK(chunks.size() == static_cast<std::size_t>(pp * v));
                CHECK(std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0}) == layers);
                CHECK(
                    std::all_of(chunks.begin() + 1, chunks.end() - 1, [&](std::int64_t n) { return n == chunks[1]; }));
                CHECK(std::max(chunks.front(), chunks.back()) <= chunks[1]);
            }
    FrameworkProfile const megatron = find_framework("megatron", "test");
    ParallelPlan plan{.pp = 8, .vpp = 2, .schedule = Schedule::interleaved};
    CHECK(usual_stage_layers(megatron, of_61, plan) == fours);
    CHECK(usual_stage_layers(find_framework("torchtitan", "test"), of_61, plan).empty());
    plan.schedule = Schedule::zb_v;
    CHECK(usual_stage_layers(megatron, of_61, plan).empty());
}

TEST_CASE("usual_zero_stage: the framework's, as far as a pipeline goes with it") {
    FrameworkProfile framework = neutral_framework();
    for (int const zero : {0, 1, 2, 3}) {
        framework.usual.zero = zero;
        CHECK(usual_zero_stage(framework, {}) == zero);
        CHECK(usual_zero_stage(framework, {.pp = 4}) == std::min(zero, 1));
    }
}

TEST_CASE(
    "shipped frameworks: who shards weights, or nothing, does so where a plan leaves it open; nanotron spreads by "
    "cost") {
    for (FrameworkProfile const& framework : all_frameworks()) {
        CAPTURE(framework.name);
        bool const shards = framework.name == "fsdp" || framework.name == "torchtitan" || framework.name == "maxtext";
        bool const copies = framework.name == "pytorch" || framework.name == "transformers";
        CHECK(framework.usual.zero == (shards ? 3 : copies ? 0 : 1));
        CHECK((framework.usual.layers == LayerSpread::by_cost) == (framework.name == "nanotron"));
        bool const gathers = framework.name == "torchtitan" || framework.name == "maxtext";
        CHECK(framework.usual.cp_mode == (gathers                         ? ContextParallel::all_gather
                                          : framework.name == "deepspeed" ? ContextParallel::ulysses
                                                                          : ContextParallel::ring));
        bool const plain = framework.name == "deepspeed" || framework.name == "nanotron";
        bool const none = copies || framework.name == "fsdp";
        CHECK(framework.usual.pipelines == (none                           ? Pipelines::none
                                            : plain                        ? Pipelines::plain
                                            : framework.name == "megatron" ? Pipelines::uneven
                                                                           : Pipelines::interleaved));
        CHECK((framework.usual.sends == StageSends::parts) == (framework.name == "deepspeed"));
    }
}

TEST_CASE("usual_cp_mode: the framework's, but windows do not go round a ring") {
    for (auto const of_framework : {ContextParallel::ring, ContextParallel::all_gather, ContextParallel::ulysses})
        CHECK(usual_cp_mode(of_framework, find_model("llama-3.1-8b")) == of_framework);
    CHECK(usual_cp_mode(ContextParallel::ring, find_model("gemma-3-27b")) == ContextParallel::all_gather);
    CHECK(usual_cp_mode(ContextParallel::ulysses, find_model("gpt-oss-20b")) == ContextParallel::ulysses);
}

TEST_CASE("usual_cp_mode: Megatron exchanges heads where there are sinks, and passes latents round a ring") {
    FrameworkProfile const megatron = find_framework("megatron", "test");
    CHECK(usual_cp_mode(megatron, find_model("gpt-oss-20b")) == ContextParallel::ulysses);
    CHECK(usual_cp_mode(megatron, find_model("deepseek-v3")) == ContextParallel::ring);
    CHECK(usual_cp_mode(megatron, find_model("gemma-3-27b")) == ContextParallel::all_gather);
    CHECK(usual_cp_mode(megatron, find_model("llama-3.1-8b")) == ContextParallel::ring);
    FrameworkProfile const torchtitan = find_framework("torchtitan", "test");
    CHECK(usual_cp_mode(torchtitan, find_model("gpt-oss-20b")) == ContextParallel::all_gather);
}
