#include "cli/serve/misfit.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

std::string misfit_json(MisfitCommand command, ServingMisfit const& m) {
    using Json = nlohmann::ordered_json;
    bool const estimate = command == MisfitCommand::estimate;
    Json memory{{"needed_bytes", m.needed().base()},
                {"usable_bytes", m.memory.usable.base()},
                {"capacity_bytes", m.memory.capacity.base()},
                {"weights_bytes", m.memory.weights.base()},
                {"activations_bytes", m.memory.activations.base()},
                {"overhead_bytes", m.memory.overhead.base()}};
    if (m.adapters > Bytes{}) memory["adapters_bytes"] = m.adapters.base();
    memory["request_cache_bytes"] = m.cache.base();
    memory["cache_bytes_per_token"] = m.memory.cache_per_token.base();
    Json out{{"format", estimate ? "serving-estimate" : "serving-simulation"},
             {"version", 1},
             {"model", m.what.model.name},
             {"cluster", m.what.cluster.name},
             {"engine", m.what.engine.name},
             {"gpus", m.what.plan.accelerators()},
             {"fits", false},
             {"reason", m.sentence()},
             {"memory", memory}};
    if (estimate) out["rows"] = Json::array();
    out["notes"] = m.what.format_notes;
    return json_text(out, 2) + "\n";
}

}  // namespace sextant::cli
