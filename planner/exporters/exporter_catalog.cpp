#include "planner/exporters/exporter.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <array>

namespace sextant {

extern constinit ExporterEntry const megatron_exporter;
extern constinit ExporterEntry const deepspeed_exporter;
extern constinit ExporterEntry const torchtitan_exporter;
extern constinit ExporterEntry const torchtitan_module_exporter;
extern constinit ExporterEntry const fsdp2_exporter;
extern constinit ExporterEntry const nemo_exporter;
extern constinit ExporterEntry const maxtext_exporter;

namespace {

constexpr std::array catalog{&megatron_exporter, &deepspeed_exporter, &torchtitan_exporter, &torchtitan_module_exporter,
                             &fsdp2_exporter,    &nemo_exporter,      &maxtext_exporter};

}  // namespace

std::span<ExporterEntry const* const> exporter_catalog() { return catalog; }

ExporterEntry const& find_exporter(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (ExporterEntry const* entry : catalog) {
        if (name == entry->name) return *entry;
        known.emplace_back(entry->name);
    }
    throw InputError("{}: unknown format '{}'{} (known: {})", where, name, did_you_mean(name, known), join(known));
}

}  // namespace sextant
