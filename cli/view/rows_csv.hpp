#pragma once

#include <string>
#include <string_view>

namespace sextant::cli {

/// A list of objects of a JSON report as CSV, so that the two say the same to the last digit:
///
///     row,model,cluster,plan.tp,plan.schedule,report.iteration_time_s,report.fits
///     1,llama-3.1-8b,h100-sxm,8,1f1b,7.5113,true
///
/// A row is numbered from one, and says what the report was asked (model, cluster, ...); other columns are named by the
/// path of a value in its object. What an object lacks, and null, is an empty cell; lists are left out. Without rows
/// the header alone.
/// @param report JSON text
/// @param list key of the list in the report
std::string rows_csv(std::string_view report, std::string_view list);

}  // namespace sextant::cli
