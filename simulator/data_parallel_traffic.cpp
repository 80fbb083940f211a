#include "simulator/data_parallel_traffic.hpp"

#include "core/spec/working_format.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// What it sends of a weight of products in fp8, which it keeps in that format where it neither rounds it in every
/// microbatch nor keeps 16-bit weights beside the rounded ones. In mxfp8 it sends 16 bits and rounds along rows and
/// columns. Source: Megatron-Core, `--fp8-param-gather` and distrib_optimizer.py.
double matrix_sent(ParallelPlan const& plan, FrameworkTiming const& f) {
    bool const narrow = plan.precision == Precision::fp8 || plan.precision == Precision::fp8_block;
    bool const kept = f.casts_weights.value == 0 && plan.narrow_copies == Switch::off && !plan.adapters.on();
    return narrow && kept ? bytes_per_element(plan.precision) : weight_sent(plan, f);
}

}  // namespace

double gradient_sent(ParallelPlan const& plan, DataParallelCurves const& curves, FrameworkTiming const& f) {
    return gradient_traffic(f, curves.gradients, plan).sent;
}

double weight_sent(ParallelPlan const& plan, FrameworkTiming const& f) {
    double const working = working_bytes(plan.precision);
    return working > 2 ? std::max(f.weight_bytes_sent.value, working) : f.weight_bytes_sent.value;
}

double parameter_sent(double parameters, double wide, ParallelPlan const& plan, FrameworkTiming const& f) {
    double const matrix = matrix_sent(plan, f);
    double const whole = weight_sent(plan, f);
    return matrix == whole || parameters <= 0 ? whole : matrix + (whole - matrix) * wide / parameters;
}

double calls_for(double parameters, double layers, StageLoad const& load, ParallelPlan const& plan,
                 DataParallelCurves const& curves) {
    if (curves.bucket <= 0 || plan.zero >= 2) return layers;
    auto const chunks = static_cast<double>(plan.vpp);
    double const buckets = load.leads ? std::max(1.0, std::ceil(parameters / chunks / curves.bucket)) : 1;
    return std::min(layers, chunks * buckets);
}

double gradient_bucket(ParallelPlan const& plan) {
    constexpr double least = 40e6, of_rank = 1e6;
    return std::max(least, of_rank * static_cast<double>(plan.dp * plan.cp));
}

}  // namespace sextant
