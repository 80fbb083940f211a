#include "cost_models/attention_model.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

template <class Index>
std::vector<double> starts(KernelKind kind) {
    std::vector<double> out;
    for (KernelConstant const& c : kernel_constants(kind))
        out.push_back(c.start);
    return out;
}
std::vector<double> const prefill = starts<PrefillConstant>(KernelKind::prefill);
std::vector<double> const decode = starts<DecodeConstant>(KernelKind::decode);

KernelRates const rates{.peak = 1000e12, .bandwidth = 3e12, .cache = 50e6, .processors = 100};

Attention sequences(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t head_size = 128) {
    return {.batch = batch,
            .heads = heads,
            .kv_heads = heads,
            .queries = length,
            .keys = length,
            .head_dim = head_size,
            .value_head_dim = head_size};
}

double prefill_seconds(Attention const& a, PrefillUse const& use = {}) {
    return prefill_model(a, rates, prefill, use).base();
}

DecodeAttention step(std::int64_t batch, std::int64_t heads, std::int64_t kv_heads, std::int64_t keys) {
    return {.batch = batch, .heads = heads, .kv_heads = kv_heads, .keys = keys, .head_dim = 128};
}

double decode_seconds(DecodeAttention const& d, CacheState cache = CacheState::cold) {
    return decode_model(d, rates, decode, cache).base();
}

}  // namespace

TEST_CASE("prefill_model: long sequences reach the efficiency of their head size, short ones do not") {
    auto const reached = [](std::int64_t length, std::int64_t head_size) {
        double const flops = 2.0 * 64 * double(length) * double(length) * double(head_size);
        return flops / prefill_seconds(sequences(1, 64, length, head_size)) / 1000e12;
    };
    CHECK(reached(65536, 128) == Approx(0.5).epsilon(0.12));  // work above 0.1 TFLOP runs a little faster (heat)
    CHECK(reached(65536, 64) < reached(65536, 128));
    CHECK(reached(2048, 128) < 0.9 * reached(65536, 128));
    // Between two sizes the efficiency lies between theirs.
    CHECK(reached(65536, 80) > reached(65536, 64));
    CHECK(reached(65536, 80) < reached(65536, 128));
}

TEST_CASE("prefill_model: nothing ends before its longest block") {
    // One head, 8,192 queries: the last block sees 64 tiles, whatever the other 99 multiprocessors do.
    double const per_tile = 128.0 * 128 * 2 * 256 / (1000e12 * 0.5 / 100);
    CHECK(prefill_seconds(sequences(1, 1, 8192)) >= 64 * per_tile);
}

TEST_CASE(
    "prefill_model: few queries over a long cache are bound by the share of the memory's rate that the kernel "
    "reaches") {
    Attention a = sequences(64, 32, 8192);
    a.queries = 1;
    auto const seconds = [&](double memory, AttentionLibrary library) {
        std::vector<double> constants = prefill;
        constants[static_cast<std::size_t>(PrefillConstant::memory)] = memory;
        constants[static_cast<std::size_t>(PrefillConstant::preparation)] = 1;
        return prefill_model(a, rates, constants, {.library = library}).base();
    };
    // Two bytes each of keys and values of 64 x 32 heads of 128, 8,192 tokens, at half of 3 TB/s. Where a library
    // prepares them first it does so at the same rate.
    double const once = 64.0 * 32 * 8192 * 128 * 2 * 2 / 1.5e12;
    for (auto const& [library, times] : {std::pair{AttentionLibrary::training, 1}, {AttentionLibrary::serving, 2}}) {
        CHECK(seconds(0.5, library) > times * once);
        CHECK(seconds(0.25, library) - seconds(0.5, library) == Approx(times * once).epsilon(0.01));
    }
}

TEST_CASE("prefill_model: more sequences, heads or tokens never take less time", "[INV-15]") {
    std::mt19937_64 random(seeded(3));
    for (int i = 0; i < 300; ++i) {
        auto const batch = pick<std::int64_t>(random, {1, 2, 5, 16});
        auto const heads = pick<std::int64_t>(random, {1, 8, 40, 96});
        auto const length = static_cast<std::int64_t>(std::exp2(uniform(random, 0, 14)));
        CAPTURE(batch, heads, length);
        double const time = prefill_seconds(sequences(batch, heads, length));
        CHECK(prefill_seconds(sequences(batch + 3, heads, length)) >= time);
        CHECK(prefill_seconds(sequences(batch, heads + 8, length)) >= time);
        CHECK(prefill_seconds(sequences(batch, heads, 2 * length)) >= time);
    }
}

