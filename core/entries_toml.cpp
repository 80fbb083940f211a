#include "core/toml.hpp"

#include "core/error.hpp"
#include "core/toml/visit_toml.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// One value of the parser's tree as an entry.
class EntryReader {
public:
    explicit EntryReader(std::string_view where) : where_(where) {}

    [[nodiscard]] TomlEntry read(std::string const& section, toml::key const& key, toml::node const& node) const {
        TomlEntry entry;
        entry.section = section;
        entry.key = std::string(key.str());
        entry.line = static_cast<std::int64_t>(key.source().begin.line);
        entry.kind = kind_of(entry, node);
        if (toml::array const* const list = node.as_array())
            for (toml::node const& each : *list)
                add_value(entry, each);
        else
            add_value(entry, node);
        return entry;
    }

private:
    TomlKind kind_of(TomlEntry const& entry, toml::node const& node) const {
        if (node.is_array()) return TomlKind::list;
        if (node.is_string()) return TomlKind::text;
        if (node.is_boolean()) return TomlKind::boolean;
        if (node.is_number()) return TomlKind::number;
        throw InputError("{}:{}: {}: dates and times are not read here (text is written \"in quotes\")", where_,
                         entry.line, entry.key);
    }

    void add_value(TomlEntry& entry, toml::node const& node) const {
        if (node.is_array() || node.is_table())
            throw InputError("{}:{}: {}: lists and tables inside a list are not read here", where_, entry.line,
                             entry.key);
        static_cast<void>(kind_of(entry, node));
        if (auto const text = node.value_exact<std::string>())
            entry.values.push_back(*text);
        else if (auto const flag = node.value_exact<bool>())
            entry.values.emplace_back(*flag ? "true" : "false");
        else if (auto const whole = node.value_exact<std::int64_t>())
            entry.values.push_back(fmt::format("{}", *whole));
        else
            entry.values.push_back(fmt::format("{}", node.value_exact<double>().value_or(0)));
    }

    std::string_view where_;
};

}  // namespace

std::vector<TomlEntry> parse_toml(std::string_view text, std::string_view where) {
    std::vector<TomlEntry> entries;
    visit_toml(text, where,
               [&, reader = EntryReader(where)](auto const&... value) { entries.push_back(reader.read(value...)); });
    std::stable_sort(entries.begin(), entries.end(),
                     [](TomlEntry const& a, TomlEntry const& b) { return a.line < b.line; });
    return entries;
}

std::string toml_string(std::string_view text) {
    std::string out = "\"";
    for (char const c : text) {
        if (c == '"' || c == '\\')
            out += std::string("\\") + c;
        else if (c == '\n')
            out += "\\n";
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        else
            out += c;
    }
    return out + "\"";
}

}  // namespace sextant
