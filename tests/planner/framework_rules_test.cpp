#include "core/is_one_of.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/not_expressed.hpp"
#include "planner/report.hpp"
#include "planner/search.hpp"
#include "tests/catch.hpp"

#include <algorithm>

using namespace sextant;

namespace {

struct AskedOf {
    FrameworkProfile framework;
    ModelSpec model = find_model("llama-3.1-8b");
    ClusterSpec machine = find_cluster("h100-sxm", "test");
    Workload workload{.sequence = 4096, .global_batch = 64};
    std::int64_t accelerators = 16;
    SearchConstraints constraints = constraints_of(framework);

    explicit AskedOf(char const* name) : framework(find_framework(name, "test")) {}

    [[nodiscard]] std::vector<Candidate> plans(std::size_t most = 200) const {
        SearchOptions options;
        options.top = most;
        options.grouping = Grouping::none;
        return search(model, workload, machine, framework,
                      {make_search_space(model, workload, machine, accelerators, constraints)},
                      default_memory_limit(machine, framework), options)
            .best;
    }
    [[nodiscard]] std::vector<std::string> missing(ParallelPlan const& plan) const {
        return not_expressed(model, machine, framework, workload, plan);
    }
};

AxisFilter only(char const* value, char const* option) { return AxisFilter::parse(value, option, 0); }

}  // namespace

TEST_CASE("search: what it finds by itself the framework's files say as it is", "[INV-26][long]") {
    for (char const* const framework :
         {"megatron", "deepspeed", "torchtitan", "fsdp", "pytorch", "transformers", "maxtext"})
        for (char const* const model : {"llama-3.1-8b", "qwen3-30b-a3b"})
            for (auto const width : {SearchConstraints::Width::standard, SearchConstraints::Width::full}) {
                AskedOf asked(framework);
                asked.model = find_model(model);
                asked.constraints.width = width;
                CAPTURE(framework, model, width);
                auto const found = asked.plans();
                // Without a division of its experts the model needs more memory than a device has.
                if (!asked.model.moe) CHECK_FALSE(found.empty());
                for (Candidate const& c : found) {
                    auto missing = asked.missing(c.plan);
                    // The constants hold for later releases as well, which the mark asks for.
                    std::erase_if(missing,
                                  [](std::string const& note) { return note.find("later") != std::string::npos; });
                    // FSDP's way of offloading takes more along than ZeRO 2 says, which the mark tells.
                    if (c.plan.offload == Offload::optimizer && c.plan.zero < 3 && missing.size() == 1) continue;
                    CAPTURE(c.plan.tp, c.plan.pp, c.plan.cp, c.plan.ep, c.plan.zero, c.plan.vpp, missing);
                    CHECK(missing.empty());
                    if (!missing.empty()) break;
                }
            }
}

TEST_CASE("search: under Megatron-LM interleaving has as many microbatches as stages, unless vpp is named") {
    AskedOf asked("megatron");
    asked.workload.global_batch = 2;
    asked.constraints.pp = only("4", "--pp");
    auto const own = asked.plans();
    REQUIRE_FALSE(own.empty());
    CHECK(std::all_of(own.begin(), own.end(), [](Candidate const& c) { return c.plan.vpp == 1; }));
    asked.constraints.vpp = only("2", "--vpp");
    auto const named = asked.plans();
    REQUIRE_FALSE(named.empty());
    REQUIRE_FALSE(asked.missing(named.front().plan).empty());
    CHECK_THAT(asked.missing(named.front().plan).front(), contains("micro_batch: interleaving wants"));
}

