#include "cost_models/block_price.hpp"

#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <random>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

constexpr std::size_t index(Recompute policy) { return static_cast<std::size_t>(policy); }

/// Rank of coordinates in Megatron-LM's order: tp fastest, then cp, dp, pp.
std::int64_t rank_of(ParallelPlan const& p, std::int64_t tp, std::int64_t cp, std::int64_t dp, std::int64_t pp) {
    return tp + p.tp * (cp + p.cp * (dp + p.dp * pp));
}

std::int64_t domains_of(std::set<std::int64_t> const& ranks, std::int64_t domain) {
    std::set<std::int64_t> domains;
    for (std::int64_t const rank : ranks)
        domains.insert(rank / domain);
    return static_cast<std::int64_t>(domains.size());
}

}  // namespace

TEST_CASE("price: without communication a block takes the sum of its kernels", "[INV-19]") {
    ClusterSpec const machine = cluster();
    FrameworkTiming const framework = neutral_timing();
    for (ModelSpec const& model : {gpt(1024, 16, 1), llama(4096, 32, 8, 1, 14336), mixture(2048, 1, 8, 2, 5632)}) {
        Block const layer = build_layer(model, model.layers.front(), {}, 4096);
        Pricer pricer(machine, framework);
        BlockPrice const price = pricer.price(layer, {}, HostFloor::per_layer);
        Seconds forward, backward;
        for (Op const& op : layer.ops) {
            forward += kernel_time(op, Pass::forward, machine.accelerator, framework);
            backward += kernel_time(op, Pass::backward, machine.accelerator, framework);
        }
        CHECK(price.forward.total().base() == Approx(forward.base()).epsilon(1e-12));
        CHECK(price.backward.total().base() == Approx(backward.base()).epsilon(1e-12));
        CHECK(price.forward.compute() == price.forward.total());
        CHECK(price.rerun[index(Recompute::none)].total() == Seconds{});
        CHECK(price.rerun[index(Recompute::full)].total() == price.forward.total());
        CHECK(price.rerun[index(Recompute::selective)].total() == price.forward.attention);
        for (Recompute const policy : {Recompute::none, Recompute::selective, Recompute::full})
            CHECK(price.kept[index(policy)] == layer.kept(policy));
    }
}

TEST_CASE("price: tensor-parallel communication is the time of its collectives, less what overlaps", "[INV-19]") {
    ClusterSpec const machine = cluster();
    ModelSpec const model = llama(4096, 32, 8, 1, 14336);
    ParallelPlan plan;
    plan.tp = 8;
    Block const layer = build_layer(model, {}, plan, 4096);
    Seconds const one =
        collective_curve(machine, CollectiveKind::all_reduce, place_group(8, 1, 8)).time(2.0 * 4096 * 4096 * units::B);
    for (double const overlap : {0.0, 0.25, 1.0}) {
        FrameworkTiming framework = neutral_timing();
        framework.tp_overlap = known(overlap);
        Pricer pricer(machine, framework);
        BlockPrice const price = pricer.price(layer, plan, HostFloor::none);
        CHECK(price.forward.tp.base() == Approx(2 * (1 - overlap) * one.base()));
        CHECK(price.backward.tp.base() == Approx(2 * (1 - overlap) * one.base()));
        CHECK(price.forward.ep == Seconds{});
    }
}

TEST_CASE("price: no more communication is hidden than there is compute to hide it", "[INV-19]") {
    ModelSpec const model = llama(4096, 32, 8, 1, 14336);
    ParallelPlan plan;
    plan.tp = 8;
    Block const layer = build_layer(model, {}, plan, 4096);
    for (double const slower : {1.0, 10.0, 100.0}) {
        ClusterSpec machine = cluster();
        machine.scale_up.bandwidth.value = machine.scale_up.bandwidth.value / slower;
        Seconds const sent = 2 * collective_curve(machine, CollectiveKind::all_reduce, place_group(8, 1, 8))
                                     .time(2.0 * 4096 * 4096 * units::B);
        for (double const overlap : {0.5, 1.0}) {
            FrameworkTiming framework = neutral_timing();
            framework.tp_overlap = known(overlap);
            Pricer pricer(machine, framework);
            PassTime const pass = pricer.price(layer, plan, HostFloor::none).forward;
            CHECK(pass.tp.base() == Approx((sent - overlap * std::min(sent, pass.compute())).base()));
            CHECK(pass.total() >= (1 - 1e-12) * sent);
        }
    }
}

