#include "simulator/data_parallel.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "simulator/closed_form.hpp"
#include "simulator/schedules/catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <utility>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

/// Nothing but bandwidth: transfers are proportional to bytes.
ClusterSpec without_latency() {
    ClusterSpec c = cluster();
    c.scale_up.base_latency.value = c.scale_up.hop_latency.value = {};
    c.scale_out->base_latency.value = c.scale_out->hop_latency.value = {};
    return c;
}

FrameworkTiming two_bytes() {
    FrameworkTiming t = neutral_timing();
    t.gradient_bytes_sent = t.weight_bytes_sent = known(2.0);
    return t;
}

StageLoad load_of(double parameters, double layers) {
    StageLoad load;
    load.parameters.dense = parameters;
    load.layers = layers;
    return load;
}

DataParallelTime time_of(StageLoad const& load, ParallelPlan const& plan, ClusterSpec const& machine,
                         FrameworkTiming const& framework, Seconds forward = {}, Seconds backward = {}) {
    Pricer pricer(machine, framework);
    return data_parallel_time(load, plan, {.forward = forward, .backward = backward, .weight = backward},
                              data_parallel_curves(plan, pricer), machine.accelerator, framework);
}

}  // namespace

TEST_CASE("data_parallel_time: one replica exchanges nothing", "[INV-24]") {
    CHECK(time_of(load_of(1e9, 32), {.tp = 8, .pp = 4}, cluster(), two_bytes()).exposed == Seconds{});
}

TEST_CASE("data_parallel_time: gradients of an embedding that both ends hold are added up, and nothing hides it",
          "[INV-24]") {
    ClusterSpec const machine = cluster();
    FrameworkTiming hiding = two_bytes();
    hiding.dp_overlap = known(1.0);
    StageLoad load = load_of(1e9, 32);
    load.shared_embedding = 2e8;
    Seconds const pass = 10 * units::s;
    for (std::int64_t const dp : {1, 4}) {
        ParallelPlan const plan{.dp = dp, .tp = 8, .pp = 4, .zero = 1};
        // The first and the last of the stages, each `dp` nodes.
        Seconds const added = collective_curve(machine, CollectiveKind::all_reduce, place_group(2, 8 * dp * 3, 8))
                                  .time(2.0 * 2e8 * units::B);
        Seconds const without = time_of(load_of(1e9, 32), plan, machine, hiding, pass, pass).exposed;
        CHECK(time_of(load, plan, machine, hiding, pass, pass).exposed.base() ==
              Approx((without + added).base()).epsilon(1e-12));
    }
    // A pipeline inside a node has both ends there, three stages of two ranks apart.
    Seconds const near =
        collective_curve(machine, CollectiveKind::all_reduce, place_group(2, 1, 8)).time(2.0 * 2e8 * units::B);
    CHECK(time_of(load, {.tp = 2, .pp = 4, .zero = 1}, machine, hiding, pass, pass).exposed.base() ==
          Approx(near.base()).epsilon(1e-12));
    CHECK(time_of(load, {.dp = 4, .tp = 8}, machine, two_bytes()).exposed ==
          time_of(load_of(1e9, 32), {.dp = 4, .tp = 8}, machine, two_bytes()).exposed);
}

TEST_CASE("data_parallel_time: both ends of a pipeline share no link with the stages between them", "[INV-24]") {
    ClusterSpec machine = find_cluster("rtx-4090-box", "test");
    StageLoad load = load_of(1e9, 32);
    load.shared_embedding = 2e8;
    Bytes const bytes = 2.0 * 2e8 * units::B;
    auto const added = [&](ParallelPlan const& plan) {
        return time_of(load, plan, machine, two_bytes()).exposed -
               time_of(load_of(1e9, 32), plan, machine, two_bytes()).exposed;
    };
    auto const of_ring = [&](std::int64_t ranks) {
        // Two steps of half of the bytes, against 2 (n - 1) of an nth.
        auto const n = static_cast<double>(ranks);
        return n / (2 * (n - 1)) *
               collective_curve(machine, CollectiveKind::all_reduce, place_group(ranks, 1, 8)).time(bytes);
    };
    for (std::int64_t const pp : {2, 4, 8}) {
        CAPTURE(pp);
        CHECK(added({.pp = pp}).base() == Approx(of_ring(pp).base()).epsilon(0.05));
    }
    // Two pairs, not six groups.
    CHECK(added({.tp = 2, .pp = 4}).base() == Approx(2 * added({.pp = 8}).base()).epsilon(0.05));

    machine = cluster();
    machine.scale_out->pod_domains = 8;
    Seconds const even = added({.tp = 8, .pp = 16});
    machine.scale_out->oversubscription = known(8.0);
    CHECK(added({.tp = 8, .pp = 16}).base() == Approx(even.base()));  // one of a pod's eight NICs of a rail sends
    CHECK(added({.dp = 2, .tp = 8, .pp = 16}).base() == Approx(2 * even.base()).epsilon(0.02));
    machine.scale_out->oversubscription = known(1.0);
    CHECK(added({.dp = 2, .tp = 8, .pp = 16}).base() == Approx(even.base()));
}

