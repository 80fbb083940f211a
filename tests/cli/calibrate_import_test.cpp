#include "core/csv.hpp"
#include "core/json/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <filesystem>

namespace {

std::string const gemm =
    "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
    "TRTLLM,1.2.0,NVIDIA H200,gemm,torch_flow,bfloat16,1024,4096,2048,0.0345\n"
    "TRTLLM,1.2.0,NVIDIA H200,gemm,torch_flow,bfloat16,,4096,2048,0.0345\n";

}  // namespace

TEST_CASE("calibrate import: one kind of rows is one file that validate reads") {
    ScratchFolder const folder("import_file");
    std::string const out = folder.path("gemm.csv");
    auto const run = run_sextant({"calibrate", "import", folder.file("gemm_perf.txt", gemm), "--out", out});
    INFO(run.err);
    REQUIRE(run.code == 0);
    CHECK_THAT(run.out, contains("matrix products"));
    CHECK_THAT(run.err, contains("read as aiconfigurator"));
    CHECK_THAT(run.err, contains("1 left out: m is not stated"));
    CHECK(sextant::read_csv(out).header == std::vector<std::string>{"source_ref", "device", "kernel_source", "dtype",
                                                                    "m", "n", "k", "latency_us", "tflops", "cache"});
    auto const validated = run_sextant({"validate", "kernels", out});
    CHECK(validated.code == 0);
    CHECK_THAT(validated.out, contains("aiconfigurator TRTLLM 1.2.0"));
}

TEST_CASE("calibrate import: several kinds need a folder, unusable files are 2 with a reason") {
    ScratchFolder const folder("import_folder");
    std::string const mlp = folder.file(
        "mlp.csv",
        "time_stats.mlp_up_proj.median,time_stats.add.median,n_head,n_kv_head,n_embd,n_expanded_embd,use_gated_mlp,"
        "num_tokens,num_tensor_parallel_workers\n0.4,0.006,32,8,4096,14336,True,512,1\n");
    auto const one = run_sextant({"calibrate", "import", mlp, "--device", "a100", "--out", folder.path("x.csv")});
    CHECK(one.code == 2);
    CHECK_THAT(one.err, contains("give a folder"));
    auto const many = run_sextant({"calibrate", "import", mlp, "--device", "a100", "--out", folder.path("tables")});
    REQUIRE(many.code == 0);
    CHECK(std::filesystem::exists(folder.path("tables") + "/gemm.csv"));
    CHECK(std::filesystem::exists(folder.path("tables") + "/memory.csv"));
    CHECK_FALSE(std::filesystem::exists(folder.path("tables") + "/attention.csv"));
    CHECK(run_sextant({"calibrate", "import", mlp, "--out", folder.path("y.csv")}).code == 2);  // no device
    for (char const* text : {"", "{\"traceEvents\": [", "a,b\n1,2\n", "{}"}) {
        auto const bad = run_sextant({"calibrate", "import", folder.file("bad", text), "--out", folder.path("z.csv")});
        CHECK(bad.code == 2);
        CHECK_THAT(bad.err, contains("bad"));
    }
    CHECK_THAT(run_sextant({"calibrate", "import", mlp, "--device", "a100", "--out", folder.path("rows.json")}).err,
               contains("FILE.csv, or a folder"));
    CHECK_THAT(
        run_sextant({"calibrate", "import", folder.file("wide", "\xFF\xFEm"), "--out", folder.path("z.csv")}).err,
        contains("save it as UTF-8"));
    auto const forced = run_sextant({"calibrate", "import", mlp, "--from", "nvbench", "--out", folder.path("z.csv")});
    CHECK(forced.code == 2);
    CHECK_THAT(forced.err, contains("is no JSON"));
}