TEST_CASE("price: the host floor is a maximum, not an addition", "[INV-19]") {
    ClusterSpec const machine = cluster();
    Block const layer = build_layer(llama(1024, 8, 8, 1, 4096), {}, {}, 1024);
    FrameworkTiming const neutral = neutral_timing();
    Pricer plain(machine, neutral);
    Seconds const bare = plain.price(layer, {}, HostFloor::per_layer).forward.total();
    for (double const factor : {0.5, 0.99, 2.0, 10.0}) {
        FrameworkTiming slow_host = neutral_timing();
        slow_host.host_floor_forward = known(factor * bare);
        Pricer pricer(machine, slow_host);
        CHECK(pricer.price(layer, {}, HostFloor::per_layer).forward.total().base() ==
              Approx(std::max(1.0, factor) * bare.base()));
        CHECK(pricer.price(layer, {}, HostFloor::none).forward.total() == bare);
    }
}

TEST_CASE("price: what the host takes for a backward pass is divided between its halves as kernels are launched",
          "[INV-19]") {
    ClusterSpec const machine = cluster();
    Block const layer = build_layer(llama(1024, 8, 8, 1, 4096), {}, {}, 1024);
    FrameworkTiming timing = neutral_timing();
    timing.kernel_gap = known(1 * units::us);
    auto const with_floor = [&](Seconds floor) {
        FrameworkTiming slow_host = timing;
        slow_host.host_floor_backward = known(floor);
        Pricer pricer(machine, slow_host);
        return pricer.price(layer, {}, HostFloor::per_layer);
    };
    BlockPrice const bare = with_floor({});
    double launches = 0, of_weights = 0;
    for (Op const& op : layer.ops) {
        launches += static_cast<double>(kernel_count(op, Pass::backward));
        if (weight_gradient_time(op, machine.accelerator, timing) > Seconds{}) of_weights += 1;
    }
    REQUIRE(of_weights > 0);
    double const share = of_weights / launches;
    Seconds before = bare.weight.total();
    for (double const factor : {0.5, 1.1, 1.5, 2.0, 4.0, 100.0}) {
        BlockPrice const price = with_floor(factor * bare.backward.total());
        Seconds const weight = price.weight.total(), input = price.backward.total() - weight;
        CAPTURE(factor, share);
        CHECK(price.backward.total().base() == Approx(std::max(1.0, factor) * bare.backward.total().base()));
        // Neither half is done before its work is, nor much before the host has launched it.
        CHECK(weight >= before);
        CHECK(input >= (bare.backward.total() - bare.weight.total()) * (1 - 1e-12));
        before = weight;
        if (factor < 4) continue;
        CHECK((weight / price.backward.total()) == Approx(share));
    }
}

TEST_CASE("price: each collective of a tensor-parallel group takes the host a twentieth of a layer's launches",
          "[INV-19]") {
    ClusterSpec const machine = cluster();
    FrameworkTiming slow_host = neutral_timing();
    slow_host.host_floor_forward = known(100 * units::ms);
    slow_host.host_floor_backward = known(200 * units::ms);
    Pricer pricer(machine, slow_host);
    auto const price = [&](ParallelPlan const& plan) {
        return pricer.price(build_layer(llama(1024, 8, 8, 1, 4096), {}, plan, 1024), plan, HostFloor::per_layer);
    };
    CHECK(price({}).forward.total().base() == Approx(0.1));
    BlockPrice const reduced = price({.tp = 2});  // two all-reduces a pass
    CHECK(reduced.forward.total().base() == Approx(0.11));
    CHECK(reduced.backward.total().base() == Approx(0.22));
    CHECK(reduced.rerun[static_cast<std::size_t>(Recompute::full)].total().base() == Approx(0.11));
    CHECK(price({.tp = 8, .sequence_parallel = Switch::on}).forward.total().base() ==
          Approx(0.12));  // gathers and scatters
}

