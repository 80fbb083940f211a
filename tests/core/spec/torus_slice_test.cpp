#include "core/spec/torus_slice.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "tests/catch.hpp"

using namespace sextant;

namespace {

using Lengths = std::vector<std::int64_t>;

Lengths lengths_of(std::vector<SliceAxis> const& axes) {
    Lengths lengths;
    for (SliceAxis const& axis : axes)
        lengths.push_back(axis.length);
    return lengths;
}

Lengths slice(char const* cluster, std::int64_t chips) {
    return lengths_of(slice_axes(find_cluster(cluster, "test"), chips));
}

std::vector<bool> closed(char const* cluster, std::int64_t chips) {
    std::vector<bool> closes;
    for (SliceAxis const& axis : slice_axes(find_cluster(cluster, "test"), chips))
        closes.push_back(axis.closes);
    return closes;
}

std::int64_t volume(Lengths const& lengths) {
    std::int64_t chips = 1;
    for (auto const length : lengths)
        chips *= length;
    return chips;
}

}  // namespace

TEST_CASE("slice_axes: slices of three axes have the shapes that Google's tables give them") {
    for (char const* name : {"tpu-v4", "tpu-v5p", "tpu7x"}) {
        CAPTURE(name);
        CHECK(slice(name, 1) == Lengths{1, 1, 1});
        CHECK(slice(name, 4) == Lengths{2, 2, 1});
        CHECK(slice(name, 8) == Lengths{2, 2, 2});
        CHECK(slice(name, 16) == Lengths{2, 2, 4});
        CHECK(slice(name, 32) == Lengths{2, 4, 4});
        CHECK(slice(name, 64) == Lengths{4, 4, 4});
        CHECK(slice(name, 128) == Lengths{4, 4, 8});
        CHECK(slice(name, 256) == Lengths{4, 8, 8});
        CHECK(slice(name, 512) == Lengths{8, 8, 8});
        CHECK(slice(name, 1024) == Lengths{8, 8, 16});
        CHECK(slice(name, 2048) == Lengths{8, 16, 16});
        CHECK(closed(name, 32) == std::vector<bool>(3, false));
        CHECK(closed(name, 64) == std::vector<bool>(3, true));
        CHECK(closed(name, 384) == std::vector<bool>(3, true));
        CHECK(slice(name, 384) == Lengths{4, 8, 12});
    }
    CHECK(slice("tpu-v5p", 448) == Lengths{4, 4, 28});  // seven cubes: no axis of v5p has 7 x 4 but the last
    CHECK(slice("tpu-v5p", 6144) == Lengths{16, 16, 24});
    CHECK(slice("tpu-v5p", 8960) == Lengths{16, 20, 28});
}

TEST_CASE("slice_topology writes sides as Google does, shortest first") {
    CHECK(slice_topology(find_cluster("tpu-v5p", "test"), 256) == "4x8x8");
    CHECK(slice_topology(find_cluster("tpu-v5e", "test"), 8) == "2x4");
    CHECK(slice_topology(find_cluster("tpu-v6e", "test"), 512) == "16x16");  // two of these
}

TEST_CASE("slice_axes: slices of two axes close over whole axes alone") {
    for (char const* name : {"tpu-v5e", "tpu-v6e"}) {
        CAPTURE(name);
        CHECK(slice(name, 4) == Lengths{2, 2});
        CHECK(slice(name, 8) == Lengths{2, 4});
        CHECK(slice(name, 16) == Lengths{4, 4});
        CHECK(slice(name, 32) == Lengths{4, 8});
        CHECK(slice(name, 64) == Lengths{8, 8});
        CHECK(slice(name, 128) == Lengths{8, 16});
        CHECK(slice(name, 256) == Lengths{16, 16});
        CHECK(closed(name, 64) == std::vector<bool>{false, false});
        CHECK(closed(name, 128) == std::vector<bool>{false, true});
        CHECK(closed(name, 256) == std::vector<bool>{true, true});
    }
}

TEST_CASE("slice_axes: any job lies in a box of its torus, the smallest there is, and a larger one in no smaller") {
    for (ClusterSpec const& cluster : all_clusters()) {
        if (cluster.scale_up.kind != ScaleUpKind::torus) continue;
        Lengths const& torus = cluster.scale_up.torus;
        std::int64_t before = 0;
        for (std::int64_t chips = 1; chips <= cluster.domain_size; chips += chips < 600 ? 1 : 97) {
            auto const axes = slice_axes(cluster, chips);
            Lengths const lengths = lengths_of(axes);
            CAPTURE(cluster.name, chips, lengths);
            REQUIRE(lengths.size() == torus.size());
            bool fits = true;
            for (std::size_t axis = 0; axis < torus.size(); ++axis) {
                fits = fits && lengths[axis] <= torus[axis];
                if (axes[axis].closes && cluster.scale_up.slice_cube == 0) CHECK(lengths[axis] == torus[axis]);
            }
            CHECK(fits);
            CHECK(volume(lengths) >= chips);
            CHECK(volume(lengths) >= before);
            CHECK(slice_axes(cluster, volume(lengths)) == axes);
            before = volume(lengths);
        }
        for (std::int64_t const all : {std::int64_t{0}, cluster.domain_size, 3 * cluster.domain_size})
            CHECK(lengths_of(slice_axes(cluster, all)) == torus);
    }
}

TEST_CASE("slice_axes: sides lie on axes that are long enough for them, in whatever order these are") {
    ClusterSpec cluster = find_cluster("tpu-v5e", "test");
    cluster.scale_up.torus = {8, 2, 4};
    cluster.domain_size = 64;
    CHECK(lengths_of(slice_axes(cluster, 16)) == Lengths{4, 2, 2});
    CHECK(lengths_of(slice_axes(cluster, 32)) == Lengths{4, 2, 4});
    CHECK(lengths_of(slice_axes(cluster, 2)) == Lengths{1, 2, 1});
    cluster.scale_up.torus = {3, 5};
    cluster.domain_size = 15;
    CHECK(lengths_of(slice_axes(cluster, 3)) == Lengths{3, 1});
    CHECK(lengths_of(slice_axes(cluster, 14)) == Lengths{3, 5});
    cluster.scale_up.torus_wraps = false;
    CHECK_FALSE(slice_axes(cluster, 15)[0].closes);
}