TEST_CASE("data_parallel_time: without overlap ZeRO 0 waits for an all-reduce per layer", "[INV-24]") {
    ClusterSpec const machine = cluster();
    ParallelPlan const plan{.dp = 64};
    Seconds const one =
        collective_curve(machine, CollectiveKind::all_reduce, place_group(64, 1, 8)).time(2.0 * 1e9 / 32 * units::B);
    CHECK(time_of(load_of(1e9, 32), plan, machine, two_bytes()).exposed.base() == Approx(32 * one.base()));
}

TEST_CASE("data_parallel_time: gradients in bf16 are sent in two bytes where the framework sends four", "[INV-24]") {
    ClusterSpec const machine = without_latency();
    FrameworkTiming wide = two_bytes();
    wide.gradient_bytes_sent = known(4.0);
    ParallelPlan plan{.dp = 64};
    Seconds const usual = time_of(load_of(1e9, 32), plan, machine, wide).exposed;
    plan.gradients = GradientFormat::bf16;
    CHECK(time_of(load_of(1e9, 32), plan, machine, wide).exposed.base() == Approx(usual.base() / 2).epsilon(1e-9));
    CHECK(time_of(load_of(1e9, 32), plan, machine, two_bytes()).exposed.base() ==
          Approx(usual.base() / 2).epsilon(1e-9));
    CHECK(summed_gradient_bytes(wide, GradientFormat::usual) == wide.gradient_sum_bytes.value);
    wide.gradient_sum_bytes = known(6.0);
    CHECK(summed_gradient_bytes(wide, GradientFormat::bf16) == 2);
    FrameworkTiming narrow = two_bytes();
    narrow.gradient_sum_bytes = known(6.0);  // PyTorch's three accesses of two bytes
    CHECK(summed_gradient_bytes(narrow, GradientFormat::bf16) == 6);
}

TEST_CASE(
    "data_parallel_time: volumes of the ZeRO paper: stages 1 and 2 as plain data parallelism, stage 3 half as much "
    "again",
    "[INV-24]") {
    // arXiv:1910.02054 sec. 7: 2 psi, 2 psi, 2 psi, 3 psi (one microbatch, gradients and weights in the same width).
    ClusterSpec const machine = without_latency();
    std::mt19937_64 random(seeded(1));
    for (int i = 0; i < 50; ++i) {
        StageLoad const load = load_of(uniform(random, 1e8, 1e11), 32);
        ParallelPlan plan{.dp = pick<std::int64_t>(random, {2, 8, 64, 512}),
                          .tp = pick<std::int64_t>(random, {1, 2, 8})};
        double const plain = time_of(load, plan, machine, two_bytes()).exposed.base();
        for (int zero = 1; zero <= 3; ++zero) {
            plan.zero = zero;
            CAPTURE(zero, plan.dp, plan.tp);
            CHECK(time_of(load, plan, machine, two_bytes()).exposed.base() ==
                  Approx((zero == 3 ? 1.5 : 1.0) * plain).epsilon(1e-9));
        }
    }
}

TEST_CASE("data_parallel_time: ZeRO 3 exchanges in every microbatch, ZeRO 1 once", "[INV-24]") {
    ClusterSpec const machine = without_latency();
    StageLoad one = load_of(1e9, 32);
    StageLoad eight = one;
    eight.microbatches = 8;
    ParallelPlan plan{.dp = 64, .zero = 1};
    CHECK(time_of(eight, plan, machine, two_bytes()).exposed == time_of(one, plan, machine, two_bytes()).exposed);
    plan.zero = 3;
    CHECK(time_of(eight, plan, machine, two_bytes()).exposed.base() ==
          Approx(8 * time_of(one, plan, machine, two_bytes()).exposed.base()));
}

