#include "cost_models/memory_footprint.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

using namespace sextant;
using namespace sextant::fixtures;

namespace {

StageLoad random_load(std::mt19937_64& random) {
    StageLoad load;
    load.layers = static_cast<double>(8 + random() % 32);
    double const layer = uniform(random, 1e7, 1e9);
    load.largest_layer.dense = layer;
    load.parameters.dense = load.layers * layer;
    load.kept_by_layer = uniform(random, 1e7, 1e9) * units::B;
    load.kept = load.layers * load.kept_by_layer;
    load.in_flight = static_cast<double>(1 + random() % 16);
    load.microbatches = load.in_flight + static_cast<double>(random() % 64);
    load.hidden_tokens = uniform(random, 1e6, 1e8);
    load.sharded_hidden_tokens = load.hidden_tokens;
    load.logits = uniform(random, 0, 1e9);
    return load;
}

}  // namespace

TEST_CASE("the ZeRO paper's table: 7.5B parameters on 64 ranks take 120, 31.4, 16.6 and 1.9 GB", "[INV-20]") {
    // arXiv:1910.02054 fig. 1: 2 + 2 + 12 bytes per parameter.
    ParallelPlan plan;
    plan.dp = 64;
    double const expected[] = {120, 31.4, 16.6, 1.9};
    for (int zero = 0; zero <= 3; ++zero) {
        plan.zero = zero;
        StateBytes const bytes = state_bytes(plain_memory(), plan, dense_shards(plan));
        CHECK(7.5 * (bytes.weights + bytes.gradients + bytes.optimizer) == Approx(expected[zero]).margin(0.05));
        StageLoad load;
        load.parameters.dense = 7.5e9;
        CHECK(stage_memory(load, plan, plain_memory()).state().in(units::GB) == Approx(expected[zero]).margin(0.05));
    }
}

TEST_CASE("a higher ZeRO stage never holds more state, and never has a higher peak with many layers", "[INV-20]") {
    std::mt19937_64 random(seeded(1));
    for (int i = 0; i < 300; ++i) {
        StageLoad const load = random_load(random);
        ParallelPlan plan;
        plan.dp = pick<std::int64_t>(random, {2, 8, 64, 1024});
        plan.precision = pick(random, {Precision::bf16, Precision::fp16});
        plan.optimizer = pick(random, {Optimizer::adamw, Optimizer::adamw_bf16, Optimizer::adamw_8bit,
                                       Optimizer::adamw_pure_bf16, Optimizer::sgd});
        StageMemory before = stage_memory(load, plan, plain_memory());
        for (int zero = 1; zero <= 3; ++zero) {
            plan.zero = zero;
            StageMemory const now = stage_memory(load, plan, plain_memory());
            CAPTURE(zero, plan.dp);
            CHECK(now.state() < before.state());
            if (load.layers >= 16) CHECK(now.reserved() < before.reserved());
            before = now;
        }
    }
}

TEST_CASE("schedules that run all forwards first hold the logits of every microbatch, others those of one",
          "[INV-21]") {
    std::mt19937_64 random(seeded(4));
    for (int i = 0; i < 100; ++i) {
        StageLoad load = random_load(random);
        load.logits = uniform(random, 1e6, 1e9);
        ParallelPlan plan{.pp = pick<std::int64_t>(random, {2, 4, 8})};
        auto const logits = [&](Schedule schedule) {
            plan.schedule = schedule;
            return stage_memory(load, plan, plain_memory()).logits;
        };
        Bytes const one = logits(Schedule::one_f_one_b);
        CHECK(one.base() == Approx(6 * load.logits));
        for (Schedule const all : {Schedule::gpipe, Schedule::breadth_first})
            CHECK(logits(all) / one == Approx(load.microbatches));
        plan.pp = 1;
        CHECK(logits(Schedule::gpipe) == one);
    }
}

TEST_CASE("more ranks to shard over never hold more", "[INV-20]") {
    std::mt19937_64 random(seeded(2));
    for (int i = 0; i < 100; ++i) {
        StageLoad const load = random_load(random);
        ParallelPlan plan;
        plan.zero = static_cast<int>(1 + random() % 3);
        Bytes before = Bytes::from_base(1e300);
        for (plan.dp = 2; plan.dp <= 4096; plan.dp *= 2) {
            Bytes const now = stage_memory(load, plan, plain_memory()).reserved();
            CHECK(now <= before);
            before = now;
        }
    }
}

TEST_CASE("a shard group holds what that many ranks would hold", "[INV-20]") {
    std::mt19937_64 random(seeded(3));
    StageLoad const load = random_load(random);
    ParallelPlan small{.dp = 8, .zero = 3};
    ParallelPlan grouped{.dp = 256, .zero = 3, .shard_group = 8};
    CHECK(dense_shards(grouped) == 8);
    CHECK(stage_memory(load, grouped, plain_memory()).state() == stage_memory(load, small, plain_memory()).state());
}

TEST_CASE("optimizers hold 12 bytes per parameter less what they leave out", "[INV-20]") {
    ParallelPlan plan;
    auto const bytes = [&](Optimizer optimizer) {
        plan.optimizer = optimizer;
        return state_bytes(plain_memory(), plan, 1).optimizer;
    };
    CHECK(bytes(Optimizer::adamw) == 12);
    CHECK(bytes(Optimizer::adamw_bf16) == 8);  // moments in two bytes each
    CHECK(bytes(Optimizer::adamw_8bit) == 6);  // moments in one byte each
    CHECK(bytes(Optimizer::sgd) == 8);         // master weights and momentum
    CHECK(bytes(Optimizer::lion) == 8);
    CHECK(bytes(Optimizer::lion_8bit) == 5);
    CHECK(bytes(Optimizer::adafactor) == 4);  // master weights; a row and a column of a matrix are left out
    CHECK(bytes(Optimizer::muon) == 8);
    StageLoad load;
    load.parameters = {.dense = 1e9, .embedding = 2e8};
    CHECK(stage_memory(load, plan, plain_memory()).optimizer.base() == Approx(8e9 + 4 * 2e8));  // Adam on the embedding
}

