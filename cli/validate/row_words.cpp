#include "cli/validate/row_words.hpp"

#include "core/measurements/row_cells.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace sextant::cli {

std::string row_place(CsvTable const& table, CsvRecord const& record) {
    return fmt::format("{} line {}", std::filesystem::path(table.name).filename().string(), record.line);
}

void name_row(ValidationKind kind, CsvTable const& table, CsvRecord const& record, ScoredRow& row) {
    row.where = row_place(table, record);
    if (!row.what.empty()) return;
    RowCells const cells(table, record);
    constexpr std::pair<char const*, char const*> train[] = {
        {"model", ""}, {"gpu", ""},   {"num_gpus", "gpus "}, {"dp", "dp "},
        {"tp", "tp "}, {"pp", "pp "}, {"micro_batch", "mb "}};
    constexpr std::pair<char const*, char const*> collective[] = {
        {"collective", ""}, {"size_bytes", "bytes "}, {"nranks", "ranks "}, {"gpu", ""}, {"run_id", ""}};
    constexpr std::pair<char const*, char const*> serving[] = {
        {"model", ""}, {"gpu", ""}, {"engine", ""}, {"tp", "tp "}, {"concurrency_or_batch", "batch "}};
    auto const add = [&](auto const& columns) {
        for (auto const& [column, word] : columns)
            if (std::string const cell = cells.text(column); !cell.empty())
                row.what += (row.what.empty() ? "" : ", ") + std::string(word) + cell;
    };
    if (kind == ValidationKind::train)
        add(train);
    else if (kind == ValidationKind::collectives)
        add(collective);
    else if (kind == ValidationKind::serving)
        add(serving);
}

std::string measured_words(WorstRow const& row) {
    return row.tokens_per_s ? fmt::format("{:.4g} tok/s", row.tokens_per_s->measured) : human(row.measured);
}

std::string predicted_words(WorstRow const& row) {
    return row.tokens_per_s ? fmt::format("{:.4g} tok/s", row.tokens_per_s->predicted) : human(row.predicted);
}

}  // namespace sextant::cli
