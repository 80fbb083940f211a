#include "planner/search_space.hpp"

#include "core/error.hpp"
#include "core/graph/usual_stages.hpp"
#include "core/is_one_of.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "planner/ranking.hpp"
#include "planner/search.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

struct Small {
    ModelSpec model = llama(1024, 8, 4, 6, 2816);
    Workload workload{.sequence = 4096, .global_batch = 16};
    ClusterSpec machine = cluster();
    FrameworkProfile framework = neutral_framework();
    std::int64_t accelerators = 8;
    MemoryLimit limit{.capacity = 8 * units::GB, .usable = 6 * units::GB, .host = 256 * units::GB};

    [[nodiscard]] SearchSpace space(SearchConstraints const& constraints = {}) const {
        return make_search_space(model, workload, machine, accelerators, constraints);
    }
};

/// Every plan of the standard space that fits, found with plain loops over wider ranges than the space's and the rules
/// of a single plan.
std::map<PlanKey, StepEstimate> every_fitting_plan(Small const& q) {
    std::map<PlanKey, StepEstimate> fitting;
    ClosedForm form(q.model, q.workload, q.machine, q.framework, Precision::bf16);
    auto const consider = [&](ParallelPlan const& plan) {
        if (find_fault(q.model, plan, q.workload)) return;
        StepEstimate const estimate = form.evaluate(plan);
        if (q.limit.admits(estimate.memory)) fitting.emplace(plan_key(plan), estimate);
    };
    std::int64_t const n = q.accelerators;
    for (std::int64_t tp = 1; tp <= n; ++tp)
        for (std::int64_t cp = 1; cp <= q.workload.sequence / 2048; ++cp)
            for (std::int64_t pp = 1; tp * cp * pp <= n; ++pp) {
                if (n % (tp * cp * pp) != 0) continue;
                for (std::int64_t vpp = 1; vpp <= q.model.layer_count(); ++vpp)
                    for (std::int64_t micro_batch = 1; micro_batch <= 32; micro_batch *= 2)
                        for (int zero = 0; zero <= 3; ++zero)
                            for (std::int64_t layers = -1; layers < q.model.layer_count();
                                 layers = layers < 1 ? layers + 1 : 2 * layers) {
                                ParallelPlan plan;
                                plan.tp = tp;
                                plan.cp = cp;
                                plan.pp = pp;
                                plan.dp = n / (tp * cp * pp);
                                plan.vpp = vpp;
                                plan.schedule = vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
                                plan.micro_batch = micro_batch;
                                plan.zero = zero;
                                if (zero > 0 && plan.dp * cp == 1)
                                    continue;  // nothing to shard over: the same as ZeRO 0
                                plan.recompute = layers < 0 ? Recompute::none : Recompute::full;
                                plan.recompute_layers = std::max<std::int64_t>(0, layers);
                                std::int64_t const deepest = (q.model.layer_count() + pp - 1) / pp;
                                if (layers >= deepest) continue;  // the same as all layers
                                plan.sequence_parallel = tp > 1 ? Switch::on : Switch::off;
                                consider(plan);
                            }
            }
    return fitting;
}

std::string message_of(Small const& q, SearchConstraints const& constraints) {
    try {
        static_cast<void>(q.space(constraints));
    } catch (InputError const& error) {
        return error.what();
    }
    return "";
}

std::optional<AxisFilter> axis(char const* text, std::int64_t least = 1) {
    return AxisFilter::parse(text, "axis", least);
}

}  // namespace

TEST_CASE("search: it finds the plans that plain loops find, with the same times, under every objective", "[INV-26]") {
    Small const q;
    std::map<PlanKey, StepEstimate> const expected = every_fitting_plan(q);
    REQUIRE(expected.size() > 200);
    SearchOptions options{.top = 1000000, .grouping = Grouping::none, .progress = {}};
    for (Objective const objective :
         {Objective::time, Objective::memory, Objective::cost, Objective::tokens_per_dollar}) {
        options.objective = objective;
        SearchResult const found = search(q.model, q.workload, q.machine, q.framework, {q.space()}, q.limit, options);
        REQUIRE(found.best.size() == expected.size());
        CHECK(found.counts.evaluated == static_cast<std::int64_t>(expected.size()));
        CHECK(found.counts.rejected[rejected_for_memory] > 0);
        for (Candidate const& c : found.best) {
            auto const same = expected.find(plan_key(c.plan));
            REQUIRE(same != expected.end());
            REQUIRE(same->second.time == c.estimate.time);
            REQUIRE(same->second.peak() == c.estimate.peak());
        }
        auto const measure = [&](StepEstimate const& e) {
            return objective == Objective::memory ? e.peak().base() : e.time.base();
        };
        double least = measure(expected.begin()->second);
        for (auto const& [key, estimate] : expected)
            least = std::min(least, measure(estimate));
        CHECK(measure(found.best.front().estimate) == least);
    }
}

