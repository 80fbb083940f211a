#include "core/error.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

#include <algorithm>

using namespace sextant;

namespace {

ModelSpec const& llama_of_defaults() {
    static ModelSpec const model = find_model("llama-3.1-8b");
    return model;
}

bool warns_of(ForeignPlan const& f, std::string const& part) {
    return std::any_of(f.warnings.begin(), f.warnings.end(),
                       [&](std::string const& text) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("switches of the environment are what a script assigns, quoted or not, and no comment", "[import]") {
    auto const precision = [](std::string const& script) {
        return import_megatron(script + "\ntorchrun pretrain_gpt.py --micro-batch-size 1\n", "t.sh",
                               llama_of_defaults())
            .plan.precision;
    };
    auto const of_deepspeed = [](std::string const& script) {
        return import_deepspeed("{}", script + "\ntorchrun pretrain_gpt.py --micro-batch-size 1\n", "t.sh",
                                llama_of_defaults())
            .plan.precision;
    };
    std::string const name = "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE";
    for (std::string const& on :
         {"export " + name + "=1", "export " + name + "='1'", name + "=\"1\"", "ON=1\nexport " + name + "=$ON",
          "export " + name + "=${TF32:-1}", "docker run -e \"" + name + "=1\" image"}) {
        CAPTURE(on);
        CHECK(precision(on) == Precision::tf32);
        CHECK(of_deepspeed(on) == Precision::tf32);
    }
    for (std::string const& off : {"# export " + name + "=1", "export " + name + "=0", "export " + name + "=10",
                                   "export " + name + "=1\nexport " + name + "=0", "export MY_" + name + "=1"}) {
        CAPTURE(off);
        CHECK(precision(off) == Precision::fp32);
        CHECK(of_deepspeed(off) == Precision::fp32);
    }
    auto const attention = [](std::string const& script) {
        return import_megatron(script + "\ntorchrun pretrain_gpt.py --bf16 --attention-backend unfused\n", "t.sh",
                               llama_of_defaults())
            .plan.attention;
    };
    CHECK(attention("export NVTE_MASKED_SOFTMAX_FUSION=\"0\"") == AttentionKernel::eager);
    CHECK(attention("# NVTE_MASKED_SOFTMAX_FUSION=0 is slow") == AttentionKernel::unfused);
}
