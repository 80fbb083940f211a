#include "calibrate/kernel_screen.hpp"

#include "calibrate/kernel_fit.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "tests/catch.hpp"

#include <algorithm>

using namespace sextant;

namespace {

/// Decodes of groups on a device, each as long as its calibration (or `rate` of its memory) says.
std::vector<KernelMeasurement> decodes(AcceleratorProfile const& device, double factor) {
    std::vector<KernelMeasurement> rows;
    for (std::int64_t const batch : {1, 4, 16, 64})
        for (std::int64_t const keys : {512, 4096, 32768}) {
            KernelCase row;
            row.what = DecodeAttention{.batch = batch, .heads = 32, .kv_heads = 8, .keys = keys, .head_dim = 128};
            row.variant = "bf16/bf16";
            row.source = "mine";
            row.device = device.name;
            row.measured = 1 * units::us;
            KernelMeasurement measured = *kernel_measurement(row, device);
            double const bytes = 4.0 * static_cast<double>(batch * 8 * keys * 128);
            KernelFit const* const fit = device.kernels->find(measured.kind, measured.variant);
            bool const is_known = fit != nullptr && !device.kernels->is_class();
            double const seconds =
                is_known ? fitted_seconds(measured, *fit) : 4e-6 + bytes / device.memory_bandwidth.value.base();
            measured.row.measured = factor * seconds * units::s;
            rows.push_back(measured);
        }
    return rows;
}

}  // namespace

TEST_CASE("a decode over a latent is no measurement of the kernels that are fitted") {
    AcceleratorProfile const device = find_accelerator("h100-sxm", "test");
    KernelCase row;
    row.what = DecodeAttention{.batch = 8, .heads = 16, .kv_heads = 1, .keys = 4096, .head_dim = 576};
    row.variant = "bf16/bf16";
    row.measured = 100 * units::us;
    CHECK(kernel_measurement(row, device));
    row.latent = true;
    CHECK_FALSE(kernel_measurement(row, device));
}

TEST_CASE("drop_impossible: kernels near what the device's calibration says stay, a table in another unit is refused") {
    AcceleratorProfile const device = find_accelerator("h100-sxm", "test");
    for (double const factor : {0.5, 1.0, 2.0}) {
        auto rows = decodes(device, factor);
        CHECK(drop_impossible(rows).empty());
        CHECK(rows.size() == 12);
    }
    for (double const factor : {1e-3, 0.01, 100.0}) {
        auto rows = decodes(device, factor);
        CHECK_THROWS_WITH(drop_impossible(rows), Catch::Contains("12 of 12 rows cannot be of this device") &&
                                                     Catch::Contains("in microseconds"));
    }
    auto rows = decodes(device, 1);
    rows.front().row.measured = 10 * *rows.front().row.measured;
    CHECK(drop_impossible(rows).at(
              "decode bf16/bf16/grouped: off by more than four times from what the calibration of h100-sxm says") == 1);
    CHECK(rows.size() == 11);
}

TEST_CASE("drop_impossible: of a device that nobody measured, what is read faster than its memory is left out") {
    AcceleratorProfile const device = find_accelerator("a30", "test");
    auto rows = decodes(device, 0.6);
    CHECK(drop_impossible(rows).empty());
    rows = decodes(device, 0.1);
    auto const dropped = drop_impossible(rows);
    CHECK(dropped.at(
              "decode bf16/bf16/grouped: faster than the memory of a30 (is its time in milliseconds or seconds?)") ==
          12 - rows.size());
    for (KernelMeasurement const& row : rows) {  // they may lie in the cache
        auto const& d = std::get<DecodeAttention>(row.row.what);
        CHECK(4.0 * static_cast<double>(d.batch * d.kv_heads * d.keys * d.head_dim) < 8 * device.l2.value.base());
    }
}

namespace {

/// Products of a device that nobody measured, small ones of decodes among them, at 60 % of its peak or memory.
std::vector<KernelMeasurement> products(AcceleratorProfile const& device, double factor) {
    std::vector<KernelMeasurement> rows;
    for (std::int64_t const m : {1, 64, 1024, 8192})
        for (std::int64_t const n : {512, 4096, 14336, 131072}) {
            KernelCase row;
            row.what = Gemm{.m = m, .n = n, .k = 4096};
            row.variant = "fp16";
            row.device = device.name;
            double const flops = 2.0 * static_cast<double>(m * n) * 4096;
            double const bytes = 2.0 * static_cast<double>(n) * 4096;
            double const least = std::max(flops / device.peak_of(Precision::fp16).value.base(),
                                          bytes / device.memory_bandwidth.value.base());
            row.measured = factor * (4e-6 + least / 0.6) * units::s;
            rows.push_back(*kernel_measurement(row, device));
        }
    return rows;
}

}  // namespace

