#include "cli/simulate/page.hpp"

#include "cli/page/page_cells.hpp"
#include "cli/plan/step_blocks.hpp"
#include "cli/simulate/timeline_chart.hpp"
#include "cli/view/percent_text.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

/// More ranks than this are drawn as evenly spaced ones; the table has all up to `most_rows`.
constexpr std::size_t most_bars = 24;
constexpr std::size_t most_rows = 2000;
constexpr std::size_t most_links = 500;
constexpr std::size_t most_memory_points = 3000;  ///< of one line

std::string rank_name(SimulationReport const& r, std::size_t i) {
    return fmt::format("rank {} (stage {})", r.graph.ranks[i].rank, r.graph.ranks[i].pipeline);
}

std::vector<std::size_t> spaced(std::size_t all, std::size_t most) {
    std::vector<std::size_t> out;
    std::size_t const shown = std::min(all, most);
    for (std::size_t i = 0; i < shown; ++i)
        out.push_back(shown == all ? i : i * (all - 1) / (shown - 1));
    return out;
}

std::vector<PageFigure> figures(SimulationReport const& r) {
    std::vector<PageFigure> list{
        {"step time", human(r.step_time), "80 %: " + interval_words(r.step_time, r.interval)},
        {"MFU", percent(r.mfu)},
        {"throughput", human_count(r.tokens_per_second) + " tok/s",
         human_count(r.tokens_per_second / static_cast<double>(std::max<std::int64_t>(1, r.accelerators))) +
             " per accelerator"}};
    if (!r.analysis.ranks.empty())
        list.push_back({"bubble", percent(r.analysis.bubble_share()),
                        fmt::format("of the busiest, {}: {}", rank_name(r, r.analysis.busiest),
                                    percent(r.analysis.least_bubble_share()))});
    if (auto const fullest = fullest_rank(r)) {
        bool const fits = fits_memory(r);
        Bytes const peak = r.memory[*fullest].peak;
        list.push_back({"memory", human(peak),
                        fmt::format("{} on {}",
                                    r.usable_memory ? fmt::format("{}{} reserved, of {} usable,",
                                                                  fits ? "fits: " : "DOES NOT FIT: ",
                                                                  human(most_reserved(r)), human(*r.usable_memory))
                                                    : std::string("allocated"),
                                    rank_name(r, *fullest)),
                        fits ? Tone::good : Tone::bad});
    }
    auto const against = [&](Seconds other) {
        double const off = 100 * (r.step_time / other - 1);
        return std::abs(off) < 0.05
                   ? std::string("the simulation agrees")
                   : fmt::format("the simulation takes {:.1f} % {}", std::abs(off), off > 0 ? "longer" : "less");
    };
    if (r.closed_form) list.push_back({"closed form", human(*r.closed_form), against(*r.closed_form)});
    if (r.without_contention)
        list.push_back({"without contention", human(*r.without_contention), against(*r.without_contention)});
    if (!r.repetitions.empty())
        list.push_back({fmt::format("{} seeds", r.repetitions.size()), human(time_quantile(r.repetitions, 0.5)),
                        fmt::format("median; 80 % in {} to {}, worst {}", human(time_quantile(r.repetitions, 0.1)),
                                    human(time_quantile(r.repetitions, 0.9)), human(time_quantile(r.repetitions, 1)))});
    return list;
}

std::string steps_words(SimulationReport const& r) {
    return r.steps > 1 ? fmt::format("{} steps", r.steps) : std::string("one step");
}

Chart rank_chart(SimulationReport const& r) {
    TimeScale const scale = time_scale(r.analysis.makespan);
    auto const shown = spaced(r.analysis.ranks.size(), most_bars);
    BarChart bars{.categories = {}, .series = {}, .x = {.title = fmt::format("{} of {}", scale.name, steps_words(r))}};
    for (std::size_t const i : shown)
        bars.categories.push_back(rank_name(r, i));
    auto const add = [&](std::string name, std::string role, auto const& time_of) {
        BarSeries series{.name = std::move(name), .role = std::move(role), .values = {}};
        double sum = 0;
        for (std::size_t const i : shown) {
            series.values.push_back(scale(time_of(r.analysis.ranks[i])));
            sum += series.values.back();
        }
        if (sum > 0) bars.series.push_back(std::move(series));
    };
    add("compute", "compute", [](RankAnalysis const& rank) { return rank.compute.total(); });
    for (std::size_t part = 0; part < task_part_count; ++part) {
        std::string const name(name_of(static_cast<TaskPart>(part)));
        add("exposed " + name, name, [part](RankAnalysis const& rank) { return rank.exposed.time[part]; });
    }
    add("idle", "idle", [](RankAnalysis const& rank) { return rank.idle.total(); });
    std::string note = "Computing, waiting for communication, idle (the pipeline's bubble).";
    if (shown.size() < r.analysis.ranks.size())
        note += fmt::format(" {} of {} ranks, evenly spaced.", shown.size(), r.analysis.ranks.size());
    return {.title = "Time per rank", .note = note, .body = std::move(bars)};
}

