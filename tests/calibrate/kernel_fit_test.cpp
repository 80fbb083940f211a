#include "calibrate/kernel_fit.hpp"
#include "calibrate/residual_fit.hpp"
#include "core/error.hpp"
#include "core/quantile.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/kernel_time.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <random>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

/// Products on a device whose constants are known, with a bump that no constant explains and some noise.
std::vector<KernelMeasurement> products(AcceleratorProfile const& device, std::vector<double> const& constants,
                                        int rows, double noise) {
    std::mt19937_64 random(seeded(11));
    std::normal_distribution<double> spread(0, noise);
    std::vector<KernelMeasurement> out;
    auto const size = [&] { return static_cast<std::int64_t>(std::exp2(std::floor(uniform(random, 5, 14)))); };
    for (int i = 0; i < rows; ++i) {
        Gemm const g{.m = size(), .n = size(), .k = size()};
        Seconds time = gemm_model({.m = g.m, .n = g.n, .k = g.k}, gemm_format(Precision::bf16),
                                  kernel_rates(device, Precision::bf16), constants, {.cache = CacheState::hot});
        if (g.m >= 256 && g.m <= 1024) time *= 1.3;
        KernelCase row;
        row.what = g;
        row.variant = "bf16";
        row.measured = time * std::exp(spread(random));
        out.push_back(*kernel_measurement(row, device));
    }
    return out;
}

std::vector<double> known_constants() {
    std::vector<double> out;
    for (KernelConstant const& c : kernel_constants(KernelKind::gemm))
        out.push_back(c.start);
    out[static_cast<std::size_t>(GemmConstant::efficiency)] = 0.7;
    out[static_cast<std::size_t>(GemmConstant::launch)] = 3e-6;
    return out;
}

}  // namespace

TEST_CASE("fit_residual: a smooth surface is found, and what no point supports stays at zero") {
    std::vector<ResidualPoint> points;
    std::mt19937_64 random(seeded(2));
    for (int i = 0; i < 400; ++i) {
        double const x = uniform(random, 0, 4), y = uniform(random, 0, 4);
        points.push_back({.at = {x, y}, .log_ratio = 0.2 * std::sin(x) + (i % 40 == 0 ? 3 : 0)});  // wrong rows
    }
    ResidualLayer const layer{.axes = {{"x", {0, 1, 2, 3, 4, 8, 16}}, {"y", {0, 2, 4}}}, .smoothing = {}};
    ResidualGrid const grid = fit_residual(points, {layer}, 0.08).front();
    for (double const x : {0.5, 1.5, 2.5, 3.5})
        CHECK(grid.value(std::array{x, 1.0}) == Approx(0.2 * std::sin(x)).margin(0.04));
    CHECK(grid.axes()[0].knots.back() == 4);  // no knots where there are no points
    CHECK_THROWS_AS(fit_residual({}, {layer}, 0.08), InputError);
}

TEST_CASE("fit_kernel: shapes that were held out are predicted within the noise") {
    AcceleratorProfile const device = accelerator();
    constexpr int count = fixtures::cases(500, 250);
    auto const rows = products(device, known_constants(), count, 0.02);
    KernelFit const fit = fit_kernel(rows, {.threads = 1, .starts = 1});
    CHECK(fit.rows + fit.held_out.rows == count);
    CHECK(fit.held_out.rows > count / 25);
    CHECK(fit.held_out.median_pct < 4);
    CHECK(std::abs(fit.held_out.bias_pct) < 2);
    CHECK_FALSE(fit.intervals.empty());
    for (KernelInterval const& band : fit.intervals) {
        CHECK(band.factors.low < 1);
        CHECK(band.factors.low > 0.7);
        CHECK(band.factors.high > 1);
        CHECK(band.factors.high < 1.4);
    }
}

TEST_CASE("fit_kernel: a library that keeps to large tiles is learnt from its last waves") {
    AcceleratorProfile const device = accelerator();
    KernelRates const rates = kernel_rates(device, Precision::bf16);
    auto rows = products(device, known_constants(), fixtures::cases(800, 400), 0.02);
    for (KernelMeasurement& row : rows) {
        auto const& g = std::get<Gemm>(row.row.what);
        double const lost = gemm_wave_coordinates({.m = g.m, .n = g.n, .k = g.k}, rates)[1];
        row.row.measured = *row.row.measured * (1 + 0.6 * std::min(lost, 1.0));
    }
    KernelFit const fit = fit_kernel(rows, {.threads = 1, .starts = 1});
    KernelFit shape_alone = fit;
    shape_alone.waves = {};
    double with_waves = 0;
    double without = 0;
    for (KernelMeasurement const& row : rows) {
        if (!is_held_out(row.row)) continue;
        with_waves += std::abs(std::log(fitted_seconds(row, fit) / row.row.measured->base()));
        without += std::abs(std::log(fitted_seconds(row, shape_alone) / row.row.measured->base()));
    }
    CHECK(with_waves < 0.8 * without);
    CHECK(fit.held_out.median_pct < 5);
    // Half a wave more than a whole one costs more than a whole one, whatever the depth.
    for (double const log2_k : {9.0, 10.0, 12.0})
        CHECK(fit.waves.value(std::array{1.0, 0.5, log2_k}) > fit.waves.value(std::array{1.0, 0.0, log2_k}));
}

