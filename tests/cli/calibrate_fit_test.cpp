#include "cli/calibrate/engine_rows.hpp"
#include "cli/calibrate/fitted_file.hpp"
#include "cli/calibrate/named_otherwise.hpp"
#include "cli/calibrate/shipped_kernels.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "core/spec/network_calibration.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

using namespace sextant;

namespace {

/// All-reduces over a node of H100, `factor` times the microseconds that a run takes.
std::string runs(double factor) {
    std::string out =
        "run_id,source_ref,gpu,nodes,gpus_per_node,nranks,intra_link,inter_link,nccl_version,collective,size_bytes,"
        "time_us_oop,algbw_gbs_oop,busbw_gbs_oop,time_us_ip,algbw_gbs_ip,busbw_gbs_ip\n";
    for (double size = 1024; size <= 4.5e9; size *= 4)
        out += fmt::format("mine,me,H100-SXM5-80GB,1,8,8,NVLink4-NVSwitch,none,2.20,all_reduce,{:.0f},{:.6g},,,,,\n",
                           size, factor * (20 + 1.75 * size / 400e3));
    return out;
}

RunResult fit(std::string const& table, std::string const& out) {
    return run_sextant({"calibrate", "fit", "--collectives", table, "--cluster", "h100-sxm", "--out", out});
}

}  // namespace

TEST_CASE("calibrate fit: one kind of measurements at a time, and no option of another") {
    std::string const fit[] = {"calibrate", "fit"};
    auto const refused = [&](std::vector<std::string> const& options, char const* why) {
        std::vector<std::string> call(std::begin(fit), std::end(fit));
        call.insert(call.end(), options.begin(), options.end());
        RunResult const run = run_sextant(call);
        CHECK(run.code == 2);
        CHECK_THAT(run.err, contains(why));
    };
    refused({"--kernels", "a.csv", "--collectives", "b.csv", "--out", "x.json"},
            "--collectives and --nccl-log: cannot be beside --kernels");
    refused({"--train", "a.csv", "--serving", "b.csv", "--out", "x.json"}, "--serving: cannot be beside --train");
    refused({"--kernels", "a.csv", "--cluster", "h100-sxm", "--out", "x.json"}, "--cluster: is of --collectives");
    refused({"--collectives", "a.csv", "--device", "h100-sxm", "--out", "x.json"}, "--device: is of --kernels");
    refused({"--train", "a.csv", "--engine", "vllm", "--out", "x.json"}, "--engine: is of --serving");
    refused({"--serving", "a.csv", "--rows", "r.csv", "--out", "x.json"}, "--rows: is of --train");
    refused({"--nccl-log", "a.log", "--framework", "fsdp", "--out", "x.json"}, "--framework: is of --train");
    refused({"--kernels", "a.csv", "--held-out", "0.2", "--out", "x.json"}, "--held-out: is of --collectives");
}

TEST_CASE("calibrate fit: what the reader would refuse is not written, and the file stays as it was") {
    ScratchFolder const scratch("fitted_file");
    std::string const out = scratch.path("mine.json");
    write_text_file(out, "as it was");
    NetworkCalibration network = all_network_calibrations().front();
    network.intervals.front().high = 0.5;  // holds no prediction
    CHECK_THROWS_WITH(cli::write_fitted(out, network_calibration_json(network)), contains("nothing is written"));
    KernelCalibration kernels = *find_accelerator("h100-sxm", "test").kernels;
    kernels.fits.front().constants.front() *= 1e9;
    CHECK_THROWS_AS(cli::write_fitted(out, kernel_calibration_json(kernels)), InputError);
    CHECK(read_text_file(out) == "as it was");
    std::string const good = network_calibration_json(all_network_calibrations().front());
    cli::write_fitted(out, good);
    CHECK(read_text_file(out) == good);
}

TEST_CASE("calibrate fit --collectives: a table that is given twice counts once, and one in milliseconds not at all") {
    ScratchFolder const scratch("fit_collectives");
    std::string const once = scratch.path("once.csv"), twice = scratch.path("twice.csv");
    write_text_file(once, runs(1));
    std::string const text = runs(1);
    write_text_file(twice, text + text.substr(text.find('\n') + 1));
    REQUIRE(fit(once, scratch.path("a.json")).code == 0);
    RunResult const both = fit(twice, scratch.path("b.json"));
    REQUIRE(both.code == 0);
    CHECK_THAT(both.err, contains("12 rows left out: each says what another row says"));
    auto a = read_network_calibration_file(scratch.path("a.json"));
    auto const b = read_network_calibration_file(scratch.path("b.json"));
    a.provenance.command = b.provenance.command;
    CHECK(network_calibration_json(a) == network_calibration_json(b));

    for (double const factor : {1e-3, 1e3}) {
        write_text_file(once, runs(factor));
        RunResult const far = fit(once, scratch.path("c.json"));
        CHECK(far.code == 2);
        CHECK_THAT(far.err, contains("rows cannot be of h100-sxm") && contains("in microseconds"));
    }
}

