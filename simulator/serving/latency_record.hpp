#pragma once

#include "simulator/serving/gap_histogram.hpp"
#include "simulator/serving/serving_outcome.hpp"
#include "simulator/serving/serving_setup.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Latencies of the requests that are measured: those after the warm-up.
class LatencyRecord {
public:
    LatencyRecord(LatencyObjective const& objective, std::int64_t first_measured, std::int64_t tenants)
        : objective_(objective),
          first_measured_(first_measured),
          tenants_(tenants > 1 ? static_cast<std::size_t>(tenants) : 0) {}

    void add(FinishedRequest const& request);
    /// Whether tokens of an iteration came before the last arrival or after it.
    enum class Part : std::uint8_t { arriving, emptying };
    void add(std::vector<TokenGap> const& gaps, Part part);

    /// Fills in the quantiles and counts; sorts. Gaps after the last arrival count only where the window goes on.
    void conclude(ServingOutcome& out);
    void conclude_gaps(ServingOutcome& out);

private:
    LatencyObjective objective_;
    std::int64_t first_measured_;
    std::vector<double> ttft_, tpot_, e2e_, queue_;
    struct Tenant {
        TenantOutcome sums;
        std::vector<double> ttft, tpot, e2e;
    };
    void add_to(Tenant& tenant, FinishedRequest const& request) const;
    std::vector<Tenant> tenants_;
    GapHistogram itl_, late_itl_;
    std::int64_t good_ = 0, asked_ = 0;
    Seconds e2e_sum_{};
};

}  // namespace sextant