TEST_CASE("fit_kernel: 80 % intervals contain about 80 % of rows that were not in the fit") {
    AcceleratorProfile const device = accelerator();
    constexpr int count = fixtures::cases(600, 300);
    auto const rows = products(device, known_constants(), count, 0.05);
    KernelFit const fit = fit_kernel(rows, {.threads = 1, .starts = 1});
    auto fresh = products(device, known_constants(), 2 * count, 0.05);
    fresh.erase(fresh.begin(), fresh.begin() + count);
    int inside = 0;
    for (KernelMeasurement const& row : fresh) {
        double const seconds = fitted_seconds(row, fit);
        TimeInterval factors = fit.outside;
        for (KernelInterval const& band : fit.intervals)
            if (seconds >= band.from_seconds) factors = band.factors;
        double const ratio = row.row.measured->base() / seconds;
        if (ratio >= factors.low && ratio <= factors.high) ++inside;
    }
    CHECK(inside > 0.7 * count);
    CHECK(inside < 0.92 * count);
}

TEST_CASE(
    "fit_kernel: folds give a hundred rows intervals of their own, where the tenth that is held out would be too few") {
    AcceleratorProfile const device = accelerator();
    auto const rows = products(device, known_constants(), 100, 0.05);
    auto const held = std::count_if(rows.begin(), rows.end(), [](auto const& row) { return is_held_out(row.row); });
    REQUIRE(held < 20);  // of so few no quantiles are taken
    KernelFit const fit = fit_kernel(rows, {.threads = 1, .starts = 1});
    REQUIRE_FALSE(fit.intervals.empty());
    KernelFit const bare = fit_kernel(rows, {.threads = 1, .starts = 1, .with_residual = false});
    CHECK(fit.intervals.front().factors.low != bare.outside.low);
    CHECK(fit.intervals.front().factors.high != bare.outside.high);
    // Beyond the rows nothing is surer than among them.
    CHECK(fit.outside.low <= std::min(bare.outside.low, fit.intervals.front().factors.low));
    CHECK(fit.outside.high >= std::max(bare.outside.high, fit.intervals.front().factors.high));
}

TEST_CASE("fit_kernel: the same shapes are held out whatever the device and the order of the rows") {
    AcceleratorProfile const one = accelerator();
    AcceleratorProfile two = accelerator();
    two.name = "other";
    auto const a = products(one, known_constants(), 200, 0.1);
    auto const b = products(two, known_constants(), 200, 0.1);
    int held = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(is_held_out(a[i].row) == is_held_out(b[i].row));
        held += is_held_out(a[i].row) ? 1 : 0;
    }
    CHECK(held > 5);
    CHECK(held < 45);
}

TEST_CASE("fit_kernel: rows in any order give the same fit to the last digit, and groups in the same order") {
    AcceleratorProfile const device = accelerator();
    auto rows = products(device, known_constants(), fixtures::cases(300, 120), 0.1);
    for (std::size_t i = 0; i < rows.size(); i += 3)
        rows[i].variant = rows[i].row.variant = "fp16";
    for (std::size_t i = 0; i < rows.size(); i += 4)
        rows[i].row.cache = CacheState::cold;
    KernelFitChoices const choices{.threads = 1, .starts = 1};
    auto const groups = group_kernels(rows);
    std::vector<KernelFit> fits;
    for (auto const& group : groups)
        fits.push_back(fit_kernel(group.rows, choices));
    std::mt19937_64 random(seeded(5));
    for (int draw = 0; draw < 3; ++draw) {
        std::shuffle(rows.begin(), rows.end(), random);
        auto const shuffled = group_kernels(rows);
        REQUIRE(shuffled.size() == 2);
        for (std::size_t g = 0; g < groups.size(); ++g) {
            CAPTURE(draw, g);
            REQUIRE(shuffled[g].variant == groups[g].variant);
            KernelFit const& a = fits[g];
            KernelFit const b = fit_kernel(shuffled[g].rows, choices);
            CHECK(a.constants == b.constants);
            CHECK(a.spreads == b.spreads);
            CHECK(a.outside.low == b.outside.low);
            CHECK(a.held_out.median_pct == b.held_out.median_pct);
            for (KernelMeasurement const& row : rows)
                if (row.variant == groups[g].variant) CHECK(fitted_seconds(row, a) == fitted_seconds(row, b));
        }
    }
}

