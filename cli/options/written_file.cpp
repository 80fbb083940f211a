#include "cli/options/written_file.hpp"

#include "core/error.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <cctype>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sextant::cli {
namespace {

namespace fs = std::filesystem;

constexpr char const* mark = "written";

struct GivenFile {
    CLI::Option const* option;
    std::string name;
};

bool is_marked(CLI::Option* option) {
    try {
        option->get_validator(mark);
        return true;
    } catch (CLI::OptionNotFound const&) {
        return false;
    }
}

/// "rows.csv", but not "llama-3.1-8b".
bool may_be_file(std::string const& word) {
    std::string const ending = fs::path(word).extension().string();
    return ending.size() > 1 && std::isalpha(static_cast<unsigned char>(ending[1])) != 0;
}

/// "600", "-1", "0.5", "1e4", but neither "600.csv" nor "nan".
bool is_number(std::string_view word) {
    if (word.size() > 1 && (word.front() == '-' || word.front() == '+')) word.remove_prefix(1);
    if (word.front() != '.' && std::isdigit(static_cast<unsigned char>(word.front())) == 0) return false;
    double value = 0;
    auto const [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
    return end == word.data() + word.size() && fault != std::errc::invalid_argument;
}

bool same_file(std::string const& a, std::string const& b) {
    std::error_code fault;
    if (fs::equivalent(a, b, fault)) return true;
    return fs::absolute(a, fault).lexically_normal() == fs::absolute(b, fault).lexically_normal();
}

void collect(CLI::App& app, std::vector<GivenFile>& written_files, std::vector<GivenFile>& all) {
    for (CLI::Option* const option : app.get_options())
        for (std::string const& value : option->results()) {
            bool const writes = is_marked(option);
            if (value.empty() || !(writes || may_be_file(value))) continue;
            all.push_back({option, value});
            if (writes) written_files.push_back({option, value});
        }
    for (CLI::App* const subcommand : app.get_subcommands())
        collect(*subcommand, written_files, all);
}

}  // namespace

CLI::Option* written(CLI::Option* option, std::string_view numbers) {
    auto const check = [hint = std::string(numbers)](std::string& name) -> std::string {
        if (name.empty()) return "the file name is empty";
        if (!is_number(name)) return {};
        return fmt::format("'{}' is a number, not a file name{} (a file of that name: ./{})", name,
                           hint.empty() ? "" : "; " + hint, name);
    };
    return option->check(CLI::Validator(check, std::string(), mark));
}

void refuse_files_given_twice(CLI::App& app) {
    std::vector<GivenFile> written_files;
    std::vector<GivenFile> all;
    collect(app, written_files, all);
    for (GivenFile const& file : written_files)
        for (GivenFile const& other : all)
            if (file.option != other.option && same_file(file.name, other.name))
                throw InputError("{}: '{}' is given to {} as well (give another name: it would be overwritten)",
                                 file.option->get_name(), file.name, other.option->get_name());
}

}  // namespace sextant::cli
