#include "core/spec/output_head.hpp"
#include "core/spec/parameters.hpp"
#include "planner/rl/rl_rows.hpp"
#include "simulator/forward_pass.hpp"
#include "simulator/schedules/catalog.hpp"
#include "simulator/task_graph_builder.hpp"
#include "tests/catch.hpp"
#include "tests/planner/rl/rl_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace sextant;

namespace {

RlStep step_of(RlQuestion const& question, RlMode mode = RlMode::colocated) {
    RlPlanner planner(question);
    RlStep const step = planner.step(mode, 4, 1);
    INFO(step.reason);
    REQUIRE(step.possible());
    return step;
}

}  // namespace

TEST_CASE("rl_step: a synchronous step is the sum of its phases") {
    for (RlMode const mode : {RlMode::colocated, RlMode::split}) {
        RlStep const s = step_of(small_question(), mode);
        RlPhases const& p = s.phases;
        CHECK(s.step / (p.generation + p.on_trainer() + p.sync + p.offload) == Approx(1));
        CHECK(s.responses_per_s == Approx(256 / s.step.base()));
        CHECK(s.rollout_busy + s.train_busy <= 1);
        CHECK(s.age == std::vector{1.0});
    }
}

TEST_CASE("rl_step: an asynchronous step is not shorter than either side, nor longer than both") {
    RlStep const s = step_of(small_question(), RlMode::asynchronous);
    CHECK(s.step >= s.phases.on_trainer());
    CHECK(s.step <= s.phases.generation + s.phases.on_trainer() + 3 * s.phases.sync);
    CHECK(s.step <= step_of(small_question(), RlMode::split).step * 1.001);
}

TEST_CASE("rl_step: a staleness penalty takes from the worth and not from the rate") {
    RlQuestion q = small_question();
    RlStep const free = step_of(q, RlMode::asynchronous);
    q.staleness_penalty = 0.1;
    RlStep const s = step_of(q, RlMode::asynchronous);
    CHECK(free.worth == Approx(1));
    CHECK(s.worth == Approx(1 - 0.1 * s.mean_age()));
    CHECK(s.responses_per_s == free.responses_per_s);
}

TEST_CASE("rl_step: a wider bound on staleness never makes the answer worse, whatever a response loses") {
    RlQuestion q = small_question();
    q.staleness_penalty = GENERATE(0.0, 0.1, 0.3, 1.0);
    double before = 0;
    for (std::int64_t const bound : {0, 1, 2, 3, 4, 8}) {
        q.staleness = bound;
        double const rate = step_of(q, RlMode::asynchronous).effective_rate();
        CAPTURE(q.staleness_penalty, bound);
        CHECK(rate >= before * (1 - 2e-3));  // a bound is left as soon as it is as good as any
        before = std::max(before, rate);
    }
}

TEST_CASE("rl_step: rules bound an asynchronous step as the slowest of three stages, and never busy the trainer") {
    RlQuestion q = small_question();
    RlStep const free = step_of(q, RlMode::asynchronous);
    q.reward_time = 0.9 * free.phases.on_trainer();
    CHECK(step_of(q, RlMode::asynchronous).step == free.step);
    for (double const times : {2.0, 500.0}) {
        q.reward_time = times * free.step;
        RlStep const slow = step_of(q, RlMode::asynchronous);
        CHECK(slow.step / q.reward_time == Approx(1).epsilon(0.01));
        CHECK(slow.train_busy == Approx(slow.phases.on_trainer() / slow.step));
    }
    for (RlMode const mode : {RlMode::colocated, RlMode::split}) {
        RlStep const s = step_of(q, mode);
        CHECK(s.step >= q.reward_time);
        CHECK(s.train_busy < 0.01);
    }
    q.staleness = 0;  // nothing overlaps
    CHECK(step_of(q, RlMode::asynchronous).step / step_of(q, RlMode::split).step == Approx(1).epsilon(1e-3));
}

