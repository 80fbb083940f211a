// Decodes where a device's own table, its class or another format would say what no device does.
#include "core/ops/op.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hardware_profile.hpp"
#include "core/spec/kernel_constants.hpp"
#include "core/units.hpp"
#include "cost_models/attention_model.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

using namespace sextant;

namespace {

struct Heads {
    std::int64_t query;
    std::int64_t kv;
};

DecodeAttention decode_of(std::int64_t batch, Heads heads, std::int64_t keys, std::string_view variant) {
    return {.batch = batch,
            .heads = heads.query,
            .kv_heads = heads.kv,
            .keys = keys,
            .head_dim = 128,
            .cache_bytes = variant.ends_with("fp8") ? 1.0 : 2.0};
}

/// Of a step, whose caches hold nothing of it.
double step_seconds(AcceleratorProfile const& device, std::int64_t batch, Heads heads, std::int64_t keys,
                    std::string_view variant = "bf16/bf16", GroupedHeads kernels = GroupedHeads::shared) {
    return estimate_decode(decode_of(batch, heads, keys, variant), variant, device, CacheState::cold, kernels)
        .time.base();
}

}  // namespace

TEST_CASE("estimate_decode: a narrow cache takes no longer than a wide one in kernels that nobody measured there") {
    for (char const* const name : {"rtx-4090", "rtx-5090", "rtx-pro-6000", "l4", "mi300x", "gaudi3", "h800-sxm"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        for (Heads const heads : {Heads{8, 1}, Heads{32, 8}, Heads{16, 16}, Heads{64, 1}})
            for (std::int64_t const keys : {512, 8192, 131072})
                for (std::int64_t const batch : {1, 16}) {
                    CAPTURE(name, heads.query, heads.kv, keys, batch);
                    auto const kernels = GroupedHeads::narrow;
                    CHECK(step_seconds(device, batch, heads, keys, "bf16/fp8", kernels) <=
                          step_seconds(device, batch, heads, keys, "bf16/bf16", kernels));
                }
    }
    // Where they were measured, engines that run others: TensorRT-LLM's leave a chain of keys whole.
    AcceleratorProfile const measured = find_accelerator("l40s", "test");
    auto const narrow = [&](GroupedHeads kernels) {
        return step_seconds(measured, 1, {8, 1}, 131072, "bf16/fp8", kernels);
    };
    CHECK(narrow(GroupedHeads::shared) <= step_seconds(measured, 1, {8, 1}, 131072));
    CHECK(narrow(GroupedHeads::narrow) > 10 * narrow(GroupedHeads::shared));
}

TEST_CASE("estimate_decode: a table that outruns memory leaves what streaming kernels reach of it") {
    AcceleratorProfile const measured = find_accelerator("a100-sxm-80gb", "test");
    AcceleratorProfile const twin = find_accelerator("a800-sxm-80gb", "test");
    double const reached = measured.memory_efficiency.value;
    for (Heads const heads : {Heads{16, 8}, Heads{32, 8}, Heads{64, 8}})
        for (std::int64_t const keys : {4096, 16384, 65536}) {
            CAPTURE(heads.query, keys);
            DecodeAttention const shape = decode_of(64, heads, keys, "bf16/bf16");
            double const seconds = step_seconds(measured, 64, heads, keys);
            CHECK(cache_bytes(shape).base() / seconds <= 1.001 * reached * measured.memory_bandwidth.value.base());
            CHECK(seconds > 0.85 * step_seconds(twin, 64, heads, keys));
        }
    // Decodes of H100 in the tables reach 0.85 to 0.89.
    AcceleratorProfile const h100 = find_accelerator("h100-sxm", "test");
    DecodeAttention const shape = decode_of(64, {32, 8}, 16384, "bf16/bf16");
    double const rate = cache_bytes(shape).base() / step_seconds(h100, 64, {32, 8}, 16384);
    CHECK(rate > 0.86 * h100.memory_bandwidth.value.base());
}

TEST_CASE("estimate_decode: in a step, more keys and more sequences take no less time, whatever a library chooses") {
    for (char const* const name : {"a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200-sxm", "l40s"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        for (Heads const heads : {Heads{32, 1}, Heads{64, 2}, Heads{32, 8}, Heads{16, 16}})
            for (std::int64_t batch = 1; batch <= 16; batch *= 2)
                for (std::int64_t keys = 128; keys <= 65536; keys *= 2) {
                    CAPTURE(name, heads.query, heads.kv, batch, keys);
                    double const seconds = step_seconds(device, batch, heads, keys);
                    CHECK(seconds <= 1.1 * step_seconds(device, batch, heads, 2 * keys));
                    CHECK(seconds <= 1.25 * step_seconds(device, 2 * batch, heads, keys));
                }
    }
}

TEST_CASE("estimate_decode: a benchmark that repeats a decode runs what its library chooses") {
    AcceleratorProfile const device = find_accelerator("a100-sxm-80gb", "test");
    auto const seconds = [&](CacheState cache) {
        return estimate_decode(decode_of(2, {64, 2}, 512, "bf16/bf16"), "bf16/bf16", device, cache).time.base();
    };
    CHECK(seconds(CacheState::hot) > 1.3 * seconds(CacheState::cold));
}

TEST_CASE("estimate_decode: kernels that fold any group into their tiles read once, and multiply as attention does") {
    for (char const* const name : {"h100-sxm", "h200-sxm", "b200-sxm", "a100-sxm-80gb", "l40s", "mi300x", "h20-sxm"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        double const rate = kernel_rates(device, Precision::bf16).peak * device.attention_forward_efficiency.value;
        for (std::int64_t const kv_heads : {1, 8})
            for (std::int64_t const keys : {1024, 32768}) {
                CAPTURE(name, kv_heads, keys);
                double const seen = step_seconds(device, 32, {32 * kv_heads, kv_heads}, keys);
                for (std::int64_t const group : {48, 64, 128}) {
                    double const seconds = step_seconds(device, 32, {group * kv_heads, kv_heads}, keys);
                    double const flops = 4.0 * 32 * static_cast<double>(keys * group * kv_heads) * 128;
                    CHECK(seconds >= seen);
                    CHECK(seconds <= 1.001 * std::max(seen, flops / rate));
                }
            }
    }
}

TEST_CASE("estimate_decode: a head of its own takes no longer than two that share what it reads") {
    for (char const* const name : {"a100-sxm-80gb", "a800-sxm-80gb", "h100-sxm", "h20-sxm", "b200-sxm", "rtx-3090"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        for (std::string_view const variant : {"bf16/bf16", "bf16/fp8"})
            for (std::int64_t const heads : {1, 8, 32})
                for (std::int64_t const keys : {1024, 16384, 131072}) {
                    CAPTURE(name, variant, heads, keys);
                    CHECK(step_seconds(device, 1, {heads, heads}, keys, variant) <=
                          step_seconds(device, 1, {2 * heads, heads}, keys, variant));
                }
    }
}
