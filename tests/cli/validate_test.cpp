#include "cli/validate/page_blocks.hpp"
#include "cli/validate/view.hpp"
#include "core/csv.hpp"
#include "core/json/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>

using namespace sextant;

namespace {

std::string const excerpt = SEXTANT_SOURCE_DIR "/tests/data/train_excerpt.csv";

/// A file name in a folder of this test, removed with it.
struct Scratch {
    std::filesystem::path folder = std::filesystem::temp_directory_path() / "sextant_validate_test";
    Scratch() { std::filesystem::create_directories(folder); }
    ~Scratch() { std::filesystem::remove_all(folder); }
    [[nodiscard]] std::string file(char const* name) const { return (folder / name).string(); }
};

}  // namespace

TEST_CASE("validate train: the JSON report has the scores of every source and adds up") {
    RunResult const run = run_sextant({"validate", "train", excerpt, "--format", "json"});
    REQUIRE(run.code == 0);
    auto const json = nlohmann::json::parse(run.out);
    CHECK(json.at("version") == 1);
    std::size_t n = 0;
    std::size_t scored = 0;
    for (auto const& source : json.at("sources")) {
        n += source.at("n").get<std::size_t>();
        scored += source.at("time").at("n").get<std::size_t>();
        for (char const* key : {"n", "mape_pct", "median_ape_pct", "p90_ape_pct", "bias_pct"})
            CHECK(source.at("memory").contains(key));
        for (char const* key : {"n", "accuracy_pct", "missed", "false_alarms"})
            CHECK(source.at("oom").contains(key));
        std::size_t reasons = 0;
        for (auto const& reason : source.at("skip_reasons"))
            reasons += reason.at("rows").get<std::size_t>();
        CHECK(reasons == source.at("skipped").get<std::size_t>());
    }
    CHECK(n == json.at("overall").at("n").get<std::size_t>());
    CHECK(scored == json.at("overall").at("time").at("n").get<std::size_t>());
    CHECK(run_sextant({"validate", "train", excerpt, "--format", "json"}).out == run.out);
}

TEST_CASE("validate train: a file given twice counts twice and scores the same") {
    auto const once =
        nlohmann::json::parse(run_sextant({"validate", "train", excerpt, "--format", "json"}).out).at("overall");
    auto const twice =
        nlohmann::json::parse(run_sextant({"validate", "train", excerpt, excerpt, "--format", "json"}).out)
            .at("overall");
    CHECK(twice.at("n").get<int>() == 2 * once.at("n").get<int>());
    CHECK(twice.at("time").at("mape_pct").get<double>() == Approx(once.at("time").at("mape_pct").get<double>()));
}

TEST_CASE("validate train: --rows repeats every input cell and appends the prediction") {
    Scratch const scratch;
    std::string const out = scratch.file("rows.csv");
    REQUIRE(run_sextant({"validate", "train", excerpt, "--rows", out}).code == 0);
    CsvTable const input = read_csv(excerpt);
    CsvTable const rows = read_csv(out);
    auto const added = rows.require({"pred_iter_time_s", "pred_peak_mem_gb_per_gpu", "pred_fits", "pred_low",
                                     "pred_high", "skip_reason", "not_scored_reason"});
    std::size_t not_scored = 0;
    for (auto const& record : rows.records)
        not_scored += record.cells[added[6]].empty() ? 0 : 1;
    std::size_t counted = 0;
    auto const json = nlohmann::json::parse(run_sextant({"validate", "train", excerpt, "--format", "json"}).out);
    for (auto const& reason : json.at("overall").at("time_not_scored"))
        counted += reason.at("rows").get<std::size_t>();
    CHECK(counted > 0);
    CHECK(not_scored == counted);
    CHECK(added.front() == input.header.size());
    REQUIRE(rows.records.size() == input.records.size());
    for (std::size_t i = 0; i < rows.records.size(); ++i) {
        auto const& cells = rows.records[i].cells;
        CHECK(std::equal(input.records[i].cells.begin(), input.records[i].cells.end(), cells.begin()));
        CHECK(cells[added[5]].empty() == !cells[added[1]].empty());
        if (cells[added[0]].empty()) continue;
        CHECK(std::stod(cells[added[3]]) < std::stod(cells[added[0]]));
        CHECK(std::stod(cells[added[0]]) < std::stod(cells[added[4]]));
    }
}

TEST_CASE("validate train: --max-median decides the exit code") {
    CHECK(run_sextant({"validate", "train", excerpt, "--max-median", "90"}).code == 0);
    RunResult const strict = run_sextant({"validate", "train", excerpt, "--max-median", "0.01"});
    CHECK(strict.code == 1);
    CHECK_THAT(strict.err, contains("median error of time"));
    CHECK(run_sextant({"validate", "train", excerpt, "--max-median", "-3"}).code == 2);
}

