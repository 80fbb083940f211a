#include "core/json/text_file.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

namespace {

/// A file of its own for one test, removed at the end.
class ScratchFile {
public:
    explicit ScratchFile(std::string const& name)
        : path_((std::filesystem::temp_directory_path() / ("sextant_" + std::to_string(::getpid()) + "_" + name))
                    .string()) {}
    ~ScratchFile() { std::filesystem::remove(path_); }
    ScratchFile(ScratchFile const&) = delete;
    ScratchFile& operator=(ScratchFile const&) = delete;
    [[nodiscard]] std::string const& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace

TEST_CASE("hardware lists accelerators, clusters and frameworks and no line ends in a space") {
    auto const result = run_sextant({"hardware"});
    REQUIRE(result.code == 0);
    for (auto const* name : {"h100-sxm", "tpu-v5p", "gaudi2", "gb200-nvl72", "aws-p5", "megatron"})
        CHECK_THAT(result.out, contains(name));
    CHECK(result.out.find(" \n") == std::string::npos);
    CHECK(run_sextant({"hardware"}).out == result.out);
}

TEST_CASE("hardware --format csv has as many cells in each line as in its header") {
    auto const result = run_sextant({"hardware", "--format", "csv"});
    REQUIRE(result.code == 0);
    std::istringstream lines(result.out);
    std::string line;
    int count = 0;
    while (std::getline(lines, line)) {
        int commas = 0;
        bool quoted = false;
        for (char const c : line) {
            if (c == '"') quoted = !quoted;
            if (c == ',' && !quoted) ++commas;
        }
        INFO(line);
        CHECK(commas == 10);
        ++count;
    }
    CHECK(count > 38 + 40);
}

TEST_CASE("hardware --format json carries each value in base units with basis and source") {
    auto const result = run_sextant({"hardware", "show", "h100-sxm", "--format", "json"});
    REQUIRE(result.code == 0);
    auto const report = nlohmann::json::parse(result.out);
    CHECK(report.at("format") == "hardware");
    CHECK(report.at("version") == 1);
    CHECK(report.at("cluster").at("domain_size") == 8);
    CHECK(report.at("cluster").at("scale_out_topology") == "rail-optimised");
    bool found = false;
    for (auto const& value : report.at("accelerator").at("values")) {
        CHECK_FALSE(value.at("basis").get<std::string>().empty());
        CHECK_FALSE(value.at("source").get<std::string>().empty());
        if (value.at("key") != "memory_bandwidth") continue;
        found = true;
        CHECK(value.at("value").get<double>() == Approx(3.35e12));
        CHECK(value.at("unit") == "B/s");
        CHECK(value.at("basis") == "datasheet");
    }
    CHECK(found);
    CHECK(nlohmann::json::parse(run_sextant({"hardware", "--format", "json"}).out).at("accelerators").size() >= 38);
}

TEST_CASE("hardware show finds clusters, accelerators and frameworks under the names that devices report") {
    CHECK_THAT(run_sextant({"hardware", "show", "NVIDIA A100-SXM4-80GB"}).out, contains("Accelerator a100-sxm-80gb"));
    CHECK_THAT(run_sextant({"hardware", "show", "nvl72"}).out, contains("Cluster gb200-nvl72"));
    CHECK_THAT(run_sextant({"hardware", "show", "NeMo"}).out, contains("Framework megatron"));
    CHECK_THAT(run_sextant({"hardware", "show", "tpu-v5p"}).out, contains("torus 16 x 20 x 28"));
    CHECK_THAT(run_sextant({"hardware", "show", "gh200"}).out, contains("scale-out: slingshot (dragonfly)"));
}

TEST_CASE("hardware show lists of a framework's entries what differs, and how many measured steps are behind each") {
    auto const text = run_sextant({"hardware", "show", "megatron"}).out;
    CHECK_THAT(text, contains("measured steps behind the entries: "));
    CHECK_THAT(text, contains("timing[*/*].gradient_bytes_sent"));
    CHECK_THAT(text, contains("timing[hopper/fp8].gemm_scale"));
    CHECK_THAT(text, !contains("timing[hopper/fp8].gradient_bytes_sent"));
    auto const json = nlohmann::json::parse(run_sextant({"hardware", "show", "megatron", "--format", "json"}).out);
    auto const& entries = json.at("framework").at("timing");
    CHECK(entries.at(0).at("steps").is_null());
    CHECK(entries.at(1).at("steps").is_number());
    for (auto const& entry : entries)
        CHECK(entry.at("values").size() >= 20);
}

TEST_CASE("hardware show of one's own file has the network that every command takes") {
    ScratchFolder const folder("hardware_own");
    std::string const file = folder.file("own.json", R"({
        "format": "cluster", "version": 1, "name": "own", "accelerator": "h100-sxm", "domain_size": 8,
        "scale_up": {"kind": "switched", "bandwidth": "450 GB/s"},
        "scale_out": {"kind": "roce", "bandwidth": "200 Gbit/s"}, "host_memory": "256 GB"})");
    auto const json = nlohmann::json::parse(run_sextant({"hardware", "show", file, "--format", "json"}).out);
    auto const cluster = sextant::find_cluster(file, "--cluster");
    bool found = false;
    for (auto const& value : json.at("cluster").at("values")) {
        if (value.at("key") != "scale_out.ring_efficiency") continue;
        found = true;
        CHECK(value.at("value").get<double>() == cluster.scale_out->ring_efficiency.value);
    }
    CHECK(found);
}

TEST_CASE("hardware show refuses an unknown name, format and file, and prints no report") {
    auto const name = run_sextant({"hardware", "show", "h100-sxn"});
    CHECK(name.code == 2);
    CHECK(name.out.empty());
    CHECK_THAT(name.err, contains("unknown name 'h100-sxn'; did you mean 'h100-sxm'?"));
    auto const format = run_sextant({"hardware", "--format", "jsn"});
    CHECK(format.code == 2);
    CHECK(format.out.empty());
    CHECK_THAT(format.err, contains("did you mean 'json'"));
    CHECK_THAT(run_sextant({"hardware", "show", "no_such_file.json"}).err,
               contains("no_such_file.json: cannot be opened"));
    CHECK_THAT(run_sextant({"hardware", "show"}).err, contains("name is required"));
}

TEST_CASE("hardware show checks a cluster file of the user's own") {
    ScratchFile const file("cluster.json");
    std::string const text =
        R"({"format": "cluster", "version": 1, "name": "mine", "accelerator": "l40s", "domain_size": 4,
        "scale_up": {"kind": "pcie", "bandwidth": "31.5 GB/s"}, "host_memory": "128 GB"})";
    sextant::write_text_file(file.path(), text);
    auto const good = run_sextant({"hardware", "show", file.path()});
    CHECK(good.code == 0);
    CHECK_THAT(good.out, contains("Cluster mine"));
    CHECK_THAT(good.out, contains("scale-out: none"));

    for (std::size_t length = 0; length < text.size(); length += 7) {  // cut anywhere: an error, never a crash
        sextant::write_text_file(file.path(), text.substr(0, length));
        CHECK(run_sextant({"hardware", "show", file.path()}).code == 2);
    }
}

TEST_CASE("--output writes the report to the file and nothing to standard output, and an error writes no file") {
    ScratchFile const file("report.csv");
    auto const plain = run_sextant({"hardware", "--format", "csv"});
    auto const result = run_sextant({"hardware", "--format", "csv", "--output", file.path()});
    CHECK(result.code == 0);
    CHECK(result.out.empty());
    CHECK(sextant::read_text_file(file.path()) == plain.out);

    ScratchFile const unwritten("unwritten.txt");
    CHECK(run_sextant({"hardware", "show", "nothing-like-it", "--output", unwritten.path()}).code == 2);
    CHECK_FALSE(std::filesystem::exists(unwritten.path()));
    CHECK(run_sextant({"hardware", "--output", "/no/such/folder/report.txt"}).code == 2);
    auto const empty = run_sextant({"hardware", "--output", ""});
    CHECK(empty.code == 2);
    CHECK(empty.out.empty());
}
