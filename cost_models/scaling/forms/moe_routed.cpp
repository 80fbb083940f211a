// log10 L = a log10 N + b log10 E' + c log10 N log10 E' + d, with E' the experts as they are, or saturating:
// 1/E' = 1/(E - 1 + 1/(1/E_start - 1/E_max)) + 1/E_max.
#include "cost_models/scaling/law_form.hpp"

#include <cmath>
#include <numbers>

namespace sextant {
namespace {

enum : std::size_t { at_a, at_b, at_c, at_d, bilinear_unknowns, at_start = bilinear_unknowns, at_most, all_unknowns };

/// ln L and its derivatives by a, b, c, d; returns that by log10 E'.
double bilinear(std::span<double const> u, double log_n, double log_experts, double& value, double* row) {
    constexpr double ln10 = std::numbers::ln10;
    value = ln10 * (u[at_a] * log_n + u[at_b] * log_experts + u[at_c] * log_n * log_experts + u[at_d]);
    if (row != nullptr) {
        row[at_a] = ln10 * log_n;
        row[at_b] = ln10 * log_experts;
        row[at_c] = ln10 * log_n * log_experts;
        row[at_d] = ln10;
    }
    return ln10 * (u[at_b] + u[at_c] * log_n);
}

void evaluate_bilinear(std::span<double const> u, LawTable const& table, std::span<double> values,
                       std::span<double> jacobian) {
    for (std::size_t i = 0; i < table.rows; ++i)
        bilinear(u, table.columns[0][i] / std::numbers::ln10, table.columns[1][i] / std::numbers::ln10, values[i],
                 jacobian.empty() ? nullptr : &jacobian[i * bilinear_unknowns]);
}

void evaluate_saturating(std::span<double const> u, LawTable const& table, std::span<double> values,
                         std::span<double> jacobian) {
    double const start = std::exp(u[at_start]);
    double const most = std::exp(u[at_most]);
    double const gap = 1 / start - 1 / most;
    for (std::size_t i = 0; i < table.rows; ++i) {
        double const inner = std::expm1(table.columns[1][i]) + 1 / gap;
        double const inverse = 1 / inner + 1 / most;
        double const log_experts = -std::log(inverse) / std::numbers::ln10;
        double* const row = jacobian.empty() ? nullptr : &jacobian[i * all_unknowns];
        double const by_log = bilinear(u, table.columns[0][i] / std::numbers::ln10, log_experts, values[i], row);
        if (row == nullptr) continue;
        // d inverse / d ln start = -inner^-2 / (gap^2 start); d inverse / d ln most = inner^-2 / (gap^2 most) - 1/most
        double const bend = 1 / (inner * inner * gap * gap);
        double const by_inverse = -by_log / (inverse * std::numbers::ln10);
        row[at_start] = -by_inverse * bend / start;
        row[at_most] = by_inverse * (bend - 1) / most;
    }
}

constexpr LawParameter parameters[] = {
    {"a", LawScale::linear, LawRole::coefficient},
    {"b", LawScale::linear, LawRole::coefficient},
    {"c", LawScale::linear, LawRole::coefficient},
    {"d", LawScale::linear, LawRole::coefficient},
    {"E_start", LawScale::logarithmic, LawRole::shape, 1.02, 12, 14},
    {"E_max", LawScale::logarithmic, LawRole::shape, 40, 6000, 14, 1e7},
};
constexpr char const* inputs[] = {"parameters", "experts"};

}  // namespace

extern constinit LawForm const moe_routed_form{
    .name = "moe-routed",
    .formula = "log10 L = a log10 N + b log10 E' + c log10 N log10 E' + d, E' saturating between E_start and E_max",
    .source = "Clark et al., arXiv:2202.01169, equations 1 and 2",
    .output_name = "loss",
    .output = LawOutput::logarithm,
    .parameters = parameters,
    .inputs = inputs,
    .evaluate = evaluate_saturating,
};

extern constinit LawForm const moe_bilinear_form{
    .name = "moe-bilinear",
    .formula = "log10 L = a log10 N + b log10 E + c log10 N log10 E + d",
    .source = "Clark et al., arXiv:2202.01169, equation 7",
    .output_name = "loss",
    .output = LawOutput::logarithm,
    .parameters = std::span<LawParameter const>(parameters).first(bilinear_unknowns),
    .inputs = inputs,
    .evaluate = evaluate_bilinear,
};

}  // namespace sextant
