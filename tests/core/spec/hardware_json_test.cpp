#include "core/spec/hardware_json.hpp"

#include "core/embedded_text.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_constants.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>

using namespace sextant;

namespace {

std::string embedded(std::span<EmbeddedText const> files, std::string_view name) {
    for (auto const& file : files)
        if (file.name == name) return std::string(file.text);
    FAIL("no embedded file " << name);
    return {};
}

/// The file with one piece of text replaced; the piece must be there.
std::string with(std::string text, std::string const& piece, std::string const& replacement) {
    auto const at = text.find(piece);
    REQUIRE(at != std::string::npos);
    return text.replace(at, piece.size(), replacement);
}

AcceleratorProfile accelerator(std::string const& text) {
    return read_accelerator(ObjectReader(JsonDocument::from_text(text, "a.json")));
}
ClusterSpec cluster(std::string const& text) {
    return read_cluster(ObjectReader(JsonDocument::from_text(text, "c.json")));
}
FrameworkProfile framework(std::string const& text) {
    return read_framework(ObjectReader(JsonDocument::from_text(text, "f.json")));
}

std::string const small_cluster = R"({
  "format": "cluster", "version": 1, "name": "mine", "accelerator": "h100-sxm", "domain_size": 8,
  "scale_up": {"kind": "switched", "bandwidth": "450 GB/s"},
  "scale_out": {"kind": "infiniband", "bandwidth": "400 Gbit/s"},
  "host_memory": "256 GB"
})";

}  // namespace

TEST_CASE("read_accelerator refuses bad values with the key and what is allowed") {
    auto const good = embedded(embedded_accelerators(), "h100-sxm");
    CHECK(accelerator(good).memory_bandwidth.value.base() == Approx(3.35e12));
    auto const refused = [&](std::string const& piece, std::string const& replacement, std::string const& part) {
        CHECK_THROWS_WITH(accelerator(with(good, piece, replacement)), contains("a.json") && contains(part));
    };
    refused("\"3.35 TB/s\"", "\"3.35 TB\"", "memory_bandwidth: '3.35 TB' is an amount of data");
    refused("\"3.35 TB/s\"", "\"-3.35 TB/s\"", "negative");
    refused("\"3.35 TB/s\"", "\"0 TB/s\"", "it must be positive");
    refused("\"3.35 TB/s\"", "\"nan TB/s\"", "not finite");
    refused("\"3.35 TB/s\"", "3.35e12", "a text in quotes is expected");
    refused("\"memory_bandwidth\"", "\"memory_bandwith\"",
            "'memory_bandwidth' is missing; did you mean 'memory_bandwith'?");
    refused("\"year\"", "\"yaer\"", "unknown key 'yaer'; did you mean 'year'?");
    refused("\"year\": 2022", "\"year\": 22", "between 2000 and 2100");
    refused("\"version\": 1", "\"version\": 7", "version 7");
    refused("\"bf16\": \"989.4", "\"bf17\": \"989.4", "unknown precision 'bf17'; did you mean 'bf16'?");
    refused("\"multiprocessors\": 132", "\"multiprocessors\": 0", "at least 1");
    refused("\"value\": 0.58", "\"value\": 1.62", "a fraction above 0 and up to 1");
    refused("\"value\": 0.58", "\"value\": 1e-320", "a fraction above 0 and up to 1");
}

TEST_CASE("read_cluster fills what a short file leaves out and marks it assumed") {
    auto const mine = cluster(small_cluster);
    CHECK(mine.accelerator.name == "h100-sxm");
    CHECK(mine.scale_out->bandwidth.value.base() == Approx(50e9));
    CHECK(mine.scale_out->ring_efficiency.basis == Basis::assumed);
    CHECK(mine.scale_up.ring_efficiency.value > 0);
    CHECK(mine.scale_up.bandwidth.basis == Basis::assumed);
    CHECK_THAT(mine.scale_up.bandwidth.source, contains("no source"));
    CHECK_FALSE(mine.scale_up.in_network_reduction_efficiency);
}

