#include "core/spec/torus_slice.hpp"
#include "simulator/network/network_tier.hpp"
#include "simulator/network/topology.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

std::string axis_name(std::size_t axis) {
    constexpr std::string_view letters = "xyzw";
    return axis < letters.size() ? std::string(1, letters[axis]) : fmt::format("axis{}", axis);
}

/// One slice: the links of its chips, by chip, axis and direction.
class TorusSlice {
public:
    TorusSlice(ClusterSpec const& cluster, std::int64_t slice, std::int64_t chips, std::vector<FabricLink>& links)
        : axes_(slice_axes(cluster, chips)) {
        BytesPerSecond const bandwidth = scale_up_rate(cluster) / static_cast<double>(2 * axes_.size());
        std::int64_t covered = 1;
        for (auto const& axis : axes_)
            covered *= axis.length;
        for (std::int64_t chip = 0; chip < covered; ++chip) {
            std::int64_t stride = 1;
            for (std::size_t axis = 0; axis < axes_.size(); stride *= axes_[axis++].length)
                for (int const sign : {1, -1})
                    links_.push_back(has_link(chip / stride % axes_[axis].length, axes_[axis], sign)
                                         ? add_link(links, link_name(slice, chip, axis, sign), bandwidth)
                                         : -1);
        }
    }

    void route(std::int64_t chip, std::int64_t target, std::vector<std::int32_t>& path) const {
        std::int64_t stride = 1;
        for (std::size_t axis = 0; axis < axes_.size(); stride *= axes_[axis++].length) {
            std::int64_t const length = axes_[axis].length;
            std::int64_t at = chip / stride % length;
            std::int64_t const to = target / stride % length;
            std::int64_t const ahead = (to - at + length) % length;
            int const sign = (axes_[axis].closes ? 2 * ahead <= length : to > at) ? 1 : -1;
            while (at != to) {
                path.push_back(link_at(chip, axis, sign));
                std::int64_t const next = (at + sign + length) % length;
                chip += (next - at) * stride;
                at = next;
            }
        }
    }

private:
    static bool has_link(std::int64_t at, SliceAxis const& axis, int sign) {
        return axis.length > 1 && (axis.closes || (sign > 0 ? at + 1 < axis.length : at > 0));
    }
    static std::string link_name(std::int64_t slice, std::int64_t chip, std::size_t axis, int sign) {
        return fmt::format("slice{}.chip{}.{}{}", slice, chip, axis_name(axis), sign > 0 ? '+' : '-');
    }
    [[nodiscard]] std::int32_t link_at(std::int64_t chip, std::size_t axis, int sign) const {
        return links_[2 * (static_cast<std::size_t>(chip) * axes_.size() + axis) + (sign > 0 ? 0 : 1)];
    }

    std::vector<SliceAxis> axes_;
    std::vector<std::int32_t> links_;  ///< by chip, axis, direction; -1: no such link
};

class TorusSlices final : public NetworkTier {
public:
    TorusSlices(ClusterSpec const& cluster, std::int64_t accelerators, std::vector<FabricLink>& links)
        : size_(cluster.domain_size) {
        for (std::int64_t slice = 0; slice < domains_of(cluster, accelerators); ++slice)
            slices_.emplace_back(cluster, slice, std::min(size_, accelerators - slice * size_), links);
    }
    void route(std::int64_t source, std::int64_t destination, std::vector<std::int32_t>& path) const override {
        slices_[static_cast<std::size_t>(source / size_)].route(source % size_, destination % size_, path);
    }

private:
    std::int64_t size_;
    std::vector<TorusSlice> slices_;
};

}  // namespace

std::unique_ptr<NetworkTier> make_torus_slices(ClusterSpec const& cluster, std::int64_t accelerators,
                                               std::vector<FabricLink>& links) {
    return std::make_unique<TorusSlices>(cluster, accelerators, links);
}

}  // namespace sextant