TEST_CASE("Adafactor's second moment is whole where ZeRO flattens weights", "[INV-20]") {
    ParallelPlan plan{.dp = 8, .zero = GENERATE(0, 1, 2, 3), .optimizer = Optimizer::adafactor};
    auto const bytes = [&](char const* name) {
        return (plan.zero >= 1 ? 8 : 1) * state_bytes(find_framework(name, "test").memory, plan, 8).optimizer;
    };
    CHECK(bytes("deepspeed") == (plan.zero >= 1 ? 8 : 4));  // fp32 weights, and the moment or its rows and columns
    CHECK(bytes("megatron") == 4);
    plan.precision = Precision::fp32;
    CHECK(bytes("deepspeed") == (plan.zero >= 1 ? 4 : 0));
    plan.optimizer = Optimizer::lion;
    CHECK(bytes("deepspeed") == 4);
}

TEST_CASE("Megatron's precision-aware optimizer holds moments and 16 bits of each weight, and copies no gradients",
          "[INV-20]") {
    FrameworkMemory const megatron = find_framework("megatron", "test").memory;
    ParallelPlan plan{.dp = 8, .zero = 1};
    auto const bytes = [&](Optimizer optimizer) {
        plan.optimizer = optimizer;
        return 8 * state_bytes(megatron, plan, 8).optimizer;
    };
    CHECK(bytes(Optimizer::adamw) == 12);
    CHECK(bytes(Optimizer::adamw_bf16) == 6);
    CHECK(bytes(Optimizer::adamw_8bit) == 4);
    plan.offload = Offload::optimizer;
    plan.optimizer = Optimizer::adamw_bf16;
    CHECK(8 * state_bytes(megatron, plan, 8).host == 8);  // on the host weights are whole
}

TEST_CASE("an fp32 copy of bf16 gradients is there for the update, when activations are not", "[INV-20]") {
    FrameworkMemory const megatron = find_framework("megatron", "test").memory;
    StageLoad load;
    load.parameters = {.dense = 1e9, .expert = 2e9};
    ParallelPlan plan{.dp = 8, .ep = 4, .gradients = GradientFormat::bf16};
    auto const buffers = [&](int zero, Bytes kept) {
        plan.zero = zero;
        load.kept = kept;
        return stage_memory(load, plan, megatron).buffers.base();
    };
    CHECK(buffers(0, {}) == Approx(4 * 3e9));
    CHECK(buffers(1, {}) == Approx(4 * (1e9 / 8 + 2e9 / 2)));
    CHECK(buffers(1, 3 * units::GB) == Approx(4 * (1e9 / 8 + 2e9 / 2) - 3e9));
    CHECK(buffers(1, 5 * units::GB) == 0);
    plan.optimizer = Optimizer::adamw_bf16;
    CHECK(buffers(1, {}) == 0);
    plan.optimizer = Optimizer::adamw;
    plan.gradients = GradientFormat::usual;
    CHECK(buffers(1, {}) == 0);
    plan.precision = Precision::fp16;
    CHECK(buffers(1, {}) == 0);  // it is part of the state
}

TEST_CASE("all of the state in bf16 is 8 bytes per parameter under any framework, shared as ZeRO shares it",
          "[INV-20]") {
    FrameworkMemory memory = plain_memory();
    memory.weight_bytes.value = GENERATE(2.0, 4.0);
    memory.gradient_bytes.value = GENERATE(2.0, 4.0);
    memory.master_bytes.value = GENERATE(8.0, 12.0);
    ParallelPlan plan{.zero = GENERATE(0, 1, 2, 3), .optimizer = Optimizer::adamw_pure_bf16};
    StateBytes const bytes = state_bytes(memory, plan, 4);
    CHECK(bytes.weights == (plan.zero >= 3 ? 0.5 : 2));
    CHECK(bytes.gradients == (plan.zero >= 2 ? 0.5 : 2));
    CHECK(bytes.optimizer == (plan.zero >= 1 ? 1 : 4));
    CHECK(bytes.host == 0);
    plan.offload = Offload::optimizer;
    StateBytes const offloaded = state_bytes(memory, plan, 4);
    CHECK(offloaded.optimizer == 0);
    CHECK(offloaded.host == bytes.optimizer);
    CHECK(offloaded.weights == bytes.weights);
}

TEST_CASE("gradients in bf16 take the weights' two bytes, and nothing where they do already", "[INV-20]") {
    FrameworkMemory memory = plain_memory();
    ParallelPlan plan;
    CHECK(state_bytes(memory, plan, 1).gradients == 2);
    memory.gradient_bytes.value = 4;
    CHECK(state_bytes(memory, plan, 1).gradients == 4);
    plan.gradients = GradientFormat::bf16;
    CHECK(state_bytes(memory, plan, 1).gradients == 2);
    memory.weight_bytes.value = 4;  // fp32 weights have fp32 gradients, whatever they are reduced in
    CHECK(state_bytes(memory, plan, 1).gradients == 4);
}

TEST_CASE("narrow copies of weights lie beside those of 16 bits, embedding and head have none", "[INV-20]") {
    FrameworkMemory const framework = find_framework("megatron", "test").memory;
    StageLoad load;
    load.parameters = {.dense = 5e9, .expert = 2e9};
    load.ends = {.dense = 1e9};
    for (auto const& [precision, bytes] : {std::pair{Precision::fp8, 2.0},
                                           {Precision::fp8_block, 2.0},
                                           {Precision::mxfp8, 2 + 1.0 / 16},
                                           {Precision::fp4, 1.125}}) {
        load.narrow_copies = narrow_copies_of(precision, find_accelerator("h100-sxm", "test"));
        ParallelPlan plan{.dp = 8, .zero = 1, .precision = precision};
        StageMemory const alone = stage_memory(load, plan, framework);
        plan.narrow_copies = Switch::on;
        StageMemory const beside = stage_memory(load, plan, framework);
        CAPTURE(name_of(precision));
        CHECK((beside.weights - alone.weights) / units::B == Approx(bytes * 6e9));
        CHECK((beside.allocated() - alone.allocated()) / units::B == Approx(bytes * 6e9));
    }
}

TEST_CASE("weights in fp8 alone have no transpose on Blackwells of data centres, embedding and head are wide",
          "[INV-20]") {
    StageLoad load;
    load.parameters = {.dense = 5e9, .expert = 2e9};
    load.ends = {.dense = 1e9};
    auto const weights = [&](char const* framework, char const* accelerator, Precision precision) {
        load.narrow_copies = narrow_copies_of(precision, find_accelerator(accelerator, "test"));
        ParallelPlan const plan{.dp = 8, .zero = 1, .precision = precision};
        return stage_memory(load, plan, find_framework(framework, "test").memory).weights.base();
    };
    CHECK(weights("megatron", "h100-sxm", Precision::fp8) == Approx(2 * 7e9));
    CHECK(weights("megatron", "b200-sxm", Precision::fp8) == Approx(2 * 1e9 + 1 * 6e9));
    CHECK(weights("megatron", "b200-sxm", Precision::bf16) == Approx(2 * 7e9));
    CHECK(weights("megatron", "b200-sxm", Precision::mxfp8) == Approx(2 * 7e9));
    CHECK(weights("generic", "b200-sxm", Precision::fp8) == Approx(2 * 7e9));  // 16 bits, rounded for each product
}

