#include "planner/exporters/serve_command.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/spec/engine_catalog.hpp"

#include <array>

namespace sextant {

extern constinit ServeExporterEntry const vllm_serve_exporter;
extern constinit ServeExporterEntry const sglang_serve_exporter;
extern constinit ServeExporterEntry const tensorrt_llm_serve_exporter;

namespace {

constexpr std::array catalog{&vllm_serve_exporter, &sglang_serve_exporter, &tensorrt_llm_serve_exporter};

}  // namespace

std::span<ServeExporterEntry const* const> serve_exporter_catalog() { return catalog; }

ServeExporterEntry const& find_serve_exporter(std::string_view name, std::string_view where) {
    EngineProfile const* const engine = known_engine(name);  // by its other names as well
    std::vector<std::string> known;
    for (ServeExporterEntry const* entry : catalog) {
        if (name == entry->name || (engine != nullptr && engine->name == entry->name)) return *entry;
        known.emplace_back(entry->name);
    }
    throw InputError("{}: unknown engine '{}'{} (known: {})", where, name, did_you_mean(name, known), join(known));
}

}  // namespace sextant