TEST_CASE("read_cluster: links of pairs, on PCIe and in a mesh alone") {
    auto const read_with = [](std::string const& kind, std::string const& more) {
        auto const document = JsonDocument::from_text(
            R"({"format": "cluster", "version": 1, "name": "mine", "accelerator": "a100-pcie-80gb", "domain_size": 4,
                "host_memory": "64 GB", "scale_up": {"kind": ")" +
                kind + R"(", "bandwidth": "31.5 GB/s")" + more + "}}",
            "mine.json");
        return read_cluster(ObjectReader(document));
    };
    CHECK_FALSE(read_with("pcie", "").scale_up.pair_bandwidth);
    ClusterSpec const mine = read_with("pcie", R"(, "pair_bandwidth": "300 GB/s")");
    REQUIRE(mine.scale_up.pair_bandwidth);
    CHECK(mine.scale_up.pair_bandwidth->value.in(units::GB / units::s) == Approx(300));
    CHECK(mine.scale_up.pair_efficiency.basis == Basis::assumed);
    CHECK(
        read_with("pcie", R"(, "pair_bandwidth": "300 GB/s", "pair_efficiency": 0.9)").scale_up.pair_efficiency.value ==
        0.9);
    CHECK(read_with("mesh", R"(, "pair_bandwidth": "200 GB/s")").scale_up.pair_bandwidth);
    CHECK_THROWS_WITH(read_with("switched", R"(, "pair_bandwidth": "300 GB/s")"), contains("'pcie' or 'mesh'"));
    CHECK_THROWS_AS(read_with("pcie", R"(, "pair_bandwidth": "-3 GB/s")"), InputError);
    CHECK_THROWS_AS(read_with("pcie", R"(, "pair_bandwidth": "300 GB")"), InputError);
    CHECK_THROWS_AS(read_with("pcie", R"(, "pair_bandwidth": "300 GB/s", "pair_efficiency": 3)"), InputError);
    CHECK_THROWS_WITH(read_with("pcie", R"(, "pair_efficiency": 0.5)"), contains("pair_bandwidth says what"));
    CHECK(read_with("mesh", R"(, "quad_bandwidth": "20 GB/s")").scale_up.quad_bandwidth->value.base() == Approx(20e9));
    CHECK_THROWS_WITH(read_with("mesh", R"(, "quad_bandwidth": "40 GB/s")"), contains("more than all links together"));
    CHECK_THROWS_WITH(read_with("pcie", R"(, "quad_bandwidth": "20 GB/s")"), contains("a 'mesh' has them"));
    CHECK(read_with("pcie", "").scale_up.peer_access);
    CHECK_FALSE(read_with("pcie", R"(, "peer_access": false)").scale_up.peer_access);
    CHECK_THROWS_WITH(read_with("mesh", R"(, "peer_access": false)"), contains("leave it out"));
}

TEST_CASE("cards on PCIe of a file that does not say it have peer access, but GeForce has none") {
    auto const box = [](std::string const& accelerator, std::string const& more) {
        JsonDocument const document = JsonDocument::from_text(
            R"({"format": "cluster", "version": 1, "name": "mine", "domain_size": 4, "host_memory": "64 GB",
                "accelerator": ")" +
                accelerator + R"(", "scale_up": {"kind": "pcie", "bandwidth": "31.5 GB/s")" + more + "}}",
            "mine.json");
        return read_cluster(ObjectReader(document)).scale_up;
    };
    ScaleUpNetwork const shipped = find_cluster("rtx-4090-box", "test").scale_up;
    ScaleUpNetwork const geforce = box("rtx-4090", "");
    CHECK_FALSE(geforce.peer_access);
    CHECK(geforce.ring_efficiency.value == shipped.ring_efficiency.value);
    CHECK(geforce.all_to_all_efficiency.value == shipped.all_to_all_efficiency.value);
    CHECK_THAT(geforce.ring_efficiency.source, contains("GeForce has no peer access unless peer_access says so"));
    CHECK(box("rtx-4090", R"(, "peer_access": true)").peer_access);
    CHECK(box("rtx-4090", R"(, "ring_efficiency": 0.3)").ring_efficiency.value == 0.3);
    CHECK(box("rtx-a6000", "").peer_access);
    CHECK(box("l40s", R"(, "peer_access": false)").ring_efficiency.value == shipped.ring_efficiency.value);
}