TEST_CASE("rl_step: each further role takes time of its own") {
    RlQuestion q = small_question();
    q.reference = ReferenceModel::none;
    q.old_scores = OldScores::from_engine;
    RlStep const bare = step_of(q);
    CHECK(bare.phases.on_trainer() == bare.phases.policy_training);
    q.reference = ReferenceModel::kept;
    RlStep const with_reference = step_of(q);
    CHECK(with_reference.phases.reference_scores > Seconds{});
    q.algorithm = RlAlgorithm::ppo;
    RlStep const ppo = step_of(q);
    CHECK(ppo.phases.critic_training < ppo.phases.policy_training);
    CHECK(ppo.phases.critic_values > Seconds{});
    CHECK(ppo.step > with_reference.step);
    q.reward_time = 7 * units::s;
    CHECK((step_of(q).step - ppo.step).base() == Approx(7));
    q.epochs = 3;
    CHECK(step_of(q).phases.policy_training / ppo.phases.policy_training == Approx(3));
}

TEST_CASE(
    "rl_step: weights that wait in host memory take their bytes over the host link, beside their forward passes") {
    RlQuestion q = small_question();
    q.reference = ReferenceModel::kept;
    q.reward = find_model("qwen2.5-3b");
    auto const phases_at = [&](double rate) {
        q.machine.cluster.accelerator.host_bandwidth.value = rate * units::GB / units::s;
        RlStep const step = step_of(q);
        return std::pair(step.phases.reward + step.phases.reference_scores, step.waiting_weights);
    };
    auto const [slow, waiting] = phases_at(10);
    auto const [fast, same] = phases_at(40);
    CHECK(waiting == same);
    // Less is read in 1/10 than in 1/40 of a second per gigabyte.
    CHECK((slow - fast).base() == Approx(waiting.base() / 10e9 - waiting.base() / 40e9).epsilon(1e-9));
}

TEST_CASE("rl_step: a critic is its own model, whatever it is called") {
    RlQuestion q = small_question();
    q.algorithm = RlAlgorithm::ppo;
    q.critic = find_model("qwen2.5-0.5b");
    q.critic->name = q.policy.name;
    RlStep const ppo = step_of(q);
    CHECK(ppo.phases.critic_training < 0.7 * ppo.phases.policy_training);
}

TEST_CASE("rl_step: trainers apart from engines need the host memory of what waits in it") {
    RlQuestion q = small_question();
    q.reference = ReferenceModel::kept;
    auto const split = [&] { return RlPlanner(q).step(RlMode::split, 4, 1); };
    RlStep const enough = split();
    REQUIRE(enough.possible());
    auto const host = std::find_if(enough.memory.begin(), enough.memory.end(),
                                   [](auto const& use) { return use.role == "host memory"; });
    REQUIRE(host != enough.memory.end());
    CHECK(host->needed > Bytes{});
    // Another plan of the policy, of smaller parts, may do with somewhat less.
    q.machine.limit.host = 0.9 * host->needed;
    RlStep const less = split();
    if (less.possible())
        for (RoleMemory const& use : less.memory)
            CHECK(use.needed <= use.usable);
    if (less.possible()) CHECK(less.step >= enough.step);
    q.machine.limit.host = 0.05 * host->needed;
    CHECK_THAT(split().reason, contains("host memory: "));
}

TEST_CASE("rl_step: the plan that trains is that of the fastest step, not of the fastest update") {
    RlQuestion q = small_question();
    q.policy = find_model("qwen3-32b");
    q.accelerators = 64;
    q.prompts = 128;
    q.group = 16;
    q.prompt_tokens = 500;
    q.update_batch = 0;
    q.rollout.max_batch = 1024;
    q.overheads = fitted_rl_overheads();
    q.lengths = {.kind = LengthKind::lognormal, .mean = 6000, .variation = 0.6, .maximum = 24000};
    RlStep const best = RlPlanner(q).step(RlMode::colocated, 64, 8);
    INFO(best.reason);
    REQUIRE(best.possible());
    CHECK(best.plans_compared > 1);
    CHECK(best.update > best.fastest_update);
    RunSetting beside = q.machine;  // sleeping engines
    beside.limit.usable -= q.engine.memory_overhead.value;
    Trainer trainer(beside, update_workload(q),
                    sequence_lengths(q.prompt_tokens, draw_lengths(q.lengths, q.responses(), q.drawing, q.seed)),
                    q.overheads);
    std::vector<TrainerRole> const plans = trainer.alternatives(q.policy, 64);
    CHECK(static_cast<std::int64_t>(plans.size()) == best.plans_compared);
    auto const only = [](std::int64_t value) { return AxisFilter::parse(std::to_string(value), "test", 0); };
    std::int64_t compared = 0;
    for (TrainerRole const& role : plans) {
        ParallelPlan const& plan = role.report->plan;
        CHECK(role.report->fits);
        RlQuestion fixed = q;
        SearchConstraints& c = fixed.machine.constraints;
        c.tp = only(plan.tp), c.pp = only(plan.pp), c.cp = only(plan.cp), c.ep = only(plan.ep),
        c.zero = only(plan.zero);
        RlStep const alone = RlPlanner(fixed).step(RlMode::colocated, 64, 8);
        if (!alone.possible() || std::abs(alone.update / role.update - 1) > 1e-9) continue;
        ++compared;
        CAPTURE(plan.tp, plan.pp, plan.cp, plan.ep, plan.zero, alone.step.base(), best.step.base());
        CHECK(best.step <= alone.step * (1 + 1e-9));
        if (&role == &plans.front()) CHECK(best.step < 0.999 * alone.step);
    }
    CHECK(compared > 1);
}