TEST_CASE("fit_kernel: too few rows are refused, transfer needs two devices") {
    AcceleratorProfile const device = accelerator();
    auto const rows = products(device, known_constants(), 20, 0.02);
    CHECK_THROWS_WITH(fit_kernel(rows, {.threads = 1}), contains("at least 30"));
    CHECK(transfer_errors(rows, {.threads = 1}).empty());
    auto const seen = std::find_if(rows.begin(), rows.end(), [](auto const& row) { return !is_held_out(row.row); });
    std::vector<KernelMeasurement> const repeats(40, *seen);
    CHECK_THROWS_WITH(fit_kernel(repeats, {.threads = 1}), contains("40 rows of 1 shape"));
}

TEST_CASE("fit_kernel: rows of some sizes change what ships for their device there, and nowhere else") {
    AcceleratorProfile const device = accelerator();
    KernelFitChoices choices{.threads = 1, .starts = 1};
    auto const all = products(device, known_constants(), fixtures::cases(600, 300), 0.02);
    KernelFit const shipped = fit_kernel(all, choices);
    auto const is_large = [](KernelMeasurement const& row) { return *row.row.measured > 50e-6 * units::s; };
    auto const is_small = [](KernelMeasurement const& row) { return *row.row.measured < 15e-6 * units::s; };
    std::vector<KernelMeasurement> large;
    for (KernelMeasurement row : products(device, known_constants(), 2 * fixtures::cases(600, 300), 0.02))
        if (is_large(row)) {
            row.row.measured = *row.row.measured * 1.2;  // another library's
            large.push_back(row);
        }
    auto const alone = fit_kernel(large, choices);
    choices.shipped = &shipped;
    choices.refines = true;
    KernelFit const fit = fit_kernel(large, choices);
    auto const error = [](std::vector<KernelMeasurement> const& rows, KernelFit const& by, auto const& take) {
        std::vector<double> errors;
        for (KernelMeasurement const& row : rows)
            if (take(row)) errors.push_back(std::abs(std::log(row.row.measured->base() / fitted_seconds(row, by))));
        return quantile_of(errors, 0.5);
    };
    CHECK(error(large, fit, is_large) < 0.04);
    CHECK(error(large, shipped, is_large) > 0.1);
    CHECK(error(all, fit, is_small) < 0.08);
    CHECK(error(all, fit, is_small) < 0.5 * error(all, alone, is_small));
    // And it is trusted no more than what it was made from.
    CHECK(fit.outside.low <= shipped.outside.low);
    CHECK(fit.outside.high >= shipped.outside.high);
    // What that has seen, it has seen.
    CHECK(fit.seen.size() > alone.seen.size());
    for (KernelFit const* of : {&shipped, &alone})
        CHECK(std::includes(fit.seen.begin(), fit.seen.end(), of->seen.begin(), of->seen.end()));
    KernelFit unstated = shipped;
    unstated.seen.clear();
    choices.shipped = &unstated;
    CHECK(fit_kernel(large, choices).seen.empty());
}

TEST_CASE("fit_kernel: short or long rows of a device leave the other times to its class, with its interval") {
    AcceleratorProfile const device = accelerator();
    auto all = products(device, known_constants(), fixtures::cases(800, 500), 0.02);
    for (KernelMeasurement& row : all) {  // what the formula does not know looks like a low rate in short rows
        auto const& g = std::get<Gemm>(row.row.what);
        double const flops = 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
        Seconds const more = 4 * flops / kernel_rates(device, Precision::bf16).peak * units::s;
        row.row.measured = *row.row.measured + std::min(more, 4 * units::us);
    }
    KernelFit of_class;
    of_class.constants = known_constants();
    of_class.outside = {.low = 0.7, .high = 1.4};
    of_class.large_efficiency = 0.6;
    auto const is_short = [](KernelMeasurement const& row) { return *row.row.measured < 15e-6 * units::s; };
    auto const is_long = [](KernelMeasurement const& row) { return *row.row.measured > 60e-6 * units::s; };
    auto const by = [&](auto const& seen, bool is_of_class) {
        std::vector<KernelMeasurement> rows;
        std::copy_if(all.begin(), all.end(), std::back_inserter(rows), seen);
        return fit_kernel(rows, {.threads = 1, .starts = 1, .shipped = &of_class, .of_class = is_of_class});
    };
    auto const error = [&](KernelFit const& fit, auto const& judged) {
        std::vector<double> errors;
        for (KernelMeasurement const& row : all)
            if (judged(row)) errors.push_back(std::abs(std::log(row.row.measured->base() / fitted_seconds(row, fit))));
        return quantile_of(errors, 0.5);
    };
    KernelFit const brief = by(is_short, true);
    CHECK(error(brief, is_short) < 0.08);
    CHECK(error(brief, is_long) < 0.25);
    CHECK(error(brief, is_long) < 0.5 * error(by(is_short, false), is_long));
    CHECK(brief.large_efficiency == Approx(0.6).epsilon(0.1));
    CHECK(interval_at(brief.intervals, 40e-6, {}).high == brief.outside.high);
    CHECK(interval_at(brief.intervals, 40e-6, {}).high >= of_class.outside.high);
    CHECK(interval_at(brief.intervals, 8e-6, {}).high < 1.3);
    KernelFit const lengthy = by(is_long, true);
    CHECK(error(lengthy, is_long) < 0.08);
    CHECK(error(lengthy, is_short) < 0.15);
    CHECK(interval_at(lengthy.intervals, 20e-6, {}).high == lengthy.outside.high);
}

