#include "core/graph/plan_check.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <functional>
#include <limits>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

struct Case {
    char const* what;
    std::function<void(ModelSpec&, ParallelPlan&, Workload&)> spoil;
    PlanProblem problem;
    char const* says;  ///< part of the message
};

ParallelPlan good_plan() {
    ParallelPlan plan;
    plan.dp = 4;
    plan.tp = 4;
    plan.pp = 4;
    plan.sequence_parallel = Switch::on;
    return plan;
}

Workload const workload{.sequence = 4096, .global_batch = 64};

}  // namespace

TEST_CASE("find_fault: a sound plan has none", "[INV-11]") {
    CHECK_FALSE(find_fault(llama(4096, 32, 8, 32, 14336), good_plan(), workload));
    CHECK_FALSE(find_fault(mixture(2048, 16, 64, 4, 1408), {.dp = 64, .ep = 32}, workload));
    CHECK_NOTHROW(require_valid(llama(4096, 32, 8, 32, 14336), good_plan(), workload));
    CHECK(microbatches(good_plan(), workload) == 16);
}

TEST_CASE("find_fault: the width of a dense feed-forward that no layer has does not matter") {
    ModelSpec model = mixture(4096, 32, 60, 4, 1408);
    model.mlp.intermediate = 1407;
    CHECK_FALSE(find_fault(model, {.dp = 8, .tp = 2}, workload));
    model.layers.front().moe = false;
    CHECK(find_fault(model, {.dp = 8, .tp = 2}, workload).value().problem == PlanProblem::width);
}

TEST_CASE("find_fault: parameters come from host memory as ZeRO 3 gathers them, on one rank as on many", "[INV-11]") {
    ModelSpec const model = llama(4096, 32, 8, 32, 14336);
    for (Offload const offload : {Offload::parameters, Offload::parameters_and_activations})
        for (std::int64_t const dp : {1, 4})
            for (int zero = 0; zero <= 3; ++zero) {
                auto const fault = find_fault(model, {.dp = dp, .zero = zero, .offload = offload}, workload);
                CAPTURE(name_of(offload), dp, zero);
                REQUIRE(fault.has_value() == (zero < 3));
                if (!fault) continue;
                CHECK(fault->problem == PlanProblem::zero);
                CHECK_THAT(fault->message, contains("use ZeRO 3"));
                CHECK_THAT(fault->message,
                           contains(offload == Offload::parameters ? "offload optimizer)" : "optimizer+activations)"));
            }
    ParallelPlan const whole{.dp = 4, .zero = 3, .shard_group = 1, .offload = Offload::parameters};
    CHECK_THAT(find_fault(model, whole, workload).value().message, contains("larger groups"));
}