TEST_CASE("scoring: a forward pass takes between a fifth and some more than a half of a training step") {
    RlQuestion const q = small_question();
    ClosedForm form(q.policy, {.sequence = 2048, .global_batch = 64}, q.machine.cluster, q.machine.framework,
                    Precision::bf16);
    ParallelPlan plan;
    plan.dp = 2;
    plan.pp = GENERATE(1, 2, 4);
    plan.zero = 1;
    double const share = forward_pass(form, plan) / form.evaluate(plan).time;
    CHECK(share > 0.2);
    CHECK(share < 0.55);
}

TEST_CASE("rl_step: critic and reward model have no product over the vocabulary and no loss over it") {
    RlQuestion q = small_question();
    q.algorithm = RlAlgorithm::ppo;
    q.policy = find_model("llama-3.2-1b");
    q.reward = q.policy;
    q.machine.cluster.accelerator.host_bandwidth.value = 1e6 * units::GB / units::s;
    RlPhases const& p = step_of(q).phases;
    // 2 V h of 2 (V h + layers) FLOPs a token are the head's, some more with attention, and the loss is streamed
    // besides.
    double const head = 128256.0 * 2048;
    double const layers = static_cast<double>(count_parameters(q.policy).without_embedding);
    double const share = head / (head + layers);
    CHECK(share == Approx(0.213).epsilon(0.01));
    for (double const rest : {p.critic_values / p.policy_scores, p.critic_training / p.policy_training}) {
        CHECK(rest < 1 - 0.8 * share);
        CHECK(rest > 1 - 2 * share);
    }
    // By a plan of its own, which does not have to train.
    CHECK(p.reward < 1.001 * p.critic_values);
}

TEST_CASE("scoring: a model with one output has no logits, and no output matrix beside its embedding") {
    RlQuestion const q = small_question();
    RunSetting const& setting = q.machine;
    Workload const workload{.sequence = 2048, .global_batch = 64};
    ParallelPlan plan;
    plan.dp = 8;
    plan.zero = GENERATE(0, 1);
    auto const saved = [&](char const* name) {
        ModelSpec const model = find_model(name);
        ClosedForm form(model, workload, setting.cluster, setting.framework, Precision::bf16);
        StageMemory const whole = form.evaluate(plan).memory;
        ModelSpec const labelled = with_labels(model);
        ClosedForm scalar(labelled, workload, setting.cluster, setting.framework, Precision::bf16);
        StageMemory const one = scalar.evaluate(plan).memory;
        CHECK(whole.logits > Bytes{});
        CHECK(one.logits < 0.01 * whole.logits);
        CHECK(one.reserved() < whole.reserved());
        return (whole.weights - one.weights).base();
    };
    CHECK(saved("llama-3.2-1b") == -2.0 * 2048);  // tied: the table stays
    CHECK(saved("llama-3.1-8b") == 2.0 * (128256 - 1) * 4096);
}

