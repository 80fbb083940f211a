#include "planner/exporters/fabric.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

bool has_nccl(std::string const& vendor) { return vendor == "NVIDIA" || vendor == "AMD"; }

void inside_domain(ClusterSpec const& cluster, FabricEnvironment& out) {
    if (cluster.scale_up.in_network_reduction_efficiency)
        out.settings.push_back(
            {"NCCL_NVLS_ENABLE", "1", "all-reduce in the switch (NVLS), which the prediction counts on"});
}

void between_domains(ScaleOutNetwork const& net, FabricEnvironment& out) {
    auto const set = [&](char const* name, char const* value, char const* reason) {
        out.settings.push_back({name, value, reason});
    };
    auto const remark = [&](std::string text) { out.remarks.push_back(std::move(text)); };
    if (net.kind == "infiniband" || net.kind == "roce") {
        set("NCCL_IB_DISABLE", "0", "verbs, not sockets");
        remark("NCCL_IB_HCA: the NICs of your nodes, if not all of them (such as mlx5_0,mlx5_1)");
    }
    if (net.kind == "infiniband" && net.in_network_reduction_efficiency)
        set("NCCL_COLLNET_ENABLE", "1", "all-reduce in the switches (SHARP), which the prediction counts on");
    if (net.kind == "roce")
        remark("NCCL_IB_GID_INDEX and NCCL_IB_TC: RoCE v2's GID and the lossless traffic class of your switches");
    if (net.kind == "efa") {
        set("FI_PROVIDER", "efa", "libfabric's provider; NCCL needs the aws-ofi-nccl plugin");
        set("FI_EFA_USE_DEVICE_RDMA", "1", "from and to device memory");
    }
    if (net.kind == "slingshot") {
        set("FI_PROVIDER", "cxi", "libfabric's provider; NCCL needs the OFI plugin");
        set("NCCL_NET", "AWS Libfabric", "the name the plugin registers");
        set("NCCL_CROSS_NIC", "1", "");
        set("FI_MR_CACHE_MONITOR", "userfaultfd", "");
    }
    if (net.kind == "omni-path")
        remark("FI_PROVIDER: opx or psm2, as your libfabric has it; NCCL needs the OFI plugin");
    if (net.kind == "ethernet") {
        bool const tcpx = net.bandwidth.source.find("TCPX") != std::string::npos;
        if (tcpx)
            remark("GPUDirect-TCPX(O): load the environment that the provider's plugin brings (nccl-env-profile.sh)");
        else
            set("NCCL_IB_DISABLE", "1", "plain sockets: the description names no RDMA");
    }
    if (net.topology == ScaleOutTopology::rail_optimised && (net.kind == "infiniband" || net.kind == "roce"))
        set("NCCL_CROSS_NIC", "0", "rings and trees stay on their rail");
    remark("NCCL_SOCKET_IFNAME: the interface for rendezvous, if there are several");
}

}  // namespace

FabricEnvironment fabric_environment(ClusterSpec const& cluster, std::int64_t nodes) {
    FabricEnvironment out;
    std::string const& vendor = cluster.accelerator.vendor;
    if (!has_nccl(vendor)) {
        out.remarks.push_back(fmt::format("{} has collectives of its own: no NCCL, nothing is set", vendor));
        return out;
    }
    inside_domain(cluster, out);
    if (nodes == 1 || !cluster.scale_out) return out;
    ScaleOutNetwork const& net = *cluster.scale_out;
    out.remarks.push_back(fmt::format("between nodes: {}, {}", net.kind, net.bandwidth.source));
    between_domains(net, out);
    return out;
}

std::string accelerator_resource(ClusterSpec const& cluster) {
    std::string const& vendor = cluster.accelerator.vendor;
    if (vendor == "NVIDIA") return "nvidia.com/gpu";
    if (vendor == "AMD") return "amd.com/gpu";
    if (vendor == "Google") return "google.com/tpu";
    if (vendor == "Intel") return "habana.ai/gaudi";
    if (vendor == "AWS") return "aws.amazon.com/neuron";
    return "";
}

}  // namespace sextant
