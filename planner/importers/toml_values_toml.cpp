#include "planner/importers/toml_values.hpp"

#include "core/error.hpp"
#include "core/toml/visit_toml.hpp"

#include <algorithm>

namespace sextant {

/// What an importer may ask of one value of the parser's tree.
class TomlReader {
public:
    static TomlValues::Value value_of(toml::node const& node) {
        TomlValues::Value out;
        if (auto const number = node.value_exact<std::int64_t>())
            out.value = *number;
        else if (auto const text = node.value_exact<std::string>())
            out.value = *text;
        else if (auto const flag = node.value_exact<bool>())
            out.value = *flag;
        else if (toml::array const* const list = node.as_array())
            out.value = lists_of(*list);
        return out;
    }

private:
    static TomlValues::Lists lists_of(toml::array const& outer) {
        TomlValues::Lists lists;
        for (toml::node const& entry : outer) {
            std::vector<std::string> inner;
            if (toml::array const* const list = entry.as_array())
                for (toml::node const& item : *list)
                    inner.push_back(item.value_or<std::string>(""));
            else
                inner.push_back(entry.value_or<std::string>(""));
            lists.push_back(std::move(inner));
        }
        return lists;
    }
};

TomlValues::TomlValues(std::string_view text, std::string_view where) : where_(where) {
    visit_toml(text, where, [&](std::string const& section, toml::key const& key, toml::node const& value) {
        std::string const prefix = section.empty() ? "" : section + ".";
        values_[prefix + std::string(key.str())] = TomlReader::value_of(value);
    });
}

template <class T>
T const* TomlValues::find(std::string const& name, char const* kind) {
    auto const found = values_.find(name);
    if (found == values_.end()) {
        missing_.push_back(name);
        return nullptr;
    }
    found->second.asked = true;
    T const* const value = std::get_if<T>(&found->second.value);
    if (value == nullptr) throw InputError("{}: {} is no {}", where_, name, kind);
    return value;
}

std::optional<std::int64_t> TomlValues::integer(std::string const& name, std::int64_t least) {
    constexpr std::int64_t most = std::int64_t{1} << 31;
    std::int64_t const* const value = find<std::int64_t>(name, "whole number");
    if (value == nullptr) return {};
    if (*value < least || *value > most)
        throw InputError("{}: {}: {} is out of range ({} to {})", where_, name, *value, least, most);
    return *value;
}

std::optional<std::string> TomlValues::text(std::string const& name) {
    std::string const* const value = find<std::string>(name, "text");
    return value != nullptr ? std::optional(*value) : std::nullopt;
}

bool TomlValues::flag(std::string const& name) {
    bool const* const value = find<bool>(name, "true or false");
    return value != nullptr && *value;
}

std::vector<std::vector<std::string>> TomlValues::lists(std::string const& name) {
    if (auto const found = values_.find(name);
        found != values_.end() && std::holds_alternative<std::string>(found->second.value)) {
        found->second.asked = true;
        return {{std::get<std::string>(found->second.value)}};
    }
    Lists const* const value = find<Lists>(name, "list");
    return value != nullptr ? *value : Lists{};
}

bool TomlValues::has_text(std::string const& name, std::string_view wanted) {
    for (auto const& list : lists(name))
        if (std::find(list.begin(), list.end(), wanted) != list.end()) return true;
    return false;
}

std::vector<std::string> TomlValues::not_asked() const {
    std::vector<std::string> names;
    for (auto const& [name, value] : values_)
        if (!value.asked) names.push_back(name);
    return names;
}

}  // namespace sextant