TEST_CASE("scoring: of ZeRO 3 every pass gathers the weights, as the simulated forward-only schedule does") {
    struct Case {
        char const* cluster;
        char const* framework;
        double tolerance;
    };
    auto const [cluster, framework, tolerance] =
        GENERATE(Case{"gcp-a2-high", "fsdp", 0.02}, Case{"h100-pcie", "fsdp", 0.02}, Case{"h100-sxm", "fsdp", 0.05},
                 Case{"h100-sxm", "megatron", 0.05});
    CAPTURE(cluster, framework);
    ModelSpec const model = find_model("llama-3.1-8b");
    ClusterSpec const machine = find_cluster(cluster, "test");
    FrameworkProfile const software = find_framework(framework, "test");
    Workload const workload{.sequence = 1024, .global_batch = 64};
    ClosedForm form(model, workload, machine, software, Precision::bf16);
    ParallelPlan plan;
    plan.dp = 32;
    plan.zero = 3;
    PipelineSchedule const forwards =
        build_schedule(find_schedule("forward-only", "test"), shape_of(plan, workload), "test");
    TaskGraph const graph = build_task_graph(form, plan, {.schedule = &forwards});
    double const simulated = walk_graph(graph).makespan().base();
    CHECK(forward_pass(form, plan).base() == Approx(simulated).epsilon(tolerance));
    double const gathered = forward_pass(form, plan).base();
    plan.zero = 1;
    CHECK(forward_pass(form, plan).base() < 0.8 * gathered);
}

TEST_CASE("weight_sync: an engine apart gets its weights by a broadcast, and no time is below the link's") {
    RlQuestion const q = small_question();
    ServingCase const engine = small_engine();
    ParallelPlan trainer;
    trainer.dp = 8;
    WeightSync const together = weight_sync(engine, trainer, RolloutPlacement::colocated, 8);
    CHECK(together.broadcast == Seconds{});
    CHECK(together.gather == Seconds{});
    WeightSync const apart = weight_sync(engine, trainer, RolloutPlacement::split, 8);
    double const links =
        (q.machine.cluster.scale_up.bandwidth.value + q.machine.cluster.scale_out->bandwidth.value).base();
    CHECK(apart.broadcast.base() > apart.rank_bytes.base() / links);
    trainer.zero = 3;
    CHECK(weight_sync(engine, trainer, RolloutPlacement::split, 8).gather > Seconds{});
    CHECK(apart.rank_bytes.base() == Approx(2 * 1.54e9).epsilon(0.25));
}

TEST_CASE("rl_step: adapters leave more memory, the policy is its own reference, the whole model is sent") {
    RlQuestion q = small_question();
    RlStep const full = step_of(q);
    q.machine.constraints.base.adapters = {.rank = 16, .targets = attention_targets()};
    RlStep const lora = step_of(q);
    CHECK(lora.training->estimate.peak() < full.training->estimate.peak());
    CHECK(lora.phases.policy_training < full.phases.policy_training);
    CHECK(full.waiting_weights > Bytes{});
    CHECK(lora.waiting_weights == Bytes{});
    CHECK(lora.phases.reference_scores == lora.phases.policy_scores);
    CHECK(lora.sync.rank_bytes == full.sync.rank_bytes);
}

TEST_CASE("rl_step: training state takes memory from the engine only where its share does not fit beside it") {
    RlQuestion q = small_question();
    auto const usable = [&](StateOffload offload, double utilisation) {
        q.offload = offload;
        q.rollout.memory_utilisation = utilisation;
        RlStep const step = step_of(q);
        auto const engine =
            std::find_if(step.memory.begin(), step.memory.end(), [](auto const& use) { return use.role == "engine"; });
        REQUIRE(engine != step.memory.end());
        return std::pair(engine->usable, step.training->estimate.memory.state());
    };
    Bytes const capacity = q.machine.cluster.accelerator.memory_capacity.value;
    for (StateOffload const offload : {StateOffload::never, StateOffload::always})
        CHECK(usable(offload, 0.5).first / capacity == Approx(0.5));
    auto const [left, state] = usable(StateOffload::never, 0.9);
    REQUIRE(state + 0.9 * capacity > q.machine.limit.of_device);
    CHECK(left / (q.machine.limit.of_device - state) == Approx(1));
}