TEST_CASE("find_fault: every broken rule is found, with the numbers in the message", "[INV-11]") {
    std::vector<Case> const cases{
        {"zero degree", [](auto&, auto& p, auto&) { p.dp = 0; }, PlanProblem::not_positive, "dp is 0"},
        {"negative degree", [](auto&, auto& p, auto&) { p.micro_batch = -1; }, PlanProblem::not_positive,
         "micro-batch is -1"},
        {"no chunks", [](auto&, auto& p, auto&) { p.loss_chunks = 0; }, PlanProblem::not_positive, "loss-chunks is 0"},
        {"narrow copies of what is not narrow", [](auto&, auto& p, auto&) { p.narrow_copies = Switch::on; },
         PlanProblem::not_positive, "narrow copies of weights with precision bf16"},
        {"narrow copies of shards",
         [](auto&, auto& p, auto&) {
             p.narrow_copies = Switch::on;
             p.precision = Precision::fp8;
             p.zero = 3;
         },
         PlanProblem::zero, "narrow copies of weights that ZeRO 3 shards"},
        {"chunks of no token",
         [](auto&, auto& p, auto& w) {
             p.loss_chunks = 4097;
             w.sequence = 4096;
         },
         PlanProblem::not_positive, "4097 loss chunks of a microbatch that has 4096 tokens on a rank"},
        {"huge sequence", [](auto&, auto&, auto& w) { w.sequence = std::numeric_limits<std::int64_t>::max(); },
         PlanProblem::not_positive, "seq"},
        {"no batch", [](auto&, auto&, auto& w) { w.global_batch = 0; }, PlanProblem::not_positive, "global-batch is 0"},
        {"heads", [](auto&, auto& p, auto&) { p.tp = 3; }, PlanProblem::heads,
         "tp 3 does not divide the 32 attention heads"},
        {"kv heads", [](auto& m, auto&, auto&) { m.attention.kv_heads = 6; }, PlanProblem::kv_heads,
         "6 key/value heads"},
        {"width", [](auto& m, auto&, auto&) { m.mlp.intermediate = 14338; }, PlanProblem::width, "14338"},
        {"shared experts",
         [](auto& m, auto& p, auto&) {
             m = mixture(4096, 32, 60, 4, 1408);
             m.moe->shared_intermediate = 1410;
             p = {.dp = 8, .tp = 4};
         },
         PlanProblem::width, "shared experts' 1410"},
        {"too many stages", [](auto&, auto& p, auto&) { p.pp = 64; }, PlanProblem::layers, "32 layers"},
        {"uneven chunks",
         [](auto&, auto& p, auto&) {
             p.schedule = Schedule::interleaved;
             p.vpp = 5;
         },
         PlanProblem::layers, "of equal size (vpp 2, 4, 8, or state"},
        {"chunks without interleaving", [](auto&, auto& p, auto&) { p.vpp = 2; }, PlanProblem::schedule, "interleaved"},
        {"interleaving without chunks", [](auto&, auto& p, auto&) { p.schedule = Schedule::interleaved; },
         PlanProblem::schedule, "vpp"},
        {"a V without its two chunks", [](auto&, auto& p, auto&) { p.schedule = Schedule::zb_v; },
         PlanProblem::schedule, "vpp 1 with schedule zb-v (it takes exactly 2)"},
        {"split backwards with chunks",
         [](auto&, auto& p, auto&) {
             p.schedule = Schedule::zb_h1;
             p.vpp = 2;
         },
         PlanProblem::schedule, "vpp 2 with schedule zb-h1"},
        {"all of the state in bf16 beside products in fp16",
         [](auto&, auto& p, auto&) {
             p.optimizer = Optimizer::adamw_pure_bf16;
             p.precision = Precision::fp16;
         },
         PlanProblem::not_positive, "it goes with bf16, fp8 or fp4"},
        {"chunks without a pipeline",
         [](auto&, auto& p, auto&) {
             p.schedule = Schedule::breadth_first;
             p.pp = 1;
             p.vpp = 2;
         },
         PlanProblem::schedule, "needs pp > 1"},
        {"two directions on an odd number of stages",
         [](auto& m, auto& p, auto&) {
             m.layers.resize(33);
             p.schedule = Schedule::dualpipe;
             p.pp = 3;
         },
         PlanProblem::schedule, "cannot run 3 ranks"},
        {"two directions with an odd number of microbatches",
         [](auto&, auto& p, auto& w) {
             p.schedule = Schedule::dualpipe;
             w.global_batch = 4 * 9;
         },
         PlanProblem::schedule, "cannot run 9 microbatches"},
        {"two directions with too few microbatches",
         [](auto&, auto& p, auto& w) {
             p.schedule = Schedule::dualpipe;
             w.global_batch = 4 * 6;
         },
         PlanProblem::schedule, "6 microbatches on 4 ranks (at least twice as many as ranks, 8)"},
        {"batch", [](auto&, auto&, auto& w) { w.global_batch = 66; }, PlanProblem::batch, "66"},
        {"recurrent heads",
         [](auto& m, auto& p, auto&) {
             m = hybrid(StateRule::delta, 4096, 32);
             m.recurrent->heads = 30;
             p.tp = 4;
         },
         PlanProblem::heads, "tp 4 does not divide the 30 recurrent heads"},
        {"key heads of recurrent layers",
         [](auto& m, auto&, auto&) {
             m = hybrid(StateRule::decay, 4096, 32);
             m.recurrent->key_heads = 6;
         },
         PlanProblem::kv_heads, "6 key heads of the recurrent layers"},
        {"fewer groups of Mamba-2 than ranks",
         [](auto& m, auto&, auto&) {
             m = hybrid(StateRule::decay, 4096, 32);
             m.recurrent->key_heads = 1;
         },
         PlanProblem::kv_heads, "does not divide the 1 key heads of the recurrent layers"},
        {"context parallelism of recurrent layers",
         [](auto& m, auto& p, auto&) {
             m = hybrid(StateRule::delta, 4096, 32);
             p.cp = 2;
         },
         PlanProblem::sequence, "is not modelled"},
        {"sequence", [](auto&, auto& p, auto&) { p.cp = 3; }, PlanProblem::sequence,
         "4096 is not divisible by cp * tp = 12"},
        {"Ulysses",
         [](auto&, auto& p, auto&) {
             p.cp = 16;
             p.cp_mode = ContextParallel::ulysses;
         },
         PlanProblem::sequence, "Ulysses"},
        {"unequal experts of a dense model", [](auto&, auto& p, auto&) { p.expert_imbalance = 1.2; },
         PlanProblem::experts, "has no experts"},
        {"experts of a dense model", [](auto&, auto& p, auto&) { p.ep = 2; }, PlanProblem::experts, "no experts"},
        {"sequence parallel alone", [](auto&, auto& p, auto&) { p.tp = 1; }, PlanProblem::sequence_parallel, "tp > 1"},
        {"ZeRO out of range", [](auto&, auto& p, auto&) { p.zero = 4; }, PlanProblem::zero, "zero is 4"},
        {"ZeRO-2 beside pairs of passes",
         [](auto&, auto& p, auto&) {
             p.dp *= p.pp;
             p.pp = p.vpp = 1;
             p.schedule = Schedule::overlapped;
             p.zero = 2;
         },
         PlanProblem::zero, "ZeRO-2 with schedule 1f1b-overlap"},
        {"ZeRO-3 in a pipeline", [](auto&, auto& p, auto&) { p.zero = 3; }, PlanProblem::zero, "ZeRO-3 with pp 4"},
        {"shard group", [](auto&, auto& p, auto&) { p.shard_group = 3; }, PlanProblem::zero, "shard group 3"},
        {"shard group that cuts expert groups",
         [](auto& m, auto& p, auto& w) {
             m = mixture(2048, 16, 60, 4, 1408);
             p = {.dp = 24, .ep = 6, .zero = 1, .shard_group = 8};
             w.global_batch = 72;
         },
         PlanProblem::zero, "neither a multiple nor a part of the 6"},
        {"positions",
         [](auto& m, auto&, auto&) {
             m.position = PositionKind::learned;
             m.position_rows = 2050;  // OPT's table, offset by the padding ids
             m.max_positions = 2048;
         },
         PlanProblem::positions, "2048"},
        {"stage layers: count",
         [](auto&, auto& p, auto&) {
             p.stage_layers = {16, 16};
         },
         PlanProblem::layers, "2 entries"},
        {"stage layers: sum",
         [](auto&, auto& p, auto&) {
             p.stage_layers = {8, 8, 8, 9};
         },
         PlanProblem::layers, "33"},
        {"stage layers: negative",
         [](auto&, auto& p, auto&) {
             p.stage_layers = {16, 17, -1, 0};
         },
         PlanProblem::layers, "negative"},
    };
    for (Case const& c : cases) {
        ModelSpec model = llama(4096, 32, 8, 32, 14336);
        ParallelPlan plan = good_plan();
        Workload work = workload;
        c.spoil(model, plan, work);
        INFO(c.what);
        auto const fault = find_fault(model, plan, work);
        REQUIRE(fault);
        CHECK(name_of(fault->problem) == name_of(c.problem));
        CHECK(find_problem(model, plan, work) == c.problem);
        INFO(fault->message);
        CHECK(fault->message.find(c.says) != std::string::npos);
        CHECK_THROWS_AS(require_valid(model, plan, work), InputError);
    }
}

