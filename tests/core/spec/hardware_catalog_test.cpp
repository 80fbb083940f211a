#include "core/spec/hardware_catalog.hpp"

#include "core/embedded_text.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/kernel_constants.hpp"
#include "core/spec/profile_values.hpp"
#include "core/spec/usual_node.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

using namespace sextant;

namespace {

std::set<std::string> files_in(std::string const& folder) {
    std::set<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(SEXTANT_SOURCE_DIR "/hardware_profiles/" + folder))
        if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
    return names;
}

std::set<std::string> names_of(std::span<EmbeddedText const> texts) {
    std::set<std::string> names;
    for (auto const& entry : texts)
        names.emplace(entry.name);
    return names;
}

template <class Entry>
std::set<std::string> names_of(std::vector<Entry> const& entries) {
    std::set<std::string> names;
    for (auto const& entry : entries)
        names.insert(entry.name);
    return names;
}

void check_sources(std::string const& owner, std::vector<ProfileValue> const& values) {
    for (auto const& value : values) {
        INFO(owner << ": " << value.key);
        CHECK_FALSE(value.source.empty());
        CHECK(value.source != "the file gives no source");
        CHECK(value.source.find("the file gives none") == std::string::npos);
    }
}

std::string cluster_name(std::string_view device) {
    auto const cluster = cluster_for_device(device);
    return cluster ? cluster->name : "none";
}

}  // namespace

TEST_CASE("each profile in the folders is in hardware_profiles/catalog.cmake, and each file is named as its profile") {
    CHECK(files_in("accelerators") == names_of(embedded_accelerators()));
    CHECK(files_in("clusters") == names_of(embedded_clusters()));
    CHECK(files_in("frameworks") == names_of(embedded_frameworks()));
    CHECK(names_of(all_accelerators()) == names_of(embedded_accelerators()));
    CHECK(names_of(all_clusters()) == names_of(embedded_clusters()));
    CHECK(names_of(all_frameworks()) == names_of(embedded_frameworks()));
}

TEST_CASE("each value of each profile that ships says where it comes from") {
    for (auto const& entry : all_accelerators())
        check_sources(entry.name, values_of(entry));
    for (auto const& entry : all_clusters())
        check_sources(entry.name, values_of(entry));
    for (auto const& entry : all_frameworks()) {
        for (auto const& timing : entry.timing)
            check_sources(entry.name, values_of(timing));
        check_sources(entry.name, values_of(entry.memory));
    }
}

TEST_CASE("values_of: reductions in both networks of a cluster are listed where it has them") {
    auto const lists = [](ClusterSpec const& cluster, std::string_view key) {
        auto const values = values_of(cluster);
        return std::any_of(values.begin(), values.end(), [&](ProfileValue const& value) { return value.key == key; });
    };
    ClusterSpec cluster = find_cluster("h100-sxm", "test");
    CHECK(lists(cluster, "scale_up.in_network_reduction_efficiency"));
    CHECK_FALSE(lists(cluster, "scale_out.in_network_reduction_efficiency"));
    cluster.scale_out->in_network_reduction_efficiency = {0.9, Basis::measured, "own log"};
    CHECK(lists(cluster, "scale_out.in_network_reduction_efficiency"));
}

TEST_CASE("no two profiles of a kind share a name or an alias") {
    auto const check_distinct = [](auto const& entries) {
        std::set<std::string> seen;
        for (auto const& entry : entries) {
            INFO(entry.name);
            std::set<std::string> own{entry.name};
            own.insert(entry.aliases.begin(), entry.aliases.end());
            for (auto const& name : own)
                CHECK(seen.insert(name).second);
        }
    };
    check_distinct(all_accelerators());
    check_distinct(all_clusters());
    check_distinct(all_frameworks());
}

TEST_CASE("accelerators keep the order that physics gives their figures") {
    for (auto const& entry : all_accelerators()) {
        INFO(entry.name);
        CHECK(entry.gemm_efficiency.size() >= entry.peak.size());
        for (auto const& [precision, peak] : entry.peak) {
            CHECK(entry.gemm_efficiency.contains(precision));
            auto const& [widest, least] = *entry.peak.begin();
            if (widest == Precision::fp16 && precision == Precision::bf16) continue;  // as wide: half the rate on MI100
            CHECK(peak.value >= least.value * 0.99);                                  // narrower ones are not slower
        }
        CHECK(entry.attention_backward_efficiency.value <= entry.attention_forward_efficiency.value);
        CHECK(entry.host_bandwidth.value < entry.memory_bandwidth.value);
        CHECK(entry.l2.value < entry.memory_capacity.value);
        CHECK_FALSE(entry.generation.empty());
    }
}

