#include "cli/simulate/timeline.hpp"

#include "cli/simulate/timeline_cells.hpp"
#include "cli/view/percent_text.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>

namespace sextant::cli {
namespace {

/// The letter of a shade, and what fills the columns after letter and number.
struct Glyph {
    char letter;
    char fill;
};

Glyph glyph_of(Shade shade) {
    switch (shade) {
        case Shade::idle: return {'.', '.'};
        case Shade::forward: return {'F', '-'};
        case Shade::backward: return {'B', '='};
        case Shade::weight: return {'W', '~'};
        case Shade::recompute: return {'R', '+'};
        case Shade::step: return {'o', 'o'};
        case Shade::tp: return {'t', 't'};
        case Shade::cp: return {'c', 'c'};
        case Shade::ep: return {'e', 'e'};
        case Shade::pp: return {'p', 'p'};
        case Shade::dp: return {'d', 'd'};
        case Shade::offload: return {'h', 'h'};
    }
    return {'?', '?'};
}

/// The columns of one rank, and what they made use of.
class Painter {
public:
    Painter(TaskGraph const& graph, double until, std::size_t columns)
        : graph_(graph), until_(until), columns_(columns), first_stages_(first_stages(graph)) {}

    std::string row(std::size_t rank, std::vector<RankSpan> const& spans) {
        std::string text;
        numbered_ = nullptr;
        for (CellRun const& run : runs_of(graph_, cells_of(graph_, spans, until_, columns_))) {
            used_[static_cast<std::size_t>(run.cell.shade)] = true;
            text += word(rank, run);
        }
        return text;
    }

    [[nodiscard]] std::string legend() const {
        std::string text;
        for (std::size_t i = 1; i <= shade_count; ++i) {  // idle last
            auto const shade = static_cast<Shade>(i % shade_count);
            if (!used_[i % shade_count]) continue;
            Glyph const glyph = glyph_of(shade);
            if (!text.empty()) text += "  ";
            text +=
                of_microbatch(shade) ? fmt::format("{}0{}", glyph.letter, glyph.fill) : std::string(1, glyph.letter);
            text += fmt::format(" {}{}", shade >= Shade::tp ? "exposed " : "", legend_of(shade));
        }
        return text + (lower_case_ ? "  (lower case: later chunks)" : "");
    }

private:
    std::string word(std::size_t rank, CellRun const& run) {
        Glyph const glyph = glyph_of(run.cell.shade);
        if (!of_microbatch(run.cell.shade)) return std::string(run.count, glyph.letter);
        Task const& task = graph_.tasks[static_cast<std::size_t>(run.cell.task)];
        char letter = glyph.letter;
        if (task.stage > first_stages_[rank]) {
            letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
            lower_case_ = true;
        }
        bool const goes_on = numbered_ != nullptr && numbered_->stage == task.stage && numbered_->pass == task.pass &&
                             numbered_->microbatch == task.microbatch && numbered_->part == task.part;
        if (goes_on) return std::string(run.count, glyph.fill);
        std::string text(1, letter);
        std::string const number = task.microbatch >= 0 ? fmt::format("{}", task.microbatch) : "";
        if (number.size() < run.count) {
            text += number;
            numbered_ = &task;
        }
        text.resize(run.count, glyph.fill);
        return text;
    }

    TaskGraph const& graph_;
    double until_;
    std::size_t columns_;
    std::vector<std::int16_t> first_stages_;
    std::array<bool, shade_count> used_{};
    bool lower_case_ = false;
    Task const* numbered_ = nullptr;  ///< a task of the microbatch whose number came last in this row
};

/// "0          end": the end of the axis stands under the last column.
std::string axis(std::size_t columns, Seconds end) {
    std::string const last = human(end);
    return "0" + std::string(columns > last.size() + 1 ? columns - last.size() - 1 : 1, ' ') + last;
}

/// "  (lower case: ...)" breaks onto a second line where the legend is wider than the room.
std::string folded_legend(std::string text, std::size_t columns) {
    std::string out;
    while (text.size() > columns) {
        std::size_t const cut = text.rfind("  ", columns);
        if (cut == std::string::npos || cut == 0) break;
        out += text.substr(0, cut) + "\n";
        text.erase(0, cut + 2);
    }
    return out + text + "\n";
}

}  // namespace

std::string simulation_timeline(TaskGraph const& graph, TaskTimes const& times, TimelineRoom room) {
    assert(room.columns >= 40);
    double const until = times.makespan().base();
    TasksByRank const tasks(graph, times);
    auto const shown = shown_ranks(graph, room.rows);
    std::size_t label_width = 0;
    auto const label = [&](std::size_t rank) { return fmt::format("rank {}", graph.ranks[rank].rank); };
    for (std::size_t const rank : shown)
        label_width = std::max(label_width, label(rank).size());
    std::size_t const columns = room.columns - label_width - 2 - 9;  // "  100.0 %"

    Painter painter(graph, until, columns);
    std::string text;
    std::size_t next = 0;
    double least = 1, most = 0;
    for (std::size_t rank = 0; rank < graph.ranks.size(); ++rank) {
        auto const spans = rank_spans(graph, times, tasks[rank], until);
        double const idle = idle_share(spans, until);
        if (next < shown.size() && shown[next] == rank) {
            text +=
                fmt::format("{:<{}}  {}  {:>7}\n", label(rank), label_width, painter.row(rank, spans), percent(idle));
            ++next;
        } else {
            least = std::min(least, idle);
            most = std::max(most, idle);
        }
    }
    text += std::string(label_width + 2, ' ') + axis(columns, until * units::s) + "     idle\n";
    if (shown.size() < graph.ranks.size())
        text += fmt::format("{} more ranks are not shown; they idle {} to {}\n", graph.ranks.size() - shown.size(),
                            percent(least), percent(most));
    return text + "\n" + folded_legend(painter.legend(), room.columns);
}

}  // namespace sextant::cli
