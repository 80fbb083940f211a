#include "core/ops/work.hpp"

#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>

using namespace sextant;

namespace {

Op op_of(auto what) { return Op{.name = "op", .what = what}; }

Gemm random_gemm(std::mt19937_64& random) {
    auto const size = [&] { return static_cast<std::int64_t>(1 + random() % 20000); };
    return {.m = size(),
            .n = size(),
            .k = size(),
            .precision = fixtures::pick(random, {Precision::bf16, Precision::fp32, Precision::fp8})};
}

Attention square(std::int64_t batch, std::int64_t heads, std::int64_t tokens, std::int64_t head_dim) {
    return {.batch = batch,
            .heads = heads,
            .kv_heads = heads,
            .queries = tokens,
            .keys = tokens,
            .head_dim = head_dim,
            .value_head_dim = head_dim};
}

}  // namespace

TEST_CASE("work_of: a matrix product costs 2 m n k forward and twice that backward", "[INV-3]") {
    std::mt19937_64 random(fixtures::seeded(1));
    for (int i = 0; i < 200; ++i) {
        Gemm const g = random_gemm(random);
        CAPTURE(g.m, g.n, g.k);
        double const expected = 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
        CHECK(work_of(op_of(g), Pass::forward).executed.base() == expected);
        CHECK(work_of(op_of(g), Pass::backward).executed.base() == 2 * expected);
        CHECK(work_of(op_of(g), Pass::forward).model == work_of(op_of(g), Pass::forward).executed);
    }
}

TEST_CASE("work_of: a bf16 product of 1024 x 4096 x 512 moves each operand once", "[INV-3]") {
    Gemm const g{.m = 1024, .n = 4096, .k = 512};
    // Forward: x 1024*512, w 512*4096, y 1024*4096 elements of two bytes.
    CHECK(work_of(op_of(g), Pass::forward).moved.base() == 2.0 * (524288 + 2097152 + 4194304));
    // Backward: dY twice, W, X read; dX, dW written.
    CHECK(work_of(op_of(g), Pass::backward).moved.base() == 2.0 * (2 * 4194304 + 2 * 2097152 + 2 * 524288));
}

TEST_CASE("work_of: fp8 operands are half of bf16's bytes, results stay at two", "[INV-3]") {
    Gemm const wide{.m = 1024, .n = 4096, .k = 512};
    Gemm narrow = wide;
    narrow.precision = Precision::fp8;
    double const operands = 2.0 * (524288 + 2097152);
    CHECK((work_of(op_of(wide), Pass::forward).moved - work_of(op_of(narrow), Pass::forward).moved).base() ==
          operands / 2);
    CHECK(work_of(op_of(wide), Pass::forward).executed == work_of(op_of(narrow), Pass::forward).executed);
}

TEST_CASE("work_of: a grouped product is as much work as its groups one by one", "[INV-3]") {
    std::mt19937_64 random(fixtures::seeded(2));
    for (int i = 0; i < 100; ++i) {
        Gemm const one = random_gemm(random);
        auto const groups = static_cast<std::int64_t>(1 + random() % 64);
        GroupedGemm const all{
            .groups = groups, .m = groups * one.m, .n = one.n, .k = one.k, .precision = one.precision};
        for (Pass const pass : {Pass::forward, Pass::backward}) {
            CHECK(work_of(op_of(all), pass).executed.base() ==
                  Approx(static_cast<double>(groups) * work_of(op_of(one), pass).executed.base()));
            CHECK(work_of(op_of(all), pass).moved.base() ==
                  Approx(static_cast<double>(groups) * work_of(op_of(one), pass).moved.base()));
        }
    }
}

TEST_CASE("work_of: experts of unequal load are as much work as equal ones", "[INV-3]") {
    GroupedGemm const equal{.groups = 8, .m = 8192, .n = 4096, .k = 2048};
    GroupedGemm unequal = equal;
    unequal.busiest = 1.5;
    CHECK(unequal.busiest_rows() == 12288);
    for (Pass const pass : {Pass::forward, Pass::backward})
        CHECK(work_of(op_of(unequal), pass).executed == work_of(op_of(equal), pass).executed);
}

