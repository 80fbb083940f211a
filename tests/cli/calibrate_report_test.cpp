#include "cli/calibrate/report.hpp"

#include "cli/calibrate/calibration_times.hpp"
#include "cli/calibrate/diff.hpp"
#include "cli/page/html_text.hpp"
#include "cli/page/plotting_library.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

using namespace sextant;
using namespace sextant::cli;

namespace {

std::string const profiles = SEXTANT_SOURCE_DIR "/hardware_profiles/";
std::string const data = SEXTANT_SOURCE_DIR "/tests/data/";

nlohmann::json report(std::vector<std::string> arguments) {
    std::vector<std::string> call{"calibrate", "report", "--format", "json"};
    call.insert(call.end(), arguments.begin(), arguments.end());
    auto const run = run_sextant(call);
    INFO(run.err);
    REQUIRE(run.code == 0);
    return nlohmann::json::parse(run.out);
}

nlohmann::json diff(std::string const& a, std::string const& b) {
    auto const run = run_sextant({"calibrate", "diff", a, b, "--format", "json"});
    INFO(run.err);
    REQUIRE(run.code == 0);
    return nlohmann::json::parse(run.out);
}

}  // namespace

TEST_CASE("calibrate report: what every shipped file says of itself is read back") {
    for (char const* folder : {"calibrations/kernels", "calibrations/networks", "frameworks"})
        for (auto const& entry : std::filesystem::directory_iterator(profiles + folder)) {
            INFO(entry.path());
            auto const json = report({entry.path().string()});
            CHECK(json.at("constants").size() > 10);
            CHECK(json.at("groups").empty());
            for (auto const& line : json.at("held_out")) {
                CHECK(line.at("interval").at("low").get<double>() <= 1);
                CHECK(line.at("interval").at("high").get<double>() >= 1);
            }
            for (char const* format : {"text", "markdown"})
                CHECK(run_sextant({"calibrate", "report", entry.path().string(), "--format", format}).code == 0);
        }
}

TEST_CASE("calibrate report: rows that were held out and rows that were fitted are scored apart, and add up") {
    auto const json = report({profiles + "calibrations/kernels/h100-sxm.json", "--rows", data + "gemm_excerpt.csv",
                              "--rows", data + "attention_excerpt.csv"});
    auto const count = [](nlohmann::json const& e) { return e.is_null() ? 0 : e.at("n").get<int>(); };
    auto const& groups = json.at("groups");
    REQUIRE(groups.at(0).at("group") == "all rows");
    int const held_out = count(groups[0].at("held_out"));
    int const fitted = count(groups[0].at("fitted"));
    CHECK(held_out > 5);
    CHECK(fitted > 50);
    // Rows of other devices say nothing of the file.
    CHECK(run_sextant({"calibrate", "report", profiles + "calibrations/kernels/h100-sxm.json", "--rows",
                       data + "gemm_excerpt.csv"})
              .out.find("of another device than the calibration (a100-sxm-80gb)") != std::string::npos);
    for (char const* by : {"op", "op and format", "predicted time"}) {
        int all = 0;
        for (auto const& group : groups)
            if (group.at("by") == by) all += count(group.at("held_out")) + count(group.at("fitted"));
        CHECK(all == held_out + fitted);
    }
    int binned = 0;
    for (auto const& bin : json.at("histogram").at("bins"))
        binned += bin.at("rows").get<int>();
    CHECK(binned == held_out);
    CHECK(json.at("worst").size() == 10);
    for (auto const& row : json.at("worst"))
        CHECK_FALSE(row.at("reason").get<std::string>().empty());
}