/// A line of memory: at most `most_memory_points` steps, the highest of each stretch that is left out.
PointSeries memory_line(MemoryTimeline const& timeline, TimeScale scale, std::string name) {
    PointSeries line{.name = std::move(name), .draw = Draw::steps, .x = {}, .y = {}};
    std::size_t const stride = (timeline.steps.size() + most_memory_points - 1) / most_memory_points;
    for (std::size_t i = 0; i < timeline.steps.size(); i += stride) {
        std::size_t highest = i;
        for (std::size_t j = i; j < std::min(i + stride, timeline.steps.size()); ++j)
            if (timeline.steps[j].bytes > timeline.steps[highest].bytes) highest = j;
        line.x.push_back(scale(timeline.steps[highest].time * units::s));
        line.y.push_back(timeline.steps[highest].bytes.in(units::GB));
    }
    return line;
}

Chart memory_over_time(SimulationReport const& r) {
    TimeScale const scale = time_scale(r.analysis.makespan);
    PointChart lines{.series = {}, .x = {.title = scale.name}, .y = {.title = "GB per accelerator", .from_zero = true}};
    for (std::size_t const i : spaced(r.memory.size(), 8))
        lines.series.push_back(memory_line(r.memory[i], scale, rank_name(r, i)));
    if (r.usable_memory)
        lines.marks.push_back(
            {.across = ChartMark::Across::y, .at = r.usable_memory->in(units::GB), .label = "usable"});
    return {.title = "Memory over time",
            .note = "State and activations of up to eight ranks, evenly spaced.",
            .body = std::move(lines)};
}

PageTable rank_table(SimulationReport const& r) {
    TimeScale const scale = time_scale(r.analysis.makespan);
    std::vector<TaskPart> parts;
    for (std::size_t part = 0; part < task_part_count; ++part)
        if (r.analysis.mean.exposed.time[part] > Seconds{}) parts.push_back(static_cast<TaskPart>(part));
    PageTable table{
        .title = "Ranks",
        .note = fmt::format("Times in {} of {}: computing, waiting for each kind of communication, "
                            "idle. A simulated rank may stand for several that do the same.",
                            scale.name, steps_words(r)),
        .columns = {{"rank"}, {"stage", Align::right, PageColumn::Choice::list}, {"stands for"}, {"compute"}}};
    for (TaskPart const part : parts)
        table.columns.push_back({std::string(name_of(part)), Align::right, PageColumn::Choice::none, "exposed"});
    for (char const* name : {"idle", "bubble %"})
        table.columns.push_back({name});
    if (!r.memory.empty()) table.columns.push_back({"memory GB"});
    for (std::size_t const i : spaced(r.analysis.ranks.size(), most_rows)) {
        RankAnalysis const& rank = r.analysis.ranks[i];
        SimulatedRank const& of = r.graph.ranks[i];
        std::vector<PageCell> cells;
        for (std::int64_t const value : {static_cast<std::int64_t>(of.rank), static_cast<std::int64_t>(of.pipeline),
                                         static_cast<std::int64_t>(of.stands_for)})
            cells.push_back(count_cell(value));
        cells.push_back(number_cell("{:.4g}", scale(rank.compute.total())));
        for (TaskPart const part : parts)
            cells.push_back(number_cell("{:.4g}", scale(rank.exposed[part])));
        cells.push_back(number_cell("{:.4g}", scale(rank.idle.total())));
        cells.push_back(number_cell("{:.1f}", 100 * (rank.idle.total() / r.analysis.makespan)));
        if (!r.memory.empty()) cells.push_back(number_cell("{:.2f}", r.memory[i].peak.in(units::GB)));
        table.rows.push_back(std::move(cells));
    }
    return table;
}

