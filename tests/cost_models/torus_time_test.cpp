#include "cost_models/torus_time.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "core/spec/torus_slice.hpp"
#include "cost_models/block_price.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <set>

using namespace sextant;

namespace {

/// A group of a job on a cluster.
struct Group {
    ClusterSpec cluster;
    std::int64_t job, size, stride;

    Group(char const* name, std::int64_t of_job, std::int64_t ranks, std::int64_t apart = 1)
        : cluster(find_cluster(name, "test")), job(of_job), size(ranks), stride(apart) {}

    [[nodiscard]] GroupPlacement placement() const { return place_group(size, stride, cluster, job); }
    /// Links of a chip, one way, that a gather uses.
    [[nodiscard]] double links() const {
        return reached_of_torus(cluster, CollectiveKind::all_gather, placement()) * 2 *
               static_cast<double>(cluster.scale_up.torus.size());
    }
    [[nodiscard]] double time(CollectiveKind kind, Bytes bytes) const {
        return collective_curve(cluster, kind, placement()).time(bytes).base();
    }
};

/// Links to other members that the member with the fewest has: no gather gets its data into it over more.
double fewest_links(Group const& group) {
    auto const axes = slice_axes(group.cluster, group.job);
    std::set<std::int64_t> members;
    for (std::int64_t i = 0; i < group.size; ++i)
        members.insert(i * group.stride);
    std::size_t fewest = 2 * axes.size();
    for (std::int64_t const member : members) {
        std::size_t links = 0;
        std::int64_t step = 1;
        for (SliceAxis const& axis : axes) {
            std::int64_t const at = member / step % axis.length;
            // The next member on the line, whatever lies between: chips that are not members pass data on.
            auto const reaches = [&](std::int64_t direction) {
                for (std::int64_t i = 1; i < axis.length; ++i) {
                    std::int64_t const to = at + direction * i;
                    if (!axis.closes && (to < 0 || to >= axis.length)) return false;
                    if (members.contains(member + ((to + axis.length) % axis.length - at) * step)) return true;
                }
                return false;
            };
            links += reaches(1) && !(axis.length == 2 && at == 1) ? 1 : 0;
            links += reaches(-1) && !(axis.length == 2 && at == 0) ? 1 : 0;
            step *= axis.length;
        }
        fewest = std::min(fewest, links);
    }
    return static_cast<double>(fewest);
}

}  // namespace

TEST_CASE("torus: a job has the links of its own slice, whatever the pod is like") {
    CHECK(Group("tpu-v5p", 64, 64).links() == Approx(6));     // 4 x 4 x 4, all of whose axes close
    CHECK(Group("tpu-v5p", 128, 128).links() == Approx(6));   // 4 x 4 x 8
    CHECK(Group("tpu-v5p", 64, 4).links() == Approx(2));      // one axis
    CHECK(Group("tpu-v5p", 64, 16).links() == Approx(4));     // two
    CHECK(Group("tpu-v5p", 64, 16, 4).links() == Approx(4));  // the two others
    CHECK(Group("tpu-v5p", 64, 32).links() == Approx(5));     // two, and lines of two along the third
    CHECK(Group("tpu-v5p", 32, 32).links() == Approx(3));     // 2 x 4 x 4, a corner has one link along each axis
    CHECK(Group("tpu-v5p", 8, 8).links() == Approx(3));       // 2 x 2 x 2
    CHECK(Group("tpu-v5p", 4, 4).links() == Approx(2));       // 2 x 2 x 1
    CHECK(Group("tpu-v5p", 16, 4).links() == Approx(2));      // 2 x 2 of 2 x 2 x 4
    CHECK(Group("tpu-v5p", 16, 4, 4).links() == Approx(1));   // the line of 4
    CHECK(Group("tpu-v5e", 64, 64).links() == Approx(2));     // 8 x 8
    CHECK(Group("tpu-v5e", 128, 128).links() == Approx(3));   // 8 x 16: 16 closes
    CHECK(Group("tpu-v5e", 256, 256).links() == Approx(4));
    CHECK(Group("tpu-v5e", 16, 4).links() == Approx(1));
    CHECK(Group("trainium2", 16, 16).links() == Approx(4));
}

