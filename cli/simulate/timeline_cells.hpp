#pragma once

#include "simulator/rank_activity.hpp"

#include <string_view>
#include <vector>

namespace sextant::cli {

/// How a timeline tells apart what a rank does.
enum class Shade : std::uint8_t {
    idle,
    forward,
    backward,  ///< whole, or the input half
    weight,    ///< weight half
    recompute,
    step,  ///< optimizer and what else belongs to no microbatch
    tp,
    cp,
    ep,
    pp,
    dp,
    offload,
};
inline constexpr std::size_t shade_count = static_cast<std::size_t>(Shade::offload) + 1;
Shade shade_of(Task const& task);
/// Forward, backward, weight half and recompute: what a microbatch's number belongs to.
bool of_microbatch(Shade shade);
/// "forward", "exposed tp", ...
std::string_view legend_of(Shade shade);

/// One of many equal pieces of time: what fills at least half of it; where many short things do, one of them, so that
/// over many cells each has its share. `task` is the longest there of that shade, -1 for idle.
struct Cell {
    Shade shade = Shade::idle;
    std::int32_t task = -1;
};

/// `spans`, which cover [0, until] without gaps, as `count` cells.
std::vector<Cell> cells_of(TaskGraph const& graph, std::vector<RankSpan> const& spans, double until, std::size_t count);

/// Neighbouring cells that show the same: one shade of one stage, microbatch and pass.
struct CellRun {
    std::size_t first = 0;
    std::size_t count = 0;
    Cell cell;
};
std::vector<CellRun> runs_of(TaskGraph const& graph, std::vector<Cell> const& cells);

/// Share of [0, until] in which no task of the spans runs.
double idle_share(std::vector<RankSpan> const& spans, double until);

/// The ranks that a picture with room for `most` shows: all, or evenly spaced ones from the first to the last.
std::vector<std::size_t> shown_ranks(TaskGraph const& graph, std::size_t most);

/// Lowest stage (model chunk) of each rank; -1 for a rank that runs none.
std::vector<std::int16_t> first_stages(TaskGraph const& graph);

}  // namespace sextant::cli
