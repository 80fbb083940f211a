#pragma once

#include "planner/validation/serving_case.hpp"
#include "planner/validation/serving_row.hpp"
#include "planner/validation/serving_validation.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {

/// Cells by column; those that are not there are empty.
using Cells = std::map<std::string, std::string>;

inline Cells const usual_cells{{"source_id", "test"},
                               {"model", "meta-llama/Meta-Llama-3-8B"},
                               {"gpu", "H100 80GB HBM3"},
                               {"num_gpus", "1"},
                               {"tp", "1"},
                               {"engine", "vLLM"},
                               {"input_len", "512"},
                               {"output_len", "128"},
                               {"concurrency_or_batch", "16"}};

inline CsvTable table_of(std::vector<Cells> const& rows) {
    CsvTable table;
    table.name = "rows.csv";
    for (auto const column : serving_columns())
        table.header.emplace_back(column);
    for (Cells const& cells : rows) {
        CsvRecord record{.line = table.records.size() + 2, .cells = {}};
        for (std::string const& column : table.header)
            record.cells.push_back(cells.contains(column) ? cells.at(column) : "");
        table.records.push_back(std::move(record));
    }
    return table;
}

inline Cells with(Cells cells, Cells const& others) {
    for (auto const& [key, value] : others)
        cells[key] = value;
    return cells;
}

inline RowPrediction predicted(Cells const& others) {
    ServingPredictor predictor;
    return predictor.predict(table_of({with(usual_cells, others)})).front().prediction;
}

inline double throughput(Cells const& others) {
    auto const p = predicted(others);
    INFO(p.skip_reason);
    REQUIRE(p.served[2].predicted.has_value());
    return *p.served[2].predicted;
}

/// A row that is `usual_cells` but for these, as the predictor takes it.
inline ServedCase case_of(Cells const& others) {
    auto const table = table_of({with(usual_cells, others)});
    return served_case(serving_row(RowCells(table, table.records.front())), nullptr);
}

inline bool assumes(std::vector<std::string> const& assumptions, std::string_view words) {
    return std::any_of(assumptions.begin(), assumptions.end(),
                       [&](std::string const& line) { return line.find(words) != std::string::npos; });
}

}  // namespace sextant