TEST_CASE("calibrate fit --collectives: columns that say nothing may be missing, and a copied run is none") {
    ScratchFolder const scratch("fit_collectives_few");
    auto const table = [](char const* run, double factor) {
        std::string out = fmt::format("{}gpu,nodes,nranks,collective,size_bytes,time_us_oop\n", *run ? "run_id," : "");
        for (double size = 1024; size <= 4.5e9; size *= 4)
            out += fmt::format("{}{}H100-SXM5-80GB,1,8,all_reduce,{:.0f},{:.6g}\n", run, *run ? "," : "", size,
                               factor * (20 + 1.75 * size / 400e3));
        return out;
    };
    auto const fit_of = [&](std::string const& a, std::string const& b) {
        write_text_file(scratch.path("a.csv"), a);
        write_text_file(scratch.path("b.csv"), b);
        return run_sextant({"calibrate", "fit", "--collectives", scratch.path("a.csv"), "--collectives",
                            scratch.path("b.csv"), "--cluster", "h100-sxm", "--out", scratch.path("o.json")});
    };
    RunResult const without = fit_of(table("", 1), table("", 1.02));
    REQUIRE(without.code == 0);
    CHECK_THAT(without.out, contains("2 runs, 24 rows"));
    CHECK_THAT(fit_of(table("x.log", 1), table("x.log", 1.02)).out, contains("2 runs, 24 rows"));
    RunResult const copied = fit_of(table("x.log", 1), table("y.log", 1));
    CHECK_THAT(copied.err, contains("12 rows of run 'y.log' left out: run 'x.log' has the same"));
    CHECK_THAT(copied.out, contains("1 runs, 12 rows"));
}

TEST_CASE("calibrate fit --kernels: rows without a time are left out as such") {
    ScratchFolder const scratch("fit_no_time");
    std::string table = "device,dtype,m,n,k,latency_us\nH100,bf16,64,4096,4096,0\nH100,bf16,32,4096,4096,\n";
    RunResult const run = run_sextant({"calibrate", "fit", "--kernels", scratch.file("t.csv", table), "--device",
                                       "h100-sxm", "--out", scratch.path("mine.json")});
    CHECK(run.code == 2);
    CHECK_THAT(run.err, contains("2 rows left out: has no time"));
}

TEST_CASE("calibrate fit --kernels: batches are left out, what is assumed is counted, sources are whole references") {
    ScratchFolder const scratch("fit_sources");
    std::string table = "source_ref,device,dtype,m,n,k,latency_us,batch\n";
    for (int i = 1; i <= 80; ++i)
        table += fmt::format("run of cuBLAS {},H100,fp8,{},4096,4096,{:.6g},1\n", i % 2 == 0 ? "12.4" : "13.0", 128 * i,
                             4 + 2e6 * 128 * i * 4096 * 4096 / 1200e12);
    table += "run of cuBLAS 13.0,H100,fp8,128,4096,4096,40,8\n";
    std::string const out = scratch.path("mine.json");
    RunResult const run = run_sextant(
        {"calibrate", "fit", "--kernels", scratch.file("t.csv", table), "--device", "h100-sxm", "--out", out});
    INFO(run.err);
    REQUIRE(run.code == 0);
    CHECK_THAT(run.err, contains("1 rows left out: products in a batch (single ones are fitted)"));
    CHECK_THAT(run.err, contains("80 rows, assumed: activations came quantised"));
    auto const sources = read_kernel_calibration_file(out).sources;
    for (char const* source : {"run of cuBLAS 12.4", "run of cuBLAS 13.0"})
        CHECK(std::count(sources.begin(), sources.end(), source) == 1);
}

TEST_CASE("calibrate fit --kernels: times that hold a wait for each call, or beat the peak, are named") {
    ScratchFolder const scratch("fit_waits");
    auto const fit = [&](double wait, double rate = 62e6) {
        std::string table = "device,dtype,m,n,k,latency_us\n";
        double const k = 4096;
        for (double m = 16; m <= 8192; m *= 2)
            for (double const n : {512, 1024, 2048, 4096, 8192})
                table += fmt::format("RTX 3090,bf16,{},{},{},{:.6g}\n", m, n, k,
                                     wait + std::max(2 * m * n * k / rate, (m + k) * n * 2 / 0.8e6));
        RunResult const run = run_sextant({"calibrate", "fit", "--kernels", scratch.file("t.csv", table), "--device",
                                           "rtx-3090", "--out", scratch.path("mine.json")});
        REQUIRE(run.code == 0);
        return run.err;
    };
    CHECK_THAT(fit(14), contains("warning: rtx-3090: gemm bf16: every call takes") && contains("Time a graph"));
    CHECK_THAT(fit(1.5), !contains("warning"));
    CHECK_THAT(fit(1.5, 85e6), contains("gemm bf16: large shapes reach 1.") && contains("of the stated peak"));
}