TEST_CASE("search space: every axis holds values that can be built, and nothing twice", "[INV-26]") {
    Small q;
    for (auto const width : {SearchConstraints::Width::standard, SearchConstraints::Width::full}) {
        for (std::int64_t const n : {1, 6, 8, 12, 64, 96}) {
            q.accelerators = n;
            SearchConstraints constraints;
            constraints.width = width;
            SearchSpace const space = q.space(constraints);
            for (auto const* values : {&space.tp, &space.pp, &space.cp, &space.ep, &space.micro_batch}) {
                REQUIRE_FALSE(values->empty());
                CHECK(values->front() == 1);
                CHECK(std::adjacent_find(values->begin(), values->end(), std::greater_equal<>()) == values->end());
            }
            for (std::int64_t const tp : space.tp)
                CHECK((n % tp == 0 && q.model.attention.heads % tp == 0));
            for (std::int64_t const pp : space.pp)
                CHECK((n % pp == 0 && pp <= q.model.layer_count()));
            for (std::int64_t const cp : space.cp)
                CHECK((n % cp == 0 && q.workload.sequence % cp == 0));
            CHECK(space.ep == std::vector<std::int64_t>{1});
        }
    }
}

TEST_CASE("search space: a value that is named is searched even where the default would leave it out", "[INV-26]") {
    Small q;
    q.model = llama(2048, 32, 32, 6, 5632);
    q.accelerators = 32;
    CHECK(q.space().tp == std::vector<std::int64_t>{1, 2, 4, 8});  // inside a domain of 8
    SearchConstraints constraints;
    constraints.tp = axis("16,32");
    constraints.micro_batch = axis("1");
    constraints.cp = axis("4");
    SearchSpace const space = q.space(constraints);
    CHECK(space.tp == std::vector<std::int64_t>{16, 32});
    CHECK(space.cp == std::vector<std::int64_t>{4});
    CHECK(space.micro_batch == std::vector<std::int64_t>{1});
    constraints.tp = axis("2..4");
    CHECK(q.space(constraints).tp == std::vector<std::int64_t>{2, 4});
}

TEST_CASE("search space: recurrent layers limit what tensor and context parallelism can split", "[INV-26]") {
    Small q;
    CHECK(q.space().cp == std::vector<std::int64_t>{1, 2});
    q.model = hybrid(StateRule::delta, 1024, 8);
    CHECK(q.space().cp == std::vector<std::int64_t>{1});
    CHECK(q.space().tp == std::vector<std::int64_t>{1, 2, 4, 8});
    q.model.recurrent->heads = 12;
    CHECK(q.space().tp == std::vector<std::int64_t>{1, 2, 4});
    q.model.recurrent->key_heads = 3;
    CHECK(q.space().tp == std::vector<std::int64_t>{1});
}

TEST_CASE("search space: a constraint that nothing meets is refused with the values that there are", "[INV-11]") {
    Small q;
    SearchConstraints c;
    c.tp = axis("5");
    CHECK_THAT(message_of(q, c), contains("--tp: nothing of '5' can be searched (the values here are 1, 2, 4, 8)"));
    c = {};
    c.pp = axis("7");
    CHECK_THAT(message_of(q, c), contains("--pp") && contains("'7'"));
    c = {};
    c.cp = axis("3");
    CHECK_THAT(message_of(q, c), contains("--cp"));
    c = {};
    c.ep = axis("2");
    CHECK_THAT(message_of(q, c), contains("--ep") && contains("the values here are 1)"));
    c = {};
    c.micro_batch = axis("5");
    CHECK_THAT(message_of(q, c), contains("--micro-batch"));
    c = {};
    c.zero = axis("4", 0);
    CHECK_THAT(message_of(q, c), contains("--zero: 4 is no ZeRO stage"));
    c = {};
    c.vpp = axis("1");
    c.schedules = {Schedule::interleaved};
    CHECK_THAT(message_of(q, c), contains("--vpp"));
    c = {};
    c.vpp = axis("2");
    c.pp = axis("1");
    CHECK_THAT(message_of(q, c), contains("needs a pipeline"));
    c = {};
    c.tp = axis("1");
    c.sequence_parallel = Switch::on;
    CHECK_THAT(message_of(q, c), contains("--sequence-parallel") && contains("needs tp > 1"));
    q.model = gpt(1024, 16, 8, 51200, 2048);
    CHECK_THAT(message_of(q, {}), contains("4096 is longer than the 2048 learned positions"));
}

