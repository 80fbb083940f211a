#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/serving_plan.hpp"
#include "planner/exporters/exporter.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace sextant {

/// One replica to be served.
struct ServeLaunch {
    ModelSpec model;
    ClusterSpec cluster;
    ServingPlan plan;
    std::string model_path = "REPLACE_WITH_MODEL_PATH";
    std::int64_t replicas = 1;
    std::int64_t per_node = 8;
    double cache_length = 0;  ///< tokens of the longest request that the cache of a replica holds; infinite: any
    std::int64_t request_length = 0;  ///< tokens of the requests that the plan is for, 0: not known
};

/// What an engine is started with.
struct ServeExport {
    std::vector<ExportedFile> files;
    std::vector<NotExpressed> not_expressed{};
};

struct ServeExporterEntry {
    char const* name;     ///< of `--engine`
    char const* written;  ///< the version of the engine whose words these are
    ServeExport (*write)(ServeLaunch const& launch);
};

std::span<ServeExporterEntry const> serve_exporter_catalog();
/// @throws InputError with the known names and the nearest one.
ServeExporterEntry const& find_serve_exporter(std::string_view name, std::string_view where);

}  // namespace sextant
