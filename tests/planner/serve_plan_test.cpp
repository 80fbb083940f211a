#include "planner/serving/serve_plan.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/serving/serve_candidates.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <set>

using namespace sextant;

namespace {

ServeQuestion question(std::vector<std::pair<char const*, double>> const& machines, double rate) {
    ServeQuestion q;
    q.model = find_model("llama-3.1-8b");
    q.engine = find_engine("vllm", "test");
    for (auto const& [name, price] : machines)
        q.machines.push_back({.cluster = find_cluster(name, "test"), .usd_per_hour = price});
    q.rate = rate;
    q.prompt = {.mean = 1000};
    q.output = {.mean = 100};
    q.ttft = 1.5 * units::s;
    q.tpot = 60 * units::ms;
    q.weights = {"bf16"};
    q.caches = {CacheFormat::bf16};
    q.batches = {64};
    q.chunks = {8192};
    q.requests = 1000;
    q.threads = 1;
    return q;
}

double dollars(ServeQuestion const& q, ServeCandidate const& c) {
    return static_cast<double>(c.accelerators(c.replicas)) * *q.machines[c.machine].usd_per_hour;
}

}  // namespace

TEST_CASE("serve plan: the best of each machine is listed, however dear, or why there is none") {
    ServeQuestion q = question({{"h100-sxm", 1}, {"a100-sxm-80gb", 20}, {"h200-sxm", 30}}, 20);
    q.tensor = {1, 2};
    q.shown = 3;
    ServeAnswer const answer = plan_serving(q);
    REQUIRE(answer.found());
    REQUIRE(answer.ranked.size() == 3);
    std::set<std::size_t> machines;
    for (ServeCandidate const& c : answer.ranked) {
        machines.insert(c.machine);
        CHECK(c.trial.has_value());
        CHECK(c.trial->kept >= q.share);
        CHECK(c.trial->ttft_kept <= q.ttft);
        CHECK(c.trial->tpot_kept <= q.tpot);
    }
    CHECK(machines.size() == 3);
    CHECK(answer.ranked.front().machine == 0);
    q.shown = 1;
    CHECK(plan_serving(q).ranked.size() == 1);
    q.shown = 3;
    q.model = find_model("llama-3.1-70b");
    q.machines.push_back({.cluster = find_cluster("l4-pcie", "test"), .usd_per_hour = 1});
    q.tensor = {1, 4};
    q.stages = {1};
    ServeAnswer const large = plan_serving(q);
    REQUIRE(large.rejected_on.size() == 4);
    CHECK(large.rejected_on[3].contains(serving_misfit));
}

TEST_CASE("serve plan: degrees that do not divide recurrent heads are not tried") {
    ServeQuestion q = question({{"h100-sxm", 3}}, 5);
    q.model = find_model("nemotron-h-8b");
    q.model.recurrent->heads = 124;  // 4 divides them, 8 divides those of attention alone
    q.model.recurrent->key_heads = 2;
    ServeAnswer const a = plan_serving(q);
    REQUIRE(a.found());
    for (ServeCandidate const& c : a.ranked)
        CHECK(c.plan.tp <= 4);
}

TEST_CASE("serve plan: what is first keeps the objectives and nothing simulated that keeps them is cheaper") {
    ServeQuestion const q = question({{"h100-sxm", 3}, {"l40s-pcie", 1}, {"h200-sxm", 3.5}}, 30);
    ServeAnswer const a = plan_serving(q);
    REQUIRE(a.found());
    CHECK(a.ranked.front().trial->kept >= q.share);
    CHECK_FALSE(a.ranked.front().trial->overloaded);
    for (ServeCandidate const& c : a.ranked) {
        if (c.trial) CHECK(dollars(q, c) >= dollars(q, a.ranked.front()));
        CHECK(c.least_replicas >= 1);
        if (c.trial) CHECK(c.replicas >= c.least_replicas);
        if (c.trial) CHECK(c.trial->ttft_p99 >= c.trial->ttft_p50);
    }
}

