#include "core/toml.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <set>

namespace sextant {
namespace {

bool bare(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

void append_utf8(std::string& out, std::uint32_t point) {
    auto const add = [&out](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (point < 0x80) return add(point);
    if (point < 0x800) {
        add(0xC0U | (point >> 6U));
    } else {
        if (point < 0x10000) {
            add(0xE0U | (point >> 12U));
        } else {
            add(0xF0U | (point >> 18U));
            add(0x80U | ((point >> 12U) & 0x3FU));
        }
        add(0x80U | ((point >> 6U) & 0x3FU));
    }
    add(0x80U | (point & 0x3FU));
}

class Reader {
public:
    Reader(std::string_view text, std::string_view where) : text_(text), where_(where) {}

    std::vector<TomlEntry> read() {
        for (skip_to_entry(); at_ < text_.size(); skip_to_entry()) {
            if (text_[at_] == '[')
                read_section();
            else
                read_entry();
            end_line();
        }
        return std::move(entries_);
    }

private:
    template <class... Args>
    [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
        throw InputError("{}:{}: {}", where_, line_, fmt::format(format, std::forward<Args>(args)...));
    }

    [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    [[nodiscard]] bool at_line_end() const { return at_ >= text_.size() || text_[at_] == '\n'; }

    void skip_blank() {
        while (next() == ' ' || next() == '\t' || next() == '\r')
            ++at_;
        if (next() == '#')
            while (!at_line_end())
                ++at_;
    }

    void skip_to_entry() {
        for (skip_blank(); next() == '\n'; skip_blank()) {
            ++at_;
            ++line_;
        }
    }

    void end_line() {
        skip_blank();
        if (!at_line_end()) refuse("'{}' after the value (one key = value on a line)", rest_of_line());
    }

    [[nodiscard]] std::string_view rest_of_line() const {
        std::string_view const rest = text_.substr(std::min(at_, text_.size()));
        return rest.substr(0, rest.find_first_of("\r\n"));
    }

    void read_section() {
        ++at_;
        if (next() == '[') refuse("[[...]]: arrays of tables are not read here");
        std::string name;
        do {
            if (!name.empty()) {
                ++at_;
                name += '.';
            }
            skip_blank();
            name += read_key();
            skip_blank();
        } while (next() == '.');
        if (next() != ']') refuse("'[{}': the table's name does not end in ']'", name);
        ++at_;
        if (!sections_.insert(name).second) refuse("[{}]: this table is there twice", name);
        section_ = name;
    }

    std::string read_key() {
        if (next() == '"') return read_basic();
        if (next() == '\'') return read_literal();
        std::string key;
        while (bare(next()))
            key += text_[at_++];
        if (key.empty()) refuse("'{}': a name was expected", rest_of_line());
        return key;
    }

    void read_entry() {
        TomlEntry entry;
        entry.section = section_;
        entry.line = line_;
        entry.key = read_key();
        skip_blank();
        if (next() == '.')
            refuse("{}: dotted keys are not read here (write [{}] on a line of its own)", entry.key, entry.key);
        if (next() != '=') refuse("'{}': no '=' after it (key = value)", entry.key);
        ++at_;
        skip_blank();
        if (!keys_.insert(section_ + "\n" + entry.key).second) refuse("{}: given twice", entry.key);
        if (next() == '[') {
            entry.kind = TomlKind::list;
            read_list(entry);
        } else {
            entry.kind = read_value(entry.key, entry.values);
        }
        entries_.push_back(std::move(entry));
    }

    void read_list(TomlEntry& entry) {
        ++at_;
        for (skip_to_entry(); next() != ']'; skip_to_entry()) {
            if (next() == '[') refuse("{}: lists in lists are not read here", entry.key);
            read_value(entry.key, entry.values);
            skip_to_entry();
            if (next() == ',')
                ++at_;
            else if (next() != ']')
                refuse("{}: the list has no ',' or ']' before '{}'", entry.key, rest_of_line());
        }
        ++at_;
    }

    TomlKind read_value(std::string const& key, std::vector<std::string>& values) {
        if (next() == '"' || next() == '\'') {
            values.push_back(next() == '"' ? read_basic() : read_literal());
            return TomlKind::text;
        }
        std::string word;
        while (bare(next()) || next() == '+' || next() == '.' || next() == ':')
            word += text_[at_++];
        if (word == "true" || word == "false") {
            values.push_back(word);
            return TomlKind::boolean;
        }
        std::string digits = word;
        digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
        bool const number = !digits.empty() && digits.find_first_not_of("+-.eE0123456789") == std::string::npos &&
                            digits.find_first_of("0123456789") != std::string::npos;
        if (number || digits == "inf" || digits == "-inf" || digits == "nan") {
            values.push_back(digits);
            return TomlKind::number;
        }
        if (word.empty()) word = rest_of_line();
        refuse("{}: '{}' is not a TOML value (text is written \"in quotes\")", key, word);
    }

    std::string read_literal() {
        std::string out;
        for (++at_; next() != '\''; ++at_) {
            if (at_line_end()) refuse("a string is not closed on its line");
            out += text_[at_];
        }
        ++at_;
        return out;
    }

    std::string read_basic() {
        if (text_.substr(at_).starts_with("\"\"\"")) refuse("multi-line strings are not read here");
        std::string out;
        for (++at_; next() != '"'; ++at_) {
            if (at_line_end()) refuse("a string is not closed on its line");
            if (next() != '\\') {
                out += text_[at_];
                continue;
            }
            ++at_;
            read_escape(out);
        }
        ++at_;
        return out;
    }

    void read_escape(std::string& out) {
        constexpr std::string_view names = "btnfr\"\\";
        constexpr std::string_view meanings = "\b\t\n\f\r\"\\";
        char const c = next();
        if (auto const at = names.find(c); at != std::string_view::npos && c != '\0') {
            out += meanings[at];
            return;
        }
        if (c != 'u' && c != 'U') refuse("'\\{}' is no escape of TOML", c);
        std::size_t const digits = c == 'u' ? 4 : 8;
        std::uint32_t point = 0;
        for (std::size_t i = 0; i < digits; ++i) {
            ++at_;
            auto const value = std::string_view("0123456789abcdef").find(static_cast<char>(next() | 0x20));
            if (value == std::string_view::npos || at_line_end())
                refuse("'\\{}' needs {} hexadecimal digits", c, digits);
            point = point * 16 + static_cast<std::uint32_t>(value);
        }
        if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) refuse("'\\{}{:x}' is no character", c, point);
        append_utf8(out, point);
    }

    std::string_view text_;
    std::string_view where_;
    std::size_t at_ = 0;
    std::int64_t line_ = 1;
    std::string section_;
    std::set<std::string> sections_;
    std::set<std::string> keys_;
    std::vector<TomlEntry> entries_;
};

}  // namespace

std::vector<TomlEntry> parse_toml(std::string_view text, std::string_view where) { return Reader(text, where).read(); }

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