TEST_CASE("rl_step: what does not fit says so") {
    RlQuestion q = small_question();
    q.policy = find_model("llama-3.1-70b");
    RlPlanner planner(q);
    RlStep const s = planner.step(RlMode::colocated, 8, 8);
    CHECK_FALSE(s.possible());
    CHECK_THAT(s.reason, contains("training: memory"));
    q = small_question();
    q.rollout.memory_utilisation = 0.03;
    RlPlanner narrow(q);
    CHECK_THAT(narrow.step(RlMode::split, 4, 1).reason, contains("engine tp 1"));
    CHECK_THAT(narrow.step(RlMode::split, 3, 2).reason, contains("no whole number of engines"));
    CHECK_THAT(narrow.step(RlMode::split, 8, 1).reason, contains("no accelerator is left"));
}

TEST_CASE("rl_split: the search finds the best of all divisions") {
    RlQuestion const q = small_question();
    for (RlMode const mode : {RlMode::split, RlMode::asynchronous}) {
        RlPlanner planner(q);
        double best = 0;
        for (std::int64_t n = 1; n < q.accelerators; ++n)
            for (std::int64_t const tp : {1, 2, 4}) {
                RlStep const s = planner.step(mode, n, tp);
                if (s.possible()) best = std::max(best, s.effective_rate());
            }
        RlAnswer const answer = search_rl(planner, {.modes = {mode}, .rollout_accelerators = {}, .stop = {}});
        REQUIRE(answer.best(mode) != nullptr);
        CHECK(answer.best(mode)->effective_rate() == best);
        CHECK(answer.find(mode)->splits.size() == 7);
    }
}

TEST_CASE("rl_split: of a fleet too large to be followed while dividing, the best is the best of those shown") {
    RlQuestion q = small_question();
    q.prompts = 8;
    q.group = GENERATE(1, 2, 4);
    q.update_batch = q.prompts * q.group;
    q.accelerators = 64;
    RlPlanner planner(q);
    RlAnswer const answer =
        search_rl(planner, {.modes = {RlMode::asynchronous}, .rollout_accelerators = {}, .stop = {}});
    RlStep const* const best = answer.best(RlMode::asynchronous);
    REQUIRE(best != nullptr);
    CHECK(best->followed == best->replicas);
    for (RlStep const& other : answer.find(RlMode::asynchronous)->splits)
        if (other.possible()) CHECK(other.effective_rate() <= best->effective_rate());
}

TEST_CASE("rl_split: divisions are whole, ascending, and leave something to train") {
    for (std::int64_t const n : {1, 2, 7, 16, 32, 33, 64, 256, 1024, 16384}) {
        auto const splits = coarse_splits(n, 8);
        CHECK(splits.size() <= 40);
        CHECK(splits.empty() == (n == 1));
        for (std::size_t i = 0; i < splits.size(); ++i) {
            CHECK(splits[i] > (i > 0 ? splits[i - 1] : 0));
            CHECK(splits[i] < n);
        }
        if (splits.empty()) continue;
        for (std::int64_t const more : refine_splits(splits, splits[splits.size() / 2], 8)) {
            CHECK(more > 0);
            CHECK(more < n);
        }
    }
}

TEST_CASE("rl_split: a few domains are divided below whole ones") {
    for (std::int64_t const n : {36, 64, 72, 80, 144}) {
        auto const splits = coarse_splits(n, 72);
        CAPTURE(n);
        CHECK(splits.size() >= 7);
        CHECK(splits.back() < n);
    }
    CHECK(coarse_splits(64, 8) == std::vector<std::int64_t>{8, 16, 24, 32, 40, 48, 56});
    CHECK(coarse_splits(72 * 16, 72).front() == 72);
}

TEST_CASE("rl_question: engines go on over domains where none within one holds the weights") {
    RlQuestion q = small_question();
    q.policy = find_model("deepseek-v3");
    q.accelerators = 512;
    std::vector<EngineSplit> const splits = possible_engines(q);
    auto const has = [&](EngineSplit split) { return std::find(splits.begin(), splits.end(), split) != splits.end(); };
    CHECK(has({.tp = 8, .pp = 1}));
    CHECK(has({.tp = 32, .pp = 1}));
    CHECK(has({.tp = 8, .pp = 4}));
    CHECK_FALSE(has({.tp = 64, .pp = 1}));  // one holds them already
    q.policy = small_question().policy;
    for (EngineSplit const split : possible_engines(q))
        CHECK(split.tp * split.pp <= 8);
}

