#pragma once

#include "calibrate/scaling/loss_table.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// Sizes and tokens in the unit that the name of their column says ("params_millions"), by part.
void scale_columns(LossTable& table, LossColumns const& columns, std::vector<std::string>& assumptions);

/// Adds what follows from C = 6 N D.
void derive_runs(LossTable& table, std::vector<std::string>& assumptions);

/// Sizes and tokens that are not in one unit: tokens per parameter that no run has.
void warn_of_units(LossTable const& table, std::vector<std::string>& warnings);

/// N, D and C that do not belong together: embeddings counted in one and not in the other, attention in C, or a mix.
void warn_of_counting(LossTable const& table, std::vector<std::string>& warnings);

/// The same of a compute column that the law does not read, where all its cells are numbers.
void check_unread_flops(CsvTable const& csv, LossColumns columns, std::vector<RowCondition> const& conditions,
                        std::vector<std::string>& warnings);

}  // namespace sextant::cli
