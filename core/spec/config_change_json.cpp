#include "core/error.hpp"
#include "core/json/json_text.hpp"
#include "core/nearest.hpp"
#include "core/spec/output_head.hpp"
#include "core/spec/profile_change.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

/// Of the output head, which can be chosen whether a config names it or not.
constexpr std::string_view head_name = "head";

/// What architectures call the same thing.
struct Spellings {
    std::string_view name;
    std::array<std::string_view, 5> keys;
};

constexpr std::array spellings{
    Spellings{"layers", {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}},
    Spellings{"hidden", {"hidden_size", "n_embd", "d_model"}},
    Spellings{"heads", {"num_attention_heads", "n_head", "n_heads"}},
    Spellings{"kv_heads", {"num_key_value_heads", "num_kv_heads", "n_head_kv"}},
    Spellings{"intermediate", {"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim"}},
    Spellings{"vocab", {"vocab_size"}},
    Spellings{head_name, {output_head_key}},
};

struct Place {
    std::string path;  ///< dotted
    std::string key;   ///< its last part
    Json* value;
};

void collect(Json& object, std::string const& prefix, std::vector<Place>& out) {
    for (auto& [key, value] : object.items()) {
        if (value.is_object())
            collect(value, prefix + key + ".", out);
        else if (value.is_number() || value.is_boolean() || value.is_string())
            out.push_back({prefix + key, key, &value});
    }
}

/// The one value of this name: by its path, by its last part where only one has it, or by a common name.
Json* find(std::vector<Place> const& places, std::string_view key) {
    for (Place const& place : places)
        if (place.path == key) return place.value;
    auto const same = [&](Place const& place) { return place.key == key; };
    if (std::count_if(places.begin(), places.end(), same) == 1)
        return std::find_if(places.begin(), places.end(), same)->value;
    for (Spellings const& common : spellings)
        if (common.name == key)
            for (std::string_view const spelling : common.keys)
                if (Json* const value = spelling.empty() ? nullptr : find(places, spelling)) return value;
    return nullptr;
}

std::vector<std::string> names_of(std::vector<Place> const& places) {
    std::vector<std::string> names;
    for (Spellings const& common : spellings)
        if (find(places, common.name) != nullptr) names.emplace_back(common.name);
    for (Place const& place : places)
        names.push_back(place.path);
    return names;
}

double number_of(std::string_view text, std::string const& where) {
    double number = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || stop != text.data() + text.size() || !std::isfinite(number))
        throw InputError("{}: '{}' is not a number (a number, or a factor such as x0.5)", where, text.substr(0, 60));
    return number;
}

void set_number(Json& value, std::string_view text, std::string const& where) {
    bool const factor = text.starts_with('x');
    double number = number_of(factor ? text.substr(1) : text, where);
    if (factor) number *= value.get<double>();
    if (!value.is_number_integer()) {
        value = number;
        return;
    }
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (number != std::floor(number) || std::abs(number) > exact)
        throw InputError("{}: '{}' makes it {:g} (a whole number is expected)", where, text, number);
    value = static_cast<std::int64_t>(number);
}

void set_value(Json& value, std::string const& text, std::string const& where) {
    if (value.is_number()) {
        set_number(value, text, where);
    } else if (value.is_boolean()) {
        if (text != "true" && text != "false") throw InputError("{}: '{}' (true or false)", where, text.substr(0, 60));
        value = text == "true";
    } else {
        value = text;
    }
}

/// @throws InputError when it is no JSON object.
Json parse(std::string_view config, std::string_view where) {
    Json document = Json::parse(config, nullptr, false);
    if (!document.is_object()) throw InputError("{}: is no JSON object, so nothing in it can be changed", where);
    return document;
}

}  // namespace

std::string change_config(std::string_view config, std::vector<ProfileChange> const& changes, std::string_view where) {
    Json document = parse(config, where);
    if (std::any_of(changes.begin(), changes.end(),
                    [](ProfileChange const& c) { return c.key == head_name || c.key == output_head_key; }))
        document.emplace(output_head_key, "");
    std::vector<Place> places;
    collect(document, "", places);
    for (ProfileChange const& change : changes) {
        std::string const at = fmt::format("{}: {}", where, change.key);
        Json* const value = find(places, change.key);
        if (value == nullptr) {
            std::vector<std::string> const known = names_of(places);
            throw InputError("{}: no such value{} (known: {})", at, did_you_mean(change.key, known), join(known));
        }
        set_value(*value, change.value, at);
    }
    return json_text(document);
}

std::vector<std::string> changeable_config_keys(std::string_view config) {
    Json document = parse(config, "model");
    document.emplace(output_head_key, "");
    std::vector<Place> places;
    collect(document, "", places);
    std::vector<std::string> names = names_of(places);
    for (Place const& place : places)
        if (find(places, place.key) == place.value) names.push_back(place.key);
    return names;
}

}  // namespace sextant