TEST_CASE("drop_impossible: times 1000 times too long are refused on a device that nobody measured, slow ones stay") {
    AcceleratorProfile const device = find_accelerator("a30", "test");
    for (double const factor : {1.0, 10.0, 100.0}) {  // the last: one core of many
        auto rows = products(device, factor);
        CHECK(drop_impossible(rows).empty());
    }
    auto rows = products(device, 1000);
    CHECK_THROWS_WITH(drop_impossible(rows),
                      Catch::Contains("% of what peak and memory of a30 allow") && Catch::Contains("in nanoseconds?"));
    rows = decodes(device, 1000);
    CHECK_THROWS_WITH(drop_impossible(rows), Catch::Contains("decode") && Catch::Contains("in nanoseconds?"));
}

TEST_CASE("drop_impossible: products 1000 times too short are left out, all of them are refused") {
    AcceleratorProfile const device = find_accelerator("a30", "test");
    auto rows = products(device, 1e-3);
    CHECK_THROWS_WITH(drop_impossible(rows), Catch::Contains("16 of 16 rows cannot be of this device") &&
                                                 Catch::Contains("in milliseconds or seconds?"));
    rows = products(device, 1);
    auto const few = products(device, 1e-3);
    rows.insert(rows.end(), few.begin(), few.begin() + 6);
    std::size_t dropped = 0;
    for (auto const& [reason, count] : drop_impossible(rows)) {
        CHECK_THAT(reason, Catch::Contains("in milliseconds or seconds?"));
        dropped += count;
    }
    CHECK(dropped == 6);
    CHECK(rows.size() == 16);
}

TEST_CASE("drop_repeats: a table that is given twice is taken once, another time or cache is another row") {
    AcceleratorProfile const device = find_accelerator("h100-sxm", "test");
    auto rows = decodes(device, 1);
    auto const again = rows;
    rows.insert(rows.end(), again.begin(), again.end());
    auto other = again.front();
    other.row.cache = CacheState::cold;
    rows.push_back(other);
    other.row.measured = 1.01 * *other.row.measured;
    rows.push_back(other);
    CHECK(drop_repeats(rows) == again.size());
    CHECK(rows.size() == again.size() + 2);
}

TEST_CASE("attention with a mask and without is no repeat of one shape") {
    AcceleratorProfile const device = find_accelerator("h100-sxm", "test");
    std::vector<KernelMeasurement> rows;
    for (std::int64_t const keys : {1024, 2048, 4096, 8192, 16384})
        for (Switch const causal : {Switch::on, Switch::off}) {
            KernelCase row;
            row.what = Attention{.batch = 1,
                                 .heads = 32,
                                 .kv_heads = 8,
                                 .queries = keys,
                                 .keys = keys,
                                 .head_dim = 128,
                                 .causal = causal};
            row.variant = "bf16/bf16";
            row.source = "mine";
            row.device = device.name;
            row.measured = static_cast<double>(keys) * (causal == Switch::on ? 1.0 : 1.9) * units::us;
            rows.push_back(*kernel_measurement(row, device));
        }
    CHECK(contradicting_repeats(rows).empty());
    rows[1].row.measured = rows[0].row.measured;  // as long by chance
    CHECK(drop_repeats(rows) == 0);
}

TEST_CASE("contradicting_repeats: shapes that were measured twice tell one library from two") {
    AcceleratorProfile const device = find_accelerator("h100-sxm", "test");
    auto const mixed = [&](double factor) {
        auto rows = decodes(device, 1);
        for (KernelMeasurement const& row : decodes(device, factor))
            rows.push_back(row);
        return contradicting_repeats(rows);
    };
    CHECK(contradicting_repeats(decodes(device, 1)).empty());
    CHECK(mixed(1.1).empty());
    auto const found = mixed(1.4);
    REQUIRE(found.size() == 1);
    CHECK(found.front().kernel.starts_with("decode bf16/bf16"));
    CHECK(found.front().shapes == 12);
    CHECK(found.front().median_pct == Approx(40));
}
