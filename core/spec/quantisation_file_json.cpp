#include "core/spec/quantisation_file.hpp"

#include "core/error.hpp"

#include <nlohmann/json.hpp>

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

bool is_quantised(Json const& config) {
    auto const has = [](Json const& object, char const* key) {
        auto const found = object.find(key);
        return found != object.end() && !found->is_null();
    };
    auto const text = config.find("text_config");
    return has(config, "quantization_config") || has(config, "compression_config") ||
           (text != config.end() && text->is_object() && has(*text, "quantization_config"));
}

}  // namespace

std::string with_quantisation(std::string_view config, std::string_view quantisation, std::string_view where) {
    Json document = Json::parse(config, nullptr, false);
    // What is wrong with the config itself is told by who reads it.
    if (!document.is_object() || is_quantised(document)) return std::string(config);
    Json const file = Json::parse(quantisation, nullptr, false);
    if (!file.is_object()) throw InputError("{}: is no JSON object (ModelOpt writes one; or remove the file)", where);
    auto const found = file.find("quantization");
    if (found == file.end() || !found->is_object())
        throw InputError("{}: has no object 'quantization' (ModelOpt writes one; or remove the file)", where);
    Json settings = *found;
    if (auto const excluded = settings.find("exclude_modules"); excluded != settings.end()) {
        settings["ignore"] = *excluded;
        settings.erase("exclude_modules");
    }
    settings["quant_method"] = "modelopt";
    document["quantization_config"] = std::move(settings);
    return document.dump();
}

}  // namespace sextant
