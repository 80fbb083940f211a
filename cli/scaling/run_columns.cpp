#include "cli/scaling/run_columns.hpp"

#include "core/error.hpp"
#include "core/quantile.hpp"
#include "core/text.hpp"
#include "cost_models/scaling/chinchilla_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace sextant::cli {
namespace {

constexpr double counting_spread = 0.05;

}  // namespace

void derive_runs(LossTable& table, std::vector<std::string>& assumptions) {
    constexpr double rule = training_flops_per_parameter_token;
    auto const make = [&](char const* part, auto value, char const* text) {
        std::vector<double>& column = table.columns[part];
        for (std::size_t i = 0; i < table.rows(); ++i)
            column.push_back(value(i));
        assumptions.emplace_back(text);
    };
    bool const n = table.has("parameters");
    bool const d = table.has("tokens");
    bool const c = table.has("flops");
    auto const& columns = table.columns;
    if (n && c && !d)
        make(
            "tokens", [&](std::size_t i) { return columns.at("flops")[i] / (rule * columns.at("parameters")[i]); },
            "tokens are C / (6 N)");
    else if (d && c && !n)
        make(
            "parameters", [&](std::size_t i) { return columns.at("flops")[i] / (rule * columns.at("tokens")[i]); },
            "parameters are C / (6 D)");
    else if (n && d && !c)
        make(
            "flops", [&](std::size_t i) { return rule * columns.at("parameters")[i] * columns.at("tokens")[i]; },
            "compute is 6 N D");
}

void scale_columns(LossTable& table, LossColumns const& columns, std::vector<std::string>& assumptions) {
    constexpr std::pair<std::string_view, double> scales[] = {
        {"_thousands", 1e3}, {"_millions", 1e6}, {"_billions", 1e9}, {"_trillions", 1e12}};
    for (char const* part : {"parameters", "tokens", "unique_tokens"}) {
        auto const at = columns.find(part);
        if (at == columns.end()) continue;
        for (auto const& [ending, scale] : scales) {
            if (!lower_case(at->second).ends_with(ending)) continue;
            for (double& value : table.columns.at(part))
                value *= scale;
            assumptions.push_back(fmt::format("{} is in{}, as its name says: times {:g}", at->second,
                                              std::string(ending).replace(0, 1, " "), scale));
        }
    }
}

void warn_of_units(LossTable const& table, std::vector<std::string>& warnings) {
    constexpr double least_ratio = 0.1;
    constexpr double most_ratio = 1e5;
    if (!table.has("parameters") || !table.has("tokens")) return;
    std::vector<double> ratio;
    for (std::size_t i = 0; i < table.rows(); ++i)
        ratio.push_back(table.column("tokens")[i] / table.column("parameters")[i]);
    std::sort(ratio.begin(), ratio.end());
    double const median = quantile(ratio, 0.5);
    if (median < least_ratio || median > most_ratio)
        warnings.push_back(
            fmt::format("half of the rows have {} than {:.3g} tokens per parameter: one of the two columns is probably "
                        "in millions or billions (a column whose name ends in _millions or _billions is read so)",
                        median < least_ratio ? "less" : "more", median));
}

void warn_of_counting(LossTable const& table, std::vector<std::string>& warnings) {
    if (!table.has("parameters") || !table.has("tokens") || !table.has("flops")) return;
    std::vector<double> ratio;
    for (std::size_t i = 0; i < table.rows(); ++i)
        ratio.push_back(table.column("flops")[i] / (table.column("parameters")[i] * table.column("tokens")[i]));
    auto const [low, high] = std::minmax_element(ratio.begin(), ratio.end());
    if (*high > *low * (1 + 2 * counting_spread))
        warnings.push_back(
            fmt::format("mixed counting rules: C / (N D) runs from {:.3g} to {:.3g} over the rows (6 is the "
                        "usual rule; attention or embeddings are in some)",
                        *low, *high));
    else if (std::abs(*low / training_flops_per_parameter_token - 1) > counting_spread)
        warnings.push_back(
            fmt::format("C / (N D) is {:.3g} in the rows, not 6: N or C is counted by another rule", *low));
}

void check_unread_flops(CsvTable const& csv, LossColumns columns, std::vector<RowCondition> const& conditions,
                        std::vector<std::string>& warnings) {
    std::string const column = usual_column(csv, "flops");
    if (column.empty() || columns.count("parameters") == 0 || columns.count("tokens") == 0) return;
    columns["flops"] = column;
    try {
        LossTable table = loss_table(csv, columns, {}, conditions);
        std::vector<std::string> scales;
        scale_columns(table, columns, scales);
        warn_of_counting(table, warnings);
    } catch (InputError const&) {  // no compute after all
    }
}

}  // namespace sextant::cli
