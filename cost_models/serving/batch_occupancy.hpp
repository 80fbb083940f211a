#pragma once

#include "core/units.hpp"

#include <functional>
#include <vector>

namespace sextant {

/// How full a batch with a limited number of places is.
struct BatchOccupancy {
    double mean = 0;              ///< requests that hold a place
    double idle = 1;              ///< probability that there is none
    double full = 0;              ///< probability that every place is taken
    Seconds wait;                 ///< for a place, mean over all requests
    std::vector<double> numbers;  ///< probability of n that hold a place, from 0 to the last place
};

/// Requests that come at random, `rate` a second, into a batch of `places`; n of them leave at `leaving(n)` a second.
/// All of a batch go on at the same pace, so n has the distribution of a birth-death chain,
///
///     p(n) = p(n - 1) rate / leaving(n),
///
/// whatever the lengths of the answers are (processor sharing is insensitive to them). Beyond the last place requests
/// wait and leave at `leaving(places)`: p_wait / (leaving(places) - rate) if their lengths were exponential; for equal
/// lengths times 1/2 (1 + (1 - u)(c - 1)((4 + 5 c)^(1/2) - 2) / (16 u c)), u = rate / leaving(c), at most 1.
/// Source: Cohen, Acta Informatica 12, 1979 (insensitivity); Cosmetatos, INFOR 13, 1975 (M/D/c).
/// @pre leaving(places) > rate, and leaving is positive from 1 to places; asked at some 40 numbers, in rising order.
BatchOccupancy batch_occupancy(double rate, double places, std::function<double(double)> const& leaving);

}  // namespace sextant
