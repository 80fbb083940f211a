#include "calibrate/import/cell_row.hpp"
#include "core/csv.hpp"
#include "core/json/text_file.hpp"
#include "planner/validation/serving_row.hpp"
#include "planner/validation/training_row.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string const gemm =
    "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
    "TRTLLM,1.2.0,NVIDIA H200,gemm,torch_flow,bfloat16,1024,4096,2048,0.0345\n"
    "TRTLLM,1.2.0,NVIDIA H200,gemm,torch_flow,bfloat16,,4096,2048,0.0345\n";

std::string in_bytes(std::size_t value, int count) {
    std::string out;
    for (int i = 0; i < count; ++i, value >>= 8)
        out += static_cast<char>(value & 0xFF);
    return out;
}

/// A file of gzip (RFC 1952) whose blocks hold the text as it is (RFC 1951, 3.2.4).
std::string stored_by_gzip(std::string const& text) {
    std::string out = "\x1f\x8b\x08" + std::string(7, '\0');
    constexpr std::size_t most = 0xFFFF;
    for (std::size_t begin = 0; begin < text.size(); begin += most) {
        std::string const part = text.substr(begin, most);
        out += in_bytes(begin + most >= text.size() ? 1 : 0, 1) + in_bytes(part.size(), 2) + in_bytes(~part.size(), 2) +
               part;
    }
    std::uint32_t check = 0xFFFFFFFFU;
    for (char const c : text) {
        check ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit)
            check = (check >> 1) ^ ((check & 1U) != 0 ? 0xEDB88320U : 0U);
    }
    return out + in_bytes(~check, 4) + in_bytes(text.size(), 4);
}

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

TEST_CASE("calibrate import: a name that --out cannot have is said before the file is read") {
    ScratchFolder const folder("import_out");
    std::string const file = folder.file("gemm_perf.txt", gemm);
    for (std::string const& out : {folder.path("rows.json"), folder.path("none/gemm.csv")}) {
        auto const run = run_sextant({"calibrate", "import", file, "--out", out});
        CHECK(run.code == 2);
        CHECK(run.err.find("read as") == std::string::npos);
    }
}

TEST_CASE("calibrate import: a folder of tables is not one whose file of that name they are made of") {
    ScratchFolder const folder("import_over");
    std::string const file = folder.file("gemm.csv", gemm);
    for (std::string const& out : {folder.path(""), folder.path(".")}) {
        auto const run = run_sextant({"calibrate", "import", file, "--out", out});
        CHECK(run.code == 2);
        CHECK_THAT(run.err, contains("--out: the table of matrix products would overwrite"));
        CHECK(sextant::read_text_file(file) == gemm);
    }
    CHECK(run_sextant({"calibrate", "import", file, "--out", folder.path("tables")}).code == 0);
}

TEST_CASE("calibrate import: tables of an earlier import that the folder still holds are named") {
    ScratchFolder const folder("import_stale");
    std::string const out = folder.path("tables");
    std::string const nccl =
        "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n"
        "TRTLLM,2.26.2,NVIDIA H200,all_gather,NCCL,half,8,1048576,0.031\n";
    auto const import = [&](std::string const& name, std::string const& text) {
        auto const run = run_sextant({"calibrate", "import", folder.file(name, text), "--out", out});
        CHECK(run.code == 0);
        return run.err;
    };
    CHECK(import("nccl_perf.txt", nccl).find("warning") == std::string::npos);
    CHECK(import("nccl_perf.txt", nccl).find("warning") == std::string::npos);  // its own table is replaced
    std::string const second = import("gemm_perf.txt", gemm);
    CHECK_THAT(second, contains("warning: " + out + "/collectives.csv was there before"));
    CHECK_THAT(second, contains("(remove it, unless"));
    CHECK(std::filesystem::exists(out + "/collectives.csv"));
}

