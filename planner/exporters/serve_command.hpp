#pragma once

#include "core/spec/checkpoint_format.hpp"
#include "core/spec/cluster_spec.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/serving_plan.hpp"
#include "cost_models/serving/serving_memory.hpp"
#include "planner/exporters/exporter.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sextant {

/// What a replica does of requests. Prompts that have replicas of their own are handed over to those that decode.
enum class ServeRole : std::uint8_t { whole, prefill, decode };

/// One replica to be served.
struct ServeLaunch {
    ModelSpec model;
    ClusterSpec cluster;
    ServingPlan plan;
    std::string model_path = "REPLACE_WITH_MODEL_PATH";
    std::int64_t replicas = 1;
    ServeRole role = ServeRole::whole;
    ServingPlan peer{};  ///< of the replicas that caches go to, or come from; of a whole one nobody's
    std::int64_t per_node = 8;
    ServingMemory memory{};           ///< of the replica, as predicted
    std::int64_t request_length = 0;  ///< tokens of the requests that the plan is for, 0: not known
    std::int64_t own_context = 0;     ///< longest request by the model's config, which is not `model`'s where chosen
    Dispatcher exchange = Dispatcher::all_to_all;  ///< of routed tokens (`dispatcher_of`)
    CheckpointFormat checkpoint{};                 ///< of the model, as its config says
    std::string run_weights{};          ///< what the engine multiplies the checkpoint's weights in (`run_format`)
    std::vector<NotExpressed> notes{};  ///< what is known before any engine has its words
};

/// What an engine is started with.
struct ServeExport {
    std::vector<ExportedFile> files;
    std::vector<NotExpressed> not_expressed{};
};

/// One engine. Each file serve_<engine>.cpp defines one, and `serve_command.cpp` lists it.
struct ServeExporterEntry {
    char const* name;     ///< of `--engine`
    char const* written;  ///< the version of the engine whose words these are
    ServeExport (*write)(ServeLaunch const& launch);
};

std::span<ServeExporterEntry const* const> serve_exporter_catalog();
/// @throws InputError with the known names and the nearest one.
ServeExporterEntry const& find_serve_exporter(std::string_view name, std::string_view where);

/// Nodes that a replica spans.
std::int64_t nodes_of(ServeLaunch const& launch);

/// Of a replica that does not fit: what it needs, what there is, and what would help, a clause.
std::string misfit_words(ServingMemory const& memory);

}  // namespace sextant