TEST_CASE("the topology between domains is what the file says, else the usual one of its kind of network") {
    CHECK(cluster(small_cluster).scale_out->topology == ScaleOutTopology::rail_optimised);
    auto const of_kind = [](std::string const& kind) {
        return cluster(with(small_cluster, "infiniband", kind)).scale_out->topology;
    };
    CHECK(of_kind("roce") == ScaleOutTopology::rail_optimised);
    CHECK(of_kind("slingshot") == ScaleOutTopology::dragonfly);
    for (auto const* kind : {"efa", "omni-path", "ethernet", "dcn"})
        CHECK(of_kind(kind) == ScaleOutTopology::fat_tree);
    CHECK(cluster(with(small_cluster, "\"400 Gbit/s\"", "\"400 Gbit/s\", \"topology\": \"fat-tree\""))
              .scale_out->topology == ScaleOutTopology::fat_tree);
}

TEST_CASE("the examples of docs/formats.md are read as they stand there") {
    auto const page = read_text_file(SEXTANT_SOURCE_DIR "/docs/formats.md");
    auto const example = [&](std::string const& format) {
        auto const start = page.find("```json\n{\n  \"format\": \"" + format + "\"");
        REQUIRE(start != std::string::npos);
        auto const first = page.find('{', start);
        return page.substr(first, page.find("\n```", first) - first);
    };
    CHECK(accelerator(example("accelerator")).memory_bandwidth.value.base() == Approx(3.35e12));
    CHECK(cluster(example("cluster")).scale_out->oversubscription.value == 2);
}

TEST_CASE("read_cluster takes an accelerator written inline") {
    auto const inline_text = with(small_cluster, "\"h100-sxm\"", embedded(embedded_accelerators(), "l40s"));
    CHECK(cluster(inline_text).accelerator.name == "l40s");
}

TEST_CASE("read_cluster takes an accelerator's file that lies beside the cluster's, and find_cluster no such file") {
    auto const folder = std::filesystem::temp_directory_path() / fmt::format("sextant_beside_{}", ::getpid());
    std::filesystem::create_directories(folder);
    std::string const chip = (folder / "chip.json").string();
    std::string const machine = (folder / "machine.json").string();
    write_text_file(chip, embedded(embedded_accelerators(), "l40s"));
    write_text_file(machine, with(small_cluster, "\"h100-sxm\"", "\"chip.json\""));
    CHECK(find_cluster(machine, "--cluster").accelerator.name == "l40s");
    CHECK_THROWS_WITH(find_cluster(chip, "--cluster"),
                      contains("is an accelerator, not a cluster") && contains("\"domain_size\": 8"));
    std::filesystem::remove_all(folder);
}

