#include "core/graph/block.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <map>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

constexpr std::int64_t tokens = 2048, hidden = 4096, intermediate = 14336, keys = 1024;  // keys: of all 8 heads
constexpr double th = static_cast<double>(tokens * hidden);

ParallelPlan narrow_plan(Precision precision, std::int64_t tp, Switch sequence_parallel = Switch::on) {
    ParallelPlan plan;
    plan.precision = precision;
    plan.tp = tp;
    plan.sequence_parallel = sequence_parallel;
    return plan;
}

Block layer_of(ParallelPlan const& plan) {
    return build_layer(llama(hidden, 32, 8, 1, intermediate), {}, plan, tokens);
}

double moved(Block const& block, std::string_view name, Pass pass) {
    Bytes sum;
    for (Op const& op : block.ops)
        if (op.name == name) sum += work_of(op, pass).moved;
    return sum.base();
}

/// Bytes of the tensor-parallel group's collectives of one kind in one pass.
double sent(Block const& block, CollectiveKind kind, Passes passes, Hiding hiding = Hiding::exposed) {
    Bytes sum;
    for (Op const& op : block.ops)
        if (auto const* c = std::get_if<Collective>(&op.what);
            c != nullptr && c->kind == kind && op.passes == passes && op.hiding == hiding)
            sum += c->bytes;
    return sum.base();
}

}  // namespace

TEST_CASE("narrow formats: inputs are rounded before a product, gradients of outputs after it", "[INV-5]") {
    auto const t = static_cast<double>(tokens);
    double const inputs = t * (3 * hidden + intermediate);                    // of qkv, out, up and down
    double const outputs = t * (3 * hidden + 2 * keys + 2.0 * intermediate);  // of qkv, out and down, of gate and up
    auto const rounded = [](Precision precision, Pass pass) {
        return moved(layer_of(narrow_plan(precision, 1)), "quantise", pass);
    };
    CHECK(rounded(Precision::bf16, Pass::forward) == 0);
    // Two bytes read, one written; a gradient in both orders by one kernel, an input turned by another.
    CHECK(rounded(Precision::fp8, Pass::forward) == Approx(3 * inputs));
    CHECK(rounded(Precision::fp8, Pass::backward) == Approx(4 * outputs + 2 * inputs));
    // Scales of parts of a row or of a column: rounded for either, a scale for 32 values, 128 (of four bytes) or 16.
    std::map<Precision, double> const value{
        {Precision::fp8_block, 1 + 1.0 / 32}, {Precision::mxfp8, 1 + 1.0 / 32}, {Precision::fp4, 0.5 + 1.0 / 16}};
    for (auto const& [precision, bytes] : value) {
        CHECK(rounded(precision, Pass::forward) == Approx((2 + 2 * bytes) * inputs));
        CHECK(rounded(precision, Pass::backward) == Approx((2 + 2 * bytes) * outputs));
    }
}

TEST_CASE("narrow formats: with sequence parallelism each rank rounds its share of the tokens", "[INV-5]") {
    for (Precision const precision : {Precision::fp8, Precision::fp8_block, Precision::mxfp8, Precision::fp4}) {
        Block const alone = layer_of(narrow_plan(precision, 1));
        for (std::int64_t const tp : {2, 4, 8}) {
            Block const split = layer_of(narrow_plan(precision, tp));
            Block const whole = layer_of(narrow_plan(precision, tp, Switch::off));
            auto const of_group = [&](Pass pass) { return static_cast<double>(tp) * moved(split, "quantise", pass); };
            auto const t = static_cast<double>(tp);
            CAPTURE(name_of(precision), tp);
            CHECK(of_group(Pass::forward) == Approx(moved(alone, "quantise", Pass::forward)));
            double backward = moved(alone, "quantise", Pass::backward);
            // One scale for a tensor: every rank turns all that was gathered, the inputs of two products and the
            // gradients of two, which the kernel that rounded them had turned.
            if (precision == Precision::fp8) backward += 4 * 2 * th * (t - 1) + 2 * th;
            CHECK(of_group(Pass::backward) == Approx(backward));
            // Without it every rank has all tokens of the two inputs.
            double const value =
                moved(alone, "quantise", Pass::forward) / static_cast<double>(tokens * (3 * hidden + intermediate));
            CHECK(t * moved(whole, "quantise", Pass::forward) ==
                  Approx(moved(alone, "quantise", Pass::forward) + 2 * value * th * (t - 1)));
        }
    }
}

TEST_CASE("narrow formats: ranks gather what they rounded, and reduce in 16 bits", "[INV-5]") {
    struct Case {
        Precision precision;
        double input;     ///< bytes a value gathered of an input: rounded along rows, or once more along columns
        double gradient;  ///< of an output's gradient: bytes turned after that, or both
    };
    for (Case const& c :
         {Case{Precision::bf16, 2, 2}, Case{Precision::fp8, 1, 1}, Case{Precision::fp8_block, 1.03125, 2.0625},
          Case{Precision::mxfp8, 1.03125, 2.0625}, Case{Precision::fp4, 0.5625, 1.125}}) {
        Block const layer = layer_of(narrow_plan(c.precision, 4));
        CAPTURE(name_of(c.precision));
        // Two regions, attention and feed-forward.
        CHECK(sent(layer, CollectiveKind::all_gather, Passes::forward) == Approx(2 * c.input * th));
        CHECK(sent(layer, CollectiveKind::all_gather, Passes::backward, Hiding::hidden) == Approx(2 * c.input * th));
        CHECK(sent(layer, CollectiveKind::all_gather, Passes::backward) == Approx(2 * c.gradient * th));
        CHECK(sent(layer, CollectiveKind::reduce_scatter, Passes::forward) == Approx(4 * th));
        CHECK(sent(layer, CollectiveKind::reduce_scatter, Passes::backward) == Approx(4 * th));
        Block const whole = layer_of(narrow_plan(c.precision, 4, Switch::off));
        CHECK(sent(whole, CollectiveKind::all_reduce, Passes::forward) == Approx(4 * th));
        CHECK(sent(whole, CollectiveKind::all_reduce, Passes::backward) == Approx(4 * th));
    }
}

TEST_CASE("narrow formats: what products in 16 bits read, and adapters, is gathered in 16 bits", "[INV-5]") {
    ModelSpec const model = llama(hidden, 32, 8, 1, intermediate);
    ParallelPlan const narrow = narrow_plan(Precision::fp8, 4);
    ParallelPlan const wide = narrow_plan(Precision::bf16, 4);
    for (auto const build : {build_embedding, build_head}) {
        Block const block = build(model, narrow, tokens);
        Block const same = build(model, wide, tokens);
        CHECK(moved(block, "quantise", Pass::forward) == 0);
        for (Pass const pass : {Pass::forward, Pass::backward}) {
            Bytes all, expected;
            for (Op const& op : block.ops)
                all += work_of(op, pass).sent;
            for (Op const& op : same.ops)
                expected += work_of(op, pass).sent;
            CHECK(all == expected);
        }
    }
    ParallelPlan adapted = narrow;
    adapted.adapters.rank = 8;
    auto const gathered = [&](char const* targets) {
        adapted.adapters.targets = adapter_targets_from(targets, "test");
        Block const layer = layer_of(adapted);
        double sum = 0;
        for (Op const& op : layer.ops)
            if (op.name == "attention in" || op.name == "mlp in") sum += work_of(op, Pass::forward).sent.base();
        return sum;
    };
    CHECK(gathered("down") == Approx(2 * th));
    CHECK(gathered("up") == Approx((1 + 2) * th));
    CHECK(gathered("all") == Approx((2 + 2) * th));
}
