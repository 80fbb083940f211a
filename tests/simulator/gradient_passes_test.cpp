#include "simulator/data_parallel.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

using namespace sextant;
using namespace sextant::fixtures;

namespace {

constexpr double parameters = 1e9;

DataParallelTime time_of(ParallelPlan const& plan, KeptGradients const& kept, double microbatches = 1) {
    ClusterSpec const machine = cluster();
    FrameworkTiming timing = neutral_timing();  // 30 bytes an update, of them 4 of a gradient
    Pricer pricer(machine, timing, {}, kept);
    StageLoad load;
    load.parameters.dense = parameters;
    load.layers = 32;
    load.microbatches = microbatches;
    return data_parallel_time(load, plan, {}, data_parallel_curves(plan, pricer), machine.accelerator, timing);
}

double bytes_of(Seconds time) { return time.base() * 3.35e12 * 0.9 / parameters; }

KeptGradients const main_gradients{
    .usual_bytes = 4, .fp16_bytes = 2, .weight_bytes = 2, .fp16_copy_bytes = 4, .to_host = Switch::off};

}  // namespace

TEST_CASE("data_parallel_time: a buffer of gradients is zeroed whole, the norm reads those that a rank updates",
          "[INV-24]") {
    ParallelPlan plan{.dp = 64};
    CHECK(bytes_of(time_of(plan, main_gradients).optimizer) == Approx(30 + 4 + 4));
    CHECK(bytes_of(time_of(plan, {}).optimizer) == Approx(30 + 4));  // freed: nothing to zero
    plan.zero = 1;
    CHECK(bytes_of(time_of(plan, main_gradients).optimizer) == Approx((30 + 4) / 64.0 + 4));
    CHECK(bytes_of(time_of(plan, {}).optimizer) == Approx((30 + 4) / 64.0));
    plan.zero = 2;  // the buffer is split, too
    CHECK(bytes_of(time_of(plan, main_gradients).optimizer) == Approx((30 + 4 + 4) / 64.0));
}

TEST_CASE("data_parallel_time: gradients in fp16 are exchanged in two bytes and updated from a copy in fp32",
          "[INV-24]") {
    ParallelPlan plan{.dp = 64};
    Seconds const wide = time_of(plan, main_gradients).exposed;
    plan.gradients = GradientFormat::bf16;
    Seconds const narrow = time_of(plan, main_gradients).exposed;
    plan.gradients = GradientFormat::usual;
    plan.precision = Precision::fp16;
    DataParallelTime const fp16 = time_of(plan, main_gradients);
    CHECK(fp16.exposed == narrow);
    CHECK(fp16.exposed < wide);
    // An update of 28 bytes reads a gradient of 2; the copy is written, read, written and read: 16. Zeroed 2, norm 2.
    CHECK(bytes_of(fp16.optimizer) == Approx(28 + 16 + 2 + 2));
}

TEST_CASE(
    "data_parallel_time: gradients in bf16 are updated from a copy in fp32, but not by a precision-aware optimizer",
    "[INV-24]") {
    ParallelPlan plan{.dp = 64, .gradients = GradientFormat::bf16};
    // An update of 28 bytes reads a gradient of 2; the copy is written and read: 8. Zeroed 2, norm 2.
    CHECK(bytes_of(time_of(plan, main_gradients).optimizer) == Approx(28 + 8 + 2 + 2));
    // Moments of 2 bytes each, read and written: 8 less. 16 bits of a weight are written in place of 32.
    plan.optimizer = Optimizer::adamw_bf16;
    CHECK(bytes_of(time_of(plan, main_gradients).optimizer) == Approx(28 - 8 - 2 + 2 + 2));
    KeptGradients other = main_gradients;
    other.fp16_copy_bytes = 0;
    CHECK(bytes_of(time_of(plan, other).optimizer) == Approx(28 - 8 + 2 + 2));
}

TEST_CASE("data_parallel_time: gradients that leave as they are made go to the host in every microbatch, and back",
          "[INV-24]") {
    KeptGradients const leaving{.usual_bytes = 2, .weight_bytes = 2, .to_host = Switch::on};
    ParallelPlan plan{.dp = 8, .zero = 2, .offload = Offload::optimizer};
    double const link = cluster().accelerator.host_bandwidth.value.base();
    auto const more = [&](KeptGradients const& kept, double microbatches) {
        Seconds const longer = time_of(plan, kept, microbatches).offload - time_of(plan, kept).offload;
        return longer.base() * link / (parameters / 8);
    };
    // Gradients of 2 bytes: of four microbatches three go down, come up for being added to, and go down with the last.
    CHECK(more(leaving, 4) == Approx(2 * (3 + 3)));
    plan.zero = 3;  // each time they come up, the first time, too
    CHECK(more(leaving, 4) == Approx(2 * (3 + 3)));
    CHECK((time_of(plan, leaving).offload - time_of(plan, {}).offload).base() * link / (parameters / 8) ==
          Approx(2 * (1 + 1)));
    plan.zero = 1;  // they are reduced once
    CHECK(more(leaving, 4) == Approx(0).margin(1e-9));
    plan.zero = 2;
    CHECK(more({}, 4) == Approx(0).margin(1e-9));  // they stay on the device
    // The last go in fp32, in the 4 bytes that `{}` sends.
    CHECK(time_of(plan, leaving).offload.base() == Approx(time_of(plan, {}).offload.base()));
    plan.gradients = GradientFormat::bf16;
    Seconds const longer = time_of(plan, leaving).offload - time_of(plan, {}).offload;
    CHECK(longer.base() * link / (parameters / 8) == Approx(4 - 2));
}