namespace {

/// Products of a device of 62 TFLOP/s. @param device the first cell and a comma; empty: no such column
std::string products_of(std::string const& device, double rate = 62e6) {
    std::string table = std::string(device.empty() ? "" : "device,") + "dtype,m,n,k,latency_us\n";
    double const k = 4096;
    for (double m = 16; m <= 8192; m *= 2)
        for (double const n : {512, 1024, 2048, 4096, 8192})
            table += fmt::format("{}bf16,{},{},{},{:.6g}\n", device, m, n, k,
                                 1.5 + std::max(2 * m * n * k / rate, (m + k) * n * 2 / 0.8e6));
    return table;
}

}  // namespace

TEST_CASE("calibrate fit --kernels: --device is the device of rows that say none, and the file says what it is of") {
    ScratchFolder const scratch("fit_unsaid");
    std::string const out = scratch.path("mine.json");
    auto const fit = [&](std::string const& table, std::vector<std::string> const& device) {
        std::vector<std::string> arguments{"calibrate", "fit", "--kernels", scratch.file("t.csv", table), "--out", out};
        arguments.insert(arguments.end(), device.begin(), device.end());
        return run_sextant(arguments);
    };
    for (char const* device : {"", ",", "-,", "RTX 3090,"}) {
        CAPTURE(device);
        RunResult const run = fit(products_of(device), {"--device", "rtx-3090"});
        REQUIRE(run.code == 0);
        CHECK(run.err.find("left out") == std::string::npos);
        KernelCalibration const fitted = read_kernel_calibration_file(out);
        CHECK(fitted.fits.front().rows > 40);
        CHECK(fitted.command == "sextant calibrate fit --kernels t.csv --device rtx-3090");
    }
    RunResult const unsaid = fit(products_of(""), {});
    CHECK(unsaid.code == 2);
    CHECK_THAT(unsaid.err, contains("50 rows left out: device is not stated"));
    // Rows of another device say how many they are, and where the first is.
    RunResult const faster = fit(products_of("RTX 3090,", 220e6), {"--device", "rtx-3090"});
    CHECK(faster.code == 2);
    CHECK_THAT(faster.err, contains("times the peak of rtx-3090 (are the rows of this device?") &&
                               contains(" rows, the first is ") && contains("t.csv line "));
}

TEST_CASE("calibrate report, validate: rows that name another device than they are scored as are counted") {
    ScratchFolder const scratch("scored_as");
    std::string const rows = scratch.file("t.csv", products_of("RTX 3090,"));
    std::string const mine = scratch.path("mine.json");
    auto const named = contains("50 rows that name rtx-3090 are taken as those of rtx-4090, as --");
    REQUIRE(run_sextant({"calibrate", "fit", "--kernels", rows, "--device", "rtx-4090", "--out", mine}).code == 0);
    CHECK_THAT(run_sextant({"calibrate", "report", mine, "--rows", rows, "--device", "rtx-4090"}).err, named);
    CHECK_THAT(run_sextant({"validate", "kernels", rows, "--profile", "rtx-4090"}).err, named);
    CHECK_THAT(run_sextant({"validate", "kernels", rows, "--profile", "rtx-3090"}).err, !contains("that name"));
    std::string const unsaid = scratch.file("u.csv", products_of(""));
    RunResult const report = run_sextant({"validate", "kernels", unsaid, "--profile", "rtx-3090"});
    CHECK_THAT(report.err, !contains("that name"));
    CHECK_THAT(report.out, !contains("device is not stated"));
    std::string const runs_of = scratch.file("c.csv", runs(1));
    CHECK_THAT(run_sextant({"validate", "collectives", runs_of, "--profile", "a100-sxm-80gb"}).err,
               contains("12 rows that name h100-sxm are taken as those of a100-sxm-80gb, as --profile says"));
}

