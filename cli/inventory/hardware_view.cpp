#include "cli/inventory/hardware_view.hpp"

#include "core/nearest.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/profile_values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant::cli {
namespace {

std::string peak_text(AcceleratorProfile const& accelerator, Precision precision) {
    auto const found = accelerator.peak.find(precision);
    return found != accelerator.peak.end() ? human(found->second.value) : "-";
}

/// bf16, or fp16 for devices from before it.
std::string half_peak_text(AcceleratorProfile const& accelerator) {
    return accelerator.peak.contains(Precision::bf16) ? peak_text(accelerator, Precision::bf16)
                                                      : peak_text(accelerator, Precision::fp16);
}

std::string price_text(AcceleratorProfile const& accelerator) {
    return accelerator.price_usd_per_hour ? fmt::format("{:.2f}", accelerator.price_usd_per_hour->value) : "-";
}

Table accelerator_table() {
    Table table({{"name"},
                 {"title"},
                 {"16-bit peak", Align::right},
                 {"fp8 peak", Align::right},
                 {"memory", Align::right},
                 {"bandwidth", Align::right},
                 {"USD/h", Align::right}});
    for (auto const& entry : all_accelerators())
        table.add_row({entry.name, entry.title, half_peak_text(entry), peak_text(entry, Precision::fp8),
                       human(entry.memory_capacity.value), human(entry.memory_bandwidth.value), price_text(entry)});
    return table;
}

Table cluster_table() {
    Table table(
        {{"name"}, {"domain", Align::right}, {"scale-up", Align::right}, {"scale-out", Align::right}, {"title"}});
    for (auto const& entry : all_clusters())
        table.add_row({entry.name, fmt::format("{}", entry.domain_size), human(entry.scale_up.bandwidth.value),
                       entry.scale_out ? human(entry.scale_out->bandwidth.value) : "-", entry.title});
    return table;
}

Table framework_table() {
    Table table({{"name"}, {"also"}, {"title"}});
    for (auto const& entry : all_frameworks())
        table.add_row({entry.name, join(entry.aliases), entry.title});
    return table;
}

std::string base_text(double value) { return fmt::format("{}", value); }

/// One table for programs: SI base units.
Table combined_table() {
    Table table({{"kind"},
                 {"name"},
                 {"title"},
                 {"accelerator"},
                 {"domain_size"},
                 {"peak_16bit_flops_per_s"},
                 {"memory_bytes"},
                 {"memory_bytes_per_s"},
                 {"scale_up_bytes_per_s"},
                 {"scale_out_bytes_per_s"},
                 {"usd_per_hour"}});
    auto const add = [&](std::string kind, std::string name, std::string title, AcceleratorProfile const& a,
                         std::string domain, std::string up, std::string out) {
        auto const precision = a.peak.contains(Precision::bf16) ? Precision::bf16 : Precision::fp16;
        table.add_row({std::move(kind), std::move(name), std::move(title), a.name, std::move(domain),
                       base_text(a.peak_of(precision).value.base()), base_text(a.memory_capacity.value.base()),
                       base_text(a.memory_bandwidth.value.base()), std::move(up), std::move(out),
                       a.price_usd_per_hour ? base_text(a.price_usd_per_hour->value) : ""});
    };
    for (auto const& entry : all_accelerators())
        add("accelerator", entry.name, entry.title, entry, "", "", "");
    for (auto const& entry : all_clusters())
        add("cluster", entry.name, entry.title, entry.accelerator, fmt::format("{}", entry.domain_size),
            base_text(entry.scale_up.bandwidth.value.base()),
            entry.scale_out ? base_text(entry.scale_out->bandwidth.value.base()) : "");
    for (auto const& entry : all_frameworks())
        table.add_row({"framework", entry.name, entry.title});
    return table;
}

Table value_table(std::vector<ProfileValue> const& values) {
    Table table({{"value"}, {"is", Align::right}, {"basis"}, {"source"}});
    for (auto const& value : values)
        table.add_row({value.key, value.text, std::string(name_of(value.basis)), value.source});
    return table;
}

std::vector<std::string> alias_lines(std::vector<std::string> const& aliases) {
    return aliases.empty() ? std::vector<std::string>{} : std::vector{"also called: " + join(aliases)};
}

struct Section {
    std::string heading;
    std::vector<std::string> lines;
    std::vector<ProfileValue> values;
};

Section section_of(AcceleratorProfile const& accelerator) {
    std::string const year = accelerator.year != 0 ? fmt::format(", {}", accelerator.year) : "";
    return {fmt::format("Accelerator {}: {} ({}{})", accelerator.name, accelerator.title, accelerator.generation, year),
            alias_lines(accelerator.aliases), values_of(accelerator)};
}

Section section_of(ClusterSpec const& cluster) {
    std::string network = fmt::format("scale-up: {}", name_of(cluster.scale_up.kind));
    if (!cluster.scale_up.torus.empty()) network += fmt::format(" {}", fmt::join(cluster.scale_up.torus, " x "));
    if (!cluster.scale_up.peer_access) network += " without peer access";
    network += fmt::format(", {} accelerators per domain; scale-out: {}", cluster.domain_size,
                           cluster.scale_out
                               ? fmt::format("{} ({})", cluster.scale_out->kind, name_of(cluster.scale_out->topology))
                               : "none");
    auto lines = alias_lines(cluster.aliases);
    lines.push_back(std::move(network));
    return {fmt::format("Cluster {}: {}", cluster.name, cluster.title), std::move(lines), values_of(cluster)};
}

/// Of an entry for a generation or a precision what differs from the one for everything.
template <class Entry>
std::vector<ProfileValue> values_beside(std::vector<ProfileValue> const& of_any, Entry const& entry) {
    auto const key = [](ProfileValue const& value) { return value.key.substr(value.key.rfind('.')); };
    std::vector<ProfileValue> out = values_of(entry);
    std::erase_if(out, [&](ProfileValue const& value) {
        return std::any_of(of_any.begin(), of_any.end(), [&](ProfileValue const& any) {
            return key(any) == key(value) && any.base == value.base && any.basis == value.basis &&
                   any.source == value.source;
        });
    });
    return out;
}

/// "measured steps behind the entries: hopper 83, hopper in fp8 120", or nothing.
std::vector<std::string> measured_steps(FrameworkProfile const& framework) {
    std::string text;
    for (FrameworkTiming const& timing : framework.timing)
        if (timing.steps.value_or(0) > 0)
            text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", timing.generation,
                                timing.precision == "*" ? "" : " in " + timing.precision, *timing.steps);
    if (text.empty()) return {};
    return {"measured steps behind the entries: " + text};
}

