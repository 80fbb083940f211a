#include "cost_models/scaling/batch_trade.hpp"

namespace sextant {

BatchTrade batch_trade(double batch, double critical_batch) {
    return {.steps_factor = 1 + critical_batch / batch, .samples_factor = 1 + batch / critical_batch};
}

}  // namespace sextant