TEST_CASE("find_fault: expert parallelism must divide experts, widths and ranks", "[INV-11]") {
    ModelSpec const model = mixture(2048, 16, 60, 4, 1408);
    CHECK(find_fault(model, {.dp = 64, .ep = 8}, workload)->problem == PlanProblem::experts);         // 60 / 8
    CHECK(find_fault(model, {.dp = 8, .ep = 60}, workload)->problem == PlanProblem::experts);         // 8 ranks
    CHECK(find_fault(model, {.dp = 64, .expert_tp = 3}, workload)->problem == PlanProblem::experts);  // 1408 / 3
    CHECK_FALSE(find_fault(model, {.dp = 64, .ep = 4, .expert_tp = 2}, workload));
}

TEST_CASE("find_fault: the largest numbers allowed do not overflow", "[INV-11]") {
    ModelSpec const model = mixture(2048, 16, 64, 4, 1408);
    std::int64_t const count = std::int64_t{1} << 31;
    ParallelPlan plan{.dp = 1 << 20, .tp = 8, .pp = 16, .cp = 4, .ep = 8, .vpp = count, .micro_batch = count};
    plan.schedule = Schedule::interleaved;
    // Found for what is wrong with it (16 layers on that many chunks), not for its size: the sanitizers see every
    // product.
    CHECK(find_fault(model, plan, {.sequence = count, .global_batch = count})->problem == PlanProblem::layers);
    plan.cp = plan.pp = plan.dp;
    CHECK(find_fault(model, plan, {.sequence = count, .global_batch = count})->problem == PlanProblem::not_positive);
    plan.dp = count + 1;
    CHECK(find_fault(model, plan, {.sequence = count, .global_batch = count})->problem == PlanProblem::not_positive);
}
