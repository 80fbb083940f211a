#include "cost_models/scaling/rate_laws.hpp"

#include "cost_models/scaling/parameter_counting.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {
namespace {

using Run = RateQuestion;

/// Kaplan's critical batch is E_min / S_min by its definition: both at once.
double kaplan_batch(Run const& r) { return 2e8 * std::pow(r.loss, -1 / 0.21); }

/// A power law over N along D = 20 N, in sequences of 512. It grows with D and hardly with N: a run off that line is
/// taken at the N of its tokens.
double zhang_batch(Run const& r, double coefficient, double exponent) {
    return 512 * coefficient * std::pow(r.tokens / 20 / 1e6, exponent);
}

constexpr std::array catalog{
    RateLaw{.name = "deepseek",
            .formula = "lr = 0.3118 C^-0.1250, B = 0.2920 C^0.3271",
            .basis = "published",
            .source = "DeepSeek LLM, arXiv:2401.02954",
            .learning_rate = [](Run const& r) { return 0.3118 * std::pow(r.flops, -0.1250); },
            .batch = [](Run const& r) { return 0.2920 * std::pow(r.flops, 0.3271); }},
    RateLaw{
        .name = "step-law",
        .formula = "lr = 1.79 N^-0.713 D^0.307, B = 0.58 D^0.571 (N without embeddings)",
        .basis = "published",
        .source = "Li et al. (Step Law), arXiv:2503.04715; refitting the released table gives other exponents",
        .learning_rate = [](Run const& r) { return 1.79 * std::pow(r.parameters, -0.713) * std::pow(r.tokens, 0.307); },
        .batch = [](Run const& r) { return 0.58 * std::pow(r.tokens, 0.571); }},
    RateLaw{.name = "porian",
            .formula = "lr = 0.0047 (N/108e6)^(-1/3), B = 160 x 2048 (N/108e6)^(2/3)",
            .basis = "published",
            .source = "Porian et al., arXiv:2406.19146, as in formll/resolving-scaling-law-discrepancies",
            .learning_rate = [](Run const& r) { return 0.0047 / std::cbrt(r.parameters / 108e6); },
            .batch = [](Run const& r) { return 160.0 * 2048 * std::pow(r.parameters / 108e6, 2.0 / 3); }},
    RateLaw{.name = "kaplan",
            .formula = "lr = 0.003239 - 0.0001395 ln N (up to 1.5e9), B_crit = 2e8 L^(-1/0.21)",
            .basis = "assumed",
            .source = "Kaplan et al., arXiv:2001.08361; B_crit as remembered",
            .learning_rate =
                [](Run const& r) {
                    // A straight line that crosses zero at 1.2e10: of no use beyond the sizes it was drawn through.
                    return r.parameters > kaplan_largest ? 0 : 0.003239 - 0.0001395 * std::log(r.parameters);
                },
            .critical_batch = kaplan_batch,
            .noise_scale = kaplan_batch},
    RateLaw{.name = "zhang",
            .formula = "B_crit = 512 x 93.196784 (N/1e6)^0.46827828 along D = 20 N (20 % more steps), "
                       "E_min / S_min = 512 x 146.10153 (N/1e6)^0.61913230",
            .basis = "fitted",
            .source = "Zhang et al., arXiv:2410.21676, refitted (tests/data/scaling/critical_batch_steps.csv)",
            .critical_batch = [](Run const& r) { return zhang_batch(r, 93.196784, 0.46827828); },
            .noise_scale = [](Run const& r) { return zhang_batch(r, 146.10153, 0.61913230); }},
};

}  // namespace

std::span<RateLaw const> rate_laws() { return catalog; }

RateBand rate_band(RateQuestion const& question) {
    RateBand band;
    auto const widen = [](double value, double& low, double& high) {
        low = low == 0 ? value : std::min(low, value);
        high = std::max(high, value);
    };
    for (RateLaw const& law : catalog) {
        RateBand::Entry entry{.law = &law, .learning_rate = {}, .batch = {}, .critical_batch = {}, .noise_scale = {}};
        if (law.learning_rate != nullptr)
            if (double const rate = law.learning_rate(question); rate > 0) {
                entry.learning_rate = rate;
                widen(rate, band.learning_rate_low, band.learning_rate_high);
            }
        if (law.batch != nullptr) {
            entry.batch = law.batch(question);
            widen(*entry.batch, band.batch_low, band.batch_high);
        }
        if (law.critical_batch != nullptr)
            if (double const batch = law.critical_batch(question); std::isfinite(batch)) entry.critical_batch = batch;
        if (law.noise_scale != nullptr)
            if (double const batch = law.noise_scale(question); std::isfinite(batch)) entry.noise_scale = batch;
        band.entries.push_back(entry);
    }
    return band;
}

double adamw_timescale(double parameters, double tokens) { return 1.084 * std::pow(tokens / parameters, -0.527); }

}  // namespace sextant
