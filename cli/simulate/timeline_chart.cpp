#include "cli/simulate/timeline_chart.hpp"

#include "cli/plan/step_blocks.hpp"
#include "cli/simulate/timeline_cells.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

namespace sextant::cli {
namespace {

constexpr std::size_t most_ranks = 24;
constexpr std::size_t least_ranks = 4;
constexpr std::size_t most_stretches = 4000;  ///< a browser redraws these in half a second

/// What a rank works on for a while: a microbatch from its first task to its last, or a wait that belongs to none.
struct Stretch {
    Shade shade = Shade::idle;
    double start = 0;
    double end = 0;
    std::int32_t task = -1;
    std::array<double, shade_count> within{};  ///< time in it of exposed communication and recompute
    [[nodiscard]] double length() const { return end - start; }
};

Shade shade_of_pass(TaskPass pass) {
    switch (pass) {
        case TaskPass::forward: return Shade::forward;
        case TaskPass::backward_weight: return Shade::weight;
        case TaskPass::step: return Shade::step;
        default: return Shade::backward;
    }
}

/// Waits for tp, cp and ep lie between the kernels of one microbatch; others stand on their own.
bool is_within(Task const& task) {
    Shade const shade = shade_of(task);
    bool const inner = shade == Shade::tp || shade == Shade::cp || shade == Shade::ep || shade == Shade::recompute;
    return inner && task.microbatch >= 0;
}

bool of_one_microbatch(Task const& a, Task const& b) {
    return a.stage == b.stage && a.microbatch == b.microbatch && shade_of_pass(a.pass) == shade_of_pass(b.pass);
}

std::vector<Stretch> stretches_of(TaskGraph const& graph, std::vector<RankSpan> const& spans) {
    std::vector<Stretch> out;
    for (RankSpan const& span : spans) {
        if (span.task < 0) continue;
        Task const& task = graph.tasks[static_cast<std::size_t>(span.task)];
        bool const within = is_within(task);
        bool const worked_on = within || of_microbatch(shade_of(task));
        Shade const shade = worked_on ? shade_of_pass(task.pass) : shade_of(task);
        bool const goes_on =
            !out.empty() && out.back().end == span.start && out.back().shade == shade &&
            (!worked_on || of_one_microbatch(graph.tasks[static_cast<std::size_t>(out.back().task)], task));
        if (!goes_on) out.push_back({.shade = shade, .start = span.start, .task = span.task});
        out.back().end = span.end;
        if (within) out.back().within[static_cast<std::size_t>(shade_of(task))] += span.end - span.start;
    }
    return out;
}

/// The slots of a chart, collected by shade.
class SlotCollector {
public:
    SlotCollector(TaskGraph const& graph, TimeScale scale)
        : graph_(graph), scale_(scale), first_(first_stages(graph)) {}

    /// The stretch, and in it thin lines, end to end, as long as all the waits of each kind.
    void add(std::size_t row, std::size_t rank, Stretch const& s) {
        add_slot(whole_, s.shade, row, s.start, s.length(), label(rank, s));
        double at = s.start;
        for (std::size_t i = 0; i < shade_count; ++i) {
            if (s.within[i] <= 0) continue;
            within_[i].lane = TimelineSeries::Lane::within;
            add_slot(within_, static_cast<Shade>(i), row, at, s.within[i], "");
            at += s.within[i];
        }
    }

    std::vector<TimelineSeries> done() {
        std::vector<TimelineSeries> out;
        for (auto* const list : {&whole_, &within_})
            for (std::size_t i = 0; i < shade_count; ++i) {
                TimelineSeries& series = (*list)[i];
                if (series.slots.empty()) continue;
                auto const shade = static_cast<Shade>(i);
                series.role = legend_of(shade);
                series.name = shade >= Shade::tp ? fmt::format("exposed {}", legend_of(shade)) : series.role;
                out.push_back(std::move(series));
            }
        return out;
    }

private:
    using Series = std::array<TimelineSeries, shade_count>;

    void add_slot(Series& list, Shade shade, std::size_t row, double start, double length, std::string name) {
        list[static_cast<std::size_t>(shade)].slots.push_back({.row = row,
                                                               .start = scale_(start * units::s),
                                                               .length = scale_(length * units::s),
                                                               .label = std::move(name)});
    }

    [[nodiscard]] std::string label(std::size_t rank, Stretch const& s) const {
        Task const& task = graph_.tasks[static_cast<std::size_t>(s.task)];
        if (!of_microbatch(s.shade) || task.microbatch < 0) return "";
        return task.stage > first_[rank] ? fmt::format("{}/{}", task.microbatch, task.stage)
                                         : fmt::format("{}", task.microbatch);
    }

    TaskGraph const& graph_;
    TimeScale scale_;
    std::vector<std::int16_t> first_;
    Series whole_{};
    Series within_{};
};

/// How long a stretch must be so that no more than `most` are drawn; equal ones are drawn or left out together.
double shortest_drawn(std::vector<std::vector<Stretch>> const& rows, std::size_t most) {
    std::vector<double> lengths;
    for (auto const& row : rows)
        for (Stretch const& s : row)
            lengths.push_back(s.length());
    if (lengths.size() <= most) return 0;
    auto const at = lengths.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(lengths.begin(), at, lengths.end(), std::greater<>());
    return *at * (1 + 1e-6);
}

}  // namespace

Chart simulation_timeline_chart(TaskGraph const& graph, TaskTimes const& times) {
    double const until = times.makespan().base();
    TasksByRank const tasks(graph, times);
    auto const stretches = [&](std::size_t rank) {
        return stretches_of(graph, rank_spans(graph, times, tasks[rank], until));
    };
    std::size_t const of_first = std::max<std::size_t>(1, stretches(0).size());
    auto const shown = shown_ranks(graph, std::clamp(most_stretches / of_first, least_ranks, most_ranks));

    TimelineChart chart{.rows = {}, .series = {}, .x = {.title = time_scale(times.makespan()).name}};
    std::vector<std::vector<Stretch>> rows;
    for (std::size_t const rank : shown) {
        chart.rows.push_back(fmt::format("rank {}", graph.ranks[rank].rank));
        rows.push_back(stretches(rank));
    }
    double const least = shortest_drawn(rows, most_stretches);
    SlotCollector slots(graph, time_scale(times.makespan()));
    for (std::size_t row = 0; row < rows.size(); ++row)
        for (Stretch const& s : rows[row])
            if (s.length() > least) slots.add(row, shown[row], s);
    chart.series = slots.done();

    std::string note =
        "Drag over a span of time to zoom in, double-click to see all. Numbers are microbatches (with the stage, where "
        "it is a later one of the rank); gaps are idle. The thin line in a microbatch adds up what it waits for or "
        "computes again. ";
    if (shown.size() < graph.ranks.size())
        note += fmt::format("{} of {} ranks, evenly spaced. ", shown.size(), graph.ranks.size());
    if (least > 0) note += fmt::format("What is no longer than {} is left out. ", human(least * units::s));
    return {.title = "Timeline of the step",
            .note = note + "Every task: --trace FILE.json.",
            .body = std::move(chart),
            .wide = true};
}

}  // namespace sextant::cli
