#include "cli/run.hpp"

#include "cli/command.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

using namespace sextant::cli;

TEST_CASE("--help, -h and help print the same overview with every command") {
    auto const overview = run_sextant({"--help"});
    CHECK(overview.code == 0);
    CHECK(overview.err.empty());
    CHECK(run_sextant({"-h"}).out == overview.out);
    CHECK(run_sextant({"help"}).out == overview.out);
    for (auto const* entry : command_catalog())
        CHECK_THAT(overview.out, contains(std::string("  ") + entry->name + " "));
}

TEST_CASE("--version prints one line") {
    auto const result = run_sextant({"--version"});
    CHECK(result.code == 0);
    CHECK_THAT(result.out, contains("sextant "));
    CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 1);
}

TEST_CASE("an unknown command is refused with the nearest one, on stderr only") {
    auto const result = run_sextant({"hardwear"});
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, contains("sextant: error: hardwear: unknown command; did you mean 'hardware'?"));
    CHECK(run_sextant({"help", "hardwear"}).code == 2);
    CHECK_THAT(run_sextant({"--modle"}).err, contains("option before the command"));
    CHECK(run_sextant({""}).code == 2);
}

TEST_CASE("an unknown option is refused with the nearest one") {
    auto const result = run_sextant({"hardware", "--fromat", "json"});
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, contains("unknown option '--fromat'; did you mean '--format'?"));
    CHECK_THAT(result.err, contains("see 'sextant hardware --help'"));
}

TEST_CASE("an option without its value and a word too many are refused") {
    CHECK(run_sextant({"hardware", "--format"}).code == 2);
    CHECK(run_sextant({"hardware", "shwo", "l40s"}).code == 2);
    CHECK_THAT(run_sextant({"hardware", "shwo"}).err, contains("did you mean 'show'"));
    CHECK_THAT(run_sextant({"scaling", "ft"}).err, contains("unknown subcommand 'ft'; did you mean 'fit'?"));
    CHECK_THAT(run_sextant({"trials"}).err, contains("a subcommand is needed (budget, "));
    CHECK_THAT(run_sextant({"scaling", "fit", "--nothing"}).err, contains("see 'sextant scaling fit --help'"));
}

TEST_CASE("each command's help exits 0, names its options and has an example") {
    for (auto const* entry : command_catalog()) {
        INFO(entry->name);
        auto const result = run_sextant({entry->name, "--help"});
        CHECK(result.code == 0);
        CHECK(result.err.empty());
        CHECK_THAT(result.out, contains("Example"));
        CHECK_THAT(result.out, !contains("{false}"));
        CHECK_THAT(result.out, contains(std::string("sextant ") + entry->name));
        CHECK(run_sextant({"help", entry->name}).out == result.out);
    }
}

TEST_CASE("each command_<name>.cpp below cli/ is in the catalog, and each command of the catalog has such a file") {
    std::set<std::string> files;
    for (auto const& file : std::filesystem::recursive_directory_iterator(SEXTANT_SOURCE_DIR "/cli")) {
        auto const stem = file.path().stem().string();
        if (file.path().extension() != ".cpp" || !stem.starts_with("command_") || stem == "command_catalog") continue;
        auto name = stem.substr(std::string("command_").size());
        std::replace(name.begin(), name.end(), '_', '-');
        files.insert(name);
    }
    files.erase("tree");  // shell/command_tree*.cpp: the commands as data
    files.erase("tree-json");
    std::set<std::string> names;
    for (auto const* entry : command_catalog())
        names.insert(entry->name);
    CHECK(files == names);
}

TEST_CASE("a report that cannot be written is an error, not a silent success") {
    std::ostringstream out;
    std::ostringstream err;
    out.setstate(std::ios::badbit);
    char const* const argv[] = {"sextant", "hardware"};
    CHECK(run(2, argv, out, err) == 2);
    CHECK_THAT(err.str(), contains("could not be written"));
}