TEST_CASE("fit_kernel: what every call of one's own rows waits for is not taken for a lower rate") {
    AcceleratorProfile const device = accelerator();
    KernelFit of_class;
    of_class.constants = known_constants();
    of_class.constants[static_cast<std::size_t>(GemmConstant::launch)] = 1e-6;
    of_class.outside = {.low = 0.7, .high = 1.4};
    auto const all = products(device, known_constants(), fixtures::cases(800, 400), 0.01);
    auto rows = all;  // times around each call
    for (KernelMeasurement& row : rows)
        row.row.measured = *row.row.measured + 4 * units::us;
    std::vector<KernelMeasurement> brief;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(brief),
                 [](KernelMeasurement const& row) { return *row.row.measured < 25e-6 * units::s; });
    auto const is_own = GENERATE(false, true);
    KernelFit const fit =
        fit_kernel(brief, {.threads = 1, .starts = 1, .shipped = &of_class, .refines = is_own, .of_class = !is_own});
    CHECK(fit.constants[static_cast<std::size_t>(GemmConstant::launch)] == Approx(7e-6).epsilon(0.2));
    CHECK(fit.constants[static_cast<std::size_t>(GemmConstant::efficiency)] == Approx(0.7).epsilon(0.1));
}

TEST_CASE("fit_kernel: a row of attention of one's own that stands alone moves no other shape") {
    AcceleratorProfile const device = find_accelerator("h100-sxm", "test");
    std::vector<double> constants;
    for (KernelConstant const& c : kernel_constants(KernelKind::decode))
        constants.push_back(c.start);
    std::mt19937_64 random(seeded(5));
    std::vector<KernelMeasurement> rows;
    for (std::int64_t const sequences : {1, 4, 16, 64})
        for (std::int64_t const keys : {256, 1024, 2048, 4096, 8192, 16384}) {
            KernelCase row;
            for (std::int64_t const heads : {16, 32}) {
                row.what =
                    DecodeAttention{.batch = sequences, .heads = heads, .kv_heads = 8, .keys = keys, .head_dim = 128};
                row.variant = "bf16/bf16";
                row.measured = units::us;
                KernelMeasurement measurement = *kernel_measurement(row, device);
                measurement.row.measured =
                    1.2 * model_seconds(measurement, constants) * std::exp(uniform(random, -0.02, 0.02)) * units::s;
                rows.push_back(measurement);
            }
        }
    KernelFit shipped;
    shipped.kind = KernelKind::decode;
    shipped.constants = constants;
    KernelFitChoices const choices{.threads = 1, .starts = 1, .shipped = &shipped, .of_class = true};
    KernelFit const clean = fit_kernel(rows, choices);
    auto spoilt = rows;
    for (std::size_t bad = 3; bad < rows.size(); bad += 11) {
        if (is_held_out(rows[bad].row)) continue;
        spoilt = rows;
        spoilt[bad].row.measured = *rows[bad].row.measured * 2.5;
        KernelFit const fit = fit_kernel(spoilt, choices);
        CAPTURE(bad);
        CHECK(fit.doubted == 1);
        for (KernelMeasurement const& row : rows)
            CHECK(fitted_seconds(row, fit) == Approx(fitted_seconds(row, clean)).epsilon(0.1));
    }
}