TEST_CASE("data_parallel_time: compute hides all but one layer's part, and never adds", "[INV-24]") {
    ClusterSpec const machine = without_latency();
    FrameworkTiming framework = two_bytes();
    framework.dp_overlap = framework.fsdp_overlap = known(1.0);
    StageLoad const load = load_of(4e9, 32);
    for (int zero = 0; zero <= 3; ++zero) {
        ParallelPlan const plan{.dp = 64, .zero = zero};
        Seconds const open = time_of(load, plan, machine, framework).exposed;
        CHECK(time_of(load, plan, machine, framework, 1000 * units::s, 1000 * units::s).exposed.base() ==
              Approx(open.base() / 32));
        Seconds before = open;
        for (double compute = 0; compute < 2; compute += 0.05) {
            Seconds const now =
                time_of(load, plan, machine, framework, compute * units::s, 2 * compute * units::s).exposed;
            CHECK(now <= before);
            before = now;
        }
    }
}

TEST_CASE("chunk_turns: of an interleaved order they are what the groups of its microbatches say", "[INV-24]") {
    std::mt19937_64 random(seeded(4));
    for (int i = 0; i < 60; ++i) {
        ParallelPlan plan;
        plan.schedule = Schedule::interleaved;
        plan.pp = pick<std::int64_t>(random, {2, 3, 4, 8});
        plan.vpp = pick<std::int64_t>(random, {2, 3, 5});
        std::int64_t const microbatches = plan.pp * pick<std::int64_t>(random, {1, 2, 5});
        PipelineSchedule const schedule = build_schedule(
            entry_of(plan.schedule), {.ranks = plan.pp, .microbatches = microbatches, .chunks = plan.vpp}, "test");
        ChunkTurns const expected = chunk_turns(plan.vpp, plan.pp, plan.pp);
        for (std::vector<Slot> const& order : schedule.ranks) {
            ChunkTurns const turns = chunk_turns(order);
            CAPTURE(plan.pp, plan.vpp, microbatches);
            CHECK(turns.chunks == expected.chunks);
            CHECK(turns.forwards_ahead == expected.forwards_ahead);
            CHECK(turns.weights_after == expected.weights_after);
            CHECK(turns.inputs_after == expected.inputs_after);
        }
    }
}

TEST_CASE("data_parallel_time: more passes between the turns of chunks, and more waiting, never show more",
          "[INV-24]") {
    ClusterSpec const machine = without_latency();
    StageLoad const load = load_of(4e9, 32);
    std::mt19937_64 random(seeded(6));
    for (int i = 0; i < 200; ++i) {
        FrameworkTiming framework = two_bytes();
        framework.dp_overlap = known(uniform(random, 0, 1));
        ParallelPlan const plan{.dp = 64, .zero = static_cast<int>(random() % 2)};
        Pricer pricer(machine, framework);
        Seconds const backward = uniform(random, 0, 1) * units::s;
        PassesBeside beside{.forward = uniform(random, 0, 1) * units::s, .backward = backward, .weight = backward};
        auto const exposed = [&] {
            return data_parallel_time(load, plan, beside, data_parallel_curves(plan, pricer), machine.accelerator,
                                      framework)
                .exposed;
        };
        Seconds const one_chunk = exposed();
        beside.chunks = 4;
        Seconds last = one_chunk;
        for (std::int64_t const group : {1, 2, 4, 16}) {
            beside.turns = chunk_turns(4, group, group);
            Seconds const now = exposed();
            CHECK(now.base() <= last.base() * (1 + 1e-9));
            last = now;
        }
        beside.forward_wait = beside.backward_wait = uniform(random, 0, 1) * units::s;
        CHECK(exposed() <= last);
    }
}

