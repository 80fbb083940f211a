#include "cli/view/rows_csv.hpp"
#include "tests/cli/questions.hpp"
#include "tests/cli/report_checks.hpp"

#include <algorithm>

namespace {

/// The value at a dotted path, null where there is none.
Json value_at(Json value, std::string const& path) {
    std::istringstream keys(path);
    for (std::string key; std::getline(keys, key, '.');) {
        if (!value.is_object() || !value.contains(key)) return nullptr;
        value = Json(value.at(key));
    }
    return value;
}

}  // namespace

TEST_CASE("rows_csv: columns are the paths of all objects, lists and nulls are left out, texts are quoted") {
    std::string const report =
        R"({"rows": [{"a": {"b": 1.5, "list": [1, 2]}, "name": "x, y", "none": null}, {"a": {"b": 2, "c": true}}]})";
    CHECK(sextant::cli::rows_csv(report, "rows") == "row,a.b,name,none,a.c\n1,1.5,\"x, y\",,\n2,2,,,true\n");
    CHECK(sextant::cli::rows_csv(R"({"rows": []})", "rows") == "row\n");
    // What the report was asked stands in each row, but where that says it itself.
    std::string const asked =
        R"({"model": "m", "cluster": ["c", "d"], "seq": 8, "rows": [{"a": 1}, {"a": 2, "model": "n"}]})";
    CHECK(sextant::cli::rows_csv(asked, "rows") == "row,model,seq,a\n1,m,8,1\n2,n,8,2\n");
}

TEST_CASE("plan, serve estimate, serve plan, serve quality: CSV says to the last digit what JSON says",
          "[INV-12][long]") {
    struct Case {
        Arguments question;
        char const* list;
    };
    std::vector<Case> const cases{
        {{"plan", "-m", "mixtral-8x7b", "-c", "h100-sxm", "-n", "32", "--global-batch", "64", "--top", "7"},
         "candidates"},
        {{"plan", "-m", "llama-2-7b", "-c", "a100-sxm-80gb", "-n", "8", "--recompute", "selective", "--every-plan"},
         "candidates"},
        {{"plan", "-m", "llama-2-70b", "-c", "a100-sxm-80gb", "-n", "1"}, "candidates"},
        {{"serve", "estimate", "-m", "qwen3-30b-a3b", "-c", "h100-sxm"}, "rows"},
        {{"serve", "estimate", "-m", "llama-3.1-8b", "-c", "l40s-pcie", "--rate", "0.5,2,1000"}, "rows"},
        {{"serve", "estimate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--batch", "1,8"}, "rows"},
        {{"serve", "plan", "-m", "llama-3.1-8b", "-c", "h100-sxm,l40s-pcie", "--rate", "4", "--requests", "500"},
         "candidates"},
        {{"serve", "quality", "-m", "llama-3.1-8b", "-c", "a100-sxm-80gb"}, "choices"}};
    for (Case const& c : cases) {
        Json const json = Json::parse(run_sextant(c.question + Arguments{"--format", "json"}).out);
        auto const lines = lines_of(run_sextant(c.question + Arguments{"--format", "csv"}).out);
        Json const& list = json.at(c.list);
        REQUIRE(lines.size() == list.size() + 1);
        auto const header = csv_cells(lines[0]);
        for (std::size_t i = 0; i < list.size(); ++i) {
            auto const cells = csv_cells(lines[i + 1]);
            REQUIRE(cells.size() == header.size());
            CHECK(cells[0] == std::to_string(i + 1));
            for (std::size_t column = 1; column < header.size(); ++column) {
                Json const own = value_at(list[i], header[column]);
                Json const value = own.is_null() ? value_at(json, header[column]) : own;
                CAPTURE(c.question, i, header[column]);
                if (value.is_number())
                    CHECK(std::stod(cells[column]) == value.get<double>());
                else
                    CHECK(cells[column] == (value.is_null()     ? std::string()
                                            : value.is_string() ? value.get<std::string>()
                                                                : value.dump()));
            }
        }
    }
}