TEST_CASE("calibrate report: plots are written, a file of another format and options without rows are refused") {
    ScratchFolder const folder("report");
    std::string const calibration = profiles + "calibrations/kernels/l40s.json";
    CHECK(run_sextant(
              {"calibrate", "report", calibration, "--rows", data + "gemm_excerpt.csv", "--plots", folder.path("p")})
              .code == 0);
    CHECK(std::filesystem::exists(folder.path("p") + "/overall.svg"));
    CHECK(run_sextant({"calibrate", "report", calibration, "--plots", folder.path("p")}).code == 2);
    CHECK(run_sextant({"calibrate", "report", profiles + "accelerators/l40s.json"}).code == 2);
    CHECK(run_sextant({"calibrate", "report", folder.file("bad.json", "{\"format\": ")}).code == 2);
    CHECK(run_sextant({"calibrate", "report", profiles + "calibrations/networks/h100-nvswitch.json", "--rows",
                       data + "collectives_excerpt.csv"})
              .code == 0);
}

TEST_CASE(
    "calibrate report: the page has the groups, worst rows and figures of its JSON, csv has a row per group and "
    "split") {
    std::vector<std::string> const rows{profiles + "calibrations/kernels/h100-sxm.json", "--rows",
                                        data + "gemm_excerpt.csv", "--rows", data + "attention_excerpt.csv"};
    auto const call = [&](std::string const& format, std::vector<std::string> const& arguments) {
        std::vector<std::string> all{"calibrate", "report", "--format", format};
        all.insert(all.end(), arguments.begin(), arguments.end());
        return run_sextant(all);
    };
    auto const json = report(rows);
    std::string const csv = call("csv", rows).out;
    std::size_t splits = 0;
    for (auto const& group : json.at("groups"))
        for (char const* split : {"held_out", "fitted", "other"})
            splits += group.at(split).is_null() ? 0 : 1;
    CHECK(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')) == 1 + splits);
    CHECK(call("csv", {rows.front()}).code == 0);
    auto const page = call("html", rows);
    if (plotting_library().empty()) {
        CHECK(page.code == 3);
        return;
    }
    REQUIRE(page.code == 0);
    std::string const tables = page.out.substr(0, page.out.find("<script nonce"));
    for (auto const& group : json.at("groups")) {
        INFO(group);
        CHECK_THAT(tables, contains("<td>" + html(group.at("group").get<std::string>()) + "</td>"));
        auto const& held_out = group.at("held_out");
        if (held_out.is_null()) continue;
        for (char const* figure : {"median_ape_pct", "p90_ape_pct"})
            CHECK_THAT(tables, contains(fmt::format(">{:.1f}</td>", held_out.at(figure).get<double>())));
    }
    for (auto const& row : json.at("worst"))
        CHECK_THAT(tables, contains(html(row.at("row").get<std::string>())));
    for (char const* title :
         {"by what the fit saw", "by what the rows are", "How large the errors are", "Signed errors"})
        CHECK_THAT(tables, contains(title));
    // Without rows it is what the file says of itself.
    for (char const* file : {"calibrations/kernels/class-any.json", "calibrations/networks/h100-nvswitch.json",
                             "frameworks/megatron.json"}) {
        INFO(file);
        auto const own = call("html", {profiles + file});
        CHECK(own.code == 0);
        CHECK_THAT(own.out, contains("<h2>Constants</h2>"));
    }
}

TEST_CASE("error_histogram: every error is in one bin") {
    auto const bins = error_histogram({-99, -50, -3, -2, 0, 1.99, 2, 49, 1000});
    std::size_t rows = 0;
    for (ErrorBin const& bin : bins)
        rows += bin.rows;
    CHECK(rows == 9);
    CHECK(bins.front().rows == 1);
    CHECK(bins.back().rows == 1);
}

TEST_CASE("calibrate diff: a file does not differ from itself, and its times are the same") {
    for (char const* file : {"calibrations/kernels/h100-sxm.json", "calibrations/kernels/class-any.json",
                             "calibrations/networks/h100-nvswitch.json", "frameworks/megatron.json"}) {
        INFO(file);
        auto const json = diff(profiles + file, profiles + file);
        CHECK(json.at("differences").empty());
        CHECK(json.at("constants_in_both").get<int>() > 10);
        CHECK_FALSE(json.at("times").empty());
        for (auto const& time : json.at("times")) {
            CHECK(time.at("ratio_least") == 1.0);
            CHECK(time.at("ratio_largest") == 1.0);
        }
    }
}

TEST_CASE("calibrate diff: one changed constant is the one that is named, and the times follow it") {
    ScratchFolder const folder("diff");
    KernelCalibration changed = read_kernel_calibration_file(profiles + "calibrations/kernels/h100-sxm.json");
    KernelFit& fit = changed.fits.front();
    REQUIRE(fit.kind == KernelKind::gemm);
    auto const efficiency = static_cast<std::size_t>(GemmConstant::efficiency);
    fit.constants[efficiency] *= 0.5;
    std::string const file = folder.file("changed.json", kernel_calibration_json(changed));
    auto const json = diff(profiles + "calibrations/kernels/h100-sxm.json", file);
    REQUIRE(json.at("differences").size() == 1);
    CHECK(json.at("differences")[0].at("constant") == "efficiency");
    CHECK(json.at("differences")[0].at("ratio").get<double>() == Approx(0.5).epsilon(1e-3));
    for (auto const& time : json.at("times")) {
        bool const same_fit = time.at("of") == "gemm " + fit.variant;
        // Half the rate at most doubles a time, and leaves the other kernels alone.
        CHECK(time.at("ratio_largest").get<double>() <= 2.0 + 1e-6);
        CHECK((time.at("ratio_largest").get<double>() > 1.5) == same_fit);
    }
    CHECK_THAT(run_sextant({"calibrate", "diff", file, file, "--format", "markdown"}).out, contains("0 differ"));
}

TEST_CASE("calibrate diff: files of different formats are refused, fits that only one has are listed") {
    std::string const kernels = profiles + "calibrations/kernels/a100-sxm-80gb.json";
    CHECK(run_sextant({"calibrate", "diff", kernels, profiles + "frameworks/megatron.json"}).code == 2);
    CHECK(run_sextant({"calibrate", "diff", kernels, kernels, "--on", "no-such-device"}).code == 2);
    auto const json = diff(kernels, profiles + "calibrations/kernels/h100-sxm.json");
    bool one_sided = false;
    for (auto const& d : json.at("differences"))
        one_sided = one_sided || d.at("first").is_null() || d.at("second").is_null();
    CHECK(one_sided);
}

TEST_CASE("calibrate diff: constants of another device than that of the times are said to be") {
    std::string const h100 = profiles + "calibrations/kernels/h100-sxm.json";
    std::string const h200 = profiles + "calibrations/kernels/h200-sxm.json";
    std::string const any = profiles + "calibrations/kernels/class-any.json";
    std::string const hopper = profiles + "calibrations/kernels/class-hopper.json";
    std::string const network = profiles + "calibrations/networks/h100-nvswitch.json";
    auto const notes = [](std::string const& a, std::string const& b, std::string const& on) {
        std::vector<std::string> call{"calibrate", "diff", a, b};
        if (!on.empty()) call.insert(call.end(), {"--on", on});
        auto const run = run_sextant(call);
        INFO(run.err);
        CHECK(run.code == 0);
        std::size_t count = 0;
        for (std::size_t at = 0; (at = run.out.find("\nNote: ", at)) != std::string::npos; ++at)
            ++count;
        return count;
    };
    CHECK(notes(h100, h100, "") == 0);
    CHECK(notes(h100, h200, "") == 1);  // the times are of the first one's device
    CHECK(notes(h100, h200, "l40s") == 2);
    CHECK(notes(any, hopper, "h100-sxm") == 0);
    CHECK(notes(any, hopper, "l40s") == 1);
    CHECK(notes(network, network, "a100-sxm-80gb") == 2);
    CHECK(notes("megatron", profiles + "frameworks/megatron.json", "l40s") == 0);
    CHECK_THAT(run_sextant({"calibrate", "diff", h100, h100, "--on", "l40s"}).out,
               contains("h100-sxm (first) was fitted to h100-sxm: on l40s its times are a guess"));
    CHECK(diff(h100, h200).at("notes").size() == 1);
}

TEST_CASE("calibrate diff: the name of what ships stands for its file, on either side") {
    for (auto const& [name, file] : {std::pair{"h100-sxm", "calibrations/kernels/h100-sxm.json"},
                                     {"h100-sxm", "calibrations/networks/h100-infiniband.json"},
                                     {"h100-infiniband", "calibrations/networks/h100-infiniband.json"},
                                     {"megatron", "frameworks/megatron.json"}}) {
        INFO(name);
        CHECK(diff(name, profiles + file).at("differences").empty());
        CHECK(diff(profiles + file, name).at("differences").empty());
    }
    auto const unknown = run_sextant({"calibrate", "diff", "h10-sxm", profiles + "calibrations/kernels/h100-sxm.json"});
    CHECK(unknown.code == 2);
    CHECK_THAT(unknown.err, contains("did you mean 'h100-sxm'"));
    auto const names = run_sextant({"calibrate", "diff", "h100-sxm", "a100-sxm-80gb"});
    CHECK(names.code == 2);
    CHECK_THAT(names.err, contains("neither 'h100-sxm' nor 'a100-sxm-80gb' is a file"));
}

TEST_CASE("calibrate report: rows without a score are listed with the reason, and nothing is shown of no rows") {
    ScratchFolder const folder("report_unscored");
    std::string const rows = folder.file("rows.csv",
                                         "gpu,nodes,gpus_per_node,nranks,inter_link,collective,size_bytes,time_us_oop\n"
                                         "Abacus 3000,2,8,16,8x400G IB NDR,all_reduce,1048576,80\n");
    std::string const file = profiles + "calibrations/networks/h100-infiniband.json";
    auto const text = run_sextant({"calibrate", "report", file, "--rows", rows});
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("no profile for device 'Abacus 3000'"));
    CHECK_THAT(text.out, !contains("Errors of rows"));
    auto const json = report({file, "--rows", rows});
    REQUIRE(json.at("not_scored").size() == 1);
    CHECK(json.at("not_scored")[0].at("rows") == 1);
}

