#include "planner/validation/collective_validation.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/profile_change.hpp"
#include "cost_models/collective_links.hpp"
#include "cost_models/network_correction.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

RowGroup size_group(Bytes bytes) {
    struct Band {
        Bytes below;
        char const* name;
    };
    constexpr Band bands[] = {{64 * units::KiB, "below 64 KiB"},
                              {1 * units::MiB, "64 KiB to 1 MiB"},
                              {64 * units::MiB, "1 to 64 MiB"},
                              {256 * units::MiB, "64 to 256 MiB"}};
    int order = 0;
    for (Band const& band : bands) {
        if (bytes < band.below) return {.by = "size", .order = order, .name = band.name};
        ++order;
    }
    return {.by = "size", .order = order, .name = "256 MiB and more"};
}

std::vector<RowGroup> groups_of(CollectiveRow const& row, CollectiveMachine const& machine) {
    char const* const where = machine.group.domains > 1 ? "between domains" : "in one domain";
    return {{.by = "collective", .order = 0, .name = fmt::format("{}, {}", row.collective, where)},
            size_group(row.bytes),
            {.by = "run", .order = 0, .name = row.run_id.empty() ? "(no run)" : row.run_id}};
}

/// Why a measured time is not of this machine, or not in microseconds; empty: it may be.
std::string why_not_scored(CollectiveRow const& row, CollectiveMachine const& machine, CollectiveKind kind) {
    constexpr double least = 0.002;           // assumed: times in nanoseconds are below it, TCP on fast NICs above
    constexpr Bytes large = 64 * units::MiB;  // of which latencies take little
    auto const part_of = [&](BytesPerSecond rate) { return bus_rate(machine, kind, row.bytes, *row.measured, rate); };
    if (part_of(link_rate(machine, kind)) > most_of_links)
        return fmt::format("faster than {} times the links (its unit is wrong or the links are others)", most_of_links);
    if (row.bytes >= large && part_of(narrowest_rate(machine, kind)) < least)
        return fmt::format("below {} % of the links (its unit is wrong or the links are others)", 100 * least);
    return "";
}

/// The shipped cluster that a calibration is of, or null: a class has none, and of several none is the row's.
ClusterSpec const* only_cluster(NetworkCalibration const& calibration) {
    NetworkScope const& scope = calibration.scale_out ? calibration.scale_out->scope : calibration.scale_up->scope;
    return scope.clusters.size() == 1 ? known_cluster(scope.clusters.front()) : nullptr;
}

/// @throws InputError where all that the calibration has is of clusters with other names: none of it would be used.
void require_names(NetworkCalibration const& calibration, ClusterSpec const& cluster, std::string const& file) {
    std::vector<std::string> others;
    auto const names_it = [&](auto const& section) {
        if (!section) return false;
        std::vector<std::string> const& clusters = section->scope.clusters;
        others.insert(others.end(), clusters.begin(), clusters.end());
        return section->scope.is_class() || is_one_of(clusters, cluster.name);
    };
    bool const scale_up = names_it(calibration.scale_up);
    if (names_it(calibration.scale_out) || scale_up) return;
    throw InputError("{}: is of {}, not of {} (give a calibration of that cluster, or leave the cluster out)", file,
                     others.front(), cluster.name);
}

}  // namespace

CollectivePredictor::CollectivePredictor(std::string const& profile, std::string const& calibration) {
    if (!calibration.empty()) calibration_ = read_network_calibration_file(calibration);
    if (profile.empty()) return;
    if (profile.ends_with(".json") && split_changes(profile, "--profile").changes.empty()) {
        auto const document = JsonDocument::from_file(profile);
        if (ObjectReader(document).text("format", "") == "network-calibration") {
            calibration_ = read_network_calibration(ObjectReader(document));
            calibrated_ = only_cluster(*calibration_);
            return;
        }
    }
    profile_ = find_cluster(profile, "--profile");
    if (calibration_) require_names(*calibration_, *profile_, calibration);
}

ClusterSpec const* CollectivePredictor::cluster_of(CollectiveMachineRow const& row) const {
    if (profile_) return &*profile_;
    // What nccl-tests prints says the device and nothing of the network between nodes.
    bool const says_no_network = row.nodes > 1 && row.inter_link.empty();
    auto const* const device = says_no_network && calibrated_ != nullptr ? known_accelerator(row.gpu) : nullptr;
    return device != nullptr && device->name == calibrated_->accelerator.name ? calibrated_ : nullptr;
}

std::shared_ptr<CollectiveMachine const> CollectivePredictor::machine_of(CollectiveMachineRow const& row) {
    auto const found = machines_.find(row);
    if (found != machines_.end()) return found->second;
    CollectiveMachine machine = collective_machine(row, cluster_of(row));
    if (calibration_) {
        // First in the list: it is taken wherever it names the cluster, or its class and nothing names the cluster.
        std::vector<NetworkCalibration> calibrations{*calibration_};
        auto const& shipped = all_network_calibrations();
        calibrations.insert(calibrations.end(), shipped.begin(), shipped.end());
        apply_network_calibrations(machine.cluster, calibrations);
    }
    return machines_.emplace(row, std::make_shared<CollectiveMachine const>(std::move(machine))).first->second;
}

ScoredRow CollectivePredictor::predict(RowCells const& cells) {
    ScoredRow out{.source = cells.text("source_ref"), .groups = {}, .prediction = {}};
    RowPrediction& p = out.prediction;
    try {
        CollectiveRow const row = collective_row(cells, profile_ ? profile_->accelerator.name : "");
        auto const machine = machine_of(row.machine);
        if (calibrated_ != nullptr && machine->cluster.name != calibrated_->name)
            throw RowSkip(fmt::format("of another network than the calibration's ({})", machine->cluster.name));
        CollectiveKind const kind = collective_kind_of(row.collective);
        p.time = collective_curve(machine->cluster, kind, machine->group).time(row.bytes);
        p.measured_time = row.measured;
        if (row.measured) p.time_reason = why_not_scored(row, *machine, kind);
        p.assumptions = machine->assumptions;
        if (is_reduce(row.collective)) p.assumptions.emplace_back("reduce as long as a broadcast");
        if (auto const& model = machine->cluster.network_model) {
            TimeFactors const factors = interval_of(machine->cluster, kind, machine->group, row.bytes);
            p.interval = {.low = factors.low, .high = factors.high};
            if (range_of(*model, kind, machine->group) == CalibrationRange::by_class)
                p.assumptions.emplace_back("constants of collectives by class: " +
                                           (machine->group.domains > 1 ? model->out_part : model->up_part).calibration);
        } else {
            p.assumptions.emplace_back("no fitted constants of collectives for this network");
        }
        out.groups = groups_of(row, *machine);
    } catch (RowSkip const& skip) {
        p = {};
        p.skip_reason = skip.what();
        p.unreadable = skip.place();
    }
    return out;
}

std::vector<ScoredRow> CollectivePredictor::predict(CsvTable const& table) {
    std::vector<std::string_view> needed{"collective", "size_bytes"};
    if (!profile_) needed.emplace_back("gpu");
    require_columns(table, needed, collective_columns());
    std::vector<ScoredRow> out;
    out.reserve(table.records.size());
    for (CsvRecord const& record : table.records)
        out.push_back(predict(RowCells(table, record)));
    return out;
}

}  // namespace sextant