TEST_CASE("fit_kernel: what no two of one's own rows are near is trusted no more than what ships is contradicted") {
    AcceleratorProfile const device = accelerator();
    KernelFit const shipped =
        fit_kernel(products(device, known_constants(), fixtures::cases(600, 300), 0.02), {.threads = 1, .starts = 1});
    std::vector<KernelMeasurement> slower;
    for (KernelMeasurement row : products(device, known_constants(), fixtures::cases(600, 300), 0.02)) {
        if (std::get<Gemm>(row.row.what).m < 1024) continue;
        row.row.measured = *row.row.measured * 1.3;
        slower.push_back(row);
    }
    KernelFit const fit = fit_kernel(slower, {.threads = 1, .starts = 1, .shipped = &shipped, .refines = true});
    CHECK(fit.is_near_rows(std::array{11.0, 9.0, 9.0}));
    CHECK_FALSE(fit.is_near_rows(std::array{6.0, 9.0, 9.0}));
    REQUIRE_FALSE(fit.apart.empty());
    for (double const seconds : {5e-6, 5e-5, 5e-4}) {
        double const known = interval_at(shipped.intervals, seconds, shipped.outside).high;
        CHECK(interval_at(fit.apart, seconds, {}).high > 1.2 * known);
        CHECK(interval_at(fit.intervals, seconds, {}).high < interval_at(fit.apart, seconds, {}).high);
    }
    KernelFit const of_class = fit_kernel(slower, {.threads = 1, .starts = 1, .shipped = &shipped, .of_class = true});
    CHECK(of_class.apart.empty());  // its `outside`
    CHECK_FALSE(of_class.is_near_rows(std::array{6.0, 9.0, 9.0}));
}

TEST_CASE("fit_kernel: beside the grids of a class, own rows say how far times are off where they are, and beyond") {
    AcceleratorProfile const device = accelerator();
    auto const of_others = products(device, known_constants(), fixtures::cases(800, 500), 0.02);
    KernelFit of_class = fit_kernel(of_others, {.threads = 1, .starts = 1});
    for (KernelInterval& band : of_class.intervals)
        band.factors = {.low = 0.6, .high = 1.6};  // of devices that differ
    of_class.outside = {.low = 0.6, .high = 1.6};
    auto rows = of_others;
    std::erase_if(rows, [](KernelMeasurement const& row) { return *row.row.measured > 30e-6 * units::s; });
    for (KernelMeasurement& row : rows)
        row.row.measured = 1.3 * *row.row.measured;
    auto const fit = [&](bool is_of_class) {
        return fit_kernel(rows,
                          {.threads = 1, .starts = 1, .shipped = &of_class, .refines = true, .of_class = is_of_class});
    };
    KernelFit const own = fit(true);
    TimeInterval const here = interval_at(own.intervals, 20e-6, {});
    CHECK(here.high / here.low < 1.3);
    TimeInterval const beyond = interval_at(own.intervals, 200e-6, {});
    CHECK(beyond.low < 0.6 / 1.2);
    CHECK(beyond.high > 1.6 * 1.2);
    TimeInterval const shipped = interval_at(fit(false).intervals, 20e-6, {});  // of this very device: its doubt stays
    CHECK(shipped.low <= 0.6);
    CHECK(shipped.high >= 1.6);
}

TEST_CASE("constants_on: a class's rates are those of the profile on a device of it") {
    AcceleratorProfile device = accelerator();
    device.attention_forward_efficiency.value = 0.3;
    KernelFit of_class;
    of_class.kind = KernelKind::prefill;
    for (KernelConstant const& c : kernel_constants(of_class.kind))
        of_class.constants.push_back(c.start);
    CHECK(constants_on(device, of_class) == of_class.constants);  // not stated of which profiles
    of_class.profile_efficiency = 0.6;
    auto const scaled = constants_on(device, of_class);
    auto const first = static_cast<std::size_t>(PrefillConstant::efficiency_64);
    for (std::size_t i = 0; i < scaled.size(); ++i)
        CHECK(scaled[i] == Approx(of_class.constants[i] * (i >= first ? 0.5 : 1)));
}

TEST_CASE("fit_kernel: rows of a device that is faster than the one they are said to be of are refused") {
    AcceleratorProfile const fast = find_accelerator("h100-sxm", "test");
    AcceleratorProfile const slow = find_accelerator("a100-sxm-80gb", "test");
    std::vector<KernelMeasurement> rows = products(fast, known_constants(), 400, 0.01);
    CHECK_NOTHROW(fit_kernel(rows, {.threads = 1, .starts = 1, .with_residual = false}));
    for (KernelMeasurement& row : rows)
        row.device = &slow;
    CHECK_THROWS_WITH(fit_kernel(rows, {.threads = 1, .starts = 1, .with_residual = false}),
                      Catch::Contains("times the peak of a100-sxm-80gb (are the rows of this device?)"));
}

TEST_CASE("fit_kernel: rows in several units are refused in words") {
    AcceleratorProfile const device = accelerator();
    auto rows = products(device, known_constants(), 200, 0.02);
    for (std::size_t i = 0; i < rows.size(); i += 3)
        rows[i].row.measured = 1e-4 * *rows[i].row.measured;
    CHECK_THROWS_WITH(fit_kernel(rows, {.threads = 1, .starts = 1}),
                      contains("fit of gemm bf16: ") && contains("are some rows in another unit"));
}