TEST_CASE("work_of: attention counts 4 b s^2 h FLOPs forward; a causal flash kernel runs half of them", "[INV-3]") {
    std::mt19937_64 random(fixtures::seeded(3));
    for (int i = 0; i < 100; ++i) {
        auto const batch = static_cast<std::int64_t>(1 + random() % 8);
        auto const heads = static_cast<std::int64_t>(1 + random() % 128);
        auto const tokens = static_cast<std::int64_t>(128 * (1 + random() % 64));
        Attention const a = square(batch, heads, tokens, fixtures::pick<std::int64_t>(random, {64, 128}));
        double const hidden = static_cast<double>(a.heads * a.head_dim);
        double const full =
            4.0 * static_cast<double>(batch) * static_cast<double>(tokens) * static_cast<double>(tokens) * hidden;
        Work const forward = work_of(op_of(a), Pass::forward);
        Work const backward = work_of(op_of(a), Pass::backward);
        CHECK(forward.model.base() == Approx(full));
        CHECK(forward.executed.base() == Approx(full / 2));
        CHECK(backward.model.base() == Approx(2 * full));
        CHECK(backward.executed.base() == Approx(2.5 * full / 2));  // the scores are computed again
    }
}

TEST_CASE("work_of: unfused attention runs the masked half too and moves the score matrix", "[INV-3]") {
    Attention const flash = square(2, 16, 2048, 64);
    Attention unfused = flash;
    unfused.kernel = AttentionKernel::unfused;
    CHECK(work_of(op_of(unfused), Pass::forward).executed == work_of(op_of(unfused), Pass::forward).model);
    CHECK(work_of(op_of(unfused), Pass::backward).executed.base() ==
          Approx(2 * work_of(op_of(unfused), Pass::forward).executed.base()));
    auto const bytes_per_score = [&](AttentionKernel kernel, Switch dropout, Pass pass) {
        Attention a = flash;
        a.dropout = dropout;
        Bytes const fused = work_of(op_of(a), pass).moved;
        a.kernel = kernel;
        return (work_of(op_of(a), pass).moved - fused).base() / (2.0 * 16 * 2048 * 2048);
    };
    // Forward: written, read by half and written by mask and softmax, read. Backward: two reads beside the gradient's
    // write and two reads, and the softmax's two reads of half and its write.
    CHECK(bytes_per_score(AttentionKernel::unfused, Switch::off, Pass::forward) == Approx(2 + 1 + 2 + 2));
    CHECK(bytes_per_score(AttentionKernel::unfused, Switch::off, Pass::backward) == Approx(2 + 2 + 2 + 2 + 4));
    for (Pass const pass : {Pass::forward, Pass::backward})
        for (AttentionKernel const kernel : {AttentionKernel::unfused, AttentionKernel::eager})
            CHECK(bytes_per_score(kernel, Switch::on, pass) == Approx(bytes_per_score(kernel, Switch::off, pass) + 5));
    // In fp32 and back (6 each), scaled, masked and normalised in between (8 each, the softmax's gradient 12).
    CHECK(bytes_per_score(AttentionKernel::eager, Switch::off, Pass::forward) == Approx(4 + 12 + 24));
    CHECK(bytes_per_score(AttentionKernel::eager, Switch::off, Pass::backward) == Approx(8 + 12 + 16 + 12));
    // A softmax that knows of no mask reads the other half as well.
    Attention whole = unfused;
    whole.causal = Switch::off;
    double const scores = 2.0 * 16 * 2048 * 2048;
    CHECK((softmax_bytes(whole, Pass::forward) - softmax_bytes(unfused, Pass::forward)).base() == Approx(scores));
    CHECK((softmax_bytes(whole, Pass::backward) - softmax_bytes(unfused, Pass::backward)).base() == Approx(2 * scores));
}