TEST_CASE("data_parallel_time: chunks that send beside the passes of others slow those, whatever the last one leaves",
          "[INV-24]") {
    ClusterSpec const machine = without_latency();
    FrameworkTiming framework = two_bytes();
    framework.dp_overlap = known(0.6);
    StageLoad const load = load_of(4e9, 32);
    ParallelPlan const plan{.dp = 64};
    Pricer pricer(machine, framework);
    DataParallelCurves const curves = data_parallel_curves(plan, pricer);
    double const sent = time_of(load, plan, machine, two_bytes()).exposed.base();
    Seconds const backward = 0.01 * sent * units::s;
    PassesBeside beside{.forward = backward, .backward = 4.0 * backward, .weight = 4.0 * backward, .chunks = 4};
    // A hundred passes of a chunk take as long as all that is sent, and three quarters of it are sent beside them.
    beside.turns = chunk_turns(4, 100, 100);
    double const exposed =
        data_parallel_time(load, plan, beside, curves, machine.accelerator, framework).exposed.base();
    CHECK(exposed == Approx(sent * (0.25 - 0.6 * 0.01 + 0.4 * 0.75)));
}

TEST_CASE("data_parallel_time: shard groups gather inside the node and reduce once across", "[INV-24]") {
    ClusterSpec const machine = without_latency();
    StageLoad load = load_of(8e9, 32);
    load.microbatches = 16;
    ParallelPlan const all{.dp = 64, .zero = 3};
    ParallelPlan const grouped{.dp = 64, .zero = 3, .shard_group = 8};
    CHECK(time_of(load, grouped, machine, two_bytes()).exposed < time_of(load, all, machine, two_bytes()).exposed);
    // Three gathers or scatters per microbatch in the node, one all-reduce of an eighth over the eight nodes.
    GroupPlacement const node = place_group(8, 1, 8);
    Seconds const inside = collective_curve(machine, CollectiveKind::all_gather, node).time(16e9 * units::B);
    Seconds const across =
        collective_curve(machine, CollectiveKind::all_reduce, place_group(8, 8, 8)).time(2e9 * units::B);
    CHECK(time_of(load, grouped, machine, two_bytes()).exposed.base() ==
          Approx((16 * 3 * inside + across).base()).epsilon(1e-9));
}

TEST_CASE("data_parallel_time: DeepSpeed's ZeRO 1 and 2 reduce all gradients on every rank", "[INV-24]") {
    ClusterSpec const machine = without_latency();
    FrameworkTiming everywhere = two_bytes();
    everywhere.all_reduces_gradients = known(1.0);
    StageLoad load = load_of(8e9, 32);
    load.microbatches = 16;
    GroupPlacement const all = place_group(64, 1, 8);
    double const gather = collective_curve(machine, CollectiveKind::all_gather, all).time(16e9 * units::B).base();
    double const reduce = collective_curve(machine, CollectiveKind::all_reduce, all).time(16e9 * units::B).base();
    auto const exposed = [&](FrameworkTiming const& framework, int zero, std::int64_t group = 0) {
        return time_of(load, {.dp = 64, .zero = zero, .shard_group = group}, machine, framework).exposed.base();
    };
    CHECK(exposed(everywhere, 1) == Approx(reduce + gather).epsilon(1e-9));
    CHECK(exposed(everywhere, 2) == Approx(16 * reduce + gather).epsilon(1e-9));
    for (int const zero : {0, 3})
        CHECK(exposed(everywhere, zero) == exposed(two_bytes(), zero));
    // Nothing is left to add up across shard groups.
    GroupPlacement const node = place_group(8, 1, 8);
    double const inside = collective_curve(machine, CollectiveKind::all_gather, node).time(16e9 * units::B).base();
    CHECK(exposed(everywhere, 1, 8) == Approx(reduce + inside).epsilon(1e-9));
    for (FrameworkProfile const& framework : all_frameworks())
        CHECK((framework.timing.front().all_reduces_gradients.value > 0) == (framework.name == "deepspeed"));
}

