#pragma once

#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

namespace sextant {

/// Elements of the buckets that DeepSpeed reduces gradients from, where its JSON says nothing. Source: DeepSpeed,
/// runtime/zero/config.py (`reduce_bucket_size`).
inline constexpr double usual_reduce_bucket = 5e8;

/// Parameters of the largest layer on one rank, which is what exported files set such buckets to.
double largest_layer_parameters(ModelSpec const& model, ParallelPlan const& plan);

}  // namespace sextant
