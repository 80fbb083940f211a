#include "cli/calibrate/run.hpp"

#include "cli/calibrate/child_process.hpp"
#include "cli/calibrate/describe_host.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/measurements/bench_row.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

using namespace sextant;

namespace {

char const* const bench = SEXTANT_BENCH_PROGRAM;

std::string script(ScratchFolder const& folder, std::string const& name, std::string const& text) {
    std::string const path = folder.file(name, "#!/bin/sh\n" + text);
    ::chmod(path.c_str(), 0755);
    return path;
}

/// The statistics of one part of a validation.
nlohmann::json group_named(nlohmann::json const& report, std::string const& name) {
    for (auto const& group : report.at("groups"))
        if (group.at("group") == name) return group;
    FAIL("no group " << name);
    return {};
}

/// Whether `attempt(i)` holds for one of three: a machine that others share can spoil one measurement, a broken model
/// spoils all.
template <class Attempt>
bool holds_in_one_of_three(Attempt attempt) {
    for (int i = 0; i < 3; ++i)
        if (attempt(std::to_string(i))) return true;
    return false;
}

}  // namespace

#ifndef __SANITIZE_ADDRESS__  // the products take minutes so

TEST_CASE("measure, fit, predict, validate: held-out kernels of this very machine are met", "[long][measured]") {
    ScratchFolder const folder("calibration_loop");
    auto const loop = [&](std::string const& attempt) {
        std::string const rows = folder.path("rows" + attempt + ".csv"), host = folder.path("host" + attempt + ".json"),
                          out = folder.path("out" + attempt + ".json");
        auto const run =
            run_sextant({"calibrate", "run", "--bench", bench, "--backend", "host", "--bench-names",
                         "gemm,memory_bound,copies,launch", "--quick", "--out", rows, "--describe-host", host});
        INFO(run.err);
        REQUIRE(run.code == 0);
        CHECK_THAT(run.out, contains("memory_bound"));
        CsvTable const measured = read_bench_rows(rows);
        CHECK(measured.records.size() > 100);

        AcceleratorProfile const core = find_accelerator(host, "test");
        CHECK(core.generation == "cpu");
        CHECK(core.memory_bandwidth.basis == Basis::measured);
        CHECK(core.peak_of(Precision::fp32).basis == Basis::measured);

        auto const fit = run_sextant({"calibrate", "fit", "--kernels", rows, "--device", host, "--out", out});
        INFO(fit.err);
        REQUIRE(fit.code == 0);
        KernelCalibration const fitted = read_kernel_calibration_file(out);
        CHECK(fitted.devices == std::vector<std::string>{core.name});
        CHECK(fitted.find(KernelKind::host_gemm, "fp32") != nullptr);
        CHECK(fitted.find(KernelKind::memory, "*") != nullptr);
        CHECK(fitted.find(KernelKind::memory, "adamw fp32") != nullptr);

        auto const validated =
            run_sextant({"validate", "kernels", rows, "--profile", host, "--calibration", out, "--format", "json"});
        REQUIRE(validated.code == 0);
        auto const report = nlohmann::json::parse(validated.out);
        auto const held_out = group_named(report, "held out of the fit").at("time");
        auto const seen = group_named(report, "fitted").at("time");
        CHECK(held_out.at("n").get<int>() >= 8);
        CHECK(seen.at("n").get<int>() > 80);
        // Without the fit the same profile knows the kernels less well.
        auto const before = nlohmann::json::parse(
            run_sextant({"validate", "kernels", rows, "--profile", host, "--format", "json"}).out);
        return held_out.at("median_ape_pct").get<double>() < 60 && seen.at("median_ape_pct").get<double>() < 40 &&
               before.at("overall").at("time").at("median_ape_pct").get<double>() >
                   report.at("overall").at("time").at("median_ape_pct").get<double>();
    };
    CHECK(holds_in_one_of_three(loop));
}

#endif

