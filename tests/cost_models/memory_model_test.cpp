#include "cost_models/memory_model.hpp"

#include "cost_models/host_gemm_model.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <cmath>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

std::vector<double> starts(KernelKind kind) {
    std::vector<double> out;
    for (KernelConstant const& c : kernel_constants(kind))
        out.push_back(c.start);
    return out;
}

KernelRates const core{.peak = 50e9, .bandwidth = 40e9, .cache = 32e6, .processors = 1};

}  // namespace

TEST_CASE("memory_model: large kernels take bytes over bandwidth, small ones the launch") {
    auto constants = starts(KernelKind::memory);
    constants[static_cast<std::size_t>(MemoryConstant::memory)] = 0.5;
    constants[static_cast<std::size_t>(MemoryConstant::arithmetic)] = 100;
    double const launch = constants[static_cast<std::size_t>(MemoryConstant::launch)];
    double const cold_start = constants[static_cast<std::size_t>(MemoryConstant::cold_start)];
    CHECK(memory_model(20 * units::GB, core, constants, CacheState::cold).base() == Approx(1.0).epsilon(1e-5));
    CHECK(memory_model(4 * units::B, core, constants, CacheState::hot).base() == Approx(launch).epsilon(1e-3));
    CHECK(memory_model(4 * units::B, core, constants, CacheState::cold).base() ==
          Approx(launch + cold_start).epsilon(1e-3));
}

TEST_CASE(
    "memory_model: operands far smaller than the cache come at its speed, far larger ones from memory, half between") {
    std::mt19937_64 random(seeded(3));
    for (int i = 0; i < 100; ++i) {
        CacheTerm const cache{
            .speed = uniform(random, 1, 8), .share = uniform(random, 0.1, 2), .edge = uniform(random, 1, 6)};
        double const filled = cache.share * core.cache;
        auto const share = [&](double bytes) { return cached_share_of_time(bytes, core, cache, CacheState::hot); };
        CHECK(share(1e-9 * filled) == Approx(1 / cache.speed).epsilon(1e-6));
        CHECK(share(1e9 * filled) == Approx(1).epsilon(1e-6));
        CHECK(share(filled) == Approx((1 + 1 / cache.speed) / 2));
        CHECK(cached_share_of_time(filled, core, cache, CacheState::cold) == 1);
    }
}

TEST_CASE("memory_model: the cache only helps, fades with size, and arithmetic bounds it [INV-7]") {
    auto constants = starts(KernelKind::memory);
    auto const at = [&](double bytes, CacheState state) {
        return memory_model(bytes * units::B, core, constants, state).base();
    };
    double before = 0;
    for (double bytes = 1e3; bytes < 1e11; bytes *= 2) {
        CHECK(at(bytes, CacheState::hot) <= at(bytes, CacheState::cold));
        CHECK(at(bytes, CacheState::hot) > before);
        before = at(bytes, CacheState::hot);
    }
    CHECK(at(1e10, CacheState::hot) == Approx(at(1e10, CacheState::cold)).epsilon(1e-3));
    constants[static_cast<std::size_t>(MemoryConstant::arithmetic)] = 0.1;
    CHECK(at(1e6, CacheState::hot) > 1e6 / 4e9);
}

TEST_CASE("host_gemm_model: a core twice as fast in every respect takes half the time beyond its launch [INV-7]") {
    auto constants = starts(KernelKind::host_gemm);
    constants[static_cast<std::size_t>(HostGemmConstant::launch)] = 1e-9;
    constants[static_cast<std::size_t>(HostGemmConstant::cold_start)] = 0;
    KernelRates faster = core;
    faster.peak *= 2;
    faster.bandwidth *= 2;
    std::mt19937_64 random(seeded(5));
    for (int i = 0; i < 50; ++i) {
        auto const size = [&] { return static_cast<std::int64_t>(std::exp2(uniform(random, 4, 11))); };
        GemmShape const shape{.groups = 1, .m = size(), .n = size(), .k = size()};
        GemmFormat const& format = gemm_format(Precision::fp32);
        for (CacheState const cache : {CacheState::hot, CacheState::cold}) {
            double const slow = host_gemm_model(shape, format, core, constants, {.cache = cache}).base();
            double const quick = host_gemm_model(shape, format, faster, constants, {.cache = cache}).base();
            CHECK((slow - 1e-9) == Approx(2 * (quick - 1e-9)));
            GemmShape longer = shape;
            longer.k *= 2;
            CHECK(host_gemm_model(longer, format, core, constants, {.cache = cache}).base() > slow);
        }
    }
}

TEST_CASE("host_gemm_model: a large product runs at the fitted share of peak") {
    auto const constants = starts(KernelKind::host_gemm);
    double const seconds = host_gemm_model({.groups = 1, .m = 8192, .n = 8192, .k = 8192}, gemm_format(Precision::fp32),
                                           core, constants, {.cache = CacheState::cold})
                               .base();
    double const reached = 2.0 * 8192 * 8192 * 8192 / seconds / core.peak;
    CHECK(reached == Approx(constants[static_cast<std::size_t>(HostGemmConstant::efficiency)]).epsilon(0.01));
}
