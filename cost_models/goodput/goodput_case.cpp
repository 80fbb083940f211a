#include "cost_models/goodput/goodput_case.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "cost_models/goodput/failure_catalog.hpp"
#include "cost_models/goodput/tiers_in_use.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace sextant {
namespace {

void check(bool good, char const* what, std::string const& value, char const* allowed) {
    if (!good) throw InputError("{}: {} ({})", what, value, allowed);
}

}  // namespace

double GoodputCase::failures_per_s() const {
    double rate = 0;
    for (FailureProcess const& process : failures)
        rate += process.rate_per_s();
    return rate;
}

std::int64_t Replacement::replicas_without(std::int64_t missing_nodes) const {
    if (missing_nodes <= 0) return dp;
    if (gpus == 0) return std::max<std::int64_t>(0, dp - missing_nodes);
    std::int64_t const left = std::max<std::int64_t>(0, gpus - missing_nodes * gpus_per_node);
    return left * dp / gpus / together * together;
}

void check_goodput_case(GoodputCase const& run) {
    auto const time = [](char const* what, Seconds value, char const* allowed = "zero or more, finite") {
        check(value.base() >= 0 && std::isfinite(value.base()), what, human(value), allowed);
    };
    check(run.work.base() > 0 && std::isfinite(run.work.base()), "work", human(run.work), "more than zero");
    time("detection time", run.detection);
    time("restart time", run.restart);
    time("repair time", run.replacement.repair);
    check(run.spikes.per_day >= 0 && std::isfinite(run.spikes.per_day), "loss spikes per day",
          fmt::format("{}", run.spikes.per_day), "zero or more");
    time("rewind of a loss spike", run.spikes.rewind);
    time("maintenance interval", run.maintenance.every);
    time("duration of maintenance", run.maintenance.duration);
    check(!run.replacement.spares || *run.replacement.spares >= 0, "spare nodes",
          fmt::format("{}", run.replacement.spares.value_or(0)), "zero or more");
    check(run.replacement.dp >= 1, "data-parallel replicas", fmt::format("{}", run.replacement.dp), "at least one");
    check(run.replacement.gpus >= 0 && run.replacement.gpus_per_node >= 1 && run.replacement.together >= 1,
          "accelerators of the replicas",
          fmt::format("{}, {} per node", run.replacement.gpus, run.replacement.gpus_per_node), "at least one per node");
    check(!run.tiers.empty(), "checkpoints", "none", "at least one tier");
    for (CheckpointTier const& tier : run.tiers) {
        check(tier.interval.base() > 0 && std::isfinite(tier.interval.base()), "checkpoint interval",
              human(tier.interval), "more than zero");
        time("stall of a checkpoint", tier.stall);
        time("write in the background", tier.lag);
        time("load of a checkpoint", tier.load);
    }
    for (FailureProcess const& process : run.failures) {
        check(process.components >= 1, process.name.c_str(), fmt::format("{} components", process.components),
              "at least one");
        check(process.mtbf.base() > 0 && !std::isnan(process.mtbf.base()), process.name.c_str(),
              "MTBF " + human(process.mtbf), "more than zero");
        check(process.shape >= 0.1 && process.shape <= 10, process.name.c_str(),
              fmt::format("Weibull shape {}", process.shape), "0.1 to 10");
        (void)best_tier(run, process.scope);
    }
}

GoodputCase usual_goodput_case(Seconds work, std::int64_t gpus, std::int64_t gpus_per_node, Bytes checkpoint,
                               BytesPerSecond host_bandwidth) {
    GoodputCase run;
    run.work = work;
    run.failures = failures_of(failure_catalog().front(), gpus, gpus_per_node);
    CheckpointSize size{.total = checkpoint, .per_node = {}, .busiest_rank = checkpoint / gpus};
    size.per_node = size.busiest_rank * std::min(gpus, gpus_per_node);
    StorageKind const& storage = find_storage("parallel-fs", "storage");
    run.tiers = checkpoint_tiers(CheckpointMode::async, storage, storage, size, host_bandwidth);
    choose_intervals(run);
    return run;
}

}  // namespace sextant
