#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"
#include "planner/validation/open_cells.hpp"
#include "planner/validation/training_row.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {

/// Which figure of ours a source's peak memory is to be compared with.
enum class MemoryQuantity : std::uint8_t {
    allocated_last_rank,          ///< largest allocated bytes of the last pipeline stage
    reserved_first_rank,          ///< largest reserved bytes of the first pipeline stage
    allocated_fullest,            ///< allocated bytes of the fullest stage
    reserved_fullest,             ///< reserved bytes of the fullest stage
    device_fullest,               ///< the same and what lies outside the allocator, as the driver reports it
    state_and_activations_first,  ///< state and activations of the first stage, counted and not measured
};

/// How a row's framework stands to the one whose constants it has.
enum class Kinship : std::uint8_t { same, kin };

/// One row of measurements in the words of the planner.
struct TrainingCase {
    ModelSpec model;
    ParallelPlan plan;
    Workload workload;
    std::shared_ptr<ClusterSpec const> cluster;
    std::shared_ptr<FrameworkProfile const> framework;
    std::optional<Release> release;  ///< that the row states
    MemoryQuantity memory_quantity = MemoryQuantity::reserved_fullest;
    bool predicts_time = true;  ///< false: something that only matters for time is not stated
    std::string time_reason;    ///< why time is not predicted, or predicted and not scored; empty: it is scored
    std::string memory_reason;  ///< the same for memory
    std::vector<std::string> assumptions;  ///< what the row does not state and was taken as usual
    Kinship kinship = Kinship::same;
    bool network_is_stated = true;  ///< the one between nodes, by its name or its bandwidth
    bool zero_is_stated = true;
    OpenCell open_cell = OpenCell::none;  ///< what the row leaves blank that only time needs, and can do without
    std::string
        has_to_fit;  ///< why a row that ran is skipped if it is predicted not to fit: an assumption is then wrong
};

/// Builds cases; keeps the clusters and frameworks it has looked up.
class CaseBuilder {
public:
    /// `profile`: a framework by name or file that replaces the one of every row; empty: by the row's framework.
    explicit CaseBuilder(std::string profile = "");

    /// Takes a machine of one's own for the rows that name its accelerator.
    void take_machine(ClusterSpec machine) { own_machine_ = std::move(machine); }

    /// @throws RowSkip when the row cannot be expressed.
    TrainingCase build(TrainingRow const& row);

private:
    struct RowMachine {
        std::shared_ptr<ClusterSpec const> cluster;
        bool network_is_stated = false;
        std::vector<std::string> assumptions;  ///< of rows that use the network between nodes
    };

    [[nodiscard]] std::optional<ClusterSpec> usual_machine(std::string_view device) const;
    [[nodiscard]] RowMachine machine_of(TrainingRow const& row) const;
    std::shared_ptr<ClusterSpec const> cluster_of(TrainingRow const& row, TrainingCase& out);
    std::shared_ptr<FrameworkProfile const> framework_of(TrainingRow const& row, TrainingCase& out);
    /// The profile with a change, made once. `change` names it among all changes of that profile.
    std::shared_ptr<FrameworkProfile const> changed(std::shared_ptr<FrameworkProfile const> const& profile,
                                                    std::string_view change,
                                                    std::function<void(FrameworkProfile&)> const& apply);
    std::shared_ptr<FrameworkProfile const> sending_parts(std::shared_ptr<FrameworkProfile const> const& profile);
    /// With the memory constants of devices of this generation.
    std::shared_ptr<FrameworkProfile const> on_devices(std::shared_ptr<FrameworkProfile const> const& profile,
                                                       std::string const& generation);
    std::shared_ptr<FrameworkProfile const> family_profile(TrainingRow const& row, TrainingCase& out);
    std::shared_ptr<FrameworkProfile const> framework_named(std::string const& name);
    std::shared_ptr<FrameworkProfile const> framework_changed(std::string const& name, std::string const& change,
                                                              std::function<void(FrameworkMemory&)> const& apply);
    std::shared_ptr<FrameworkProfile const> before_pipeline_fix(TrainingRow const& row);
    std::shared_ptr<FrameworkProfile const> first_torchtitan();
    std::shared_ptr<FrameworkProfile const> later_torchtitan(TrainingRow const& row);
    std::shared_ptr<FrameworkProfile const> eager_torchtitan(TrainingRow const& row);
    std::shared_ptr<FrameworkProfile const> beside_a_system(std::string const& family);

    std::string profile_;
    std::optional<ClusterSpec> own_machine_;
    std::map<std::string, RowMachine> clusters_;
    std::map<std::string, std::shared_ptr<FrameworkProfile const>> frameworks_;
    std::map<std::pair<FrameworkProfile const*, std::string>, std::shared_ptr<FrameworkProfile const>> changed_;
};

/// The model of a row: from its columns, or from a preset of that name where columns are empty or the architecture
/// needs more than they say. Adds to `assumptions`. @throws RowSkip.
ModelSpec model_of(TrainingRow const& row, std::vector<std::string>& assumptions);

/// Fills plan, workload and the reasons of `out`; model, cluster and framework are there already. @throws RowSkip.
void plan_of(TrainingRow const& row, TrainingCase& out);

/// True for Megatron's GPT of 2021-22: half precision, no fused attention.
bool is_early_megatron(TrainingRow const& row);

}  // namespace sextant
