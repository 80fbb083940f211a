#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/ranking.hpp"
#include "planner/relaxation.hpp"
#include "planner/search.hpp"
#include "simulator/closed_form.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>
#include <atomic>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

struct Question {
    ModelSpec model = llama(4096, 32, 8, 32, 14336);
    Workload workload{.sequence = 2048, .global_batch = 64};
    ClusterSpec machine = cluster();
    FrameworkProfile framework = neutral_framework();
    std::vector<std::int64_t> accelerators{8};
    SearchConstraints constraints{};
    MemoryLimit limit{.capacity = 80 * units::GB, .usable = 76 * units::GB, .host = 256 * units::GB};
    SearchOptions options{.top = 1000000, .grouping = Grouping::none, .progress = {}};

    [[nodiscard]] SearchResult answer() const {
        std::vector<SearchSpace> spaces;
        for (std::int64_t const n : accelerators)
            spaces.push_back(make_search_space(model, workload, machine, n, constraints));
        return search(model, workload, machine, framework, spaces, limit, options);
    }
    [[nodiscard]] std::vector<std::string> advice() const {
        std::vector<std::string> lines;
        for (Relaxation const& relaxation :
             relaxations(model, workload, machine, framework, accelerators, constraints, limit))
            lines.push_back(relaxation_sentence(relaxation));
        return lines;
    }
};

}  // namespace

TEST_CASE("search: stopped before it begins it has found nothing and says so", "[INV-26]") {
    Question question;
    std::atomic<bool> stop{true};
    question.options.stop = &stop;
    SearchResult const result = question.answer();
    CHECK(result.interrupted);
    CHECK(result.share_done == 0);
    CHECK(result.best.empty());
    CHECK(result.counts.enumerated == 0);
}

TEST_CASE("search: stopped on the way it reports what it has seen, and that it is a part", "[INV-26]") {
    Question question;
    question.accelerators.assign(60, 64);  // long enough that progress is reported before the end
    question.constraints.width = SearchConstraints::Width::full;
    question.options.top = 10;
    question.options.threads = 1;
    std::atomic<bool> stop{false};
    question.options.stop = &stop;
    std::int64_t seen = 0;
    question.options.progress = [&](double share, std::int64_t visited) {
        CHECK(share > 0);
        CHECK(share < 1);
        seen = visited;
        stop = true;
    };
    SearchResult const result = question.answer();
    CHECK(result.interrupted);
    CHECK(result.share_done > 0);
    CHECK(result.share_done < 1);
    CHECK(result.counts.enumerated == seen);
    CHECK(result.counts.enumerated == result.counts.evaluated + result.counts.rejected_total());
    for (Candidate const& c : result.best)
        CHECK(question.limit.admits(c.estimate.memory));
}

TEST_CASE("search: what is offloaded must fit into host memory", "[INV-26]") {
    Question question;
    question.constraints.offload = {Offload::optimizer_and_activations};
    SearchResult const roomy = question.answer();
    REQUIRE(roomy.counts.evaluated > 0);
    question.limit.host = 2 * units::GB;
    SearchResult const tight = question.answer();
    CHECK(tight.counts.enumerated == roomy.counts.enumerated);
    CHECK(tight.counts.rejected[rejected_for_host_memory] > 0);
    CHECK(tight.counts.evaluated < roomy.counts.evaluated);
    for (Candidate const& c : tight.best)
        CHECK(c.estimate.memory.host <= 2 * units::GB);
    for (Candidate const& c : roomy.best)
        CHECK(c.estimate.memory.host > Bytes{});
}

TEST_CASE("search: parameters go to host memory with ZeRO 3 alone, on one accelerator, too", "[INV-26]") {
    for (std::int64_t const accelerators : {1, 8}) {
        Question question;
        question.accelerators = {accelerators};
        question.constraints.offload = {Offload::none, Offload::parameters};
        SearchResult const result = question.answer();
        std::size_t away = 0;
        for (Candidate const& c : result.best) {
            if (!offloads_parameters(c.plan)) continue;
            ++away;
            CHECK(c.plan.zero == 3);
            CHECK(c.estimate.memory.state() == Bytes{});
        }
        CHECK(away > 0);
        question.constraints.zero = AxisFilter::parse("0,2", "--zero", 0);
        for (Candidate const& c : question.answer().best)
            CHECK_FALSE(offloads_parameters(c.plan));
        question.constraints.offload = {Offload::parameters};
        CHECK_THROWS_WITH(question.answer(), contains("--zero 3"));
    }
}