TEST_CASE("weights that are gathered after the step hide behind nothing, gradients and ZeRO 3 as before", "[INV-24]") {
    StageLoad const load = load_of(8e9, 16);
    FrameworkTiming beside = two_bytes();
    beside.dp_overlap = beside.fsdp_overlap = known(1.0);
    FrameworkTiming after = beside;
    after.gathers_after_step = known(1.0);
    ClusterSpec const machine = without_latency();
    Seconds const gather =
        collective_curve(machine, CollectiveKind::all_gather, place_group(64, 1, 8)).time(16e9 * units::B);
    Seconds const pass = 1e3 * units::s;
    for (int const zero : {0, 1, 2, 3}) {
        CAPTURE(zero);
        auto const shown = [&](FrameworkTiming const& framework) {
            return time_of(load, {.dp = 64, .zero = zero}, machine, framework, pass, pass).exposed;
        };
        // Beside a long pass one layer's part shows at least.
        Seconds const more = shown(after) - shown(beside);
        if (zero == 1 || zero == 2)
            CHECK(more / gather == Approx(15.0 / 16).epsilon(1e-6));
        else
            CHECK(more == Seconds{});
    }
    for (FrameworkProfile const& framework : all_frameworks())
        CHECK((framework.timing.front().gathers_after_step.value > 0) ==
              (framework.name == "deepspeed" || framework.name == "nanotron"));
}

TEST_CASE("units are FSDP's under ZeRO 2 and 3, and gathered once a step where a pipeline holds them", "[INV-24]") {
    ModelSpec const model = llama(1024, 8, 8, 8, 2816);
    Workload const workload{.sequence = 2048, .global_batch = 64};
    ClusterSpec const machine = cluster();
    for (char const* const name : {"fsdp", "torchtitan", "deepspeed", "megatron"}) {
        FrameworkProfile const framework = find_framework(name, "test");
        ClosedForm form(model, workload, machine, framework, Precision::bf16);
        for (int const zero : {0, 1, 2, 3}) {
            ParallelPlan const plan{.dp = 16, .zero = zero};
            CAPTURE(name, zero);
            bool const has_units = name == std::string_view("fsdp") || name == std::string_view("torchtitan");
            CHECK(form.assemble(form.price_shape(plan), plan).data_parallel.in_units == (has_units && zero >= 2));
        }
    }
}

TEST_CASE("data_parallel_time: FSDP's units gather and reduce with every microbatch, with ZeRO 2 and across, too",
          "[INV-24]") {
    ClusterSpec const machine = without_latency();
    StageLoad load = load_of(8e9, 32);
    load.microbatches = 16;
    auto const exposed = [&](ParallelPlan const& plan, bool in_units) {
        FrameworkTiming const framework = two_bytes();
        Pricer pricer(machine, framework);
        DataParallelCurves curves = data_parallel_curves(plan, pricer);
        curves.in_units = in_units;
        return data_parallel_time(load, plan, {}, curves, machine.accelerator, framework).exposed.base();
    };
    auto const curve = [&](CollectiveKind kind, GroupPlacement const& group, double bytes) {
        return collective_curve(machine, kind, group).time(bytes * units::B).base();
    };
    GroupPlacement const all = place_group(64, 1, 8), node = place_group(8, 1, 8), nodes = place_group(8, 8, 8);
    double const gather = curve(CollectiveKind::all_gather, all, 16e9);
    ParallelPlan const whole{.dp = 64, .zero = 2};
    CHECK(exposed(whole, false) == Approx(17 * gather).epsilon(1e-9));
    CHECK(exposed(whole, true) == Approx(32 * gather).epsilon(1e-9));
    ParallelPlan const grouped{.dp = 64, .zero = 3, .shard_group = 8};
    double const inside = 16 * 3 * curve(CollectiveKind::all_gather, node, 16e9);
    double const across = curve(CollectiveKind::all_reduce, nodes, 2e9);
    CHECK(exposed(grouped, false) == Approx(inside + across).epsilon(1e-9));
    CHECK(exposed(grouped, true) == Approx(inside + 16 * across).epsilon(1e-9));
}

TEST_CASE("data_parallel_time: a backward pass hides what each pass and the last one sends once, not twice",
          "[INV-24]") {
    FrameworkTiming timing = two_bytes();
    timing.dp_overlap = timing.fsdp_overlap = known(0.9);
    StageLoad load = load_of(8e9, 32);
    load.microbatches = 1;
    auto const exposed = [&](int zero, Seconds backward) {
        ParallelPlan const plan{.dp = 64, .zero = zero, .shard_group = 8};
        return time_of(load, plan, without_latency(), timing, backward / 2, backward).exposed.base();
    };
    // With one microbatch ZeRO 1 and 2 send the same at the same time.
    for (Seconds const backward : {Seconds{}, 30 * units::ms, 100 * units::ms, 10 * units::s}) {
        CAPTURE(backward.base());
        CHECK(exposed(2, backward) == Approx(exposed(1, backward)).epsilon(0.05));
    }
}

