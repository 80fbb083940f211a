#include "cli/simulate/svg.hpp"

#include "cli/simulate/timeline_cells.hpp"
#include "cli/view/percent_text.hpp"
#include "cli/view/svg_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace sextant::cli {
namespace {

// All lengths in pixels.
constexpr double left = 200;
constexpr double body = 1280;
constexpr double right = 70;
constexpr double top = 76;
constexpr double thin_lane = 5;
constexpr double lane_gap = 1;
constexpr double row_gap = 7;
constexpr std::size_t finest = 5120;  ///< cells over the width
constexpr std::size_t coarsest = 160;

std::string_view colour_of(Shade shade) {
    switch (shade) {
        case Shade::idle: return "#f1f1f4";
        case Shade::forward: return "#4c86d4";
        case Shade::backward: return "#2f9a68";
        case Shade::weight: return "#93c9a4";
        case Shade::recompute: return "#7d8fa6";
        case Shade::step: return "#7a5bb8";
        case Shade::tp: return "#ef8e2c";
        case Shade::cp: return "#d6539a";
        case Shade::ep: return "#cf3d35";
        case Shade::pp: return "#3d3d46";
        case Shade::dp: return "#e3bd1f";
        case Shade::offload: return "#94694b";
    }
    return "#000000";
}

/// A number with at most two digits behind the point and none that say nothing.
std::string number(double value) {
    std::string text = fmt::format("{:.2f}", value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
}

/// From where to where a lane shows one microbatch, short interruptions by communication included.
struct SlotExtent {
    Task const* task = nullptr;
    double from = 0;
    double to = 0;
    /// Whether another piece is of the same microbatch, and close; then it belongs to this.
    bool extend(Task const& more, double x, double end) {
        if (task == nullptr || x > to + 8 || more.stage != task->stage || more.microbatch != task->microbatch ||
            more.pass != task->pass)
            return false;
        to = end;
        return true;
    }
};

/// Rectangles collected by colour, so that each costs few bytes.
class Drawing {
public:
    explicit Drawing(TaskGraph const& graph) : first_stages_(first_stages(graph)) {}

    void lane(TaskGraph const& graph, std::size_t rank, std::vector<Cell> const& cells, double y, double height) {
        double const width = body / static_cast<double>(cells.size());
        SlotExtent slot;
        for (CellRun const& run : runs_of(graph, cells)) {
            if (run.cell.shade == Shade::idle) continue;
            double const x = left + static_cast<double>(run.first) * width;
            double w = static_cast<double>(run.count) * width;
            used_[static_cast<std::size_t>(run.cell.shade)] = true;
            Task const& task = graph.tasks[static_cast<std::size_t>(run.cell.task)];
            bool const numbered = of_microbatch(run.cell.shade) && height > thin_lane && task.microbatch >= 0;
            if (numbered && !slot.extend(task, x, x + w)) {
                label(slot, y + height / 2);
                slot = {&task, x, x + w};
            }
            if (numbered && w > 3) w -= 0.6;  // neighbours of one colour stay apart
            bool const later = of_microbatch(run.cell.shade) && task.stage > first_stages_[rank];
            later_ = later_ || later;
            paths_[2 * static_cast<std::size_t>(run.cell.shade) + (later ? 1 : 0)] +=
                fmt::format("M{} {}h{}v{}h-{}z", number(x), number(y), number(w), number(height), number(w));
        }
        label(slot, y + height / 2);
    }

    [[nodiscard]] std::string text() const {
        std::string out;
        for (std::size_t i = 0; i < paths_.size(); ++i) {
            if (paths_[i].empty()) continue;
            out += fmt::format("<path fill=\"{}\"{} d=\"{}\"/>\n", colour_of(static_cast<Shade>(i / 2)),
                               i % 2 == 1 ? " opacity=\"0.62\"" : "", paths_[i]);
        }
        return out + "<g fill=\"#ffffff\" font-size=\"10\" text-anchor=\"middle\">\n" + texts_ + "</g>\n";
    }

    [[nodiscard]] std::string legend(double y) const {
        std::string out;
        double x = left;
        auto const entry = [&](std::string_view colour, std::string_view extra, std::string_view name) {
            out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"{}/>", number(x),
                               number(y), colour, extra);
            out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", number(x + 16), number(y + 10), name);
            x += 34 + 6.4 * static_cast<double>(name.size());
        };
        for (std::size_t i = 1; i < shade_count; ++i)
            if (used_[i]) entry(colour_of(static_cast<Shade>(i)), "", legend_of(static_cast<Shade>(i)));
        if (later_) entry(colour_of(Shade::forward), " opacity=\"0.62\"", "lighter: later chunks");
        entry(colour_of(Shade::idle), "", "idle");
        return out;
    }

private:
    /// The number of a microbatch, where there is room for it.
    void label(SlotExtent const& slot, double middle) {
        if (slot.task == nullptr) return;
        std::string const text = fmt::format("{}", slot.task->microbatch);
        if (slot.to - slot.from < 6.2 * static_cast<double>(text.size()) + 3) return;
        texts_ += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", number((slot.from + slot.to) / 2),
                              number(middle + 3.5), text);
    }