TEST_CASE("prefill_model: a window or several pieces change the work, not the rules") {
    Attention windowed = sequences(1, 32, 32768);
    windowed.window = 4096;
    CHECK(prefill_seconds(windowed) < 0.4 * prefill_seconds(sequences(1, 32, 32768)));
    Attention pieces = sequences(1, 32, 32768);
    pieces.pieces = 8;
    CHECK(prefill_seconds(pieces) > prefill_seconds(sequences(1, 32, 32768)));
    CHECK(prefill_seconds(sequences(1, 32, 8192), {.work = 2.5}) > 2 * prefill_seconds(sequences(1, 32, 8192)));
}

TEST_CASE("decode_model: a large cache is read at the memory's rate") {
    double const bytes = 2.0 * 256 * 8 * 8192 * 128 * 2;
    CHECK(decode_seconds(step(256, 32, 8, 8192)) == Approx(bytes / (0.85 * 3e12)).epsilon(0.1));
    DecodeAttention half = step(256, 32, 8, 8192);
    half.cache_bytes = 1;
    CHECK(decode_seconds(half) < 0.65 * decode_seconds(step(256, 32, 8, 8192)));
}

TEST_CASE("decode_model: one long sequence is split over blocks, so that it does not wait for one of them") {
    double const chain = 65536 * 5e-9;
    CHECK(decode_seconds(step(1, 8, 8, 65536)) < 0.5 * chain);
}

TEST_CASE("decode_model: groups that no kernel shares read the cache once per head") {
    CHECK(sharing_of(step(1, 8, 8, 1)) == DecodeSharing::single);
    CHECK(sharing_of(step(1, 32, 1, 1)) == DecodeSharing::grouped);
    CHECK(sharing_of(step(1, 64, 1, 1)) == DecodeSharing::unshared);
    CHECK(sharing_of(step(1, 64, 1, 1), GroupedHeads::shared) == DecodeSharing::grouped);
    CHECK(decode_seconds(step(64, 64, 1, 8192)) > 10 * decode_seconds(step(64, 32, 1, 8192)));
}

TEST_CASE(
    "decode_model: kernels that share among groups of eight alone, or among none, read the others once per head") {
    using enum DecodeSharing;
    for (GroupedHeads const kernels : {GroupedHeads::narrow, GroupedHeads::eights, GroupedHeads::apart}) {
        CHECK(sharing_of(step(1, 32, 32, 1), kernels) == single);
        CHECK(sharing_of(step(1, 64, 1, 1), kernels) == unshared);
        CHECK(sharing_of(step(1, 64, 8, 1), kernels) == (kernels == GroupedHeads::apart ? unshared : grouped));
        CHECK(sharing_of(step(1, 32, 8, 1), kernels) == (kernels == GroupedHeads::narrow ? grouped : unshared));
    }
    DecodeAttention narrow = step(1, 64, 8, 1);
    narrow.head_dim = 64;
    CHECK(sharing_of(narrow, GroupedHeads::eights) == unshared);
}

TEST_CASE("decode_model: a group that no kernel shares reads memory once and the cache once per head") {
    std::vector<double> streaming = decode;  // nothing but reads counts
    streaming[static_cast<std::size_t>(DecodeConstant::token_latency)] = 1e-12;
    streaming[static_cast<std::size_t>(DecodeConstant::block_overhead)] = 1e-9;
    streaming[static_cast<std::size_t>(DecodeConstant::efficiency)] = 1e6;
    streaming[static_cast<std::size_t>(DecodeConstant::overlap)] = 8;
    auto& speed = streaming[static_cast<std::size_t>(DecodeConstant::cache_speed)];
    auto const seconds = [&](std::int64_t heads, CacheState cache, DecodeSharing sharing = DecodeSharing::unshared) {
        return decode_model(step(256, heads, 8, 16384), rates, streaming, cache, sharing).base();
    };
    double const once = 2.0 * 256 * 8 * 16384 * 128 * 2 / 3e12;
    for (double const times : {2.0, 4.0, 8.0}) {
        speed = times;
        CAPTURE(times);
        // Eight heads of a group through a cache of 2, 4 and 8 times the memory's rate, or the memory itself.
        double const longer = std::max(1 / 0.85, 8 / times) * once;
        CHECK(seconds(64, CacheState::cold) == Approx(longer).epsilon(0.1));
        CHECK(seconds(64, CacheState::hot) <= seconds(64, CacheState::cold));
        CHECK(seconds(64, CacheState::cold) >= seconds(64, CacheState::cold, DecodeSharing::grouped));
        CHECK(seconds(128, CacheState::cold) >= seconds(64, CacheState::cold));
    }
    // A cache of each chiplet brings its own copy: as many as the heads of a group lie on.
    speed = 32;
    for (double const caches : {1.0, 2.0, 8.0, 64.0}) {
        KernelRates chiplets = rates;
        chiplets.caches = caches;
        auto const chiplet_seconds = [&](DecodeSharing sharing) {
            return decode_model(step(256, 64, 8, 16384), chiplets, streaming, CacheState::cold, sharing).base();
        };
        CAPTURE(caches);
        CHECK(chiplet_seconds(DecodeSharing::unshared) == Approx(std::min(8.0, caches) / 0.85 * once).epsilon(0.1));
        CHECK(chiplet_seconds(DecodeSharing::grouped) == seconds(64, CacheState::cold, DecodeSharing::grouped));
    }
}

