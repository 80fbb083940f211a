#include "cost_models/scaling/batch_trade.hpp"

namespace sextant {

BatchTrade batch_trade(double batch, double noise_scale) {
    return {.steps_factor = 1 + noise_scale / batch, .samples_factor = 1 + batch / noise_scale};
}

}  // namespace sextant
