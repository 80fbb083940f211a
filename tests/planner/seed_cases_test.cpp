#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/search.hpp"
#include "tests/catch.hpp"

#include <algorithm>

using namespace sextant;

/// Questions whose answer practice has settled, asked of the shipped profiles.
namespace {

SearchResult best_of(char const* model_name, char const* cluster_name, std::int64_t accelerators,
                     Workload const& workload, char const* framework_name = "megatron") {
    ModelSpec const model = find_model(model_name);
    ClusterSpec const cluster = find_cluster(cluster_name, "test");
    FrameworkProfile const framework = find_framework(framework_name, "test");
    SearchOptions options;
    options.top = 5;
    SearchResult result =
        search(model, workload, cluster, framework, {make_search_space(model, workload, cluster, accelerators, {})},
               default_memory_limit(cluster, framework), options);
    REQUIRE_FALSE(result.best.empty());
    for (Candidate const& c : result.best) {
        CHECK_FALSE(find_fault(model, c.plan, workload));
        CHECK(c.plan.world_size() == accelerators);
        CHECK(c.plan.tp <= cluster.domain_size);
    }
    return result;
}

ParallelPlan best_plan(char const* model, char const* cluster, std::int64_t accelerators, Workload const& workload,
                       char const* framework = "megatron") {
    return best_of(model, cluster, accelerators, workload, framework).best.front().plan;
}

}  // namespace

// An eager framework hides little of what its data parallelism sends: a pipeline of two stages comes within a few per
// cent of none, and before it in the closed form's order.
TEST_CASE(
    "seed: 7B on 8 A100 needs no model parallelism but data parallelism with sharded state, or nothing is 3 % "
    "better",
    "[INV-26]") {
    for (char const* framework : {"megatron", "fsdp", "deepspeed"}) {
        CAPTURE(framework);
        SearchResult const result =
            best_of("llama-2-7b", "a100-sxm-80gb", 8, {.sequence = 4096, .global_batch = 512}, framework);
        auto const sharded = std::find_if(result.best.begin(), result.best.end(), [](Candidate const& found) {
            return found.plan.dp == 8 && found.plan.zero >= 1;
        });
        REQUIRE(sharded != result.best.end());
        double const behind = sharded->score / result.best.front().score;  // of the step time
        CHECK(behind <= (framework == std::string("fsdp") ? 1.03 : 1));
    }
}

TEST_CASE("seed: 70B on 64 to 256 A100 needs tensor parallelism, inside the node", "[INV-26]") {
    for (std::int64_t const n : {64, 128, 256}) {
        CAPTURE(n);
        ParallelPlan const plan =
            best_plan("llama-2-70b", "a100-sxm-80gb", n, {.sequence = 4096, .global_batch = 1024});
        CHECK(plan.tp > 1);
        CHECK(plan.tp <= 8);
    }
}

// Weights sharded over data parallelism (ZeRO-3) instead of a pipeline are within a few per cent of it when every
// microbatch is large and the network hides the gathers: which of the two is first, a refit may change.
TEST_CASE("seed: 175B to 530B on 512 to 2048 A100 is split three ways, or nothing is 3 % better", "[INV-26]") {
    struct Case {
        char const* model;
        std::int64_t accelerators;
        std::int64_t global_batch;
        double most_behind;  ///< step time of the best that is split three ways, over that of the best
    };
    for (Case const& c : {Case{"gpt3-175b", 512, 1536, 1},
                          {"gpt3-175b", 1024, 1536, 1},
                          {"gpt3-175b", 2048, 2048, 1},
                          {"megatron-310b", 1536, 2160, 1},
                          {"megatron-530b", 2048, 2048, 1.03}}) {
        CAPTURE(c.model, c.accelerators);
        SearchResult const result =
            best_of(c.model, "a100-sxm-80gb", c.accelerators, {.sequence = 2048, .global_batch = c.global_batch});
        auto const three_ways = std::find_if(result.best.begin(), result.best.end(), [](Candidate const& found) {
            ParallelPlan const& plan = found.plan;
            return plan.tp > 1 && plan.tp <= 8 && plan.pp > 1 && plan.dp > 1;
        });
        REQUIRE(three_ways != result.best.end());
        CHECK(three_ways->score / result.best.front().score <= c.most_behind);
    }
}

TEST_CASE("seed: 1T on 3,072 A100 fills the node with tensor parallelism and is a deep pipeline", "[INV-26]") {
    ParallelPlan const plan = best_plan("megatron-1t", "a100-sxm-80gb", 3072, {.sequence = 2048, .global_batch = 3072});
    CHECK(plan.tp == 8);
    CHECK(plan.pp >= 8);
    CHECK(plan.dp > 1);
}

TEST_CASE("seed: 405B on 16,384 H100 fits at a believable rate with tensor and pipeline parallelism", "[INV-26]") {
    SearchResult const result = best_of("llama-3.1-405b", "h100-sxm", 16384, {.sequence = 8192, .global_batch = 2048});
    Candidate const& best = result.best.front();
    CHECK(best.plan.tp >= 4);
    CHECK(best.plan.tp <= 8);
    CHECK(best.plan.pp > 1);
    CHECK(result.counts.enumerated > 5000);
    // 16.8 M tokens of 6 * 405e9 FLOPs on 16,384 times 989 TFLOP/s take 2.5 s at the peak rate.
    CHECK(best.estimate.time > 2.5 * units::s);
    CHECK(best.estimate.time < 12.5 * units::s);
}

TEST_CASE("seed: a mixture of experts is split over its experts", "[INV-26]") {
    ParallelPlan const plan = best_plan("deepseek-v3", "h100-sxm", 2048, {.sequence = 4096, .global_batch = 15360});
    CHECK(plan.ep > 1);
    CHECK(256 % plan.ep == 0);
}

TEST_CASE("seed: 405B does not fit on eight H100, whatever the plan", "[INV-26]") {
    ModelSpec const model = find_model("llama-3.1-405b");
    ClusterSpec const cluster = find_cluster("h100-sxm", "test");
    FrameworkProfile const framework = find_framework("megatron", "test");
    Workload const workload{.sequence = 8192, .global_batch = 512};
    SearchResult const result =
        search(model, workload, cluster, framework, {make_search_space(model, workload, cluster, 8, {})},
               default_memory_limit(cluster, framework), {});
    CHECK(result.best.empty());
    REQUIRE(result.smallest_misfit);
    // Weights and their Adam state alone: at least 12 bytes for each of 405e9 parameters on eight devices.
    CHECK(result.smallest_misfit->estimate.peak() > 600 * units::GB);
}