    std::vector<std::int16_t> first_stages_;
    std::array<std::string, 2 * shade_count> paths_;  ///< plain, then lighter
    std::array<bool, shade_count> used_{};
    bool later_ = false;
    std::string texts_;
};

/// Spans of the lanes of one rank: first what it does, then one lane per communication stream that any rank uses.
using Lanes = std::vector<std::vector<RankSpan>>;

bool received(TaskGraph const& graph, Task const& task, std::size_t rank) {
    return task.demand >= 0 && static_cast<std::size_t>(task.rank) != rank &&
           graph.demands[static_cast<std::size_t>(task.demand)].kind == CollectiveKind::send_receive;
}

std::vector<Stream> used_streams(TaskGraph const& graph) {
    std::array<bool, stream_count> used{};
    for (Task const& task : graph.tasks)
        if (is_communication(task.part)) used[static_cast<std::size_t>(task.stream)] = true;
    std::vector<Stream> streams;
    for (std::size_t i = 1; i < stream_count; ++i)
        if (used[i]) streams.push_back(static_cast<Stream>(i));
    return streams;
}

Lanes lanes_of(TaskGraph const& graph, TaskTimes const& times, std::span<std::uint32_t const> tasks, std::size_t rank,
               std::vector<Stream> const& streams, double until) {
    Lanes lanes{rank_spans(graph, times, tasks, until)};
    std::vector<std::uint32_t> of_stream;
    for (Stream const stream : streams) {
        of_stream.clear();
        for (std::uint32_t const id : tasks)
            if (graph.tasks[id].stream == stream && !received(graph, graph.tasks[id], rank)) of_stream.push_back(id);
        lanes.push_back(rank_spans(graph, times, of_stream, until));
    }
    return lanes;
}

/// What is drawn of a run, and where the row of each rank is.
class Rows {
public:
    Rows(TaskGraph const& graph, TaskTimes const& times, std::size_t most)
        : graph_(graph),
          until_(times.makespan().base()),
          streams_(used_streams(graph)),
          shown_(shown_ranks(graph, most)),
          main_lane_(shown_.size() <= 16 ? 22 : 14),
          height_(main_lane_ + static_cast<double>(streams_.size()) * (thin_lane + lane_gap) + row_gap) {
        TasksByRank const tasks(graph, times);
        for (std::size_t const rank : shown_)
            lanes_.push_back(lanes_of(graph, times, tasks[rank], rank, streams_, until_));
    }

    [[nodiscard]] double until() const { return until_; }
    [[nodiscard]] double bottom() const { return y_of(shown_.size()); }