TEST_CASE("search: fixed degrees, chunks and microbatches hold for every plan", "[INV-26]") {
    Small const q;
    SearchConstraints c;
    c.pp = axis("2");
    c.vpp = axis(">=2");
    c.micro_batch = axis("1,4");
    c.dp = axis("<=2");
    SearchOptions const options{.top = 100000, .grouping = Grouping::none, .progress = {}};
    SearchResult const result = search(q.model, q.workload, q.machine, q.framework, {q.space(c)}, q.limit, options);
    REQUIRE_FALSE(result.best.empty());
    for (Candidate const& found : result.best) {
        CHECK(found.plan.pp == 2);
        CHECK(found.plan.vpp >= 2);
        CHECK(found.plan.schedule == Schedule::interleaved);
        CHECK((found.plan.micro_batch == 1 || found.plan.micro_batch == 4));
        CHECK(found.plan.dp <= 2);
    }
}

TEST_CASE("search: passes in pairs are tried with and without a pipeline, as Megatron-Core takes them", "[INV-26]") {
    Small q;
    q.model = mixture(1024, 16, 8, 2, 512, 0);
    SearchConstraints c;
    c.schedules = {Schedule::one_f_one_b, Schedule::overlapped};
    c.pp = axis("1,2");
    SearchOptions const options{.top = 100000, .grouping = Grouping::none, .progress = {}};
    SearchResult const result = search(q.model, q.workload, q.machine, q.framework, {q.space(c)}, q.limit, options);
    std::set<std::tuple<std::int64_t, std::int64_t, Schedule>> seen;
    for (Candidate const& found : result.best) {
        ParallelPlan const& p = found.plan;
        seen.emplace(p.pp, std::min<std::int64_t>(2, p.vpp), p.schedule);
        if (p.schedule != Schedule::overlapped) continue;
        CHECK(p.zero < 2);
        CHECK(p.ep > 1);
        CHECK(p.recompute != Recompute::full);
    }
    CHECK(seen == std::set<std::tuple<std::int64_t, std::int64_t, Schedule>>{{1, 1, Schedule::one_f_one_b},
                                                                             {1, 1, Schedule::overlapped},
                                                                             {2, 1, Schedule::one_f_one_b},
                                                                             {2, 2, Schedule::overlapped}});
    auto const has_pairs = [](SearchSpace const& space) {
        return std::any_of(space.pipelining.begin(), space.pipelining.end(),
                           [](auto const& way) { return way.schedule == Schedule::overlapped; });
    };
    Small const dense;
    c = {};
    CHECK_FALSE(has_pairs(q.space(c)));
    c.width = SearchConstraints::Width::full;
    CHECK(has_pairs(q.space(c)));
    CHECK_FALSE(has_pairs(dense.space(c)));
}

TEST_CASE("search: a model that no chunks divide evenly is interleaved unevenly where the framework can", "[INV-26]") {
    Small q;
    q.model = llama(1024, 16, 8, 61, 2048);
    SearchOptions const options{.top = 100000, .grouping = Grouping::none, .progress = {}};
    auto const chunks_of = [&](char const* name) {
        q.framework = find_framework(name, "test");
        SearchConstraints c = constraints_of(q.framework);
        c.pp = axis("8");
        std::set<std::int64_t> seen;
        SearchResult const result = search(q.model, q.workload, q.machine, q.framework, {q.space(c)}, q.limit, options);
        for (Candidate const& found : result.best) {
            seen.insert(found.plan.vpp);
            if (found.plan.vpp > 1) CHECK(found.plan.stage_layers == uneven_chunks(q.model, 8, found.plan.vpp));
        }
        return seen;
    };
    CHECK(chunks_of("megatron").contains(2));
    CHECK(chunks_of("generic") == std::set<std::int64_t>{1});
}

TEST_CASE("search space: narrow copies of weights leave ZeRO 3 out", "[INV-26]") {
    Small q;
    SearchConstraints constraints;
    constraints.base.precision = Precision::fp8;
    CHECK(q.space(constraints).zero == std::vector{0, 1, 2, 3});
    constraints.base.narrow_copies = Switch::on;
    CHECK(q.space(constraints).zero == std::vector{0, 1, 2});
}

