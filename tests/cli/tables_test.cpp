#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace {

/// A table as CSV, by one thread. Each is made once, whichever cases read it.
std::string const& csv_of(std::string const& name) {
    static std::map<std::string, std::string> known;
    if (auto const found = known.find(name); found != known.end()) return found->second;
    RunResult const result = run_sextant({"tables", name, "--format", "csv", "--threads", "1"});
    REQUIRE(result.code == 0);
    return known[name] = result.out;
}

/// Its rows by column name.
std::vector<std::map<std::string, std::string>> rows_of(std::string const& name) {
    std::istringstream in(csv_of(name));
    std::vector<std::map<std::string, std::string>> rows;
    std::vector<std::string> header;
    for (std::string line; std::getline(in, line);) {
        std::vector<std::string> cells{""};
        bool quoted = false;
        for (char const c : line) {
            if (c == '"')
                quoted = !quoted;
            else if (c == ',' && !quoted)
                cells.emplace_back();
            else
                cells.back() += c;
        }
        if (header.empty()) {
            header = cells;
            continue;
        }
        REQUIRE(cells.size() == header.size());
        rows.emplace_back();
        for (std::size_t i = 0; i < cells.size(); ++i)
            rows.back()[header[i]] = cells[i];
    }
    return rows;
}

double value(std::map<std::string, std::string> const& row, std::string const& key) { return std::stod(row.at(key)); }

}  // namespace

TEST_CASE("training table: every row fits its memory and adds up, or says what is missing", "[long]") {
    auto const rows = rows_of("training");
    CHECK(rows.size() == 77);
    std::size_t fit = 0;
    for (auto const& row : rows) {
        INFO(row.at("model") << " on " << row.at("accelerators") << " " << row.at("cluster"));
        if (row.at("fits") == "no") {
            CHECK(!row.at("missing").empty());
            continue;
        }
        ++fit;
        CHECK(value(row, "peak_bytes") <= value(row, "usable_bytes"));
        double const parts = value(row, "weights_bytes") + value(row, "gradients_bytes") +
                             value(row, "optimizer_bytes") + value(row, "activations_bytes");
        CHECK(parts < value(row, "peak_bytes"));
        CHECK(value(row, "mfu") < 0.9);
        double const days = value(row, "tokens") / value(row, "tokens_per_s") / 86400;
        CHECK(std::abs(value(row, "days") - days) < 1e-4 * days);
    }
    CHECK(fit > 60);
}

TEST_CASE("training table: a row is what plan answers to the same question, whether it shows one plan or many",
          "[long]") {
    std::size_t asked = 0;
    for (auto const& row : rows_of("training")) {
        if (row.at("fits") == "no" || value(row, "accelerators") > 512) continue;
        INFO(row.at("model") << " on " << row.at("accelerators") << " " << row.at("cluster"));
        bool const tpu = row.at("cluster").starts_with("tpu");
        for (char const* top : {"1", "12"}) {
            RunResult const plan = run_sextant({"plan", "--model", row.at("model"), "--cluster", row.at("cluster"),
                                                "--gpus", row.at("accelerators"), "--seq", row.at("sequence"),
                                                "--global-batch", row.at("global_batch"), "--framework",
                                                tpu ? "maxtext" : "megatron", "--top", top, "--format", "json"});
            REQUIRE(plan.code == 0);
            auto const best = nlohmann::json::parse(plan.out).at("candidates").at(0).at("report");
            CHECK(value(row, "step_time_s") == Approx(best.at("iteration_time_s").get<double>()).epsilon(1e-5));
            CHECK(value(row, "peak_bytes") == Approx(best.at("memory").at("peak_bytes").get<double>()).epsilon(1e-5));
        }
        ++asked;
    }
    CHECK(asked > 30);
}

TEST_CASE("training table: the same for any number of threads", "[long]") {
    CHECK(csv_of("training") == run_sextant({"tables", "training", "--format", "csv", "--threads", "3"}).out);
}

TEST_CASE("schedules table: interleaving shortens the bubble and GPipe holds the most activations") {
    std::map<std::string, std::map<std::string, std::string>> by_way;
    for (auto const& row : rows_of("schedules"))
        by_way[row.at("way")] = row;
    CHECK(value(by_way["interleaved, 4 chunks"], "bubble_share") <
          value(by_way["interleaved, 2 chunks"], "bubble_share"));
    CHECK(value(by_way["interleaved, 2 chunks"], "bubble_share") < value(by_way["1f1b"], "bubble_share"));
    CHECK(value(by_way["gpipe"], "peak_bytes") > value(by_way["1f1b"], "peak_bytes"));
    CHECK(value(by_way["zb-h1"], "step_time_s") < value(by_way["1f1b"], "step_time_s"));
}

TEST_CASE("parallelism table: DDP holds the whole state, and three dimensions are never slower than what fits") {
    std::map<std::string, double> slowest;
    auto const rows = rows_of("parallelism");
    for (auto const& row : rows) {
        if (row.at("way").starts_with("DDP")) CHECK(value(row, "state_bytes") > 15e9);
        if (row.at("fits") != "yes") CHECK(!row.at("remark").empty());
    }
    for (auto const& row : rows)
        if (row.at("way").starts_with("3D"))
            for (auto const& other : rows)
                if (other.at("model") == row.at("model") && other.at("fits") == "yes" &&
                    other.at("framework") == "megatron")
                    CHECK(value(row, "step_time_s") <= value(other, "step_time_s") * (1 + 1e-9));
}

TEST_CASE("serving table: more requests at a time mean more tokens a second and more time per token") {
    auto const rows = rows_of("serving");
    for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
        if (rows[i].at("tpot_s").empty()) {
            CHECK(!rows[i].at("missing").empty());
            continue;
        }
        INFO(rows[i].at("model") << " " << rows[i].at("cluster"));
        if (rows[i + 1].at("tpot_s").empty()) continue;
        CHECK(value(rows[i + 1], "output_tokens_per_s") > value(rows[i], "output_tokens_per_s"));
        CHECK(value(rows[i + 1], "tpot_s") >= value(rows[i], "tpot_s"));
    }
}

TEST_CASE("tables writes a folder, and refuses what it does not know", "[long]") {
    ScratchFolder const folder("tables");
    CHECK(run_sextant({"tables", "schedules", "--output", folder.path("new/tables")}).code == 0);
    CHECK(std::filesystem::exists(folder.path("new/tables/schedules.md")));
    CHECK(std::filesystem::exists(folder.path("new/tables/schedules.csv")));
    std::ofstream(folder.path("file")) << "x";
    CHECK(run_sextant({"tables", "schedules", "--output", folder.path("file")}).code == 2);
    CHECK_THAT(run_sextant({"tables", "schedule"}).err, contains("did you mean 'schedules'"));
    CHECK(run_sextant({"tables", "--format", "csv"}).code == 2);
    CHECK(run_sextant({"tables", "--format", "json"}).code == 2);
    CHECK(run_sextant({"tables", "--threads", "-1"}).code == 2);
}
