#include "planner/importers/shell_words.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>

namespace sextant {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t most_words = 1000000;

bool is_name_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool ends_word(char c) { return is_blank(c) || std::string_view(";()&|").find(c) != std::string_view::npos; }

bool is_name(std::string_view text) {
    return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
           std::all_of(text.begin(), text.end(), is_name_letter);
}

/// The words that one word of the script becomes: an expansion may give several.
class Expansion {
public:
    void append(std::string_view text) {
        if (words_.empty()) words_.emplace_back();
        words_.back() += text;
        open_ = true;
    }
    /// Quotes make a word even of nothing.
    void quote() { append(""); }
    void append_fields(std::string_view text) {
        std::size_t at = 0;
        while (at < text.size()) {
            std::size_t end = at;
            while (end < text.size() && !is_blank(text[end]))
                ++end;
            if (end > at) continue_with(text.substr(at, end - at));
            if (end < text.size()) open_ = false;
            at = end + 1;
        }
    }
    void append_words(Words const& words) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            if (i > 0) open_ = false;
            continue_with(words[i]);
        }
    }
    [[nodiscard]] Words const& words() const { return words_; }

private:
    void continue_with(std::string_view text) {
        if (!open_) words_.emplace_back();
        append(text);
    }

    Words words_;
    bool open_ = false;  ///< the next text goes on with the last word
};

class Reader {
public:
    Reader(std::string_view script, std::string_view where) : script_(script), where_(where) {}

    ShellScript read() {
        while (at_ < script_.size()) {
            if (count_ + words_.size() > most_words) throw InputError("{}: more than {} words", where_, most_words);
            char const c = script_[at_];
            if (c == '#')
                at_ = std::min(script_.find('\n', at_), script_.size());
            else if (c == '\\' && at(1) == '\n')
                at_ += 2, ++line_;
            else if (ends_word(c))
                separator(c);
            else
                word();
        }
        end_command();
        out_.reassigned.assign(reassigned_.begin(), reassigned_.end());
        for (auto const& [name, words] : values_) {
            std::string& value = out_.assigned[name];
            for (std::string const& word : words)
                value += (value.empty() ? "" : " ") + word;
        }
        return std::move(out_);
    }

private:
    /// Between double quotes an expansion is not cut at blanks.
    enum class Quotes { none, around };

    [[nodiscard]] char at(std::size_t ahead) const {
        return at_ + ahead < script_.size() ? script_[at_ + ahead] : '\0';
    }

    void separator(char c) {
        if (c == '\n') ++line_;
        bool const redirects = c == '&' && at_ > 0 && (script_[at_ - 1] == '>' || at(1) == '>');
        bool const ends = c == '\n' || c == ';' || c == '|' || (c == '&' && !redirects);
        if (ends && array_.empty() && depth_ == 0 && !in_backticks_) end_command();
        if (c == '(') ++depth_;
        if (c == ')' && array_.empty() && depth_ > 0) --depth_;
        if (c == ')' && !array_.empty()) {
            array_.clear();
            end_assignment();
        }
        ++at_;
    }

    void end_command() {
        if (words_.empty()) return;
        count_ += words_.size();
        out_.commands.push_back(std::move(words_));
        words_.clear();
    }

    void single_quoted(Expansion& out) {
        std::size_t const end = script_.find('\'', at_ + 1);
        if (end == std::string_view::npos) throw InputError("{}: line {}: a quote that does not end", where_, line_);
        std::string_view const text = script_.substr(at_ + 1, end - at_ - 1);
        line_ += std::count(text.begin(), text.end(), '\n');
        out.append(text);
        at_ = end + 1;
    }

    void double_quoted(Expansion& out) {
        std::int64_t const begin = line_;
        out.quote();
        for (++at_; at_ < script_.size() && script_[at_] != '"';) {
            char const c = script_[at_];
            if (c == '\n') ++line_;
            if (c == '\\' && std::string_view("$`\"\\\n").find(at(1)) != std::string_view::npos) {
                if (at(1) != '\n') out.append(script_.substr(at_ + 1, 1));
                at_ += 2;
            } else if (c == '$') {
                variable(out, Quotes::around);
            } else {
                out.append(script_.substr(at_++, 1));
            }
        }
        if (at_ >= script_.size()) throw InputError("{}: line {}: a quote that does not end", where_, begin);
        ++at_;
    }

    /// From '$' on. What is not known stays as it is written.
    void variable(Expansion& out, Quotes quotes) {
        std::size_t const begin = at_++;
        bool const braces = at(0) == '{';
        if (braces) ++at_;
        std::size_t const name_begin = at_;
        while (at_ < script_.size() && is_name_letter(script_[at_]))
            ++at_;
        std::string const name(script_.substr(name_begin, at_ - name_begin));
        std::string_view rest;
        if (braces) {
            std::size_t const end = script_.find('}', at_);
            if (end != std::string_view::npos) {
                rest = script_.substr(at_, end - at_);
                at_ = end + 1;
            }
        }
        bool const all = rest == "[@]" || rest == "[*]";
        bool const fallback = rest.starts_with(":-") && rest.find('$') == std::string_view::npos;
        auto const found = values_.find(name);
        if (found != values_.end() && (all || rest.empty() || rest.starts_with(":-"))) {
            note_use(name);
            expand(out, found->second, quotes, all ? Elements::apart : Elements::joined);
        } else if (fallback) {
            out.append(rest.substr(2));
        } else {
            out.append(script_.substr(begin, at_ - begin));
        }
    }