TEST_CASE("price: adding a microbatch's gradients moves their bytes, unless each is reduced", "[INV-19]") {
    ClusterSpec const machine = cluster();
    ModelSpec const model = llama(1024, 8, 8, 1, 4096);
    Block const layer = build_layer(model, {}, {}, 1024);
    FrameworkTiming framework = neutral_timing();
    Seconds const without = Pricer(machine, framework).price(layer, {}, HostFloor::none).backward.total();
    framework.gradient_sum_bytes = known(6.0);
    framework.gradient_bytes_sent = known(2.0);
    Pricer pricer(machine, framework);
    BlockPrice const price = pricer.price(layer, {}, HostFloor::none);
    double const weights = 4.0 * 1024 * 1024 + 3.0 * 1024 * 4096;
    double const rate = machine.accelerator.memory_bandwidth.value.base() * machine.accelerator.memory_efficiency.value;
    CHECK((price.backward.total() - without).base() == Approx(6 * weights / rate));
    CHECK((price.weight.total() - price.reduced_weight.total()).base() == Approx(6 * weights / rate));
    CHECK(price.reduced_backward.total() == without);
    CHECK(price.first_backward.total() == without);
    framework.gradient_bytes_sent = known(3.0);
    BlockPrice const widened = Pricer(machine, framework).price(layer, {}, HostFloor::none);
    CHECK((widened.reduced_backward.total() - without).base() == Approx(5 * weights / rate));
    framework.gradient_bytes_sent = known(2.0);
    for (std::int64_t const dp : {1, 8})
        for (int zero = 0; zero <= 3; ++zero) {
            ParallelPlan const plan{.dp = dp, .zero = zero};
            bool const reduced = dp > 1 && zero >= 2;  // one rank has nobody to reduce them with
            Seconds sum;
            for (PricedOp const& op : pricer.price_ops(layer, plan, HostFloor::none, Pass::backward).ops)
                sum += op.compute + op.gap;
            CHECK(sum.base() == Approx((reduced ? price.reduced_backward : price.backward).total().base()));
        }
}

TEST_CASE("price: the embedding's gradient is zeroed whole, read again and added to the others", "[INV-19]") {
    ClusterSpec const machine = cluster();
    ModelSpec model = llama(1024, 8, 8, 1, 4096);
    double const rows = 128.0 * 512;
    model.vocab = 128 * 512;
    double const rate = machine.accelerator.memory_bandwidth.value.base() * machine.accelerator.memory_efficiency.value;
    FrameworkTiming framework = neutral_timing();
    framework.gradient_sum_bytes = known(6.0);
    framework.gradient_bytes_sent = known(4.0);
    auto const backward = [&](KeptGradients const& kept, ParallelPlan const& plan) {
        Pricer pricer(machine, framework, {}, kept);
        return pricer.price(build_embedding(model, plan, 1024), plan, HostFloor::none);
    };
    // Tokens: a gradient of 2 bytes read, one of the table read and written. The table: 2 bytes zeroed.
    double const launches = 2 * machine.accelerator.launch_latency.value.base();
    double const lookup = 6 * 1024.0 * 1024 / rate + launches;
    KeptGradients const main{.usual_bytes = 4, .weight_bytes = 2};
    BlockPrice const added = backward(main, {});
    CHECK(added.first_backward.total().base() == Approx(lookup + 2 * rows * 1024 / rate));
    // Main gradients: 2 bytes read, 4 read and written. PyTorch's: the three accesses that products take, too.
    CHECK(added.backward.total().base() == Approx(lookup + (2 + 10) * rows * 1024 / rate));
    CHECK(backward({}, {}).backward.total().base() == Approx(lookup + (2 + 6) * rows * 1024 / rate));
    // Reduced in fp32: 2 bytes read, 4 written.
    CHECK(added.reduced_backward.total().base() == Approx(lookup + (2 + 6) * rows * 1024 / rate));
    // Half of the table on each of two ranks; nothing of one that is frozen.
    CHECK(backward(main, {.tp = 2}).backward.streaming.base() == Approx(lookup + 12 * rows / 2 * 1024 / rate));
    ParallelPlan frozen;
    frozen.adapters = {.rank = 16, .targets = adapter_targets_from("all", "test"), .base = BaseWeights::bf16};
    CHECK(backward(main, frozen).backward.total() == Seconds{});
}

