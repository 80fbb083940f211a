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
