#pragma once

#include "tests/catch.hpp"
#include "tests/simulator/serving/fixed_service.hpp"

namespace sextant {

inline LengthDistribution length(char const* text) { return length_distribution_from(text, "test"); }

/// Every request came and went, every token and block came out again, and Little's law holds over the whole run.
inline void check_conserved(ServingOutcome const& out, std::int64_t requests) {
    CHECK(out.whole.arrived == requests);
    CHECK(out.whole.finished == requests);
    CHECK(out.whole.counters.tokens_out == out.asked_tokens);
    CHECK(out.blocks_taken == out.blocks_given);
    CHECK(out.host_blocks_taken == out.host_blocks_given);
    // The time that requests spent in the system is the sum of their times in it.
    CHECK(out.whole.in_system == Approx(out.e2e_sum.base()).epsilon(1e-9));
    CHECK(out.most_cache_use <= 1);
    CHECK(out.whole.waiting <= out.whole.in_system * (1 + 1e-12));
    CHECK(out.whole.up <= out.whole.held * (1 + 1e-12));
}

}  // namespace sextant