TEST_CASE("search: a plan that offloads in part is admitted by what it holds on its own", "[INV-26]") {
    for (bool const by_layers : {false, true}) {
        Question question;
        question.constraints.offload = {Offload::none, Offload::activations};
        if (by_layers)
            question.constraints.base.offload_layers = 8;
        else
            question.constraints.base.offloaded_activations = {ActivationGroup::layer_input};
        ClosedForm form(question.model, question.workload, question.machine, question.framework, Precision::bf16);
        std::size_t offloading = 0;
        for (double const gigabytes : {12.0, 16.0, 20.0, 30.0}) {
            question.limit.usable = gigabytes * units::GB;
            for (Candidate const& c : question.answer().best) {
                StepEstimate const alone = form.evaluate(c.plan);
                CAPTURE(by_layers, gigabytes, c.plan.pp, c.plan.vpp, name_of(c.plan.schedule));
                CHECK(question.limit.admits(alone.memory));
                CHECK(alone.peak().base() == Approx(c.estimate.peak().base()));
                if (offloads_activations(c.plan)) ++offloading;
            }
        }
        CHECK(offloading > 10);
    }
}

TEST_CASE("search: misfits do not fit, the smallest is the least and the fastest is near", "[INV-26]") {
    Question question;
    question.limit.usable = 30 * units::GB;
    SearchResult const result = question.answer();
    REQUIRE(result.fastest_misfit);
    REQUIRE(result.smallest_misfit);
    CHECK_FALSE(question.limit.admits(result.fastest_misfit->estimate.memory));
    CHECK_FALSE(question.limit.admits(result.smallest_misfit->estimate.memory));
    CHECK(result.smallest_misfit->estimate.peak() <= result.fastest_misfit->estimate.peak());
    CHECK(result.fastest_misfit->estimate.peak() <= 1.5 * question.limit.usable);
    // With room for it, the smallest misfit is a plan like any other.
    question.limit.usable = result.smallest_misfit->estimate.peak();
    SearchResult const wider = question.answer();
    CHECK(wider.counts.evaluated > result.counts.evaluated);
}

TEST_CASE("search: several numbers of accelerators are one search, cheapest first when cost is asked", "[INV-26]") {
    Question question;
    question.machine.usd_per_accelerator_hour = known(2.0);
    question.options.objective = Objective::cost;
    question.accelerators = {8, 16, 32};
    SearchResult const together = question.answer();
    std::int64_t enumerated = 0;
    double cheapest = 1e300;
    for (std::int64_t const n : {8, 16, 32}) {
        Question alone = question;
        alone.accelerators = {n};
        SearchResult const result = alone.answer();
        enumerated += result.counts.enumerated;
        if (!result.best.empty()) cheapest = std::min(cheapest, result.best.front().score);
    }
    CHECK(together.counts.enumerated == enumerated);
    CHECK(together.best.front().score == cheapest);
}

TEST_CASE("advice names the constraint that is to blame, and only that", "[INV-26]") {
    Question question;
    question.model = llama(8192, 64, 8, 80, 28672);
    question.accelerators = {64};
    question.constraints.tp = AxisFilter::parse("1", "--tp");
    question.constraints.zero = AxisFilter::parse("0", "--zero", 0);
    question.constraints.pp = AxisFilter::parse("1,2", "--pp");
    REQUIRE(question.answer().best.empty());
    auto const advice = question.advice();
    REQUIRE_FALSE(advice.empty());
    for (std::string const& line : advice) {
        CAPTURE(line);
        CHECK_THAT(line, contains("would give an answer, such as "));
        // What it says must be so: the named constraint alone is dropped.
        Question relaxed = question;
        if (line.starts_with("without --tp"))
            relaxed.constraints.tp.reset();
        else if (line.starts_with("without --pp"))
            relaxed.constraints.pp.reset();
        else if (line.starts_with("without --zero"))
            relaxed.constraints.zero.reset();
        else if (line.starts_with("--space full"))
            relaxed.constraints.width = SearchConstraints::Width::full;
        else if (line.starts_with("--gpus "))
            relaxed.accelerators = {std::stoll(line.substr(7))};
        else
            FAIL("an unknown constraint: " << line);
        CHECK_FALSE(relaxed.answer().best.empty());
    }
}

TEST_CASE("advice knows the options of experts", "[INV-26]") {
    Question question;
    question.model = find_model("deepseek-v2-lite");
    question.framework = find_framework("megatron", "test");
    question.constraints = constraints_of(question.framework);
    question.constraints.dispatcher = Dispatcher::all_to_all;
    question.constraints.recompute_modules = RecomputeModules{RecomputeModule::mla_up_proj};
    question.constraints.base.recompute_modules = *question.constraints.recompute_modules;
    question.constraints.cp_modes = {ContextParallel::ring};
    CHECK(fixed_options(question.constraints) ==
          std::vector<std::string>{"--cp-mode", "--moe-dispatcher", "--recompute-modules"});
    SearchConstraints const freed = without_fixed_options(question.constraints);
    CHECK(fixed_options(freed).empty());
    auto const sets = [&](SearchConstraints const& c) {
        return make_search_space(question.model, question.workload, question.machine, 8, c).module_sets.size();
    };
    CHECK(sets(question.constraints) == 1);
    CHECK(sets(freed) == sets(constraints_of(question.framework)));
    CHECK(sets(freed) > 1);
}