TEST_CASE("a layer that runs again lies beside logits of other microbatches, and of the other pass of a pair",
          "[INV-21]") {
    FrameworkMemory memory = plain_memory();
    memory.logits_bytes.value = 10;
    StageLoad load;
    load.logits = 1e9;
    load.microbatches = 8;
    load.working_layer = 100 * units::GB;
    ParallelPlan plan{.pp = 4};
    auto const needs = [&] { return stage_memory(load, plan, memory).logits; };
    plan.schedule = Schedule::one_f_one_b;
    CHECK(needs() == 100 * units::GB);
    plan.schedule = Schedule::gpipe;
    CHECK(needs() == 170 * units::GB);
    plan.schedule = Schedule::zb_h1;
    load.postponed_logits = 3;
    CHECK(needs() == 106 * units::GB);
    load.postponed_logits = 0;
    load.pairs = true;
    plan.schedule = Schedule::dualpipe;
    CHECK(needs() == 110 * units::GB);
    load.working_layer = {};
    CHECK(needs() == 10 * units::GB);  // the passes of a pair are of two stages
    plan.schedule = Schedule::overlapped;
    CHECK(needs() == 20 * units::GB);
}

TEST_CASE("a fused cross entropy needs its own bytes per logit, once", "[INV-21]") {
    FrameworkMemory memory = plain_memory();
    memory.logits_bytes.value = 10;
    memory.fused_logits_bytes.value = 4;
    StageLoad load;
    load.logits = 1e9;
    ParallelPlan plan;
    CHECK(stage_memory(load, plan, memory).logits.base() == Approx(10e9));
    plan.fused_cross_entropy = Switch::on;
    CHECK(stage_memory(load, plan, memory).logits.base() == Approx(4e9));
}

TEST_CASE("the tanh of a cap is of a chunk's logits, and of none that a fused loss caps itself", "[INV-21]") {
    FrameworkMemory memory = plain_memory();
    memory.logits_bytes.value = 12;
    memory.fused_logits_bytes.value = 4;
    StageLoad load;
    load.logits = 8e9;
    load.microbatches = 4;
    load.capped_logits = Switch::on;
    ParallelPlan plan;
    auto const logits = [&] { return stage_memory(load, plan, memory).logits.base(); };
    CHECK(logits() == Approx((12 + 2) * 8e9));
    plan.loss_chunks = 8;
    CHECK(logits() == Approx((12 + 2) * 1e9));
    plan.loss_chunks = 1;
    plan.pp = 2;
    plan.schedule = Schedule::gpipe;  // of all microbatches
    CHECK(logits() == Approx((12 + 2) * 8e9 * 4));
    plan = {.fused_cross_entropy = Switch::on};
    CHECK(logits() == Approx(4 * 8e9));
    memory.fused_logits_bytes.value = 12;  // a loss after the cap
    CHECK(logits() == Approx((12 + 2) * 8e9));
    load.working_layer = 200 * units::GB;  // gone by then
    CHECK(logits() == Approx(200e9));
}

TEST_CASE("a loss over a vocabulary that ranks share has bytes of its own, fused or not", "[INV-21]") {
    FrameworkMemory memory = plain_memory();
    memory.logits_bytes.value = 4;
    memory.fused_logits_bytes.value = 3;
    StageLoad load;
    load.logits = 1e9;
    ParallelPlan plan;
    auto const logits = [&] { return stage_memory(load, plan, memory).logits.base(); };
    plan.tp = 2;
    CHECK(logits() == Approx(4e9));
    memory.split_logits_bytes.value = 10;
    CHECK(logits() == Approx(10e9));
    plan.tp = 1;
    CHECK(logits() == Approx(4e9));
    plan.fused_cross_entropy = Switch::on;
    CHECK(logits() == Approx(3e9));
    plan.tp = 2;
    CHECK(logits() == Approx(10e9));
}

TEST_CASE("ZeRO-3 gathers a framework's share of a layer at once", "[INV-21]") {
    FrameworkMemory memory = plain_memory();
    StageLoad load;
    load.largest_layer.dense = 1e9;
    ParallelPlan const plan{.dp = 8, .zero = 3};
    // Weights and gradients of a layer, and the weights of the next, in two bytes each.
    CHECK(stage_memory(load, plan, memory).buffers.base() == Approx(6e9));
    memory.gathered_share.value = 0.25;
    CHECK(stage_memory(load, plan, memory).buffers.base() == Approx(1.5e9));
    CHECK(stage_memory(load, {.dp = 8, .zero = 1}, memory).buffers.base() == 0);
}

namespace {

FrameworkMemory fsdp_memory() {
    FrameworkMemory memory = plain_memory();
    memory.weight_bytes.value = memory.gradient_bytes.value = 4;
    memory.master_bytes.value = 8;
    memory.reduce_buffer_bytes.value = 4;
    memory.frees_gradients.value = 1;
    return memory;
}

/// Eight layers of a billion, embedding and head of two and three.
StageLoad units_of_billions() {
    StageLoad load;
    load.parameters.dense = 13e9;
    load.largest_layer.dense = 1e9;
    load.ends.dense = 5e9;
    load.head.dense = 3e9;
    return load;
}

}  // namespace

TEST_CASE("units of FSDP are gathered, prefetched, and reduced from a buffer that stays until the next", "[INV-21]") {
    FrameworkMemory memory = fsdp_memory();
    StageLoad load = units_of_billions();
    load.microbatches = 2;
    load.ends.dense = 2e9;
    load.head.dense = 1.5e9;
    ParallelPlan const plan{.dp = 8, .zero = 3};
    auto const buffers = [&] { return stage_memory(load, plan, memory).buffers / units::GB; };
    // In a backward: weights, prefetched ones, gradients; the ends in one unit, gradients of the head; a buffer.
    CHECK(buffers() == Approx((2 + 2 + 2) * 1 + 2 * 2 + 2 * 1.5 + 4 * 1));
    load.logits = 4e9;  // at 6 bytes a loss holds more: ends, and the last layer prefetched
    CHECK(buffers() == Approx(2 * 2 + 2 * 1));
    load.logits = 0;
    memory.end_units.value = 1;
    // The head is reduced while the last layer goes backward.
    CHECK(buffers() == Approx((2 + 2 + 2) * 1 + 4 * 1.5));
    load.head.dense = 0.1e9;  // a layer's buffer is there when another one's activations are gone
    load.kept = 24 * units::GB;
    load.kept_by_layer = 3 * units::GB;
    CHECK(buffers() == Approx((2 + 2 + 2) * 1 + 4 * 1 - 3));
}