TEST_CASE("data_parallel_time: experts reduce over their own, smaller group", "[INV-24]") {
    ClusterSpec const machine = without_latency();
    StageLoad load = load_of(1e9, 32);
    load.parameters.expert = 4e9;
    load.moe_layers = 32;
    ParallelPlan const plan{.dp = 64, .ep = 8};
    Seconds const dense =
        collective_curve(machine, CollectiveKind::all_reduce, place_group(64, 1, 8)).time(2e9 * units::B);
    Seconds const expert =
        collective_curve(machine, CollectiveKind::all_reduce, place_group(8, 8, 8)).time(8e9 * units::B);
    CHECK(time_of(load, plan, machine, two_bytes()).exposed.base() == Approx((dense + expert).base()).epsilon(1e-9));
}

TEST_CASE("data_parallel_time: with shard groups experts gather among their replicas in one group", "[INV-24]") {
    ClusterSpec const machine = without_latency();
    StageLoad load = load_of(0, 32);
    load.parameters.expert = 4e9;
    load.moe_layers = 32;
    auto const exposed = [&](ParallelPlan const& plan) {
        return time_of(load, plan, machine, two_bytes()).exposed.base();
    };
    auto const over = [&](CollectiveKind kind, std::int64_t size, std::int64_t stride, double bytes) {
        return collective_curve(machine, kind, place_group(size, stride, 8)).time(bytes * units::B);
    };
    // 64 ranks in groups of 16: of the 32 replicas of an expert group of two, eight lie in each.
    ParallelPlan plan{.dp = 64, .ep = 2, .zero = 3, .shard_group = 16};
    CHECK(expert_shards(plan) == 8);
    CHECK(exposed(plan) ==
          Approx(
              (3 * over(CollectiveKind::all_gather, 8, 2, 8e9) + over(CollectiveKind::all_reduce, 4, 16, 1e9)).base()));
    // An expert group that spans shard groups has no replica in any of them: gradients are reduced once.
    plan.ep = 32;
    CHECK(expert_shards(plan) == 1);
    CHECK(exposed(plan) == Approx(over(CollectiveKind::all_reduce, 2, 32, 8e9).base()));
}

TEST_CASE("data_parallel_time: experts that tensor-parallel ranks repeat are reduced even with one data-parallel rank",
          "[INV-24]") {
    StageLoad load = load_of(1e9, 32);
    load.parameters.expert = 4e9;
    load.moe_layers = 32;
    ParallelPlan const plan{.tp = 8};  // every rank holds all experts and sees an eighth of the tokens
    CHECK(plan.expert_dp() == 8);
    CHECK(time_of(load, plan, cluster(), two_bytes()).exposed > Seconds{});
}

TEST_CASE("data_parallel_time: the update reads and writes its bytes once, less when sharded, elsewhere when offloaded",
          "[INV-24]") {
    ClusterSpec const machine = cluster();
    ParallelPlan plan{.dp = 64};
    StageLoad const load = load_of(1e9, 32);
    double const whole = (30.0 + 4) * 1e9 / (3.35e12 * 0.9);  // the update, and the norm of fp32 gradients
    CHECK(time_of(load, plan, machine, two_bytes()).optimizer.base() == Approx(whole));
    for (int zero = 1; zero <= 3; ++zero) {
        plan.zero = zero;
        CHECK(time_of(load, plan, machine, two_bytes()).optimizer.base() == Approx(whole / 64));
    }
    plan.offload = Offload::optimizer;
    DataParallelTime const host = time_of(load, plan, machine, two_bytes());
    CHECK(host.optimizer.base() == Approx(4 * 1e9 / 64 / (3.35e12 * 0.9)));  // the norm
    CHECK(host.offload.base() > 4.0 * 1e9 / 64 / 55e9);                      // gradients out, weights back
    ClusterSpec grace = machine;
    grace.accelerator.host_update_bandwidth = known(100 * units::GB / units::s);
    Seconds const saved = host.offload - time_of(load, plan, grace, two_bytes()).offload;
    CHECK(saved.base() == Approx(28 * 1e9 / 64 * (1 / 25e9 - 1 / 100e9)));
}

