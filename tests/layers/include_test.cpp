// Each file includes what it uses, which the compiler cannot tell where headers are read once for all.
#include "tests/catch.hpp"
#include "tests/layers/include_rules.hpp"
#include "tests/layers/layer_rules.hpp"

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

using namespace sextant::layers;

namespace {

std::filesystem::path const root = SEXTANT_SOURCE_DIR;

std::string text_of(std::string const& path) {
    static std::map<std::string, std::string> read;
    auto const [at, is_new] = read.try_emplace(path);
    if (is_new && std::filesystem::exists(root / path)) at->second = read_text(root / path);
    return at->second;
}

}  // namespace

TEST_CASE("every file includes the headers whose names it uses, itself or by what it includes", "[INV-1]") {
    std::size_t seen = 0;
    for (char const* folder : {"core", "cost_models", "simulator", "planner", "calibrate", "cli", "python", "tests"})
        for (std::string const& file : sources_below(root / folder)) {
            ++seen;
            std::string const path = std::string(folder) + "/" + file;
            for (std::string const& header : missing_includes(text_of(path), included_by(path, text_of)))
                FAIL_CHECK(path << ": uses names of <" << header << ">: #include <" << header << ">");
        }
    CHECK(seen > 500);
}

TEST_CASE("the names of every header that is read once are known", "[INV-1]") {
    std::string const list = text_of("cmake/precompile.cmake");
    std::regex const bracketed("<([\\w./]+)>");
    std::set<std::string> headers;
    for (std::sregex_iterator at(list.begin(), list.end(), bracketed), end; at != end; ++at) {
        headers.insert((*at)[1]);
        INFO((*at)[1]);
        CHECK(names_are_known((*at)[1].str()));
    }
    CHECK(headers.contains("vector"));
    CHECK(headers.contains("fmt/format.h"));
    CHECK_FALSE(names_are_known("thread"));
}

TEST_CASE("a header counts as included through files of the project, and what is missing is found", "[INV-1]") {
    std::map<std::string, std::string> const files{
        {"a.cpp", "#include \"a.hpp\"\n  # include <map>  // why\n"},
        {"a.hpp", "#include \"b.hpp\"\n// #include <set>\n"},
        {"b.hpp", "#include \"a.hpp\"\n#include <vector>\n"},
    };
    auto const read = [&](std::string const& path) { return files.contains(path) ? files.at(path) : std::string(); };
    CHECK(included_by("a.cpp", read) == std::set<std::string>{"map", "vector"});
    CHECK(included_by("none.cpp", read).empty());

    CHECK(missing_includes("std::vector<std::map<int, std::set<int>>> v;", {"map", "vector"}) ==
          std::set<std::string>{"set"});
    CHECK(missing_includes("std::ranges::sort(x); y = fmt::format(\"{}\", z);", {}) ==
          std::set<std::string>{"algorithm", "fmt/format.h"});
    CHECK(missing_includes("f(\"std::vector\");  // std::optional\nmy_std::sort(x);", {}).empty());
    CHECK(missing_includes("std::string_view s;", {"string"}).empty());
    CHECK(missing_includes("std::string_view s;", {"span"}) == std::set<std::string>{"string_view"});
}