TEST_CASE("a backward under FSDP ends with the gradients of the last unit beside their buffer", "[INV-21]") {
    FrameworkMemory memory = fsdp_memory();
    memory.logits_bytes.value = 12;
    StageLoad load = units_of_billions();
    load.logits = 1e9;
    auto const allocated = [&](std::int64_t dp) {
        return stage_memory(load, {.dp = dp, .zero = 3}, memory).allocated() / units::GB;
    };
    // One device: gradients are as wide as the buffer, and there once the 16-bit ones are not.
    CHECK(allocated(1) == Approx(16 * 13 + 4 * 5));
    CHECK(allocated(2) == Approx(8 * 13 + 4 * 5));
    CHECK(allocated(64) == Approx(0.25 * 13 + (4 + 2 - 4.0 / 64) * 5));
    memory.end_units.value = 1;
    CHECK(allocated(1) == Approx(16 * 13 + 4 * 2));
    load.kept = 200 * units::GB;  // the forward's end holds more
    load.kept_by_layer = 25 * units::GB;
    CHECK(allocated(64) == Approx(12.0 / 64 * 13 + 200 + 2 * 1 + 2 * 1 + 2 * 1 + 4 * 3));
}

TEST_CASE("PyTorch's tensor parallelism has the gradient of the whole embedding before it is split", "[INV-21]") {
    FrameworkMemory memory = fsdp_memory();
    memory.end_units.value = 1;
    StageLoad const load = units_of_billions();
    ParallelPlan plan{.dp = 8, .zero = 3};
    plan.tp = 4;
    auto const allocated = [&] { return stage_memory(load, plan, memory).allocated() / units::GB; };
    // Beside 12 bytes of state: weights, prefetched ones and gradients of a layer, and the head's buffer.
    CHECK(allocated() == Approx(12.0 / 8 * 13 + 6 * 1 + 4 * 3));
    memory.whole_embedding_gradient.value = 1;
    // With all gradients but this unit's: the gradient of four parts, this rank's, its gathered weights, the buffer of
    // the last layer.
    CHECK(allocated() == Approx(16.0 / 8 * 13 - 4.0 / 8 * 2 + (2 * 4 + 2 + 2) * 2 + 4 * 1));
    plan.tp = 1;
    CHECK(allocated() == Approx(12.0 / 8 * 13 + 6 * 1 + 4 * 3));
}

TEST_CASE("a loss in chunks has the logits of one, and sums gradients of hidden states and of the output matrix",
          "[INV-21]") {
    FrameworkMemory memory = plain_memory();
    memory.logits_bytes.value = memory.logits_bytes_reserved.value = 6;
    StageLoad load;
    load.logits = 8e9;
    load.hidden_tokens = 0.25e9;
    load.microbatches = 4;
    ParallelPlan plan{.dp = 8};
    auto const logits = [&] { return stage_memory(load, plan, memory).logits / units::GB; };
    CHECK(logits() == Approx(6 * 8));
    plan.loss_chunks = 8;
    CHECK(logits() == Approx(6 * 1 + 4 * 0.25));
    plan.loss_chunks = 64;
    CHECK(logits() == Approx(6 * 0.125 + 4 * 0.25));
    plan.pp = 4;  // under gpipe the other microbatches have gradients of hidden states
    plan.schedule = Schedule::gpipe;
    CHECK(logits() == Approx(6 * 0.125 + 4 * 0.25 + 3 * 2 * 0.25));
    load.logits = 0;  // a stage without the head
    CHECK(logits() == 0);

    // FSDP: an fp32 sum of the matrix's gradient, and as the last chunk ends, the buffer that it is reduced from beside
    // a 16-bit gradient and those of its logits.
    memory = fsdp_memory();
    memory.logits_bytes.value = memory.logits_bytes_reserved.value = 4;
    memory.end_units.value = 1;
    load = units_of_billions();
    load.logits = 8e9;
    load.hidden_tokens = 0.25e9;
    load.microbatches = 2;
    plan = {.dp = 8, .zero = 3, .loss_chunks = 8};
    CHECK(logits() == Approx(4 * 3 + (4 + 2) * 3 + 2 * 1 + 4 * 0.25));
    plan.loss_chunks = 1;
    CHECK(logits() == Approx(4 * 8));
    plan.loss_chunks = 2;  // a chunk's logits and their gradients are more
    load.logits = 40e9;
    CHECK(logits() == Approx(4 * 3 + 4 * 20 + 4 * 0.25));
}

TEST_CASE("ZeRO 2 of FSDP holds shards, and 16-bit copies of all weights from forward to backward", "[INV-21]") {
    FrameworkMemory memory = fsdp_memory();
    StageLoad load = units_of_billions();
    load.kept = 100 * units::GB;
    load.logits = 10e9;
    StageMemory const two = stage_memory(load, {.dp = 8, .zero = 2}, memory);
    CHECK(two.weights / units::GB == Approx(4 * 13 / 8.0));
    CHECK(two.allocated() / units::GB == Approx(12 * 13 / 8.0 + 2 * 13 + 100 + 60));
    memory.reduce_buffer_bytes.value = 0;
    CHECK(stage_memory(load, {.dp = 8, .zero = 2}, memory).weights / units::GB == Approx(4 * 13));
}

TEST_CASE("FSDP in a pipeline holds shards, copies of all units, and gradients that are reduced at the end",
          "[INV-21]") {
    FrameworkMemory memory = fsdp_memory();
    memory.end_units.value = 1;
    StageLoad load = units_of_billions();
    load.head.dense = 0;
    load.microbatches = 8;
    load.kept = 100 * units::GB;
    ParallelPlan const plan{.dp = 64, .pp = 2, .zero = 1};
    StageMemory const m = stage_memory(load, plan, memory);
    CHECK(m.weights / units::GB == Approx(4 * 13 / 64.0));
    CHECK(m.gradients / units::GB == Approx(4 * 13));
    CHECK(m.optimizer / units::GB == Approx(8 * 13 / 64.0));
    CHECK(m.buffers / units::GB == Approx(2 * 13 + 2 * 1));  // copies, and 16-bit gradients of the layer at work
    load.kept = {};
    // No activations: the largest unit's buffer and shard, its copy is free.
    CHECK(stage_memory(load, plan, memory).buffers / units::GB == Approx(2 * 13 + (4 + 4 / 64.0 - 2) * 5));
    memory.bucket_bytes.value = 4;  // replicas of another kind
    CHECK(stage_memory(load, plan, memory).weights / units::GB == Approx(4 * 13));
}