TEST_CASE("transfer_errors: what two devices of one chip have in common beside the formula carries over") {
    AcceleratorProfile const one = accelerator();
    AcceleratorProfile other = accelerator();
    other.name = "other";
    other.memory_bandwidth.value *= 1.4;
    constexpr int count = fixtures::cases(400, 250);
    auto rows = products(one, known_constants(), count, 0.02);  // with a bump that no constant explains
    for (KernelMeasurement const& row : products(other, known_constants(), count, 0.02))
        rows.push_back(row);
    auto const median_error = [&](bool with_residual) {
        std::vector<double> errors = transfer_errors(rows, {.threads = 1, .starts = 1, .with_residual = with_residual});
        REQUIRE(errors.size() == rows.size());
        for (double& e : errors)
            e = std::abs(e);
        return quantile_of(errors, 0.5);
    };
    CHECK(median_error(true) < 0.6 * median_error(false));
}

TEST_CASE("fit_kernel: attention leans on rows of a device of its chip, whatever sizes these are of") {
    AcceleratorProfile const h100 = find_accelerator("h100-sxm", "test");
    AcceleratorProfile const h200 = find_accelerator("h200-sxm", "test");
    std::vector<double> constants;
    for (KernelConstant const& c : kernel_constants(KernelKind::prefill))
        constants.push_back(c.start);
    std::mt19937_64 random(seeded(8));
    auto const rows_of = [&](AcceleratorProfile const& device, int count, std::pair<double, double> log2_tokens) {
        std::vector<KernelMeasurement> rows;
        for (int i = 0; i < count; ++i) {
            auto const tokens =
                static_cast<std::int64_t>(std::exp2(uniform(random, log2_tokens.first, log2_tokens.second)));
            Attention const shape{.batch = 1 << (i % 5),
                                  .heads = 32,
                                  .kv_heads = 8,
                                  .queries = tokens,
                                  .keys = tokens,
                                  .head_dim = 128,
                                  .value_head_dim = 128};
            Seconds time = prefill_model(shape, kernel_rates(device, Precision::bf16), constants, {});
            time *= std::exp(0.3 * std::sin(std::log2(static_cast<double>(tokens))));  // no constant explains it
            KernelCase row;
            row.what = shape;
            row.variant = "bf16/bf16";
            row.measured = time;
            rows.push_back(*kernel_measurement(row, device));
        }
        return rows;
    };
    auto own = rows_of(h100, 100, {6, 10});
    auto const long_ones = rows_of(h100, 10, {12, 13});  // few of the length that is asked for
    own.insert(own.end(), long_ones.begin(), long_ones.end());
    auto const twins = rows_of(h200, 400, {6, 13});
    auto const unseen = rows_of(h100, 200, {10, 12});
    auto const median_error = [&](std::vector<KernelMeasurement> const* beside) {
        KernelFit const fit = fit_kernel(own, {.threads = 1, .twins = beside});
        std::vector<double> errors;
        for (KernelMeasurement const& row : unseen)
            errors.push_back(std::abs(std::log(fitted_seconds(row, fit) / row.row.measured->base())));
        return quantile_of(errors, 0.5);
    };
    CHECK(median_error(&twins) < 0.7 * median_error(nullptr));
}

TEST_CASE("kernel rows group by kernel and variant") {
    AcceleratorProfile const device = accelerator();
    auto rows = products(device, known_constants(), 10, 0);
    KernelCase decode;
    decode.what = DecodeAttention{.batch = 1, .heads = 64, .kv_heads = 8, .keys = 100, .head_dim = 128};
    decode.variant = "bf16/bf16";
    decode.measured = 10 * units::us;
    rows.insert(rows.begin(), *kernel_measurement(decode, device));
    auto const groups = group_kernels(rows);
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].kind == KernelKind::gemm);
    CHECK(groups[0].rows.size() == 10);
    CHECK(groups[1].variant == "bf16/bf16/grouped");
}

namespace {

/// One memory-bound kernel, hot and cold, at these sizes.
std::vector<KernelMeasurement> streaming(AcceleratorProfile const& device, std::vector<double> const& constants,
                                         std::string const& name, std::vector<double> const& sizes) {
    std::vector<KernelMeasurement> out;
    for (double const bytes : sizes)
        for (CacheState const cache : {CacheState::hot, CacheState::cold}) {
            KernelCase row;
            row.what = MemoryKernel{.moved = bytes * units::B};
            row.variant = name;
            row.cache = cache;
            row.measured = memory_model(bytes * units::B, kernel_rates(device, Precision::bf16), constants, cache);
            out.push_back(*kernel_measurement(row, device));
        }
    return out;
}

}  // namespace

