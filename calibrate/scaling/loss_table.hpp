#pragma once

#include "core/csv.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// A condition on a cell: "count=standard", "router=Dense|S-Base" (one of them), "flops<1e21"; numbers are compared as
/// numbers.
struct RowCondition {
    std::string column;
    std::string operation;  ///< = != < <= > >=
    std::string value;
};
/// @throws InputError: no operation, or an order asked of a text.
RowCondition row_condition_from(std::string_view text, std::string_view where);

/// Which column plays which part: "parameters" -> "params".
using LossColumns = std::map<std::string, std::string>;

/// Columns of a table by what they mean, row by row.
struct LossTable {
    std::string name;
    std::map<std::string, std::vector<double>> columns;     ///< by part; all of the same length
    std::vector<std::size_t> lines;                         ///< of the file, one per row
    std::map<std::string, std::vector<std::string>> texts;  ///< columns asked for as they are, by part
    std::size_t left_out = 0;                               ///< rows that a condition excluded
    std::vector<std::string> missing;                       ///< "line 7: loss is empty": rows without a value

    [[nodiscard]] std::size_t rows() const { return lines.size(); }
    [[nodiscard]] std::vector<double> const& column(std::string const& part) const { return columns.at(part); }
    [[nodiscard]] bool has(std::string const& part) const { return columns.count(part) != 0; }
};

/// Values of the named columns of the rows that meet all conditions. A row where one is empty, NaN or NA is left out
/// and listed in `missing`.
/// @param texts columns whose cells are wanted as text (groups).
/// @throws InputError: a column that is not there (naming the nearest), a cell that is no number or is not above zero
/// (with line and column).
LossTable loss_table(CsvTable const& table, LossColumns const& columns, LossColumns const& texts,
                     std::vector<RowCondition> const& conditions);

/// The column that a table probably means for a part, by its usual names, or an empty text.
std::string usual_column(CsvTable const& table, std::string_view part);

}  // namespace sextant