TEST_CASE("products in fp8 with one scale read their weights transposed, except on Blackwells of data centres",
          "[INV-20]") {
    auto const copies = [](Precision precision, char const* name) {
        return narrow_copies_of(precision, find_accelerator(name, "test"));
    };
    for (char const* const name : {"h100-sxm", "l40s", "rtx-pro-6000"})
        CHECK(copies(Precision::fp8, name) == 2);
    CHECK(copies(Precision::fp8, "b200-sxm") == 1);
    CHECK(copies(Precision::mxfp8, "b200-sxm") == 2);
    CHECK(copies(Precision::bf16, "b200-sxm") == 0);
    StageLoad load;
    load.parameters.dense = 8e9;
    load.ends.dense = 1e9;
    load.narrow_copies = 1;
    ParallelPlan const plan{.precision = Precision::fp8, .narrow_copies = Switch::on};
    CHECK(stage_memory(load, plan, plain_memory()).weights.base() == Approx(2 * 8e9 + 7e9));
}

TEST_CASE("a fused loss of a compiler takes no more than another one", "[INV-21]") {
    FrameworkProfile const maxtext = find_framework("maxtext", "test");
    for (char const* const generation : {"hopper", "tpu"}) {
        FrameworkMemory const memory = on_generation(maxtext, generation).memory;
        CHECK(memory.fused_logits_bytes.value == memory.logits_bytes.value);
    }
}

TEST_CASE("experts that alone have copies are gathered and reduced, what is beside them is not", "[INV-20]") {
    // tp 8, ep 1: a group of 8 for every expert, none for the rest.
    StageLoad load;
    load.layers = 4;
    load.parameters = {.dense = 1e9, .expert = 8e9};
    load.largest_layer = {.dense = 0.25e9, .expert = 2e9};
    load.ends = {.dense = 0.1e9};
    FrameworkMemory memory = plain_memory();
    memory.bucket_bytes.value = 4;
    ParallelPlan plan{.tp = 8};
    auto const buffers = [&](int zero) {
        plan.zero = zero;
        return stage_memory(load, plan, memory).buffers.base();
    };
    CHECK(buffers(0) == Approx(4 * 8e9));
    CHECK(buffers(1) == Approx(4 * 8e9));
    CHECK(buffers(2) == Approx(2 * 2e9));  // buckets are of replicas
    CHECK(buffers(3) == Approx(6 * 2e9));
    plan.expert_tp = 8;  // no copies of anything
    for (int const zero : {0, 2, 3})
        CHECK(buffers(zero) == 0);
    plan = {.dp = 2, .tp = 8};
    CHECK(buffers(3) == Approx(6 * 2.25e9 + 4 * 0.1e9));
}

TEST_CASE("experts without copies are neither gathered nor reduced where the rest has copies", "[INV-20]") {
    // dp 8, ep 8: every rank has its own experts.
    StageLoad load;
    load.layers = 4;
    load.parameters = {.dense = 1e9, .expert = 8e9};
    load.largest_layer = {.dense = 0.25e9, .expert = 2e9};
    FrameworkMemory memory = plain_memory();
    memory.bucket_bytes.value = 4;
    memory.gather_bytes.value = 2;
    ParallelPlan plan{.dp = 8, .ep = 8};
    auto const buffers = [&](int zero) {
        plan.zero = zero;
        return stage_memory(load, plan, memory).buffers.base();
    };
    CHECK(buffers(0) == Approx(4 * 1e9));
    CHECK(buffers(1) == Approx(4 * 1e9 + 2 * (1 + 1.0 / 8) * 1e9));
    CHECK(buffers(2) == Approx(2 * 0.25e9));
    CHECK(buffers(3) == Approx(6 * 0.25e9));
    plan.ep = 4;
    CHECK(buffers(3) == Approx(6 * 2.25e9));
}

TEST_CASE("offload moves bytes to the host and loses none", "[INV-21]") {
    std::mt19937_64 random(seeded(4));
    for (int i = 0; i < 100; ++i) {
        StageLoad load = random_load(random);
        load.between_halves = {uniform(random, -1, 4), uniform(random, -1, 4), uniform(random, -1, 4)};
        ParallelPlan plan;
        plan.dp = 8;
        plan.zero = 1;
        StageMemory const all = stage_memory(load, plan, plain_memory());
        CHECK(all.host == Bytes{});
        for (Offload const offload : {Offload::optimizer, Offload::activations, Offload::optimizer_and_activations}) {
            plan.offload = offload;
            StageMemory const split = stage_memory(load, plan, plain_memory());
            CHECK((split.allocated() + split.host).base() == Approx(all.allocated().base()));
            CHECK(split.reserved() <= all.reserved());
        }
    }
}

TEST_CASE("gradients that go to the host with the optimizer leave those of one layer", "[INV-21]") {
    // ZeRO-Offload's own case: 13B parameters on one V100 of 32 GB.
    StageLoad load;
    load.layers = 40;
    load.parameters = {.dense = 13e9};
    load.largest_layer = {.dense = 0.32e9};
    FrameworkMemory const deepspeed = find_framework("deepspeed", "test").memory;
    ParallelPlan const plan{.offload = Offload::optimizer, .precision = Precision::fp16};
    StageMemory const away = stage_memory(load, plan, deepspeed);
    CHECK(away.gradients == Bytes{});
    CHECK(away.buffers / units::GB == Approx(2 * 0.32));
    CHECK(away.allocated() < 30 * units::GB);
    FrameworkMemory staying = deepspeed;
    staying.offloads_gradients.value = 0;
    StageMemory const here = stage_memory(load, plan, staying);
    CHECK(here.gradients > Bytes{});
    CHECK(here.gradients + here.host == away.host);
    CHECK(stage_memory(load, {.precision = Precision::fp16}, deepspeed).gradients == here.gradients);
}

