#include "cost_models/host_floor.hpp"

#include "cost_models/block_price.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

using namespace sextant;
using namespace sextant::fixtures;

namespace {

FrameworkTiming of_slow_host() {
    FrameworkTiming timing = neutral_timing();
    timing.host_floor_forward = known(3.0 * units::s);
    timing.host_floor_backward = known(4.0 * units::s);
    timing.moe_floor_forward = known(8.0 * units::s);
    timing.moe_floor_backward = known(2.0 * units::s);
    return timing;
}

Seconds floor_of(LayerKind kind, Pass pass, std::int64_t tp = 1) {
    ModelSpec const model = mixture(2048, 4, 8, 2, 1024);
    ParallelPlan plan;
    plan.tp = tp;
    return least_time(host_floor(kind), build_layer(model, kind, plan, 1024), pass, of_slow_host());
}

constexpr LayerKind attention_alone{.feed_forward = false};
constexpr LayerKind dense_alone{.mixer = Mixer::none};
constexpr LayerKind experts_alone{.moe = true, .mixer = Mixer::none};

}  // namespace

TEST_CASE("host floor: two halves of a layer take as long to launch as the layer") {
    for (std::int64_t const tp : {1, 4})
        for (Pass const pass : {Pass::forward, Pass::backward}) {
            CHECK((floor_of(attention_alone, pass, tp) + floor_of(dense_alone, pass, tp)).base() ==
                  Approx(floor_of({}, pass, tp).base()));
        }
    for (Pass const pass : {Pass::forward, Pass::backward})
        CHECK((floor_of(attention_alone, pass) + floor_of(experts_alone, pass)).base() ==
              Approx(floor_of({.moe = true}, pass).base()));
}

TEST_CASE("host floor: a layer with experts takes the larger of both floors, a half with experts that less its half") {
    CHECK(floor_of({.moe = true}, Pass::forward) == 8.0 * units::s);
    CHECK(floor_of({.moe = true}, Pass::backward) == 4.0 * units::s);
    CHECK(floor_of(experts_alone, Pass::forward) == 6.5 * units::s);
    CHECK(floor_of(experts_alone, Pass::backward) == 2.0 * units::s);
    CHECK(floor_of(dense_alone, Pass::forward) == 1.5 * units::s);
}

TEST_CASE("host floor: a recurrent mixer takes more than a layer, alone or before a feed-forward") {
    HostFloor const alone = host_floor({.mixer = Mixer::recurrent, .feed_forward = false});
    CHECK(alone.dense > 1);
    CHECK(alone.experts == 0);
    CHECK(host_floor({.mixer = Mixer::recurrent}).dense == Approx(alone.dense + 0.5));
    CHECK(host_floor({.moe = true, .mixer = Mixer::recurrent}).experts == 1);
}

TEST_CASE("host floor: each prediction module takes that of its layer") {
    ModelSpec model = mixture(2048, 4, 8, 2, 1024);
    ClusterSpec const machine = cluster();
    FrameworkTiming const timing = of_slow_host();
    Pricer pricer(machine, timing);
    for (std::int64_t const modules : {0, 1, 3}) {
        model.mtp_modules = modules;
        PricedBlocks const priced = pricer.price(build_blocks(model, {}, 1024), {});
        CHECK(priced.mtp.forward.launched.base() == Approx(8.0 * static_cast<double>(modules)));
        CHECK(priced.mtp.backward.launched.base() == Approx(4.0 * static_cast<double>(modules)));
    }
}
