#include "planner/deepspeed_bucket.hpp"

#include "core/graph/shapes.hpp"
#include "core/spec/parameters.hpp"

#include <algorithm>

namespace sextant {

double largest_layer_parameters(ModelSpec const& model, ParallelPlan const& plan) {
    double largest = 0;
    for (LayerKind const kind : distinct_kinds(model))
        largest = std::max(largest, local_parameters(layer_parameters(model, kind), plan).total());
    return largest;
}

}  // namespace sextant
