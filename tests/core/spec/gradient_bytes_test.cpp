#include "core/spec/gradient_bytes.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "tests/catch.hpp"

using namespace sextant;

namespace {

struct Of {
    explicit Of(char const* framework, ParallelPlan const& plan = {}) {
        FrameworkProfile const profile = find_framework(framework, "test");
        kept = kept_gradients(profile.memory);
        traffic = gradient_traffic(timing_for(profile, "hopper", plan.precision), kept, plan);
    }
    KeptGradients kept;
    GradientTraffic traffic{};
};

}  // namespace

TEST_CASE("gradients in fp16 are sent and added in the bytes that they are kept in") {
    ParallelPlan const fp16{.precision = Precision::fp16};
    CHECK(Of("megatron").traffic.sent == 4);
    CHECK(Of("megatron").traffic.added == 6);  // the fp32 sum is read and written in place of 16 bits
    Of const megatron("megatron", fp16);
    CHECK(megatron.kept.bytes(fp16) == 2);
    CHECK(megatron.traffic.sent == 2);
    CHECK(megatron.traffic.added == 2);
    CHECK(megatron.traffic.reduced == 0);       // as wide as they are sent
    CHECK(megatron.kept.fp16_copy_bytes == 4);  // what its optimizer makes of them
    // Two bytes and an fp32 copy of four are kept; two are sent.
    CHECK(Of("deepspeed", fp16).kept.bytes(fp16) == 6);
    CHECK(Of("deepspeed", fp16).traffic.sent == 2);
    CHECK(Of("pytorch", fp16).traffic.sent == 4);
    // Four-byte products have nothing to widen.
    CHECK(Of("megatron", {.precision = Precision::fp32}).traffic.reduced == 0);
    CHECK(Of("deepspeed", {.precision = Precision::fp32}).traffic.sent == 4);
}

TEST_CASE("Megatron's optimizers work on an fp32 copy of 16-bit gradients, unless they are precision-aware") {
    ParallelPlan plan{.gradients = GradientFormat::bf16};
    auto const copy = [&](char const* framework) { return Of(framework, plan).kept.copy_bytes(plan); };
    CHECK(copy("megatron") == 4);
    for (char const* const framework : {"pytorch", "fsdp", "torchtitan", "nanotron", "maxtext", "generic"})
        CHECK(copy(framework) == 0);
    plan.optimizer = Optimizer::sgd;
    CHECK(copy("megatron") == 4);
    for (Optimizer const other : {Optimizer::adamw_bf16, Optimizer::adamw_8bit, Optimizer::adamw_pure_bf16}) {
        plan.optimizer = other;
        CHECK(copy("megatron") == 0);
    }
    plan.optimizer = Optimizer::adamw;
    plan.offload = Offload::optimizer;
    CHECK(copy("megatron") == 0);
    plan.offload = Offload::none;
    plan.gradients = GradientFormat::usual;
    CHECK(copy("megatron") == 0);  // they are in fp32 as they are
    plan.precision = Precision::fp16;
    CHECK(copy("megatron") == 4);
}

TEST_CASE("of fp32 weights Megatron's precision-aware optimizer keeps what bf16 ones lack") {
    ParallelPlan plan{.optimizer = Optimizer::adamw_bf16};
    auto const less = [&](char const* framework) { return Of(framework, plan).kept.remainder_saving(plan); };
    CHECK(less("megatron") == 2);
    CHECK(less("torchtitan") == 0);
    CHECK(less("deepspeed") == 0);
    plan.precision = Precision::mxfp8;
    CHECK(less("megatron") == 0);
    plan = {.optimizer = Optimizer::adamw};
    CHECK(less("megatron") == 0);
}

TEST_CASE("main gradients are a buffer where they are wider than the weights, else PyTorch's .grad") {
    for (char const* const framework : {"megatron", "nanotron", "generic"})
        CHECK(Of(framework).kept.buffered());
    for (char const* const framework : {"pytorch", "transformers", "fsdp", "torchtitan", "deepspeed", "maxtext"})
        CHECK_FALSE(Of(framework).kept.buffered());
}

TEST_CASE("a gradient that no product adds is read again, and the sum with it") {
    CHECK(Of("megatron").traffic.added_apart == 2 + 4 + 4);
    CHECK(Of("megatron", {.gradients = GradientFormat::bf16}).traffic.added_apart == 2 + 2 + 2);
    CHECK(Of("nanotron").traffic.added_apart == 2 + 4 + 4);
    CHECK(Of("deepspeed").traffic.added_apart == 2 + 2 + 2);  // so are those of products
    CHECK(Of("pytorch").traffic.added_apart == 4 + 4 + 4);
    CHECK(Of("maxtext").traffic.added_apart == 0);  // one microbatch
    CHECK(Of("megatron").traffic.reduced_apart == 2 + 4);
    CHECK(Of("deepspeed").traffic.reduced_apart == 0);
}

TEST_CASE("gradients that go to host memory stay on the device until ZeRO reduces them") {
    ParallelPlan plan{.dp = 8, .offload = Offload::optimizer};
    auto const leave = [&](char const* framework, int zero, double microbatches) {
        plan.zero = zero;
        return Of(framework, plan).kept.leave(plan, microbatches);
    };
    CHECK_FALSE(leave("deepspeed", 0, 8));
    CHECK_FALSE(leave("deepspeed", 1, 8));
    CHECK(leave("deepspeed", 1, 1));
    CHECK(leave("deepspeed", 2, 8));
    CHECK(leave("deepspeed", 3, 8));
    for (char const* const framework : {"megatron", "fsdp", "pytorch"})
        CHECK_FALSE(leave(framework, 2, 1));
    plan.offload = Offload::none;
    CHECK_FALSE(leave("deepspeed", 2, 1));
    plan = {.offload = Offload::optimizer, .precision = Precision::fp16};
    CHECK(Of("deepspeed", plan).kept.bytes(plan) == 2);  // the host has the rest
}

TEST_CASE("DeepSpeed sends gradients in fp32 where sequences are divided, and updates from 16 bits") {
    CHECK(Of("deepspeed", {.dp = 4}).traffic.sent == 2);
    GradientTraffic const divided = Of("deepspeed", {.dp = 4, .cp = 2}).traffic;
    CHECK(divided.sent == 4);
    CHECK(divided.updated == 2);
    CHECK(divided.reduced == 2 + 4);
    CHECK(Of("deepspeed", {.dp = 4, .cp = 2, .gradients = GradientFormat::bf16}).traffic.sent == 2);
    CHECK(Of("nanotron", {.dp = 4, .cp = 2}).traffic.sent == Of("nanotron").traffic.sent);
}

TEST_CASE("FSDP reduces gradients in fp32, in bf16 where that is asked for, and adds them up in either alike") {
    ParallelPlan const narrow{.gradients = GradientFormat::bf16};
    for (char const* const framework : {"fsdp", "torchtitan", "pytorch", "transformers"}) {
        CAPTURE(framework);
        CHECK(Of(framework).traffic.sent == 4);
        CHECK(Of(framework, narrow).traffic.sent == 2);
        CHECK(Of(framework, narrow).traffic.added == Of(framework).traffic.added);
        CHECK(Of(framework, narrow).traffic.reduced == 0);
    }
}