TEST_CASE("price: passes of which some microbatches' gradients are added to others are the mean of these", "[INV-19]") {
    ClusterSpec const machine = cluster();
    FrameworkTiming framework = neutral_timing();
    framework.gradient_sum_bytes = known(6.0);
    ParallelPlan const plan;
    Block const layer = build_layer(llama(1024, 8, 8, 1, 4096), {}, plan, 1024);
    Seconds const free = Pricer(machine, framework).price(layer, plan, HostFloor::none).first_backward.total();
    Seconds const summed = Pricer(machine, framework).price(layer, plan, HostFloor::none).backward.total();
    for (double const floor : {0.0, 0.5, 2.0}) {  // none, between the two passes, longer than both
        framework.host_floor_backward = known(free + floor * (summed - free));
        Pricer pricer(machine, framework);
        BlockPrice const price = pricer.price(layer, plan, HostFloor::per_layer);
        PricedPass const ops = pricer.price_ops(layer, plan, HostFloor::per_layer, Pass::backward, {}, 0.75);
        Seconds total = ops.waiting, weight = ops.weight_waiting;
        for (PricedOp const& op : ops.ops) {
            total += op.compute + op.gap + op.exposed;
            weight += op.weight;
        }
        auto const mean = [](Seconds all, Seconds first) { return Approx((0.75 * all + 0.25 * first).base()); };
        CHECK(total.base() == mean(price.backward.total(), price.first_backward.total()));
        CHECK(weight.base() == mean(price.weight.total(), price.first_weight.total()));
    }
}

TEST_CASE("added_share: all microbatches where there is a buffer, all but the first of each copy of the weights else") {
    KeptGradients const buffer{.usual_bytes = 4, .weight_bytes = 2};
    CHECK(added_share(buffer, {}, 1) == 1);
    CHECK(added_share({}, {}, 1) == 0);
    CHECK(added_share({}, {}, 4) == 0.75);
    CHECK(added_share({}, {.pp = 4, .schedule = Schedule::dualpipe}, 8) == 0.75);
}

TEST_CASE("price: where recompute stops early, it leaves out the last product and what is sent of it") {
    ClusterSpec const machine = cluster();
    ParallelPlan plan;
    plan.tp = 2;
    plan.sequence_parallel = Switch::off;
    Block const layer = build_layer(llama(1024, 8, 8, 1, 4096), {}, plan, 1024);
    FrameworkTiming framework = neutral_timing();
    Pricer to_the_end(machine, framework);
    FrameworkTiming stopping = framework;
    stopping.early_stop = known(1.0);
    Pricer early(machine, stopping);
    auto const price = [&](Pricer& pricer, Block const& block) { return pricer.price(block, plan, HostFloor::none); };
    auto const rerun = [&](Pricer& pricer, Block const& block) { return price(pricer, block).rerun[2]; };
    CHECK(rerun(to_the_end, layer).total() == price(to_the_end, layer).forward.total());
    PassTime const all = rerun(to_the_end, layer);
    PassTime const some = rerun(early, layer);
    Seconds const last = gemm_time(1024, 1024, 2048, Precision::bf16, machine.accelerator, framework);
    CHECK((all.gemm - some.gemm).base() == Approx(last.base()));
    CHECK(some.tp.base() == Approx(0.5 * all.tp.base()));
    CHECK(price(early, layer).forward.total() == price(to_the_end, layer).forward.total());
    Seconds sum;
    for (PricedOp const& op : early.price_ops(layer, plan, HostFloor::none, Pass::forward, Recompute::full).ops)
        sum += op.compute + op.gap + op.exposed;
    CHECK(sum.base() == Approx(some.total().base()));
    plan.dropout = Switch::on;  // its mask is needed
    Block const masked = build_layer(llama(1024, 8, 8, 1, 4096), {}, plan, 1024);
    CHECK(rerun(early, masked).total() == rerun(to_the_end, masked).total());
    // An adapter beside the last product reads what runs again to its end, one elsewhere does not.
    plan.dropout = Switch::off;
    plan.adapters.rank = 8;
    for (char const* const targets : {"attention", "down"}) {
        plan.adapters.targets = adapter_targets_from(targets, "test");
        Block const adapted = build_layer(llama(1024, 8, 8, 1, 4096), {}, plan, 1024);
        bool const stops = rerun(early, adapted).total() < rerun(to_the_end, adapted).total();
        CHECK(stops == (std::string_view(targets) == "attention"));
    }
}

