#include "core/measurements/source_name.hpp"

#include "tests/catch.hpp"

using namespace sextant;

TEST_CASE("source names: a reference is whole, but for those whose tables come by several ways") {
    CHECK(source_name("nightly run of cuBLAS 12.4") != source_name("nightly run of cuBLAS 13.0"));
    CHECK(source_name(" kineto a.json ") == "kineto a.json");
    CHECK(source_name("kineto a.json") != source_name("kineto b.json"));
    for (char const* reference : {"github.com/ai-dynamo/aiconfigurator systems/data/h100_sxm/gemm/trtllm/1.3.0rc20",
                                  "github.com/ai-dynamo/aiconfigurator", "aiconfigurator TRTLLM 1.2.0"})
        CHECK(source_name(reference) == "github.com/ai-dynamo/aiconfigurator");
    CHECK(source_name("aiconfigurator VLLM 0.24.0") == "github.com/ai-dynamo/aiconfigurator vllm");
    CHECK(source_name(source_name("aiconfigurator SGLang 0.5")) == "github.com/ai-dynamo/aiconfigurator sglang");
    CHECK(source_name("sextant-bench cuda") == "sextant-bench");
    CHECK(source_name("sextant-benches") == "sextant-benches");
    CHECK(source_name("").empty());
}
