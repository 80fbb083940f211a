#include "cli/inventory/hardware_view.hpp"
#include "core/json/json_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/profile_values.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json values_json(std::vector<ProfileValue> const& values) {
    Json list = Json::array();
    for (auto const& value : values)
        list.push_back({{"key", value.key},
                        {"value", value.base},
                        {"unit", value.unit},
                        {"basis", name_of(value.basis)},
                        {"source", value.source}});
    return list;
}

Json accelerator_json(AcceleratorProfile const& accelerator) {
    return {{"name", accelerator.name},
            {"title", accelerator.title},
            {"aliases", accelerator.aliases},
            {"vendor", accelerator.vendor},
            {"generation", accelerator.generation},
            {"year", accelerator.year},
            {"values", values_json(values_of(accelerator))}};
}

Json cluster_json(ClusterSpec const& cluster) {
    Json out{{"name", cluster.name},
             {"title", cluster.title},
             {"aliases", cluster.aliases},
             {"accelerator", cluster.accelerator.name},
             {"domain_size", cluster.domain_size},
             {"max_accelerators", cluster.max_accelerators},
             {"scale_up_kind", name_of(cluster.scale_up.kind)}};
    if (!cluster.scale_up.torus.empty()) out["torus"] = cluster.scale_up.torus;
    out["scale_out_kind"] = cluster.scale_out ? Json(cluster.scale_out->kind) : Json(nullptr);
    out["scale_out_topology"] = cluster.scale_out ? Json(name_of(cluster.scale_out->topology)) : Json(nullptr);
    out["values"] = values_json(values_of(cluster));
    return out;
}

Json framework_json(FrameworkProfile const& framework) {
    Json timing = Json::array();
    for (auto const& entry : framework.timing)
        timing.push_back({{"generation", entry.generation},
                          {"precision", entry.precision},
                          {"steps", entry.steps ? Json(*entry.steps) : Json(nullptr)},
                          {"values", values_json(values_of(entry))}});
    Json out = {{"name", framework.name},
                {"title", framework.title},
                {"aliases", framework.aliases},
                {"usual",
                 {{"layers", name_of(framework.usual.layers)},
                  {"zero", framework.usual.zero},
                  {"cp_mode", name_of(framework.usual.cp_mode)},
                  {"pipelines", name_of(framework.usual.pipelines)},
                  {"sends", name_of(framework.usual.sends)}}},
                {"timing", timing},
                {"memory", values_json(values_of(framework.memory))}};
    for (GenerationMemory const& own : framework.memory_on)
        out["memory_on"].push_back({{"generation", own.generation}, {"values", values_json(values_of(own))}});
    if (auto const& releases = framework.releases)
        out["releases"] = {
            {"first", name_of(releases->first)}, {"last", name_of(releases->last)}, {"at", name_of(releases->at)}};
    return out;
}

Json document() { return {{"format", "hardware"}, {"version", 1}}; }

}  // namespace

std::string hardware_list_json() {
    Json out = document();
    out["accelerators"] = Json::array();
    for (auto const& entry : all_accelerators())
        out["accelerators"].push_back(accelerator_json(entry));
    out["clusters"] = Json::array();
    for (auto const& entry : all_clusters())
        out["clusters"].push_back(cluster_json(entry));
    out["frameworks"] = Json::array();
    for (auto const& entry : all_frameworks())
        out["frameworks"].push_back(framework_json(entry));
    return json_text(out, 2) + "\n";
}

std::string hardware_details_json(HardwareSelection const& selection) {
    Json out = document();
    if (selection.cluster) {
        out["cluster"] = cluster_json(*selection.cluster);
        out["accelerator"] = accelerator_json(selection.cluster->accelerator);
    }
    if (selection.accelerator) out["accelerator"] = accelerator_json(*selection.accelerator);
    if (selection.framework) out["framework"] = framework_json(*selection.framework);
    return json_text(out, 2) + "\n";
}

}  // namespace sextant::cli