TEST_CASE("price: padding of experts' tokens is of frameworks that pad them apart") {
    ClusterSpec const machine = cluster();
    FrameworkTiming framework = neutral_timing();
    Pricer dense(machine, framework);
    FrameworkTiming padding = framework;
    padding.pads_experts = known(1.0);
    Pricer padded(machine, padding);
    ParallelPlan plan;
    plan.precision = Precision::fp8;
    Block const layer = build_layer(mixture(2048, 1, 8, 2, 5632), {.moe = true}, plan, 1024);
    for (Pass const pass : {Pass::forward, Pass::backward}) {
        auto const pads = [&](Pricer& pricer) {
            std::vector<PricedOp> const ops = pricer.price_ops(layer, plan, HostFloor::none, pass).ops;
            return std::count_if(ops.begin(), ops.end(), [](PricedOp const& op) { return op.name == expert_padding; });
        };
        CHECK(pads(dense) == 0);
        CHECK(pads(padded) == 2);
    }
}

TEST_CASE("price: where weights are rounded in every microbatch, each product's are read and written in both passes") {
    ClusterSpec const machine = cluster();
    FrameworkTiming framework = neutral_timing();
    Pricer once(machine, framework);
    FrameworkTiming casting = framework;
    casting.casts_weights = known(1.0);
    Pricer each(machine, casting);
    ParallelPlan plan;
    auto const casts = [&](Pricer& pricer, Pass pass) {
        std::vector<Seconds> out;
        Block const layer = build_layer(llama(1024, 8, 8, 1, 4096), {}, plan, 1024);
        for (PricedOp const& op : pricer.price_ops(layer, plan, HostFloor::none, pass).ops)
            if (op.name == weight_cast) out.push_back(op.compute);
        return out;
    };
    CHECK(casts(each, Pass::forward).empty());  // 16 bits are multiplied as they are
    for (Precision const precision : {Precision::fp8, Precision::fp8_block}) {
        plan.precision = precision;
        plan.narrow_copies = Switch::off;
        for (Pass const pass : {Pass::forward, Pass::backward}) {
            CHECK(casts(once, pass).empty());
            CHECK(casts(each, pass).size() == 4);  // one for q, k and v, one for gate and up
        }
        // Of 8-bit weights and 16-bit ones, three bytes of each; scales of 128 x 128 are nothing beside it.
        double const weights = 1024.0 * (3 * 1024 + 1024 + 2 * 4096 + 4096);
        Seconds sum;
        for (Seconds const time : casts(each, Pass::forward))
            sum += time;
        Seconds const bare = 3 * weights * units::B / machine.accelerator.memory_bandwidth.value;
        CHECK(sum >= bare);
        CHECK(sum < 1.5 * bare + 4.0 * machine.accelerator.launch_latency.value);
        plan.narrow_copies = Switch::on;  // what the optimizer rounded
        CHECK(casts(each, Pass::forward).empty());
    }
}