TEST_CASE("decode_model: more sequences or tokens never take less time, a hot cache never more", "[INV-15]") {
    std::mt19937_64 random(seeded(9));
    for (int i = 0; i < 300; ++i) {
        auto const batch = static_cast<std::int64_t>(std::exp2(uniform(random, 0, 10)));
        auto const heads = pick<std::int64_t>(random, {8, 32, 64, 512});
        auto const keys = static_cast<std::int64_t>(std::exp2(uniform(random, 0, 16)));
        DecodeAttention const shape = step(batch, heads, 8, keys);
        CAPTURE(batch, heads, keys);
        CHECK(decode_seconds(step(2 * batch, heads, 8, keys)) >= 0.98 * decode_seconds(shape));
        CHECK(decode_seconds(step(batch, heads, 8, 2 * keys)) >= 0.98 * decode_seconds(shape));
        CHECK(decode_seconds(shape, CacheState::hot) <= decode_seconds(shape));
    }
}

TEST_CASE("kernels that a device's own calibration does not have are those of its generation, not of any device") {
    AcceleratorProfile device = find_accelerator("h100-sxm", "test");
    auto products = std::make_shared<KernelCalibration>(*device.kernels);
    std::erase_if(products->fits, [](KernelFit const& fit) { return fit.kind != KernelKind::gemm; });
    device.kernels = products;
    AcceleratorProfile of_class = device;
    of_class.kernels = shipped_kernel_calibration("class-hopper");
    AcceleratorProfile of_any = device;
    of_any.kernels = shipped_kernel_calibration("class-any");
    auto const time = [](AcceleratorProfile const& a) {
        return estimate_prefill(sequences(2, 32, 4096), "bf16/bf16", a, {}).time;
    };
    CHECK(time(device) == time(of_class));
    CHECK(time(of_class) != time(of_any));
}

TEST_CASE("estimate_prefill: cards of Blackwell run Ada's kernels, at their own rate") {
    auto const seconds = [](char const* name, std::int64_t head_size) {
        return estimate_prefill(sequences(1, 64, 4096, head_size), "bf16/bf16", find_accelerator(name, "test"), {})
            .time.base();
    };
    for (std::int64_t const head_size : {64, 128}) {
        CHECK(seconds("rtx-5090", head_size) < seconds("rtx-4090", head_size));
        CHECK(seconds("rtx-pro-6000", head_size) < seconds("l40s", head_size));
    }
    // On sm_100 exponentials bound heads of 64.
    CHECK(seconds("rtx-5090", 64) < 0.6 * seconds("rtx-5090", 128));
    CHECK(seconds("b200-sxm", 64) > 0.6 * seconds("b200-sxm", 128));
    CHECK(kernel_class(find_accelerator("gb10", "test"), KernelKind::decode, "bf16/bf16/single") == "class-ada");
    CHECK(kernel_class(find_accelerator("gb300", "test"), KernelKind::prefill, "bf16/bf16") == "class-blackwell");
}

