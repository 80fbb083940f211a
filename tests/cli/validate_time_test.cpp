#include "core/csv.hpp"
#include "core/json/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace {

struct Kind {
    char const* name;
    char const* excerpt;
    char const* column;
};

Kind const kinds[] = {
    {"kernels", SEXTANT_SOURCE_DIR "/tests/data/gemm_excerpt.csv", "pred_latency_us"},
    {"kernels", SEXTANT_SOURCE_DIR "/tests/data/attention_excerpt.csv", "pred_latency_us"},
    {"collectives", SEXTANT_SOURCE_DIR "/tests/data/collectives_excerpt.csv", "pred_time_us"},
};

}  // namespace

TEST_CASE("validate kernels and collectives: the JSON report adds up and has no memory") {
    for (Kind const& kind : kinds) {
        RunResult const run = run_sextant({"validate", kind.name, kind.excerpt, "--format", "json"});
        REQUIRE(run.code == 0);
        auto const json = nlohmann::json::parse(run.out);
        CHECK(json.at("format") == std::string(kind.name) + "-validation");
        CHECK(json.at("interval").at("basis").get<std::string>().find("80 % interval of a predicted time") !=
              std::string::npos);
        std::size_t n = 0;
        std::size_t scored = 0;
        for (auto const& source : json.at("sources")) {
            n += source.at("n").get<std::size_t>();
            scored += source.at("time").at("n").get<std::size_t>();
            CHECK_FALSE(source.contains("memory"));
            CHECK_FALSE(source.contains("oom"));
            std::size_t reasons = 0;
            for (auto const& reason : source.at("skip_reasons"))
                reasons += reason.at("rows").get<std::size_t>();
            CHECK(reasons == source.at("skipped").get<std::size_t>());
        }
        CHECK(n == json.at("overall").at("n").get<std::size_t>());
        CHECK(scored == json.at("overall").at("time").at("n").get<std::size_t>());
        CHECK(scored > 50);
    }
}

TEST_CASE("validate kernels and collectives: --rows appends the prediction or the reason to every input row") {
    ScratchFolder const scratch("validate_time");
    for (Kind const& kind : kinds) {
        std::string const out = scratch.path("rows.csv");
        REQUIRE(run_sextant({"validate", kind.name, kind.excerpt, "--rows", out}).code == 0);
        sextant::CsvTable const input = sextant::read_csv(kind.excerpt);
        sextant::CsvTable const rows = sextant::read_csv(out);
        auto const added = rows.require({kind.column, "pred_low", "pred_high", "skip_reason"});
        CHECK(added.front() == input.header.size());
        REQUIRE(rows.records.size() == input.records.size());
        for (std::size_t i = 0; i < rows.records.size(); ++i) {
            auto const& cells = rows.records[i].cells;
            CHECK(std::equal(input.records[i].cells.begin(), input.records[i].cells.end(), cells.begin()));
            CHECK(cells[added[0]].empty() == !cells[added[3]].empty());
            if (cells[added[0]].empty()) continue;
            CHECK(std::stod(cells[added[1]]) < std::stod(cells[added[0]]));
            CHECK(std::stod(cells[added[0]]) < std::stod(cells[added[2]]));
        }
    }
}

TEST_CASE("validate kernels and collectives: bad input is one sentence with file and row, and nothing is written") {
    ScratchFolder const scratch("validate_time_bad");
    std::string const out = scratch.path("rows.csv");
    auto const fails = [&](char const* kind, std::string const& text, std::string const& expected) {
        std::string const bad = scratch.file("bad.csv", text);
        RunResult const run = run_sextant({"validate", kind, bad, "--rows", out});
        CHECK(run.code == 2);
        CHECK(run.out.empty());
        CHECK_THAT(run.err, contains(expected));
        CHECK_FALSE(std::filesystem::exists(out));
    };
    std::string const products = "source_ref,device,kernel_source,dtype,m,n,k,latency_us\n";
    fails("kernels", "", "empty");
    fails("kernels", "a,b\n1,2\n", "no table of kernel times");
    fails("kernels", "m,n\n1,2\n", "the header lacks");
    fails("kernels", products + "s,NVIDIA H200,x,fp8_block,8,-8,8,1\ns,NVIDIA H200,x,fp8_block,8,8,x,1\n",
          "no row can be read: n is negative (bad.csv line 2: '-8')");
    fails("collectives", "gpu,nodes,gpus_per_node,collective,size_bytes\nL40S,1,8,all_reduce,big\n",
          "no row can be read: size_bytes is not a number (bad.csv line 2: 'big')");
    fails("serving", "model,gpu,tp\nllama-3.1-8b,H100,two\n", "no row can be read: tp is not a number");
    fails("collectives", "a,b\n1,2\n", "the header lacks");
    fails("collectives", sextant::read_text_file(kinds[0].excerpt), "the header lacks");
    fails("collectives", "# nThread 1 nGpus 8 minBytes 8\n#\n",
          "is of nccl-tests, no table yet (sextant calibrate import");
    fails("collectives", "# OSU MPI-CUDA Allreduce Latency Test v7.3\n8 28.2\n", "is of OSU micro-benchmarks (");
    for (char const* kind : {"kernels", "collectives"}) {
        CHECK(run_sextant({"validate", kind, scratch.path("missing.csv")}).code == 2);
        CHECK(run_sextant({"validate", kind}).code == 2);
        CHECK(run_sextant({"validate", kind, kinds[0].excerpt, "--profile", "no-such-profile"}).code == 2);
    }
}

TEST_CASE("validate kernels and collectives: a cell that cannot be read costs its row, and the report says which") {
    ScratchFolder const scratch("validate_time_cells");
    std::string const row = "s,NVIDIA H200,x,bfloat16,4096,4096,4096,";
    std::string const file = scratch.file("few.csv", "source_ref,device,kernel_source,dtype,m,n,k,latency_us\n" + row +
                                                         "200\n" + row + "fast\n" + row + "slow\n");
    RunResult const run = run_sextant({"validate", "kernels", file});
    CHECK(run.code == 0);
    CHECK_THAT(run.out, contains("2  latency_us is not a number (few.csv line 3: 'fast')"));
    CHECK_THAT(run.out, contains("overall"));
}

TEST_CASE("validate kernels and collectives: --profile replaces the hardware, --max-median decides the exit code") {
    for (Kind const& kind : kinds) {
        auto const usual = run_sextant({"validate", kind.name, kind.excerpt, "--format", "csv"}).out;
        CHECK(run_sextant({"validate", kind.name, kind.excerpt, "--format", "csv", "--profile", "l40s"}).out != usual);
        CHECK(run_sextant({"validate", kind.name, kind.excerpt, "--max-median", "0.01"}).code == 1);
        CHECK(run_sextant({"validate", kind.name, kind.excerpt, "--max-median", "99"}).code == 0);
    }
}

TEST_CASE("validate kernels and collectives: every format names the sources and the interval") {
    for (Kind const& kind : kinds)
        for (char const* format : {"text", "csv", "markdown"}) {
            RunResult const run = run_sextant({"validate", kind.name, kind.excerpt, "--format", format});
            CHECK(run.code == 0);
            CHECK_THAT(run.out, contains("overall"));
            CHECK_THAT(run.out, contains("aiconfigurator"));
            std::string words = run.out;
            std::replace(words.begin(), words.end(), '\n', ' ');
            if (std::string(format) != "csv") CHECK_THAT(words, contains("assumed as 0.5 to 2 of it"));
        }
}