TEST_CASE("the peaks of an accelerator are at one clock") {
    for (auto const& entry : all_accelerators()) {
        INFO(entry.name);
        if (auto const fp32 = entry.peak.find(Precision::fp32); fp32 != entry.peak.end())
            CHECK(fp32->second.value >= entry.vector_peak.value);              // matrix units, or it would not be there
        if (entry.name == "trainium2" || entry.name == "trainium3") continue;  // so published: 181, 667 and 1,299
        FlopsPerSecond least = entry.peak.begin()->second.value;
        for (auto const& [precision, peak] : entry.peak)
            least = std::min(least, peak.value);
        for (auto const& [precision, peak] : entry.peak) {
            double const ratio = peak.value / least;
            CHECK(ratio == Approx(std::round(ratio)).epsilon(0.02));
        }
    }
}

TEST_CASE("clusters keep the order that physics gives their figures") {
    for (auto const& entry : all_clusters()) {
        INFO(entry.name);
        REQUIRE(entry.scale_out);
        CHECK(entry.scale_out->bandwidth.value < entry.scale_up.bandwidth.value);
        CHECK(entry.scale_up.hop_latency.value < entry.scale_up.base_latency.value);
        CHECK(entry.scale_up.hop_latency.value < entry.scale_out->hop_latency.value);
        CHECK(entry.accelerator.memory_bandwidth.value > entry.scale_up.bandwidth.value);
    }
}

TEST_CASE("profile figures agree with the makers' datasheets") {
    struct Expected {
        char const* name;
        double bf16_tflops, memory_tb_per_s;
        int year;
    };
    // Dense figures from the public datasheets.
    auto const e = GENERATE(Expected{"a100-sxm-80gb", 312, 2.039, 2020}, Expected{"h100-sxm", 989.4, 3.35, 2022},
                            Expected{"h200-sxm", 989.4, 4.8, 2023}, Expected{"b200-sxm", 2250, 8.0, 2024},
                            Expected{"gb200", 2500, 8.0, 2024}, Expected{"mi300x", 1307.4, 5.3, 2023},
                            Expected{"tpu-v5p", 459, 2.765, 2023}, Expected{"gaudi2", 432, 2.46, 2022},
                            Expected{"l40s", 362, 0.864, 2023}, Expected{"trainium2", 667, 2.9, 2024});
    auto const profile = find_accelerator(e.name, "test");
    INFO(e.name);
    CHECK(profile.peak_of(Precision::bf16).value.base() == Approx(e.bf16_tflops * 1e12).epsilon(0.02));
    CHECK(profile.memory_bandwidth.value.base() == Approx(e.memory_tb_per_s * 1e12).epsilon(0.02));
    CHECK(profile.year >= e.year - 1);
    CHECK(profile.year <= e.year + 1);
}

TEST_CASE("V100 has no bf16, A100 no fp8, H100 no fp4") {
    CHECK_THROWS_AS(find_accelerator("v100-sxm-32gb", "test").peak_of(Precision::bf16), InputError);
    CHECK_THROWS_AS(find_accelerator("a100-sxm-80gb", "test").peak_of(Precision::fp8), InputError);
    CHECK_THROWS_AS(find_accelerator("h100-sxm", "test").peak_of(Precision::fp4), InputError);
    CHECK(find_accelerator("b200-sxm", "test").peak_of(Precision::fp4).value.base() == Approx(9e15));
}