TEST_CASE("causal_fraction: agrees with counting the keys of every query", "[INV-3]") {
    std::mt19937_64 random(fixtures::seeded(4));
    for (int i = 0; i < 100; ++i) {
        Attention a = square(1, 1, static_cast<std::int64_t>(16 + random() % 4096), 64);
        a.window = random() % 3 == 0 ? 0 : static_cast<std::int64_t>(1 + random() % 5000);
        a.past = random() % 2 == 0 ? 0 : static_cast<std::int64_t>(random()) % a.keys;
        a.past = std::max<std::int64_t>(a.past, 0);
        double seen = 0;
        for (std::int64_t query = a.past + 1; query <= a.keys; ++query)
            seen += static_cast<double>(std::min(query, attended_keys(a)));
        double const counted = seen / static_cast<double>(a.keys - a.past) / static_cast<double>(attended_keys(a));
        CAPTURE(a.keys, a.window, a.past);
        CHECK(causal_fraction(a) == Approx(counted).margin(0.51 / static_cast<double>(a.keys)));
        a.causal = Switch::off;
        CHECK(causal_fraction(a) == 1);
    }
}

TEST_CASE("work_of: a window no shorter than the sequence changes nothing, a shorter one is less work", "[INV-3]") {
    Attention const full = square(1, 8, 4096, 128);
    Attention wide = full;
    wide.window = 4096;
    Attention narrow = full;
    narrow.window = 1024;
    CHECK(work_of(op_of(wide), Pass::forward).executed == work_of(op_of(full), Pass::forward).executed);
    CHECK(work_of(op_of(narrow), Pass::forward).executed < work_of(op_of(full), Pass::forward).executed);
    CHECK(work_of(op_of(narrow), Pass::forward).model.base() ==
          Approx(work_of(op_of(full), Pass::forward).model.base() / 4));
    // Scores in memory are those of all keys: the window is a mask on them.
    for (AttentionKernel const kernel : {AttentionKernel::unfused, AttentionKernel::eager})
        for (Pass const pass : {Pass::forward, Pass::backward}) {
            Attention whole = full, windowed = narrow;
            whole.kernel = windowed.kernel = kernel;
            CHECK(work_of(op_of(windowed), pass).executed == work_of(op_of(whole), pass).executed);
            CHECK(work_of(op_of(windowed), pass).moved == work_of(op_of(whole), pass).moved);
            CHECK(work_of(op_of(windowed), pass).model < work_of(op_of(whole), pass).model);
        }
}

TEST_CASE("work_of: an op has no work in a pass that it is not in", "[INV-3]") {
    Op op = op_of(Gemm{.m = 64, .n = 64, .k = 64});
    op.passes = Passes::forward;
    CHECK(work_of(op, Pass::backward).executed == Flops{});
    CHECK(work_of(op, Pass::forward).executed > Flops{});
    op.passes = Passes::backward;
    CHECK(work_of(op, Pass::forward).moved == Bytes{});
    CHECK(work_of(op, Pass::backward).moved > Bytes{});
}

TEST_CASE("work_of: streaming ops move their bytes, collectives send theirs, neither computes", "[INV-3]") {
    Op const stream = op_of(Streaming{.forward = 100 * units::B, .backward = 170 * units::B});
    CHECK(work_of(stream, Pass::forward).moved.base() == 100);
    CHECK(work_of(stream, Pass::backward).moved.base() == 170);
    CHECK(work_of(stream, Pass::forward).executed == Flops{});
    Op const send =
        op_of(Collective{.kind = CollectiveKind::all_gather, .group = GroupKind::tensor, .bytes = 42 * units::B});
    CHECK(work_of(send, Pass::forward).sent.base() == 42);
    CHECK(work_of(send, Pass::forward).moved == Bytes{});
    CHECK(send.op_class() == OpClass::communication);
    CHECK(stream.op_class() == OpClass::streaming);
}
