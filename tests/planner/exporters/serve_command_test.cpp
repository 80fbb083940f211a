#include "planner/exporters/serve_command.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <array>
#include <limits>

using namespace sextant;

namespace {

ServeLaunch launch_of(char const* model, char const* cluster, ServingPlan const& plan = {}) {
    ServeLaunch launch{.model = find_model(model), .cluster = find_cluster(cluster, "test"), .plan = plan};
    ServingMemory& memory = launch.memory;
    memory.capacity = 80 * units::GB;
    memory.usable = 72 * units::GB;
    memory.weights = 40 * units::GB;
    memory.activations = 3 * units::GB;
    memory.overhead = 1 * units::GB;
    memory.cache = 28 * units::GB;
    memory.cache_tokens = 1e6;
    return launch;
}

ServeExport written(char const* engine, ServeLaunch const& launch) {
    return find_serve_exporter(engine, "test").write(launch);
}

bool has(ServeExport const& e, std::string const& words) {
    return std::ranges::any_of(e.files,
                               [&](ExportedFile const& file) { return file.text.find(words) != std::string::npos; });
}

bool notes(ServeExport const& e, std::string const& field, std::string const& words = "") {
    return std::ranges::any_of(e.not_expressed, [&](NotExpressed const& note) {
        return note.field == field && note.message.find(words) != std::string::npos;
    });
}

}  // namespace

TEST_CASE("vLLM's longest request is the smaller of the model's and 96 % of the cache's, and no less than the plan's",
          "[export]") {
    ServeLaunch launch = launch_of("llama-3.1-8b", "l4-pcie");
    auto const vllm = [&](double cache, std::int64_t request) {
        launch.memory.cache_tokens = cache;
        launch.request_length = request;
        return written("vllm", launch);
    };
    CHECK(has(vllm(25600, 0), "--max-model-len 24576\n"));
    CHECK(has(vllm(25600, 1200), "--max-model-len 24576\n"));
    CHECK(has(vllm(25600, 25000), "--max-model-len 25000\n"));
    CHECK(has(vllm(131072, 0), "--max-model-len 125829\n"));
    CHECK(has(vllm(1e6, 0), "--max-model-len 131072\n"));
    CHECK(has(vllm(1e6, 200000), "--max-model-len 131072\n"));
    CHECK_FALSE(has(vllm(0, 0), "--max-model-len"));  // it does not fit at all
    CHECK(vllm(25600, 0).not_expressed.size() == 1);
    CHECK(vllm(1e6, 0).not_expressed.empty());
    CacheShape const windows{.whole_groups = 0, .window_groups = 1, .window_blocks = 1};
    launch.memory.shape = windows;
    REQUIRE(launch.memory.longest() == std::numeric_limits<double>::infinity());
    CHECK(has(vllm(25600, 0), "--max-model-len 131072\n"));
    launch.model.max_positions = 0;
    CHECK_FALSE(has(vllm(25600, 0), "--max-model-len"));
    launch.memory.shape = {};
    CHECK(has(vllm(25600, 0), "--max-model-len 24576\n"));
}

TEST_CASE("an engine has a block size that its kernels take, the nearest to the plan's", "[export]") {
    struct Row {
        char const* engine;
        char const* model;
        char const* cluster;
        std::int64_t asked, written;
    };
    constexpr std::array rows{Row{"vllm", "llama-3.1-8b", "h100-sxm", 1, 16},
                              Row{"vllm", "llama-3.1-8b", "h100-sxm", 8, 16},
                              Row{"vllm", "llama-3.1-8b", "h100-sxm", 16, 16},
                              Row{"vllm", "llama-3.1-8b", "h100-sxm", 128, 128},
                              Row{"vllm", "llama-3.1-8b", "h100-sxm", 48, 32},
                              Row{"vllm", "llama-3.1-8b", "h100-sxm", 120, 128},
                              Row{"vllm", "llama-3.1-8b", "h100-sxm", 256, 128},
                              Row{"vllm", "deepseek-v3", "h200-sxm", 16, 64},
                              Row{"vllm", "deepseek-v3", "h200-sxm", 64, 64},
                              Row{"vllm", "deepseek-v3", "b200-sxm", 64, 128},
                              Row{"vllm", "deepseek-v3", "a100-sxm-80gb", 16, 16},
                              Row{"tensorrt-llm", "llama-3.1-8b", "h100-sxm", 1, 1},
                              Row{"tensorrt-llm", "llama-3.1-8b", "h100-sxm", 64, 64},
                              Row{"tensorrt-llm", "llama-3.1-8b", "h100-sxm", 48, 32},
                              Row{"tensorrt-llm", "llama-3.1-8b", "h100-sxm", 100, 128}};
    for (Row const& row : rows) {
        CAPTURE(row.engine, row.model, row.cluster, row.asked);
        ServeExport const e =
            written(row.engine, launch_of(row.model, row.cluster, {.tp = 8, .block_tokens = row.asked}));
        std::string const option = row.engine == std::string("vllm") ? "--block-size " : "tokens_per_block: ";
        CHECK(has(e, option + std::to_string(row.written) + "\n"));
        CHECK(notes(e, "block_tokens") == (row.asked != row.written));
    }
}

