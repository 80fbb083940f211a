#include "cli/sweep/question.hpp"
#include "cli/sweep/record.hpp"
#include "core/json/text_file.hpp"
#include "planner/exporters/quoting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

namespace sextant::cli {
namespace {

/// FNV-1a of 64 bits (Fowler, Noll, Vo), with the length of each text before it.
class Digest {
public:
    void add(std::string_view text) {
        mix(fmt::format("{}:", text.size()));
        mix(text);
    }
    void add(std::vector<std::string> const& texts) {
        mix(fmt::format("[{}]", texts.size()));
        for (std::string const& text : texts)
            add(text);
    }
    [[nodiscard]] std::string hex() const { return fmt::format("{:016x}", state_); }

private:
    void mix(std::string_view bytes) {
        for (char const c : bytes) {
            state_ ^= static_cast<unsigned char>(c);
            state_ *= 0x100000001b3ULL;
        }
    }
    std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

/// The text of a file that an argument names ("--model=my/config.json", "runs.csv"), so that a changed file is another
/// sweep.
void add_file(Digest& digest, std::string_view argument) {
    std::string_view value = argument;
    if (value.starts_with('-')) value.remove_prefix(std::min(value.find('='), value.size() - 1) + 1);
    for (std::string_view const name : {value, value.substr(0, value.find(':'))}) {
        std::error_code ignored;
        std::filesystem::path path(name);
        if (std::filesystem::is_directory(path, ignored)) path /= "config.json";
        if (name.empty() || !std::filesystem::is_regular_file(path, ignored)) continue;
        digest.add(read_text_file(path.string()));
        return;
    }
}

}  // namespace

std::string digest_of(SweepQuestion const& question) {
    Digest digest;
    digest.add(SEXTANT_VERSION);
    digest.add(question.command);
    digest.add(question.arguments);
    digest.add(question.columns);
    for (std::string const& argument : question.arguments)
        add_file(digest, argument);
    for (SweepAxis const& axis : question.axes) {
        digest.add(axis.name);
        digest.add(axis.values);
        for (std::string const& value : axis.values)
            add_file(digest, value);
    }
    for (auto const& group : question.groups) {
        digest.add("group");
        for (std::size_t const axis : group)
            digest.add(question.axes[axis].name);
    }
    return digest.hex();
}

std::string shell_text(std::vector<std::string> const& words) {
    std::string text;
    for (std::string const& word : words) {
        if (!text.empty()) text += ' ';
        text += shell_quoted(word);
    }
    return text;
}

SweepRecord record_of(SweepQuestion const& question) {
    std::vector<std::string> words = question.command;
    words.insert(words.end(), question.arguments.begin(), question.arguments.end());
    return {.digest = digest_of(question),
            .command = shell_text(words),
            .axes = question.axes,
            .groups = question.groups,
            .columns = question.columns,
            .prices = question.prices,
            .points = question.points};
}

}  // namespace sextant::cli
