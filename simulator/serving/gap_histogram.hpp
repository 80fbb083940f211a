#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Quantiles of very many times in constant memory: bins of half a percent from 1 us on, so that a quantile is off by a
/// quarter of a percent at most. Mean and maximum are exact.
class GapHistogram {
public:
    void add(Seconds gap, std::int64_t count);
    void add(GapHistogram const& other);
    [[nodiscard]] std::int64_t count() const { return count_; }
    [[nodiscard]] Seconds mean() const;
    [[nodiscard]] Seconds largest() const { return largest_; }
    /// @pre count() > 0, 0 <= q <= 1.
    [[nodiscard]] Seconds quantile(double q) const;

private:
    std::vector<std::int64_t> bins_;
    std::int64_t count_ = 0;
    Seconds sum_{};
    Seconds largest_{};
};

}  // namespace sextant
