// What the experts on one rank take.
#include "core/spec/model_spec.hpp"
#include "cost_models/serving/layer_cost.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sextant {
namespace {

/// Rows of a group after rounding to a kernel's tile, mean over groups that have a Poisson number of them. Kernels that
/// widen weights (Marlin) have tiles from 8 to 64 rows, others from 16 to 128, powers of two that the engine takes by
/// the mean: 1 / log 2 times as many as rows on average over where these lie between two powers. A second tile is for
/// those groups that have more; groups of many tiles waste half of one.
double padded_rows(double rows, GemmFormat const& format) {
    double const finer = format.widens() ? 2 : 1;
    double const largest = 128 / finer;
    if (rows > largest) return rows + largest / 2;
    double const tile = std::clamp(rows / std::numbers::ln2, 16 / finer, largest);
    double const beyond = 0.5 * std::erfc((tile + 0.5 - rows) / std::sqrt(2 * rows));
    return tile * (1 + beyond);
}

}  // namespace

double touched_experts(double experts, double top_k, double tokens) {
    if (top_k >= experts) return experts;
    return experts * -std::expm1(tokens * std::log1p(-top_k / experts));
}

double busiest_touched_experts(double experts, double top_k, double tokens, double ranks) {
    double const held = experts / ranks;
    double const share = touched_experts(experts, top_k, tokens) / experts;
    if (ranks <= 1 || share >= 1) return held * share;
    double const odds = share / (1 - share);
    double exactly = std::pow(1 - share, held);  // so many of one rank
    double upto = 0;
    double most = 0;
    for (double n = 0; n < held; ++n) {
        upto = std::min(1.0, upto + exactly);
        most += 1 - std::pow(upto, ranks);
        exactly *= (held - n) / (n + 1) * odds;
    }
    return std::clamp(most, held * share, held);
}

double LayerCosts::shared_beside_routed() const {
    MoeSpec const& moe = *what_.model.moe;
    if (what_.plan.ep > 1 || what_.plan.attention_dp > 1) return 0;
    return static_cast<double>(moe.shared_intermediate) / static_cast<double>(moe.intermediate);
}

void LayerCosts::add_experts(GroupedGemm const& e, ExpertInput input, double tokens, ExpertTime& time) const {
    MoeSpec const& moe = *what_.model.moe;
    auto const ranks = static_cast<double>(what_.plan.ep);
    auto const experts = static_cast<double>(moe.experts + what_.plan.redundant_experts);
    auto const chosen = static_cast<double>(moe.top_k);
    double const uneven = what_.plan.expert_imbalance;
    // Ranks wait for the one whose experts are touched most, by chance or as more tokens go to them.
    double const busier = touched_experts(experts, uneven * chosen, tokens) / ranks;
    double const touched = std::max({1.0, busiest_touched_experts(experts, chosen, tokens, ranks), busier});
    double const routed = std::max(touched, tokens * chosen * uneven / ranks);
    double const shared = shared_beside_routed();
    double const groups = touched + shared;
    double const rows = routed + shared * tokens;
    auto const n = static_cast<double>(e.n);
    auto const k = static_cast<double>(e.k);
    double const weight =
        format_.right + scale_bytes_per_value(what_.plan.stored.empty() ? format_.name : what_.plan.stored);
    double const bytes = groups * weight * k * n + rows * (format_.left * k + format_.out * n);
    time.reading += bytes * units::B / (device_.memory_bandwidth.value * device_.memory_efficiency.value);
    std::int64_t const padded = std::llround(groups * padded_rows(rows / groups, format_));
    Seconds const compute = product(padded, e.n, e.k, format_);
    time.compute += compute;
    if (input == ExpertInput::copies) time.compute += quantising(std::llround(rows), e.k, format_);
    time.floor += std::min(compute, product(1, e.n, e.k, format_));
}

}  // namespace sextant