    /// All lanes, each in so many cells.
    [[nodiscard]] Drawing drawing(std::size_t cells) const {
        Drawing out(graph_);
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            double y = y_of(i);
            for (std::size_t lane = 0; lane < lanes_[i].size(); ++lane) {
                double const height = lane == 0 ? main_lane_ : thin_lane;
                out.lane(graph_, shown_[i], cells_of(graph_, lanes_[i][lane], until_, cells), y, height);
                y += height + lane_gap;
            }
        }
        return out;
    }

    /// The ground of the main lanes: idle.
    [[nodiscard]] std::string background() const {
        std::string out;
        for (std::size_t i = 0; i < shown_.size(); ++i)
            out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", number(left),
                               number(y_of(i)), number(body), number(main_lane_), colour_of(Shade::idle));
        return out;
    }

    /// Left of each row its rank, right of it the share that it idles.
    [[nodiscard]] std::string labels() const {
        std::string out;
        for (std::size_t i = 0; i < shown_.size(); ++i) {
            SimulatedRank const& rank = graph_.ranks[shown_[i]];
            double const y = y_of(i) + main_lane_ / 2 + 4;
            out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">rank {}, stage {}{}</text>",
                               number(left - 8), number(y), rank.rank, rank.pipeline,
                               rank.stands_for > 1 ? fmt::format(" (x{})", rank.stands_for) : "");
            out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", number(left + body + 8), number(y),
                               percent(idle_share(lanes_[i].front(), until_)));
        }
        return out + fmt::format("<text x=\"{}\" y=\"{}\">idle</text>\n", number(left + body + 8), number(top - 8));
    }

    /// What the thin lanes are, and how many ranks are left out.
    [[nodiscard]] std::string footnote() const {
        std::string lanes;
        for (Stream const stream : streams_)
            lanes += (lanes.empty() ? "thin lanes, from above: " : ", ") + std::string(name_of(stream));
        if (shown_.size() < graph_.ranks.size())
            lanes +=
                fmt::format("{}{} of {} ranks shown", lanes.empty() ? "" : "; ", shown_.size(), graph_.ranks.size());
        return fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", number(left), number(bottom() + 14), xml(lanes));
    }

private:
    [[nodiscard]] double y_of(std::size_t row) const { return top + static_cast<double>(row) * height_; }

    TaskGraph const& graph_;
    double until_;
    std::vector<Stream> streams_;
    std::vector<std::size_t> shown_;
    double main_lane_;
    double height_;
    std::vector<Lanes> lanes_;
};

std::string axis(double until, double bottom) {
    if (until <= 0) return "";
    double const rough = until / 10;
    double const power = std::pow(10.0, std::floor(std::log10(rough)));
    double const tick = (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1) * power;
    struct Unit {
        double seconds;
        char const* name;
    };
    Unit const unit = until >= 1 ? Unit{1, "s"} : until >= 1e-3 ? Unit{1e-3, "ms"} : Unit{1e-6, "us"};
    std::string out = "<g stroke=\"#c9c9d2\" stroke-width=\"0.6\">\n";
    std::string labels;
    for (int i = 0; i * tick <= until * (1 + 1e-12); ++i) {
        std::string const x = number(left + body * (i * tick / until));
        out += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", x, number(top - 4), x, number(bottom));
        labels += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{:.6g} {}</text>\n", x, number(top - 8),
                              i * tick / unit.seconds, unit.name);
    }
    return out + "</g>\n" + labels;
}

}  // namespace

std::string simulation_svg(TaskGraph const& graph, TaskTimes const& times, PictureOptions const& options) {
    Rows const rows(graph, times, options.rows);
    std::string drawn, legend;
    for (std::size_t cells = finest; cells >= coarsest; cells /= 2) {
        Drawing const drawing = rows.drawing(cells);
        drawn = drawing.text();
        legend = drawing.legend(42);
        if (drawn.size() <= options.most_bytes) break;
    }
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#2b2b33\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        number(left + body + right), number(rows.bottom() + 26));
    out += fmt::format("<title>{0}</title>\n<text x=\"12\" y=\"24\" font-size=\"16\">{0}</text>\n", xml(options.title));
    out += legend + rows.background() + axis(rows.until(), rows.bottom()) + drawn + rows.labels() + rows.footnote();
    return out + "</svg>\n";
}

}  // namespace sextant::cli