TEST_CASE("read_cluster refuses bad values with the key and what is allowed") {
    auto const refused = [](std::string const& piece, std::string const& replacement, std::string const& part) {
        CHECK_THROWS_WITH(cluster(with(small_cluster, piece, replacement)), contains("c.json") && contains(part));
    };
    refused("h100-sxm", "h100-sxn", "unknown accelerator 'h100-sxn'; did you mean 'h100-sxm'?");
    refused("switched", "swiched", "did you mean 'switched'");
    refused("infiniband", "infinibond", "did you mean 'infiniband'");
    refused("\"400 Gbit/s\"", "\"400 Gbit/s\", \"topology\": \"dragonfly+\"", "did you mean 'dragonfly'?");
    refused("\"400 Gbit/s\"", "\"400 Gbit/s\", \"topologie\": \"dragonfly\"", "did you mean 'topology'?");
    refused("\"400 Gbit/s\"", "\"400 Gbit/s\", \"oversubscription\": 2", "add \"pod_domains\"");
    refused("\"domain_size\": 8", "\"domain_size\": 0", "between 1 and");
    refused("\"domain_size\": 8", "\"domain_size\": 1e15", "between 1 and");
    refused("\"domain_size\": 8", "\"domain_size\": 8.5", "a whole number is expected");
    refused("\"switched\"", "\"torus\"", "a torus needs its axis lengths");
    refused("\"kind\": \"switched\"", "\"kind\": \"torus\", \"torus\": [4, 4]", "multiply to 16");
    refused("\"kind\": \"switched\"", "\"kind\": \"torus\", \"torus\": [8, 0]", "torus: has an axis of 0");
    refused("\"kind\": \"switched\"", "\"kind\": \"torus\", \"torus\": [8], \"slice_cube\": 3", "a multiple of it");
    refused("\"kind\": \"switched\"", "\"kind\": \"torus\", \"torus\": [8], \"slice_cube\": 1", "2 or more");
    refused("\"kind\": \"switched\"", "\"kind\": \"switched\", \"slice_cube\": 4", "a 'torus' has slices");
    refused("\"host_memory\": \"256 GB\"", "\"host_memory\": \"256 GB\", \"rails\": 8", "unknown key 'rails'");
    refused("\"450 GB/s\"", "\"450 GB/s\", \"ring_efficiency\": 1.2", "a fraction above 0 and up to 1");
}

TEST_CASE("read_framework lets a later timing entry give only what differs") {
    auto const megatron = find_framework("megatron", "test");
    auto const& any = timing_for(megatron, "no-such-generation", "bf16");
    auto const& ampere = timing_for(megatron, "ampere", "bf16");
    CHECK(any.generation == "*");
    CHECK(ampere.generation == "ampere");
    CHECK(ampere.dp_overlap.value == any.dp_overlap.value);
    CHECK(ampere.gemm_scale.value != any.gemm_scale.value);
}

TEST_CASE(
    "read_framework: the releases of a profile are read as they are written, and lie around the one it holds for") {
    auto const good = embedded(embedded_frameworks(), "megatron");
    FrameworkProfile const read = framework(good);
    REQUIRE(read.releases);
    FrameworkProfile const again = framework(framework_json(read));
    REQUIRE(again.releases);
    CHECK(again.releases->first == read.releases->first);
    CHECK(again.releases->at == read.releases->at);
    CHECK(framework_json(again) == framework_json(read));
    FrameworkProfile const mine = framework(with(good, "\"usual\":", "\"family\": \"fsdp\",\n  \"usual\":"));
    CHECK(is_framework(mine, "fsdp"));
    CHECK(is_framework(framework(framework_json(mine)), "fsdp"));
    std::string const last = fmt::format("\"last\": \"{}\"", name_of(read.releases->last));
    CHECK_THROWS_WITH(framework(with(good, last, "\"last\": \"24.04\"")), contains("releases.at") && contains("24.04"));
    CHECK_THROWS_WITH(framework(with(good, last, "\"last\": \"2604\"")), contains("such as 24.07"));
    CHECK_FALSE(framework(embedded(embedded_frameworks(), "nanotron")).releases);
    CHECK(framework(good).timing.front().pads_experts.value == 1);
    CHECK_THROWS_WITH(framework(with(good, "\"pads_experts\": {\"value\": ", "\"pads_experts\": {\"value\": 0.5")),
                      contains("pads_experts: is 0.5"));
}

