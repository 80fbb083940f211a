// Chunks of a prompt after its past, ragged lengths, and head sizes and caches that a kernel may pad or widen.
#include "core/ops/work.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

using namespace sextant;

namespace {

std::vector<double> prefill_starts() {
    std::vector<double> out;
    for (KernelConstant const& c : kernel_constants(KernelKind::prefill))
        out.push_back(c.start);
    return out;
}

constexpr KernelRates chunk_rates{.peak = 1000e12, .bandwidth = 3e12, .cache = 50e6, .processors = 114};

Attention chunk_after(std::int64_t past, std::int64_t queries, std::int64_t batch = 1) {
    return {.batch = batch,
            .heads = 64,
            .kv_heads = 8,
            .queries = queries,
            .keys = past + queries,
            .past = past,
            .head_dim = 128,
            .value_head_dim = 128};
}

double chunk_seconds(Attention const& a) { return prefill_model(a, chunk_rates, prefill_starts(), {}).base(); }

}  // namespace

TEST_CASE("prefill_model: a longer chunk after the same past takes no less time", "[INV-8]") {
    for (std::int64_t const past : {4096, 32768}) {
        double before = 0;
        for (std::int64_t queries = 16; queries <= 1024; queries += 16) {
            double const seconds = chunk_seconds(chunk_after(past, queries));
            CAPTURE(past, queries);
            CHECK(seconds >= 0.98 * before);
            before = std::max(before, seconds);
        }
    }
    for (char const* const name : {"h100-pcie", "a100-sxm-80gb", "rtx-4090", "mi300x"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        auto const seconds = [&](std::int64_t queries) {
            return estimate_prefill(chunk_after(32768, queries), "bf16/bf16", device, {}).time.base();
        };
        CAPTURE(name);
        CHECK(seconds(300) >= 0.98 * seconds(256));
        CHECK(seconds(160) >= 0.98 * seconds(128));
    }
}

TEST_CASE("prefill_model: a chunk of few queries is multiplied at no more than the rate of its head size") {
    for (std::int64_t const queries : {16, 32, 64, 100}) {
        Attention const chunk = chunk_after(32768, queries, 64);
        double const work = work_of(Op{.name = "attention", .what = chunk}, Pass::forward).executed.base();
        CAPTURE(queries);
        CHECK(work / chunk_seconds(chunk) <= 1.03 * 0.5 * chunk_rates.peak);  // 0.5: of heads of 128; 1.03: heat
    }
}

TEST_CASE("estimate_prefill: after a long past a few queries may take as little as kernels that split the keys") {
    for (char const* const name : {"h100-sxm", "a100-sxm-80gb", "mi300x"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        auto const least = [&](std::int64_t past, std::int64_t queries, std::int64_t heads) {
            Attention chunk = chunk_after(past, queries);
            chunk.heads = heads;
            chunk.kv_heads = 1;
            return estimate_prefill(chunk, "bf16/bf16", device, {}).factors.low;
        };
        CAPTURE(name);
        double const whole = least(65536, 2048, 64);  // as many blocks as there is room for, and more
        CHECK(least(65536, 64, 8) < 0.2 * whole);
        CHECK(least(65536, 64, 8) > 0.02 * whole);
        CHECK(least(65536, 128, 8) <= least(65536, 1024, 8));
        CHECK(least(0, 64, 8) >= whole);
    }
}

TEST_CASE("prefill_model: a mask makes no length of sequence slower") {
    for (std::int64_t length = 16; length <= 1024; length += 16) {
        Attention masked = chunk_after(0, length, 16);
        Attention plain = masked;
        plain.causal = Switch::off;
        CAPTURE(length);
        CHECK(chunk_seconds(masked) <= 1.001 * chunk_seconds(plain));  // heat of the starts: less work runs slower
    }
}

TEST_CASE("estimate_prefill: a training library pads a head rather than be slower than with a larger one") {
    for (char const* const name : {"l40s", "rtx-4090", "rtx-5090", "gb10", "h100-sxm", "a100-sxm-80gb"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        auto const seconds = [&](std::int64_t head_size) {
            Attention shape = chunk_after(0, 16384);
            shape.head_dim = shape.value_head_dim = head_size;
            return estimate_prefill(shape, "bf16/bf16", device, {.library = AttentionLibrary::training}).time.base();
        };
        CAPTURE(name);
        CHECK(seconds(192) <= 1.001 * seconds(256));
        CHECK(seconds(64) <= 1.001 * seconds(128));
    }
}

TEST_CASE("estimate_latent_decode: a cache in fp8 is no slower than one in 16 bits, and no interval beats memory") {
    for (char const* const name : {"l40s", "rtx-4090", "h200-sxm", "b200-sxm", "mi300x"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        for (std::int64_t const batch : {1, 8, 64})
            for (std::int64_t const keys : {512, 8192, 32768}) {
                LatentDecode latent{
                    .batch = batch, .heads = 8, .keys = keys, .kv_rank = 512, .rope_head_dim = 64, .cache_bytes = 2};
                KernelEstimate const wide = estimate_latent_decode(latent, "bf16/bf16", device, CacheState::cold);
                latent.cache_bytes = 1;
                KernelEstimate const narrow = estimate_latent_decode(latent, "bf16/fp8", device, CacheState::cold);
                CAPTURE(name, batch, keys);
                CHECK(narrow.time <= wide.time);
                double const read = static_cast<double>(2 * batch * keys * (512 + 64));
                CHECK(wide.time.base() * wide.factors.low >= read / device.memory_bandwidth.value.base());
            }
    }
}