TEST_CASE("fit_kernel: few rows of a memory-bound kernel lean on the fit of its kin and still find their own rate") {
    AcceleratorProfile const device = accelerator();
    std::vector<double> known;
    for (KernelConstant const& c : kernel_constants(KernelKind::memory))
        known.push_back(c.start);
    std::vector<double> sizes;
    for (double bytes = 1e4; bytes < 1e10; bytes *= 3)
        sizes.push_back(bytes);
    auto const many = streaming(device, known, "copy", sizes);
    KernelFit const kin = fit_kernel(many, {.threads = 1, .starts = 1});
    CHECK(kin.held_out.median_pct < 3);
    auto slower = known;
    slower[static_cast<std::size_t>(MemoryConstant::arithmetic)] = 0.3;
    auto const few = streaming(device, slower, "softmax", {1e6, 1e8, 3e9});
    KernelFit const fit = fit_kernel(few, {.threads = 1, .starts = 1, .kin = &kin});
    for (KernelMeasurement const& row : few)
        CHECK(fitted_seconds(row, fit) == Approx(row.row.measured->base()).epsilon(0.1));
    CHECK(fit.intervals.size() == 1);
    CHECK(fit.intervals[0].factors.low < 1);
    CHECK(fit.intervals[0].factors.high > 1);
    // Beyond so few rows nothing is known, and within them no less than what they leave of one another.
    CHECK(fit.outside.low <= assumed_kernel_factors.low);
    CHECK(fit.outside.high >= assumed_kernel_factors.high);
    CHECK(fit.intervals[0].factors.high > 1.15);
    CHECK(fit.intervals[0].factors.high < fit.outside.high);
    auto noisy = streaming(device, slower, "softmax", {1e6, 2e6, 4e6, 8e6});
    for (std::size_t i = 0; i < noisy.size(); ++i)
        noisy[i].row.measured = *noisy[i].row.measured * (i % 4 < 2 ? 1.0 : 2.0);
    KernelFit const doubtful = fit_kernel(noisy, {.threads = 1, .starts = 1, .kin = &kin});
    CHECK(doubtful.intervals[0].factors.high > fit.intervals[0].factors.high);
    auto const two = streaming(device, known, "copy", {1e6});
    CHECK_THROWS_WITH(fit_kernel(two, {.threads = 1}), contains("at least 3"));
}

TEST_CASE("fit_kernel: products of a processor have a model of their own") {
    AcceleratorProfile core = accelerator();
    core.generation = "cpu";
    core.peak = {{Precision::fp32, known(50 * (units::GFLOP / units::s))}};
    core.memory_bandwidth = known(30 * (units::GB / units::s));
    std::vector<double> constants;
    for (KernelConstant const& c : kernel_constants(KernelKind::host_gemm))
        constants.push_back(c.start);
    constants[static_cast<std::size_t>(HostGemmConstant::efficiency)] = 0.6;
    std::vector<KernelMeasurement> rows;
    for (std::int64_t const m : {1, 16, 100, 512})
        for (std::int64_t const n : {32, 256, 900})
            for (std::int64_t const k : {64, 700}) {
                KernelCase row;
                row.what = Gemm{.m = m, .n = n, .k = k, .precision = Precision::fp32};
                row.variant = "fp32";
                row.measured =
                    host_gemm_model({.groups = 1, .m = m, .n = n, .k = k}, gemm_format(Precision::fp32),
                                    kernel_rates(core, Precision::fp32), constants, {.cache = CacheState::hot});
                rows.push_back(*kernel_measurement(row, core));
                CHECK(rows.back().kind == KernelKind::host_gemm);
            }
    KernelFit const fit = fit_kernel(rows, {.threads = 1, .starts = 1});
    for (double const value : fit.residual.values())
        CHECK(value == 0);  // too few rows for a correction
    CHECK(fit.residual.covers(gemm_coordinates({.groups = 1, .m = 1, .n = 900, .k = 64})));
    CHECK_FALSE(fit.residual.covers(gemm_coordinates({.groups = 1, .m = 4096, .n = 900, .k = 64})));
    for (KernelMeasurement const& row : rows)
        CHECK(fitted_seconds(row, fit) == Approx(row.row.measured->base()).epsilon(0.05));
}