TEST_CASE("DeepSpeed's ZeRO 1 has all gradients until the last microbatch is reduced, wherever the optimizer is",
          "[INV-21]") {
    FrameworkMemory const deepspeed = find_framework("deepspeed", "test").memory;
    StageLoad load;
    load.layers = 32;
    load.parameters = {.dense = 8e9};
    load.largest_layer = {.dense = 0.2e9};
    auto const gradients = [&](int zero, double microbatches) {
        load.microbatches = microbatches;
        return stage_memory(load, {.dp = 8, .zero = zero, .offload = Offload::optimizer}, deepspeed).gradients /
               units::GB;
    };
    CHECK(gradients(1, 8) == Approx(2 * 8));
    CHECK(gradients(1, 1) == 0);
    CHECK(gradients(2, 8) == 0);
    CHECK(gradients(3, 8) == 0);
}

TEST_CASE("on one device the gradients of one layer are there on their way to the host, whatever the ZeRO stage",
          "[INV-21]") {
    FrameworkMemory deepspeed = find_framework("deepspeed", "test").memory;
    deepspeed.reduce_bucket_layers.value = 0;
    StageLoad load;
    load.parameters = {.dense = 8e9};
    load.largest_layer = {.dense = 0.2e9};
    for (int const zero : {0, 1, 2, 3}) {
        CAPTURE(zero);
        StageMemory const m = stage_memory(load, {.zero = zero, .offload = Offload::optimizer}, deepspeed);
        CHECK(m.gradients == Bytes{});
        CHECK(m.buffers / units::GB == Approx(2 * 0.2));
    }
}

TEST_CASE("DeepSpeed's host holds fp32 weights, gradients and moments, and buffers of 16 bits", "[INV-20]") {
    FrameworkMemory const deepspeed = find_framework("deepspeed", "test").memory;
    for (Precision const precision : {Precision::bf16, Precision::fp16})
        for (int const zero : {1, 2, 3})
            for (double const microbatches : {1.0, 4.0}) {
                ParallelPlan plan{.dp = 8, .zero = zero, .offload = Offload::optimizer, .precision = precision};
                CAPTURE(name_of(precision), zero, microbatches);
                double const summed = zero <= 2 && microbatches > 1 ? 2 : 0;
                auto const host = [&] { return 8 * state_bytes(deepspeed, plan, 8, microbatches).host; };
                CHECK(host() == Approx(4 + 4 + 8 + 2 + summed));
                plan.optimizer = Optimizer::sgd;
                CHECK(host() == Approx(4 + 4 + 4 + 2 + summed));
            }
}

TEST_CASE("parameters in host memory leave the device what is gathered, and no byte is lost", "[INV-21]") {
    std::mt19937_64 random(seeded(41));
    for (char const* const name : {"deepspeed", "fsdp", "torchtitan", "pytorch"})
        for (int i = 0; i < 50; ++i) {
            FrameworkMemory memory = find_framework(name, "test").memory;
            memory.reduce_bucket_layers.value = 0;
            StageLoad load = random_load(random);
            load.microbatches = 2;
            ParallelPlan plan{.dp = 8, .zero = 3};
            StageMemory const here = stage_memory(load, plan, memory);
            plan.offload = Offload::optimizer;
            Bytes const optimizer = stage_memory(load, plan, memory).host;
            plan.offload = Offload::parameters;
            StageMemory const away = stage_memory(load, plan, memory);
            CAPTURE(name, i);
            CHECK(away.state() == Bytes{});
            // Gradients have an fp32 copy in DeepSpeed's host memory, wherever the weights are.
            bool const copied = memory.offloads_gradients.value > 0;
            Bytes const expected = copied ? here.weights + optimizer : here.state();
            CHECK(away.host.base() == Approx(expected.base()));
            // Beside what is gathered: a layer's shard, and that of its gradients.
            double const shard =
                load.largest_layer.dense / dense_shards(plan) + load.largest_layer.expert / expert_shards(plan);
            double const passing = (memory.weight_bytes.value + 4) * shard;
            double const gathering = (here.allocated() - here.state()).base();
            CHECK(away.allocated().base() >= gathering * (1 - 1e-9));
            CHECK(away.allocated().base() <= (gathering + passing) * (1 + 1e-9));
        }
}

TEST_CASE("on one device what is gathered of parameters in host memory is there, too", "[INV-21]") {
    FrameworkMemory deepspeed = find_framework("deepspeed", "test").memory;
    deepspeed.reduce_bucket_layers.value = 0;
    StageLoad load;
    load.layers = 40;
    load.parameters = {.dense = 13e9};
    load.largest_layer = {.dense = 0.3e9};
    load.ends = {.dense = 0.2e9};
    ParallelPlan const plan{.zero = 3, .offload = Offload::parameters};
    StageMemory const m = stage_memory(load, plan, deepspeed);
    CHECK(m.state() == Bytes{});
    // Two layers and the gradients of one, a shard of weights and of fp32 gradients; the ends and their gradients.
    CHECK(m.buffers / units::GB == Approx((3 * 2 + 2 + 4) * 0.3 + 4 * 0.2));
    CHECK(m.host / units::GB == Approx((4 + 4 + 8 + 2 + 2) * 13));
}

TEST_CASE("frozen weights are in host memory with the parameters", "[INV-21]") {
    FrameworkMemory const memory = find_framework("fsdp", "test").memory;
    StageLoad load;
    load.layers = 32;
    load.frozen.plain = {.dense = 8e9};
    ParallelPlan plan{.dp = 8, .zero = 3};
    plan.adapters = {.rank = 16, .targets = adapter_targets_from("all", "test")};
    CHECK(stage_memory(load, plan, memory).weights / units::GB == Approx(2));
    plan.offload = Offload::parameters;
    CHECK(stage_memory(load, plan, memory).weights == Bytes{});
    CHECK(stage_memory(load, plan, memory).host / units::GB == Approx(2));
}