TEST_CASE("SGLang divides the requests among its attention groups, which have as many as the plan's", "[export]") {
    ServeLaunch launch = launch_of("qwen3-235b-a22b", "h100-sxm", {.attention_dp = 4});
    for (std::int64_t const requests : {1, 4, 50, 64}) {
        launch.plan.max_batch = requests;
        std::int64_t const of_group = (requests + 3) / 4;
        CHECK(has(written("sglang", launch), "--max-running-requests " + std::to_string(4 * of_group) + "\n"));
    }
}

TEST_CASE("SGLang's attention groups are replicas of dense models, and of some models with experts there are none",
          "[export]") {
    auto const sglang = [](char const* model, std::int64_t per_node = 8) {
        ServeLaunch launch =
            launch_of(model, "h100-sxm", {.tp = 2, .attention_dp = 4, .max_batch = 64, .max_batched_tokens = 4096});
        launch.per_node = per_node;
        return written("sglang", launch);
    };
    ServeExport const shared = sglang("deepseek-v3");
    CHECK(has(shared, "--tp-size 8\n  --pp-size 1\n  --dp-size 4\n  --enable-dp-attention\n"));
    CHECK(has(shared, "--max-running-requests 64\n  --chunked-prefill-size 16384\n"));
    CHECK(shared.not_expressed.empty());
    ServeExport const dense = sglang("llama-3.1-8b");
    CHECK(has(dense, "--tp-size 2\n  --pp-size 1\n  --dp-size 4\n  --max-running-requests 16\n"));
    CHECK(has(dense, "--chunked-prefill-size 4096\n"));
    CHECK(dense.not_expressed.empty());
    CHECK(notes(sglang("llama-3.1-8b", 4), "attention_dp", "--attention-dp 1 --replicas 4"));
    ServeExport const none = sglang("mixtral-8x7b");
    CHECK(has(none, "--tp-size 8\n  --pp-size 1\n  --max-running-requests 64\n"));
    CHECK(notes(none, "attention_dp", "--tp 8 --attention-dp 1"));
}

TEST_CASE("each engine gets the share of memory that it counts, so that the cache is the predicted one", "[export]") {
    ServeLaunch const launch = launch_of("llama-3.1-8b", "h100-sxm", {.memory_utilisation = 0.9});
    CHECK(has(written("vllm", launch), "--gpu-memory-utilization 0.9\n"));
    CHECK(has(written("sglang", launch), "--mem-fraction-static 0.850\n"));  // (40 + 28) / 80
    ServeExport const trt = written("tensorrt-llm", launch);                 // 28 / (80 - 40 - 3 - 1)
    CHECK(has(trt, "--kv_cache_free_gpu_memory_fraction 0.778\n"));
    CHECK(has(trt, "free_gpu_memory_fraction: 0.778\n"));
    CHECK(trt.not_expressed.empty());
}

TEST_CASE("a replica that does not fit says so, and asks for no share of memory that is none", "[export]") {
    ServeLaunch launch = launch_of("llama-3.1-8b", "h100-sxm");
    launch.memory.weights = 90 * units::GB;
    launch.memory.cache = -22 * units::GB;
    launch.memory.cache_tokens = 0;
    for (ServeExporterEntry const* entry : serve_exporter_catalog()) {
        CAPTURE(entry->name);
        CHECK(has(entry->write(launch), "# DOES NOT FIT: weights 90 GB"));
        CHECK_FALSE(has(entry->write(launch), "fraction"));
    }
}

