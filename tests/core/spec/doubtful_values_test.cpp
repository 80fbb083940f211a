#include "core/spec/doubtful_values.hpp"

#include "core/embedded_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace sextant;

namespace {

using Change = std::function<void(nlohmann::json&)>;

/// A cluster file beside the program: the shipped one of this name, or its accelerator, changed.
ClusterSpec own_cluster(Change const& change, Change const& change_device = {}) {
    ScratchFolder const folder("doubtful");
    auto const text_of = [](auto const& texts, std::string_view name) {
        for (EmbeddedText const& entry : texts)
            if (entry.name == name) return nlohmann::json::parse(entry.text);
        throw std::runtime_error("no such text");
    };
    nlohmann::json cluster = text_of(embedded_clusters(), "h100-sxm");
    if (change_device) {
        cluster["accelerator"] = text_of(embedded_accelerators(), "h100-sxm");
        cluster["accelerator"]["name"] = "mine";
        change_device(cluster["accelerator"]);
    }
    change(cluster);
    std::string const file = folder.file("mine.json", cluster.dump());
    return find_cluster(file, "test");
}

std::vector<std::string> doubts_of_device(Change const& change) {
    return doubtful_values(own_cluster([](auto& c) { c["name"] = "mine"; }, change).accelerator);
}

}  // namespace

TEST_CASE("doubtful values: shipped machines have none") {
    for (ClusterSpec const& cluster : all_clusters()) {
        INFO(cluster.name);
        CHECK(notes_on_profile(cluster).empty());
    }
    for (AcceleratorProfile const& a : all_accelerators()) {
        INFO(a.name);
        CHECK(doubtful_values(a).empty());
    }
}

TEST_CASE("doubtful values: slips of units and of order are named, one sentence each") {
    struct Slip {
        char const* key;
        char const* value;
        char const* says;
    };
    auto const slip = GENERATE(
        Slip{"memory_bandwidth", "3350 TB/s", "reads its"}, Slip{"memory_bandwidth", "3.35 GB/s", "reads its"},
        Slip{"memory_capacity", "80 TB", "reads its"}, Slip{"l2", "500 GB", "an l2 of 500 GB"},
        Slip{"vector_peak", "5000 TFLOP/s", "a vector_peak of"}, Slip{"generation", "hoper", "did you mean 'hopper'"});
    INFO(slip.key << " " << slip.value);
    auto const doubts = doubts_of_device([&](auto& a) { a[slip.key] = slip.value; });
    CHECK_THAT(nlohmann::json(doubts).dump(), contains(slip.says));
}

TEST_CASE("doubtful values: a narrow peak below that of a wider format, links above the memory") {
    auto const narrow = doubts_of_device([](auto& a) { a["peak"]["fp8"] = "198 TFLOP/s"; });
    REQUIRE(narrow.size() == 1);
    CHECK_THAT(narrow[0], contains("fp8 peak of 198"));
    auto const faster = own_cluster([](auto& c) {
        c["name"] = "mine";
        c["scale_up"]["bandwidth"] = "4500 GB/s";
    });
    CHECK_THAT(nlohmann::json(notes_on_profile(faster)).dump(), contains("please check: mine: scale_up of"));
    auto const wider = own_cluster([](auto& c) {
        c["name"] = "mine";
        c["scale_out"]["bandwidth"] = "3200 GB/s";
    });
    CHECK_THAT(nlohmann::json(notes_on_profile(wider)).dump(), contains("per device, not per node"));
}

TEST_CASE("a cluster file under a shipped name has that cluster's constants only for networks of its kind") {
    auto const same = own_cluster([](auto&) {});
    CHECK(same.network_model->up_part.calibration == "h100-nvswitch");
    CHECK(same.network_model->out_part.calibration == "h100-infiniband");
    CHECK(notes_on_profile(same).empty());

    auto const roce = own_cluster([](auto& c) { c["scale_out"]["kind"] = "roce"; });
    CHECK(roce.network_model->up_part.calibration == "h100-nvswitch");
    CHECK(roce.network_model->out_part.calibration == "class-roce");
    CHECK(roce.network_model->out_part.range == CalibrationRange::by_class);
    CHECK_THAT(nlohmann::json(notes_on_profile(roce)).dump(), contains("networks of h100-sxm: the file has roce"));

    auto const pcie = own_cluster([](auto& c) {
        c["accelerator"] = "h100-pcie";
        c["scale_up"]["kind"] = "pcie";
        c["scale_up"]["bandwidth"] = "63 GB/s";
    });
    CHECK(pcie.network_model->up_part.calibration == "class-pcie");
    auto const older = own_cluster([](auto& c) {
        c["accelerator"] = "a100-sxm-80gb";
        c["scale_up"]["bandwidth"] = "300 GB/s";
    });
    CHECK(older.network_model->up_part.calibration == "class-nvswitch-ampere");
    CHECK_THAT(nlohmann::json(notes_on_profile(older)).dump(), contains("switched links of ampere"));
}
