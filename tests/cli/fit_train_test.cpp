#include "core/csv.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <algorithm>
#include <cmath>
#include <string>

using namespace sextant;

namespace {

std::string const runs = SEXTANT_SOURCE_DIR "/docs/examples/my-runs.csv";  // six steps under PyTorch's FSDP on A100

/// The same as rows of a source that no shipped profile has seen.
std::string own_runs(ScratchFolder const& scratch) {
    std::string text = read_text_file(runs);
    for (std::size_t at = 0; (at = text.find("\nllm-foundry,", at)) != std::string::npos;)
        text.replace(at + 1, std::string("llm-foundry").size(), "my-cluster");
    write_text_file(scratch.path("own.csv"), text);
    return scratch.path("own.csv");
}

double gemm_scale(FrameworkProfile const& profile, char const* generation) {
    return timing_for(profile, generation, "bf16").gemm_scale.value;
}

}  // namespace

TEST_CASE("calibrate fit --train: one's own rows move the shipped profile, and what they say nothing of stays") {
    ScratchFolder const scratch("fit_train");
    std::string const out = scratch.path("mine.json");
    std::string const rows = scratch.path("rows.csv");
    RunResult const run = run_sextant(
        {"calibrate", "fit", "--train", own_runs(scratch), "--framework", "fsdp", "--out", out, "--rows", rows});
    INFO(run.err);
    REQUIRE(run.code == 0);
    CsvTable const predicted = read_csv(rows);
    CHECK(predicted.header ==
          std::vector<std::string>{"framework", "source_id", "row", "measured_s", "fitted_s", "left_out_s"});
    REQUIRE(predicted.records.size() == 6);
    CHECK(predicted.records.front().cells.at(2) == "own.csv line 2");
    for (CsvRecord const& record : predicted.records) {
        double const measured = std::stod(record.cells.at(3));
        // A fit that saw the row is not further off than one that saw none of its source, but for little.
        auto const off = [&](std::size_t column) {
            return std::abs(std::log(std::stod(record.cells.at(column)) / measured));
        };
        CHECK(off(4) < off(5) + 0.05);
    }
    CHECK(run_sextant({"calibrate", "fit", "--nccl-log", runs, "--out", out, "--rows", rows}).code == 2);
    FrameworkProfile const shipped = find_framework("fsdp", "test");
    FrameworkProfile const mine = find_framework(out, "test");
    CHECK(mine.timing.size() == shipped.timing.size());
    CHECK(gemm_scale(mine, "ampere") != Approx(gemm_scale(shipped, "ampere")).epsilon(1e-4));
    CHECK(gemm_scale(mine, "hopper") == Approx(gemm_scale(shipped, "hopper")).epsilon(1e-9));  // no row is of one
    CHECK(mine.timing.front().pp_overlap.value == Approx(shipped.timing.front().pp_overlap.value).epsilon(1e-3));
    CHECK(mine.timing.front().pp_overlap.source == shipped.timing.front().pp_overlap.source);
    CHECK(mine.interval.low <= shipped.interval.low);
    CHECK(mine.interval.high >= shipped.interval.high);
    CHECK_THAT(run.err, contains("leaving out each fifth of the layouts"));
    // Constants that rows moved beside others say so, and what the profile was fitted to before.
    std::string const source = timing_for(mine, "ampere", "bf16").gemm_scale.source;
    CHECK_THAT(source, contains("rows of"));
    CHECK_THAT(source, contains("my-cluster"));
    CHECK(run_sextant({"validate", "train", runs, "--profile", out}).code == 0);
    auto const steps = [](FrameworkProfile const& profile) {
        return timing_for(profile, "ampere", "bf16").steps.value_or(0);
    };
    CHECK(steps(mine) == steps(shipped) + 6);
}