TEST_CASE("serve plan: replicas are cut within a domain, and by stages and groups within four") {
    ServeQuestion q = question({{"h100-sxm", 3}}, 5);
    auto const splits = [&] {
        std::set<std::array<std::int64_t, 4>> out;  // tp, pp, attention_dp, ep
        for (ServeCandidate const& c : serve_candidates(q))
            out.insert({c.plan.tp, c.plan.pp, c.plan.attention_dp, c.plan.ep});
        return out;
    };
    for (auto const& [tp, pp, groups, ep] : splits()) {  // no experts
        CHECK(tp <= 8);
        CHECK(tp * pp <= 32);
        CHECK((groups == 1 && ep == 1));
    }
    CHECK(splits().contains({8, 4, 1, 1}));
    CHECK(splits().contains({1, 16, 1, 1}));

    q.model = find_model("deepseek-v3");
    for (auto const& [tp, pp, groups, ep] : splits()) {
        CHECK(tp * pp * groups <= 32);
        CHECK((ep == 1 || ep == tp * groups));
        if (groups > 1) CHECK(ep == tp * groups);
    }
    CHECK(splits().contains({1, 1, 32, 32}));
    CHECK(splits().contains({8, 2, 1, 8}));
    CHECK(splits().contains({2, 5, 1, 1}));
    CHECK(splits().contains({1, 2, 8, 8}));

    q.tensor = {4};
    q.stages = {3};
    q.groups = {1, 2};
    CHECK(splits() == std::set<std::array<std::int64_t, 4>>{{4, 3, 1, 1}, {4, 3, 1, 4}, {4, 3, 2, 8}});
    q.tensor = {3};
    CHECK_THROWS_WITH(plan_serving(q), contains("--tp: 3"));
    q.tensor = {};
    q.stages = {62};
    CHECK_THROWS_WITH(plan_serving(q), contains("--pp: 62"));
    q.stages = {};
    q.groups = {0};
    CHECK_THROWS_WITH(plan_serving(q), contains("--attention-dp: 0"));
}

TEST_CASE("serve plan: limits of a batch are each attention group's, and those that are given the replica's") {
    ServeQuestion q = question({{"h200-sxm", 3}}, 5);
    q.model = find_model("deepseek-v3");
    q.tensor = {1};
    q.stages = {1};
    q.batches = {};
    q.chunks = {256};
    auto const limits = [&](std::int64_t groups) {
        q.groups = {groups};
        std::set<std::array<std::int64_t, 2>> out;  // sequences of a replica, tokens of a group
        for (ServeCandidate const& c : serve_candidates(q))
            out.insert({c.plan.max_batch, c.plan.max_batched_tokens});
        return out;
    };
    using Limits = std::set<std::array<std::int64_t, 2>>;
    CHECK(limits(1) == Limits{{32, 256}, {128, 256}, {512, 512}, {1024, 1024}});
    CHECK(limits(8) == Limits{{256, 256}, {1024, 256}, {4096, 512}, {8192, 1024}});
    q.batches = {64, 4096};
    CHECK(limits(8) == Limits{{64, 256}, {4096, 512}});
    q.batches = {0};
    CHECK_THROWS_WITH(plan_serving(q), contains("--max-batch: 0"));
    q.batches = {};
    q.chunks = {-1};
    CHECK_THROWS_WITH(plan_serving(q), contains("--max-batched-tokens: -1"));
}

TEST_CASE("serve plan: groups with batches of their own do with fewer accelerators", "[long]") {
    ServeQuestion q = question({{"h200-sxm", 3.5}}, 100);
    q.model = find_model("deepseek-v3");
    q.weights = {"fp8-block"};
    q.prompt = q.output = {.mean = 1024};
    q.ttft = 5 * units::s;
    q.tpot = 100 * units::ms;
    q.tensor = {4};
    q.stages = {1};
    q.groups = {2};
    q.chunks = {2048};
    q.batches = {512};
    ServeAnswer const narrow = plan_serving(q);
    REQUIRE(narrow.found());
    q.batches = {};
    ServeAnswer const wide = plan_serving(q);
    REQUIRE(wide.found());
    CHECK(wide.ranked.front().plan.max_batch > 512);
    CHECK(wide.ranked.front().replicas <= 12);  // of eight, where the narrow batch wants 15
    CHECK(wide.ranked.front().replicas < narrow.ranked.front().replicas);
}

