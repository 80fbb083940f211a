#include "calibrate/scaling/envelope.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace sextant {
namespace {

using Curve = std::vector<IsoflopRow>;  // by rising compute

std::vector<Curve> curves_of(std::vector<IsoflopRow> const& rows, double size_tolerance) {
    std::vector<Curve> curves;
    for (std::vector<std::size_t> const& positions : training_curves(rows, size_tolerance)) {
        if (positions.size() < 2) continue;
        Curve& curve = curves.emplace_back();
        for (std::size_t const i : positions)
            curve.push_back(rows[i]);
        std::sort(curve.begin(), curve.end(), [](auto const& x, auto const& y) { return x.flops < y.flops; });
    }
    return curves;
}

std::optional<double> ln_loss_at(Curve const& curve, double ln_flops) {
    for (std::size_t i = 1; i < curve.size(); ++i) {
        double const low = std::log(curve[i - 1].flops);
        double const high = std::log(curve[i].flops);
        if (ln_flops < low || ln_flops > high || high <= low) continue;
        double const share = (ln_flops - low) / (high - low);
        return (1 - share) * std::log(curve[i - 1].loss) + share * std::log(curve[i].loss);
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::vector<std::size_t>> training_curves(std::vector<IsoflopRow> const& rows, double size_tolerance) {
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(rows[a].parameters, rows[a].flops) < std::pair(rows[b].parameters, rows[b].flops);
    });
    std::vector<std::vector<std::size_t>> curves;
    for (std::size_t const i : order) {
        if (curves.empty() || rows[i].parameters > rows[curves.back().front()].parameters * (1 + size_tolerance))
            curves.emplace_back();
        curves.back().push_back(i);
    }
    return curves;
}

EnvelopeFit fit_envelope(std::vector<IsoflopRow> const& rows, EnvelopeOptions const& options,
                         std::string const& where) {
    std::vector<Curve> const curves = curves_of(rows, options.size_tolerance);
    EnvelopeFit fit;
    fit.models = curves.size();
    if (curves.size() < 3)
        throw InputError("{}: {} model sizes with two rows or more (an envelope of training curves needs three)", where,
                         curves.size());
    auto const [least, most] =
        std::minmax_element(rows.begin(), rows.end(), [](auto const& a, auto const& b) { return a.flops < b.flops; });
    double const low = std::log(least->flops);
    double const high = std::log(most->flops);
    std::set<std::size_t> winners;
    std::vector<double> flops;
    std::vector<double> sizes;
    std::vector<double> tokens;
    for (int level = 0; level < options.levels; ++level) {
        double const at = low + (high - low) * (level + 0.5) / options.levels;
        std::vector<std::pair<double, std::size_t>> there;
        for (std::size_t c = 0; c < curves.size(); ++c)
            if (auto const loss = ln_loss_at(curves[c], at)) there.emplace_back(*loss, c);
        if (there.size() < 3) continue;
        auto const winner = std::min_element(there.begin(), there.end());
        if (winner == there.begin() || winner + 1 == there.end()) continue;  // curves rise in size
        winners.insert(winner->second);
        double const parameters = curves[winner->second].front().parameters;
        // Tokens on the curve, by its own compute per token.
        double const per_token = curves[winner->second].back().flops / curves[winner->second].back().tokens;
        fit.points.push_back({.parameters = parameters,
                              .tokens = std::exp(at) / per_token,
                              .flops = std::exp(at),
                              .loss = std::exp(winner->first)});
        flops.push_back(std::exp(at));
        sizes.push_back(parameters);
        tokens.push_back(fit.points.back().tokens);
    }
    fit.on_envelope = winners.size();
    if (winners.size() < 2)
        throw InputError(
            "{}: {} model is lowest at a level of compute that both smaller and larger ones reach (two are needed)",
            where, winners.size());
    fit.size = fit_power_law(flops, sizes, {}, "envelope");
    fit.data = fit_power_law(flops, tokens, {}, "envelope");
    return fit;
}

}  // namespace sextant
