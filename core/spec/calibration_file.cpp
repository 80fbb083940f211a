#include "core/spec/calibration_file.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/json/object_reader.hpp"
#include "core/nearest.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/network_calibration.hpp"

#include <fmt/format.h>

#include <vector>

namespace sextant {
namespace {

std::string machines_of(NetworkCalibration const& own) {
    NetworkScope const& scope = own.scale_up ? own.scale_up->scope : own.scale_out->scope;
    if (!scope.is_class()) return join(scope.clusters);
    return fmt::format("the class of kind '{}' and generation '{}'", scope.kind, scope.generation);
}

/// Whether one of the cluster's two networks goes by these constants.
bool is_taken(ClusterSpec const& cluster, NetworkCalibration const& own) {
    auto const& model = cluster.network_model;
    return model && (model->up_part.calibration == own.name || (model->out && model->out_part.calibration == own.name));
}

void attach_networks(ClusterSpec& cluster, std::vector<NetworkCalibration> own, std::string_view where) {
    if (own.empty()) return;
    if (cluster.scale_up.kind == ScaleUpKind::torus)
        throw InputError("{}: fitted constants of collectives are for switches, meshes and PCIe ({} is a torus)", where,
                         cluster.name);
    std::size_t const files = own.size();
    auto const shipped = network_calibrations_for_own(cluster);
    own.insert(own.end(), shipped.begin(), shipped.end());
    apply_network_calibrations(cluster, own);
    for (std::size_t i = 0; i < files; ++i)
        if (!is_taken(cluster, own[i]))
            throw InputError(
                "{}: {} is of {}, not of {} (fit it with --cluster {}, or name it in the file's "
                "\"clusters\")",
                where, own[i].name, machines_of(own[i]), cluster.name, cluster.name);
}

void attach_kernels(AcceleratorProfile& accelerator, KernelCalibration own, std::string_view where) {
    bool const fits = own.is_class() ? own.generation == "*" || own.generation == accelerator.generation
                                     : is_one_of(own.devices, accelerator.name);
    if (!fits)
        throw InputError("{}: is of {}, not of {} (fit it with --device {}, or name it in the file's \"devices\")",
                         where, own.is_class() ? own.generation + " devices" : join(own.devices), accelerator.name,
                         accelerator.name);
    accelerator.kernels = std::make_shared<KernelCalibration const>(std::move(own));
}

}  // namespace

void attach_calibrations(ClusterSpec& cluster, std::vector<std::string> const& files, std::string_view where) {
    std::vector<NetworkCalibration> networks;
    std::string kernels;
    for (std::string const& file : files) {
        JsonDocument const document = JsonDocument::from_file(file);
        std::string const format = ObjectReader(document).text("format", "");
        if (format == "network-calibration") {
            networks.push_back(read_network_calibration(ObjectReader(document)));
        } else if (format == "kernel-calibration") {
            if (!kernels.empty())
                throw InputError("{}: {} and {} are both of kernels (one goes; fit the rows of both together)", where,
                                 kernels, file);
            kernels = file;
            attach_kernels(cluster.accelerator, read_kernel_calibration(ObjectReader(document)),
                           fmt::format("{}: {}", where, file));
        } else {
            throw InputError(
                "{}: {}: format is '{}' (network-calibration or kernel-calibration, as 'sextant calibrate "
                "fit' writes them; constants of a framework are for --framework, of an engine for "
                "--engine)",
                where, file, format.substr(0, 40));
        }
    }
    attach_networks(cluster, std::move(networks), where);
}

}  // namespace sextant