TEST_CASE("price: kernel gaps add up per launch", "[INV-19]") {
    ClusterSpec const machine = cluster();
    Block const layer = build_layer(llama(1024, 8, 8, 1, 4096), {}, {}, 1024);
    FrameworkTiming framework = neutral_timing();
    framework.kernel_gap = known(3 * units::us);
    Pricer pricer(machine, framework);
    std::int64_t kernels = 0;
    for (Op const& op : layer.ops)
        kernels += kernel_count(op, Pass::backward);
    CHECK(pricer.price(layer, {}, HostFloor::none).backward.gaps.in(units::us) ==
          Approx(3.0 * static_cast<double>(kernels)));
}

TEST_CASE("price: the ring of context parallelism shows only where attention does not cover it", "[INV-19]") {
    ClusterSpec const machine = cluster();
    ModelSpec const model = llama(4096, 32, 8, 1, 14336);
    ParallelPlan plan;
    plan.cp = 4;
    FrameworkTiming const none = neutral_timing();
    FrameworkTiming all = none;
    all.cp_overlap = known(1.0);
    Pricer open(machine, none);
    Pricer hidden(machine, all);
    Block const long_layer = build_layer(model, {}, plan, 131072);
    CHECK(open.price(long_layer, plan, HostFloor::none).forward.cp > Seconds{});
    CHECK(hidden.price(long_layer, plan, HostFloor::none).forward.cp == Seconds{});
    ClusterSpec slow = machine;
    slow.scale_up.bandwidth = known(1 * units::GB / units::s);
    Pricer slow_network(slow, all);
    CHECK(slow_network.price(long_layer, plan, HostFloor::none).forward.cp > Seconds{});
    CHECK(slow_network.price(long_layer, plan, HostFloor::none).forward.cp <
          Pricer(slow, none).price(long_layer, plan, HostFloor::none).forward.cp);
}

TEST_CASE("price: a ring of context parallelism sends its steps one by one", "[INV-19]") {
    ClusterSpec const machine = cluster();
    ModelSpec const model = llama(4096, 32, 8, 1, 14336);
    ParallelPlan plan;
    plan.cp = 16;
    plan.dp = 2;
    FrameworkTiming open = neutral_timing();
    open.cp_overlap = known(0.0);
    Pricer pricer(machine, open);
    BlockPrice const price = pricer.price(build_layer(model, {}, plan, 32768), plan, HostFloor::none);
    // Keys and values of 8 heads of 128, in two bytes; their gradients as well on the way back.
    Bytes const step = 2.0 * 32768 / 16 * 2 * 8 * 128 * units::B;
    CollectiveCurve const send =
        collective_curve(machine, CollectiveKind::send_receive, place(GroupKind::context, plan, machine));
    CHECK(price.forward.cp.base() == Approx(15 * send.time(step).base()));
    CHECK(price.backward.cp.base() == Approx(15 * send.time(2 * step).base()));
}

TEST_CASE("price: ranks that share an expert gather its tokens among themselves, whatever tp is", "[INV-19]") {
    ClusterSpec const machine = cluster();
    FrameworkTiming const framework = neutral_timing();
    ModelSpec const model = mixture(2048, 1, 16, 2, 1024);
    auto const exchanged = [&](std::int64_t tp, std::int64_t expert_tp) {
        ParallelPlan plan;
        plan.tp = tp;
        plan.sequence_parallel = tp > 1 ? Switch::on : Switch::off;
        plan.dp = 8 / tp;
        plan.expert_tp = expert_tp;
        Pricer pricer(machine, framework);
        return pricer.price(build_layer(model, {.moe = true}, plan, 4096), plan, HostFloor::none).forward.ep;
    };
    for (std::int64_t const tp : {1, 8})
        for (std::int64_t const expert_tp : {2, 4}) {
            auto const sharing = static_cast<double>(expert_tp);
            Bytes const tokens = 4096.0 / static_cast<double>(tp) * 2 * sharing * 2 * 2048 * units::B;
            GroupPlacement const group = place_group(expert_tp, 1, machine);
            Seconds const both = collective_curve(machine, CollectiveKind::all_gather, group).time(tokens) +
                                 collective_curve(machine, CollectiveKind::reduce_scatter, group).time(tokens);
            CHECK(exchanged(tp, expert_tp).base() == Approx(both.base()));
        }
    CHECK(exchanged(8, 1) == Seconds{});
}

