#include "planner/validation/train_validation.hpp"

#include <fmt/format.h>

namespace sextant {

std::string predictions_header(CsvTable const& table) {
    std::vector<std::string> cells = table.header;
    for (char const* column :
         {"pred_iter_time_s", "pred_peak_mem_gb_per_gpu", "pred_fits", "pred_low", "pred_high", "skip_reason"})
        cells.emplace_back(column);
    return csv_line(cells);
}

std::string predictions_line(CsvRecord const& record, RowPrediction const& p) {
    std::vector<std::string> cells = record.cells;
    auto const number = [](double value) { return fmt::format("{:.6g}", value); };
    double const time = p.time ? p.time->base() : 0;
    cells.push_back(p.time ? number(time) : "");
    cells.push_back(p.memory_gb ? number(*p.memory_gb) : "");
    cells.push_back(p.fits ? (*p.fits ? "1" : "0") : "");
    cells.push_back(p.time ? number(time_interval_low * time) : "");
    cells.push_back(p.time ? number(time_interval_high * time) : "");
    cells.push_back(p.skip_reason);
    return csv_line(cells);
}

}  // namespace sextant
