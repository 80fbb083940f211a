#include "tests/catch.hpp"
#include "tests/layers/layer_rules.hpp"

#include <string>

using namespace sextant::layers;

namespace {

std::filesystem::path const root = SEXTANT_SOURCE_DIR;
char const* const libraries[] = {"core", "cost_models", "simulator", "planner", "calibrate", "cli", "python"};

}  // namespace

TEST_CASE("every source keeps to the layers", "[INV-1]") {
    std::size_t seen = 0;
    for (char const* folder :
         {"core", "cost_models", "simulator", "planner", "calibrate", "cli", "python", "kernels"}) {
        for (std::string const& file : sources_below(root / folder)) {
            ++seen;
            for (std::string const& fault :
                 faults_of(std::string(folder) + "/" + file, read_text(root / folder / file)))
                FAIL_CHECK(fault);
        }
    }
    CHECK(seen > 50);  // the walk found the project
}

TEST_CASE("every source includes its own header first, so that the header is known to compile alone", "[INV-1]") {
    std::size_t seen = 0;
    for (char const* folder : libraries)
        for (std::string const& file : files_below(root / folder, ".cpp")) {
            std::string const header = std::string(folder) + "/" + file.substr(0, file.size() - 4) + ".hpp";
            if (!std::filesystem::exists(root / header)) continue;
            ++seen;
            INFO(folder << "/" << file);
            CHECK(first_include(read_text(root / folder / file)) == header);
        }
    CHECK(seen > 100);
}

TEST_CASE("the first include of a text is found behind comments, and none where there is none", "[INV-1]") {
    CHECK(first_include("// #include \"a.hpp\"\n\n  #  include <vector>  // why\n#include \"b.hpp\"\n") == "vector");
    CHECK(first_include("int main() {}\n").empty());
}

TEST_CASE("every source is in the CMake list of its library", "[INV-1]") {
    for (char const* folder : libraries) {
        if (!std::filesystem::exists(root / folder)) continue;
        std::string const list = read_text(root / folder / "CMakeLists.txt");
        for (std::string const& file : not_listed(list, sources_below(root / folder)))
            FAIL_CHECK(folder << "/" << file << " is not in " << folder << "/CMakeLists.txt");
    }
}

TEST_CASE("every test file is in the CMake list of its folder", "[INV-1]") {
    for (auto const& entry : std::filesystem::directory_iterator(root / "tests")) {
        if (!entry.is_directory() || !std::filesystem::exists(entry.path() / "CMakeLists.txt")) continue;
        std::vector<std::string> sources = files_below(entry.path(), ".cpp");
        std::erase_if(sources, [](std::string const& name) { return !name.ends_with("_test.cpp"); });
        for (std::string const& file : not_listed(read_text(entry.path() / "CMakeLists.txt"), sources))
            FAIL_CHECK(entry.path().filename().string() << "/" << file << " is not in its CMakeLists.txt");
    }
}

TEST_CASE("every model, profile and scaling law is in its catalog", "[INV-1]") {
    for (char const* folder : {"models", "hardware_profiles", "scaling_laws"}) {
        std::vector<std::string> names = files_below(root / folder, ".json");
        for (std::string& name : names)
            name = std::string(folder) + "/" + name;
        // What came of a measurement ships as files beside its rows.
        std::erase_if(names, [](std::string const& name) { return name.find("/measurements/") != std::string::npos; });
        for (std::string const& file : not_listed(read_text(root / folder / "catalog.cmake"), names))
            FAIL_CHECK(file << " is not in " << folder << "/catalog.cmake");
    }
}

TEST_CASE("every folder of sources is in the table of the architecture", "[INV-1]") {
    std::string const page = read_text(root / "docs/architecture.md");
    std::size_t seen = 0;
    for (char const* library : {"core", "cost_models", "simulator", "planner", "calibrate", "cli", "kernels"})
        for (auto const& entry : std::filesystem::recursive_directory_iterator(root / library)) {
            std::string const folder = std::filesystem::relative(entry.path(), root).generic_string();
            if (!entry.is_directory() || sources_below(entry.path()).empty()) continue;
            ++seen;
            INFO(folder);
            CHECK(page.find("`" + folder + "`") != std::string::npos);
        }
    CHECK(seen > 40);
}

TEST_CASE("every link in the documentation leads to a file", "[INV-1]") {
    std::vector<std::filesystem::path> pages{root / "README.md"};
    for (std::string const& page : files_below(root / "docs", ".md"))
        pages.push_back(root / "docs" / page);
    std::size_t links = 0;
    for (auto const& page : pages)
        for (std::string const& target : relative_links(read_text(page))) {
            ++links;
            INFO(page.string() << " links to " << target);
            CHECK(std::filesystem::exists(page.parent_path() / target));
        }
    CHECK(links > 5);
}

