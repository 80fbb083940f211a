#pragma once

#include "core/measurements/row_cells.hpp"
#include "core/ops/op.hpp"
#include "core/spec/cluster_spec.hpp"
#include "cost_models/collective_time.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// The columns of a table of nccl-tests or rccl-tests runs.
std::vector<std::string_view> collective_columns();

/// Which ranks took part, as a row says it.
struct CollectiveMachineRow {
    std::string gpu;
    std::string intra_link;
    std::string inter_link;
    std::int64_t nodes = 0;
    std::int64_t gpus_per_node = 0;
    auto operator<=>(CollectiveMachineRow const&) const = default;
};

/// One line of a run.
struct CollectiveRow {
    std::string run_id;
    std::string source;
    std::string library_version;  ///< of NCCL or RCCL
    CollectiveMachineRow machine;
    std::string collective;
    std::int64_t nranks = 0;
    Bytes bytes;                                    ///< as nccl-tests counts them
    std::optional<Seconds> measured;                ///< the lesser of out-of-place and in-place times
    std::optional<Seconds> slower;                  ///< the greater one, where both are stated
    std::optional<Seconds> out_of_place, in_place;  ///< as a log prints them
    /// One more way of the same call.
    void add_time(Seconds time);
};

/// @param device of a row that states none
/// @throws RowSkip for a cell that cannot be read, or is needed and empty or zero, a time that a bandwidth contradicts,
/// or bandwidths that contradict each other.
CollectiveRow collective_row(RowCells const& row, std::string_view device = "");

/// Kind of collective by nccl-tests' name; of a reduce a broadcast. @throws RowSkip.
CollectiveKind collective_kind_of(std::string const& name);

/// Whether it is a reduce, which is priced as a broadcast: the same chain the other way round, with as many steps and
/// bytes, and as much of each on the wire as nccl-tests counts (bus factor 1).
bool is_reduce(std::string_view collective);

/// Whether the rate between nodes is that of the profile, or another one that the row states.
enum class NetworkRate : std::uint8_t { of_profile, of_row };

/// The machine of a row and where its ranks lie.
struct CollectiveMachine {
    ClusterSpec cluster;
    GroupPlacement group;
    std::vector<std::string> assumptions;
    NetworkRate rate = NetworkRate::of_profile;
    bool without_reduction = false;  ///< in the switch, as the row says of a cluster that has it
    bool is_borrowed = false;        ///< no profile has the networks that the row names with its device
};

/// Looks for a cluster with this device whose networks are those the row names. `profile`: used instead of that.
/// @throws RowSkip when there is none, or the network between nodes is not said.
CollectiveMachine collective_machine(CollectiveMachineRow const& row, ClusterSpec const* profile);

}  // namespace sextant