TEST_CASE("data_parallel_time: parameters in host memory come up for both passes of every microbatch", "[INV-24]") {
    ClusterSpec const machine = cluster();
    double const link = machine.accelerator.host_bandwidth.value.base();
    double const host = machine.accelerator.host_update().value.base();
    StageLoad load = load_of(1e9, 32);
    load.microbatches = 4;
    FrameworkTiming const framework = two_bytes();
    Pricer pricer(machine, framework);
    for (std::int64_t const dp : {1, 8}) {
        ParallelPlan plan{.dp = dp, .zero = 3};
        DataParallelCurves curves = data_parallel_curves(plan, pricer);
        curves.gradients = {.usual_bytes = 4, .weight_bytes = 4};  // PyTorch's, in fp32
        auto const time = [&] { return data_parallel_time(load, plan, {}, curves, machine.accelerator, framework); };
        DataParallelTime const here = time();
        CHECK(here.copies == Seconds{});
        plan.offload = Offload::parameters;
        DataParallelTime const away = time();
        double const shard = 1e9 / static_cast<double>(dp);
        CAPTURE(dp);
        // Nothing runs beside them here.
        CHECK(away.copies.base() == Approx(4 * 2 * 4 * shard / link));
        CHECK(away.exposed.base() == Approx(here.exposed.base()));
        CHECK(away.optimizer == Seconds{});
        // Gradients go down four times and are added up three times; update and norm are the host's. No weights return.
        CHECK(away.offload.base() == Approx(4 * 4 * shard / link + (28 + 3 * 3 * 4 + 4) * shard / host));
        // DeepSpeed adds up on the device, in 16 bits, and reads the norm there.
        curves.gradients = {.usual_bytes = 2, .weight_bytes = 2, .to_host = Switch::on};
        DataParallelTime const deepspeed = time();
        CHECK(deepspeed.copies.base() == Approx(4 * 2 * 2 * shard / link));
        CHECK(deepspeed.offload.base() == Approx((4 * 2 * 2 + 4) * shard / link + 28 * shard / host));
        CHECK(deepspeed.optimizer > Seconds{});
        plan.offload = Offload::optimizer;  // weights return once
        CHECK((time().offload - deepspeed.offload).base() == Approx(2 * shard / link));
    }
}

TEST_CASE("data_parallel_time: weights from host memory hide beside passes as gathers do, but those of a layer",
          "[INV-24]") {
    ClusterSpec const machine = cluster();
    FrameworkTiming hiding = two_bytes();
    hiding.fsdp_overlap = known(1.0);
    StageLoad const load = load_of(1e9, 32);
    ParallelPlan const plan{.zero = 3, .offload = Offload::parameters};
    auto const copies = [&](Seconds pass) { return time_of(load, plan, machine, hiding, pass, pass).copies; };
    Seconds const all = copies({});
    CHECK(all > Seconds{});
    CHECK(copies(10 * units::s).base() == Approx(all.base() / 32));
    CHECK(copies(0.25 * all).base() == Approx(all.base() / 2));
    hiding.fsdp_overlap = known(0.5);
    CHECK(copies(10 * units::s).base() == Approx(all.base() / 2));
}

TEST_CASE("data_parallel_time: an offloaded optimizer reads and writes in host memory what it holds there",
          "[INV-24]") {
    ClusterSpec const machine = cluster();
    StageLoad const load = load_of(1e9, 32);
    auto const offload = [&](Optimizer optimizer) {
        ParallelPlan const plan{.dp = 64, .zero = 1, .offload = Offload::optimizer, .optimizer = optimizer};
        return time_of(load, plan, machine, two_bytes()).offload;
    };
    auto const saves = [&](Optimizer optimizer) { return (offload(Optimizer::adamw) - offload(optimizer)).base(); };
    double const byte = 1e9 / 64 / 25e9;  // of every parameter, in the host's memory
    CHECK(saves(Optimizer::adamw_bf16) == Approx(2 * 4 * byte));
    CHECK(saves(Optimizer::adamw_8bit) == Approx(2 * 6 * byte));
    CHECK(saves(Optimizer::sgd) == Approx(2 * 4 * byte));
}