TEST_CASE("int8 peaks are the makers': of every NVIDIA device with tensor cores from Turing on, of others as stated") {
    GemmFormat const& int8 = *find_gemm_format("int8");
    for (auto const& entry : all_accelerators()) {
        INFO(entry.name);
        bool const tensor_cores =
            entry.vendor == "NVIDIA" && entry.generation != "pascal" && entry.generation != "volta";
        if (entry.vendor == "NVIDIA") CHECK(entry.multiplies(int8) == tensor_cores);
    }
    for (char const* name : {"v100-sxm-16gb", "tpu-v3", "gaudi3", "tpu7x"})
        CHECK_THROWS_WITH(find_accelerator(name, "test").peak_of(int8), contains("has no int8 products"));
    auto const of_two_bytes = [&](char const* name) {
        AcceleratorProfile const a = find_accelerator(name, "test");
        auto const bf16 = a.peak.find(Precision::bf16);
        return a.peak_of(int8).value / (bf16 != a.peak.end() ? bf16->second : a.peak_of(Precision::fp16)).value;
    };
    for (char const* name : {"a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200-sxm", "gb200"})
        CHECK(of_two_bytes(name) == 2);  // what their int8 tables, and before them all predictions, were held against
    for (char const* name : {"a10", "a30", "l4", "l40s", "t4", "mi300x", "mi355x", "tpu-v5e", "tpu-v5p", "tpu-v6e"})
        CHECK(of_two_bytes(name) == Approx(2).epsilon(0.02));
    for (char const* name : {"mi250-gcd", "mi250x-gcd", "mi210", "tpu-v4"})
        CHECK(of_two_bytes(name) == 1);
    for (char const* name : {"rtx-3090", "rtx-4090", "rtx-5090", "rtx-2080-ti"})
        CHECK(of_two_bytes(name) == Approx(4).epsilon(0.02));  // fp32 sums halve the 16-bit rate of these, int32 none
    for (char const* name : {"b300-sxm", "gb300"})
        CHECK(of_two_bytes(name) < 0.1);
}

TEST_CASE("TPUs multiply fp32 in six passes of bf16, which beats their vector units") {
    for (AcceleratorProfile const& a : all_accelerators()) {
        if (a.generation != "tpu") continue;
        CAPTURE(a.name);
        CHECK(a.peak_of(Precision::fp32).value / a.peak_of(Precision::bf16).value == Approx(1.0 / 6).epsilon(0.01));
        CHECK(a.peak_of(Precision::fp32).value > a.vector_peak.value);
    }
}

TEST_CASE("the clusters that other programs rely on have the promised shape") {
    auto const a100 = find_cluster("a100-sxm-80gb", "test");
    CHECK(a100.domain_size == 8);
    CHECK(a100.scale_out->bandwidth.value.base() == Approx(25e9));
    auto const h100 = find_cluster("h100-sxm", "test");
    CHECK(h100.domain_size == 8);
    CHECK(h100.scale_out->bandwidth.value.base() == Approx(50e9));
    CHECK(find_cluster("gb200-nvl72", "test").domain_size == 72);
    CHECK(find_cluster("dgx-2-v100", "test").domain_size == 16);
    CHECK(find_cluster("tpu-v5p", "test").scale_up.torus == std::vector<std::int64_t>{16, 20, 28});
    CHECK(find_cluster("tpu-v5e", "test").scale_up.torus.size() == 2);
    for (auto const* name : {"h200-sxm", "b200-sxm", "mi300x", "aws-p5", "aws-p4de", "l40s-pcie", "h100-roce"})
        CHECK_NOTHROW(find_cluster(name, "test"));
}

TEST_CASE("names are found without regard to case and punctuation, by alias too") {
    CHECK(find_cluster("H100_SXM", "test").name == "h100-sxm");
    CHECK(find_cluster("DGX-H100", "test").name == "h100-sxm");
    CHECK(find_accelerator("A100-SXM4-80GB", "test").name == "a100-sxm-80gb");
    CHECK(find_framework("Megatron-LM", "test").name == "megatron");
}

TEST_CASE("an unknown name is refused with the nearest one, or with the list where that is short") {
    CHECK_THROWS_WITH(find_cluster("h100-sxn", "--cluster"),
                      contains("--cluster: unknown cluster 'h100-sxn'; did you mean 'h100-sxm'?") &&
                          contains("'sextant hardware'") && !contains("gb200-nvl72"));
    CHECK_THROWS_WITH(find_cluster("abacus", "--cluster"), contains("'sextant hardware' lists") && !contains("gb200"));
    CHECK_THROWS_WITH(find_cluster("h100-sxm,a100-sxm-80gb", "--cluster"),
                      contains("is a list") && contains("--axis cluster=A,B") && !contains("known"));
    CHECK_THROWS_WITH(find_framework("megatrom", "--framework"), contains("did you mean 'megatron'"));
    CHECK_THROWS_WITH(find_cluster("no/such/file.json", "--cluster"), contains("no/such/file.json: cannot be opened"));
    CHECK_THROWS_AS(find_cluster("", "--cluster"), InputError);
}

