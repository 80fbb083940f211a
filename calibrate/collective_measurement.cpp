#include "calibrate/collective_measurement.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "cost_models/link_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace sextant {
namespace {

/// "a100-sxm" of "a100-sxm-80gb": names in the catalogue end in the memory of devices that differ in it alone.
std::string_view without_memory(std::string_view name) {
    std::size_t const dash = name.rfind('-');
    if (dash == std::string_view::npos || !name.ends_with("gb")) return name;
    std::string_view const digits = name.substr(dash + 1, name.size() - dash - 3);
    bool const is_size = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    return is_size ? name.substr(0, dash) : name;
}

/// Whether a device that a row names can be that of a cluster. Of one that the catalogue has not only the generation is
/// known.
bool can_be(AcceleratorProfile const& named, AcceleratorProfile const& own) {
    if (known_accelerator(own.name) == nullptr) return named.generation == own.generation;
    return without_memory(named.name) == without_memory(own.name);
}

/// @throws RowSkip for a row of another device, or of one that is joined otherwise.
void require_same_machine(CollectiveMachineRow const& row, ClusterSpec const& cluster) {
    AcceleratorProfile const* const device = known_accelerator(row.gpu);
    if (device != nullptr && !can_be(*device, cluster.accelerator))
        throw RowSkip(fmt::format("of another device ({})", device->name));
    auto const kind = stated_scale_up(row.intra_link);
    if (kind && *kind != cluster.scale_up.kind)
        throw RowSkip(fmt::format("joined by '{}', where {} is {}", row.intra_link.substr(0, 60), cluster.name,
                                  name_of(cluster.scale_up.kind)));
}

class Collector {
public:
    explicit Collector(ClusterSpec const* cluster) : cluster_(cluster) {}

    void skip(RowSkip const& why) { count_skip(skipped_, why); }

    void add(CollectiveRow const& row) {
        try {
            if (!row.measured) throw RowSkip("no time is stated");
            auto const machine = machine_of(row.machine);
            if (machine->group.size < 2) throw RowSkip("over one rank: nothing is communicated");
            if (is_reduce(row.collective)) throw RowSkip("reduce is priced as a broadcast, of which it says nothing");
            if (machine->is_borrowed)
                throw RowSkip(machine->assumptions.front() + ": name a cluster file that has it (--cluster)");
            if (machine->group.bridged)
                throw RowSkip(
                    "two ranks with links of their own (pair_bandwidth and pair_efficiency of the cluster file "
                    "say what these reach)");
            if (cluster_ != nullptr && machine->group.ranks_per_domain > cluster_->domain_size)
                throw RowSkip(fmt::format("{} ranks share a node, where {} has {}", machine->group.ranks_per_domain,
                                          cluster_->name, cluster_->domain_size));
            out_.rows.push_back({.run = row.run_id,
                                 .source = row.source,
                                 .library_version = row.library_version,
                                 .device = row.machine.gpu,
                                 .machine = machine,
                                 .kind = collective_kind_of(row.collective),
                                 .bytes = row.bytes,
                                 .measured = *row.measured,
                                 .slower = row.slower,
                                 .target = *row.measured});
        } catch (RowSkip const& why) {
            skip(why);
        }
    }

    CollectiveMeasurements take() {
        out_.skipped.assign(skipped_.begin(), skipped_.end());
        return std::move(out_);
    }

private:
    std::shared_ptr<CollectiveMachine const> machine_of(CollectiveMachineRow const& row) {
        auto const found = machines_.find(row);
        if (found != machines_.end()) return found->second;
        if (cluster_ != nullptr) require_same_machine(row, *cluster_);
        return machines_.emplace(row, std::make_shared<CollectiveMachine const>(collective_machine(row, cluster_)))
            .first->second;
    }

    ClusterSpec const* cluster_;
    CollectiveMeasurements out_;
    SkipCounts skipped_;
    std::map<CollectiveMachineRow, std::shared_ptr<CollectiveMachine const>> machines_;
};

}  // namespace