TEST_CASE("search: under DeepSpeed sequences are split the Ulysses way, beside nothing else unless cp is named") {
    AskedOf asked("deepspeed");
    asked.workload = {.sequence = 32768, .global_batch = 16};
    auto const own = asked.plans(1000);
    auto const splits = [](Candidate const& c) { return c.plan.cp > 1; };
    CHECK(std::any_of(own.begin(), own.end(), splits));
    for (Candidate const& c : own)
        if (splits(c)) CHECK((c.plan.cp_mode == ContextParallel::ulysses && c.plan.tp == 1 && c.plan.pp == 1));
    asked.constraints.cp = only("2", "--cp");
    asked.constraints.tp = only("2", "--tp");
    auto const named = asked.plans();
    REQUIRE_FALSE(named.empty());
    CHECK_FALSE(asked.missing(named.front().plan).empty());
}

TEST_CASE("search: ZeRO stages are those that the framework has, or those that are named") {
    auto const stages = [](AskedOf const& asked) {
        std::vector<int> found;
        for (Candidate const& c : asked.plans(2000))
            if (c.plan.dp > 1 && c.plan.pp == 1 && c.plan.tp > 1 && !is_one_of(found, c.plan.zero))
                found.push_back(c.plan.zero);
        std::sort(found.begin(), found.end());
        return found;
    };
    CHECK(stages(AskedOf("torchtitan")) == std::vector{2, 3});
    CHECK(stages(AskedOf("fsdp")) == std::vector{0, 2, 3});
    CHECK(stages(AskedOf("maxtext")) == std::vector{0, 1, 3});
    CHECK(stages(AskedOf("nanotron")) == std::vector{0, 1});
    CHECK(stages(AskedOf("generic")) == std::vector{0, 1, 2, 3});
    AskedOf named("torchtitan");
    named.constraints.zero = only("1", "--zero");
    CHECK(stages(named) == std::vector{1});
}

TEST_CASE("search: under MaxText a policy of its own holds for all layers, unless another is named") {
    AskedOf asked("maxtext");
    asked.model = find_model("llama-3.1-70b");
    asked.accelerators = 64;
    std::vector<std::int64_t> kept;
    for (Candidate const& c : asked.plans(1000)) {
        CHECK(c.plan.recompute == Recompute::full);
        CHECK(c.plan.recompute_layers == 0);
        if (!is_one_of(kept, c.plan.kept_activations.bits())) kept.push_back(c.plan.kept_activations.bits());
    }
    CHECK(kept.size() > 3);
    asked.constraints.recompute = {Recompute::none};
    for (Candidate const& c : asked.plans(10))
        CHECK(c.plan.recompute == Recompute::none);
}

TEST_CASE("search: experts are cut over as many ranks as the framework cuts them over, or as are named") {
    for (char const* const framework : {"torchtitan", "maxtext"}) {
        AskedOf asked(framework);
        asked.model = find_model("qwen3-30b-a3b");
        asked.constraints.tp = only("2", "--tp");
        auto const own = asked.plans(1000);
        REQUIRE_FALSE(own.empty());
        bool const always = std::string_view(framework) == "maxtext";
        for (Candidate const& c : own)
            CHECK(c.plan.expert_tp == (always || c.plan.ep == 1 ? 2 : 1));
        asked.constraints.expert_tp = 1;
        for (Candidate const& c : asked.plans(100))
            CHECK(c.plan.expert_tp == 1);
        AskedOf dense(framework);
        dense.constraints.tp = only("2", "--tp");
        CHECK_FALSE(dense.plans().empty());
    }
}

TEST_CASE("not_expressed: nothing of what a search does not choose, nor of models that no files are written for") {
    AskedOf asked("fsdp");
    ParallelPlan plan{.dp = 16, .zero = 3};
    plan.precision = Precision::fp8;
    CHECK(asked.missing(plan).empty());
    plan.zero = 1;
    REQUIRE(asked.missing(plan).size() == 1);
    CHECK_THAT(asked.missing(plan).front(), contains("zero: "));
    AskedOf generic("generic");
    CHECK(generic.missing(plan).empty());
    asked.model = find_model("nemotron-h-8b");
    CHECK(asked.missing(plan).empty());
}