TEST_CASE("cluster_for_device knows the spellings of measurement files") {
    CHECK(cluster_name("Cloud TPU v5p") == "tpu-v5p");
    CHECK(cluster_name("H100") == "h100-sxm");
    CHECK(cluster_name("H100-80GB") == "h100-sxm");
    CHECK(cluster_name("H100-80GB-SXM") == "h100-sxm");
    CHECK(cluster_name("NVIDIA H100 80GB HBM3") == "h100-sxm");
    CHECK(cluster_name("H100-SXM5-80GB") == "h100-sxm");
    CHECK(cluster_name("A100") == "a100-sxm-80gb");
    CHECK(cluster_name("A100-80GB") == "a100-sxm-80gb");
    CHECK(cluster_name("A100-SXM4-80GB") == "a100-sxm-80gb");
    CHECK(cluster_name("A100-80GB-SXM4") == "a100-sxm-80gb");
    CHECK(cluster_name("NVIDIA A100-SXM4-80GB") == "a100-sxm-80gb");
    CHECK(cluster_name("A100-40GB") == "a100-sxm-40gb");
    CHECK(cluster_name("A100-PCIe") == "a100-pcie");
    CHECK(cluster_name("A800-80GB") == "a800");
    CHECK(cluster_name("NVIDIA H200") == "h200-sxm");
    CHECK(cluster_name("H100-96GB-HBM2e") == "h100-96gb-roce");
    CHECK(cluster_name("NVIDIA B200") == "b200-sxm");
    CHECK(cluster_name("B300") == "b300-sxm");
    CHECK(cluster_name("GB200") == "gb200-nvl72");
    CHECK(cluster_name("GB300") == "gb300-nvl72");
    CHECK(cluster_name("GH200-96GB") == "gh200");
    CHECK(cluster_name("V100-32GB") == "dgx-1-v100");
    CHECK(cluster_name("V100-16GB") == "v100-16gb");
    CHECK(cluster_name("TPU v3") == "tpu-v3");
    CHECK(cluster_name("TPU v4") == "tpu-v4");
    CHECK(cluster_name("TPU v5e") == "tpu-v5e");
    CHECK(cluster_name("TPU v5p") == "tpu-v5p");
    CHECK(cluster_name("MI300X") == "mi300x");
    CHECK(cluster_name("MI325X") == "mi325x");
    CHECK(cluster_name("MI355X") == "mi355x");
    CHECK(cluster_name("MI250X (8 GCD/node)") == "mi250x");
    CHECK(cluster_name("NVIDIA L40S") == "l40s-pcie");
    CHECK(cluster_name("RTX 4090") == "rtx-4090-box");
    CHECK(cluster_name("Gaudi2") == "gaudi2");
}

