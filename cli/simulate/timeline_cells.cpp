#include "cli/simulate/timeline_cells.hpp"

#include <array>
#include <cassert>

namespace sextant::cli {
namespace {

bool same_slot(TaskGraph const& graph, Cell a, Cell b) {
    if (a.shade != b.shade) return false;
    if (a.task == b.task) return true;
    if (a.task < 0 || b.task < 0) return false;
    Task const& x = graph.tasks[static_cast<std::size_t>(a.task)];
    Task const& y = graph.tasks[static_cast<std::size_t>(b.task)];
    return x.stage == y.stage && x.microbatch == y.microbatch && x.pass == y.pass;
}

/// Time per shade within one cell, the longest task of each, and what earlier cells owe to each shade.
class Tally {
public:
    Tally(TaskGraph const& graph, double width) : graph_(graph), width_(width) {}

    void add(Shade shade, std::int32_t task, double time) {
        Here& here = here_[static_cast<std::size_t>(shade)];
        here.time += time;
        bool const goes_on = !of_microbatch(shade) || same_slot(graph_, {shade, here.run_task}, {shade, task});
        here.run = goes_on ? here.run + time : time;
        here.longest_run = std::max(here.longest_run, here.run);
        here.run_task = task;
        if (time > here.longest) {
            here.longest = time;
            here.task = task;
        }
    }

    /// The shade of this cell, and the next cell starts. It is the one that fills half of the cell, with one microbatch
    /// or by itself, unless another one there is a whole cell behind its share of the cells so far; without such, the
    /// one there that is furthest behind. So pieces finer than a cell keep their proportions.
    Cell take() {
        std::size_t filling = 0;
        std::size_t behind = shade_count;
        for (std::size_t i = 0; i < shade_count; ++i) {
            owed_[i] = std::clamp(owed_[i] + here_[i].time, -2 * width_, 2 * width_);
            if (here_[i].longest_run > here_[filling].longest_run) filling = i;
            if (here_[i].time > 0 && (behind == shade_count || owed_[i] > owed_[behind])) behind = i;
        }
        bool const filled = 2 * here_[filling].longest_run >= width_;
        std::size_t const best = behind == shade_count || (filled && owed_[behind] < width_) ? filling : behind;
        owed_[best] -= width_;
        Cell const cell{static_cast<Shade>(best), best == 0 ? -1 : here_[best].task};
        here_ = {};
        return cell;
    }

private:
    struct Here {
        double time = 0;
        double longest = 0;      ///< of `task`
        double run = 0;          ///< of the microbatch that came last
        double longest_run = 0;  ///< of any
        std::int32_t task = -1;
        std::int32_t run_task = -1;
    };

    TaskGraph const& graph_;
    double width_;
    std::array<Here, shade_count> here_{};
    std::array<double, shade_count> owed_{};
};

}  // namespace

Shade shade_of(Task const& task) {
    switch (task.part) {
        case TaskPart::tp: return Shade::tp;
        case TaskPart::cp: return Shade::cp;
        case TaskPart::ep: return Shade::ep;
        case TaskPart::pp: return Shade::pp;
        case TaskPart::dp: return Shade::dp;
        case TaskPart::offload: return Shade::offload;
        case TaskPart::recompute: return Shade::recompute;
        case TaskPart::optimizer:
        case TaskPart::fixed: return Shade::step;
        default: break;
    }
    switch (task.pass) {
        case TaskPass::forward: return Shade::forward;
        case TaskPass::backward:
        case TaskPass::backward_input: return Shade::backward;
        case TaskPass::backward_weight: return Shade::weight;
        case TaskPass::step: break;
    }
    return Shade::step;
}

bool of_microbatch(Shade shade) {
    return shade == Shade::forward || shade == Shade::backward || shade == Shade::weight || shade == Shade::recompute;
}

std::string_view legend_of(Shade shade) {
    switch (shade) {
        case Shade::idle: return "idle";
        case Shade::forward: return "forward";
        case Shade::backward: return "backward";
        case Shade::weight: return "weight half";
        case Shade::recompute: return "recompute";
        case Shade::step: return "optimizer";
        case Shade::tp: return "tp";
        case Shade::cp: return "cp";
        case Shade::ep: return "ep";
        case Shade::pp: return "pp";
        case Shade::dp: return "dp";
        case Shade::offload: return "offload";
    }
    return "?";
}

std::vector<Cell> cells_of(TaskGraph const& graph, std::vector<RankSpan> const& spans, double until,
                           std::size_t count) {
    std::vector<Cell> cells;
    cells.reserve(count);
    if (until <= 0) return std::vector<Cell>(count);
    double const width = until / static_cast<double>(count);
    Tally tally(graph, width);
    for (RankSpan const& span : spans) {
        Shade const shade = span.task < 0 ? Shade::idle : shade_of(graph.tasks[static_cast<std::size_t>(span.task)]);
        double at = span.start;
        while (cells.size() < count) {
            double const cell_end = static_cast<double>(cells.size() + 1) * width;
            if (span.end < cell_end) {
                tally.add(shade, span.task, span.end - at);
                break;
            }
            tally.add(shade, span.task, cell_end - at);
            at = cell_end;
            cells.push_back(tally.take());
        }
    }
    if (cells.size() < count) cells.push_back(tally.take());  // the last cell, short of its end by rounding
    cells.resize(count);
    return cells;
}

std::vector<CellRun> runs_of(TaskGraph const& graph, std::vector<Cell> const& cells) {
    std::vector<CellRun> runs;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (!runs.empty() && same_slot(graph, runs.back().cell, cells[i]))
            ++runs.back().count;
        else
            runs.push_back({i, 1, cells[i]});
    }
    return runs;
}

std::vector<std::size_t> shown_ranks(TaskGraph const& graph, std::size_t most) {
    assert(most > 0);
    std::size_t const all = graph.ranks.size();
    std::size_t const shown = std::min(all, most);
    std::vector<std::size_t> ranks;
    for (std::size_t i = 0; i < shown; ++i)
        ranks.push_back(shown == all || shown == 1 ? i : i * (all - 1) / (shown - 1));
    return ranks;
}

std::vector<std::int16_t> first_stages(TaskGraph const& graph) {
    std::vector<std::int16_t> first(graph.ranks.size(), -1);
    for (Task const& task : graph.tasks) {
        if (task.stage < 0 || !computes(task)) continue;
        auto& stage = first[static_cast<std::size_t>(task.rank)];
        if (stage < 0 || task.stage < stage) stage = task.stage;
    }
    return first;
}

double idle_share(std::vector<RankSpan> const& spans, double until) {
    double idle = 0;
    for (RankSpan const& span : spans)
        if (span.task < 0) idle += span.end - span.start;
    return until > 0 ? idle / until : 0;
}

}  // namespace sextant::cli