TEST_CASE("make_search_space: limits that leave nothing to search are refused by the option that does it") {
    auto const refused = [](auto const& change, char const* part) {
        Small q;
        SearchConstraints c;
        change(q, c);
        INFO(part);
        CHECK_THROWS_WITH(q.space(c), contains(part));
    };
    refused([](Small&, auto& c) { c.pp = axis("1"), c.vpp = axis("2"); }, "--vpp: '2' needs a pipeline");
    refused([](Small&, auto& c) { c.vpp = axis("3"), c.schedules = {Schedule::zb_v}; }, "--vpp: no schedule is left");
    refused([](Small&, auto& c) { c.zero = axis(">=4"); }, "--zero");
    refused([](Small&, auto& c) { c.tp = axis("3"); }, "--tp: nothing of '3' can be searched");
    refused([](Small&, auto& c) { c.tp = axis("1"), c.sequence_parallel = Switch::on; }, "--sequence-parallel");
    refused([](Small&, auto& c) { c.base.adapters = {.rank = 4096, .targets = attention_targets()}; }, "rank 4096");
    refused([](Small&, auto& c) { c.base.narrow_copies = Switch::on; }, "weights of bf16 have none");
    refused(
        [](Small&, auto& c) {
            c.base.narrow_copies = Switch::on;
            c.base.precision = Precision::fp8;
            c.zero = axis("3");
        },
        "--narrow-copies: those of weights that ZeRO 3");
    refused([](Small& q, auto&) { q.model = gpt(1024, 8, 6, 51200, 2048); }, "--seq: 4096 is longer");
}

TEST_CASE("objective_from reads what name_of writes, and offers the nearest of anything else") {
    for (Objective const o : {Objective::time, Objective::cost, Objective::memory, Objective::tokens_per_dollar})
        CHECK(objective_from(name_of(o), "--objective") == o);
    CHECK_THROWS_WITH(objective_from("tim", "--objective"),
                      contains("--objective: unknown objective 'tim'") && contains("mean 'time'"));
}

TEST_CASE("AxisFilter: values that no machine has are out of range, not overflowed", "[INV-11]") {
    for (char const* text :
         {"99999999999999999999", "9223372036854775807", "<=2147483649", "1..99999999999", "2,4294967296"}) {
        CAPTURE(text);
        CHECK_THROWS_WITH(AxisFilter::parse(text, "--tp"), contains("--tp:") && contains("out of range"));
    }
    CHECK(AxisFilter::parse("<=2147483648", "--tp").allows(2147483648));
}

TEST_CASE("make_search_space: pipelines that the framework has not are searched where they are named alone") {
    auto const degrees = [](SearchSpace const& space) { return space.pp; };
    Small const q;
    SearchConstraints c;
    CHECK(degrees(q.space(c)).size() > 1);
    c.usual.pipelines = Pipelines::none;
    CHECK(degrees(q.space(c)) == std::vector<std::int64_t>{1});
    c.pp = AxisFilter::parse("2", "--pp", 1);
    CHECK(degrees(q.space(c)) == std::vector<std::int64_t>{2});
    auto const interleaves = [](SearchSpace const& space) {
        return std::any_of(space.pipelining.begin(), space.pipelining.end(), [](auto const& p) { return p.vpp > 1; });
    };
    c = {};
    CHECK(interleaves(q.space(c)));
    c.usual.pipelines = Pipelines::plain;
    CHECK_FALSE(interleaves(q.space(c)));
    CHECK(degrees(q.space(c)).size() > 1);
    c.vpp = AxisFilter::parse("2", "--vpp", 1);
    CHECK(interleaves(q.space(c)));
}

TEST_CASE("make_search_space: context parallelism is the framework's, without a ring where layers have windows") {
    Small q;
    SearchConstraints c;
    CHECK(q.space(c).cp_modes == std::vector{ContextParallel::ring});
    c.usual.cp_mode = ContextParallel::all_gather;
    CHECK(q.space(c).cp_modes == std::vector{ContextParallel::all_gather});
    c = {};
    for (LayerKind& layer : q.model.layers)
        layer.sliding = true;
    q.model.attention.window = 512;
    CHECK(q.space(c).cp_modes == std::vector{ContextParallel::all_gather});
    c.width = SearchConstraints::Width::full;
    CHECK_FALSE(is_one_of(q.space(c).cp_modes, ContextParallel::ring));
}