TEST_CASE("calibrate import: a log of training is a table that validate and fit read") {
    ScratchFolder const folder("import_training");
    std::string const log = SEXTANT_SOURCE_DIR "/docs/examples/megatron.log";
    std::string const out = folder.path("training.csv");
    auto const run =
        run_sextant({"calibrate", "import", log, "--out", out, "--device", "h100-sxm", "--set", "gpus_per_node=8"});
    INFO(run.err);
    REQUIRE(run.code == 0);
    CHECK_THAT(run.out, contains("training steps"));
    auto const validated = run_sextant({"validate", "train", out, "--format", "json"});
    CHECK(validated.code == 0);
    CHECK_THAT(validated.out, contains("\"rows\": 1") && contains("log megatron.log"));
    CHECK(run_sextant({"calibrate", "fit", "--train", out, "--framework", "megatron", "--out", folder.path("my.json")})
              .code == 0);
    // The log itself is named with what makes a table of it.
    for (std::vector<std::string> const& command :
         {std::vector<std::string>{"validate", "train", log},
          {"calibrate", "fit", "--train", log, "--out", folder.path("f.json")},
          {"calibrate", "report", SEXTANT_SOURCE_DIR "/hardware_profiles/frameworks/megatron.json", "--rows", log}}) {
        auto const refused = run_sextant(command);
        CHECK(refused.code == 2);
        CHECK_THAT(refused.err, contains("is of megatron-log, no table yet (sextant calibrate import"));
    }
    CHECK_THAT(run_sextant({"calibrate", "import", log, "--out", out, "--set", "tp"}).err, contains("gives no value"));
    auto const kernels = run_sextant(
        {"calibrate", "import", folder.file("gemm_perf.txt", gemm), "--out", folder.path("gemm.csv"), "--set", "tp=2"});
    CHECK(kernels.code == 2);
    CHECK_THAT(kernels.err, contains("--set: is for logs of training and of serving"));
}

TEST_CASE("calibrate import: results of a serving client are a table that validate reads") {
    ScratchFolder const folder("import_serving");
    std::string const out = folder.path("serving.csv");
    std::string const results = SEXTANT_SOURCE_DIR "/tests/fuzz/corpus/import/bench_serving.jsonl";
    auto const run =
        run_sextant({"calibrate", "import", results, "--out", out, "--device", "h100-sxm", "--set", "tp=1"});
    INFO(run.err);
    REQUIRE(run.code == 0);
    auto const validated = run_sextant({"validate", "serving", out});
    CHECK(validated.code == 0);
    CHECK_THAT(validated.out, contains("sglang, fixed concurrency"));
    CHECK_THAT(run_sextant({"validate", "serving", results}).err, contains("is of bench-serving, no table yet"));
}

TEST_CASE("calibrate import: the state of a Trainer is a table that validate and fit read") {
    ScratchFolder const folder("import_trainer");
    std::string const state = SEXTANT_SOURCE_DIR "/tests/fuzz/corpus/import/trainer_state.json";
    std::string const out = folder.path("training.csv");
    std::vector<std::string> import{"calibrate", "import", state, "--out", out, "--device", "h100-sxm"};
    auto const asked = run_sextant(import);
    CHECK(asked.code == 2);
    CHECK_THAT(asked.err, contains("read as trainer-state") && contains("1 left out: the log does not say model"));
    for (std::string const cell : {"model=llama-3.2-1b", "num_gpus=1", "seq_len=2048", "gpus_per_node=8"})
        import.insert(import.end(), {"--set", cell});
    auto const run = run_sextant(import);
    INFO(run.err);
    REQUIRE(run.code == 0);
    auto const validated = run_sextant({"validate", "train", out, "--format", "json"});
    INFO(validated.out);
    CHECK(validated.code == 0);
    CHECK_THAT(validated.out, contains("\"rows\": 1") && contains("\"skipped\": 0"));
    CHECK(run_sextant(
              {"calibrate", "fit", "--train", out, "--framework", "transformers", "--out", folder.path("my.json")})
              .code == 0);
    CHECK_THAT(run_sextant({"validate", "train", state}).err, contains("is of trainer-state, no table yet"));
}

TEST_CASE("calibrate import: offline benchmarks are a table that validate and fit read") {
    ScratchFolder const folder("import_offline");
    std::string const results = SEXTANT_SOURCE_DIR "/tests/fuzz/corpus/import/sglang_one_batch.jsonl";
    std::string const out = folder.path("serving.csv");
    auto const run = run_sextant({"calibrate", "import", results, "--out", out, "--device", "h100-sxm", "--set", "tp=1",
                                  "--set", "model=llama-3.1-8b"});
    INFO(run.err);
    REQUIRE(run.code == 0);
    auto const validated = run_sextant({"validate", "serving", out});
    INFO(validated.out);
    CHECK(validated.code == 0);
    CHECK_THAT(validated.out, contains("sglang, static batch"));
    CHECK(run_sextant({"calibrate", "fit", "--serving", out, "--engine", "sglang", "--out", folder.path("my.json")})
              .code == 0);
    std::string const log = SEXTANT_SOURCE_DIR "/tests/fuzz/corpus/import/vllm_throughput.log";
    REQUIRE(run_sextant({"calibrate", "import", log, "--out", out, "--device", "h100-sxm"}).code == 0);
    CHECK_THAT(run_sextant({"validate", "serving", out}).out, contains("vllm, unlimited rate"));
}