PageTable overlap_table(SimulationReport const& r) {
    TimeScale const scale = time_scale(r.analysis.makespan);
    PageTable table{.title = "Overlap",
                    .note = "Mean per rank: how much of each communication runs beside compute.",
                    .columns = {{"communication", Align::left},
                                {fmt::format("total {}", scale.name)},
                                {fmt::format("beside compute {}", scale.name)},
                                {"overlap %"},
                                {fmt::format("exposed {}", scale.name)}}};
    for (std::size_t part = 0; part < task_part_count; ++part) {
        Overlap const& overlap = r.analysis.mean.overlap[part];
        if (!is_communication(static_cast<TaskPart>(part)) || overlap.total == Seconds{}) continue;
        table.rows.push_back({{std::string(name_of(static_cast<TaskPart>(part)))},
                              number_cell("{:.4g}", scale(overlap.total)),
                              number_cell("{:.4g}", scale(overlap.hidden)),
                              number_cell("{:.1f}", 100 * overlap.share()),
                              number_cell("{:.4g}", scale(r.analysis.mean.exposed.time[part]))});
    }
    return table;
}

PageTable path_table(SimulationReport const& r) {
    CriticalPath const& path = r.path;
    TimeScale const scale = time_scale(path.length);
    std::string note =
        fmt::format("{} tasks, one after the other, decide how long {} {}; {} of it is waiting", path.tasks.size(),
                    r.steps > 1 ? steps_words(r) : "the step", r.steps > 1 ? "take" : "takes", human(path.waiting));
    if (path.network_delay > 1e-9 * path.length)
        note += fmt::format(", {} waits in the network", human(path.network_delay));
    PageTable table{.title = "Critical path",
                    .note = note + ".",
                    .columns = {{"op", Align::left}, {"times"}, {fmt::format("time {}", scale.name)}, {"share %"}}};
    for (PathOp const& op : path.ops)
        table.rows.push_back({{op.name},
                              count_cell(op.count),
                              number_cell("{:.4g}", scale(op.time)),
                              number_cell("{:.1f}", 100 * (op.time / path.length))});
    return table;
}

PageTable link_table(SimulationReport const& r) {
    auto const links = by_use(r.links);
    PageTable table{.title = "Links",
                    .note = links.size() > most_links ? fmt::format("The fullest {} of {}.", most_links, links.size())
                                                      : std::string(),
                    .columns = {{"link", Align::left}, {"bandwidth GB/s"}, {"carried GB"}, {"busy %"}}};
    for (std::size_t i = 0; i < std::min(links.size(), most_links); ++i)
        table.rows.push_back({{links[i].name},
                              number_cell("{:.4g}", links[i].bandwidth.base() / 1e9),
                              number_cell("{:.4g}", links[i].carried.in(units::GB)),
                              number_cell("{:.1f}", 100 * links[i].busy_share)});
    return table;
}

}  // namespace

std::string simulation_page(SimulationReport const& r) {
    Page page{.command = "sextant simulate",
              .title = fmt::format("{} on {} x {}, {}", r.model, r.accelerators, r.cluster, steps_words(r)),
              .lines = {r.headline, r.plan_label}};
    page.verdict = fmt::format("A step takes {}", human(r.step_time));
    if (!r.analysis.ranks.empty())
        page.verdict += fmt::format("; ranks idle {} of it on average, the busiest {}",
                                    percent(r.analysis.bubble_share()), percent(r.analysis.least_bubble_share()));
    page.verdict += ".";
    if (!fits_memory(r)) {
        page.verdict += " It does not fit into memory.";
        page.tone = Tone::bad;
    }
    page.figures = figures(r);
    page.blocks.push_back(simulation_timeline_chart(r.graph, r.times));
    page.blocks.push_back(rank_chart(r));
    if (!r.memory.empty()) page.blocks.push_back(memory_over_time(r));
    page.blocks.push_back(rank_table(r));
    for (PageTable table : {overlap_table(r), path_table(r), link_table(r)})
        if (!table.rows.empty()) page.blocks.push_back(std::move(table));
    page.blocks.push_back(PagePairs{"The simulation",
                                    {{"tasks", fmt::format("{} by {}", r.graph.tasks.size(), r.granularity)},
                                     {"simulated ranks", fmt::format("{}", r.graph.ranks.size())},
                                     {"network", r.network},
                                     {"80 % interval", "of its error on measured steps"}}});
    if (!r.notes.empty()) page.blocks.push_back(PageList{"What was left out or asked for", r.notes});
    return html_page(page);
}

}  // namespace sextant::cli