TEST_CASE("serve plan: no replica is cut as its engine would refuse to start") {
    ServeQuestion q = question({{"h200-sxm", 3}}, 5);
    auto const has = [&](std::int64_t tp, std::int64_t groups, std::int64_t ep) {
        auto const all = serve_candidates(q);
        return std::any_of(all.begin(), all.end(), [&](ServeCandidate const& c) {
            return c.plan.tp == tp && c.plan.attention_dp == groups && c.plan.ep == ep;
        });
    };
    q.model = find_model("phi-4");
    CHECK(has(2, 1, 1));
    CHECK_FALSE(has(4, 1, 1));  // of 40 heads on 10
    q.tensor = {4};
    CHECK_THROWS_WITH(check_given_splits(q), contains("10 key/value heads"));

    q.tensor = {};
    q.model = find_model("qwen3-235b-a22b");
    CHECK(has(8, 1, 1));
    CHECK(has(8, 1, 8));
    CHECK(has(4, 1, 1));

    CHECK(has(2, 4, 8));
    q.engine = find_engine("tensorrt-llm", "test");
    CHECK_FALSE(has(2, 4, 8));
    CHECK(has(1, 8, 8));
    CHECK(has(8, 1, 8));
    q.tensor = {2};
    q.groups = {4};
    CHECK_THROWS_WITH(check_given_splits(q), contains("--tp 1 --attention-dp 8"));
    q.tensor = {1, 2};
    CHECK_NOTHROW(check_given_splits(q));
}

TEST_CASE("serve plan: a model beyond the memory of a node is served by several") {
    ServeQuestion q = question({{"h100-sxm", 3}}, 2);
    q.model = find_model("deepseek-v3");
    q.weights = {"fp8-block"};
    ServeAnswer const a = plan_serving(q);
    REQUIRE(a.found());
    CHECK(a.ranked.front().plan.accelerators() > 8);
    q.stages = {1};
    q.groups = {1};
    ServeAnswer const one_node = plan_serving(q);
    CHECK_FALSE(one_node.found());
    REQUIRE(one_node.shortage);
    CHECK(one_node.shortage->plan.tp == 8);
}

TEST_CASE("serve plan: limits of the batch that a simulation never met change nothing, and those it met do") {
    ServeQuestion q = question({{"h100-sxm", 3}}, 12);
    q.tensor = {1};
    q.stages = {1};
    q.batches = {200, 400};
    q.chunks = {30000, 60000};
    ServeAnswer const a = plan_serving(q);
    REQUIRE(a.found());
    CHECK(a.simulated == 1);
    CHECK(a.rejected.at(serving_same) == 3);
    REQUIRE(a.ranked.size() == 1);
    ServeCandidate const& one = a.ranked.front();
    CHECK(one.peaks->batch < 200);
    CHECK(one.peaks->tokens < 30000);
    CHECK_FALSE(one.peaks->short_of_cache);
    q.batches = {400};
    q.chunks = {60000};
    ServeAnswer const b = plan_serving(q);
    REQUIRE(b.found());
    CHECK(b.ranked.front().replicas == one.replicas);
    // Simulations last longer where the bound is nearer to the capacity: other requests are measured, not other limits.
    CHECK(b.ranked.front().trial->ttft_p50.base() == Approx(one.trial->ttft_p50.base()).epsilon(0.03));
    CHECK(b.ranked.front().trial->tpot_p50.base() == Approx(one.trial->tpot_p50.base()).epsilon(0.03));
    q.batches = {200};
    q.chunks = {1024, 60000};  // prompts of a thousand tokens that come together are cut by the first
    ServeAnswer const met = plan_serving(q);
    CHECK(met.simulated == 2);
    CHECK_FALSE(met.rejected.contains(serving_same));
}