TEST_CASE("calibrate import: --set says the links of collectives, and the collective of a log that lost its name") {
    ScratchFolder const folder("import_links");
    std::string const log =
        folder.file("run.log",
                    "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152\n"
                    "#  Rank  0 Group  0 Pid  12 on  node1 device  0 [0x01] NVIDIA H100 80GB HBM3\n"
                    "#  Rank  1 Group  0 Pid  13 on  node2 device  0 [0x01] NVIDIA H100 80GB HBM3\n"
                    "#                     out-of-place        in-place\n"
                    "  1048576  262144  float  sum  -1  101.5  10.33  10.33  0  99.5  10.54  10.54  0\n");
    std::string const out = folder.path("collectives.csv");
    auto const import = [&](std::vector<std::string> const& settings) {
        std::vector<std::string> arguments{"calibrate", "import", log, "--out", out};
        for (std::string const& setting : settings)
            arguments.insert(arguments.end(), {"--set", setting});
        return run_sextant(arguments);
    };
    CHECK_THAT(import({}).err, contains("does not say which collective it is") && contains("--set collective="));
    REQUIRE(import({"collective=all_reduce", "inter_link=8x400G InfiniBand"}).code == 0);
    std::string const table = sextant::read_text_file(out);
    CHECK_THAT(table, contains(",8x400G InfiniBand,") && contains(",all_reduce,"));
    CHECK_THAT(table, contains("run.log,"));
    REQUIRE(import({"collective=all_reduce", "run_id=monday"}).code == 0);
    CHECK_THAT(sextant::read_text_file(out), contains("\nmonday,"));
    CHECK_THAT(run_sextant({"calibrate", "import", log, log, "--out", out, "--set", "collective=all_reduce", "--set",
                            "run_id=monday"})
                   .err,
               contains("--set: run_id is of one file, and there are 2"));
    CHECK_THAT(import({"collective=all_produce"}).err, contains("--set: ") && contains("all_produce"));
    auto const unused = import({"collective=all_reduce", "tp=2"});
    CHECK(unused.code == 2);
    CHECK_THAT(unused.err, contains("no row here has a column 'tp'"));
    // A busbw that is not that of the named collective stays an error.
    CHECK_THAT(import({"collective=all_gather"}).err, contains("busbw"));
}

TEST_CASE("calibrate import: a trace that gzip packed is read as it is") {
    ScratchFolder const folder("import_packed");
    std::string const plain = SEXTANT_SOURCE_DIR "/tests/data/kineto_excerpt.json";
    std::string const trace = folder.file("trace.json.gz", stored_by_gzip(sextant::read_text_file(plain)));
    auto const tables = [&](std::string const& file, std::string const& out) {
        auto const run = run_sextant({"calibrate", "import", file, "--source", "trace", "--out", folder.path(out)});
        INFO(run.err);
        REQUIRE(run.code == 0);
        CHECK_THAT(run.err, contains(file + ": read as kineto"));
        return sextant::read_text_file(folder.path(out) + "/gemm.csv");
    };
    CHECK(tables(trace, "packed") == tables(plain, "plain"));
    CHECK_THAT(run_sextant({"validate", "kernels", trace}).err,
               contains("is compressed (a table: gunzip it") && contains("sextant calibrate import " + trace));
    std::string const cut = folder.file("cut.json.gz", sextant::read_text_file(trace).substr(0, 200));
    CHECK_THAT(run_sextant({"calibrate", "import", cut, "--out", folder.path("cut")}).err, contains("cut off"));
}

TEST_CASE("calibrate import: what is of no format may be written as a row of a table, and the error says so") {
    ScratchFolder const folder("import_unknown");
    auto const run =
        run_sextant({"calibrate", "import", folder.file("trainer.log", "step 10 loss 3.1 12000 tokens/s\n"), "--out",
                     folder.path("t.csv")});
    CHECK(run.code == 2);
    CHECK_THAT(run.err, contains("docs/validation.md") && contains("--train and --serving"));
}

TEST_CASE("calibrate import: its columns of training steps and served loads are those of the tables") {
    auto const known = sextant::training_columns();
    for (std::string_view const column : sextant::training_step_columns())
        CHECK(std::find(known.begin(), known.end(), column) != known.end());
    auto const served = sextant::serving_columns();
    for (std::string_view const column : sextant::served_load_columns())
        CHECK(std::find(served.begin(), served.end(), column) != served.end());
}

TEST_CASE("validate kernels: what another program wrote is said to be that, with how to make a table of it") {
    ScratchFolder const folder("validate_foreign");
    for (auto const& [text, format] : {std::pair{gemm, "aiconfigurator"},
                                       {std::string("{\"traceEvents\": []}"), "kineto"},
                                       {std::string("{\"bench\": \"gemm\", \"median_us\": 1}\n"), "sextant-bench"}}) {
        auto const run = run_sextant({"validate", "kernels", folder.file("foreign", text)});
        CHECK(run.code == 2);
        CHECK_THAT(run.err, contains(std::string("is of ") + format + ", no table yet (sextant calibrate import "));
    }
}

