#include "simulator/collectives/rings.hpp"

#include <algorithm>
#include <array>

// The buffer is cut into two parts per axis. Part (k, direction) is reduced along axis k first, then k + 1 and so on,
// one direction each, so that at any time all links in both directions of all axes are busy; the all-gather goes back
// the same way.

namespace sextant {
namespace {

using rings::Ring;
using rings::SlotRange;

constexpr std::array kinds{CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather};

struct Axis {
    std::int64_t length = 1;
    std::int64_t stride = 1;  ///< ranks from one place on it to the next
    [[nodiscard]] std::int64_t place_of(std::int64_t rank) const { return rank / stride % length; }
};

/// The axes with more than one place.
std::vector<Axis> axes_of(CollectiveShape const& shape) {
    std::vector<Axis> axes;
    std::int64_t stride = 1;
    for (std::int64_t const length : shape.torus) {
        if (length > 1) axes.push_back({length, stride});
        stride *= length;
    }
    return axes;
}

/// A ring of one part in one phase.
struct PartRing {
    std::size_t part = 0;
    std::size_t step = 0;  ///< axes reduced before this one
};

/// What runs at the same time: every line of one axis per part.
struct Lines {
    std::vector<Ring> rings;
    std::vector<PartRing> parts;  ///< of each ring
};

/// The axis that a part goes along after `step` others.
std::size_t axis_at(std::size_t axes, std::size_t part, std::size_t step) { return (part / 2 + step) % axes; }

Lines lines_of(CollectiveShape const& shape, std::vector<Axis> const& axes, std::size_t step) {
    Lines lines;
    for (std::size_t part = 0; part < 2 * axes.size(); ++part) {
        Axis const& axis = axes[axis_at(axes.size(), part, step)];
        for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
            if (axis.place_of(rank) != 0) continue;
            Ring ring;
            for (std::int64_t i = 0; i < axis.length; ++i)
                ring.push_back(static_cast<std::int32_t>(rank + i * axis.stride));
            if (part % 2 == 1) std::reverse(ring.begin(), ring.end());
            lines.rings.push_back(std::move(ring));
            lines.parts.push_back({part, step});
        }
    }
    return lines;
}

std::string phase_name(rings::Task task, std::size_t step) {
    return std::string(task == rings::Task::all_gather ? "all-gather" : "reduce-scatter") + " along axis " +
           std::to_string(step + 1) + " of each part";
}

/// Calls `phase(name, task, lines)` in order.
template <class Phase>
void each_phase(CollectiveShape const& shape, std::vector<Axis> const& axes, Phase phase) {
    auto const run = [&](rings::Task task, std::size_t step) {
        phase(phase_name(task, step), task, lines_of(shape, axes, step));
    };
    if (shape.kind != CollectiveKind::all_gather)
        for (std::size_t step = 0; step < axes.size(); ++step)
            run(rings::Task::reduce_scatter, step);
    if (shape.kind != CollectiveKind::reduce_scatter)
        for (std::size_t step = axes.size(); step-- > 0;)
            run(rings::Task::all_gather, step);
}

/// Chunk r of a part belongs to rank r in the end. The member of a ring answers for the chunks of the ranks that are
/// where it is on this axis and on those that the part went along before.
std::vector<SlotRange> blocks_of(CollectiveShape const& shape, std::vector<Axis> const& axes, PartRing const& place,
                                 std::int32_t member) {
    std::vector<SlotRange> blocks;
    auto const parts = static_cast<std::int32_t>(2 * axes.size());
    for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
        bool belongs = true;
        for (std::size_t step = 0; step <= place.step; ++step) {
            Axis const& axis = axes[axis_at(axes.size(), place.part, step)];
            belongs = belongs && axis.place_of(rank) == axis.place_of(member);
        }
        if (belongs)
            blocks.push_back({static_cast<std::int32_t>(rank) * parts + static_cast<std::int32_t>(place.part), 1});
    }
    return blocks;
}

CollectiveProgram program(CollectiveShape const& shape) {
    std::vector<Axis> const axes = axes_of(shape);
    auto const chunks = shape.ranks * static_cast<std::int64_t>(std::max<std::size_t>(1, 2 * axes.size()));
    CollectiveProgram result{.chunks = chunks, .slots = chunks, .phases = {}, .rounds = {}};
    each_phase(shape, axes, [&](std::string name, rings::Task task, Lines const& lines) {
        rings::add_phase(result, std::move(name), lines.rings, task, [&](std::size_t ring, std::size_t position) {
            return blocks_of(shape, axes, lines.parts[ring], lines.rings[ring][position]);
        });
    });
    return result;
}

CollectiveFlows flows(CollectiveShape const& shape) {
    std::vector<Axis> const axes = axes_of(shape);
    CollectiveFlows result;
    each_phase(shape, axes, [&](std::string name, rings::Task task, Lines const& lines) {
        std::vector<double> shares;
        for (PartRing const& place : lines.parts) {
            double block = 1 / static_cast<double>(2 * axes.size());
            for (std::size_t step = 0; step <= place.step; ++step)
                block /= static_cast<double>(axes[axis_at(axes.size(), place.part, step)].length);
            shares.push_back(block);
        }
        rings::add_phase(result, shape, std::move(name), lines.rings, task, shares);
    });
    merge_flows(result.flows);
    return result;
}

std::optional<std::string> unsupported(CollectiveShape const& shape) {
    if (!shape.torus.empty()) return std::nullopt;
    return std::to_string(shape.ranks) + " ranks that are no box of one torus";
}

}  // namespace

extern constinit CollectiveAlgorithm const torus_algorithm;
constinit CollectiveAlgorithm const torus_algorithm{
    .name = "torus",
    .summary = "rings along every axis in both directions, each part of the buffer starting on another axis",
    .source = "Ying et al., arXiv:1811.06992 sec. 2.2; Sack and Gropp, ACM Trans. Parallel Comput. 1(2), 2015",
    .kinds = kinds,
    .unsupported = unsupported,
    .program = program,
    .flows = flows,
};

}  // namespace sextant
