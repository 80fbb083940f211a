#include "calibrate/scaling/loss_table.hpp"
#include "tests/catch.hpp"

using namespace sextant;

namespace {

CsvTable const& runs() {
    static CsvTable const table = parse_csv(
        "name,Size,tokens,val loss,router\n"
        "a,1e8,2e9,3.1,Dense\n"
        "b,2e8,,3.0,S-Base\n"
        "c,4e8,8e9,nan,Dense\n"
        "d,8e8,1.6e10,2.7,RL-R\n",
        "runs.csv");
    return table;
}

LossColumns const columns{{"parameters", "Size"}, {"tokens", "tokens"}, {"loss", "val loss"}};

}  // namespace

TEST_CASE("loss_table: rows without a value are left out and named") {
    LossTable const table = loss_table(runs(), columns, {}, {});
    CHECK(table.column("loss") == std::vector<double>{3.1, 2.7});
    CHECK(table.lines == std::vector<std::size_t>{2, 5});
    CHECK(table.missing == std::vector<std::string>{"line 3: tokens is missing", "line 4: val loss is missing"});
}

TEST_CASE("loss_table: conditions compare numbers as numbers and take alternatives") {
    auto const rows = [](char const* text) {
        return loss_table(runs(), {{"parameters", "Size"}}, {{"name", "name"}}, {row_condition_from(text, "t")})
            .texts.at("name");
    };
    CHECK(rows("Size=400000000") == std::vector<std::string>{"c"});
    CHECK(rows("Size<=2e8") == std::vector<std::string>{"a", "b"});
    CHECK(rows("router=Dense|RL-R") == std::vector<std::string>{"a", "c", "d"});
    CHECK(rows("router!=Dense") == std::vector<std::string>{"b", "d"});
    CHECK_THROWS_WITH(rows("router=none"), contains("no usable rows (4 in the file, 4 excluded"));
    CHECK_THROWS_WITH(row_condition_from("router<b", "--where"), contains("orders by a text"));
    CHECK_THROWS_WITH(row_condition_from("router", "--where"), contains("COLUMN=VALUE"));
}

TEST_CASE("loss_table: a bad cell is named by line and column, a missing column by what there is") {
    auto const with = [](char const* row) { return parse_csv(std::string("n,loss\n1e8,3\n") + row + "\n", "t.csv"); };
    LossColumns const parts{{"parameters", "n"}, {"loss", "loss"}};
    CHECK_THROWS_WITH(loss_table(with("1e9,abc"), parts, {}, {}),
                      contains("t.csv: line 3, column 'loss': 'abc' is not a number"));
    CHECK_THROWS_WITH(loss_table(with("1e9,-2"), parts, {}, {}),
                      contains("line 3, column 'loss': -2 (the loss must be above zero"));
    CHECK_THROWS_WITH(loss_table(with("0,2"), parts, {}, {}), contains("column 'n'"));
    CHECK_THROWS_WITH(loss_table(with("inf,2"), parts, {}, {}), contains("finite"));
    CHECK_THROWS_WITH(loss_table(with("1e9,2"), {{"loss", "los"}}, {}, {}), contains("did you mean 'loss'"));
}

TEST_CASE("usual_column finds the names that tables use") {
    CHECK(usual_column(runs(), "tokens") == "tokens");
    CHECK(usual_column(runs(), "parameters") == "Size");
    CHECK(usual_column(runs(), "flops").empty());
}
