#include "planner/expert_choices.hpp"

#include "core/is_one_of.hpp"
#include "planner/expert_overlap.hpp"
#include "planner/ranking.hpp"
#include "planner/search.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

constexpr ExpertChoices everything{
    .deduplicates = Switch::on, .overlaps = Switch::on, .recomputes_modules = Switch::on};

struct Experts {
    ModelSpec model = mixture(1024, 6, 4, 2, 512);
    Workload workload{.sequence = 2048, .global_batch = 16};
    ClusterSpec machine = cluster();
    FrameworkProfile framework = neutral_framework();
    std::int64_t accelerators = 8;
    MemoryLimit limit{.capacity = 16 * units::GB, .usable = 12 * units::GB, .host = 256 * units::GB};

    Experts() { machine.domain_size = 2; }
    [[nodiscard]] SearchSpace space(SearchConstraints const& constraints) const {
        return make_search_space(model, workload, machine, accelerators, constraints);
    }
    [[nodiscard]] SearchResult found(SearchConstraints const& constraints) const {
        SearchOptions options{.top = 1000000, .grouping = Grouping::none, .threads = 1, .progress = {}};
        return search(model, workload, machine, framework, {space(constraints)}, limit, options);
    }
};

SearchConstraints with(ExpertChoices const& choices) {
    SearchConstraints c;
    c.experts = choices;
    return c;
}

bool tries(SearchSpace const& space, Schedule schedule) {
    return std::any_of(space.pipelining.begin(), space.pipelining.end(),
                       [&](auto const& p) { return p.schedule == schedule; });
}

using Times = std::map<PlanKey, Seconds>;

/// All plans with these degrees of what the choices are about, by plain loops and the rules of a single plan.
Times every_plan(Experts const& q, std::vector<RecomputeModules> const& module_sets) {
    Times fitting;
    ClosedForm form(q.model, q.workload, q.machine, q.framework, Precision::bf16);
    for (std::int64_t const pp : {1, 2})
        for (std::int64_t const ep : {1, 2, 4})
            for (std::int64_t vpp = 1; vpp <= q.model.layer_count(); ++vpp)
                for (Schedule const schedule : {Schedule::one_f_one_b, Schedule::interleaved, Schedule::overlapped})
                    for (Dispatcher const to_experts : {Dispatcher::all_to_all, Dispatcher::deduplicated})
                        for (std::size_t modules = 0; modules <= module_sets.size(); ++modules) {
                            ParallelPlan plan;
                            plan.pp = pp;
                            plan.dp = q.accelerators / pp;
                            plan.ep = ep;
                            plan.vpp = vpp;
                            plan.schedule = schedule;
                            plan.dispatcher = to_experts;
                            if (modules > 0) {
                                plan.recompute = Recompute::selective;
                                plan.recompute_modules = module_sets[modules - 1];
                            }
                            bool const within_domain = ep <= q.machine.domain_size;
                            if (to_experts == Dispatcher::deduplicated && within_domain) continue;
                            if (schedule == Schedule::overlapped && !can_overlap_experts(plan)) continue;
                            if (find_fault(q.model, plan, q.workload)) continue;
                            StepEstimate const estimate = form.evaluate(plan);
                            if (q.limit.admits(estimate.memory)) fitting.emplace(plan_key(plan), estimate.time);
                        }
    return fitting;
}

}  // namespace

TEST_CASE("search: of a model with experts it finds what plain loops over its framework's choices find", "[INV-26]") {
    Experts const q;
    SearchConstraints c = with(everything);
    c.tp = AxisFilter::parse("1", "--tp");
    c.cp = AxisFilter::parse("1", "--cp");
    c.pp = AxisFilter::parse("1,2", "--pp");
    c.micro_batch = AxisFilter::parse("1", "--micro-batch");
    c.zero = AxisFilter::parse("0", "--zero", 0);
    std::vector<RecomputeModules> const sets = module_sets_to_try(q.model, Precision::bf16);
    Times const expected = every_plan(q, sets);
    Times found;
    for (Candidate const& candidate : q.found(c).best)
        if (candidate.plan.recompute != Recompute::full)
            CHECK(found.emplace(plan_key(candidate.plan), candidate.estimate.time).second);
    // For each of two ways to recompute: without a pipeline 1, 2 and 2 x 2 plans for ep 1, 2 and 4 (1f1b and
    // overlapped, of groups beyond a domain of 2 with both dispatchers); with two stages 4, 7 and 2 x 7 (chunks of 1 to
    // 4).
    REQUIRE(expected.size() == 2 * (1 + 2 + 4 + 4 + 7 + 14));
    CHECK(found == expected);
}