TEST_CASE("DeepSpeed reduces gradients from buckets of its own, two in turn below ZeRO 3", "[INV-21]") {
    FrameworkMemory deepspeed = find_framework("deepspeed", "test").memory;
    REQUIRE(deepspeed.reduce_bucket_layers.value == 1);
    StageLoad load;
    load.layers = 32;
    load.parameters = {.dense = 8e9};
    load.largest_layer = {.dense = 0.2e9};
    load.kept = 100 * units::GB;  // what comes without activations does not count
    auto const more = [&](ParallelPlan const& plan, double layers) {
        deepspeed.reduce_bucket_layers.value = 0;
        Bytes const without = stage_memory(load, plan, deepspeed).buffers;
        deepspeed.reduce_bucket_layers.value = layers;
        return (stage_memory(load, plan, deepspeed).buffers - without) / units::GB;
    };
    CHECK(more({.dp = 8, .zero = 0}, 1) == 0);
    CHECK(more({.dp = 8, .zero = 1}, 1) == Approx((2 + 1) * 2 * 0.2));  // buckets, and a flat copy of one
    CHECK(more({.dp = 8, .zero = 2}, 2.5) == Approx((2 + 1) * 2 * 0.5));
    CHECK(more({.dp = 8, .zero = 2}, 100) == Approx(2 * 2 * 20 + 2 * 8));  // a copy of what there is
    CHECK(more({.dp = 8, .zero = 3}, 1) == Approx((1 + 1) * 2 * 0.2));
    CHECK(more({.zero = 2, .offload = Offload::optimizer}, 1) == Approx((1 + 1) * 2 * 0.2));
    CHECK(more({.dp = 8, .pp = 2, .zero = 1}, 1) == 0);  // reduced when activations are gone
}

TEST_CASE("units of FSDP shard frozen weights under ZeRO 2, too, and hold all of them gathered while passes run",
          "[INV-21]") {
    FrameworkMemory memory = fsdp_memory();
    StageLoad load = units_of_billions();
    load.parameters.dense = 0;
    load.largest_layer.dense = load.ends.dense = load.head.dense = 0;
    load.frozen.plain.dense = 13e9;
    load.kept = 100 * units::GB;
    ParallelPlan const plan{.dp = 8, .zero = 2, .adapters = {.rank = 16}};
    StageMemory const m = stage_memory(load, plan, memory);
    CHECK(m.weights / units::GB == Approx(2 * 13 / 8.0));
    CHECK(m.buffers / units::GB == Approx(2 * 13));
    memory.reduce_buffer_bytes.value = 0;  // ZeRO 2 of others has them whole
    StageMemory const whole = stage_memory(load, plan, memory);
    CHECK(whole.weights / units::GB == Approx(2 * 13));
    CHECK(whole.buffers == Bytes{});
}

TEST_CASE("of offloaded activations there stay two layers of each pass that runs, and what weight halves wait with",
          "[INV-21]") {
    StageLoad load;
    load.layers = 8;
    load.kept_by_layer = 1 * units::GB;
    load.kept = load.offloaded = 8 * units::GB;
    load.in_flight = 4;
    ParallelPlan plan;
    plan.offload = Offload::activations;
    auto const staying = [&](double alone, double beside_one, double beside_pair) {
        load.between_halves = {alone, beside_one, beside_pair};
        return stage_memory(load, plan, plain_memory()).activations.in(units::GB);
    };
    CHECK(staying(-1, 0, -1) == Approx(2));
    CHECK(staying(-1, 0, 0) == Approx(4));
    CHECK(staying(1, 0, -1) == Approx(8));
    CHECK(staying(2, 2, -1) == Approx(18));
    CHECK(staying(2, 1, 0.5) == Approx(16));
    CHECK(staying(4, 4, -1) == Approx(32));  // no more than there is
    load.offloaded = 4 * units::GB;          // that of half the layers, each as large as before
    load.offloaded_share = 0.5;
    CHECK(staying(-1, 0, -1) == Approx(4 * 4 + 2));
    load.offloaded_share = 1;
    load.offloaded = 2 * units::GB;  // a quarter of what is kept: the rest stays as it is
    CHECK(staying(-1, 0, -1) == Approx(4 * 6 + 0.25 * 2));
    CHECK(staying(2, 1, 0.5) == Approx(4 * 6 + 0.25 * 16));
    CHECK(stage_memory(load, plan, plain_memory()).host.in(units::GB) == Approx(0.25 * 16));
    load.offloaded = {};
    CHECK(staying(-1, 0, -1) == Approx(32));
}

namespace {

/// A billion parameters, of which nothing is sharded.
StageLoad billion(double kept_gb) {
    StageLoad load;
    load.parameters.dense = 1e9;
    load.kept = kept_gb * units::GB;
    return load;
}

}  // namespace

TEST_CASE("gradients that are freed with the update count as far as they exceed what their backward frees",
          "[INV-21]") {
    FrameworkMemory framework = find_framework("fsdp", "test").memory;
    REQUIRE(framework.frees_gradients.value == 1);
    ParallelPlan plan{.zero = 0};
    StageLoad load = billion(1);
    StageMemory const freed = stage_memory(load, plan, framework);
    framework.frees_gradients.value = 0;
    StageMemory const kept = stage_memory(load, plan, framework);
    CHECK(kept.gradients > 1 * units::GB);
    CHECK((kept.gradients - freed.gradients) / units::GB == Approx((kept.activations + kept.logits) / units::GB));
    CHECK(freed.activations / units::GB == Approx(1));

    framework.frees_gradients.value = 1;
    load.kept = 100 * units::GB;
    CHECK(stage_memory(load, plan, framework).gradients == Bytes{});
    load.microbatches = 2;  // the second adds to those of the first
    CHECK(stage_memory(load, plan, framework).gradients == kept.gradients);
    load.microbatches = 1;
    plan.pp = 2;
    CHECK(stage_memory(load, plan, framework).gradients == kept.gradients);
    CHECK(find_framework("megatron", "test").memory.frees_gradients.value == 0);
}

TEST_CASE("autocast's copies of weights are there with the activations, and gradients take their place", "[INV-21]") {
    FrameworkMemory const framework = find_framework("pytorch", "test").memory;
    ParallelPlan plan{.zero = 0};
    auto const state_and_copies = [&](double kept_gb) {
        StageMemory const m = stage_memory(billion(kept_gb), plan, framework);
        return (m.allocated() - m.workspaces) / units::GB;
    };
    CHECK(state_and_copies(0.5) == Approx(16));        // the update's: weights, gradients, moments
    CHECK(state_and_copies(7) == Approx(12 + 2 + 7));  // the end of the forward pass
    plan.optimizer = Optimizer::adamw_pure_bf16;
    CHECK(state_and_copies(7) == Approx(2 + 4 + 7));
    plan.optimizer = Optimizer::adamw;
    plan.precision = Precision::fp32;
    CHECK(state_and_copies(7) == Approx(12 + 7));
}