TEST_CASE("data_parallel_time: with all of the state in bf16 gradients are reduced in bf16, and less moves to the host",
          "[INV-24]") {
    ClusterSpec const machine = cluster();
    FrameworkTiming wide = two_bytes();
    wide.gradient_bytes_sent = known(4.0);
    ParallelPlan plan{.dp = 64, .zero = GENERATE(0, 1, 2, 3)};
    StageLoad const load = load_of(1e9, 32);
    auto const exposed = [&](Optimizer optimizer, GradientFormat gradients) {
        plan.optimizer = optimizer;
        plan.gradients = gradients;
        return time_of(load, plan, machine, wide).exposed;
    };
    Seconds const narrow = exposed(Optimizer::adamw_pure_bf16, GradientFormat::usual);
    CHECK(narrow == exposed(Optimizer::adamw, GradientFormat::bf16));
    CHECK(narrow == exposed(Optimizer::adamw_pure_bf16, GradientFormat::bf16));
    CHECK(narrow < exposed(Optimizer::adamw, GradientFormat::usual));
    plan.offload = Offload::optimizer;
    auto const offload = [&](Optimizer optimizer) {
        plan.optimizer = optimizer;
        return time_of(load, plan, machine, two_bytes()).offload;
    };
    CHECK(offload(Optimizer::adamw_pure_bf16) < offload(Optimizer::adamw));
}

TEST_CASE("data_parallel_time: an optimizer moves what it holds, and Muon multiplies matrices as well", "[INV-24]") {
    ClusterSpec const machine = cluster();
    ParallelPlan plan{.dp = 64};
    StageLoad load = load_of(1e9, 32);
    auto const time = [&](Optimizer optimizer) {
        plan.optimizer = optimizer;
        return time_of(load, plan, machine, two_bytes()).optimizer.base();
    };
    double const byte = 1e9 / (3.35e12 * 0.9);
    // With a norm of gradients of 4 bytes, or 2.
    CHECK(time(Optimizer::adamw) == Approx((30 + 4) * byte));
    CHECK(time(Optimizer::adamw_bf16) == Approx((22 + 4) * byte));
    CHECK(time(Optimizer::adamw_8bit) == Approx((18 + 4) * byte));
    CHECK(time(Optimizer::adamw_pure_bf16) == Approx((14 + 2) * byte));
    CHECK(time(Optimizer::sgd) == Approx((22 + 4) * byte));
    CHECK(time(Optimizer::lion) == Approx((22 + 4) * byte));
    CHECK(time(Optimizer::lion_8bit) == Approx((16 + 4) * byte));
    CHECK(time(Optimizer::adafactor) == Approx((30 + 56 + 4) * byte));  // a dozen kernels, not one
    CHECK(time(Optimizer::muon) == Approx((22 + 4) * byte));            // no matrices yet
    load.parameters.dense_orthogonal = 64e15;
    load.parameters.largest_orthogonal = 1e13;
    auto const products = [&](int zero) {
        plan.zero = zero;
        return time(Optimizer::muon) - time(Optimizer::sgd);
    };
    AcceleratorProfile const& device = machine.accelerator;
    double const rate = device.peak_of(Precision::bf16).value.base() * device.gemm_efficiency_of(Precision::bf16) *
                        two_bytes().gemm_scale.value;
    CHECK(products(0) == Approx(64e15 / rate));
    CHECK(products(1) == Approx(1e15 / rate));
    load.parameters.largest_orthogonal = 3e15;  // one matrix is not shared
    CHECK(products(1) == Approx(3e15 / rate));
}

TEST_CASE("data_parallel_time: gradients and weights in fp32 and tf32 are sent in four bytes", "[INV-24]") {
    ClusterSpec const machine = without_latency();
    StageLoad load = load_of(8e9, 32);
    load.microbatches = 4;
    for (int const zero : {0, 1, 2, 3}) {
        ParallelPlan plan{.dp = 64, .zero = zero};
        double const narrow = time_of(load, plan, machine, two_bytes()).exposed.base();
        for (Precision const precision : {Precision::fp32, Precision::tf32}) {
            plan.precision = precision;
            CHECK(time_of(load, plan, machine, two_bytes()).exposed.base() == Approx(2 * narrow).epsilon(1e-9));
        }
    }
}