TEST_CASE("cluster_for_device knows what programs print, in any order and with the count in front") {
    auto const [device, cluster] = GENERATE(table<char const*, char const*>(
        {{"NVIDIA A100 80GB PCIe", "a100-pcie"},
         {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
         {"NVIDIA A100 PCIe", "a100-pcie"},
         {"8 x A100 SXM 80 GB", "a100-sxm-80gb"},
         {"8xH100-SXM5-80GB-HBM3", "h100-sxm"},
         {"H100 x 16", "h100-sxm"},
         {"16 x H100", "h100-sxm"},
         {"v5p", "tpu-v5p"},
         {"v6e-8", "tpu-v6e"},
         {"v5litepod-16", "tpu-v5e"},
         {"TPU v5e-256", "tpu-v5e"},
         {"TPU v4-128", "tpu-v4"},
         {"v100", "dgx-1-v100"},
         {"HGX H100", "h100-sxm"},
         {"H100SXM5", "h100-sxm"},
         {"NVIDIA H100 PCIe", "h100-pcie"},
         {"NVIDIA H100 NVL", "h100-nvl"},
         {"NVIDIA H200 NVL", "h200-nvl"},
         {"H200 SXM 141GB", "h200-sxm"},
         {"NVIDIA Grace Hopper GH200 480GB", "gh200"},
         {"NVIDIA B200 192GB", "b200-sxm"},
         {"NVIDIA GB200", "gb200-nvl72"},
         {"Tesla V100-SXM2-32GB", "dgx-1-v100"},
         {"Tesla V100-PCIE-16GB", "v100-pcie-16gb"},
         {"Tesla T4", "t4-pcie"},
         {"NVIDIA A10G", "a10g-pcie"},
         {"NVIDIA A10", "a10-pcie"},
         {"NVIDIA A30", "a30-pcie"},
         {"NVIDIA A40-48GB", "a40-pcie"},
         {"NVIDIA L40", "l40-pcie"},
         {"NVIDIA RTX A6000", "rtx-a6000-pcie"},
         {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada-pcie"},
         {"NVIDIA GeForce RTX 3090", "rtx-3090-box"},
         {"4x RTX3090 24GB", "rtx-3090-box"},
         {"NVIDIA GeForce RTX 5090", "rtx-5090-box"},
         {"NVIDIA GeForce RTX 3090 Ti", "rtx-3090-ti-box"},
         {"NVIDIA A100-SXM-64GB", "leonardo"},
         {"NVIDIA A800 80GB PCIe", "a800-pcie"},
         {"NVIDIA H800 PCIe", "h800-pcie"},
         {"NVIDIA H20-3e", "h20-141gb"},
         {"NVIDIA H20", "h20"},
         {"NVIDIA B300 SXM6 AC", "b300-sxm"},
         {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-pcie"},
         {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-workstation-box"},
         {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx-pro-6000-max-q-box"},
         {"NVIDIA RTX 5000 Ada Generation", "rtx-5000-ada-pcie"},
         {"Tesla V100S-PCIE-32GB", "v100s-pcie"},
         {"AMD Instinct MI300X", "mi300x"},
         {"AMD Instinct MI300X VF", "mi300x"},
         {"MI300X 192GB", "mi300x"},
         {"AMD Instinct MI250X / MI250", "mi250x"},
         {"AMD MI250 GPU", "mi250"},
         {"AMD Instinct MI350X", "mi350x"},
         {"Intel(R) Data Center GPU Max 1550", "max-1550"},
         {"Intel PVC GPU", "max-1550"},
         {"RTX 4090 x 2", "rtx-4090-box"},
         {"2 x RTX 4090", "rtx-4090-box"},
         {"H100x8", "h100-sxm"},
         {"A100-80GBx4", "a100-sxm-80gb"},
         {"GB200 NVL4", "gb200-nvl4"},
         {"TPU v5", "tpu-v5p"},
         {"AMD Instinct MI325X VF", "mi325x"},
         {"NVIDIA RTX PRO 6000D Blackwell", "rtx-pro-6000d-pcie"},
         {"ND H100 v5", "h100-sxm"},
         {"a4x-highgpu-4g", "gb200-roce"},
         {"NVIDIA A100-PG509-200", "a100-sxm-80gb"},
         {"Intel Gaudi3 HL-325", "gaudi3"},
         {"Habana Gaudi2", "gaudi2"}}));
    INFO(device);
    CHECK(cluster_name(device) == cluster);
}

TEST_CASE("a cluster may be called by its device") {
    CHECK(find_cluster("NVIDIA H100 80GB HBM3", "test").name == "h100-sxm");
    CHECK(find_accelerator("NVIDIA A100-SXM4-40GB", "test").name == "a100-sxm-40gb");
}

TEST_CASE("cluster_for_device gives nothing for a device without a profile") {
    auto const device =
        GENERATE("", "A800/H800-80GB", "H200 (printed; surrounding text says B200)", "X100", "NVIDIA", "h100-80gb-pcap",
                 "A100-SXM-48GB", "H100 40GB", "8x", "GPU", "RTX 6000", "80GB", "RTX4090 48GB");
    CHECK_FALSE(cluster_for_device(device));
}

TEST_CASE("every accelerator that ships has a cluster of its own") {
    for (auto const& entry : all_accelerators()) {
        INFO(entry.name);
        CHECK(cluster_for_device(entry.name));
    }
}

TEST_CASE("a table that names the machine in place of its device means that cluster") {
    auto const [machine, cluster] = GENERATE(table<char const*, char const*>({{"p4de.24xlarge", "aws-p4de"},
                                                                              {"a3-megagpu-8g", "gcp-a3-mega"},
                                                                              {"g5.xlarge", "a10g-pcie"},
                                                                              {"Standard_ND96isr_H100_v5", "h100-sxm"},
                                                                              {"trn1.32xlarge", "trainium1"}}));
    auto const found = cluster_for_device(machine);
    REQUIRE(found);
    CHECK(found->name == cluster);
    CHECK_FALSE(cluster_for_device("p9.48xlarge"));
}

TEST_CASE("a node is a small domain, or a tray of a large one") {
    auto const of = [](char const* name) { return usual_gpus_per_node(find_cluster(name, "test")); };
    CHECK(of("h100-sxm") == 8);
    CHECK(of("perlmutter") == 4);
    CHECK(of("dgx-2-v100") == 16);
    CHECK(of("gb200-nvl72") == 4);
    CHECK(of("tpu-v5p") == 4);
}