TEST_CASE("fit, predict, validate: rows of a processor that were measured once are met as they were then") {
    ScratchFolder const folder("host_rows");
    std::string const rows = SEXTANT_SOURCE_DIR "/tests/data/bench_host_rows.csv", out = folder.path("out.json");
    std::string const host = folder.file(
        "host.json", cli::host_profile_json(read_bench_rows(rows), {.memory_bytes = 16e9, .cache_bytes = 32 << 20}));
    auto const fit = run_sextant({"calibrate", "fit", "--kernels", rows, "--device", host, "--out", out});
    INFO(fit.err);
    REQUIRE(fit.code == 0);
    CHECK_THAT(fit.err, contains("3 rows left out: no kernel model for the benchmark 'launch'"));
    auto const report = nlohmann::json::parse(
        run_sextant({"validate", "kernels", rows, "--profile", host, "--calibration", out, "--format", "json"}).out);
    auto const held_out = group_named(report, "held out of the fit").at("time");
    CHECK(held_out.at("n") == 16);
    CHECK(held_out.at("median_ape_pct").get<double>() < 25);
    CHECK(group_named(report, "fitted").at("time").at("median_ape_pct").get<double>() < 10);
    auto const json = nlohmann::json::parse(
        run_sextant({"calibrate", "report", out, "--rows", rows, "--device", host, "--format", "json"}).out);
    CHECK(json.at("groups").at(0).at("held_out").at("n") == 16);
}

TEST_CASE("calibrate run: goes on where it was, and does not touch a file that is there") {
    ScratchFolder const folder("calibrate_resume");
    std::string const rows = folder.path("rows.csv");
    std::vector<std::string> const call{"calibrate", "run",           "--bench", bench,   "--backend",
                                        "host",      "--bench-names", "copies",  "--out", rows};
    auto limited = call;
    limited.insert(limited.end(), {"--max-seconds", "0.000001"});
    CHECK(run_sextant(limited).code == 0);
    CHECK(read_bench_rows(rows).records.size() < 5);  // one problem is begun whatever the limit
    auto const again = run_sextant(call);
    CHECK(again.code == 2);
    CHECK_THAT(again.err, contains("--resume goes on with it") || contains("exists"));
    auto resumed = call;
    resumed.emplace_back("--resume");
    CHECK(run_sextant(resumed).code == 0);
    std::string const first = read_text_file(rows);
    CHECK(read_bench_rows(rows).records.size() > 5);
    CHECK(run_sextant(resumed).code == 0);
    CHECK(read_text_file(rows) == first);
}

TEST_CASE("calibrate run: a missing program is 3 with how to build it, a wrong one and wrong options are 2") {
    ScratchFolder const folder("calibrate_missing");
    CHECK_THROWS_AS(cli::find_bench_program(folder.path("none")), InputError);
    CHECK(run_sextant({"calibrate", "run", "--out", folder.path("a.csv"), "--bench", folder.path("none")}).code == 2);
    auto const unknown = run_sextant({"calibrate", "run", "--bench", bench, "--backend", "host", "--out",
                                      folder.path("a.csv"), "--bench-names", "abacus"});
    CHECK(unknown.code == 2);
    auto const refusing = script(folder, "refusing", "exit 3\n");
    CHECK(run_sextant({"calibrate", "run", "--bench", refusing, "--out", folder.path("a.csv")}).code == 3);
    for (char const* option : {"--out", "--describe-host", "--describe-cluster"}) {
        std::vector<std::string> arguments{"calibrate", "run", "--bench", bench, option, folder.path("none/a.csv")};
        if (std::string(option) != "--out") arguments.insert(arguments.end(), {"--out", folder.path("a.csv")});
        auto const lost = run_sextant(arguments);
        CHECK(lost.code == 2);
        CHECK_THAT(lost.err, contains("does not exist (create it first)"));
        CHECK(lost.err.starts_with("sextant: error: "));
    }
    for (char const* option : {"--max-seconds", "--row-seconds", "--stall-seconds"})
        for (char const* limit : {"nan", "-1"})
            CHECK(run_sextant({"calibrate", "run", "--bench", bench, "--out", folder.path("a.csv"), option, limit})
                      .code == 2);
    for (char const* option : {"--max-seconds", "--row-seconds"})
        CHECK(run_sextant({"calibrate", "run", "--bench", bench, "--out", folder.path("a.csv"), option, "0"}).code ==
              2);
}