TEST_CASE("calibrate report, validate kernels: constants that were fitted with another data sheet are warned of") {
    ScratchFolder const folder("report_sheet");
    KernelCalibration file = read_kernel_calibration_file(profiles + "calibrations/kernels/h100-sxm.json");
    std::string const rows = data + "gemm_excerpt.csv";
    for (std::int64_t const multiprocessors : {132, 120}) {
        file.sheet = sheet_of(find_accelerator("h100-sxm", "test"));
        file.sheet->multiprocessors = multiprocessors;
        std::string const path = folder.file("mine.json", kernel_calibration_json(file));
        auto const warned = contains("warning: kernels on h100-sxm: fitted with another data sheet");
        for (auto const& run : {run_sextant({"calibrate", "report", path, "--rows", rows}),
                                run_sextant({"validate", "kernels", rows, "--calibration", path})}) {
            CHECK(run.code == 0);
            if (multiprocessors == 132)
                CHECK_THAT(run.err, !warned);
            else
                CHECK_THAT(run.err, warned);
        }
    }
}

TEST_CASE("calibrate report: the interval of a fit is that among its rows, what holds beyond them stands apart") {
    ScratchFolder const folder("report_beyond");
    KernelCalibration file = read_kernel_calibration_file(profiles + "calibrations/kernels/h100-sxm.json");
    file.fits.resize(1);
    KernelFit& fit = file.fits.front();
    fit.outside = {0.7, 4.98};
    fit.intervals = {{0, fit.outside}, {3e-6, {0.81, 1.11}}, {1e-5, {0.88, 1.2}}, {5e-3, fit.outside}};
    auto const line = [&] {
        return report({folder.file("mine.json", kernel_calibration_json(file))}).at("held_out").at(0);
    };
    CHECK(line().at("interval").at("low") == 0.81);
    CHECK(line().at("interval").at("high") == 1.2);
    CHECK(line().at("beyond").at("high") == 4.98);
    CHECK_THAT(run_sextant({"calibrate", "report", folder.path("mine.json")}).out,
               contains("0.81 to 1.20") && contains("0.70 to 4.98"));
    fit.intervals = {{0, {0.9, 1.3}}};
    CHECK(line().at("interval").at("high") == 1.3);
}