TEST_CASE(
    "calibrate fit --train: a source that the shipped profile was fitted to cannot be left out, nor counted again") {
    ScratchFolder const scratch("fit_train_seen");
    std::string const out = scratch.path("mine.json");
    std::string const rows = scratch.path("rows.csv");
    RunResult const run =
        run_sextant({"calibrate", "fit", "--train", runs, "--framework", "fsdp", "--out", out, "--rows", rows});
    INFO(run.err);
    REQUIRE(run.code == 0);
    CHECK_THAT(run.err, contains("llm-foundry: the profile of fsdp that the fit begins with was fitted to it"));
    CHECK_THAT(run.out, !contains("of the rows left out"));
    for (CsvRecord const& record : read_csv(rows).records) {
        CHECK(std::stod(record.cells.at(4)) > 0);
        CHECK(record.cells.at(5).empty());
    }
    FrameworkProfile const shipped = find_framework("fsdp", "test");
    FrameworkProfile const mine = find_framework(out, "test");
    CHECK(timing_for(mine, "ampere", "bf16").steps == timing_for(shipped, "ampere", "bf16").steps);
    CHECK(mine.interval.rows == shipped.interval.rows);
}

TEST_CASE("calibrate fit --train: every row of the table is fitted or left out for a reason that is said") {
    ScratchFolder const scratch("fit_train_counts");
    std::string const text = read_text_file(runs);
    std::size_t const first = text.find('\n') + 1;
    std::string const row = text.substr(first, text.find('\n', first) + 1 - first);
    auto const with = [&](std::string const& from, std::string const& to) {
        std::string out = row;
        REQUIRE(out.find(from) != std::string::npos);
        return out.replace(out.find(from), from.size(), to);
    };
    std::string two = text.substr(0, first) + row + row;
    two += with("llm-foundry/Composer (PyTorch FSDP)", "Megatron-LM") +
           with("llm-foundry/Composer (PyTorch FSDP)", "Megatron-LM") + with("A100", "Abacus 100");
    write_text_file(scratch.path("five.csv"), two);
    RunResult const run = run_sextant({"calibrate", "fit", "--train", scratch.path("five.csv"), "--framework", "fsdp",
                                       "--out", scratch.path("mine.json")});
    INFO(run.err);
    REQUIRE(run.code == 0);
    CHECK_THAT(run.err, contains("fitting fsdp: 2 rows"));
    CHECK_THAT(run.err, contains("2 rows left out: of another framework"));
    CHECK_THAT(run.err, contains("1 rows left out: no profile for device"));
}

TEST_CASE("calibrate fit --train: of a few rows nothing is concluded, and that is said") {
    ScratchFolder const scratch("fit_train_few");
    std::string const text = read_text_file(runs);
    std::size_t end = 0;
    for (int line = 0; line < 3; ++line)
        end = text.find('\n', end) + 1;
    std::string two = text.substr(0, end);
    for (std::size_t at = 0; (at = two.find("\nllm-foundry,", at)) != std::string::npos;)
        two.replace(at, 13, "\nours,");  // a source that the profile was not fitted to
    write_text_file(scratch.path("two.csv"), two);
    std::string const out = scratch.path("mine.json");
    RunResult const run =
        run_sextant({"calibrate", "fit", "--train", scratch.path("two.csv"), "--framework", "fsdp", "--out", out});
    INFO(run.err);
    REQUIRE(run.code == 0);
    CHECK_THAT(run.err, contains("2 rows of fsdp are of 2 layouts, fewer than 5"));
    // What no fit changes, no row was fitted to: errors of both columns are those of the profile.
    auto const table = run_sextant({"calibrate", "fit", "--train", scratch.path("two.csv"), "--framework", "fsdp",
                                    "--out", out, "--rows", scratch.path("rows.csv")});
    REQUIRE(table.code == 0);
    CsvTable const rows = read_csv(scratch.path("rows.csv"));
    auto const at = rows.require({"fitted_s", "left_out_s"});
    REQUIRE(rows.records.size() == 2);
    for (CsvRecord const& record : rows.records)
        CHECK(record.cells[at[0]] == record.cells[at[1]]);
    CHECK(gemm_scale(find_framework(out, "test"), "ampere") ==
          Approx(gemm_scale(find_framework("fsdp", "test"), "ampere")));
    CHECK(run_sextant({"calibrate", "fit", "--train", runs, "--framework", "megatron", "--out", out}).code == 2);
    CHECK(run_sextant({"calibrate", "fit", "--train", runs, "--framework", "fsdb", "--out", out}).code == 2);
}