TEST_CASE("price: a pricer that has seen other blocks gives the same price", "[INV-12]") {
    ClusterSpec const machine = cluster();
    FrameworkTiming const framework = neutral_timing();
    Pricer used(machine, framework);
    std::mt19937_64 random(seeded(1));
    for (int i = 0; i < 100; ++i) {
        ModelSpec const model = random() % 2 == 0 ? llama(2048, 16, 8, 1, 8192) : mixture(2048, 1, 16, 2, 1024);
        ParallelPlan plan;
        plan.tp = pick<std::int64_t>(random, {1, 2, 8});
        plan.cp = pick<std::int64_t>(random, {1, 2});
        plan.dp = pick<std::int64_t>(random, {8, 16});
        plan.ep = model.moe ? pick<std::int64_t>(random, {1, 4, 16}) : 1;
        plan.micro_batch = pick<std::int64_t>(random, {1, 2});
        plan.precision = pick(random, {Precision::bf16, Precision::fp8});
        Block const layer = build_layer(model, model.layers.front(), plan, 2048);
        Pricer fresh(machine, framework);
        BlockPrice const a = used.price(layer, plan, HostFloor::none);
        BlockPrice const b = fresh.price(layer, plan, HostFloor::none);
        CHECK(a.forward.total() == b.forward.total());
        CHECK(a.backward.total() == b.backward.total());
    }
}

TEST_CASE("place: groups lie where counting ranks in Megatron-LM's order puts them", "[INV-16]") {
    std::mt19937_64 random(seeded(2));
    ClusterSpec machine = cluster();
    for (int i = 0; i < 200; ++i) {
        machine.domain_size = pick<std::int64_t>(random, {4, 8, 64});
        ParallelPlan plan;
        plan.tp = pick<std::int64_t>(random, {1, 2, 4, 8});
        plan.cp = pick<std::int64_t>(random, {1, 2, 4});
        plan.dp = pick<std::int64_t>(random, {1, 2, 8, 16});
        plan.pp = pick<std::int64_t>(random, {1, 2, 4});
        std::set<std::int64_t> tensor, context, data;
        for (std::int64_t t = 0; t < plan.tp; ++t)
            tensor.insert(rank_of(plan, t, 0, 0, 0));
        for (std::int64_t c = 0; c < plan.cp; ++c)
            context.insert(rank_of(plan, 0, c, 0, 0));
        for (std::int64_t c = 0; c < plan.cp; ++c)
            for (std::int64_t d = 0; d < plan.dp; ++d)
                data.insert(rank_of(plan, 0, c, d, 0));
        CAPTURE(plan.tp, plan.cp, plan.dp, plan.pp, machine.domain_size);
        CHECK(place(GroupKind::tensor, plan, machine).domains == domains_of(tensor, machine.domain_size));
        CHECK(place(GroupKind::context, plan, machine).domains == domains_of(context, machine.domain_size));
        CHECK(place(GroupKind::data, plan, machine).domains == domains_of(data, machine.domain_size));
        CHECK(place(GroupKind::data, plan, machine).size == plan.dp * plan.cp);
        // Some pair of neighbouring stages lies in different domains: then the pipeline sends over the network.
        std::int64_t worst = 1;
        for (std::int64_t p = 0; p + 1 < plan.pp; ++p)
            worst = std::max(
                worst, domains_of({rank_of(plan, 0, 0, 0, p), rank_of(plan, 0, 0, 0, p + 1)}, machine.domain_size));
        if (plan.pp > 1) CHECK(place(GroupKind::pipeline, plan, machine).domains == worst);
    }
}

