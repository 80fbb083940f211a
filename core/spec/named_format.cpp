#include "core/spec/named_format.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace sextant {
namespace {

CheckpointFormat stored_as(char const* method, char const* weights, Exclusions exclusions = Exclusions::as_config,
                           std::int64_t group = 0) {
    return {.method = method, .weights = weights, .unknown = {}, .group = group, .exclusions = exclusions};
}

/// Whose checkpoint it is and what it is called, in lower case.
struct HubName {
    std::string owner;  ///< empty: not said
    std::string words;
    [[nodiscard]] bool has(std::string_view word) const { return words.find(word) != std::string::npos; }
    [[nodiscard]] bool may_be_of(std::string_view who) const { return owner.empty() || owner == who; }
};

HubName hub_name(std::string_view name) {
    auto const slash = name.rfind('/');
    if (slash == std::string_view::npos) return {.owner = {}, .words = lower_case(name)};
    return {.owner = lower_case(name.substr(0, slash)), .words = lower_case(name.substr(slash + 1))};
}

/// NVIDIA's first checkpoints of DeepSeek keep all of attention; their second versions narrow a part of it.
CheckpointFormat nvfp4_of(HubName const& name) {
    bool const first = name.may_be_of("nvidia") && name.has("deepseek") && !name.words.ends_with("-v2");
    return stored_as("modelopt_fp4", "fp4", first ? Exclusions::all_but_experts : Exclusions::unknown);
}

/// Qwen's own of the third generation have scales in blocks and narrow every layer; those of llm-compressor narrow
/// every layer with scales of rows.
CheckpointFormat fp8_of(HubName const& name) {
    if (name.may_be_of("qwen") && name.words.starts_with("qwen3")) return stored_as("fp8", "fp8-block");
    bool const whole = name.owner == "redhatai" || name.owner == "neuralmagic";
    return stored_as("fp8", "fp8", whole ? Exclusions::as_config : Exclusions::unknown);
}

CheckpointFormat without_format(char const* word) {
    std::string why = fmt::format("its name says {}, which is no format here", word);
    return {.method = word, .weights = {}, .unknown = std::move(why)};
}

}  // namespace

std::optional<CheckpointFormat> format_named(std::string_view name) {
    HubName const hub = hub_name(name);
    auto const has = [&](std::string_view word) { return hub.has(word); };
    if (has("mxfp4")) return stored_as("mxfp4", "fp4", Exclusions::unknown);
    if (has("fp4")) return nvfp4_of(hub);
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
    if (has("kimi-k2-thinking"))
        return stored_as("compressed-tensors", "int4-weights", Exclusions::all_but_experts, 32);
    if (has("fp8")) return fp8_of(hub);
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
