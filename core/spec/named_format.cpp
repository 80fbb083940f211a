#include "core/spec/named_format.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace sextant {
namespace {

CheckpointFormat stored_as(char const* method, char const* weights, std::int64_t group = 0) {
    return {.method = method, .weights = weights, .unknown = {}, .group = group};
}

CheckpointFormat without_format(char const* word) {
    std::string why = fmt::format("its name says {}, which is no format here", word);
    return {.method = word, .weights = {}, .unknown = std::move(why)};
}

}  // namespace

std::optional<CheckpointFormat> format_named(std::string_view name) {
    std::string const words = lower_case(name.substr(name.rfind('/') + 1));
    auto const has = [&](std::string_view word) { return words.find(word) != std::string::npos; };
    if (has("mxfp4")) return stored_as("mxfp4", "fp4");
    if (has("fp4")) return stored_as("modelopt_fp4", "fp4");
    if (has("mxfp8")) return without_format("mxfp8");
    if (has("w4a8") || has("w4afp8")) return without_format("w4a8");
    if (has("gguf")) return without_format("gguf");
    if (has("gptq")) return stored_as("gptq", has("int8") || has("8bit") ? "int8-weights" : "int4-weights");
    if (has("awq")) return stored_as("awq", "int4-weights");
    if (has("bnb") || has("nf4") || has("4bit")) {
        return stored_as("bitsandbytes", has("8bit") ? "int8-weights" : "int4-weights");
    }
    if (has("int4") || has("w4a16")) return stored_as("compressed-tensors", "int4-weights");
    // Published in four bits alone, under the name of a model of the same sizes in fp8.
    if (has("kimi-k2-thinking")) return stored_as("compressed-tensors", "int4-weights", 32);
    if (has("fp8")) return stored_as("fp8", "fp8");
    if (has("w8a8") || has("int8")) return stored_as("compressed-tensors", "int8");
    if (has("8bit") || has("w8a16")) return stored_as("bitsandbytes", "int8-weights");
    if (has("bf16") || has("fp16")) return CheckpointFormat{};
    return std::nullopt;
}

CheckpointFormat checkpoint_called(std::string_view name, CheckpointFormat preset) {
    auto named = format_named(name);
    bool const same = named && named->unknown.empty() &&
                      (named->weights == preset.weights || (named->weights == "fp8" && preset.weights == "fp8-block"));
    bool const alike = !named || same;
    return alike ? std::move(preset) : *std::move(named);
}

}  // namespace sextant
