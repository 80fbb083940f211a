#include "calibrate/collective_screen.hpp"

#include "calibrate/row_screen.hpp"
#include "core/error.hpp"
#include "core/spec/network_calibration.hpp"
#include "cost_models/collective_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace sextant {
namespace {

double bus_rate_of(CollectiveMeasurement const& row, BytesPerSecond rate) {
    return bus_rate(*row.machine, row.kind, row.bytes, row.measured, rate);
}

bool is_faster_than_links(CollectiveMeasurement const& row) {
    return bus_rate_of(row, link_rate(*row.machine, row.kind)) > most_of_links;
}

/// @throws InputError where all large rows are so slow that their unit is less than it should be.
void require_rates(std::vector<CollectiveMeasurement> const& rows, ClusterSpec const& cluster) {
    constexpr double least_of_link = 0.01;    // assumed: Ethernet that a node's accelerators share reaches 0.1
    constexpr Bytes large = 64 * units::MiB;  // of which latencies take little
    for (bool const between : {false, true}) {
        double best = 0;
        for (CollectiveMeasurement const& row : rows)
            if (row.bytes >= large && row.between_domains() == between)
                best = std::max(best, bus_rate_of(row, narrowest_rate(*row.machine, row.kind)));
        if (best > 0 && best < least_of_link)
            throw InputError(
                "calibrate fit: the quickest large collective {} reaches {:.2g} % of the links of {} (are the times in "
                "nanoseconds? time_us_oop and time_us_ip are in microseconds: divide them by 1000)",
                between ? "between domains" : "in one domain", 100 * best, cluster.name);
    }
}

/// Whether the row's cluster has constants of its own, and they say something else.
bool is_far(CollectiveMeasurement const& row) {
    auto const& model = row.machine->cluster.network_model;
    if (!model) return false;
    NetworkModel::Part const& part = row.between_domains() ? model->out_part : model->up_part;
    if (part.range == CalibrationRange::by_class) return false;
    Seconds const said = collective_curve(row.machine->cluster, row.kind, row.group()).time(row.bytes);
    return is_far_off(row.measured.base(), said.base());
}

/// Empty where nothing is wrong with the row.
std::string why_impossible(CollectiveMeasurement const& row, ClusterSpec const& cluster) {
    if (is_faster_than_links(row))
        return fmt::format("faster than {} times the links of {}", most_of_links, cluster.name);
    if (is_far(row))
        return fmt::format("off by more than four times from what the calibration of {} says", cluster.name);
    return "";
}

/// What is compared between runs: a cluster, a collective and its ranks.
using SweepGroup = std::tuple<std::string, CollectiveKind, std::int64_t, std::int64_t>;

SweepGroup sweep_group(CollectiveMeasurement const& row) {
    return {row.machine->cluster.name, row.kind, row.group().ranks_per_domain, row.group().domains};
}

using SweepTimes = std::pair<Seconds, std::optional<Seconds>>;

SweepTimes times_of(CollectiveMeasurement const& row) { return {row.measured, row.slower}; }

}  // namespace

std::size_t drop_repeats(std::vector<CollectiveMeasurement>& rows) {
    return drop_repeated(rows, [](CollectiveMeasurement const& row) {
        return std::tuple(row.run, row.machine->cluster.name, row.kind, row.group().ranks_per_domain,
                          row.group().domains, row.bytes, row.measured, row.slower);
    });
}

void part_runs(std::vector<CollectiveMeasurement>& of_file, std::vector<CollectiveMeasurement> const& before,
               std::string const& file) {
    auto const point = [](CollectiveMeasurement const& row) {
        return std::tuple(row.run, sweep_group(row), row.bytes);
    };
    std::map<decltype(point(of_file.front())), std::set<SweepTimes>> known;
    for (CollectiveMeasurement const& row : before)
        known[point(row)].insert(times_of(row));
    std::set<std::string> others;
    for (CollectiveMeasurement const& row : of_file)
        if (auto const found = known.find(point(row)); found != known.end() && !found->second.contains(times_of(row)))
            others.insert(row.run);
    for (CollectiveMeasurement& row : of_file)
        if (others.contains(row.run)) row.run = fmt::format("{} of {}", row.run, file);
}

std::vector<CopiedSweep> drop_copies(std::vector<CollectiveMeasurement>& rows) {
    constexpr std::size_t fewest = 4;  // fewer may agree by chance, of small messages in whole microseconds
    std::map<SweepGroup, std::map<std::string, std::set<std::pair<Bytes, SweepTimes>>>> groups;
    for (CollectiveMeasurement const& row : rows)
        groups[sweep_group(row)][row.run].emplace(row.bytes, times_of(row));
    std::vector<CopiedSweep> out;
    std::set<std::pair<SweepGroup, std::string>> dropped;
    for (auto const& [group, runs] : groups)
        for (auto const& [run, points] : runs) {
            auto const holds = [&](auto const& other) {
                bool const same = other.second.size() == points.size();
                return other.first != run && (other.first < run || !same) && other.second.size() >= points.size() &&
                       std::includes(other.second.begin(), other.second.end(), points.begin(), points.end());
            };
            auto const found = points.size() < fewest ? runs.end() : std::find_if(runs.begin(), runs.end(), holds);
            if (found == runs.end()) continue;
            out.push_back({.run = run, .of = found->first, .rows = points.size()});
            dropped.emplace(group, run);
        }
    std::erase_if(rows, [&](CollectiveMeasurement const& row) {
        return dropped.contains({sweep_group(row), row.run});
    });
    return out;
}

std::map<std::string, std::size_t> drop_impossible(std::vector<CollectiveMeasurement>& rows,
                                                   ClusterSpec const& cluster) {
    auto const why_not = [&](CollectiveMeasurement const& row) { return why_impossible(row, cluster); };
    auto dropped = drop_rows(rows, why_not, cluster.name,
                             "are their times in microseconds and their sizes in bytes? A machine that differs so much "
                             "needs a cluster file under a name of its own");
    require_rates(rows, cluster);
    return dropped;
}

}  // namespace sextant
