#include "core/spec/calibration_file.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "core/spec/network_calibration.hpp"
#include "tests/catch.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <algorithm>

using namespace sextant;

namespace {

NetworkCalibration shipped(std::string const& name) {
    auto const& all = all_network_calibrations();
    return *std::find_if(all.begin(), all.end(), [&](NetworkCalibration const& c) { return c.name == name; });
}

/// The shipped network between nodes of H100s with slower hops, under a name of its own.
NetworkCalibration slower_hops() {
    NetworkCalibration own = shipped("h100-infiniband");
    own.name = "mine";
    own.scale_out->constants.ring_hop_simple *= 3;
    return own;
}

ClusterSpec cluster(std::string const& name) { return find_cluster(name, "test"); }

}  // namespace

TEST_CASE("a calibration behind a cluster's name goes before the shipped one, and only for what it is of") {
    ScratchFolder const folder("calibration");
    std::string const file = folder.file("net.json", network_calibration_json(slower_hops()));
    ClusterSpec const plain = cluster("h100-sxm");
    ClusterSpec const own = cluster("h100-sxm:calibration=" + file);
    CHECK(own.name == "h100-sxm:calibration=" + file);
    REQUIRE(own.network_model->out);
    CHECK(own.network_model->out_part.calibration == "mine");
    CHECK(own.network_model->out_part.basis == Basis::fitted);
    CHECK(own.network_model->out->ring_hop_simple.base() ==
          Approx(3 * plain.network_model->out->ring_hop_simple.base()));
    CHECK(own.network_model->up_part.calibration == plain.network_model->up_part.calibration);
    CHECK(own.network_model->up == plain.network_model->up);
    CHECK(own.accelerator.kernels == plain.accelerator.kernels);
}

TEST_CASE("a calibration is what other changes start from, wherever it stands among them") {
    ScratchFolder const folder("calibration");
    std::string const file = "calibration=" + folder.file("net.json", network_calibration_json(slower_hops()));
    ClusterSpec const before = cluster("h100-sxm:" + file + ":inter_node_latency=x2");
    ClusterSpec const after = cluster("h100-sxm:inter_node_latency=x2:" + file);
    CHECK(*before.network_model->out == *after.network_model->out);
    CHECK(before.network_model->out->ring_hop_simple.base() ==
          Approx(6 * cluster("h100-sxm").network_model->out->ring_hop_simple.base()));
}

TEST_CASE("constants of both networks and of kernels stand beside each other, in any order") {
    ScratchFolder const folder("calibration");
    NetworkCalibration inside = shipped("h100-nvswitch");
    inside.name = "mine-inside";
    KernelCalibration kernels = *shipped_kernel_calibration("h100-sxm");
    kernels.title = "mine";
    std::vector<std::string> files{folder.file("in.json", network_calibration_json(inside)),
                                   folder.file("out.json", network_calibration_json(slower_hops())),
                                   folder.file("kernels.json", kernel_calibration_json(kernels))};
    std::sort(files.begin(), files.end());
    do {
        std::string name = "h100-sxm";
        for (std::string const& file : files)
            name += ":calibration=" + file;
        ClusterSpec const own = cluster(name);
        CHECK(own.network_model->up_part.calibration == "mine-inside");
        CHECK(own.network_model->out_part.calibration == "mine");
        CHECK(own.accelerator.kernels->title == "mine");
    } while (std::next_permutation(files.begin(), files.end()));
}

TEST_CASE("a calibration of other machines, or a file of another kind, is refused with what to do") {
    ScratchFolder const folder("calibration");
    std::string const net = folder.file("net.json", network_calibration_json(slower_hops()));
    std::string const kernels =
        folder.file("kernels.json", kernel_calibration_json(*shipped_kernel_calibration("h100-sxm")));
    std::string const other = folder.file("other.json", "{\"format\": \"framework\"}");
    std::vector<std::pair<std::string, std::string>> const cases{
        {"a100-sxm-80gb:calibration=" + net, "mine is of h100-sxm"},
        {"a100-sxm-80gb:calibration=" + kernels, "is of h100-sxm, not of a100-sxm-80gb (fit it with --device"},
        {"tpu-v5p:calibration=" + net, "tpu-v5p is a torus"},
        {"h100-sxm:calibration=" + other, "format is 'framework'"},
        {"h100-sxm:calibration=" + kernels + ":calibration=" + kernels, "are both of kernels"},
        {"h100-sxm:calibration=" + folder.path("none.json"), "cannot be opened"},
    };
    for (auto const& [name, part] : cases) {
        INFO(name);
        CHECK_THROWS_AS(cluster(name), InputError);
        CHECK_THROWS_WITH(cluster(name), contains(part));
    }
}