TEST_CASE("validate train: a profile replaces the constants of every row") {
    std::string const usual = run_sextant({"validate", "train", excerpt, "--format", "csv"}).out;
    std::string const other =
        run_sextant({"validate", "train", excerpt, "--format", "csv", "--profile", "generic"}).out;
    CHECK(usual != other);
    CHECK(run_sextant({"validate", "train", excerpt, "--profile", "no-such-framework"}).code == 2);
}

TEST_CASE("validate train: bad input is one sentence and nothing is written") {
    Scratch const scratch;
    std::string const bad = scratch.file("bad.csv");
    std::string const out = scratch.file("rows.csv");
    auto const fails = [&](std::string const& text, std::string const& expected) {
        write_text_file(bad, text);
        RunResult const run = run_sextant({"validate", "train", bad, "--rows", out});
        CHECK(run.code == 2);
        CHECK(run.out.empty());
        CHECK_THAT(run.err, contains(expected));
        CHECK_FALSE(std::filesystem::exists(out));
    };
    fails("", "empty");
    fails("a,b\n1,2\n", "the header lacks");
    fails("source_id,model\nx,\"y\n", "never closed");
    std::string const text = read_text_file(excerpt);
    fails(text.substr(0, text.find('\n') + 40), "the header has");
    CHECK(run_sextant({"validate", "train", scratch.file("missing.csv")}).code == 2);
    CHECK(run_sextant({"validate", "train"}).code == 2);
    CHECK(run_sextant({"validate", "nothing", excerpt}).code == 2);
}

TEST_CASE("validate train: every format is written, and the table lists every source") {
    for (char const* format : {"text", "csv", "markdown"}) {
        RunResult const run = run_sextant({"validate", "train", excerpt, "--format", format});
        CHECK(run.code == 0);
        CHECK_THAT(run.out, contains("megatron-sc21-table1"));
        CHECK_THAT(run.out, contains("overall"));
    }
}

TEST_CASE("validate: the rows that are off most have columns for their split and reason only where one has any") {
    WorstRow plain;
    plain.where = "runs.csv, line 3";
    plain.measured = 1 * units::s;
    plain.predicted = 2 * units::s;
    WorstRow split = plain;
    split.split = "fitted";
    auto const headers = [](cli::PageTable const& table) {
        std::string names;
        for (cli::PageColumn const& column : table.columns)
            names += column.header + ",";
        return names;
    };
    cli::PageTable const without = cli::worst_page_table({plain, plain});
    CHECK(headers(without) == "row,what,measured,predicted,error %,");
    CHECK(without.rows.front().size() == 5);
    cli::PageTable const with = cli::worst_page_table({plain, split});
    CHECK(headers(with) == "row,what,measured,predicted,error %,split,");
    CHECK(with.rows.back().back().text == "fitted");
    Validation validation;
    validation.worst = {plain};
    for (cli::Format const format : {cli::Format::text, cli::Format::markdown}) {
        CHECK_THAT(cli::validation_report(validation, format), !contains("split  ") && !contains("| split |"));
        CHECK_THAT(cli::validation_report(validation, format), contains("runs.csv, line 3"));
    }
}

TEST_CASE("validate: what errors and intervals are is a paragraph each, in text of 100 columns as in Markdown") {
    for (ValidationKind const kind :
         {ValidationKind::train, ValidationKind::kernels, ValidationKind::collectives, ValidationKind::serving}) {
        Validation validation;
        validation.kind = kind;
        std::string const note = cli::interval_note(kind);
        CAPTURE(note);
        CHECK(note.find('\n') == std::string::npos);
        std::string const text = cli::validation_report(validation, cli::Format::text);
        CHECK_THAT(text, contains("\n\n" + cli::wrapped(note, "")));
        std::string const markdown = cli::validation_report(validation, cli::Format::markdown);
        CHECK_THAT(markdown, contains("\n\n" + cli::wrapped(note, "", 120) + "\n## Columns"));
    }
}

TEST_CASE("validate: a report of an interrupted validation says so in every format for people, and in JSON") {
    Validation whole;
    whole.overall.n = 518;
    Validation part = whole;
    part.interrupted = true;
    for (cli::Format const format : {cli::Format::text, cli::Format::markdown}) {
        CHECK_THAT(cli::validation_report(part, format), contains("Interrupted after 518 rows"));
        CHECK_THAT(cli::validation_report(whole, format), !contains("Interrupted"));
    }
    CHECK(nlohmann::json::parse(cli::validation_report(part, cli::Format::json)).at("interrupted") == true);
    CHECK(nlohmann::json::parse(cli::validation_report(whole, cli::Format::json)).at("interrupted") == false);
}