TEST_CASE("TensorRT-LLM counts requests by group and by batch in the pipeline, and a group is one accelerator",
          "[export]") {
    auto const trt = [](ServingPlan const& plan) {
        return written("tensorrt-llm", launch_of("deepseek-v3", "h200-sxm", plan));
    };
    CHECK(has(trt({.tp = 8, .max_batch = 100}), "--max_batch_size 100\n"));
    CHECK(has(trt({.tp = 4, .pp = 3, .max_batch = 100}), "--max_batch_size 34\n"));
    ServeExport const groups = trt({.pp = 2, .ep = 8, .attention_dp = 8, .max_batch = 100});
    CHECK(has(groups, "--max_batch_size 7\n"));
    CHECK(groups.not_expressed.empty());
    ServeExport const wide = trt({.tp = 2, .ep = 8, .attention_dp = 4, .max_batch = 100});
    CHECK(has(wide, "--tp_size 8\n"));
    CHECK(has(wide, "--max_batch_size 13\n"));
    CHECK(notes(wide, "attention_dp", "--tp 1 --attention-dp 8"));
}

TEST_CASE("TensorRT-LLM finds its options beside the script, wherever that is started from", "[export]") {
    ServeExport const e = written("tensorrt-llm", launch_of("llama-3.1-8b", "h100-sxm"));
    CHECK(has(e, "options=$(dirname -- \"${BASH_SOURCE[0]}\")/tensorrt_llm.yml\n"));
    CHECK(has(e, "--extra_llm_api_options \"$options\"\n"));
}

TEST_CASE("weights that the checkpoint is not in are noted, and no engine is told to quantise it again", "[export]") {
    ServeLaunch launch = launch_of("llama-3.1-8b", "h100-sxm", {.weights = "fp8"});
    CHECK(has(written("vllm", launch), "--quantization fp8\n"));
    CHECK(has(written("sglang", launch), "--quantization fp8\n"));
    CHECK(written("vllm", launch).not_expressed.empty());
    launch.checkpoint = {.method = "mxfp4", .weights = "fp4", .unknown = ""};
    launch.run_weights = "int4-weights";
    for (ServeExporterEntry const* entry : serve_exporter_catalog()) {
        CAPTURE(entry->name);
        for (char const* weights : {"fp8", "bf16"}) {
            launch.plan.weights = weights;
            CHECK(notes(entry->write(launch), "weights", "in fp4"));
            CHECK_FALSE(has(entry->write(launch), "--quantization"));
        }
        for (char const* weights : {"fp4", "int4-weights"}) {
            launch.plan.weights = weights;
            CHECK_FALSE(notes(entry->write(launch), "weights"));
        }
    }
}

TEST_CASE("a cache in two bytes is asked for where the checkpoint wants another", "[export]") {
    ServeLaunch launch = launch_of("llama-3.1-8b", "h100-sxm");
    CHECK_FALSE(has(written("sglang", launch), "--kv-cache-dtype"));
    CHECK_FALSE(notes(written("tensorrt-llm", launch), "kv_cache"));
    launch.checkpoint.cache = CacheFormat::fp8;
    CHECK(has(written("sglang", launch), "--kv-cache-dtype bf16\n"));
    CHECK(notes(written("tensorrt-llm", launch), "kv_cache", "--kv-cache fp8"));
    launch.plan.cache = CacheFormat::fp8;
    CHECK(has(written("sglang", launch), "--kv-cache-dtype fp8_e4m3\n"));
    CHECK_FALSE(notes(written("tensorrt-llm", launch), "kv_cache"));
}

TEST_CASE("an engine on machines that it is not for says so", "[export]") {
    struct Row {
        char const* engine;
        char const* cluster;
        char const* words;  ///< of the note; null: none
    };
    constexpr std::array rows{Row{"vllm", "h100-sxm", nullptr},
                              Row{"vllm", "mi300x", nullptr},
                              Row{"vllm", "dgx-1-p100", "not documented"},
                              Row{"vllm", "tpu-v5p", "plugin (tpu-inference)"},
                              Row{"sglang", "mi300x", nullptr},
                              Row{"sglang", "tpu-v5p", "not documented"},
                              Row{"tensorrt-llm", "l4-pcie", nullptr},
                              Row{"tensorrt-llm", "mi300x", "not documented"},
                              Row{"tensorrt-llm", "tpu-v5p", "not documented"}};
    for (Row const& row : rows) {
        CAPTURE(row.engine, row.cluster);
        ServeExport const e = written(row.engine, launch_of("llama-3.1-8b", row.cluster));
        CHECK(notes(e, "accelerator", row.words == nullptr ? "" : row.words) == (row.words != nullptr));
    }
}

TEST_CASE("what is known of a launch beforehand is in its file", "[export]") {
    ServeLaunch launch = launch_of("llama-3.1-8b", "h100-sxm");
    launch.notes.push_back({"scheduler", "another one"});
    for (ServeExporterEntry const* entry : serve_exporter_catalog()) {
        CHECK(has(entry->write(launch), "# - scheduler: another one\n"));
        CHECK(notes(entry->write(launch), "scheduler"));
    }
}