TEST_CASE("read_framework: memory of a generation of devices states what differs, and a change holds for it, too") {
    FrameworkProfile const maxtext = find_framework("maxtext", "test");
    FrameworkProfile const tpu = on_generation(maxtext, "tpu");
    CHECK(on_generation(maxtext, "hopper").memory.logits_bytes.value == maxtext.memory.logits_bytes.value);
    CHECK(tpu.memory.logits_bytes.value < maxtext.memory.logits_bytes.value);
    CHECK(tpu.memory.master_bytes.value == maxtext.memory.master_bytes.value);
    CHECK(on_generation(find_framework("maxtext:logits_bytes=5", "test"), "tpu").memory.logits_bytes.value == 5);
    auto const good = embedded(embedded_frameworks(), "maxtext");
    CHECK_THROWS_WITH(
        framework(with(good, "\"memory_on\": [\n    {\n      \"generation\"", "\"memory_on\": [{\"generations\"")),
        contains("memory_on[0]") && contains("generation"));
    CHECK_THROWS_WITH(framework(with(good, "\"memory_on\": [", "\"memory_on\": [{\"generation\": \"tpu\"}, ")),
                      contains("memory_on[1].generation") && contains("before this one"));
    CHECK_THROWS_WITH(framework(with(good, "\"working_gradient_share\": 0.75", "\"working_share\": 0.75")),
                      contains("unknown key 'working_share'"));
    CHECK_THROWS_WITH(framework(with(good, "\"reserved_low\": 0.93", "\"reserved_low\": 1.2")), contains("ascend"));
}

TEST_CASE("shipped frameworks stand as a fit writes them") {
    for (auto const& file : embedded_frameworks()) {
        INFO(file.name);
        CHECK(framework_json(framework(std::string(file.text))) == std::string(file.text));
    }
}

TEST_CASE("timing_for prefers the generation's own entry, then the precision's") {
    FrameworkProfile profile{.name = "p", .title = "", .aliases = {}, .timing = {}, .memory = {}};
    auto const add = [&](std::string generation, std::string precision) {
        FrameworkTiming timing{};
        timing.generation = std::move(generation);
        timing.precision = std::move(precision);
        profile.timing.push_back(timing);
    };
    CHECK_THROWS_WITH(timing_for(profile, "hopper", "bf16"), contains("no timing entry"));
    add("hopper", "fp8");
    CHECK_THROWS_WITH(timing_for(profile, "hopper", "bf16"), contains("hopper/fp8"));
    add("*", "*");
    CHECK(timing_for(profile, "hopper", "bf16").generation == "*");
    add("*", "bf16");
    CHECK(timing_for(profile, "hopper", "bf16").precision == "bf16");
    add("hopper", "*");
    CHECK(timing_for(profile, "hopper", "bf16").generation == "hopper");
    CHECK(timing_for(profile, "hopper", "fp8").precision == "fp8");
}

TEST_CASE("read_framework refuses an incomplete first entry, unordered ranges and zero scales") {
    auto const good = embedded(embedded_frameworks(), "nanotron");
    CHECK_NOTHROW(framework(good));
    auto const refused = [&](std::string const& piece, std::string const& replacement, std::string const& part) {
        CHECK_THROWS_WITH(framework(with(good, piece, replacement)), contains("f.json") && contains(part));
    };
    refused("\"generation\": \"*\"", "\"generation\": \"hopper\"", "the first entry");
    refused("\"kernel_gap\"", "\"kernel_gab\"", "'kernel_gap' is missing");
    refused("\"reserved_low\": {\"value\": 0.", "\"reserved_low\": {\"value\": 1.", "do not ascend");
    refused("\"tp_overlap\": 0", "\"tp_overlap\": 10", "between 0 and 1");
    for (char const* scale : {"0", "1e-320"})
        refused("\"grouped_gemm_scale\": {\"value\": 1", fmt::format("\"grouped_gemm_scale\": {{\"value\": {}", scale),
                "it must lie between 0.001 and 2");
    refused("\"early_stop\": {\"value\": ", "\"early_stop\": {\"value\": 0.5", "early_stop: is 0.5");
    refused("\"casts_weights\": {\"value\": ", "\"casts_weights\": {\"value\": 0.5", "casts_weights: is 0.5");
    refused("\"low\": 0.", "\"low\": 1.", "time_interval: is no interval around 1");
    refused("\"by-cost\"", "\"by-costs\"",
            "usual.layers: unknown spread of layers 'by-costs'; did you mean 'by-cost'?");
    refused("\"zero\": 1", "\"zero\": 4", "usual.zero: is 4");
    refused("\"zero\": 1", "\"zero\": 1, \"sends\": \"part\"", "usual.sends: unknown kind of sends 'part'");
    refused("\"zero\": 1", "\"zeros\": 1", "unknown key 'zeros'");
}