TEST_CASE("torus: no group has more links in a closed form than the chips of its slice", "[INV-17]") {
    for (char const* name : {"tpu-v4", "tpu-v5p", "tpu-v5e", "tpu-v6e", "trainium2"})
        for (std::int64_t job = 2; job <= 512; job *= 2) {
            if (job > find_cluster(name, "test").domain_size) continue;
            for (std::int64_t stride = 1; stride < job; stride *= 2)
                for (std::int64_t size = 2; size * stride <= job; size *= 2) {
                    Group const group(name, job, size, stride);
                    CAPTURE(name, job, stride, size, group.links());
                    // A part of one axis that closes may be laid out as two lines side by side.
                    double const folded = size > 2 ? 2 : 1;
                    CHECK(group.links() <= std::max(fewest_links(group), folded) + 1e-9);
                    CHECK(group.links() >= 1 - 1e-9);
                }
        }
}

TEST_CASE("torus: an exchange of 64 chips of v5p costs no less over 32 of them than over 16", "[INV-18]") {
    for (Bytes const bytes : {1 * units::MB, 64 * units::MB, 4 * units::GB}) {
        CAPTURE(bytes.base());
        auto const exchange = [&](std::int64_t ep) {
            return Group("tpu-v5p", 64, ep).time(CollectiveKind::all_to_all, bytes);
        };
        CHECK(exchange(32) >= exchange(16));
        CHECK(exchange(64) >= exchange(16));
    }
    // 4 x 4 x 4: half of 64 S crosses the 32 links, 16 lines twice, of a middle one way. S / 4 n links of 90 GB/s.
    Group const all("tpu-v5p", 64, 64);
    double const efficiency = all.cluster.scale_up.all_to_all_efficiency.value;
    double const injected = 4e9 * 63 / 64 / (540e9 * efficiency);
    double const crossing = 64 * 4e9 / 4 / (32 * 90e9 * efficiency);
    CHECK(all.time(CollectiveKind::all_to_all, 4 * units::GB) == Approx(std::max(injected, crossing)).epsilon(0.01));
    // 8 x 8 without a ring: 8 links across the middle.
    Group const open("tpu-v5e", 64, 64);
    CHECK(open.time(CollectiveKind::all_to_all, 4 * units::GB) ==
          Approx(64 * 4e9 / 4 / (8 * 45e9 * open.cluster.scale_up.all_to_all_efficiency.value)).epsilon(0.01));
}

TEST_CASE("torus: the groups of a plan lie in the slice of its own size") {
    ClusterSpec const v5p = find_cluster("tpu-v5p", "test");
    ParallelPlan plan;
    plan.tp = 4;
    plan.dp = 8;
    plan.pp = 2;
    for (GroupKind const kind : {GroupKind::tensor, GroupKind::data, GroupKind::context})
        CHECK(place(kind, plan, v5p).slice == 64);
    CHECK(place(GroupKind::tensor, plan, find_cluster("h100-sxm", "test")).slice == 0);
    plan.dp = 8960;
    CHECK(place(GroupKind::tensor, plan, v5p).slice == 0);  // whole pods
}

TEST_CASE("torus: what small collectives wait for grows with the lengths of the slice's axes") {
    auto const latency = [](std::int64_t chips) {
        return Group("tpu-v5p", chips, chips).time(CollectiveKind::all_gather, {});
    };
    CHECK(latency(64) == Approx(3e-6 + 6e-6));    // 4 x 4 x 4: two links along each axis
    CHECK(latency(512) == Approx(3e-6 + 12e-6));  // 8 x 8 x 8
    CHECK(latency(16) == Approx(3e-6 + 5e-6));    // 2 x 2 x 4, open: 1 + 1 + 3
}