TEST_CASE("links are found, but for those to other sites and within a page", "[INV-1]") {
    CHECK(relative_links("see [a](a.md), [b](docs/b.md#part) and [c](https://example.org/c.md) or [d](#d).") ==
          std::vector<std::string>{"a.md", "docs/b.md"});
}

TEST_CASE("planted violations of the layers are found", "[INV-1]") {
    auto const [path, line] = GENERATE(table<char const*, char const*>({
        {"core/a.cpp", "#include \"cost_models/kernel_time.hpp\""},
        {"core/a.cpp", "#include \"cli/view/table.hpp\""},
        {"cost_models/a.cpp", "#include \"simulator/closed_form.hpp\""},
        {"simulator/a.cpp", "  #  include \"planner/search.hpp\""},
        {"planner/a.cpp", "#include \"cli/command.hpp\""},
        {"planner/a.cpp", "#include \"calibrate/fit.hpp\""},
        {"calibrate/a.cpp", "#include \"simulator/closed_form.hpp\""},
        {"kernels/a.cpp", "#include \"core/units.hpp\""},
        {"core/a.cpp", "#include \"units.hpp\""},
        {"core/graph/a.cpp", "#include \"../units.hpp\""},
        {"core/a.cpp", "#include \"tests/fixtures.hpp\""},
        {"core/spec/a.cpp", "#include <nlohmann/json.hpp>"},
        {"cli/output.cpp", "#include <nlohmann/json.hpp>"},
        {"planner/a.cpp", "#include <Eigen/Dense>"},
        {"planner/a.cpp", "#include <ceres/ceres.h>"},
        {"core/a.cpp", "#include <zlib.h>"},
        {"planner/a.cpp", "#include <simgrid/s4u.hpp>"},
        {"cost_models/a.cpp", "#include <cuda_runtime.h>"},
        {"simulator/a.cpp", "#include <nccl.h>"},
        {"core/a.cpp", "#include <CLI/App.hpp>"},
        {"cli/a.cpp", "#include <CLI/CLI.hpp>"},
        {"cli/a.cpp", "#include <nanobind/nanobind.h>"},
        {"cli/a.cpp", "#include \"python/call.hpp\""},
        {"python/a.cpp", "#include \"planner/search.hpp\""},
        {"cli/a.cpp", "#include <mpi.h>"},
        {"core/a.cpp", "    std::cout << 1;"},
        {"simulator/a.cpp", "    if (bad) std::exit(1);"},
        {"core/a.cpp", "    auto home = std::getenv(\"HOME\");"},
        {"core/a.hpp", "struct A {};"},
    }));
    INFO(path << ": " << line);
    CHECK(faults_of(path, line).size() == 1);
}

TEST_CASE("what the layers allow is not called a violation", "[INV-1]") {
    auto const [path, line] = GENERATE(table<char const*, char const*>({
        {"core/a.cpp", "#include \"core/units.hpp\""},
        {"core/json/a.cpp", "#include <nlohmann/json.hpp>"},
        {"planner/plan_json.cpp", "#include <nlohmann/json.hpp>"},
        {"simulator/a.cpp", "#include <simgrid/s4u.hpp>"},
        {"calibrate/a.cpp", "#include <ceres/ceres.h>"},
        {"calibrate/a.cpp", "#include \"cost_models/kernel_time.hpp\""},
        {"cli/a.cpp", "#include <CLI/App.hpp>"},
        {"cli/shell/described_command.cpp", "#include <CLI/CLI.hpp>"},
        {"python/a.cpp", "#include <nanobind/nanobind.h>"},
        {"python/a.cpp", "#include \"cli/run.hpp\""},
        {"cli/a.cpp", "#include \"planner/search.hpp\""},
        {"cli/a.cpp", "std::cerr << message;"},
        {"kernels/a.cpp", "#include <cuda_runtime.h>"},
        {"core/a.cpp", "int n = 0;  // never std::cout here"},
        {"core/a.hpp", "#pragma once"},
        {"tests/core/a.cpp", "#include \"planner/search.hpp\""},
    }));
    INFO(path << ": " << line);
    CHECK(faults_of(path, line).empty());
}

TEST_CASE("a file that a CMake list forgets, or only mentions in a comment, is named", "[INV-1]") {
    std::string const list = "sextant_library(core\n  SOURCES a.cpp json/b.cpp  # c.cpp\n  HEADERS a.hpp)\n";
    CHECK(not_listed(list, {"a.cpp", "json/b.cpp", "a.hpp"}).empty());
    CHECK(not_listed(list, {"b.cpp", "c.cpp", "a.cp"}) == std::vector<std::string>{"b.cpp", "c.cpp", "a.cp"});
}