TEST_CASE("weight_sync: over nodes every accelerator of a node brings in bytes of its own") {
    ServingCase engine = small_engine();
    engine.model = find_model("llama-3.1-405b");
    engine.plan.tp = 16;
    ParallelPlan trainer;
    trainer.tp = 8;
    trainer.pp = 32;
    WeightSync const sync = weight_sync(engine, trainer, RolloutPlacement::colocated, 16);
    double const nic = engine.cluster.scale_out->bandwidth.value.base();
    CHECK(sync.gathered_from == 256);
    // All but a node's own share of 8 * rank_bytes comes in over its eight NICs.
    CHECK(sync.gather.base() > 31.0 / 32 * sync.rank_bytes.base() / nic);
    CHECK(sync.gather.base() < 2 * sync.rank_bytes.base() / nic);
    // Engines of one accelerator need the same bytes everywhere, which cross the network once a node.
    engine.plan.tp = 1;
    engine.model = find_model("llama-3.1-8b");
    WeightSync const whole = weight_sync(engine, trainer, RolloutPlacement::colocated, 256);
    CHECK(whole.gather.base() < whole.rank_bytes.base() / nic);
}

TEST_CASE("rl_step: of steps that are equally fast the responses are the youngest") {
    RlQuestion q = small_question();
    q.staleness = 16;
    RlStep const few = step_of(q, RlMode::asynchronous);
    q.staleness = 64;
    RlStep const many = step_of(q, RlMode::asynchronous);
    CHECK(many.step == few.step);
    CHECK(many.mean_age() == few.mean_age());
    CHECK(many.mean_age() < 16);
}

TEST_CASE("rl_question: an engine's batch is that of vLLM on such a device") {
    auto const batch = [](char const* cluster) {
        return usual_engine_batch(find_cluster(cluster, "test").accelerator);
    };
    CHECK(batch("h100-sxm") == 1024);
    CHECK(batch("a100-sxm-80gb") == 256);
    CHECK(batch("l4-pcie") == 256);
}

TEST_CASE("rl_question: what cannot be is refused") {
    auto const refused = [](auto change, char const* part) {
        RlQuestion q = small_question();
        change(q);
        CHECK_THROWS_WITH(check_rl_question(q), contains(part));
    };
    double const nan = std::numeric_limits<double>::quiet_NaN();
    refused([](RlQuestion& q) { q.prompts = 0; }, "--prompts");
    refused([](RlQuestion& q) { q.group = 0; }, "--group");
    refused([](RlQuestion& q) { q.prompts = std::int64_t{1} << 40; }, "--prompts");
    refused([](RlQuestion& q) { q.update_batch = 100; }, "--global-batch");
    refused([](RlQuestion& q) { q.epochs = 0; }, "--epochs");
    refused([](RlQuestion& q) { q.staleness = -1; }, "--staleness");
    refused([=](RlQuestion& q) { q.staleness_penalty = nan; }, "--staleness-penalty");
    refused([=](RlQuestion& q) { q.prompt_tokens = nan; }, "--prompt");
    refused([](RlQuestion& q) { q.lengths.maximum = 1e6; }, "longer than the context");
    refused([](RlQuestion& q) { q.accelerators = 0; }, "--gpus");
    refused([](RlQuestion& q) { q.machine.cluster.max_accelerators = 4; }, "more than h100-sxm has (4)");
    refused([](RlQuestion& q) { q.rollout_tp = {5}; }, "tp");
    refused([](RlQuestion& q) { q.reward_time = -1 * units::s; }, "--reward-time");
    refused([](RlQuestion& q) { q.reward_time = 2 * units::day; }, "--reward-time");
    refused([](RlQuestion& q) { q.staleness = 65; }, "--staleness");
    refused([](RlQuestion& q) { q.machine.cluster.scale_out.reset(), q.accelerators = 16; }, "no scale-out network");
    CHECK_THROWS_WITH(rl_algorithm_from("grop", "--algorithm"), contains("grpo"));
    CHECK_THROWS_WITH(state_offload_from("alway", "--state-offload"), contains("mean 'always'"));
}

