#include "cli/simulate/view.hpp"

#include "cli/view/percent_text.hpp"
#include "core/quantile.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>

namespace sextant::cli {
namespace {

constexpr TaskPart communications[] = {TaskPart::tp, TaskPart::cp, TaskPart::ep,
                                       TaskPart::pp, TaskPart::dp, TaskPart::offload};
constexpr std::size_t most_rows = 32;
constexpr std::size_t columns_wide = 80;

double share(Seconds part, Seconds whole) { return whole > Seconds{} ? part / whole : 0; }

/// The unit in which all times of a table are given, so that columns stay narrow and can be compared.
struct TimeUnit {
    Seconds unit;
    char const* name;
    int digits;  ///< behind the point
    [[nodiscard]] std::string operator()(Seconds time) const {
        return time == Seconds{} ? "-" : fmt::format("{:.{}f}", time.in(unit), digits);
    }
};

TimeUnit unit_for(Seconds largest) {
    auto const of = [&](Seconds unit, char const* name) {
        return TimeUnit{unit, name, largest >= 10'000 * unit ? 0 : largest >= 1000 * unit ? 1 : 2};
    };
    if (largest >= 10 * units::s) return of(units::s, "s");
    return largest >= 10 * units::ms ? of(units::ms, "ms") : of(units::us, "us");
}

std::string rank_label(SimulationReport const& r, std::size_t rank) {
    SimulatedRank const& of = r.graph.ranks[rank];
    return fmt::format("rank {} (stage {})", of.rank, of.pipeline);
}

/// What times and bytes are of, where it is not one step.
std::string of_steps(SimulationReport const& r) {
    return r.steps > 1 ? fmt::format(" of all {} steps", r.steps) : std::string();
}

std::string against(Seconds time, Seconds other) {
    return fmt::format("{}, {}", human(other), signed_percent(time / other - 1));
}

std::string repetitions_text(SimulationReport const& r) {
    auto const at = [&](double q) { return human(time_quantile(r.repetitions, q)); };
    return fmt::format("{} seeds: median {}, 80 % in {} to {}, worst {}", r.repetitions.size(), at(0.5), at(0.1),
                       at(0.9), at(1));
}

std::string key_figures(SimulationReport const& r) {
    std::vector<std::pair<std::string, std::string>> pairs;
    std::string step = human(r.step_time);
    if (r.without_contention)
        step += fmt::format("  (without contention {})", against(r.step_time, *r.without_contention));
    pairs.emplace_back("step time", step);
    pairs.emplace_back("80 % interval",
                       fmt::format("{} to {} (its error on measured steps)", human(r.interval.low * r.step_time),
                                   human(r.interval.high * r.step_time)));
    if (r.closed_form) pairs.emplace_back("closed form", against(r.step_time, *r.closed_form));
    pairs.emplace_back(
        "throughput",
        fmt::format("{} tokens/s, {} per accelerator", human_count(r.tokens_per_second),
                    human_count(r.tokens_per_second / static_cast<double>(std::max<std::int64_t>(1, r.accelerators)))));
    pairs.emplace_back("MFU", percent(r.mfu));
    if (!r.analysis.ranks.empty())
        pairs.emplace_back("bubble",
                           fmt::format("{} on average, {} on the busiest: {}", percent(r.analysis.bubble_share()),
                                       percent(r.analysis.least_bubble_share()), rank_label(r, r.analysis.busiest)));
    if (auto const fullest = fullest_rank(r)) {
        MemoryTimeline const& m = r.memory[*fullest];
        pairs.emplace_back("memory", fmt::format("{} allocated on {} at {}", human(m.peak), rank_label(r, *fullest),
                                                 human(m.peak_time)));
        if (r.usable_memory)
            pairs.emplace_back("reserved",
                               fmt::format("{} of {} usable: {}", human(most_reserved(r)), human(*r.usable_memory),
                                           fits_memory(r) ? "fits" : "DOES NOT FIT"));
    }
    std::string run = fmt::format("{} tasks by {}, {} ranks, {} network", r.graph.tasks.size(), r.granularity,
                                  r.graph.ranks.size(), r.network);
    if (r.activities > 0) run += fmt::format(", {} activities", r.activities);
    pairs.emplace_back("simulated", run);
    if (r.wall_time) pairs.emplace_back("wall time", human(*r.wall_time));
    if (!r.repetitions.empty()) pairs.emplace_back("repetitions", repetitions_text(r));
    return aligned_pairs(pairs);
}

/// One line of the table of ranks: a rank; where there are too many, the mean over the ranks of a stage that are alike
/// and the fullest memory among them, for evenly spaced stages. Ranks that compute longer than the others of their
/// stage are apart.
struct RankRow {
    std::string rank;
    std::int64_t stage = 0;
    RankAnalysis what;
    Bytes peak;
};

RankAnalysis mean_of(std::vector<RankAnalysis const*> const& ranks) {
    RankAnalysis mean;
    double const weight = 1.0 / static_cast<double>(ranks.size());
    for (RankAnalysis const* rank : ranks) {
        for (std::size_t part = 0; part < task_part_count; ++part) {
            mean.compute.time[part] += weight * rank->compute.time[part];
            mean.exposed.time[part] += weight * rank->exposed.time[part];
        }
        mean.idle.between += weight * rank->idle.total();
    }
    return mean;
}

/// The ranks of a stage, and those of them that compute longer than the median does: by more than what jitter leaves.
struct StageRanks {
    std::vector<std::size_t> alike;
    std::vector<std::size_t> slower;
};

StageRanks split_by_pace(SimulationReport const& r, std::vector<std::size_t> const& members) {
    constexpr double most_alike = 1.02;
    auto const compute = [&](std::size_t rank) { return r.analysis.ranks[rank].compute.total(); };
    std::vector<Seconds> sorted;
    for (std::size_t const rank : members)
        sorted.push_back(compute(rank));
    auto const middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    StageRanks split;
    for (std::size_t const rank : members)
        (compute(rank) > most_alike * *middle ? split.slower : split.alike).push_back(rank);
    return split;
}

std::vector<RankRow> rank_rows(SimulationReport const& r) {
    std::vector<RankRow> rows;
    auto const peak = [&](std::size_t rank) { return r.memory.empty() ? Bytes{} : r.memory[rank].peak; };
    if (r.analysis.ranks.size() <= most_rows) {
        for (std::size_t i = 0; i < r.analysis.ranks.size(); ++i)
            rows.push_back(
                {fmt::format("{}", r.graph.ranks[i].rank), r.graph.ranks[i].pipeline, r.analysis.ranks[i], peak(i)});
        return rows;
    }
    std::map<std::int64_t, std::vector<std::size_t>> stages;
    for (std::size_t i = 0; i < r.analysis.ranks.size(); ++i)
        stages[r.graph.ranks[i].pipeline].push_back(i);
    auto const add_row = [&](std::int64_t stage, std::vector<std::size_t> const& members, char const* words) {
        if (members.empty()) return;
        std::vector<RankAnalysis const*> analyses;
        Bytes most;
        for (std::size_t const rank : members) {
            analyses.push_back(&r.analysis.ranks[rank]);
            most = std::max(most, peak(rank));
        }
        std::string const first = fmt::format("{}", r.graph.ranks[members.front()].rank);
        rows.push_back({members.size() == 1 ? first : fmt::format("{} {}", members.size(), words), stage,
                        mean_of(analyses), most});
    };
    for (auto const& [stage, members] : stages) {
        StageRanks const split = split_by_pace(r, members);
        add_row(stage, split.alike, "of them");
        add_row(stage, split.slower, "slower");
    }
    if (rows.size() <= most_rows) return rows;
    std::vector<RankRow> spaced;
    for (std::size_t i = 0; i < most_rows; ++i)
        spaced.push_back(rows[i * (rows.size() - 1) / (most_rows - 1)]);
    return spaced;
}

/// Columns of exposed time that have something to say, largest first where there are too many; the rest is one column.
std::vector<TaskPart> exposed_columns(RankAnalysis const& mean) {
    std::vector<TaskPart> parts;
    for (std::size_t part = 0; part < task_part_count; ++part)
        if (mean.exposed.time[part] > Seconds{}) parts.push_back(static_cast<TaskPart>(part));
    std::size_t const room = 4;
    if (parts.size() <= room) return parts;
    std::stable_sort(parts.begin(), parts.end(),
                     [&](TaskPart a, TaskPart b) { return mean.exposed[a] > mean.exposed[b]; });
    parts.resize(room - 1);
    std::sort(parts.begin(), parts.end());
    return parts;
}

std::string rank_text(SimulationReport const& r) {
    StepAnalysis const& a = r.analysis;
    TimeUnit const unit = unit_for(a.makespan);
    std::vector<TaskPart> const parts = exposed_columns(a.mean);
    Seconds shown;
    for (TaskPart const part : parts)
        shown += a.mean.exposed[part];
    bool const others = a.mean.exposed.total() - shown > 1e-12 * a.makespan;
    std::vector<Column> columns{{"rank", Align::right}, {"stage", Align::right}, {"compute", Align::right}};
    for (TaskPart const part : parts)
        columns.push_back({std::string(name_of(part)), Align::right});
    if (others) columns.push_back({"other", Align::right});
    columns.push_back({"idle", Align::right});
    columns.push_back({"bubble", Align::right});
    if (!r.memory.empty()) columns.push_back({"memory", Align::right});
    Table table(columns);
    std::vector<RankRow> const rows = rank_rows(r);
    for (RankRow const& row : rows) {
        std::vector<std::string> cells{row.rank, fmt::format("{}", row.stage), unit(row.what.compute.total())};
        Seconds rest = row.what.exposed.total();
        for (TaskPart const part : parts) {
            cells.push_back(unit(row.what.exposed[part]));
            rest -= row.what.exposed[part];
        }
        if (others) cells.push_back(unit(rest));
        cells.push_back(unit(row.what.idle.total()));
        cells.push_back(percent(share(row.what.idle.total(), a.makespan)));
        if (!r.memory.empty()) cells.push_back(human(row.peak));
        table.add_row(std::move(cells));
    }
    return fmt::format("time per {} in {}{}: computing, waiting for communication, idle\n",
                       a.ranks.size() > most_rows ? "stage" : "rank", unit.name, of_steps(r)) +
           table.text();
}

std::string overlap_text(SimulationReport const& r) {
    RankAnalysis const& mean = r.analysis.mean;
    TimeUnit const unit = unit_for(r.analysis.makespan);
    Table table({{"communication"},
                 {"total", Align::right},
                 {"beside compute", Align::right},
                 {"overlap", Align::right},
                 {"exposed", Align::right}});
    for (TaskPart const part : communications) {
        Overlap const& overlap = mean.overlap[static_cast<std::size_t>(part)];
        if (overlap.total == Seconds{}) continue;
        table.add_row({std::string(name_of(part)), unit(overlap.total), unit(overlap.hidden), percent(overlap.share()),
                       unit(mean.exposed[part])});
    }
    if (table.row_count() == 0) return "";
    return fmt::format("\noverlap in {}{}, mean per rank\n", unit.name, of_steps(r)) + table.text();
}

std::string link_text(SimulationReport const& r) {
    auto const links = by_use(r.links);
    if (links.empty()) return "";
    std::size_t const most = 8;
    Table table({{"link"}, {"bandwidth", Align::right}, {"carried", Align::right}, {"busy", Align::right}});
    for (std::size_t i = 0; i < std::min(links.size(), most); ++i)
        table.add_row(
            {links[i].name, human(links[i].bandwidth), human(links[i].carried), percent(links[i].busy_share)});
    return (links.size() > most ? fmt::format("\nfullest {} of {} links{}\n", most, links.size(), of_steps(r))
                                : fmt::format("\nlinks{}\n", of_steps(r))) +
           table.text();
}

std::string path_text(SimulationReport const& r) {
    CriticalPath const& path = r.path;
    if (path.tasks.empty()) return "";
    std::vector<std::pair<Seconds, std::string>> parts;
    for (std::size_t i = 0; i < task_part_count; ++i)
        if (path.parts.time[i] > Seconds{})
            parts.emplace_back(path.parts.time[i], std::string(name_of(static_cast<TaskPart>(i))));
    if (path.waiting > 1e-9 * path.length) parts.emplace_back(path.waiting, "waiting");
    std::stable_sort(parts.begin(), parts.end(), [](auto const& a, auto const& b) { return a.first > b.first; });
    std::string line = fmt::format("critical path{}: {} tasks;", of_steps(r), path.tasks.size());
    for (std::size_t i = 0; i < parts.size(); ++i)
        line += fmt::format("{} {} {}", i > 0 ? "," : "", parts[i].second, percent(share(parts[i].first, path.length)));
    if (path.network_delay > 1e-9 * path.length)
        line += fmt::format("; {} of it waits in the network", human(path.network_delay));
    if (path.compute_delay > 1e-9 * path.length)
        line += fmt::format("; compute takes {} more than alone", human(path.compute_delay));
    TimeUnit const unit = unit_for(path.length);
    Table table({{"op on the path"}, {"times", Align::right}, {unit.name, Align::right}, {"share", Align::right}});
    std::size_t const most = 8;
    for (std::size_t i = 0; i < std::min(path.ops.size(), most); ++i)
        table.add_row({path.ops[i].name, fmt::format("{}", path.ops[i].count), unit(path.ops[i].time),
                       percent(share(path.ops[i].time, path.length))});
    if (path.ops.size() > most) {
        Seconds rest;
        std::int64_t count = 0;
        for (std::size_t i = most; i < path.ops.size(); ++i) {
            rest += path.ops[i].time;
            count += path.ops[i].count;
        }
        table.add_row({fmt::format("{} others", path.ops.size() - most), fmt::format("{}", count), unit(rest),
                       percent(share(rest, path.length))});
    }
    return "\n" + wrapped(line, "  ", columns_wide) + table.text();
}

}  // namespace

std::optional<std::size_t> fullest_rank(SimulationReport const& report) {
    if (report.memory.empty()) return {};
    auto const fullest = std::max_element(report.memory.begin(), report.memory.end(),
                                          [](auto const& a, auto const& b) { return a.peak < b.peak; });
    return static_cast<std::size_t>(fullest - report.memory.begin());
}

Bytes most_reserved(SimulationReport const& report) {
    Bytes most;
    for (std::size_t rank = 0; rank < report.memory.size(); ++rank)
        most = std::max(
            most, (report.reserved_factors.empty() ? 1 : report.reserved_factors[rank]) * report.memory[rank].peak);
    return most;
}

bool fits_memory(SimulationReport const& report) {
    return !report.usable_memory || most_reserved(report) <= *report.usable_memory;
}

std::vector<LinkUse> by_use(std::vector<LinkUse> links) {
    std::stable_sort(links.begin(), links.end(),
                     [](LinkUse const& a, LinkUse const& b) { return a.busy_share > b.busy_share; });
    return links;
}

Seconds time_quantile(std::vector<Seconds> const& sample, double share) {
    assert(!sample.empty());
    std::vector<double> sorted;
    for (Seconds const time : sample)
        sorted.push_back(time.base());
    std::sort(sorted.begin(), sorted.end());
    return sextant::quantile(sorted, share) * units::s;
}

std::string simulation_text(SimulationReport const& r) {
    std::string text = wrapped(r.headline);
    if (!r.plan_label.empty()) text += wrapped(r.plan_label);
    text += "\n" + key_figures(r) + "\n" + rank_text(r) + overlap_text(r) + link_text(r) + path_text(r);
    for (std::size_t i = 0; i < r.notes.size(); ++i)
        text += (i == 0 ? "\n" : "") + wrapped("- " + r.notes[i]);
    return text;
}

Table simulation_table(SimulationReport const& r) {
    std::vector<Column> columns{{"rank"}, {"stage"}, {"stands_for"}, {"compute_s"}};
    for (TaskPart const part : communications)
        columns.push_back({fmt::format("exposed_{}_s", name_of(part))});
    for (char const* name : {"exposed_other_s", "idle_s", "bubble_share", "memory_peak_bytes", "memory_peak_time_s"})
        columns.push_back({name});
    Table table(columns);
    for (std::size_t i = 0; i < r.analysis.ranks.size(); ++i) {
        RankAnalysis const& rank = r.analysis.ranks[i];
        SimulatedRank const& of = r.graph.ranks[i];
        std::vector<std::string> cells;
        for (std::int64_t const number : {of.rank, of.pipeline, of.stands_for})
            cells.push_back(fmt::format("{}", number));
        cells.push_back(fmt::format("{}", rank.compute.total().base()));
        Seconds rest;
        for (std::size_t part = 0; part < task_part_count; ++part)
            if (!is_communication(static_cast<TaskPart>(part))) rest += rank.exposed.time[part];
        for (TaskPart const part : communications)
            cells.push_back(fmt::format("{}", rank.exposed[part].base()));
        for (double const value :
             {rest.base(), rank.idle.total().base(), share(rank.idle.total(), r.analysis.makespan)})
            cells.push_back(fmt::format("{}", value));
        if (i < r.memory.size()) {
            cells.push_back(fmt::format("{}", r.memory[i].peak.base()));
            cells.push_back(fmt::format("{}", r.memory[i].peak_time.base()));
        }
        table.add_row(std::move(cells));
    }
    return table;
}

}  // namespace sextant::cli