TEST_CASE("serve plan: prompts with replicas of their own are ranked beside replicas that do both") {
    ServeQuestion q = question({{"h100-sxm", 3}}, 20);
    q.model = find_model("llama-3.1-70b");
    q.prompt = {.mean = 4000};
    q.output = {.mean = 200};
    q.ttft = 3 * units::s;
    q.tpot = 20 * units::ms;  // less than a prompt beside the decodes leaves
    q.batches = {};
    q.tensor = {2, 4, 8};
    q.stages = {1};
    q.chunks = {2048, 8192};
    q.shown = 40;
    ServeAnswer const together = plan_serving(q);
    for (ServeCandidate const& c : together.ranked)
        CHECK_FALSE(c.prompts.has_value());
    q.apart = true;
    ServeAnswer const apart = plan_serving(q);
    REQUIRE(apart.found());
    ServeCandidate const& best = apart.ranked.front();
    REQUIRE(best.prompts.has_value());
    CHECK(best.trial->kept >= q.share);
    CHECK(best.trial->ttft_kept <= q.ttft);
    CHECK(best.trial->tpot_kept <= q.tpot);
    CHECK(best.accelerators(best.replicas) ==
          best.replicas * best.plan.accelerators() + best.prompts->replicas * best.prompts->plan.accelerators());
    if (together.found()) {
        ServeCandidate const& both = together.ranked.front();
        CHECK(dollars(q, best) < dollars(q, both));
    }
    // Those that do both are what they were.
    for (ServeCandidate const& c : apart.ranked)
        if (!c.prompts && c.trial)
            CHECK(std::any_of(together.ranked.begin(), together.ranked.end(), [&](ServeCandidate const& before) {
                return before.plan == c.plan && before.replicas == c.replicas;
            }));
    // Splits of prompts that are named are the only ones.
    q.prompt_tensor = {8};
    for (ServeCandidate const& c : plan_serving(q).ranked)
        if (c.prompts) CHECK(c.prompts->plan.tp == 8);
    q.prompt_tensor = {3};
    CHECK_THROWS_WITH(plan_serving(q), Catch::Contains("replicas for prompts") && Catch::Contains("--prefill-tp: 3"));
}

TEST_CASE("serve plan: replicas for prompts lie within one domain where there is no network beyond it") {
    ServeQuestion q = question({{"h100-sxm", 3}}, 5);
    q.machines.front().cluster.scale_out.reset();
    q.apart = true;
    q.tensor = {1, 2};
    q.stages = {1};
    ServeAnswer const a = plan_serving(q);
    REQUIRE(a.found());
    for (ServeCandidate const& c : a.ranked)
        if (c.prompts && c.trial) CHECK(c.accelerators(c.replicas) <= 8);
}

TEST_CASE("serve plan: a router that evens queues out does with fewer replicas than queues of their own") {
    ServeQuestion q = question({{"l40s-pcie", 1.55}}, 1);
    q.model = find_model("llama-3.1-70b");
    q.prompt = {.mean = 1024};
    q.output = {.mean = 256};
    q.ttft = {};
    q.tpot = 30e-3 * units::s;  // a request alone takes 29 ms a token
    q.weights = {"fp8"};
    q.batches = {32};
    ServeAnswer const a = plan_serving(q);
    REQUIRE(a.found());
    ServeCandidate const& best = a.ranked.front();
    CHECK(best.trial->kept >= q.share);
    CHECK(best.likely_replicas > 50);
    CHECK(best.replicas < 20);
    CHECK(best.least_replicas <= best.replicas);
}

TEST_CASE("serve plan: the closed form keeps the objectives at a candidate's bound, and not a thousandth above",
          "[long]") {
    for (double const tpot : {8e-3, 20e-3, 60e-3}) {
        ServeQuestion q = question({{"h100-sxm", 3}, {"h200-sxm", 3.5}}, 30);
        q.tpot = tpot * units::s;
        q.batches = {32, 256};
        ServeAnswer const a = plan_serving(q);
        REQUIRE_FALSE(a.ranked.empty());
        for (ServeCandidate const& c : a.ranked) {
            IterationModel const model(q.case_of(c));
            auto const keeps = [&](double rate) {
                ServingEstimate const e = open_loop(model, {.prompt = 1000, .output = 100}, rate);
                return !e.saturated && e.ttft.total() <= q.ttft && e.tpot <= q.tpot;
            };
            CAPTURE(tpot, c.machine, c.plan.tp, c.plan.max_batch, c.rate_bound);
            CHECK(keeps(c.rate_bound));
            CHECK_FALSE(keeps(1.001 * c.rate_bound));
        }
    }
}