TEST_CASE("calibrate run: a benchmark that is named twice runs once, options that contradict each other are 2") {
    ScratchFolder const folder("calibrate_twice");
    auto const tells = script(folder, "tells", "echo \"$*\" >> " + folder.path("calls") + "\nexit 3\n");
    std::vector<std::string> const call{"calibrate", "run", "--bench", tells, "--out", folder.path("a.csv")};
    auto const with = [&](std::vector<std::string> const& more) {
        auto arguments = call;
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_sextant(arguments);
    };
    CHECK(with({"--bench-names", "copies,gemm,copies"}).code == 3);
    CHECK_THAT(read_text_file(folder.path("calls")), contains("--bench copies,gemm --dry-run"));
    CHECK(with({"--row-seconds", "0.1", "--stall-seconds", "0"}).code == 3);
    CHECK_THAT(read_text_file(folder.path("calls")), contains("--row-seconds 0.1 --stall-seconds 0 --dry-run"));
    auto const effort = with({"--quick", "--full"});
    CHECK(effort.code == 2);
    CHECK_THAT(effort.err, contains("--full: cannot be beside --quick"));
    std::string const file = folder.path("host.json");
    for (auto const& [more, wrong] :
         {std::pair{std::vector<std::string>{"--describe-host", file, "--bench-names", "copies"},
                    "--describe-host: needs rows of the benchmark gemm"},
          {{"--describe-host", file, "--bench-names", "gemm"}, "needs rows of the benchmark memory_bound"},
          {{"--describe-cluster", file, "--bench-names", "gemm,copies"}, "needs rows of the benchmark collectives"},
          {{"--describe-host", file, "--backend", "cuda"}, "--describe-host: is of the processor"}}) {
        auto const undescribed = with(more);
        CHECK(undescribed.code == 2);
        CHECK_THAT(undescribed.err, contains(wrong));
    }
    auto const gpu = with({"--backend", "host", "--gpu", "1"});
    CHECK(gpu.code == 2);
    CHECK_THAT(gpu.err, contains("--gpu: is of the cuda backend"));
}

TEST_CASE("calibrate run: an interrupt ends the child, keeps the rows and says how to go on") {
    ScratchFolder const folder("calibrate_interrupt");
    // Interrupts the program that started it, as Ctrl-C would, once there is something to keep.
    auto const endless = script(folder, "endless",
                                "case \"$*\" in *--dry-run*) echo '9 rows, about 9s'; exit 0;; esac\n"
                                "echo kept > " +
                                    folder.path("rows.csv") + "\nkill -INT $PPID\nwhile true; do sleep 0.05; done\n");
    auto const run = run_sextant({"calibrate", "run", "--bench", endless, "--out", folder.path("rows.csv")});
    CHECK(run.code == 130);
    CHECK_THAT(run.err, contains("go on with --resume"));
    CHECK(read_text_file(folder.path("rows.csv")) == "kept\n");
}

TEST_CASE("calibrate run: benchmarks that a signal ends are said to be, with its name") {
    ScratchFolder const folder("calibrate_signal");
    std::string const plan = "case \"$*\" in *--dry-run*) echo '9 rows, about 9s'; exit 0;; esac\n";
    auto const run = [&](std::string const& name, std::string const& end) {
        return run_sextant(
            {"calibrate", "run", "--bench", script(folder, name, plan + end), "--out", folder.path(name + ".csv")});
    };
    auto const ended = run("killed", "kill -KILL $$\n");
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, contains("ended by signal 9 (Killed)"));
    CHECK_THAT(run("failed", "exit 5\n").err, contains("ended with 5 (the rows so far are in"));
}

TEST_CASE("child programs: arguments come through as they are, output and exit code come back") {
    ScratchFolder const folder("child_process");
    auto const echo = script(folder, "echo", "printf '%s|' \"$@\"\nexit 7\n");
    std::string output;
    cli::ChildEnd const end = cli::child_output(echo, {"a b", "$(x)", ";", ""}, output);
    CHECK(output == "a b|$(x)|;||");
    CHECK(end.code == 7);
    CHECK_FALSE(end.interrupted);
    std::atomic<bool> const stop{true};
    auto const sleeping = script(folder, "sleeping", "while true; do sleep 0.05; done\n");
    CHECK(cli::run_child(sleeping, {}, stop).interrupted);
    CHECK_THROWS_AS(cli::run_child(folder.path("none"), {}, stop), InputError);
}