Section section_of(FrameworkProfile const& framework) {
    Section section{
        fmt::format("Framework {}: {}", framework.name, framework.title), alias_lines(framework.aliases), {}};
    section.lines.push_back(
        fmt::format("where a plan leaves it open: ZeRO {}, layers over stages {}, cp mode {}; pipelines {}, sends {}",
                    framework.usual.zero, name_of(framework.usual.layers), name_of(framework.usual.cp_mode),
                    name_of(framework.usual.pipelines), name_of(framework.usual.sends)));
    if (auto const& releases = framework.releases)
        section.lines.push_back(
            fmt::format("constants of release {} ({})", name_of(releases->at), other_releases(framework)));
    for (auto& line : measured_steps(framework))
        section.lines.push_back(std::move(line));
    section.lines.emplace_back("of an entry for a generation or a precision, what differs from that for any (*/*):");
    auto const of_any = values_of(framework.timing.front());
    section.values = of_any;
    for (auto timing = framework.timing.begin() + 1; timing != framework.timing.end(); ++timing)
        for (auto& value : values_beside(of_any, *timing))
            section.values.push_back(std::move(value));
    auto const of_memory = values_of(framework.memory);
    section.values.insert(section.values.end(), of_memory.begin(), of_memory.end());
    for (GenerationMemory const& own : framework.memory_on)
        for (auto& value : values_beside(of_memory, own))
            section.values.push_back(std::move(value));
    return section;
}

std::vector<Section> sections_of(HardwareSelection const& selection) {
    std::vector<Section> sections;
    if (selection.cluster) {
        sections.push_back(section_of(*selection.cluster));
        sections.push_back(section_of(selection.cluster->accelerator));
    }
    if (selection.accelerator) sections.push_back(section_of(*selection.accelerator));
    if (selection.framework) sections.push_back(section_of(*selection.framework));
    return sections;
}

}  // namespace

std::string hardware_list(Format format) {
    if (format == Format::json) return hardware_list_json();
    if (format == Format::csv) return combined_table().csv();
    std::string const mark = format == Format::markdown ? "## " : "";
    std::string const gap = format == Format::markdown ? "\n" : "";
    return mark + "Accelerators\n" + gap + render(accelerator_table(), format) + "\n" + mark + "Clusters\n" + gap +
           render(cluster_table(), format) + "\n" + mark + "Frameworks\n" + gap + render(framework_table(), format);
}

std::string hardware_details(HardwareSelection const& selection, Format format) {
    if (format == Format::json) return hardware_details_json(selection);
    auto const sections = sections_of(selection);
    if (format == Format::csv) {
        Table table({{"of"}, {"key"}, {"value"}, {"unit"}, {"basis"}, {"source"}});
        for (auto const& section : sections)
            for (auto const& value : section.values)
                table.add_row({section.heading.substr(0, section.heading.find(':')), value.key, base_text(value.base),
                               value.unit, std::string(name_of(value.basis)), value.source});
        return table.csv();
    }
    std::string out;
    for (auto const& section : sections) {
        if (!out.empty()) out += "\n";
        out += (format == Format::markdown ? "## " : "") + section.heading + "\n";
        if (format == Format::markdown) out += "\n";
        for (auto const& line : section.lines)
            out += line + "\n";
        out += "\n" + render(value_table(section.values), format);
    }
    return out;
}

}  // namespace sextant::cli