TEST_CASE("estimate_prefill: kernels that were not measured pad heads rather than be slower") {
    auto const seconds = [](char const* name, std::int64_t head_size, bool pads) {
        return estimate_prefill(sequences(1, 32, 16384, head_size), "bf16/bf16", find_accelerator(name, "test"),
                                {.pads = pads})
            .time.base();
    };
    CHECK(seconds("l40s", 192, false) > 1.1 * seconds("l40s", 256, false));  // as the table's library has it
    CHECK(seconds("l40s", 192, true) < 1.01 * seconds("l40s", 256, true));
    CHECK(seconds("rtx-4090", 192, false) < 1.01 * seconds("rtx-4090", 256, false));
}

TEST_CASE("estimate_prefill: fp8 gains what the device's peaks say") {
    auto const gain = [](char const* name) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        return estimate_prefill(sequences(1, 32, 16384), "bf16/bf16", device, {}).time /
               estimate_prefill(sequences(1, 32, 16384), "fp8/fp8", device, {}).time;
    };
    CHECK(gain("h100-sxm") > 1.2);
    CHECK(gain("tpu-v5p") < 1.1);  // one peak
    CHECK(gain("trainium1") < 1.1);
}

TEST_CASE("estimate_latent_decode: more sequences are no quicker, and devices of one chip equally quick") {
    auto const seconds = [](char const* name, std::int64_t batch) {
        LatentDecode const latent{.batch = batch, .heads = 128, .keys = 1024, .kv_rank = 512, .rope_head_dim = 64};
        return estimate_latent_decode(latent, "bf16/bf16", find_accelerator(name, "test"), CacheState::cold)
            .time.base();
    };
    for (char const* const name : {"h100-sxm", "h200-sxm", "h800-sxm", "b200-sxm", "a100-sxm-80gb"})
        for (std::int64_t batch = 1; batch <= 64; batch *= 2) {
            CAPTURE(name, batch);
            CHECK(seconds(name, 2 * batch) >= seconds(name, batch));
        }
    for (std::int64_t const batch : {1, 4, 16, 64})
        CHECK(seconds("h800-sxm", batch) == Approx(seconds("h100-sxm", batch)).epsilon(0.15));
}

