#include "cli/run_plan/memory_advice.hpp"

#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "planner/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace sextant::cli {
namespace {

/// The same run on every other cluster of the vendor with `needed` of usable memory an accelerator, smallest first.
std::vector<RunSetting> on_larger_memory(RunSetting const& setting, Bytes needed) {
    double const allowed =
        setting.limit.usable / default_memory_limit(setting.cluster, setting.framework).usable;  // --max-memory
    std::vector<RunSetting> found;
    for (ClusterSpec const& cluster : all_clusters()) {
        MemoryLimit limit = default_memory_limit(cluster, setting.framework);
        limit.usable = allowed * limit.usable;
        if (cluster.accelerator.vendor != setting.cluster.accelerator.vendor || limit.usable < needed) continue;
        found.push_back(setting);
        found.back().cluster = cluster;
        found.back().limit = limit;
    }
    std::stable_sort(found.begin(), found.end(),
                     [](RunSetting const& a, RunSetting const& b) { return a.limit.capacity < b.limit.capacity; });
    return found;
}

/// The first few on which there is a plan, one per size of memory.
std::vector<std::string> clusters_that_hold(RunSetting const& setting, RunAnswer const& answer, Bytes needed) {
    constexpr std::size_t most = 3;
    std::vector<std::string> names;
    Bytes last;
    for (RunSetting const& other : on_larger_memory(setting, needed)) {
        if (names.size() == most || setting.stopped()) break;
        if (other.limit.capacity == last) continue;
        if (!plan_step(other, answer.model, answer.workload, answer.searched).report) continue;
        last = other.limit.capacity;
        names.push_back(fmt::format("{} ({})", other.cluster.name, human(last)));
    }
    return names;
}

}  // namespace

std::string memory_advice(RunSetting const& setting, RunAnswer const& answer, Candidate const& misfit,
                          std::string_view outcome) {
    Bytes const needed = misfit.estimate.peak();
    std::string text = fmt::format("{} more of memory on each of {} accelerators would {}, such as {}",
                                   human(needed - setting.limit.usable), grouped_digits(answer.searched), outcome,
                                   plan_label(misfit.plan));
    std::vector<std::string> const names = clusters_that_hold(setting, answer, needed);
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "; so much have " : ", ") + names[i];
    return text;
}

}  // namespace sextant::cli
