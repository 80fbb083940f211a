#include "planner/importers/yaml_values.hpp"

#include "core/error.hpp"
#include "planner/importers/read_values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

bool is_yaml_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && is_yaml_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_yaml_blank(text.back()))
        text.remove_suffix(1);
    return text;
}

std::string in_lower_case(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

}  // namespace

class YamlReader {
public:
    YamlReader(std::string_view text, YamlValues& out) : text_(text), out_(out) {}

    void read() {
        while (next_line())
            line();
    }

private:
    struct Level {
        std::size_t indent;
        std::string prefix;  ///< "fsdp_config."
    };

    [[noreturn]] void refuse(std::string_view why) const {
        throw InputError("{}:{}: {} (YAML of lines such as 'key: value' is expected)", out_.where(), number_, why);
    }

    bool next_line() {
        if (at_ >= text_.size()) return false;
        std::size_t const end = std::min(text_.find('\n', at_), text_.size());
        line_ = text_.substr(at_, end - at_);
        if (line_.ends_with('\r')) line_.remove_suffix(1);
        at_ = end + 1;
        ++number_;
        return true;
    }

    void line() {
        std::size_t indent = 0;
        while (indent < line_.size() && line_[indent] == ' ')
            ++indent;
        std::string_view const content = without_blanks(line_.substr(indent));
        if (content.empty() || content.front() == '#' || content == "---" || content == "...") return;
        if (line_[indent] == '\t') refuse("a tab before a key");
        if (passed_over_ && indent > *passed_over_) return;
        passed_over_.reset();
        if (content == "-" || content.starts_with("- ")) {
            passed_over_ = indent;
            return;
        }
        enter(indent);
        entry(content, indent);
    }

    /// The mapping that a line of this indent is in.
    void enter(std::size_t indent) {
        if (opened_ && indent > levels_.back().indent) {
            if (levels_.size() == deepest) refuse("mappings too deep in one another");
            levels_.push_back({indent, *opened_});
        } else if (levels_.empty()) {
            levels_.push_back({indent, ""});
        }
        opened_.reset();
        while (levels_.size() > 1 && indent < levels_.back().indent)
            levels_.pop_back();
        if (indent != levels_.back().indent) refuse("an indent that no mapping has");
    }

    void entry(std::string_view content, std::size_t indent) {
        std::string key;
        std::string_view rest;
        if (content.front() == '{' || content.front() == '[') refuse("a mapping or a list in brackets");
        if (content.front() == '"' || content.front() == '\'') {
            rest = quoted(content, key);
        } else {
            std::size_t colon = content.find(':');
            while (colon != std::string_view::npos && colon + 1 < content.size() && !is_yaml_blank(content[colon + 1]))
                colon = content.find(':', colon + 1);
            if (colon == std::string_view::npos) refuse("no 'key: value'");
            key = without_blanks(content.substr(0, colon));
            rest = content.substr(colon);
        }
        rest = without_blanks(rest);
        if (!rest.starts_with(':') || key.empty()) refuse("no 'key: value'");
        value(levels_.back().prefix + key, without_blanks(rest.substr(1)), indent);
    }

    void value(std::string const& name, std::string_view rest, std::size_t indent) {
        if (rest.empty() || rest.front() == '#') {
            opened_ = name + ".";
            out_.values_[name] = {};
            return;
        }
        char const c = rest.front();
        std::string scalar;
        if (c == '"' || c == '\'') {
            std::string_view const behind = without_blanks(quoted(rest, scalar));
            if (!behind.empty() && behind.front() != '#') refuse("something behind a quoted text");
        } else if (c == '|' || c == '>') {
            passed_over_ = indent;
        } else {
            std::size_t end = rest.size();
            for (std::size_t i = 1; i < rest.size(); ++i)
                if (rest[i] == '#' && is_yaml_blank(rest[i - 1])) end = std::min(end, i);
            scalar = without_blanks(rest.substr(0, end));
            if (std::string_view("&*!").find(c) != std::string_view::npos) refuse("anchors, aliases and tags");
            if (c == '{' && scalar != "{}") refuse("a mapping in braces");
            if (c == '[' && scalar.back() != ']') refuse("a list over several lines");
        }
        out_.values_[name] = {.text = std::move(scalar)};
    }

    /// @return what is behind the closing quote
    std::string_view quoted(std::string_view text, std::string& out) {
        char const quote = text.front();
        std::size_t i = 1;
        for (; i < text.size(); ++i) {
            bool const doubled = quote == '\'' && text.substr(i).starts_with("''");
            bool const escaped = quote == '"' && text[i] == '\\' && i + 1 < text.size();
            if (text[i] == quote && !doubled) return text.substr(i + 1);
            if (doubled || escaped) ++i;
            out += text[i];
        }
        refuse("a quote that does not end");
    }

    static constexpr std::size_t deepest = 16;
    std::string_view text_;
    YamlValues& out_;
    std::size_t at_ = 0;
    std::int64_t number_ = 0;
    std::string_view line_;
    std::vector<Level> levels_;
    std::optional<std::string> opened_;         ///< the key of a mapping that the next line may begin
    std::optional<std::size_t> passed_over_{};  ///< lines of a greater indent are
};

YamlValues::YamlValues(std::string_view text, std::string_view where) : where_(where) {
    YamlReader(text, *this).read();
}

std::optional<std::string> YamlValues::text(std::string const& name) {
    auto const found = values_.find(name);
    if (found == values_.end()) {
        missing_.push_back(name);
        return {};
    }
    found->second.asked = true;
    std::string const& value = found->second.text;
    if (value.empty() || value == "~" || in_lower_case(value) == "null") return {};
    return value;
}

std::optional<std::int64_t> YamlValues::integer(std::string const& name, std::int64_t least) {
    constexpr std::int64_t most = std::int64_t{1} << 31;
    auto const value = text(name);
    if (!value) return {};
    return whole_number(*value, where_, name, least, most);
}

std::optional<bool> YamlValues::flag(std::string const& name) {
    auto const value = text(name);
    if (!value) return {};
    std::string const word = in_lower_case(*value);
    if (word == "true" || word == "yes" || word == "on") return true;
    if (word == "false" || word == "no" || word == "off") return false;
    throw InputError("{}: {}: '{}' is neither true nor false", where_, name, *value);
}

std::vector<std::string> YamlValues::not_asked() const {
    std::vector<std::string> names;
    for (auto const& [name, value] : values_)
        if (!value.asked && !value.text.empty()) names.push_back(name);
    return names;
}

}  // namespace sextant
