#include "planner/validation/serving_model.hpp"

#include "core/spec/model_catalog.hpp"
#include "core/spec/model_name.hpp"
#include "core/text.hpp"

namespace sextant {

std::optional<ModelSpec> serving_model(std::string const& name) {
    auto const preset = preset_called(name);
    return preset ? std::optional(find_model(*preset)) : std::nullopt;
}

std::string format_in_name(std::string const& model) {
    std::string const name = lower_case(model);
    auto const has = [&](char const* word) { return name.find(word) != std::string::npos; };
    if (has("fp4")) return "fp4";
    if (has("gptq") && (has("int8") || has("8bit"))) return "int8-weights";
    if (has("awq") || has("gptq") || has("int4") || has("w4a16") || has("4bit") || has("bnb") || has("nf4"))
        return "int4-weights";
    if (has("kimi-k2.5") || has("kimi-k2-thinking")) return "int4-weights";  // as they are published
    if (has("w8a8") || has("int8")) return "int8";
    if (has("8bit") || has("w8a16")) return "int8-weights";
    if (auto const preset = preset_called(model))
        if (std::string stored = find_stored_model(*preset).checkpoint.weights; !stored.empty()) return stored;
    if (has("fp8")) return "fp8";
    return "";
}

bool is_mxfp4(std::string const& model) {
    auto const preset = preset_called(model);
    return lower_case(model).find("mxfp4") != std::string::npos ||
           (preset && stored_format(find_stored_model(*preset).checkpoint) == "mxfp4");
}

}  // namespace sextant
