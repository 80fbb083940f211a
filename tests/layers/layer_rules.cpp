#include "tests/layers/layer_rules.hpp"

#include "tests/layers/include_rules.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace sextant::layers {
namespace {

using Names = std::vector<std::string_view>;

struct Layer {
    std::string_view folder;
    Names may_include;  ///< folders of ours
};

std::vector<Layer> const& layers() {
    static std::vector<Layer> const all{
        {"core", {"core"}},
        {"cost_models", {"core", "cost_models"}},
        {"simulator", {"core", "cost_models", "simulator"}},
        {"planner", {"core", "cost_models", "simulator", "planner"}},
        {"calibrate", {"core", "cost_models", "calibrate"}},
        {"cli", {"core", "cost_models", "simulator", "planner", "calibrate", "cli"}},
        {"python", {"core", "cli", "python"}},
        {"kernels", {"kernels"}},
    };
    return all;
}

/// A library of others and the folders that may know it. `files`: those whose name ends so may as well.
struct Foreign {
    std::string_view name;
    std::regex include;
    Names folders;
    std::string_view files{};
};

std::vector<Foreign> const& foreign_libraries() {
    static std::vector<Foreign> const all{
        {"nlohmann", std::regex("^nlohmann/.*"), {"core/json"}, "_json.cpp"},
        {"toml++", std::regex("^toml\\+\\+/.*"), {"core/toml"}},
        {"Eigen", std::regex("^(unsupported/)?Eigen/.*"), {"calibrate", "kernels"}},
        {"Ceres", std::regex("^ceres/.*"), {"calibrate"}},
        {"zlib", std::regex("^zlib[.]h$"), {"calibrate"}},
        {"SimGrid", std::regex("^(simgrid|xbt)/.*"), {"simulator"}},
        {"CUDA", std::regex("^(cuda|cublas|cudnn|curand|nvml|nvToolsExt).*"), {"kernels"}},
        {"NCCL", std::regex("^nccl.*"), {"kernels"}},
        {"MPI", std::regex("^mpi.*\\.h$"), {"cli/sweep", "kernels"}},
        {"CLI11", std::regex("^CLI/.*"), {"cli"}},
        // A second or more of the compiler's time in each file: help and configuration files are compiled into whoever
        // sees them.
        {"all of CLI11 (<CLI/App.hpp> will do)", std::regex("^CLI/CLI\\.hpp$"), {}, "cli/shell/described_command.cpp"},
        {"nanobind", std::regex("^(nanobind/.*|Python\\.h)$"), {"python"}},
    };
    return all;
}

bool lies_in(std::string_view path, std::string_view folder) {
    return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

std::string_view first_folder(std::string_view path) {
    auto const slash = path.find('/');
    return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

void check_own_include(Layer const& layer, std::string const& include, std::string const& where,
                       std::vector<std::string>& faults) {
    std::string_view const folder = first_folder(include);
    if (folder.empty()) {
        faults.push_back(where + "\"" + include + "\" is not written from the project's root");
        return;
    }
    bool const ours = std::any_of(layers().begin(), layers().end(), [&](Layer const& l) { return l.folder == folder; });
    bool const allowed =
        std::find(layer.may_include.begin(), layer.may_include.end(), folder) != layer.may_include.end();
    if (ours && !allowed)
        faults.push_back(where + std::string(layer.folder) + " must not include " + std::string(folder) + " (\"" +
                         include + "\")");
    if (!ours) faults.push_back(where + "\"" + include + "\" is in no library folder");
}

void check_foreign_include(std::string_view path, std::string const& include, std::string const& where,
                           std::vector<std::string>& faults) {
    for (Foreign const& foreign : foreign_libraries()) {
        if (!std::regex_match(include, foreign.include)) continue;
        bool const allowed =
            std::any_of(foreign.folders.begin(), foreign.folders.end(), [&](auto f) { return lies_in(path, f); }) ||
            (!foreign.files.empty() && path.ends_with(foreign.files));
        if (!allowed) faults.push_back(where + std::string(foreign.name) + " is not for this file (<" + include + ">)");
    }
}

/// The line without what follows "//", as far as a string literal does not contain it.
std::string code_of(std::string const& line) {
    auto const comment = line.find("//");
    return comment == std::string::npos ? line : line.substr(0, comment);
}

}  // namespace

std::vector<std::string> faults_of(std::string_view path, std::string_view text) {
    std::vector<std::string> faults;
    auto const layer =
        std::find_if(layers().begin(), layers().end(), [&](Layer const& l) { return lies_in(path, l.folder); });
    if (layer == layers().end()) return faults;
    static std::regex const talks(
        R"re(\b(std::cout|std::cerr|std::clog|printf|fprintf|puts|fmt::print|std::exit|std::getenv|getenv)\b)re");
    bool const quiet = layer->folder != "cli" && layer->folder != "kernels";

    std::istringstream lines{std::string(text)};
    int number = 0;
    bool guarded = false;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        std::string const where = std::string(path) + ":" + std::to_string(number) + ": ";
        if (line.starts_with("#pragma once")) guarded = true;
        std::smatch match;
        if (auto const include = include_on(line)) {
            if (include->name.find("../") != std::string::npos) {
                faults.push_back(where + "\"" + include->name + "\" goes upwards");
                continue;
            }
            if (include->is_ours) check_own_include(*layer, include->name, where, faults);
            check_foreign_include(path, include->name, where, faults);
        } else if (std::string const code = code_of(line); quiet && std::regex_search(code, match, talks)) {
            faults.push_back(where + "nothing below cli prints, exits or reads the environment ('" + match.str() +
                             "')");
        }
    }
    if (path.ends_with(".hpp") && !guarded) faults.push_back(std::string(path) + ": header without #pragma once");
    return faults;
}

std::string first_include(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);)
        if (auto const include = include_on(line)) return include->name;
    return {};
}

