#pragma once

namespace sextant {

/// What a batch costs in steps and in data: (S / S_min - 1)(E / E_min - 1) = 1 with the noise scale B_n = E_min /
/// S_min.
struct BatchTrade {
    double steps_factor = 1;    ///< steps over the fewest possible: 1 + B_n / B
    double samples_factor = 1;  ///< tokens over the fewest possible: 1 + B / B_n
};

/// @pre both positive, in the same unit. Source: McCandlish et al., arXiv:1812.06162, equation 2.11.
BatchTrade batch_trade(double batch, double noise_scale);

}  // namespace sextant
