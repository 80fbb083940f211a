#include "cli/command.hpp"
#include "cli/inventory/hardware_view.hpp"
#include "core/json/object_reader.hpp"
#include "core/nearest.hpp"
#include "core/spec/doubtful_values.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hardware_json.hpp"
#include "core/spec/profile_change.hpp"

#include <CLI/App.hpp>

#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    OutputOptions output;
    std::string name;
};

HardwareSelection read_selection(std::string const& path) {
    auto const document = JsonDocument::from_file(path);
    auto const format = ObjectReader(document).text("format");
    if (format == "cluster") return {.cluster = find_cluster(path, "hardware show")};  // with its network model
    if (format == "accelerator") return {.accelerator = read_accelerator(ObjectReader(document))};
    if (format == "framework") return {.framework = read_framework(ObjectReader(document))};
    throw InputError("{}: format is '{}' (cluster, accelerator or framework is expected)", path, format.substr(0, 60));
}

template <class Entry>
void add_names(std::vector<std::string>& names, std::vector<Entry> const& entries) {
    for (auto const& entry : entries) {
        names.push_back(entry.name);
        names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
    }
}

HardwareSelection select(std::string const& name) {
    constexpr std::string_view where = "hardware show";
    if (ChangedName const wanted = split_changes(name, where); !wanted.changes.empty()) {
        HardwareSelection const plain = select(wanted.name);
        if (plain.accelerator)
            throw InputError("{}: {}: changes are of a cluster or a framework (name a cluster of it)", where, name);
        if (plain.framework) return {.framework = find_framework(name, where)};
        return {.cluster = find_cluster(name, where)};
    }
    if (name.ends_with(".json")) return read_selection(name);
    if (auto const* cluster = known_cluster(name)) return {.cluster = *cluster};
    if (auto const* accelerator = known_accelerator(name)) return {.accelerator = *accelerator};
    if (auto const* framework = known_framework(name)) return {.framework = *framework};
    std::vector<std::string> names;
    add_names(names, all_clusters());
    add_names(names, all_accelerators());
    add_names(names, all_frameworks());
    throw InputError("hardware show: unknown name '{}'{} ('sextant hardware' lists what there is)", name.substr(0, 60),
                     did_you_mean(name, names));
}

/// What to check of a file of one's own.
std::vector<std::string> notes_on(HardwareSelection const& selection) {
    if (selection.cluster) return notes_on_profile(*selection.cluster);
    if (selection.accelerator) return doubtful_values(*selection.accelerator);
    return {};
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const options = std::make_shared<Options>();
    add_output_options(app, options->output);
    auto* const show =
        app.add_subcommand("show", "every value of one cluster, accelerator or framework, with basis and source");
    show->add_option("name", options->name, "a name from the list, another spelling of it, or a .json file")
        ->required()
        ->type_name("NAME|FILE");
    show->fallthrough();
    app.footer(
        "Examples:\n"
        "  sextant hardware\n"
        "  sextant hardware show h100-sxm\n"
        "  sextant hardware show megatron --format json\n"
        "  sextant hardware show my_cluster.json        # check a file of your own\n");
    show->footer("Examples:\n  sextant hardware show gb200-nvl72\n  sextant hardware show 'NVIDIA A100-SXM4-80GB'\n");
    return [options, show, &context] {
        auto const format = options->output.format();
        if (!show->parsed()) {
            deliver(options->output, context, hardware_list(format));
            return exit_code::done;
        }
        HardwareSelection const selection = select(options->name);
        deliver(options->output, context, hardware_details(selection, format));
        for (std::string const& note : notes_on(selection))
            context.err << "sextant: hardware show: " << note << "\n";
        return exit_code::done;
    };
}

}  // namespace

extern constinit CommandEntry const hardware_command;
constinit CommandEntry const hardware_command{
    .name = "hardware",
    .summary = "list accelerators, clusters and frameworks, and show every value with its source",
    .describe = describe,
};

}  // namespace sextant::cli