    enum class Elements { joined, apart };
    static void expand(Expansion& out, Words const& values, Quotes quotes, Elements elements) {
        if (quotes == Quotes::around && elements == Elements::apart) {
            out.append_words(values);
            return;
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::string const text = (i > 0 ? " " : "") + values[i];
            if (quotes == Quotes::around)
                out.append(text);
            else
                out.append_fields(text);
        }
    }

    void word() {
        Expansion text;
        std::string plain;  ///< as long as nothing was quoted or expanded: the name of an assignment
        bool bare = true;
        while (at_ < script_.size() && !ends_word(script_[at_])) {
            char const c = script_[at_];
            if (c == '=' && bare && assign(plain)) return;
            bare = bare && c != '\'' && c != '"' && c != '\\' && c != '$';
            if (c == '\'') {
                single_quoted(text);
            } else if (c == '"') {
                double_quoted(text);
            } else if (c == '\\') {
                if (at(1) != '\n' && at(1) != '\0') text.append(script_.substr(at_ + 1, 1));
                if (at(1) == '\n') ++line_;
                at_ = std::min(at_ + 2, script_.size());
            } else if (c == '$') {
                variable(text, Quotes::none);
            } else {
                if (c == '`') in_backticks_ = !in_backticks_;
                plain += c;
                text.append(script_.substr(at_++, 1));
            }
        }
        Words& target = array_.empty() ? words_ : values_[array_];
        target.insert(target.end(), text.words().begin(), text.words().end());
    }

    /// NAME=value, NAME+=value, NAME=( ... ); `at_` is on '='. False if it is none.
    bool assign(std::string plain) {
        bool const adds = plain.ends_with('+');
        if (adds) plain.pop_back();
        if (!is_name(plain) || !array_.empty()) return false;
        ++at_;
        assigned_ = plain;
        uses_itself_ = adds;
        before_ = values_[plain];
        if (at(0) == '(') {
            if (!adds) values_[plain].clear();
            array_ = plain;
            ++at_;
            return true;
        }
        Expansion value;
        while (at_ < script_.size() && !ends_word(script_[at_])) {
            char const c = script_[at_];
            if (c == '\'')
                single_quoted(value);
            else if (c == '"')
                double_quoted(value);
            else if (c == '$')
                variable(value, Quotes::around);
            else
                value.append(script_.substr(at_++, 1));
        }
        std::string joined;
        for (std::string const& part : value.words())
            joined += (joined.empty() ? "" : " ") + part;
        Words& target = values_[plain];
        if (adds && !target.empty())
            target.back() += joined;
        else
            target = {joined};
        end_assignment();
        return true;
    }

    void end_assignment() {
        if (!uses_itself_ && !before_.empty() && before_ != values_[assigned_]) several_.insert(assigned_);
        assigned_.clear();
    }

    /// A variable that is put in: elsewhere than in its own new value.
    void note_use(std::string const& name) {
        if (name == assigned_)
            uses_itself_ = true;
        else if (several_.contains(name))
            reassigned_.insert(name);
    }

    std::string_view script_;
    std::string_view where_;
    std::size_t at_ = 0;
    std::int64_t line_ = 1;
    Words words_;            ///< of the command that is being read
    std::size_t count_ = 0;  ///< of words of those before it
    ShellScript out_;
    std::int64_t depth_ = 0;  ///< of parentheses: commands in them are no commands of their own
    bool in_backticks_ = false;
    std::map<std::string, Words> values_;
    std::string array_;  ///< whose words are being read, empty: none
    // Of the assignment that is being read.
    std::string assigned_;
    Words before_;  ///< its former value
    bool uses_itself_ = false;
    std::set<std::string> several_, reassigned_;  ///< variables given several values, and those of them that were used
};

}  // namespace

ShellScript read_script(std::string_view script, std::string_view where) { return Reader(script, where).read(); }

std::optional<std::string> ShellScript::value_of(std::string_view variable) const {
    if (auto const found = assigned.find(variable); found != assigned.end()) return found->second;
    std::string const beginning = std::string(variable) + "=";
    std::optional<std::string> last;
    for (std::vector<std::string> const& command : commands)
        for (std::string const& word : command)
            if (word.starts_with(beginning)) last = word.substr(beginning.size());
    return last;
}

std::vector<std::string> shell_words(std::string_view script, std::string_view where) {
    Words all;
    for (Words& command : read_script(script, where).commands)
        all.insert(all.end(), std::make_move_iterator(command.begin()), std::make_move_iterator(command.end()));
    return all;
}

}  // namespace sextant
