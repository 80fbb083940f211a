#include "core/error.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "tests/catch.hpp"

using namespace sextant;

namespace {

ModelSpec const& llama_of_batches() {
    static ModelSpec const model = find_model("llama-3.1-8b");
    return model;
}

}  // namespace

TEST_CASE("a DeepSpeed file without a micro-batch has what ranks and accumulation leave of the batch", "[import]") {
    auto const micro_batch = [](std::string const& more, std::int64_t dp, std::string const& launch = "") {
        ForeignPlan f = import_deepspeed(R"({"train_batch_size": 256, "bf16": {"enabled": true})" + more + "}", launch,
                                         "ds.json", llama_of_batches());
        settle_batches(f, {.dp = dp}, f.global_batch.value_or(0), "ds.json");
        return f.plan.micro_batch;
    };
    CHECK(micro_batch("", 16) == 16);  // accumulation of one
    CHECK(micro_batch(R"(, "gradient_accumulation_steps": 8)", 16) == 2);
    CHECK(micro_batch(R"(, "gradient_accumulation_steps": "auto", "train_micro_batch_size_per_gpu": "auto")", 16) ==
          16);
    CHECK(micro_batch(R"(, "train_micro_batch_size_per_gpu": 4)", 16) == 4);
    CHECK(micro_batch("", 16, "--bf16 --micro-batch-size 4") == 4);
    CHECK_THROWS_WITH(micro_batch(R"(, "gradient_accumulation_steps": 3)", 16),
                      contains("256 is no multiple of data-parallel ranks x accumulation steps = 16 x 3"));
    CHECK_THROWS_AS(micro_batch("", 512), InputError);
}

TEST_CASE("a pipeline of torchtitan that runs empty within a step is warned of", "[import]") {
    auto const settled = [](std::string const& training, ParallelPlan const& plan) {
        ForeignPlan f = import_torchtitan("[parallelism]\npipeline_parallel_degree = 4\n[training]\n" + training,
                                          "t.toml", llama_of_batches());
        std::size_t const before = f.warnings.size();
        settle_batches(f, plan, f.global_batch.value_or(0), "t.toml");
        return std::vector<std::string>(f.warnings.begin() + static_cast<std::ptrdiff_t>(before), f.warnings.end());
    };
    ParallelPlan const plan{.dp = 2, .pp = 4};
    std::vector<std::string> const said = settled("global_batch_size = 64\nlocal_batch_size = 8\n", plan);
    REQUIRE(said.size() == 1);
    CHECK_THAT(said.front(), contains("fills and drains 4 times"));
    CHECK_THAT(said.front(), contains("training.local_batch_size = 32"));
    CHECK(settled("global_batch_size = 64\nlocal_batch_size = 32\n", plan).empty());
    CHECK(settled("local_batch_size = 8\n", plan).empty());
    CHECK(settled("global_batch_size = 64\nlocal_batch_size = 8\n", {.dp = 8}).empty());  // --pp 1
    CHECK_THROWS_WITH(settled("global_batch_size = 20\nlocal_batch_size = 8\n", plan),
                      contains("20 is no multiple of local_batch_size x data-parallel ranks = 8 x 2"));
}
