#include "planner/serving/usual_formats.hpp"

#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_constants.hpp"
#include "tests/catch.hpp"

using namespace sextant;

namespace {

UsualWeights usual(CheckpointFormat const& checkpoint, char const* machine, char const* engine = "vllm") {
    return usual_weights(checkpoint, find_cluster(machine, "test").accelerator, find_engine(engine, "test"));
}

CheckpointFormat stored(char const* weights) { return {.method = "test", .weights = weights, .unknown = {}}; }

}  // namespace

TEST_CASE(
    "usual_weights: a format that every device has products for, with a note wherever it is not the checkpoint's") {
    for (ClusterSpec const& cluster : all_clusters())
        for (char const* engine : {"vllm", "sglang", "tensorrt-llm", "other"})
            for (GemmFormat const& format : gemm_formats()) {
                CAPTURE(cluster.name, engine, format.name);
                UsualWeights const found = usual_weights(stored(std::string(format.name).c_str()), cluster.accelerator,
                                                         find_engine(engine, "test"));
                GemmFormat const* const run = find_gemm_format(found.weights);
                REQUIRE(run != nullptr);
                CHECK(cluster.accelerator.multiplies(*run));
                bool const two_bytes = format.right >= 2;
                if (found.weights == format.name)
                    CHECK((found.note.empty() && found.from == FormatOrigin::checkpoint));
                else if (!two_bytes)
                    CHECK_FALSE(found.note.empty());
                if (found.from == FormatOrigin::checkpoint) CHECK(run->right == format.right);  // as many bytes
            }
}

TEST_CASE("usual_weights: checkpoints on devices with and without their products") {
    CHECK(usual(stored("fp8-block"), "h100-sxm").weights == "fp8-block");
    CHECK(usual(stored("fp8-block"), "a100-sxm-80gb").weights == "int8-weights");
    CHECK(usual(stored("fp8-block"), "a100-sxm-80gb", "tensorrt-llm").weights == "bf16");
    CHECK_THAT(usual(stored("fp8-block"), "a100-sxm-80gb", "tensorrt-llm").note, contains("no products"));
    CHECK(usual(stored("fp4"), "b200-sxm").weights == "fp4");
    CHECK(usual(stored("fp4"), "h100-sxm").weights == "int4-weights");
    CHECK(usual(stored("int8"), "a100-sxm-80gb").weights == "int8");
    CHECK(usual(stored("int8"), "gaudi3").weights == "bf16");
    CHECK_THAT(usual(stored("int8"), "gaudi3").note, contains("no products for the checkpoint's int8"));
    CHECK(usual({}, "h100-sxm").weights == "bf16");
    CHECK(usual({}, "h100-sxm").note.empty());
    UsualWeights const unknown = usual({.method = "aqlm", .weights = {}, .unknown = "'aqlm' is not known"}, "h100-sxm");
    CHECK(unknown.weights == "bf16");
    CHECK(unknown.from == FormatOrigin::usual);
    CHECK_THAT(unknown.note, contains("'aqlm' is not known"));
    CHECK_THAT(unknown.note, contains("--weights"));
}

TEST_CASE("chosen_weights: a format that was asked for runs as a checkpoint in it does, and says so") {
    auto const chosen = [](char const* asked, CheckpointFormat const& checkpoint, char const* machine,
                           char const* engine = "vllm") {
        return chosen_weights(asked, checkpoint, find_cluster(machine, "test").accelerator,
                              find_engine(engine, "test"));
    };
    UsualWeights const ampere = chosen("fp8", {}, "a100-sxm-80gb");
    CHECK(ampere.weights == "int8-weights");
    CHECK(ampere.stored == "fp8");
    CHECK(ampere.from == FormatOrigin::given);
    CHECK_FALSE(ampere.released);
    CHECK_THAT(ampere.note, contains("--weights fp8") && contains("widened"));
    CHECK(chosen("fp4", {}, "h100-sxm").weights == "int4-weights");
    CHECK(chosen("fp4", {}, "h100-sxm").stored == "fp4");
    CHECK(chosen("fp4", {}, "b200-sxm").weights == "fp4");
    CHECK(chosen("fp4", {}, "b200-sxm").stored.empty());
    CHECK(chosen("fp8", {}, "a100-sxm-80gb", "tensorrt-llm").weights == "fp8");  // no kernels for it: refused later
    CHECK(chosen("bf16", stored("fp8"), "h100-sxm").weights == "bf16");
    // The checkpoint's own, by its name or by that of what it runs as.
    CheckpointFormat const mxfp4{.method = "mxfp4", .weights = "fp4", .unknown = {}};
    for (char const* asked : {"fp4", "int4-weights"}) {
        UsualWeights const own = chosen(asked, mxfp4, "h100-sxm");
        CHECK(own.weights == "int4-weights");
        CHECK(own.stored == "mxfp4");
        CHECK(own.released);
    }
    CHECK(usual(mxfp4, "h100-sxm").stored == "mxfp4");
    CHECK(usual(mxfp4, "b200-sxm").stored == "mxfp4");
    CHECK(usual(stored("fp4"), "b200-sxm").stored.empty());
    CHECK(usual(stored("fp8"), "h100-sxm").released);
}

TEST_CASE("usual_weights: a checkpoint that is known by its name alone says what is not known") {
    CheckpointFormat named = stored("fp8");
    CHECK(usual(named, "h100-sxm", "vllm").note.empty());
    named.exclusions = Exclusions::unknown;
    CHECK_THAT(usual(named, "h100-sxm", "vllm").note, contains("what it leaves in two bytes"));
    CHECK_THAT(usual(named, "a100-sxm-80gb", "vllm").note,
               contains("fp8 weights widened") && contains("; the format is known by the checkpoint's name alone"));
}