TEST_CASE("serve plan: candidates run under the engine's scheduler unless one is named") {
    ServeQuestion q = question({{"h100-sxm", 3}}, 20);
    CHECK(q.used_scheduler().name == "chunked");
    ServeAnswer const mixed = plan_serving(q);
    q.engine.prompts = PromptOrder::first;
    CHECK(q.used_scheduler().name == "prefill-first");
    ServeAnswer const first = plan_serving(q);
    q.scheduler = scheduler_from("chunked", "test");
    ServeAnswer const named = plan_serving(q);
    REQUIRE((mixed.found() && first.found() && named.found()));
    CHECK(named.ranked.front().trial->tpot_p99 == mixed.ranked.front().trial->tpot_p99);
    CHECK(first.ranked.front().trial->tpot_p99 != mixed.ranked.front().trial->tpot_p99);
}

TEST_CASE("serve plan: the same for any number of threads; more load never needs fewer accelerators") {
    ServeQuestion q = question({{"h100-sxm", 3}}, 10);
    std::int64_t last = 0;
    for (double const rate : {5.0, 50.0, 200.0}) {
        q.rate = rate;
        q.threads = 1;
        ServeAnswer const one = plan_serving(q);
        q.threads = 2;
        ServeAnswer const two = plan_serving(q);
        REQUIRE(one.found());
        CHECK(one.ranked.front().replicas == two.ranked.front().replicas);
        CHECK(one.ranked.front().trial->ttft_p99 == two.ranked.front().trial->ttft_p99);
        std::int64_t const accelerators = one.ranked.front().accelerators(one.ranked.front().replicas);
        CHECK(accelerators >= last);
        last = accelerators;
    }
}

TEST_CASE("serve plan: objectives that no size can keep are answered with the best there is") {
    ServeQuestion q = question({{"h100-sxm", 3}}, 5);
    q.tpot = 0.1 * units::ms;
    ServeAnswer const a = plan_serving(q);
    CHECK_FALSE(a.found());
    REQUIRE(a.best_tpot);
    CHECK(*a.best_tpot > q.tpot);
    CHECK(a.rejected.at("misses the TPOT objective even alone") > 0);
    CHECK(a.simulated == 0);
}

TEST_CASE(
    "serve plan: prompts that are mostly shorter than the mean keep what a mean one misses alone, if enough may miss") {
    ServeQuestion q = question({{"h100-sxm", 3}}, 20);
    q.prompt = length_distribution_from("lognormal:4000,3", "test");
    q.output = {.mean = 256};
    q.ttft = 100 * units::ms;
    q.tpot = 50 * units::ms;
    q.tensor = q.stages = {1};
    q.batches = {128};
    q.chunks = {2048};
    q.share = 0.5;
    ServeAnswer const answer = plan_serving(q);
    REQUIRE(answer.found());
    ServeCandidate const& best = answer.ranked.front();
    CHECK(best.trial->kept >= 0.5);
    CHECK(best.rate_bound == 0);  // the mean prompt alone takes longer
    CHECK(best.replicas <= 7);
    REQUIRE(answer.best_ttft);
    CHECK(*answer.best_ttft < q.ttft);
    q.share = 0.97;  // with long prompts too many miss
    ServeAnswer const strict = plan_serving(q);
    CHECK_FALSE(strict.found());
    CHECK(strict.rejected.contains(serving_slow_ttft));
    q.prompt = {.mean = 4000};  // of one length all are as the mean
    q.share = 0.5;
    CHECK_FALSE(plan_serving(q).found());
}

TEST_CASE("serve plan: no point of the frontier is beaten in both by another") {
    ServeAnswer const a = plan_serving(question({{"h100-sxm", 3}, {"l40s-pcie", 1}}, 5));
    REQUIRE(a.frontier.size() > 2);
    for (std::size_t i = 1; i < a.frontier.size(); ++i) {
        CHECK(a.frontier[i].tokens_per_s_user <= a.frontier[i - 1].tokens_per_s_user);
        CHECK(a.frontier[i].tokens_per_s_accelerator > a.frontier[i - 1].tokens_per_s_accelerator);
    }
}