TEST_CASE("calibrate fit --train: copies of one step narrow no interval, and no layout of a long table is dropped") {
    ScratchFolder const scratch("fit_train_copies");
    std::string const text = read_text_file(own_runs(scratch));
    std::size_t const first = text.find('\n') + 1;
    std::size_t const second = text.find('\n', first) + 1;
    std::string const a = text.substr(first, second - first);
    std::string const b = text.substr(second, text.find('\n', second) + 1 - second);
    FrameworkProfile const shipped = find_framework("fsdp", "test");
    auto const fitted = [&](char const* name, std::string const& rows) {
        write_text_file(scratch.path(name), text.substr(0, first) + rows);
        RunResult const run = run_sextant({"calibrate", "fit", "--train", scratch.path(name), "--framework", "fsdp",
                                           "--out", scratch.path("out.json")});
        INFO(run.err);
        REQUIRE(run.code == 0);
        FrameworkProfile const mine = find_framework(scratch.path("out.json"), "test");
        CHECK(mine.interval.low <= shipped.interval.low);
        CHECK(mine.interval.high >= shipped.interval.high);
        return run.err;
    };
    std::string copies, both;
    for (int i = 0; i < 45; ++i) {
        if (i < 12) copies += a;
        both += a + b;
    }
    CHECK_THAT(fitted("copies.csv", copies), contains("12 rows of fsdp are of 1 layout, fewer than 5"));
    CHECK(gemm_scale(find_framework(scratch.path("out.json"), "test"), "ampere") ==
          Approx(gemm_scale(shipped, "ampere")));
    CHECK_THAT(fitted("both.csv", both), contains("fitting fsdp: 90 rows") && !contains("left out:"));
}

TEST_CASE("calibrate fit --train: the order of the rows decides nothing of what is left out") {
    ScratchFolder const scratch("fit_train_order");
    CsvTable const table = read_csv(own_runs(scratch));
    auto const left_out = [&](char const* name, auto const& records) {
        std::string text = csv_line(table.header);
        for (CsvRecord const& record : records)
            text += csv_line(record.cells);
        write_text_file(scratch.path(name), text);
        RunResult const run = run_sextant({"calibrate", "fit", "--train", scratch.path(name), "--framework", "fsdp",
                                           "--out", scratch.path("out.json"), "--rows", scratch.path("rows.csv")});
        INFO(run.err);
        REQUIRE(run.code == 0);
        std::vector<double> out;
        for (CsvRecord const& record : read_csv(scratch.path("rows.csv")).records)
            out.push_back(std::stod(record.cells.at(5)));
        std::sort(out.begin(), out.end());
        return out;
    };
    auto turned = table.records;
    std::rotate(turned.begin(), turned.begin() + 2, turned.end());
    auto const a = left_out("a.csv", table.records), b = left_out("b.csv", turned);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        CHECK(b[i] == Approx(a[i]).epsilon(1e-4));
}

TEST_CASE("calibrate fit --train: a source whose name no profile could list is refused") {
    ScratchFolder const scratch("fit_train_names");
    for (std::string const name : {"our lab, H100", "ours; then moved by hand"}) {
        std::string text = read_text_file(own_runs(scratch));
        for (std::size_t at = 0; (at = text.find("\nmy-cluster,", at)) != std::string::npos;)
            text.replace(at + 1, std::string("my-cluster").size(), "\"" + name + "\"");
        write_text_file(scratch.path("named.csv"), text);
        RunResult const run = run_sextant({"calibrate", "fit", "--train", scratch.path("named.csv"), "--framework",
                                           "fsdp", "--out", scratch.path("out.json")});
        CHECK(run.code == 2);
        CHECK_THAT(run.err, contains("named.csv line 2: source_id is '" + name + "'"));
    }
}