TEST_CASE("calibrate import: a table of ours is called one, and not of no known format") {
    ScratchFolder const folder("import_ours");
    std::string const out = folder.path("gemm.csv");
    REQUIRE(run_sextant({"calibrate", "import", folder.file("gemm_perf.txt", gemm), "--out", out}).code == 0);
    auto const again = run_sextant({"calibrate", "import", out, "--out", folder.path("again.csv")});
    CHECK(again.code == 2);
    CHECK_THAT(again.err, contains("is a table of ours already (fit, report and validate take it as it is)"));
}

TEST_CASE("calibrate fit: foreign rows that name another device than --device keep its name, and are counted") {
    ScratchFolder const folder("import_named");
    std::string const perf = folder.file("gemm_perf.txt", gemm);
    auto const fit = [&](std::string const& file, std::string const& device) {
        return run_sextant(
            {"calibrate", "fit", "--kernels", file, "--device", device, "--out", folder.path("mine.json")});
    };
    CHECK_THAT(fit(perf, "h100-sxm").err, contains("1 rows that name h200-sxm are taken as those of h100-sxm"));
    CHECK(fit(perf, "h200-sxm").err.find("that name") == std::string::npos);
    // A format that says no device has that of --device, of the fit or of the report.
    std::string const mlp =
        folder.file("mlp.csv",
                    "time_stats.mlp_up_proj.median,n_head,n_kv_head,n_embd,n_expanded_embd,use_gated_mlp,num_tokens,"
                    "num_tensor_parallel_workers\n0.4,32,8,4096,14336,True,512,1\n0.8,32,8,4096,14336,True,1024,1\n");
    CHECK_THAT(fit(mlp, "h100-sxm").err, contains("fit of gemm fp16: has 1 rows of 1 shape besides 1"));
    std::string const shipped = SEXTANT_SOURCE_DIR "/hardware_profiles/calibrations/kernels/h100-sxm.json";
    auto const report = run_sextant({"calibrate", "report", shipped, "--rows", mlp, "--device", "h100-sxm"});
    INFO(report.err);
    CHECK(report.code == 0);
    CHECK_THAT(report.out, contains("mlp.csv as gemm.csv line 3"));  // the file's own third line has other rows, too
    auto const unnamed = run_sextant({"calibrate", "report", shipped, "--rows", mlp});
    CHECK(unnamed.code == 2);
    CHECK_THAT(unnamed.err, contains("2 left out: does not say its device (--device NAME)"));
}

TEST_CASE("calibrate report: a calibration of another device is said without options that it does not have") {
    std::string const shipped = SEXTANT_SOURCE_DIR "/hardware_profiles/calibrations/kernels/h100-sxm.json";
    ScratchFolder const folder("report_other");
    std::string const rows = folder.path("gemm.csv");
    REQUIRE(run_sextant({"calibrate", "import", folder.file("gemm_perf.txt", gemm), "--out", rows}).code == 0);
    auto const other = run_sextant({"calibrate", "report", shipped, "--rows", rows, "--device", "l40s"});
    CHECK(other.code == 2);
    CHECK_THAT(other.err, contains("h100-sxm.json: is of h100-sxm, not of l40s"));
    CHECK(other.err.find("--calibration") == std::string::npos);
}

TEST_CASE("calibrate report, validate collectives: constants of another cluster are refused, not left unused") {
    ScratchFolder const folder("report_network");
    std::string const rows = folder.file("runs.csv",
                                         "run_id,source_ref,gpu,nodes,gpus_per_node,nranks,collective,size_bytes,"
                                         "time_us_oop\nr,s,NVIDIA H100 80GB HBM3,2,8,16,all_reduce,1073741824,6000\n");
    std::string const shipped = SEXTANT_SOURCE_DIR "/hardware_profiles/calibrations/networks/h100-infiniband.json";
    REQUIRE(std::filesystem::exists(shipped));
    auto const report = [&](std::string const& device) {
        return run_sextant({"calibrate", "report", shipped, "--rows", rows, "--device", device});
    };
    CHECK(report("h100-sxm").code == 0);
    auto const other = report("mi300x");
    CHECK(other.code == 2);
    CHECK_THAT(other.err, contains("h100-infiniband.json: is of h100-sxm") && contains("not of mi300x"));
    CHECK_THAT(report("h100-sx").err, contains("--device: unknown cluster"));
    auto const validated =
        run_sextant({"validate", "collectives", rows, "--profile", "mi300x", "--calibration", shipped});
    CHECK(validated.code == 2);
    CHECK_THAT(validated.err, contains("not of mi300x"));
}
