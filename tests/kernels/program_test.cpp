// The host backend for real: the program's own entry, writing files, on whatever machine this is.
#include "kernels/program.hpp"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "kernels/harness/row_file.hpp"
#include "kernels/host/catalog.hpp"
#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

struct OutFile {
    std::string path;
    explicit OutFile(std::string const& name)
        : path((std::filesystem::temp_directory_path() / ("sextant_bench_" + std::to_string(getpid()) + "_" + name))
                   .string()) {
        std::filesystem::remove(path);
    }
    ~OutFile() { std::filesystem::remove(path); }
};

std::string text_of(std::filesystem::path const& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("host backend: a quick run gives right results and times for every benchmark, and resumes", "[program]") {
#ifdef __SANITIZE_ADDRESS__
    std::vector<std::string> const benches{"copies", "collectives", "launch"};  // the others take a minute so
#else
    std::vector<std::string> benches;
    for (Bench const* bench : host_catalog())
        benches.emplace_back(bench->name);
#endif
    std::string list;
    for (std::string const& name : benches)
        list += (list.empty() ? "" : ",") + name;
    OutFile const out("quick.csv");
    std::vector<std::string> arguments{"--backend", "host", "--quick", "--bench", list, "--out", out.path};
    REQUIRE(run_program(arguments) == 0);
    std::map<std::string, int> of_bench;
    for (Row const& row : read_row_file(out.path, FileFormat::csv)) {
        ++of_bench[row.bench];
        INFO(csv_line(row));
        CHECK_FALSE(failed(row));
        CHECK(row.backend == "host");
        CHECK_FALSE(row.device.empty());
        if (row.bench == "accuracy") continue;
        CHECK(row.max_rel_error < 1e-4);
        CHECK(row.median_us > 0);
        CHECK(row.p10_us <= row.median_us);
        CHECK(row.median_us <= row.p90_us);
        CHECK(row.repeats >= 1);
    }
    for (std::string const& name : benches)
        CHECK(of_bench[name] > 0);

    auto const size = std::filesystem::file_size(out.path);
    CHECK(run_program(arguments) == 2);  // would mix two runs
    arguments.emplace_back("--resume");
    CHECK(run_program(arguments) == 0);
    CHECK(std::filesystem::file_size(out.path) == size);
}

TEST_CASE("host backend: JSON lines name every column", "[program]") {
    OutFile const out("launch.jsonl");
    REQUIRE(run_program({"--backend", "host", "--bench", "launch", "--out", out.path, "--format", "jsonl"}) == 0);
    auto const rows = read_row_file(out.path, FileFormat::jsonl);
    CHECK(rows.size() == 3);
    std::string const text = text_of(out.path);
    for (Column const& column : columns())
        CHECK(text.find("\"" + std::string(column.name) + "\": ") != std::string::npos);
}

TEST_CASE("accuracy: e4m3 without scaling loses small gradients, and scaling by tensor saves them", "[program]") {
    OutFile const out("accuracy.csv");
    REQUIRE(run_program({"--backend", "host", "--bench", "accuracy", "--out", out.path}) == 0);
    std::map<std::string, std::string> note;
    for (Row const& row : read_row_file(out.path, FileFormat::csv))
        note[row.kernel + " " + row.dtype] = row.note;
    auto const count = [&](std::string const& key, std::string const& name) {
        std::smatch match;
        std::string const& text = note.at(key);
        REQUIRE(std::regex_search(text, match, std::regex(name + "=([-0-9.e+]+)")));
        return std::stod(match[1]);
    };
    CHECK(count("quantise/normal_1e-5/none e4m3", "underflow") > 0.9 * 256 * 1024);
    CHECK(count("quantise/normal_1e-5/per_tensor e4m3", "underflow") < 0.01 * 256 * 1024);
    CHECK(count("quantise/normal_1e-5/per_tensor e4m3", "overflow") == 0);
    CHECK(count("quantise/outliers/none e4m3", "overflow") > 0);
    // One more bit of mantissa halves the error of what is in range.
    CHECK(count("quantise/normal/per_row e5m2", "rms_error") / count("quantise/normal/per_row e4m3", "rms_error") ==
          Approx(2).epsilon(0.1));
    CHECK(count("dot/normal/none bf16", "rms_error") < count("dot/normal/none e4m3", "rms_error") / 4);
}

TEST_CASE("program: exit codes say what is wrong", "[program]") {
    CHECK(run_program({"--help"}) == 0);
    CHECK(run_program({"--backend", "host", "--list"}) == 0);
    CHECK(run_program({"--backend", "host", "--dry-run"}) == 0);
    CHECK(run_program({"--no-such-option"}) == 2);
    CHECK(run_program({"--backend", "host", "--bench", "no_such_bench"}) == 2);
    CHECK(run_program({"--backend", "cuda"}) == 3);  // this test program has no CUDA in it
}

TEST_CASE("catalogs: every benchmark that a file defines is in its catalog and in the build", "[program]") {
    std::string const backend = GENERATE(values<std::string>({"host", "cuda"}));
    std::filesystem::path const kernels = std::filesystem::path(SEXTANT_SOURCE_DIR) / "kernels";
    std::string const catalog = text_of(kernels / backend / "catalog.cpp");
    std::string const build = text_of(backend == "host" ? kernels / "CMakeLists.txt" : kernels / "cuda/CMakeLists.txt");
    std::regex const definition(R"(extern constinit Bench const (\w+)\{)");
    int found = 0;
    for (auto const& entry : std::filesystem::directory_iterator(kernels / backend)) {
        std::string const extension = entry.path().extension().string();
        if (extension != ".cpp" && extension != ".cu") continue;
        CHECK_THAT(build, contains(entry.path().filename().string()));
        std::string const text = text_of(entry.path());
        for (std::sregex_iterator at(text.begin(), text.end(), definition), end; at != end; ++at) {
            ++found;
            CHECK_THAT(catalog, contains("&" + (*at)[1].str() + ","));
        }
    }
    CHECK(found >= 6);
}

TEST_CASE("catalog: names are unique, and every problem of every benchmark has a key of its own", "[program]") {
    std::set<std::string> names;
    Effort const effort = GENERATE(Effort::quick, Effort::full);
    Scope scope;
    scope.effort = effort;
    for (Bench const* bench : host_catalog()) {
        CHECK(names.insert(bench->name).second);
        CHECK(std::string(bench->summary).size() > 10);
        std::set<std::string> keys;
        for (Problem const& problem : bench->problems(scope))
            for (Variant const variant : problem.variants) {
                Row const row = blank_row(host_machine(), *bench, problem, variant);
                INFO(resume_key(row));
                CHECK(keys.insert(resume_key(row)).second);
            }
    }
}

}  // namespace sextant::bench