TEST_CASE("calibrate fit --train: times in another unit are left out, and a profile of one's own is the start") {
    ScratchFolder const scratch("fit_train_start");
    std::string const rows = own_runs(scratch);
    CsvTable const table = read_csv(rows);
    std::string slow = csv_line(table.header), in_ms = slow;
    constexpr double too_slow = 20;
    auto const at = static_cast<std::size_t>(std::find(table.header.begin(), table.header.end(), "iter_time_s") -
                                             table.header.begin());
    for (CsvRecord record : table.records) {
        for (std::size_t i = 0; i < record.cells.size(); ++i)
            if (table.header[i].starts_with("tokens_per_s") || table.header[i].find("tflops") != std::string::npos ||
                table.header[i] == "mfu_pct")
                record.cells[i].clear();
        record.cells[at] = std::to_string(too_slow * std::stod(record.cells[at]));
        slow += csv_line(record.cells);
        record.cells[at] = "1e9";
        in_ms += csv_line(record.cells);
    }
    auto const refused = [&](std::string const& text) {
        write_text_file(scratch.path("ms.csv"), text);
        RunResult const far = run_sextant({"calibrate", "fit", "--train", scratch.path("ms.csv"), "--framework", "fsdp",
                                           "--out", scratch.path("x.json")});
        CHECK(far.code == 2);
        return far.err;
    };
    CHECK_THAT(refused(slow), contains("6 of 6 rows are off by more than four times") &&
                                  contains("iter_time_s is in seconds of a whole step"));
    // What is left of a table that is of something else is not fitted: three of nine are too many, two of eight not.
    auto const mixed = [&](std::size_t wrong) {
        std::size_t end = 0;
        for (std::size_t line = 0; line <= wrong; ++line)
            end = slow.find('\n', end) + 1;
        std::string const all = read_text_file(rows);
        return slow.substr(0, end) + all.substr(all.find('\n') + 1);
    };
    CHECK_THAT(refused(mixed(3)), contains("3 of 9 rows are off by more than four times"));
    write_text_file(scratch.path("two.csv"), mixed(2));
    RunResult const two = run_sextant({"calibrate", "fit", "--train", scratch.path("two.csv"), "--framework", "fsdp",
                                       "--out", scratch.path("two.json")});
    CHECK(two.code == 0);
    CHECK_THAT(two.err, contains("2 rows left out: off by more than four times"));
    CHECK_THAT(two.out, contains("overall, before"));
    CHECK_THAT(refused(in_ms), contains("slower than 0.2 % of the peak: is the time in another unit?"));

    REQUIRE(run_sextant({"calibrate", "fit", "--train", rows, "--framework", "fsdp", "--out", scratch.path("a.json")})
                .code == 0);
    std::string own = read_text_file(scratch.path("a.json"));
    own.replace(own.find("\"fsdp\""), 6, "\"ours\"");
    write_text_file(scratch.path("ours.json"), own);
    RunResult const again = run_sextant({"calibrate", "fit", "--train", rows, "--framework", scratch.path("ours.json"),
                                         "--out", scratch.path("b.json")});
    INFO(again.err);
    REQUIRE(again.code == 0);
    CHECK(find_framework(scratch.path("b.json"), "test").name == "ours");
    CHECK(is_framework(find_framework(scratch.path("b.json"), "test"), "fsdp"));
    own.replace(own.find("\"family\": \"fsdp\""), 16, "\"family\": \"fsdb\"");
    write_text_file(scratch.path("typo.json"), own);
    CHECK_THROWS_WITH(find_framework(scratch.path("typo.json"), "test"),
                      contains("typo.json: family: unknown framework 'fsdb'") && contains("fsdp"));
    CHECK_THAT(again.err, contains("my-cluster: the profile of ours that the fit begins with was fitted to it"));
}