CollectiveMeasurements collective_measurements(std::span<CollectiveRow const> rows, ClusterSpec const* cluster) {
    Collector collector(cluster);
    for (CollectiveRow const& row : rows)
        collector.add(row);
    return collector.take();
}

CollectiveMeasurements collective_measurements(CsvTable const& table, ClusterSpec const* cluster) {
    std::vector<std::string_view> needed{"collective", "size_bytes"};
    if (cluster == nullptr) needed.emplace_back("gpu");
    require_columns(table, needed, collective_columns());
    std::string const device = cluster != nullptr ? cluster->accelerator.name : "";
    Collector collector(cluster);
    for (CsvRecord const& record : table.records) {
        try {
            CollectiveRow row = collective_row(RowCells(table, record), device);
            if (row.run_id.empty()) row.run_id = table.name;
            collector.add(row);
        } catch (RowSkip const& why) {
            collector.skip(why);
        }
    }
    return collector.take();
}

namespace {

/// A run with no more sizes than this is a summary, not a sweep that warms up.
constexpr std::size_t few_sizes = 4;

/// Rows of one collective over one group in one run: runs of one name may be of several.
template <class Row>
std::vector<std::vector<Row*>> sweeps_of(std::span<Row> rows) {
    auto const sweep = [](CollectiveMeasurement const& row) {
        return std::tuple(row.run, row.kind, row.group().ranks_per_domain, row.group().domains);
    };
    std::map<decltype(sweep(rows.front())), std::vector<Row*>> sweeps;
    for (Row& row : rows)
        sweeps[sweep(row)].push_back(&row);
    std::vector<std::vector<Row*>> out;
    for (auto& [key, run] : sweeps)
        out.push_back(std::move(run));
    return out;
}

/// Rows of one size are one point, their least: the order in which they stand decides nothing.
template <class Row>
std::map<Bytes, Seconds> least_times(std::vector<Row*> const& run) {
    std::map<Bytes, Seconds> least;
    for (Row const* row : run) {
        auto const [found, is_new] = least.emplace(row->bytes, row->measured);
        if (!is_new) found->second = std::min(found->second, row->measured);
    }
    return least;
}

/// Least time of this and all larger sizes.
void set_targets(std::vector<CollectiveMeasurement>& rows) {
    for (auto const& run : sweeps_of(std::span(rows))) {
        std::map<Bytes, Seconds> least = least_times(run);
        Seconds of_larger = least.rbegin()->second;
        for (auto at = least.rbegin(); at != least.rend(); ++at)
            at->second = of_larger = std::min(of_larger, at->second);
        for (CollectiveMeasurement* row : run) {
            row->target = least.at(row->bytes);
            if (row->bytes == least.begin()->first && least.size() > few_sizes) row->weight *= 0.25;
        }
    }
}

/// Whether a time is out of line with the two sizes on either side of it (of none: no say).
bool is_too_fast(CollectiveMeasurement const& row, std::map<Bytes, Seconds> const& least) {
    constexpr double part = 0.5;
    constexpr int neighbours = 2;
    auto const here = least.find(row.bytes);
    if (here == least.begin()) return false;
    auto smaller = here;
    for (int i = 0; i < neighbours && smaller != least.begin(); ++i)
        if (row.measured >= part * (--smaller)->second) return false;
    auto larger = std::next(here);
    for (int i = 0; i < neighbours && larger != least.end(); ++i, ++larger)
        if (row.measured / row.bytes >= larger->second / larger->first) return false;
    return true;
}

/// Size to the nearest half octave: runs need not use the same sizes. Devices are the same that differ in memory alone
/// (A100 of 40 and of 80 GB), as are their links.
using Likeness = std::tuple<std::string, double, CollectiveKind, std::int64_t, std::int64_t, std::string, int>;

Likeness likeness(CollectiveMeasurement const& row) {
    ClusterSpec const& cluster = row.machine->cluster;
    return {cluster.accelerator.generation,
            cluster.scale_up.bandwidth.value.base(),
            row.kind,
            row.group().ranks_per_domain,
            row.group().domains,
            row.between_domains() ? cluster.name : std::string(name_of(cluster.scale_up.kind)),
            static_cast<int>(std::lround(2 * std::log2(row.bytes.base())))};
}

/// How the rows of a run compare with those of other runs.
struct Company {
    std::size_t rows = 0;  ///< that another run has as well
    std::size_t delayed = 0;
};

/// Rows of slow runs lose their say: those that another run shows to be slow, and, where most of a run's are, those
/// that no other run has. It is the same process.
void lower_slow_rows(std::vector<CollectiveMeasurement>& rows) {
    constexpr double delay = 1.3;
    struct Fastest {
        Seconds time;
        std::string run;
        bool is_alone = true;
    };
    std::map<Likeness, Fastest> fastest;
    for (CollectiveMeasurement const& row : rows) {
        auto const [found, is_new] = fastest.try_emplace(likeness(row), Fastest{row.target, row.run});
        Fastest& best = found->second;
        best.is_alone = best.is_alone && best.run == row.run;
        if (row.target < best.time) best = {row.target, row.run, best.is_alone};
    }
    auto const is_delayed = [&](CollectiveMeasurement const& row) {
        return row.target > delay * fastest.at(likeness(row)).time;
    };
    auto const counts = [](CollectiveMeasurement const& row) { return row.bytes <= 64 * units::MiB; };
    std::map<std::pair<std::string, CollectiveKind>, Company> runs;
    for (CollectiveMeasurement const& row : rows) {
        if (!counts(row) || fastest.at(likeness(row)).is_alone) continue;
        Company& company = runs[{row.run, row.kind}];
        ++company.rows;
        if (is_delayed(row)) ++company.delayed;
    }
    for (CollectiveMeasurement& row : rows) {
        if (!counts(row)) continue;
        Company const company = runs[{row.run, row.kind}];
        bool const is_slow_run = fastest.at(likeness(row)).is_alone && 2 * company.delayed > company.rows;
        if (is_slow_run || is_delayed(row)) row.weight *= 0.05;
    }
}

}  // namespace

