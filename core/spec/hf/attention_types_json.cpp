#include "core/spec/hf/attention_types.hpp"

#include "core/error.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>

namespace sextant::hf {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_layers = 10'000;

bool is_repeated_list(Json const& value) {
    return value.is_array() && value.size() == 2 && value[0].is_array() && value[1].is_number_unsigned();
}

}  // namespace

std::string with_attention_layers(std::string_view config, std::string_view where) {
    if (config.find("attention_types") == std::string_view::npos) return std::string(config);
    Json document = Json::parse(config, nullptr, false);
    // What is wrong with the config itself is told by who reads it.
    if (!document.is_object() || document.contains("attention_layers")) return std::string(config);
    auto const found = document.find("attention_types");
    if (found == document.end() || found->is_null()) return std::string(config);
    Json layers = Json::array();
    for (Json const& repeated : *found) {
        if (!is_repeated_list(repeated))
            throw InputError(
                "{}: attention_types: is no list of lists of kinds and how often each is repeated ([[[\"global\", "
                "\"local\"], 12]] is)",
                where);
        for (auto times = repeated[1].get<std::uint64_t>(); times > 0 && layers.size() <= most_layers; --times) {
            if (repeated[0].empty()) break;
            layers.insert(layers.end(), repeated[0].begin(), repeated[0].end());
        }
    }
    if (layers.size() > most_layers)
        throw InputError("{}: attention_types: names more than {} layers", where, most_layers);
    document["attention_layers"] = std::move(layers);
    return document.dump();
}

}  // namespace sextant::hf
