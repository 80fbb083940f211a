#include "planner/validation/prediction_rows.hpp"

#include <fmt/format.h>

namespace sextant {

std::vector<std::string_view> appended_columns(ValidationKind kind) {
    switch (kind) {
        case ValidationKind::train:
            return {"pred_iter_time_s", "pred_peak_mem_gb_per_gpu", "pred_fits", "pred_low", "pred_high",
                    "skip_reason",      "not_scored_reason"};
        case ValidationKind::kernels: return {"pred_latency_us", "pred_low", "pred_high", "skip_reason"};
        case ValidationKind::serving:
            return {"pred_ttft_ms",   "pred_tpot_ms",   "pred_output_tokens_per_s",
                    "pred_low",       "pred_high",      "skip_reason",
                    "scored_ttft_ms", "scored_tpot_ms", "scored_output_tokens_per_s"};
        case ValidationKind::collectives: return {"pred_time_us", "pred_low", "pred_high", "skip_reason"};
    }
    return {};
}

std::string predictions_header(ValidationKind kind, CsvTable const& table) {
    std::vector<std::string> cells = table.header;
    for (std::string_view const column : appended_columns(kind))
        cells.emplace_back(column);
    return csv_line(cells);
}

std::string predictions_line(ValidationKind kind, CsvRecord const& record, RowPrediction const& p) {
    std::vector<std::string> cells = record.cells;
    Seconds const unit = kind == ValidationKind::train ? units::s : units::us;
    auto const number = [](double value) { return fmt::format("{:.6g}", value); };
    if (kind == ValidationKind::serving) {
        for (ServedFigure const& figure : p.served)
            cells.push_back(figure.predicted ? number(*figure.predicted) : "");
        // A shorter time is a higher throughput.
        IntervalFactors const factors = interval_of(kind, p);
        cells.push_back(p.served[2].predicted ? number(*p.served[2].predicted / factors.high) : "");
        cells.push_back(p.served[2].predicted ? number(*p.served[2].predicted / factors.low) : "");
        cells.push_back(p.skip_reason);
        for (ServedFigure const& figure : p.served)
            cells.push_back(figure.predicted && figure.measured ? number(*figure.measured) : "");
        return csv_line(cells);
    }
    double const time = p.time ? *p.time / unit : 0;
    cells.push_back(p.time ? number(time) : "");
    if (kind == ValidationKind::train) {
        cells.push_back(p.memory_gb ? number(*p.memory_gb) : "");
        cells.push_back(p.fits ? (*p.fits ? "1" : "0") : "");
    }
    IntervalFactors const interval = interval_of(kind, p);
    cells.push_back(p.time ? number(interval.low * time) : "");
    cells.push_back(p.time ? number(interval.high * time) : "");
    cells.push_back(p.skip_reason);
    if (kind == ValidationKind::train) cells.push_back(p.measured_time ? p.time_reason : "");
    return csv_line(cells);
}

}  // namespace sextant
