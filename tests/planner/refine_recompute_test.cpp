#include "planner/refine_recompute.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/exporters/launch_plan.hpp"
#include "planner/refine.hpp"
#include "tests/catch.hpp"

#include <algorithm>

using namespace sextant;

namespace {

struct Refined {
    char const* framework_name = "megatron";
    char const* model_name = "qwen3-32b";
    char const* machine_name = "l40s-pcie";
    std::int64_t accelerators = 32;
    Workload workload{.sequence = 4096, .global_batch = 64};
    std::optional<std::int64_t> pinned{};
    std::vector<Recompute> policies{};
    std::size_t top = 10;

    [[nodiscard]] SearchResult answer(decltype(&refine) refined) const {
        ModelSpec const model = find_model(model_name);
        ClusterSpec const machine = find_cluster(machine_name, "test");
        FrameworkProfile const framework = find_framework(framework_name, "test");
        SearchConstraints constraints = constraints_of(framework);
        constraints.recompute = policies;
        constraints.recompute_layers = pinned;
        std::vector<SearchSpace> const spaces{make_search_space(model, workload, machine, accelerators, constraints)};
        MemoryLimit const limit = default_memory_limit(machine, framework);
        SearchOptions options;
        options.top = top;
        options.keep = Kept::to_refine;
        SearchResult result = search(model, workload, machine, framework, spaces, limit, options);
        ClosedForm form(model, workload, machine, framework, Precision::bf16);
        refined(result, form, spaces, limit, options);
        for (Candidate const& c : result.best) {
            CHECK(limit.admits(form.evaluate(c.plan).memory));
            CHECK(form.evaluate(c.plan, PipelineMethod::walk).time == c.estimate.time);
            if (refined == refine || pinned || c.plan.recompute != Recompute::full) continue;
            std::int64_t const step = recompute_step(framework, c.plan);
            std::int64_t const all = most_layers_of_stage(c.plan, model);
            std::int64_t const layers = c.plan.recompute_layers > 0 ? c.plan.recompute_layers : all;
            if (layers <= step) continue;
            ParallelPlan fewer = c.plan;
            fewer.recompute_layers = (layers - 1) / step * step;
            CAPTURE(layers, step);
            CHECK_FALSE(limit.admits(form.evaluate(fewer).memory));
        }
        CHECK(std::is_sorted(result.best.begin(), result.best.end(),
                             [](Candidate const& a, Candidate const& b) { return a.before(b); }));
        return result;
    }
};

}  // namespace

TEST_CASE("refine_with_recompute: as few layers run again as fit, and no plan gets slower", "[INV-7][INV-26]") {
    for (auto const& asked : {Refined{}, Refined{.framework_name = "fsdp", .model_name = "llama-3.1-8b"},
                              Refined{.policies = {Recompute::full}}}) {
        SearchResult const plain = asked.answer(refine);
        SearchResult const reduced = asked.answer(refine_with_recompute);
        REQUIRE(plain.best.size() == reduced.best.size());
        for (std::size_t i = 0; i < plain.best.size(); ++i)
            CHECK(reduced.best[i].score <= plain.best[i].score);
    }
}

TEST_CASE("refine_with_recompute: no number of layers that is named beats the first plan by itself", "[INV-26]") {
    Refined asked{.model_name = "qwen3-30b-a3b", .machine_name = "h100-sxm", .accelerators = 16, .top = 3};
    double const own = asked.answer(refine_with_recompute).best.front().score;
    CHECK(own < asked.answer(refine).best.front().score);
    asked.policies = {Recompute::full};
    for (std::int64_t layers = 1; layers < 48; layers += 6) {
        asked.pinned = layers;
        CAPTURE(layers);
        for (Candidate const& c : asked.answer(refine_with_recompute).best)
            CHECK(own <= c.score);
    }
}

TEST_CASE("refine_with_recompute: modules run again where Megatron-Core has that and nobody names a policy") {
    Refined asked;
    auto const modules = [](SearchResult const& result) {
        return std::count_if(result.best.begin(), result.best.end(),
                             [](Candidate const& c) { return c.plan.recompute == Recompute::selective; });
    };
    CHECK(modules(asked.answer(refine_with_recompute)) > 0);
    asked.policies = {Recompute::none, Recompute::full};
    CHECK(modules(asked.answer(refine_with_recompute)) == 0);
    asked.policies.clear();
    asked.framework_name = "nanotron";
    CHECK(modules(asked.answer(refine_with_recompute)) == 0);
}
