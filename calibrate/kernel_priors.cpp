#include "calibrate/kernel_priors.hpp"

#include "cost_models/kernel_estimate.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr double prior_spread = 1.5;   ///< of a constant's logarithm about its start
constexpr double prior_weight = 0.05;  ///< residual that one prior spread counts as
constexpr double kin_spread = 10;      ///< the same about the constants of like kernels
constexpr double held_spread = 1;      ///< the same of a constant that the rows cannot say, or of the device itself

/// Of a class's constant that binds no row, and when a row is bound. Source: fits of H100 rows of some sizes, scored on
/// the others (docs/calibration.md).
constexpr double unbound_spread = 0.3;
constexpr double binding = 0.75;

/// Rows of up to so many seconds tell what every call waits for, whatever its shape: times taken around each call hold
/// microseconds of it, where those that the constants begin with hold one (assumed).
constexpr double telling_of_overhead = 40e-6;

/// Decodes that share nothing among many heads read each key from memory once and from the cache 33 to 128 times: their
/// rows say nothing of the memory's rate, which would otherwise take up what the cache's leaves.
bool is_held(KernelMeasurement const& row, KernelConstant const& constant) {
    auto const* shape = std::get_if<DecodeAttention>(&row.row.what);
    return shape != nullptr && constant.name == "memory" && sharing_of(*shape) == DecodeSharing::unshared;
}

/// What the constants begin with.
std::vector<double> starts_of(KernelMeasurement const& row, KernelFitChoices const& choices) {
    if (choices.kin != nullptr) return choices.kin->constants;
    if (choices.shipped != nullptr)
        return choices.of_class ? constants_on(*row.device, *choices.shipped) : choices.shipped->constants;
    std::vector<double> starts;
    for (KernelConstant const& c : kernel_constants(row.kind))
        starts.push_back(c.start);
    return starts;
}

}  // namespace

double most_moved(std::vector<KernelMeasurement const*> const& rows, std::vector<double> const& constants,
                  std::size_t constant) {
    constexpr double step = 0.02;
    std::vector<double> lower = constants;
    std::vector<double> higher = constants;
    lower[constant] *= std::exp(-step);
    higher[constant] *= std::exp(step);
    double most = 0;
    for (KernelMeasurement const* row : rows)
        most = std::max(most, std::abs(std::log(model_seconds(*row, higher) / model_seconds(*row, lower))));
    return most / (2 * step);
}

std::vector<FitParameter> kernel_parameters(std::vector<KernelMeasurement const*> const& rows,
                                            KernelFitChoices const& choices) {
    KernelMeasurement const& first = *rows.front();
    std::vector<double> const starts = starts_of(first, choices);
    bool const is_own = choices.kin == nullptr && choices.refines && !choices.of_class;
    bool const is_of_class = choices.kin == nullptr && choices.shipped != nullptr && choices.of_class;
    bool const has_kin = choices.kin != nullptr || choices.shipped != nullptr;
    bool const are_brief = std::any_of(rows.begin(), rows.end(), [](KernelMeasurement const* row) {
        return row->row.measured->base() < telling_of_overhead;
    });
    std::vector<FitParameter> parameters;
    for (KernelConstant const& c : kernel_constants(first.kind)) {
        std::size_t const i = parameters.size();
        double spread = has_kin ? kin_spread : prior_spread / prior_weight;
        bool const is_free = c.name == "launch" && are_brief;
        if (is_of_class && !is_free && most_moved(rows, starts, i) < binding) spread = unbound_spread;
        if ((is_own && !is_free) || is_held(first, c)) spread = held_spread;
        parameters.push_back({.name = std::string(c.name),
                              .start = starts[i],
                              .low = c.low,
                              .high = c.high,
                              .scale = FitScale::logarithmic,
                              .prior = FitPrior{.mean = starts[i], .spread = spread}});
    }
    return parameters;
}

}  // namespace sextant