TEST_CASE("serve plan: an interrupt keeps what was simulated to its end, and nothing that was not") {
    ServeQuestion q = question({{"h100-sxm", 3}, {"h200-sxm", 3.2}}, 5);  // about as dear: both are simulated
    ServeAnswer const whole = plan_serving(q);
    REQUIRE(whole.simulated > 1);
    CHECK_FALSE(whole.interrupted);

    std::atomic<bool> stop = true;
    q.stop = &stop;
    ServeAnswer const none = plan_serving(q);
    CHECK(none.interrupted);
    CHECK_FALSE(none.found());
    CHECK(none.rejected.at("not looked at") == none.enumerated);

    for (std::int64_t const simulated : {0, 1}) {
        stop = false;
        std::int64_t begun = 0;
        q.progress = [&](auto const&...) { stop = begun++ == simulated; };
        ServeAnswer const part = plan_serving(q);
        CHECK(part.interrupted);
        CHECK(part.simulated == simulated);
        CHECK(part.enumerated == whole.enumerated);
        CHECK(std::count_if(part.ranked.begin(), part.ranked.end(), [](ServeCandidate const& c) {
                  return c.trial.has_value() || c.missed.has_value();
              }) == simulated);
    }
}

TEST_CASE("serve plan: wrong questions are refused") {
    ServeQuestion q = question({{"h100-sxm", 3}}, 0);
    CHECK_THROWS_WITH(plan_serving(q), contains("--rate"));
    q.rate = 5;
    q.share = 1;
    CHECK_THROWS_WITH(plan_serving(q), contains("--share"));
    q.share = 0.99;
    q.most_error = -0.1;
    CHECK_THROWS_WITH(plan_serving(q), contains("--max-error: -0.1"));
    q.most_error.reset();
    q.process = ArrivalProcess::closed;
    CHECK_THROWS_WITH(plan_serving(q), contains("--arrivals: closed"));
    q.process = ArrivalProcess::poisson;
    q.prompt = {.mean = 1e7};
    CHECK_THROWS_WITH(plan_serving(q), contains("--prompt"));
    q.machines.clear();
    CHECK_THROWS_WITH(plan_serving(q), contains("--cluster"));
}

TEST_CASE("serve plan: recorded requests are replayed whole, and drawn ones written down are the same load") {
    ServeQuestion drawn = question({{"h100-sxm", 3}}, 6);
    drawn.requests = 1000;
    SyntheticWorkload workload{.rate = 6, .prompt = drawn.prompt, .output = drawn.output, .requests = 1000, .seed = 1};
    SyntheticSource source(workload);
    std::vector<ServingRequest> trace;
    while (auto const request = source.next())
        trace.push_back(*request);
    ServeQuestion recorded = question({{"h100-sxm", 3}}, 1);
    replay(recorded, trace);
    CHECK(recorded.rate == Approx(6).epsilon(0.1));
    CHECK(recorded.prompt.mean == 1000);
    CHECK(recorded.output.mean == 100);
    CHECK(recorded.variation == Approx(1).epsilon(0.15));
    ServeAnswer const one = plan_serving(drawn);
    ServeAnswer const other = plan_serving(recorded);
    REQUIRE(one.found());
    REQUIRE(other.found());
    CHECK(other.ranked.front().replicas == one.ranked.front().replicas);
    CHECK(other.ranked.front().trial->ttft_p99.base() == Approx(one.ranked.front().trial->ttft_p99.base()));
}

TEST_CASE("serve plan: a faster trace never needs fewer accelerators, and one without a rate is refused") {
    std::vector<ServingRequest> trace;
    for (int i = 0; i < 800; ++i)
        trace.push_back({.arrival = 0.2 * i * units::s, .prompt = 500 + 700 * (i % 3), .output = 60 + 40 * (i % 5)});
    std::int64_t before = 0;
    for (double const faster : {1.0, 8.0, 32.0}) {
        std::vector<ServingRequest> now = trace;
        for (ServingRequest& request : now)
            request.arrival = request.arrival / faster;
        ServeQuestion q = question({{"h100-sxm", 3}}, 1);
        replay(q, now);
        ServeAnswer const answer = plan_serving(q);
        REQUIRE(answer.found());
        ServeCandidate const& best = answer.ranked.front();
        CHECK(best.accelerators(best.replicas) >= before);
        before = best.accelerators(best.replicas);
    }
    CHECK(before > 1);
    for (ServingRequest& request : trace)
        request.arrival = {};
    ServeQuestion q = question({{"h100-sxm", 3}}, 1);
    CHECK_THROWS_WITH(replay(q, trace), contains("have no rate"));
    CHECK_THROWS_WITH(replay(q, {}), contains("have no rate"));
}
