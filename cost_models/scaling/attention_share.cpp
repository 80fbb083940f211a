#include "cost_models/scaling/attention_share.hpp"

#include "core/graph/model_flops.hpp"

namespace sextant {

double attention_share(double layers, double width, double context, double parameters) {
    return 12 * layers * width * context / (6 * parameters);
}

double attention_share(ModelSpec const& model, std::int64_t context) {
    // Everything but the scores costs a token the same in any context; one key is next to none.
    double const without = forward_flops_per_token(model, 1).base();
    return forward_flops_per_token(model, context).base() / without - 1;
}

}  // namespace sextant
