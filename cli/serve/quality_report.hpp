#pragma once

#include "cli/view/table.hpp"
#include "planner/serving/format_choice.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// What `sextant serve quality` found.
struct QualityReport {
    ServingCase what;  ///< of the two-byte format, which the others are compared with
    RequestShape request;
    double load = 0;
    bool by_rate = false;
    std::optional<double> price;  ///< US dollars per accelerator and hour
    FormatChoice baseline;
    std::vector<FormatChoice> choices;
    std::string source;  ///< of the errors: a file
    std::vector<std::string> assumptions;

    /// Output tokens a second of a choice over those of the baseline; nothing when one has none.
    [[nodiscard]] std::optional<double> speed_up(FormatChoice const& choice) const;
    /// US dollars per million output tokens; nothing without a price.
    [[nodiscard]] std::optional<double> usd_per_million(FormatChoice const& choice) const;
    [[nodiscard]] double tokens_per_s_per_gpu(FormatChoice const& choice) const;
};

std::string quality_text(QualityReport const& report);
std::string quality_json(QualityReport const& report);
/// All columns of a choice, and the errors of its usual scalings.
Table quality_table(QualityReport const& report);

/// "3.7 %", "0.24 %", "45 %".
std::string error_text(double share);
/// One line about the formats of a deployment for other reports: "fp8 products: 3.7 % output error (...); ..."; empty
/// where neither rounds anything.
std::string quality_line(ServingPlan const& plan);

}  // namespace sextant::cli
