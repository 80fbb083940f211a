#pragma once

#include <cmath>

namespace sextant {

/// The x between `low` and `high` at which `f` changes its sign, to the last bit: bisection, so that a flat or a steep
/// function cannot lead it astray. @pre f(low) <= 0 <= f(high), both finite ends.
template <class Function>
double root_between(Function const& f, double low, double high) {
    for (;;) {
        double const middle = 0.5 * (low + high);
        if (!(middle > low && middle < high)) return middle;
        (f(middle) <= 0 ? low : high) = middle;
    }
}

/// The x between `low` and `high` at which a function with one minimum there is lowest, by golden section.
/// An x is known to about the square root of the precision of f, the minimum itself to all digits.
template <class Function>
double minimum_between(Function const& f, double low, double high) {
    constexpr double golden = 0.6180339887498949;
    double a = high - golden * (high - low);
    double b = low + golden * (high - low);
    double fa = f(a);
    double fb = f(b);
    for (int i = 0; i < 200 && high - low > 1e-12 * (std::abs(low) + std::abs(high)); ++i) {
        if (fa <= fb) {
            high = b;
            b = a;
            fb = fa;
            a = high - golden * (high - low);
            fa = f(a);
        } else {
            low = a;
            a = b;
            fa = fb;
            b = low + golden * (high - low);
            fb = f(b);
        }
    }
    return 0.5 * (low + high);
}

}  // namespace sextant