TEST_CASE("search: more choices for experts make no plan slower", "[INV-26]") {
    Experts const q;
    Seconds const without = q.found(with({})).best.front().estimate.time;
    for (ExpertChoices const& one : {ExpertChoices{.deduplicates = Switch::on}, ExpertChoices{.overlaps = Switch::on},
                                     ExpertChoices{.recomputes_modules = Switch::on}, everything})
        CHECK(q.found(with(one)).best.front().estimate.time <= without);
}

TEST_CASE("make_search_space: what a framework has for experts is tried with experts alone") {
    Experts q;
    SearchSpace space = q.space(with(everything));
    CHECK(space.dispatchers == std::vector{Dispatcher::all_to_all, Dispatcher::deduplicated});
    CHECK(tries(space, Schedule::overlapped));
    CHECK(space.module_sets.size() == 1 + module_sets_to_try(q.model, Precision::bf16).size());
    space = q.space(with({}));
    CHECK(space.dispatchers == std::vector{Dispatcher::all_to_all});
    CHECK_FALSE(tries(space, Schedule::overlapped));
    CHECK(space.module_sets.size() == 1);
    q.model = llama(1024, 8, 4, 6, 2816);
    space = q.space(with(everything));
    CHECK(space.dispatchers.size() == 1);
    CHECK_FALSE(tries(space, Schedule::overlapped));
    CHECK(space.module_sets.size() == 1);
}

TEST_CASE("make_search_space: what the question fixes for experts is all that is searched") {
    Experts const q;
    SearchConstraints c = with(everything);
    for (Dispatcher const asked : {Dispatcher::all_to_all, Dispatcher::deduplicated}) {
        c.dispatcher = c.base.dispatcher = asked;
        CHECK(q.space(c).dispatchers == std::vector{asked});
    }
    c = with(everything);
    c.recompute_modules = c.base.recompute_modules = RecomputeModules{RecomputeModule::moe_act};
    SearchSpace const space = q.space(c);
    CHECK(space.module_sets == std::vector{RecomputeModules{RecomputeModule::moe_act}});
    CHECK(std::any_of(space.recompute.begin(), space.recompute.end(),
                      [](auto const& r) { return r.policy == Recompute::selective; }));
    c = with(everything);
    c.recompute = {Recompute::none};
    CHECK(q.space(c).recompute.size() == 1);
    c = with(everything);
    c.schedules = {Schedule::one_f_one_b};
    CHECK_FALSE(tries(q.space(c), Schedule::overlapped));
}

TEST_CASE("dispatchers_to_try: once per domain where kernels do that, and there are several") {
    ClusterSpec machine = cluster();
    std::vector const both{Dispatcher::all_to_all, Dispatcher::deduplicated};
    std::vector const one{Dispatcher::all_to_all};
    CHECK(dispatchers_to_try(machine, 16, everything) == both);
    CHECK(dispatchers_to_try(machine, machine.domain_size, everything) == one);
    CHECK(dispatchers_to_try(machine, 16, {}) == one);
    machine.scale_out->kind = "efa";
    CHECK(dispatchers_to_try(machine, 16, everything) == one);
    machine.scale_out.reset();
    CHECK(dispatchers_to_try(machine, 16, everything) == one);
}

TEST_CASE("module_sets_to_try: modules of the model, no set twice") {
    ModelSpec const model = mixture(1024, 6, 4, 2, 512, 2);
    std::vector<RecomputeModules> const sets = module_sets_to_try(model, Precision::bf16);
    REQUIRE(sets.size() == 2);
    CHECK(sets[0] == RecomputeModules{RecomputeModule::layernorm, RecomputeModule::moe_act});
    CHECK(sets[1] == RecomputeModules{RecomputeModule::layernorm, RecomputeModule::moe_act, RecomputeModule::mlp});
    for (RecomputeModules const set : module_sets_to_try(model, Precision::fp16))
        CHECK_FALSE(set.has(RecomputeModule::moe_act));  // of experts that are not multiplied in one kernel
    CHECK(module_sets_to_try(mixture(1024, 6, 4, 2, 512), Precision::bf16).size() == 1);
}

TEST_CASE("expert_choices: of the frameworks that have them") {
    FrameworkProfile framework = neutral_framework();
    auto const count = [&](char const* name) {
        framework.name = name;
        ExpertChoices const c = expert_choices(framework);
        return (c.deduplicates == Switch::on ? 1 : 0) + (c.overlaps == Switch::on ? 1 : 0) +
               (c.recomputes_modules == Switch::on ? 1 : 0);
    };
    CHECK(count("megatron") == 3);
    CHECK(count("torchtitan") == 1);
    for (char const* others : {"deepspeed", "maxtext", "fsdp", "generic"})
        CHECK(count(others) == 0);
    framework.family = "megatron";  // with constants of its own
    CHECK(count("mine") == 3);
}