TEST_CASE("rl_rows: rows are predicted or say why not, and pairs of modes give a speed-up") {
    CsvTable const table = parse_csv(
        "source_id,model,algorithm,mode,gpu,num_gpus,max_seq_or_resp_len,avg_seq_len,global_batch_gen,"
        "global_batch_train,gen_tp_pp,train_tp_cp_ep_pp_vpp,step_time_s,tokens_per_s_per_gpu\n"
        "a,LLAMA3.1_8B,GRPO,On policy,H100,16,4096,1060,2048,512,\"[1,1]\",\"[1,1,1,2,n/a]\",97.7,1562\n"
        "a,LLAMA3.1_8B,GRPO,1-step Off,H100,16,4096,1129,2048,512,\"[1,1]\",\"[1,1,1,2,n/a]\",74.6,2161\n"
        "a,LLAMA3.1_8B,GRPO,On policy,H100,16,4096,,2048,512,,,97.7,\n"
        "a,unheard-of,GRPO,On policy,H100,16,4096,1060,2048,512,,,97.7,\n"
        "a,LLAMA3.1_8B,GRPO,On policy,abacus,16,4096,1060,2048,512,,,97.7,\n"
        "a,LLAMA3.1_8B,DPO,On policy,H100,16,4096,1060,2048,512,,,97.7,\n",
        "rows");
    std::vector<RlRow> const rows = predict_rl_rows(table, 0.6, {});
    REQUIRE(rows.size() == 6);
    REQUIRE(rows[0].scored());
    REQUIRE(rows[1].scored());
    CHECK(rows[1].predicted->mode == RlMode::asynchronous);
    CHECK(rows[1].predicted->rollout_accelerators == 8);
    for (std::size_t i = 2; i < 6; ++i)
        CHECK_FALSE(rows[i].skip_reason.empty());
    CHECK_THAT(rows[2].skip_reason, contains("lengths of the responses"));
    CHECK_THAT(rows[4].skip_reason, contains("device"));
    CHECK(rl_errors(rows).n == 2);
    REQUIRE(rl_speed_ups(rows).size() == 1);
    CHECK(rl_speed_ups(rows)[0].measured == Approx(97.7 / 74.6));
    CHECK_THROWS_AS(predict_rl_rows(parse_csv("source_id,model\na,b\n", "short"), 0.6, {}), InputError);
}

TEST_CASE("rl_step: the host holds the weights that wait, and training states where these take turns") {
    RlQuestion q = small_question();
    auto const on_host = [](RlStep const& step) {
        Bytes needed;
        for (auto const& m : step.memory)
            if (m.role == "host memory") needed += m.needed;
        return needed;
    };
    for (RlAlgorithm const algorithm : {RlAlgorithm::grpo, RlAlgorithm::ppo})
        for (RlMode const mode : {RlMode::split, RlMode::asynchronous}) {
            q.algorithm = algorithm;
            RlStep const step = step_of(q, mode);
            CAPTURE(step.phases.swaps.base(), on_host(step).base());
            if (step.phases.swaps > Seconds{})
                CHECK(on_host(step) >= step.waiting_weights + step.training->estimate.memory.state());
            else
                CHECK(on_host(step) == step.waiting_weights);
        }
}

TEST_CASE("rl_rows: responses of GRPO come in groups of 32 where their number allows it, and share their prompts") {
    // The two rows differ by one response; prompts are half of the tokens.
    CsvTable const table = parse_csv(
        "source_id,model,algorithm,mode,gpu,num_gpus,max_seq_or_resp_len,avg_seq_len,global_batch_gen,"
        "global_batch_train,gen_tp_pp,train_tp_cp_ep_pp_vpp,step_time_s,tokens_per_s_per_gpu\n"
        "a,LLAMA3.1_8B,GRPO,On policy,H100,8,8192,1000,1024,,\"[1,1]\",,100,2400\n"
        "a,LLAMA3.1_8B,GRPO,On policy,H100,8,8192,1000,1023,,\"[1,1]\",,100,2400\n",
        "rows");
    std::vector<RlRow> const rows = predict_rl_rows(table, 0.6, {});
    REQUIRE(rows.size() == 2);
    REQUIRE(rows[0].scored());
    REQUIRE(rows[1].scored());
    CHECK(rows[0].predicted->phases.generation < 0.97 * rows[1].predicted->phases.generation);
    CHECK(rows[1].predicted->responses_per_s * rows[1].predicted->step.base() == Approx(1023));
}
