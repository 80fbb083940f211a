#pragma once

#include "cli/view/table.hpp"
#include "core/spec/cluster_spec.hpp"
#include "cost_models/network_correction.hpp"
#include "simulator/collectives/collective_run.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// One collective: by formula, and by each algorithm.
struct CollectiveReport {
    ClusterSpec const& cluster;
    CollectiveShape shape;
    NetworkMode network = NetworkMode::fair;
    double other_traffic = 0;
    std::vector<DegradedLink> degraded{};
    std::vector<Bytes> sizes{};
    std::vector<Seconds> closed_form{};  ///< of each size
    std::vector<double> jump{};          ///< factor that each has in it, see `jump_factor`
    /// 80 % interval of each, as factors: of the cluster's network model; half and twice, assumed, where it has none.
    std::vector<TimeFactors> interval{};
    std::string basis{};  ///< what the interval stands on: "own", "by class", ...; for people
    std::vector<CollectiveRun> runs{};
    std::optional<std::string> without_flows{};  ///< why no algorithm is run, see `why_no_flows`

    /// The closed form has the network for itself, with every link whole: it is no prediction of another network.
    [[nodiscard]] bool closed_form_applies() const { return other_traffic == 0 && degraded.empty(); }
};

/// Bytes over time, and what of it nccl-tests calls the bus bandwidth.
struct CollectiveRates {
    BytesPerSecond algorithm;
    BytesPerSecond bus;
};
CollectiveRates rates_of(CollectiveShape const& shape, Bytes bytes, Seconds time);

/// For people. Sample:
///
///     all-reduce over 1024 accelerators of h100-sxm, 128 domains of 8; fair network
///
///     1.074 GB               rounds  flows      time       algbw       busbw  formula  busiest link
///     ---------------------  ------  -----  --------  ----------  ----------  -------  ----------------------
///     closed form                           6.022 ms  178.3 GB/s  356.3 GB/s           -
///     ring                     2046   2048   8.21 ms  130.8 GB/s  261.3 GB/s  +36.3 %  node0.gpu0.nic.in 73 %
std::string collective_text(CollectiveReport const& report);

/// A row per size and algorithm, in base units; the closed form is an algorithm too.
Table collective_table(CollectiveReport const& report);

/// Keys: docs/collectives.md.
std::string collective_json(CollectiveReport const& report);

}  // namespace sextant::cli