TEST_CASE("outruns_memory: a table of decodes that read faster than memory is told from one that the cache explains") {
    AcceleratorProfile const device = find_accelerator("a100-sxm-80gb", "test");
    auto const decodes = [&](std::int64_t batch, double share_of_bandwidth) {
        std::vector<KernelMeasurement> rows;
        for (std::int64_t keys = 1024; keys <= 8192; keys *= 2) {
            DecodeAttention const shape{.batch = batch, .heads = 32, .kv_heads = 8, .keys = keys, .head_dim = 128};
            KernelCase row;
            row.what = shape;
            row.variant = "bf16/bf16";
            row.measured = cache_bytes(shape) / (share_of_bandwidth * device.memory_bandwidth.value);
            rows.push_back(*kernel_measurement(row, device));
        }
        return rows;
    };
    CHECK(outruns_memory(decodes(64, 1.4)));
    CHECK_FALSE(outruns_memory(decodes(64, 0.9)));
    CHECK_FALSE(outruns_memory(decodes(1, 1.4)));  // 4 to 34 MB lie in the cache
    CHECK_FALSE(outruns_memory({}));
}

TEST_CASE("fit_kernel: prefills say what the profiles of their devices state of attention") {
    AcceleratorProfile const device = find_accelerator("a100-sxm-80gb", "test");
    std::vector<KernelMeasurement> rows;
    for (std::int64_t heads = 4; heads <= 64; heads *= 2)
        for (std::int64_t length = 64; length <= 16384; length *= 2) {
            Attention const shape{.batch = 1,
                                  .heads = heads,
                                  .kv_heads = heads,
                                  .queries = length,
                                  .keys = length,
                                  .head_dim = 128,
                                  .value_head_dim = 128};
            KernelCase row;
            row.what = shape;
            row.variant = "bf16/bf16";
            row.measured = estimate_prefill(shape, "bf16/bf16", device, {}).time;
            rows.push_back(*kernel_measurement(row, device));
        }
    KernelFit const fit = fit_kernel(rows, {.starts = 1, .with_residual = false});
    CHECK(fit.profile_efficiency == device.attention_forward_efficiency.value);
}

TEST_CASE("fit_kernel: a training library's attention, masked or not and backward, is what a step takes") {
    AcceleratorProfile device = find_accelerator("a100-sxm-80gb", "test");
    std::vector<double> constants;
    for (KernelConstant const& c : kernel_constants(KernelKind::prefill))
        constants.push_back(c.start);
    constants[static_cast<std::size_t>(PrefillConstant::efficiency_128)] = 0.3;
    KernelRates const rates = kernel_rates(device, Precision::bf16);
    auto const shape_of = [](std::int64_t heads, std::int64_t length, Switch causal) {
        return Attention{.batch = 1,
                         .heads = heads,
                         .kv_heads = heads,
                         .queries = length,
                         .keys = length,
                         .head_dim = 128,
                         .value_head_dim = 128,
                         .causal = causal};
    };
    auto const known = [&](Attention const& shape, TimedPasses passes) {
        double const slower = passes == TimedPasses::backward ? 1.25 : 1;
        return slower * prefill_model(shape, rates, constants,
                                      {.work = timed_work(passes), .launch = device.launch_latency.value});
    };
    auto const calibration = std::make_shared<KernelCalibration>();
    calibration->devices = {device.name};
    for (TimedPasses const passes : {TimedPasses::forward, TimedPasses::backward}) {
        std::vector<KernelMeasurement> rows;
        for (std::int64_t heads = 4; heads <= 64; heads *= 2)
            for (std::int64_t length = 128; length <= 16384; length *= 2)
                for (Switch const causal : {Switch::on, Switch::off}) {
                    KernelCase row;
                    row.what = shape_of(heads, length, causal);
                    row.passes = passes;
                    row.variant = passes == TimedPasses::backward ? "bf16 sdpa_x/backward" : "bf16 sdpa_x";
                    row.measured = known(std::get<Attention>(row.what), passes);
                    rows.push_back(*kernel_measurement(row, device));
                }
        calibration->fits.push_back(fit_kernel(rows, {.threads = 1, .starts = 1}));
    }
    device.kernels = calibration;
    FrameworkTiming timing = neutral_timing();
    auto const ratio = [&](Attention const& shape, Pass pass, TimedPasses passes) {
        return attention_time(shape, pass, device, timing) / known(shape, passes);
    };
    for (Switch const causal : {Switch::on, Switch::off})
        for (std::int64_t const length : {768, 3000, 12000}) {
            Attention const shape = shape_of(24, length, causal);
            CAPTURE(length, causal == Switch::on);
            CHECK(ratio(shape, Pass::forward, TimedPasses::forward) == Approx(1).epsilon(0.1));
            CHECK(ratio(shape, Pass::backward, TimedPasses::backward) == Approx(1).epsilon(0.1));
        }
    timing.attention_scale.value = 0.5;
    CHECK(ratio(shape_of(24, 12000, Switch::on), Pass::forward, TimedPasses::forward) == Approx(2).epsilon(0.15));
}