TEST_CASE("child programs: one that hangs and one that heeds no signal are ended at their limit") {
    ScratchFolder const folder("child_limit");
    std::atomic<bool> const stop{false};
    auto const deaf = script(folder, "deaf", "trap '' TERM INT\nwhile true; do sleep 0.05; done\n");
    auto const stopped = script(folder, "stopped", "kill -STOP $$\n");
    for (std::string const& program : {deaf, stopped}) {
        cli::ChildEnd const end = cli::run_child(program, {}, stop, 0.1 * units::s);
        CHECK(end.late);
        CHECK_FALSE(end.interrupted);
        CHECK(end.code == 128 + SIGKILL);
    }
    CHECK_FALSE(cli::run_child(script(folder, "quick", "exit 0\n"), {}, stop, 60 * units::s).late);
}

TEST_CASE("calibrate run: benchmarks that hang are ended at the limit, and what they wrote stays") {
    ScratchFolder const folder("calibrate_limit");
    auto const hangs =
        script(folder, "hangs",
               "for a in \"$@\"; do [ \"$a\" = --dry-run ] && { echo '1 rows, about 1s'; exit 0; }; done\n"
               "echo kept > " +
                   folder.path("rows.csv") + "\nwhile true; do sleep 0.05; done\n");
    auto const run =
        run_sextant({"calibrate", "run", "--bench", hangs, "--out", folder.path("rows.csv"), "--time-limit", "0.3 s"});
    CHECK(run.code == 1);
    CHECK_THAT(run.err, contains("not finished within 0.3 s"));
    CHECK(read_text_file(folder.path("rows.csv")) == "kept\n");
    CHECK(run_sextant({"calibrate", "run", "--bench", hangs, "--out", folder.path("x.csv"), "--time-limit", "0 s"})
              .code == 2);
}

TEST_CASE("host profile: peak and bandwidth are the best of the rows, and rows that tell neither are refused") {
    std::string header;
    for (auto const column : bench_columns())
        header += (header.empty() ? "" : ",") + std::string(column);
    auto const row = [](std::string const& bench_name, std::string const& device, std::string const& kernel,
                        std::string const& sizes, std::string const& cache, std::string const& time,
                        std::string const& gbps) {
        return bench_name + ",host," + device + ",d,2026-01-01T00:00:00Z," + kernel + ",fp32," + sizes +
               ",,,,,,,,,,,," + cache + ",stream," + time + ",,,5,,,,,," + gbps + ",\n";
    };
    std::string const product = row("gemm", "Abacus 9", "eigen", "100,100,100", "hot", "100", "");
    std::string const stream = row("memory_bound", "Abacus 9", "adamw", "1000,1000,", "cold", "1000", "28");
    auto const profile = [&](std::string const& lines) {
        return cli::host_profile_json(parse_bench_rows(header + "\n" + lines, "rows.csv"),
                                      {.memory_bytes = 1e9, .cache_bytes = 8 << 20});
    };
    ScratchFolder const folder("host_profile");
    AcceleratorProfile const core = find_accelerator(folder.file("h.json", profile(product + stream)), "test");
    CHECK(core.name == "abacus-9");
    CHECK(core.peak_of(Precision::fp32).value.base() == Approx(2e6 / 100e-6));
    CHECK(core.memory_bandwidth.value.base() == Approx(28e9));
    CHECK(core.l2.value.base() == Approx(8 << 20));
    CHECK_THROWS_WITH(profile(stream), contains("no fp32 product"));
    CHECK_THROWS_WITH(profile(product), contains("no cold memory-bound kernel"));
    CHECK_THROWS_WITH(profile(product + row("gemm", "Other", "eigen", "1,1,1", "hot", "1", "")),
                      contains("a profile is of one processor"));
}

#ifndef __SANITIZE_ADDRESS__

TEST_CASE("collectives between processes of this machine are measured, fitted and predicted", "[long][measured]") {
    ScratchFolder const folder("host_collectives");
    auto const loop = [&](std::string const& attempt) {
        std::string const rows = folder.path("rows" + attempt + ".csv"),
                          cluster = folder.path("cluster" + attempt + ".json"),
                          network = folder.path("network" + attempt + ".json"),
                          tables = folder.path("tables" + attempt);
        auto const run = run_sextant({"calibrate", "run", "--bench", bench, "--backend", "host", "--bench-names",
                                      "gemm,memory_bound,collectives", "--out", rows, "--describe-cluster", cluster});
        INFO(run.err);
        REQUIRE(run.code == 0);
        CHECK(find_cluster(cluster, "test").domain_size >= 2);
        auto const fit =
            run_sextant({"calibrate", "fit", "--collectives", rows, "--cluster", cluster, "--out", network});
        INFO(fit.err);
        REQUIRE(fit.code == 0);
        REQUIRE(run_sextant({"calibrate", "import", rows, "--out", tables}).code == 0);
        std::string const table = tables + "/collectives.csv";
        auto const median = [&](std::vector<std::string> const& more) {
            std::vector<std::string> call{"validate", "collectives", table, "--profile", cluster, "--format", "json"};
            call.insert(call.end(), more.begin(), more.end());
            auto const validated = run_sextant(call);
            REQUIRE(validated.code == 0);
            return nlohmann::json::parse(validated.out).at("overall").at("time").at("median_ape_pct").get<double>();
        };
        double const before = median({});
        double const after = median({"--calibration", network});
        UNSCOPED_INFO("attempt " << attempt << ": median error before " << before << " %, after " << after << " %");
        return after < before && after < 100;
    };
    CHECK(holds_in_one_of_three(loop));
}