namespace {

/// Medians of three records of a profiler. A log of one's own may lie in a folder of any name.
bool has_few_records(CollectiveMeasurement const& row) {
    return row.source.starts_with("https://github.com/microsoft/vidur");
}

}  // namespace

std::size_t drop_too_fast(std::vector<CollectiveMeasurement>& rows) {
    std::set<CollectiveMeasurement const*> dropped;
    for (auto const& run : sweeps_of(std::span(std::as_const(rows)))) {
        auto const least = least_times(run);
        for (CollectiveMeasurement const* row : run)
            if (is_too_fast(*row, least)) dropped.insert(row);
    }
    std::vector<CollectiveMeasurement> kept;
    for (CollectiveMeasurement& row : rows)
        if (!dropped.contains(&row)) kept.push_back(std::move(row));
    rows = std::move(kept);
    return dropped.size();
}

void prepare_rows(std::vector<CollectiveMeasurement>& rows) {
    for (CollectiveMeasurement& row : rows) {
        row.weight = 1;
        row.role = RowRole::accuracy;
        bool const few_records = has_few_records(row);
        bool const large_job =
            row.group().domains >= 128 && row.bytes > 64 * units::KiB && row.bytes < 256 * units::MiB;
        bool const through_host = row.machine->cluster.accelerator.name == "l40s" && row.group().size >= 8;
        if (few_records || large_job || through_host) row.role = RowRole::robustness;
        if (few_records) row.weight = 0.002;
        if (large_job) row.weight = 0.05;
    }
    set_targets(rows);
    lower_slow_rows(rows);
}

}  // namespace sextant