TEST_CASE("gemm_efficiency_of falls back to the nearest wider format and peak_of to the vector units") {
    AcceleratorProfile profile;
    profile.name = "p";
    CHECK_THROWS_AS(profile.gemm_efficiency_of(Precision::bf16), InputError);
    profile.gemm_efficiency[Precision::bf16] = {0.8, Basis::assumed, "x"};
    CHECK(profile.gemm_efficiency_of(Precision::fp16) == 0.8);
    CHECK(profile.gemm_efficiency_of(Precision::fp4) == 0.8);
    profile.gemm_efficiency[Precision::fp8] = {0.6, Basis::assumed, "x"};
    CHECK(profile.gemm_efficiency_of(Precision::fp4) == 0.6);
    profile.peak[Precision::bf16] = {FlopsPerSecond::from_base(1e15), Basis::datasheet, "x"};
    CHECK_THROWS_WITH(profile.peak_of(Precision::fp8), contains("has no fp8") && contains("bf16"));
    CHECK_THROWS_AS(profile.peak_of(Precision::fp32), InputError);
    profile.peak[Precision::fp8] = {FlopsPerSecond::from_base(2e15), Basis::datasheet, "x"};
    CHECK(profile.peak_of(Precision::fp8_block).value.base() == 2e15);
    GemmFormat const& int8 = *find_gemm_format("int8");
    CHECK_FALSE(profile.multiplies(int8));
    CHECK_THROWS_WITH(profile.peak_of(int8), contains("p: has no int8 products") && contains("int8_peak"));
    profile.int8_peak = {FlopsPerSecond::from_base(3e15), Basis::datasheet, "x"};
    CHECK(profile.multiplies(int8));
    CHECK(profile.peak_of(int8).value.base() == 3e15);
    CHECK(profile.peak_of(*find_gemm_format("int8-weights")).value.base() == 1e15);
    profile.vector_peak = {FlopsPerSecond::from_base(6e13), Basis::datasheet, "x"};
    CHECK(profile.peak_of(Precision::fp32).value.base() == 6e13);
}

TEST_CASE("every file that is compiled in passes the checks of files that are not") {
    std::size_t read = 0;
    for (auto const files : {embedded_models(), embedded_accelerators(), embedded_clusters(), embedded_frameworks(),
                             embedded_engines(), embedded_networks(), embedded_kernels()})
        for (EmbeddedText const& file : files) {
            CAPTURE(file.name);
            CHECK_NOTHROW(JsonDocument::from_text(file.text, std::string(file.name)));
            CHECK(JsonDocument::from_embedded(file, "folder").name() == "folder/" + std::string(file.name) + ".json");
            ++read;
        }
    CHECK(read > 100);
}

TEST_CASE("weights alone in fewer bits run in the device's two-byte products, fp32 on vector units that are stated") {
    for (char const* format : {"int4-weights", "int8-weights"}) {
        GemmFormat const& weights = *find_gemm_format(format);
        for (char const* name : {"v100-sxm-32gb", "t4"}) {
            AcceleratorProfile const device = find_accelerator(name, "test");
            CAPTURE(format, name);
            CHECK(device.multiplies(weights));
            CHECK(device.peak_of(weights).value == device.peak_of(Precision::fp16).value);
            CHECK_FALSE(device.multiplies(*find_gemm_format("bf16")));
        }
        AcceleratorProfile const wide = find_accelerator("h100-sxm", "test");
        CHECK(wide.peak_of(weights).value == wide.peak_of(Precision::bf16).value);
    }
    GemmFormat const& fp32 = *find_gemm_format("fp32");
    AcceleratorProfile device = find_accelerator("h100-sxm", "test");
    REQUIRE_FALSE(device.peak.contains(Precision::fp32));
    CHECK(device.multiplies(fp32));
    CHECK(device.peak_of(fp32).value == device.vector_peak.value);
    device.vector_peak.value = {};
    CHECK_FALSE(device.multiplies(fp32));
}
