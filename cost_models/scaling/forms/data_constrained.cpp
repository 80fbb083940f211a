// L = E + A N'^-alpha + B D'^-beta, where passes over the same tokens, and parameters beyond what the unique tokens
// warrant, count less and less:
//   D' = U_D (1 + R_D (1 - exp(-(D / U_D - 1) / R_D)))
//   N' = U_N (1 + R_N (1 - exp(-(N / U_N - 1) / R_N))),  U_N = min(N, G (G U_D)^(beta / alpha)).
#include "cost_models/scaling/law_form.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

enum : std::size_t { at_A, at_B, at_E, at_alpha, at_beta, at_RD, at_RN, unknowns_of_form };

/// U (1 + R (1 - exp(-(X / U - 1) / R))): its logarithm and the derivatives of that by ln U and ln R.
struct Effective {
    double ln;
    double by_ln_unique;
    double by_ln_scale;
};
Effective effective(double ln_total, double ln_unique, double scale) {
    double const repeats = std::max(0.0, std::expm1(ln_total - ln_unique));
    double const decay = std::exp(-repeats / scale);
    double const factor = 1 - scale * std::expm1(-repeats / scale);
    // d repeats / d ln U = -(repeats + 1)
    return {.ln = ln_unique + std::log(factor),
            .by_ln_unique = repeats > 0 ? 1 - decay * (repeats + 1) / factor : 0,
            .by_ln_scale = (scale * -std::expm1(-repeats / scale) - repeats * decay) / factor};
}

/// ln of the parameters that are compute optimal for U_D tokens, and its derivatives by the unknowns.
struct Warranted {
    double ln;
    double by[5];  // ln A, ln B, E, alpha, beta
};
Warranted warranted(std::span<double const> u, double ln_unique) {
    double const alpha = u[at_alpha];
    double const beta = u[at_beta];
    double const sum = alpha + beta;
    double const ln_g = (std::log(alpha / beta) + u[at_A] - u[at_B]) / sum;
    double const slope = 1 + beta / alpha;  // of the result by ln G
    return {.ln = ln_g + beta / alpha * (ln_unique + ln_g),
            .by = {slope / sum, -slope / sum, 0,
                   slope * (1 / alpha - ln_g) / sum - beta / (alpha * alpha) * (ln_unique + ln_g),
                   slope * (-1 / beta - ln_g) / sum + (ln_unique + ln_g) / alpha}};
}

void evaluate(std::span<double const> u, LawTable const& table, std::span<double> values, std::span<double> jacobian) {
    double const floor = std::exp(u[at_E]);
    double const data_scale = std::exp(u[at_RD]);
    double const size_scale = std::exp(u[at_RN]);
    for (std::size_t i = 0; i < table.rows; ++i) {
        double const ln_n = table.columns[0][i];
        double const ln_unique = std::min(table.columns[1][i], table.columns[2][i]);
        Warranted const most = warranted(u, ln_unique);
        bool const beyond = most.ln < ln_n;
        Effective const d = effective(table.columns[1][i], ln_unique, data_scale);
        Effective const n = effective(ln_n, beyond ? most.ln : ln_n, size_scale);
        double const size = std::exp(u[at_A] - u[at_alpha] * n.ln);
        double const data = std::exp(u[at_B] - u[at_beta] * d.ln);
        values[i] = floor + size + data;
        if (jacobian.empty()) continue;
        double* const row = &jacobian[i * unknowns_of_form];
        double const by_ln_n = -u[at_alpha] * size;
        for (std::size_t k = 0; k < 5; ++k)
            row[k] = beyond ? by_ln_n * n.by_ln_unique * most.by[k] : 0;
        row[at_A] += size;
        row[at_B] += data;
        row[at_E] += floor;
        row[at_alpha] += -n.ln * size;
        row[at_beta] += -d.ln * data;
        row[at_RD] = -u[at_beta] * data * d.by_ln_scale;
        row[at_RN] = by_ln_n * n.by_ln_scale;
    }
}

// The base law enters the count of warranted parameters, so nothing here is linear in it.
constexpr LawParameter parameters[] = {
    {"A", LawScale::logarithmic, LawRole::shape, 100, 1000, 3},
    {"B", LawScale::logarithmic, LawRole::shape, 400, 4000, 3},
    {"E", LawScale::logarithmic, LawRole::shape, 1.2, 2, 2},
    {"alpha", LawScale::linear, LawRole::shape, 0.25, 0.45, 3},
    {"beta", LawScale::linear, LawRole::shape, 0.25, 0.45, 3},
    {"R_D", LawScale::logarithmic, LawRole::shape, 1, 3000, 9, 1e6},
    {"R_N", LawScale::logarithmic, LawRole::shape, 0.3, 300, 7, 1e6},
};
constexpr char const* inputs[] = {"parameters", "tokens", "unique_tokens"};

}  // namespace

extern constinit LawForm const data_constrained_form{
    .name = "data-constrained",
    .formula = "L = E + A N'^-alpha + B D'^-beta, D' = U_D (1 + R_D (1 - exp(-(D/U_D - 1)/R_D))), N' alike",
    .source = "Muennighoff et al., arXiv:2305.16264, equations 5 and 6",
    .output_name = "loss",
    .output = LawOutput::value,
    .parameters = parameters,
    .inputs = inputs,
    .evaluate = evaluate,
};

}  // namespace sextant
