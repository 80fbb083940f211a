#include "planner/exporters/serve_command.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"

#include <limits>

using namespace sextant;

TEST_CASE("vLLM's longest request is the smaller of the model's and the cache's, and no less than the plan's",
          "[export]") {
    ServeLaunch launch{.model = find_model("llama-3.1-8b"), .cluster = find_cluster("l4-pcie", "test"), .plan = {}};
    auto const written = [&](double cache, std::int64_t request) {
        launch.cache_length = cache;
        launch.request_length = request;
        return find_serve_exporter("vllm", "test").write(launch);
    };
    auto const has = [](ServeExport const& e, std::string const& words) {
        return e.files.front().text.find(words) != std::string::npos;
    };
    CHECK(has(written(25600, 0), "--max-model-len 25600\n"));
    CHECK(has(written(25600, 1200), "--max-model-len 25600\n"));
    CHECK(has(written(25600, 30000), "--max-model-len 30000\n"));
    CHECK(has(written(1e6, 0), "--max-model-len 131072\n"));
    CHECK(has(written(1e6, 200000), "--max-model-len 131072\n"));
    CHECK(has(written(std::numeric_limits<double>::infinity(), 0), "--max-model-len 131072\n"));
    CHECK_FALSE(has(written(0, 0), "--max-model-len"));  // it does not fit at all
    CHECK(written(25600, 0).not_expressed.size() == 1);
    CHECK(written(1e6, 0).not_expressed.empty());
    launch.model.max_positions = 0;
    CHECK(has(written(25600, 0), "--max-model-len 25600\n"));
    CHECK_FALSE(has(written(std::numeric_limits<double>::infinity(), 0), "--max-model-len"));
}

TEST_CASE("vLLM has a block size that its parser takes, the nearest to the plan's", "[export]") {
    ServeLaunch launch{.model = find_model("llama-3.1-8b"), .cluster = find_cluster("h100-sxm", "test"), .plan = {}};
    struct Row {
        std::int64_t asked, written;
    };
    for (Row const& row :
         {Row{1, 1}, Row{16, 16}, Row{128, 128}, Row{20, 16}, Row{48, 32}, Row{120, 128}, Row{256, 128}}) {
        CAPTURE(row.asked);
        launch.plan.block_tokens = row.asked;
        ServeExport const e = find_serve_exporter("vllm", "test").write(launch);
        CHECK_THAT(e.files.front().text, contains("--block-size " + std::to_string(row.written) + "\n"));
        bool const said = !e.not_expressed.empty() && e.not_expressed.front().field == "block_tokens";
        CHECK(said == (row.asked != row.written));
    }
}

TEST_CASE("SGLang divides the requests among its attention groups, which have as many as the plan's", "[export]") {
    ServeLaunch launch{.model = find_model("llama-3.1-8b"), .cluster = find_cluster("h100-sxm", "test"), .plan = {}};
    launch.plan.attention_dp = 4;
    for (std::int64_t const requests : {1, 4, 50, 64}) {
        launch.plan.max_batch = requests;
        std::int64_t const of_group = (requests + 3) / 4;
        CHECK_THAT(find_serve_exporter("sglang", "test").write(launch).files.front().text,
                   contains("--max-running-requests " + std::to_string(4 * of_group) + "\n"));
    }
}
