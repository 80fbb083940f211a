#include "cost_models/serving/stage_split.hpp"

#include <algorithm>

namespace sextant {

std::vector<std::int64_t> stage_layers(std::int64_t layers, std::int64_t pp, LongerStages longer) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(pp), layers / pp);
    std::int64_t const left = layers % pp;
    std::int64_t first = 0;
    if (longer == LongerStages::last) first = pp - left;
    if (longer == LongerStages::before_last && left > 0) first = pp - 1 - left;
    for (std::int64_t i = first; i < first + left; ++i)
        ++out[static_cast<std::size_t>(i)];
    return out;
}

std::vector<std::int64_t> stage_layers(ServingCase const& what) {
    return stage_layers(what.model.layer_count(), what.plan.pp, what.engine.longer_stages);
}

double fullest_stage_share(ServingCase const& what) {
    std::vector<std::int64_t> const stages = stage_layers(what);
    return static_cast<double>(*std::max_element(stages.begin(), stages.end())) /
           static_cast<double>(what.model.layer_count());
}

}  // namespace sextant
