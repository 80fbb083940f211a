#include "simulator/serving/even_decodes.hpp"

#include "core/random_stream.hpp"
#include "simulator/serving/speculative_decodes.hpp"
#include "tests/catch.hpp"

#include <map>

using namespace sextant;

TEST_CASE("even decodes: blocks wanted are those that each sequence lacks, joined and left in any order") {
    auto const seed = GENERATE(range(1U, 13U));
    RandomStream random(seed, 0, 7);
    CacheShape shape{.block_tokens = 1 + random.below(9)};
    if (seed % 3 != 0) {
        shape.whole_groups = random.below(3);
        shape.window_groups = 1 + random.below(3);
        shape.window_blocks = 1 + random.below(6);
    }
    EvenDecodes decodes(shape);
    std::map<std::int32_t, std::int64_t> contexts;
    std::map<std::int32_t, std::int64_t> ends;
    for (std::int32_t step = 0; step < 300; ++step) {
        for (std::int32_t slot = 0; slot < 8; ++slot) {
            if (contexts.contains(slot) && random.below(40) == 0) {
                CHECK(decodes.leave(slot).blocks == shape.blocks(contexts[slot]));
                contexts.erase(slot);
            } else if (!contexts.contains(slot) && random.below(4) == 0) {
                contexts[slot] = 1 + random.below(50);
                ends[slot] = 1 + random.below(60);
                decodes.join(slot, contexts[slot], ends[slot]);
            }
        }
        std::int64_t wanted = 0;
        for (auto const& [slot, context] : contexts)
            wanted += shape.blocks(context + 1) - shape.blocks(context);
        CAPTURE(seed, step);
        REQUIRE(decodes.blocks_wanted() == wanted);
        std::vector<Decodes::Progress> ended;
        CHECK(decodes.step(ended) == static_cast<std::int64_t>(contexts.size()));
        std::size_t expected = 0;
        for (auto& [slot, context] : contexts) {
            ++context;
            if (--ends[slot] == 0) ++expected;
        }
        CHECK(ended.size() == expected);
        for (Decodes::Progress const& gone : ended) {
            CHECK(gone.blocks == shape.blocks(contexts[gone.slot]));
            contexts.erase(gone.slot);
        }
    }
}

TEST_CASE("speculative decodes: the context is what was there and what came, and none is left when all have left") {
    auto const seed = GENERATE(range(1U, 9U));
    RandomStream random(seed, 0, 8);
    CacheShape const shape{.block_tokens = 16};
    SpeculativeDecodes decodes(shape, {.tokens = 1 + random.below(6), .acceptance = random.uniform()}, seed);
    std::map<std::int32_t, std::int64_t> whole;  // of each slot, once all of its tokens are there
    std::int64_t expected = 0;
    for (std::int32_t slot = 0; slot < 12; ++slot) {
        std::int64_t const context = 1 + random.below(100);
        std::int64_t const remaining = 1 + random.below(200);
        decodes.join(slot, context, remaining);
        whole[slot] = context + remaining;
        expected += context;
    }
    for (int step = 0; step < 1000 && decodes.count() > 0; ++step) {
        decodes.take_blocks();
        std::vector<Decodes::Progress> ended;
        expected += decodes.step(ended);
        for (Decodes::Progress const& gone : ended) {
            CHECK(gone.blocks >= shape.blocks(whole[gone.slot]));
            expected -= whole[gone.slot];
            whole.erase(gone.slot);
        }
        REQUIRE(decodes.context() == expected);
        REQUIRE(decodes.count() == static_cast<std::int64_t>(whole.size()));
    }
    CHECK(whole.empty());
    CHECK(decodes.context() == 0);
}