TEST_CASE("gradients of layers that are scanned over take the place of logits, but not of activations", "[INV-21]") {
    FrameworkMemory const framework = find_framework("maxtext", "test").memory;
    REQUIRE(framework.stacks_layers.value == 1);
    ParallelPlan const plan{.zero = 0};
    StageLoad load = billion(3);
    auto const gradients = [&] { return stage_memory(load, plan, framework).gradients / units::GB; };
    CHECK(gradients() == Approx(4));
    load.logits = 0.5e9;  // 6 bytes each
    CHECK(gradients() == Approx(1));
    load.working_layer = 2 * units::GB;  // beside the gradients, not beside the logits
    CHECK(gradients() == Approx(3));
}

TEST_CASE("MaxText's buffers of routed tokens hold what one rank of an expert group could get at most", "[INV-21]") {
    ModelSpec const model = find_model("qwen3-30b-a3b");  // 8 of 128 experts
    FrameworkMemory framework = find_framework("maxtext", "test").memory;
    auto const kept = [&](std::int64_t ep) {
        ParallelPlan const plan{.dp = 64, .ep = ep, .zero = 3};
        return build_blocks(model, plan, SequenceShape(4096))
            .layers.front()
            .kept(Recompute::none, kept_formats(framework));
    };
    Bytes const one = kept(1);
    Bytes const worst = kept(8) - one;
    CHECK((kept(64) - one) / worst == Approx((64.0 * 2 / 8 - 1) / (8 - 1)));  // two experts a rank
    framework.worst_case_experts = known(0.0);
    CHECK(kept(8) == one);
    CHECK(worst > Bytes{});
}

TEST_CASE("Megatron-Core keeps what experts read and activate, and neither their outputs nor copies", "[INV-21]") {
    FrameworkMemory framework = find_framework("megatron", "test").memory;
    ModelSpec const model = find_model("qwen3-30b-a3b");  // 8 of 128 experts, gated
    ParallelPlan plan{.dp = 8, .ep = 8};
    auto const kept = [&] {
        return build_blocks(model, plan, SequenceShape(4096))
            .layers.front()
            .kept(Recompute::none, kept_formats(framework))
            .base();
    };
    double const exchanged = kept();
    framework.routed_token_bytes = known(2.0);  // releases before 0.12
    CHECK(kept() - exchanged == 2.0 * 4096 * 8 * 2048);
    plan.dispatcher = Dispatcher::deduplicated;
    CHECK(kept() == exchanged);
}

TEST_CASE("XLA's plan for TPUs: shards cast, gradients from the start, the output matrix or the logits", "[INV-21]") {
    FrameworkMemory const framework = on_generation(find_framework("maxtext", "test"), "tpu").memory;
    ParallelPlan plan{.dp = 8, .zero = 3};
    StageLoad load = billion(3);
    load.parameters.dense = 1.25e9;
    load.ends.dense = 0.25e9;
    load.head.dense = load.head.embedding = 0.125e9;
    auto const beside_state = [&] {
        StageMemory const m = stage_memory(load, plan, framework);
        CHECK(m.gradients / units::GB == Approx(4 * 1.25 / 8));
        return (m.allocated() - m.state() - m.activations - m.workspaces) / units::GB;
    };
    double const cast = 2 * 1.0 / 8;
    CHECK(beside_state() == Approx(cast));
    load.logits = 0.2e9;  // their gradients, and the matrix with its own: 0.4 + 0.5; logits alone: 0.8
    CHECK(beside_state() == Approx(cast + 0.9));
    load.logits = 0.4e9;
    CHECK(beside_state() == Approx(cast + 1.6));
    load.working_layer = 4 * units::GB;
    load.kept_by_layer = 1 * units::GB;
    CHECK(beside_state() == Approx(cast + 4 + framework.working_gradient_share.value * 5));
    load.moe_layers = 1;
    CHECK(beside_state() == Approx(cast + 4));
    plan.precision = Precision::fp32;
    CHECK(beside_state() == Approx(4));
}

TEST_CASE("activations grow with the microbatches in flight, nothing else does", "[INV-21]") {
    std::mt19937_64 random(seeded(5));
    for (int i = 0; i < 100; ++i) {
        StageLoad load = random_load(random);
        StageMemory const before = stage_memory(load, {}, plain_memory());
        load.in_flight += 1;
        StageMemory const after = stage_memory(load, {}, plain_memory());
        CHECK((after.activations - before.activations).base() == Approx(load.kept.base()));
        CHECK(after.state() == before.state());
        CHECK(after.logits == before.logits);
    }
}

TEST_CASE("the parts add up, and the reserved range holds the typical figure", "[INV-21]") {
    std::mt19937_64 random(seeded(6));
    for (int i = 0; i < 200; ++i) {
        FrameworkMemory framework = plain_memory();
        framework.reserved_low = known(0.9);
        framework.reserved_typical = known(uniform(random, 1.0, 1.2));
        framework.reserved_high = known(1.3);
        framework.context = known(1.0 * units::GB);
        framework.constant = known(0.1 * units::GB);
        framework.bucket_bytes = known(2.0);
        ParallelPlan plan;
        plan.dp = pick<std::int64_t>(random, {1, 8});
        plan.zero = plan.dp > 1 ? static_cast<int>(random() % 4) : 0;
        StageMemory const m = stage_memory(random_load(random), plan, framework);
        CHECK(m.allocated() ==
              m.weights + m.gradients + m.optimizer + m.activations + m.logits + m.buffers + m.workspaces);
        CHECK(m.reserved() == m.allocated() + m.slack);
        CHECK(m.reserved_low >= m.allocated());
        CHECK(m.reserved_low <= m.reserved());
        CHECK(m.reserved() <= m.reserved_high);
        for (Bytes const part :
             {m.weights, m.gradients, m.optimizer, m.activations, m.logits, m.buffers, m.workspaces, m.slack, m.host})
            CHECK(part >= Bytes{});
    }
}

TEST_CASE("state in fp32 and tf32: weights, gradients and two moments of four bytes, whatever the framework mixes") {
    for (FrameworkProfile const& framework : all_frameworks())
        for (Precision const precision : {Precision::fp32, Precision::tf32}) {
            ParallelPlan plan{.dp = 8};
            plan.zero = 1;
            plan.precision = precision;
            CAPTURE(framework.name);
            StateBytes const bytes = state_bytes(framework.memory, plan, 8);
            bool const sharded = shards_weights(plan, framework.memory);
            CHECK(bytes.weights == Approx(sharded ? 4.0 / 8 : 4));
            CHECK(bytes.gradients == Approx(4));
            CHECK(bytes.optimizer == Approx(1));
            plan.zero = 3;
            StateBytes const all = state_bytes(framework.memory, plan, 8);
            CHECK(all.weights + all.gradients + all.optimizer == Approx(16.0 / 8));
        }
}
