#pragma once

#include "cost_models/goodput/checkpoint.hpp"
#include "cost_models/goodput/failure_process.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace sextant {

/// What happens while more nodes are in repair than there are spares.
enum class Shortage : std::uint8_t {
    wait,    ///< the run stands until a node comes back
    shrink,  ///< the run goes on with the data-parallel replicas that the nodes that are left hold
};

/// Nodes held ready, and how broken ones come back.
struct Replacement {
    std::optional<std::int64_t> spares{};  ///< absent: there is always another
    Seconds repair = 1 * units::day;       ///< from the failure until the node is a spare again (assumed)
    Shortage shortage = Shortage::wait;
    std::int64_t dp = 1;    ///< data-parallel replicas, of which a shrinking run drops some
    std::int64_t gpus = 0;  ///< of all of them; 0: a replica is a node
    std::int64_t gpus_per_node = 1;
    std::int64_t together = 1;  ///< replicas that come and go together: they share groups of experts

    /// Replicas that the nodes hold which are left: whole ones, of whatever nodes.
    [[nodiscard]] std::int64_t replicas_without(std::int64_t missing_nodes) const;
};

/// Losses of quality: the loss jumps up, the run goes back to well before it and leaves out some data.
struct LossSpikes {
    double per_day = 0;  ///< of training
    Seconds rewind{};    ///< at least this much work before the spike; then to the checkpoint before that
};

/// Stops on schedule: a checkpoint first, nothing is lost but the time.
struct Maintenance {
    Seconds every{};  ///< wall-clock time from one to the next, zero: none
    Seconds duration{};
};

/// A training run that failures interrupt.
struct GoodputCase {
    Seconds work{};  ///< how long it would take without failures and checkpoints
    std::vector<FailureProcess> failures;
    std::vector<CheckpointTier> tiers;
    Seconds detection =
        10 * units::minute;               ///< from the failure until somebody knows (assumed: a collective's timeout)
    Seconds restart = 5 * units::minute;  ///< scheduling, start, communicators, first step; without loading (assumed)
    Replacement replacement{};
    LossSpikes spikes{};
    Maintenance maintenance{};

    /// Failures per second of all processes.
    [[nodiscard]] double failures_per_s() const;
};

/// @throws InputError naming the first value of the case that is out of range.
void check_goodput_case(GoodputCase const& run);

/// Training on `gpus` accelerators under the rates of Llama 3, with asynchronous checkpoints of this size on a parallel
/// file system and the best interval: what to assume when nothing else is known.
/// @param host_bandwidth of one accelerator.
GoodputCase usual_goodput_case(Seconds work, std::int64_t gpus, std::int64_t gpus_per_node, Bytes checkpoint,
                               BytesPerSecond host_bandwidth);

}  // namespace sextant
