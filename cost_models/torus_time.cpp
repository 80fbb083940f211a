#include "cost_models/torus_time.hpp"

#include "core/spec/torus_slice.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// What a group has of one axis.
struct Side {
    double places = 1;
    bool ring = false;

    /// Of the two links of a chip along the axis.
    [[nodiscard]] double links() const { return ring ? 1 : 0.5; }
    [[nodiscard]] double hops() const { return ring ? places / 2 : places - 1; }
};

/// Whether so many ranks make up a box with sides along so many of these axes.
bool fills_box(std::int64_t ranks, std::vector<SliceAxis> const& axes, std::size_t first, std::size_t sides) {
    if (sides == 0) return ranks == 1;
    for (std::size_t axis = first; axis < axes.size(); ++axis)
        for (std::int64_t side = 2; side <= std::min(axes[axis].length, ranks); ++side)
            if (ranks % side == 0 && fills_box(ranks / side, axes, axis + 1, sides - 1)) return true;
    return false;
}

/// A ring there and back over two lines side by side.
bool folds(std::int64_t places) { return places > 2 && places % 2 == 0; }

/// Ranks that do not come out even on the axes that they take: lines of equal length, on as many axes as a box of so
/// many ranks has; one that hangs on by itself adds no axis.
std::vector<Side> ragged_sides(std::int64_t ranks, std::vector<SliceAxis> const& axes, std::size_t spanned) {
    while (spanned > 1 && !fills_box(ranks, axes, 0, spanned))
        --spanned;
    spanned = std::max<std::size_t>(1, spanned);
    double const places = std::pow(static_cast<double>(ranks), 1 / static_cast<double>(spanned));
    bool const closing = std::any_of(axes.begin(), axes.end(), [](SliceAxis const& axis) { return axis.closes; });
    return std::vector<Side>(spanned, {.places = places, .ring = spanned == 1 && closing && folds(ranks)});
}

std::vector<Side> sides_of(ClusterSpec const& cluster, GroupPlacement const& group) {
    std::vector<SliceAxis> const axes = slice_axes(cluster, group.slice);
    std::vector<Side> sides;
    std::int64_t covered = 1;
    std::int64_t before = 1;  // chips from one place on the axis to the next
    bool part_of_closing = false;
    for (SliceAxis const& axis : axes) {
        std::int64_t const first = std::max(group.stride, before);
        std::int64_t const last = std::min(group.stride * group.size, before * axis.length);
        before *= axis.length;
        if (last <= first) continue;
        std::int64_t const places = (last + first - 1) / first;
        covered *= places;
        bool const whole = places == axis.length;
        sides.push_back({.places = static_cast<double>(places), .ring = axis.closes && whole && places > 2});
        part_of_closing = axis.closes && !whole;
    }
    if (covered != group.size) return ragged_sides(group.size, axes, sides.size());
    if (sides.size() == 1 && part_of_closing) sides.front().ring = folds(group.size);
    return sides;
}

double axes_of(ClusterSpec const& cluster) {
    return static_cast<double>(std::max<std::size_t>(1, cluster.scale_up.torus.size()));
}

/// Of the links of a chip.
double links_of(std::vector<Side> const& sides, double axes) {
    double links = 0;
    for (Side const& side : sides)
        links += side.links();
    return links / axes;
}

}  // namespace

double reached_of_torus(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& group) {
    double const axes = axes_of(cluster);
    if (kind == CollectiveKind::send_receive) return 1 / (2 * axes);
    return links_of(sides_of(cluster, group), axes);
}

double hops_of_torus(ClusterSpec const& cluster, GroupPlacement const& group) {
    double hops = 0;
    for (Side const& side : sides_of(cluster, group))
        hops += side.hops();
    return hops;
}

CollectiveCurve torus_curve(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& group) {
    ScaleUpNetwork const& up = cluster.scale_up;
    auto const n = static_cast<double>(group.size);
    double const axes = axes_of(cluster);
    BytesPerSecond const rate = up.bandwidth.value * reached_of_torus(cluster, kind, group);
    Seconds const latency = up.base_latency.value + hops_of_torus(cluster, group) * up.hop_latency.value;
    CollectiveCurve curve;
    switch (kind) {
        case CollectiveKind::all_to_all: {
            SecondsPerByte slope = (n - 1) / n / rate;
            for (Side const& side : sides_of(cluster, group))
                slope = std::max(slope, side.places * axes / (4 * side.links()) / up.bandwidth.value);
            curve.add(latency, slope / up.all_to_all_efficiency.value);
            break;
        }
        case CollectiveKind::send_receive:
            curve.add(up.base_latency.value, 1 / (rate * up.ring_efficiency.value));
            break;
        case CollectiveKind::broadcast: curve.add(latency, 1 / (rate * up.ring_efficiency.value)); break;
        case CollectiveKind::all_reduce:
            curve.add(2 * latency, 2 * (n - 1) / n / (rate * up.ring_efficiency.value));
            break;
        case CollectiveKind::all_gather:
        case CollectiveKind::reduce_scatter: curve.add(latency, (n - 1) / n / (rate * up.ring_efficiency.value));
    }
    return curve;
}

}  // namespace sextant
