#include "core/spec/torus_slice.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

namespace sextant {
namespace {

using Sides = std::vector<std::int64_t>;

/// The sides that an axis can have in a slice, shortest first.
Sides sides_of_axis(std::int64_t length, std::int64_t cube, bool whole_cubes) {
    Sides sides;
    if (whole_cubes) {
        for (std::int64_t side = cube; side <= length; side += cube)
            sides.push_back(side);
        return sides;
    }
    std::int64_t const longest = cube > 0 ? std::min(cube, length) : length;
    for (std::int64_t side = 1; side < longest; side *= 2)
        sides.push_back(side);
    sides.push_back(longest);
    return sides;
}

/// Searches boxes, those with short sides first: of boxes alike that one is found whose sides get longer.
class BoxSearch {
public:
    BoxSearch(std::vector<Sides> const& let, std::int64_t chips) : let_(let), chips_(chips) {}

    [[nodiscard]] Sides smallest() {
        extend(1, 0);
        return best_;
    }

private:
    void extend(std::int64_t volume, std::int64_t sum) {
        if (box_.size() == let_.size()) {
            bool const is_better = volume != best_volume_ ? volume < best_volume_ : sum < best_sum_;
            if (volume < chips_ || !is_better) return;
            best_ = box_;
            best_volume_ = volume;
            best_sum_ = sum;
            return;
        }
        Sides const& sides = let_[box_.size()];
        bool const is_last = box_.size() + 1 == let_.size();
        std::int64_t const needed = is_last ? (chips_ + volume - 1) / volume : 1;
        for (auto side = std::lower_bound(sides.begin(), sides.end(), needed); side != sides.end(); ++side) {
            if (*side * volume > best_volume_) return;
            box_.push_back(*side);
            extend(volume * *side, sum + *side);
            box_.pop_back();
            if (is_last) return;
        }
    }

    std::vector<Sides> const& let_;
    std::int64_t chips_;
    Sides box_;
    Sides best_;
    std::int64_t best_volume_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t best_sum_ = 0;
};

/// Chips of one cube, as far as there are axes.
std::int64_t cube_volume(std::int64_t cube, std::size_t axes) {
    std::int64_t volume = cube;
    for (std::size_t axis = 1; axis < axes; ++axis)
        volume *= cube;
    return volume;
}

/// 2 x 2 x 1 rather than 1 x 2 x 2, as slices are named, where the axes are long enough.
void put_ones_last(Sides& box, Sides const& lengths) {
    auto const ones = std::find_if(box.begin(), box.end(), [](std::int64_t side) { return side > 1; }) - box.begin();
    Sides turned = box;
    std::rotate(turned.begin(), turned.begin() + ones, turned.end());
    for (std::size_t i = 0; i < box.size(); ++i)
        if (turned[i] > lengths[i]) return;
    box = std::move(turned);
}

}  // namespace

std::vector<SliceAxis> slice_axes(ClusterSpec const& cluster, std::int64_t chips) {
    ScaleUpNetwork const& up = cluster.scale_up;
    std::vector<SliceAxis> axes;
    for (std::int64_t const length : up.torus)
        axes.push_back({.length = length, .closes = up.torus_wraps});
    if (chips <= 0 || chips >= cluster.domain_size) return axes;

    std::vector<std::size_t> order(axes.size());  // of axes, shortest first
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return up.torus[a] < up.torus[b]; });
    std::int64_t const cube = up.slice_cube;
    bool const whole_cubes = cube > 0 && chips >= cube_volume(cube, axes.size());
    std::vector<Sides> let;
    Sides lengths;
    for (std::size_t const axis : order) {
        lengths.push_back(up.torus[axis]);
        let.push_back(sides_of_axis(lengths.back(), cube, whole_cubes));
    }
    Sides box = BoxSearch(let, chips).smallest();
    put_ones_last(box, lengths);
    for (std::size_t i = 0; i < box.size(); ++i) {
        std::size_t const axis = order[i];
        bool const closes = cube > 0 ? whole_cubes || box == Sides(box.size(), cube) : box[i] == up.torus[axis];
        axes[axis] = {.length = box[i], .closes = closes && up.torus_wraps};
    }
    return axes;
}

std::string slice_topology(ClusterSpec const& cluster, std::int64_t chips) {
    Sides sides;
    for (SliceAxis const& axis : slice_axes(cluster, chips))
        sides.push_back(axis.length);
    std::sort(sides.begin(), sides.end());
    std::string text;
    for (std::int64_t const side : sides)
        text += (text.empty() ? "" : "x") + std::to_string(side);
    return text;
}

}  // namespace sextant