TEST_CASE("estimate_decode: a step that finds nothing in the cache reads no faster than memory, whatever tables say") {
    for (char const* const name : {"a100-sxm-80gb", "a800-sxm-80gb", "h100-sxm", "b200-sxm", "l40s"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        DecodeAttention const shape = step(64, 32, 8, 16384);
        KernelEstimate const estimate =
            estimate_decode(shape, "bf16/bf16", device, CacheState::cold, GroupedHeads::shared);
        CAPTURE(name);
        CHECK(cache_bytes(shape) / estimate.time < 0.96 * device.memory_bandwidth.value);
        CHECK(cache_bytes(shape) / (estimate.time * estimate.factors.low) < 0.96 * device.memory_bandwidth.value);
    }
}

TEST_CASE("estimate_decode: keys and values of many caches come from memory, whatever ran before") {
    DecodeAttention const large = step(64, 32, 8, 65536);
    DecodeAttention const small = step(1, 32, 8, 2048);
    for (char const* const name : {"a800-sxm-80gb", "a100-pcie-80gb", "h800-sxm", "gb200"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        auto const estimate = [&](DecodeAttention const& shape, CacheState cache) {
            return estimate_decode(shape, "bf16/bf16", device, cache, GroupedHeads::shared);
        };
        CAPTURE(name);
        KernelEstimate const hot = estimate(large, CacheState::hot);
        CHECK(cache_bytes(large) / (hot.time * hot.factors.low) < 0.96 * device.memory_bandwidth.value);
        CHECK(estimate(small, CacheState::hot).least < estimate(small, CacheState::cold).least);
    }
    // What its own table says stands beside the rows of that table.
    AcceleratorProfile const own = find_accelerator("a100-sxm-80gb", "test");
    CHECK(cache_bytes(large) / estimate_decode(large, "bf16/bf16", own, CacheState::hot, GroupedHeads::shared).time >
          own.memory_bandwidth.value);
}

TEST_CASE("estimate_prefill: what comes after a past is like no row of a table") {
    for (char const* const name : {"a100-sxm-80gb", "h100-sxm", "b200-sxm"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        Attention chunk = sequences(1, 32, 4096);
        KernelEstimate const whole = estimate_prefill(chunk, "bf16/bf16", device, {});
        chunk.past = 2048;
        chunk.queries -= chunk.past;
        KernelEstimate const later = estimate_prefill(chunk, "bf16/bf16", device, {});
        CAPTURE(name);
        CHECK(whole.support == KernelSupport::measured);
        CHECK(later.support == KernelSupport::extended);
        CHECK(later.factors.high / later.factors.low > whole.factors.high / whole.factors.low);
    }
}

TEST_CASE("attention of GB200 and GB300 is as quick as B200's, whose products are as quick") {
    Attention shape = sequences(1, 64, 16384);
    for (AttentionLibrary const library : {AttentionLibrary::serving, AttentionLibrary::training}) {
        auto const seconds = [&](char const* name) {
            PrefillUse const use{.library = library};
            return estimate_prefill(shape, "bf16/bf16", find_accelerator(name, "test"), use).time.base();
        };
        for (char const* const name : {"gb200", "gb300"})
            CHECK(seconds(name) == Approx(seconds("b200-sxm")).epsilon(0.05));
    }
}

TEST_CASE("estimate_prefill: devices of a measured one's generation are as far from their peak as it is") {
    Attention shape = sequences(4, 32, 4096);
    shape.kv_heads = 8;
    auto const share = [&](char const* name) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        return 1 / (estimate_prefill(shape, "bf16/bf16", device, {}).time.base() *
                    kernel_rates(device, Precision::bf16).peak);
    };
    CHECK(share("a800-sxm-80gb") == Approx(share("a100-sxm-80gb")).epsilon(0.15));
    CHECK(share("a100-pcie-80gb") < 1.05 * share("a100-sxm-80gb"));
    CHECK(share("gb200") == Approx(share("b200-sxm")).epsilon(0.15));
    CHECK(share("h20-sxm") > 1.2 * share("h100-sxm"));  // less compute beside its exponent units
}

TEST_CASE("estimate_prefill: no length of sequence takes attention above the peak") {
    for (char const* const name : {"a100-sxm-80gb", "a800-sxm-80gb", "h20-sxm", "gb200", "rtx-5090"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        double const peak = kernel_rates(device, Precision::bf16).peak;
        for (std::int64_t const length : {8192, 131072, 1048576}) {
            double const flops = 2.0 * 64 * double(length) * double(length) * 128;
            KernelEstimate const estimate = estimate_prefill(sequences(1, 64, length), "bf16/bf16", device, {});
            CAPTURE(name, length);
            CHECK(flops / (estimate.time.base() * estimate.factors.low) <= 1.001 * peak);
        }
    }
}

TEST_CASE("estimate_decode: of heads that share nothing, fewer sequences take no longer than more") {
    for (char const* const name : {"h100-sxm", "h200-sxm", "b200-sxm", "gh200-144gb", "mi300x"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        for (std::int64_t const keys : {128, 512, 2048, 8192}) {
            auto const seconds = [&](std::int64_t batch) {
                return estimate_decode(step(batch, 64, 1, keys), "bf16/bf16", device, CacheState::cold).time.base();
            };
            for (std::int64_t batch = 1; batch < 8; ++batch) {
                CAPTURE(name, keys, batch);
                CHECK(seconds(batch) <= 1.1 * seconds(batch + 1));
            }
        }
    }
}

TEST_CASE("estimate_decode: little matrix work beside the vector units does not slow a decode down") {
    DecodeAttention const shape = step(64, 32, 8, 4096);
    auto const seconds = [&](char const* name) {
        return estimate_decode(shape, "bf16/bf16", find_accelerator(name, "test"), CacheState::cold).time.base();
    };
    // An H20 reads faster than an H800, with six tenths of its multiprocessors.
    CHECK(seconds("h20-sxm") < 1.3 * seconds("h800-sxm"));
    CHECK(seconds("h20-sxm") > cache_bytes(shape).base() / 4e12);
    for (char const* const name : {"mi100", "rtx-2080-ti", "p100-sxm-16gb", "rtx-3090"}) {
        CAPTURE(name);
        CHECK(seconds(name) <
              1.6 * cache_bytes(shape).base() / find_accelerator(name, "test").memory_bandwidth.value.base());
    }
}

TEST_CASE("kernel_rates: nothing is padded to the rows of matrix units where there are none") {
    auto const rows = [](char const* name) {
        return kernel_rates(find_accelerator(name, "test"), Precision::fp16).rows;
    };
    CHECK(rows("p100-sxm-16gb") == 1);
    CHECK(rows("v100-sxm-16gb") == 16);
    std::vector<double> working = decode;
    working[static_cast<std::size_t>(DecodeConstant::efficiency)] = 1e-3;
    KernelRates plain = rates;
    plain.rows = 1;
    auto const seconds = [&](KernelRates const& on) {
        return decode_model(step(64, 32, 8, 8192), on, working, CacheState::cold).base();
    };
    CHECK(seconds(rates) / seconds(plain) == Approx(4).epsilon(0.05));  // groups of 4 take 16 rows
}

TEST_CASE("estimate_prefill: a cache in fp8 makes no device multiply in it that cannot", "[INV-14]") {
    Attention shape = sequences(1, 32, 32768);
    shape.kv_heads = 8;
    auto const estimate = [&](char const* name, char const* variant) {
        return estimate_prefill(shape, variant, find_accelerator(name, "test"), {});
    };
    for (char const* const name : {"a100-sxm-80gb", "a800-sxm-80gb", "a10", "v100-sxm-16gb", "mi250x-gcd", "tpu-v4"})
        for (char const* const variant : {"bf16/fp8", "fp8/fp8"}) {
            CAPTURE(name, variant);
            CHECK(estimate(name, variant).time == estimate(name, "bf16/bf16").time);
        }
    CHECK(estimate("a100-sxm-80gb", "bf16/fp8").support == KernelSupport::by_format);
    CHECK(estimate("gh200-144gb", "bf16/fp8").time < 0.8 * estimate("gh200-144gb", "bf16/bf16").time);
    // Where it can, the peak in fp8 is the bound.
    AcceleratorProfile h20 = find_accelerator("h20-sxm", "test");
    double const flops = 2.0 * 64 * 131072.0 * 131072.0 * 128;
    auto const reached = [&] {
        return flops / estimate_prefill(sequences(1, 64, 131072), "bf16/fp8", h20, {}).time.base();
    };
    CHECK(reached() > 1.01 * h20.peak_of(Precision::bf16).value.base());
    CHECK(reached() < 0.85 * h20.peak_of(Precision::fp8).value.base());
    h20.peak.at(Precision::fp8).value = h20.peak_of(Precision::bf16).value;
    CHECK(reached() <= 1.001 * h20.peak_of(Precision::bf16).value.base());
}

TEST_CASE("fill_head_sizes: sizes that no row was of stand to their neighbours as the starts do") {
    std::vector<double> constants = prefill;
    std::vector<std::optional<double>> spreads(constants.size());
    auto const at = [](PrefillConstant c) { return static_cast<std::size_t>(c); };
    auto const filled = [&] {
        std::vector<double> out = constants;
        fill_head_sizes(out, spreads, prefill);
        return out;
    };
    CHECK(filled() == prefill);  // nothing is known of any
    constants[at(PrefillConstant::efficiency_128)] = 0.8 * 0.5;
    CHECK(filled()[at(PrefillConstant::efficiency_128)] == 0.8 * 0.5);
    CHECK(filled()[at(PrefillConstant::efficiency_64)] == Approx(0.8 * 0.4));
    CHECK(filled()[at(PrefillConstant::efficiency_256)] == Approx(0.8 * 0.55));
    constants[at(PrefillConstant::efficiency_256)] = 1.25 * 0.55;
    double const share = std::log(192.0 / 128) / std::log(2.0);
    CHECK(filled()[at(PrefillConstant::efficiency_192)] ==
          Approx(0.5 * std::pow(0.8, 1 - share) * std::pow(1.25, share)));
    CHECK(filled()[at(PrefillConstant::efficiency_512)] == Approx(1.25 * 0.5));
    spreads[at(PrefillConstant::efficiency_512)] = 0.1;  // fitted: at its start, as it happens
    CHECK(filled()[at(PrefillConstant::efficiency_512)] == 0.5);
}

TEST_CASE("estimate_prefill: no head size takes attention of training above what products reach", "[INV-14]") {
    for (std::int64_t const head_size : {128, 192, 256}) {
        Attention shape = sequences(1, 2048 / head_size, 16384, head_size);
        AcceleratorProfile const device = find_accelerator("a100-sxm-80gb", "test");
        double const flops = 2.0 * 2048 * 16384.0 * 16384.0;
        double const seconds =
            estimate_prefill(shape, "bf16/bf16", device, {.library = AttentionLibrary::training}).time.base();
        CAPTURE(head_size);
        CHECK(flops / seconds < 0.83 * device.peak_of(Precision::bf16).value.base());
    }
}