TEST_CASE("advice: fewer logits at once are offered where the framework may make them so", "[INV-26]") {
    auto const offers = [](char const* framework, char const* change) {
        Question question;
        question.model = find_model("qwen3-32b");
        question.machine = find_cluster("rtx-4090", "test");
        question.framework = find_framework(framework, "test");
        question.workload.global_batch = 16;
        question.accelerators = {1};
        question.constraints = constraints_of(question.framework);
        question.constraints.base.adapters = {
            .rank = 16, .targets = attention_targets(), .base = base_weights_from("nf4", "test")};
        question.limit = default_memory_limit(question.machine, question.framework);
        REQUIRE(question.answer().best.empty());
        auto const advice = question.advice();
        return std::any_of(advice.begin(), advice.end(), [&](auto const& line) { return line.starts_with(change); });
    };
    CHECK(offers("transformers", "--loss-chunks 8 would give an answer"));
    CHECK(offers("transformers", "--fused-cross-entropy would give an answer"));
    CHECK_FALSE(offers("deepspeed", "--loss-chunks"));
    CHECK_FALSE(offers("deepspeed", "--fused-cross-entropy"));
}

TEST_CASE("advice: on a small device a training that keeps less, said to be another, and more host memory",
          "[INV-26]") {
    auto const advice = [](char const* model, char const* framework, SearchConstraints::Width width) {
        Question question;
        question.model = find_model(model);
        question.machine = find_cluster("rtx-4090", "test");
        question.framework = find_framework(framework, "test");
        question.workload = {.sequence = 1024, .global_batch = 16};
        question.accelerators = {1};
        question.constraints = constraints_of(question.framework);
        question.constraints.width = width;
        question.limit = default_memory_limit(question.machine, question.framework);
        SearchResult const result = question.answer();
        REQUIRE(result.best.empty());
        if (width == SearchConstraints::Width::full) {
            REQUIRE(result.smallest_host_misfit);
            CHECK(result.smallest_host_misfit->estimate.memory.host > question.limit.host);
            CHECK(result.smallest_host_misfit->estimate.peak() <= question.limit.usable);
        }
        return question.advice();
    };
    auto const has = [](std::vector<std::string> const& lines, std::string const& begin) {
        return std::any_of(lines.begin(), lines.end(), [&](auto const& line) { return line.starts_with(begin); });
    };
    auto const standard = SearchConstraints::Width::standard;
    CHECK(has(advice("llama-3.1-8b", "transformers", standard),
              "--lora-rank 16 (another training: adapters on frozen weights) would"));
    auto const larger = advice("qwen3-14b", "transformers", standard);
    CHECK(has(larger, "--lora-rank 16 --base-weights nf4 (another training: adapters on frozen weights of 4 bits)"));
    CHECK_FALSE(has(larger, "--lora-rank 16 (another"));
    CHECK_FALSE(has(advice("qwen3-14b", "deepspeed", standard), "--lora-rank"));
    CHECK(has(advice("llama-3.1-8b", "deepspeed", SearchConstraints::Width::full),
              "--cluster rtx-4090-box:host_memory=192GB ("));
    CHECK(
        has(advice("llama-3.1-8b", "deepspeed", standard), "--space full --cluster rtx-4090-box:host_memory=192GB ("));
}

TEST_CASE("advice: with nothing fixed the way out is more accelerators, another training or more memory", "[INV-26]") {
    Question question;
    question.model = llama(16384, 128, 8, 126, 53248);
    question.accelerators = {8};
    question.workload.global_batch = 256;
    question.machine.host_memory = known(0.0 * units::GB);
    question.limit.host = Bytes{};
    REQUIRE(question.answer().best.empty());
    auto const more = question.advice();
    REQUIRE(more.size() == 3);
    CHECK_THAT(more[0], Catch::StartsWith("--space full --cluster ") && contains("host_memory="));  // all of the state
    CHECK_THAT(more[1], Catch::StartsWith("--gpus "));
    CHECK_THAT(more[2], Catch::StartsWith("--lora-rank 16 --base-weights nf4 (another training"));

    question.model = llama(4096, 32, 8, 32, 14336);
    question.limit.usable = 1 * units::GB;
    auto const memory = question.advice();
    REQUIRE_FALSE(memory.empty());
    CHECK(std::any_of(memory.begin(), memory.end(), [](std::string const& line) {
        return line.starts_with("a memory limit of 76 GB would give an answer");
    }));
}