#endif

TEST_CASE("calibrate fit --kernels: what the rows do not have stays as the device's shipped calibration says") {
    ScratchFolder const folder("fit_kept");
    std::string const rows = SEXTANT_SOURCE_DIR "/tests/data/gemm_excerpt.csv", out = folder.path("out.json");
    auto const fit = run_sextant({"calibrate", "fit", "--kernels", rows, "--device", "h100-sxm", "--out", out});
    INFO(fit.err);
    REQUIRE(fit.code == 0);
    KernelCalibration const mine = read_kernel_calibration_file(out);
    KernelCalibration const& shipped = *find_accelerator("h100-sxm", "test").kernels;
    CHECK(mine.fits.size() >= shipped.fits.size());
    CHECK(mine.find(KernelKind::gemm, "bf16")->rows < shipped.find(KernelKind::gemm, "bf16")->rows);  // its own
    for (KernelFit const& theirs : shipped.fits) {
        if (theirs.kind == KernelKind::gemm) continue;
        INFO(name_of(theirs.kind) << " " << theirs.variant);
        KernelFit const* const kept = mine.find(theirs.kind, theirs.variant);
        REQUIRE(kept != nullptr);
        CHECK(kept->rows == theirs.rows);
        CHECK(kept->held_out.median_pct == Approx(theirs.held_out.median_pct));
    }
    CHECK(mine.sources.back() == "shipped calibration 'h100-sxm'");
    for (std::string const& source : shipped.sources)
        CHECK(std::count(mine.sources.begin(), mine.sources.end(), source) == 1);
    CHECK_THAT(fit.err, contains("kept from the shipped calibration 'h100-sxm'"));
    CHECK_THAT(fit.err, contains("rows that name a100-sxm-80gb are taken as those of h100-sxm, as --device says"));
}

TEST_CASE("calibrate run: one at a time writes the rows, and a killed one takes its benchmarks along") {
    ScratchFolder const folder("calibrate_killed");
    std::string const rows = folder.path("rows.csv"), seen = folder.path("pid");
    auto const endless =
        script(folder, "endless",
               "case \"$*\" in *--dry-run*) echo '9 rows, about 9s'; exit 0;; esac\n"
               "echo $$ > " +
                   seen + ".part\nmv " + seen + ".part " + seen + "\nwhile true; do sleep 0.05; done\n");
    pid_t const run = fork();
    if (run == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(SEXTANT_PROGRAM, SEXTANT_PROGRAM, "calibrate", "run", "--bench", endless.c_str(), "--out", rows.c_str(),
              nullptr);
        _exit(127);
    }
    auto const within = [](auto const& holds) {
        for (int i = 0; i < 3000 && !holds(); ++i)
            usleep(10'000);
        return holds();
    };
    REQUIRE(within([&] { return std::filesystem::exists(seen); }));
    pid_t const bench_process = std::stoi(read_text_file(seen));
    auto const second = run_sextant({"calibrate", "run", "--bench", endless, "--out", rows, "--resume"});
    CHECK(second.code == 2);
    CHECK_THAT(second.err, contains("another 'calibrate run', or its benchmarks, is writing it"));
    kill(run, SIGKILL);
    waitpid(run, nullptr, 0);
    CHECK(within([&] {
        std::ifstream state(fmt::format("/proc/{}/stat", bench_process));  // gone, or a zombie that nobody reaps here
        std::string line;
        std::getline(state, line);
        return line.empty() || line.find(") Z ") != std::string::npos;
    }));
}
