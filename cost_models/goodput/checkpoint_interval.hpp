#pragma once

#include "core/units.hpp"

namespace sextant {

/// Work between two checkpoints that wastes least, by four rules of rising exactness. C: time that training stands
/// still for one checkpoint; M: mean time between failures that go back to this checkpoint.
///
/// Young: sqrt(2 C M). Source: Young, CACM 17(9), 1974.
/// @pre stall >= 0, mtbf > 0 (so for all three).
Seconds young_interval(Seconds stall, Seconds mtbf);

/// sqrt(2 C M) (1 + 1/3 sqrt(C / 2M) + 1/9 (C / 2M)) - C for C < 2M, else M.
/// Source: Daly, Future Generation Computer Systems 22(3), 2006, equation 37.
Seconds daly_interval(Seconds stall, Seconds mtbf);

/// The minimum of the exact expected time under exponential failures, M (1 + W0(-exp(-C/M - 1))) with Lambert's W:
/// the root x = T / M of x + exp(-(x + C/M)) = 1. It depends neither on the restart time nor on how long after its
/// snapshot a checkpoint is safe.
/// Source: Daly 2006, section 3; Bougeret et al., SC 2011, theorem 1.
Seconds exact_interval(Seconds stall, Seconds mtbf);

/// Mean time of running that a failure throws away, under exponential failures: a snapshot every `period` of running,
/// each safe only `lag` after it was taken.
/// 1/l - P exp(-l w) / (exp(l P) - 1), which is about P/2 + w; l: failures per second, P: period, w: lag.
/// Source: the number of safe snapshots in a run of length X ~ Exp(l) is sum_k [k P + w <= X].
/// @pre period > 0, lag >= 0, failures_per_s >= 0.
Seconds mean_rewind(Seconds period, Seconds lag, double failures_per_s);

}  // namespace sextant