TEST_CASE("calibrate fit: rows that name another device than the target are counted, known to the catalogue or not") {
    AcceleratorProfile device;
    device.name = "x100";
    device.aliases = {"Example X100"};
    cli::NamedOtherwise counts;
    for (char const* name : {"", "x100", "NVIDIA X100", "example x100"})
        cli::count_named_otherwise(counts, name, device);
    CHECK(counts.empty());
    for (char const* name : {"gpuA", "gpuA", "NVIDIA H100 80GB HBM3"})
        cli::count_named_otherwise(counts, name, device);
    CHECK(counts == cli::NamedOtherwise{{"gpuA", 2}, {"h100-sxm", 1}});
    std::string const text = cli::named_otherwise_text(counts, "x100", "as --device says");
    CHECK_THAT(text, contains("2 rows that name gpuA are taken as those of x100, as --device says") &&
                         contains("warning: rows of 2 devices"));

    ScratchFolder const scratch("fit_named");
    std::string text_of = runs(1);
    for (std::size_t at = 0; (at = text_of.find("H100-SXM5-80GB", at)) != std::string::npos;)
        text_of.replace(at, std::string("H100-SXM5-80GB").size(), "Abacus 3000");
    RunResult const run = fit(scratch.file("runs.csv", text_of), scratch.path("mine.json"));
    INFO(run.err);
    CHECK(run.code == 0);
    CHECK_THAT(run.err, contains("rows that name Abacus 3000 are taken as those of h100-sxm, as --cluster says"));
}

TEST_CASE(
    "calibrate fit --serving: an engine of one vendor speaks for others where the vendor's kernels are measured") {
    for (char const* engine : {"vllm", "sglang", "tensorrt-llm", "lmdeploy", "vllm-v0", "deepspeed", "other"})
        CHECK_FALSE(cli::stands_for_unmeasured(find_engine(engine, "test")));
    for (char const* engine : {"vllm-v0-rocm", "vllm-v0-rocm-cdna2"})
        CHECK(cli::stands_for_unmeasured(find_engine(engine, "test")));
}

TEST_CASE("calibrate fit --serving: one slip costs its row, and a table in other units is refused") {
    ScratchFolder const scratch("fit_serving");
    std::string const header =
        "model,gpu,num_gpus,tp,engine,input_len,output_len,concurrency_or_batch,request_rate,output_tokens_per_s,"
        "ttft_ms,tpot_ms\n";
    auto const row = [](int concurrency, char const* rate, char const* figures) {
        return fmt::format("meta-llama/Llama-3.1-8B,H100,2,2,vLLM,512,128,{},{},{}\n", concurrency, rate, figures);
    };
    auto const fitted = [&](std::string const& rows) {
        return run_sextant({"calibrate", "fit", "--serving", scratch.file("t.csv", header + rows), "--engine", "vllm",
                            "--out", scratch.path("mine.json")});
    };
    std::string const good = row(8, "", ",60,6") + row(16, "inf", ",90,7") + row(32, "", ",150,8");
    RunResult const slip = fitted(good + row(16, "", ",2,0.2") + row(16, "", ",0.09,7"));
    INFO(slip.err);
    CHECK(slip.code == 0);
    CHECK_THAT(slip.err, contains("t.csv line 5: its prompts would have been multiplied faster than the device can"));
    CHECK_THAT(slip.err, contains("1 left out: ttft_ms is below 1 (seconds?"));
    RunResult const wrong = fitted(good + row(8, "", "100,,") + row(16, "", "120,,") + row(32, "", "150,,"));
    INFO(wrong.err);
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.err, contains("3 of 9 figures are off by more than four times"));
}

TEST_CASE("what ships for a card of Blackwell is of the class that its kernels are of") {
    auto const shipped = [](char const* device, KernelKind kind, char const* variant) {
        KernelFitChoices choices;
        cli::shipped_fits(find_accelerator(device, "test"))(kind, variant, choices);
        REQUIRE(choices.shipped != nullptr);
        CHECK(choices.of_class);
        return choices.shipped;
    };
    auto const of = [](char const* of_class, KernelKind kind, char const* variant) {
        return shipped_kernel_calibration(of_class)->find(kind, variant);
    };
    for (char const* const variant : {"bf16", "fp8"})
        CHECK(shipped("rtx-5090", KernelKind::gemm, variant) == of("class-ada", KernelKind::gemm, variant));
    CHECK(shipped("rtx-5090", KernelKind::gemm, "fp4") == of("class-blackwell", KernelKind::gemm, "fp4"));
    CHECK(shipped("rtx-5090", KernelKind::prefill, "bf16/bf16") == of("class-ada", KernelKind::prefill, "bf16/bf16"));
    CHECK(shipped("gb200", KernelKind::gemm, "fp8") == of("class-blackwell", KernelKind::gemm, "fp8"));
    CHECK(shipped("rtx-5090", KernelKind::gemm, "int8") == of("class-any", KernelKind::gemm, "int8"));
}