TEST_CASE("price: the ops of a pass add up to its time, whatever is split or overlapped") {
    std::mt19937_64 random(seeded(11));
    ClusterSpec const machine = cluster();
    for (int i = 0; i < 200; ++i) {
        FrameworkTiming timing = neutral_timing();
        timing.tp_overlap = known(uniform(random, 0, 1));
        timing.ep_overlap = known(uniform(random, 0, 1));
        timing.cp_overlap = known(uniform(random, 0, 1));
        timing.kernel_gap = known(uniform(random, 0, 5) * units::us);
        timing.host_floor_forward = known(uniform(random, 0, 400) * units::us);
        timing.host_floor_backward = known(uniform(random, 0, 800) * units::us);
        Pricer pricer(machine, timing);
        ModelSpec const model = i % 2 == 0 ? llama(4096, 32, 8, 4, 11008) : mixture(2048, 4, 8, 2, 1024);
        ParallelPlan plan;
        plan.tp = pick<std::int64_t>(random, {1, 2, 4, 8});
        plan.cp = pick<std::int64_t>(random, {1, 2, 4});
        plan.dp = 8;
        plan.ep = model.moe ? pick<std::int64_t>(random, {1, 2, 8}) : 1;
        plan.cp_mode = pick(random, {ContextParallel::ring, ContextParallel::all_gather});
        plan.sequence_parallel = plan.tp > 1 ? Switch::on : Switch::off;
        Block const block = build_layer(model, LayerKind{.moe = model.moe.has_value()}, plan, 4096);
        HostFloor const floor = model.moe ? HostFloor::per_moe_layer : HostFloor::per_layer;
        BlockPrice const price = pricer.price(block, plan, floor);
        auto const sum = [](PricedPass const& pass) {
            Seconds total = pass.waiting;
            for (PricedOp const& op : pass.ops) {
                CHECK(op.hidden >= Seconds{});
                CHECK(op.latency <= (op.exposed + op.hidden) * (1 + 1e-12));
                total += op.compute + op.gap + op.exposed;
            }
            return total.base();
        };
        CHECK(sum(pricer.price_ops(block, plan, floor, Pass::forward)) == Approx(price.forward.total().base()));
        PricedPass const backward = pricer.price_ops(block, plan, floor, Pass::backward);
        CHECK(sum(backward) == Approx(price.backward.total().base()));
        for (Recompute const policy : {Recompute::selective, Recompute::full})
            CHECK(sum(pricer.price_ops(block, plan, floor, Pass::forward, policy)) ==
                  Approx(price.rerun[static_cast<std::size_t>(policy)].total().base()));
        Seconds weight, gaps = backward.weight_waiting;
        for (PricedOp const& op : backward.ops) {
            weight += op.weight;
            if (op.weight > Seconds{}) gaps += timing.kernel_gap.value;
        }
        CHECK(price.weight.gemm.base() == Approx(weight.base()));
        CHECK(price.weight.gaps.base() == Approx(gaps.base()));
        CHECK(backward.weight_waiting <= backward.waiting * (1 + 1e-12));
        CHECK(price.weight.gemm > 0.3 * price.backward.gemm);
        CHECK(price.weight.total() < price.backward.total());
    }
}

TEST_CASE(
    "price: a collective that leaves the domain occupies the NICs, and the links inside as far as it has to wait") {
    ClusterSpec const machine = cluster();
    NetworkShares const inside = network_shares(machine, CollectiveKind::all_reduce, place_group(8, 1, 8));
    CHECK(inside.scale_up == 1);
    CHECK(inside.scale_out == 0);
    NetworkShares const rails = network_shares(machine, CollectiveKind::reduce_scatter, place_group(16, 8, 8));
    CHECK(rails.scale_up == 0);
    CHECK(rails.scale_out == 1);
    NetworkShares const both = network_shares(machine, CollectiveKind::all_reduce, place_group(16, 1, 8));
    CHECK(both.scale_up == 1);  // 8 NICs of 45 GB/s reach the 360 GB/s inside
    CHECK(both.scale_out == 1);
    NetworkShares const exchange = network_shares(machine, CollectiveKind::all_to_all, place_group(64, 1, 8));
    CHECK(exchange.scale_out == 1);
    CHECK(exchange.scale_up < 0.05);
    CHECK(network_shares(machine, CollectiveKind::all_reduce, {}).scale_up == 0);
}