std::vector<std::string> not_listed(std::string_view list_text, std::vector<std::string> const& names) {
    std::vector<std::string> words;
    std::string word;
    auto const flush = [&] {
        if (!word.empty()) words.push_back(word);
        word.clear();
    };
    bool comment = false;
    for (char const c : list_text) {
        if (c == '\n') comment = false;
        if (c == '#') comment = true;
        if (comment || c == ' ' || c == '\n' || c == '\t' || c == '(' || c == ')' || c == '"')
            flush();
        else
            word += c;
    }
    flush();
    std::sort(words.begin(), words.end());
    std::vector<std::string> missing;
    for (std::string const& name : names)
        if (!std::binary_search(words.begin(), words.end(), name)) missing.push_back(name);
    return missing;
}

std::vector<std::string> files_below(std::filesystem::path const& folder, std::string_view extension) {
    std::vector<std::string> files;
    if (!std::filesystem::is_directory(folder)) return files;
    for (auto const& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_regular_file() && entry.path().extension() == extension)
            files.push_back(std::filesystem::relative(entry.path(), folder).generic_string());
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<std::string> sources_below(std::filesystem::path const& folder) {
    std::vector<std::string> files = files_below(folder, ".cpp");
    std::vector<std::string> const headers = files_below(folder, ".hpp");
    files.insert(files.end(), headers.begin(), headers.end());
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<std::string> relative_links(std::string const& markdown) {
    static std::regex const link(R"re(\]\(([^)#:\s]+)(#[^)]*)?\))re");
    std::vector<std::string> targets;
    for (std::sregex_iterator at(markdown.begin(), markdown.end(), link), end; at != end; ++at)
        targets.push_back((*at)[1]);
    return targets;
}

std::string read_text(std::filesystem::path const& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw std::runtime_error("cannot read " + file.string());
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace sextant::layers
