#include "core/spec/hardware_catalog.hpp"

#include "core/embedded_text.hpp"
#include "core/is_one_of.hpp"
#include "core/nearest.hpp"
#include "core/spec/device_name.hpp"
#include "core/spec/hardware_json.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "core/spec/profile_change.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>

namespace sextant {
namespace {

template <class Entry>
bool is_called(Entry const& entry, std::string const& wanted) {
    auto const same = [&](std::string const& name) { return letters_and_digits(name) == wanted; };
    return same(entry.name) || std::any_of(entry.aliases.begin(), entry.aliases.end(), same);
}

template <class Entry>
std::vector<Entry> read_all(std::span<EmbeddedText const> texts, std::string_view folder, Entry (*read)(ObjectReader)) {
    std::vector<Entry> out;
    for (auto const& entry : texts) {
        out.push_back(read(ObjectReader(JsonDocument::from_embedded(entry, folder))));
    }
    return out;
}

/// Entries by their file, each read when it is first asked for and then kept: looking up one profile need not read all
/// of them, and looking it up ten thousand times need not read it again.
template <class Entry>
class ReadOnce {
public:
    ReadOnce(std::span<EmbeddedText const> texts, std::string_view folder, Entry (*read)(ObjectReader))
        : texts_(texts), folder_(folder), read_(read) {}

    /// The one entry whose file has this very name, or nothing.
    std::optional<Entry> find(std::string_view name) {
        std::string const wanted = letters_and_digits(name);
        for (EmbeddedText const& file : texts_)
            if (letters_and_digits(file.name) == wanted) return entry_of(file);
        return std::nullopt;
    }

    /// The entries whose files are wanted for their text, in order.
    template <class Condition>
    std::vector<Entry> where(Condition const& is_wanted) {
        std::vector<Entry> out;
        for (EmbeddedText const& file : texts_)
            if (is_wanted(file.text)) out.push_back(entry_of(file));
        return out;
    }

private:
    Entry entry_of(EmbeddedText const& file) {
        std::lock_guard const lock(guard_);
        auto found = kept_.find(file.name);
        if (found == kept_.end()) {
            found = kept_.emplace(file.name, read_(ObjectReader(JsonDocument::from_embedded(file, folder_)))).first;
        }
        return found->second;
    }

    std::span<EmbeddedText const> texts_;
    std::string_view folder_;
    Entry (*read_)(ObjectReader);
    std::mutex guard_;
    std::map<std::string_view, Entry> kept_;
};

/// A name without the word that Azure puts before all its instances ("Standard_ND96isr_H100_v5").
std::string letters_of_name(std::string_view name) {
    constexpr std::string_view azure = "standard";
    std::string letters = letters_and_digits(name);
    if (letters.starts_with(azure)) letters.erase(0, azure.size());
    return letters;
}

template <class Entry>
Entry const* entry_called(std::vector<Entry> const& entries, std::string_view name) {
    auto const wanted = letters_of_name(name);
    for (auto const& entry : entries)  // a name goes before any alias
        if (letters_and_digits(entry.name) == wanted) return &entry;
    if (wanted.empty()) return nullptr;
    for (auto const& entry : entries)
        if (is_called(entry, wanted)) return &entry;
    if constexpr (std::is_same_v<Entry, AcceleratorProfile>) {
        DeviceName const device = device_name(name);
        for (auto const& matches : {is_named, may_be_named})
            for (auto const& entry : entries)
                if (matches(entry, device)) return &entry;
    }
    return nullptr;
}

template <class Entry>
Entry const& find_called(std::vector<Entry> const& entries, std::string_view name, std::string_view where,
                         std::string_view what) {
    if (auto const* entry = entry_called(entries, name)) return *entry;
    std::vector<std::string> names;
    std::vector<std::string> spellings;
    for (auto const& entry : entries) {
        names.push_back(entry.name);
        spellings.push_back(entry.name);
        spellings.insert(spellings.end(), entry.aliases.begin(), entry.aliases.end());
    }
    constexpr std::size_t short_list = 20;
    if (name.find(',') != std::string_view::npos)
        throw InputError("{}: '{}' is a list (one {} here; 'sextant sweep COMMAND ... --axis {}=A,B' asks about each)",
                         where, name.substr(0, 60), what, what);
    if (name.find('/') != std::string_view::npos)
        throw InputError("{}: '{}' is no file of a {} (it ends in .json; or a name, see 'sextant hardware')", where,
                         name.substr(0, 200), what);
    if (auto const colon = name.rfind(':'); colon != std::string_view::npos && colon + 1 < name.size() &&
                                            name.find_first_not_of("0123456789", colon + 1) == std::string_view::npos)
        throw InputError("{}: '{}' has a number behind it (how many there are is said by --gpus {})", where,
                         name.substr(0, 60), name.substr(colon + 1, 20));
    std::string const meant = did_you_mean(name, spellings);
    if (names.size() > short_list)
        throw InputError("{}: unknown {} '{}'{} ('sextant hardware' lists all {})", where, what, name.substr(0, 60),
                         meant, names.size());
    throw InputError("{}: unknown {} '{}'{} (known: {})", where, what, name.substr(0, 60), meant, join(names));
}

constexpr std::string_view accelerator_folder = "hardware_profiles/accelerators";
constexpr std::string_view cluster_folder = "hardware_profiles/clusters";
constexpr std::string_view framework_folder = "hardware_profiles/frameworks";
constexpr std::string_view network_folder = "hardware_profiles/calibrations/networks";

ClusterSpec with_network_model(ClusterSpec cluster) {
    apply_network_calibrations(cluster, network_calibrations_for(cluster));
    return cluster;
}

/// In which of its networks a cluster is not the shipped one of its name.
struct OtherNetworks {
    bool up = false;
    bool out = false;
    std::string here{};  ///< both in words
    std::string there{};
};

OtherNetworks networks_unlike_shipped(ClusterSpec const& own) {
    static ReadOnce<ClusterSpec> shipped(embedded_clusters(), cluster_folder, read_cluster);
    auto const known = shipped.find(own.name);
    if (!known) return {};
    OtherNetworks out;
    out.up = own.scale_up.kind != known->scale_up.kind || own.accelerator.generation != known->accelerator.generation;
    out.out = own.scale_out && known->scale_out && own.scale_out->kind != known->scale_out->kind;
    auto const words = [&](ClusterSpec const& cluster) {
        std::vector<std::string> parts;
        if (out.up)
            parts.push_back(
                fmt::format("{} links of {}", name_of(cluster.scale_up.kind), cluster.accelerator.generation));
        if (out.out) parts.push_back(cluster.scale_out->kind);
        return join(parts, " and ");
    };
    out.here = words(own);
    out.there = words(*known);
    return out;
}

ClusterSpec read_whole_cluster(ObjectReader in) { return with_network_model(read_cluster(std::move(in))); }

ClusterSpec cluster_in_file(std::string const& file) {
    auto const document = JsonDocument::from_file(file);
    if (ObjectReader in(document); in.is_text("format") && in.text("format") == "accelerator")
        throw InputError(
            "{0}: is an accelerator, not a cluster of them (that is a file as {{\"format\": \"cluster\", \"version\": "
            "1, "
            "\"name\": \"mine\", \"accelerator\": \"{0}\", \"domain_size\": 8, \"scale_up\": {{\"kind\": \"switched\", "
            "\"bandwidth\": \"450 GB/s\"}}, \"host_memory\": \"256 GB\"}}; see docs/formats.md)",
            file);
    ClusterSpec cluster = read_cluster(ObjectReader(document));
    apply_network_calibrations(cluster, network_calibrations_for_own(cluster));
    return cluster;
}

ClusterSpec unchanged_cluster(std::string const& name, std::string_view where) {
    static ReadOnce<ClusterSpec> shipped(embedded_clusters(), cluster_folder, read_whole_cluster);
    if (name.ends_with(".json")) return cluster_in_file(name);
    if (auto found = shipped.find(name)) return std::move(*found);
    if (auto const* called = entry_called(all_clusters(), name)) return *called;
    if (auto usual = cluster_for_device(name)) return *std::move(usual);
    return find_called(all_clusters(), name, where, "cluster");
}

FrameworkProfile unchanged_framework(std::string const& name, std::string_view where) {
    static ReadOnce<FrameworkProfile> shipped(embedded_frameworks(), framework_folder, read_framework);
    if (name.ends_with(".json")) {
        FrameworkProfile own = read_framework(ObjectReader(JsonDocument::from_file(name)));
        if (!own.family.empty())
            own.family = find_called(all_frameworks(), own.family, name + ": family", "framework").name;
        return own;
    }
    if (auto found = shipped.find(name)) return std::move(*found);
    return find_called(all_frameworks(), name, where, "framework");
}

}  // namespace

std::vector<AcceleratorProfile> const& all_accelerators() {
    static auto const entries = read_all(embedded_accelerators(), accelerator_folder, read_accelerator);
    return entries;
}

std::vector<ClusterSpec> const& all_clusters() {
    static auto const entries = [] {
        auto clusters = read_all(embedded_clusters(), cluster_folder, read_cluster);
        for (ClusterSpec& cluster : clusters)
            cluster = with_network_model(std::move(cluster));
        return clusters;
    }();
    return entries;
}

std::vector<FrameworkProfile> const& all_frameworks() {
    static auto const entries = read_all(embedded_frameworks(), framework_folder, read_framework);
    return entries;
}

std::vector<NetworkCalibration> const& all_network_calibrations() {
    static auto const entries = read_all(embedded_networks(), network_folder, read_network_calibration);
    return entries;
}

std::vector<NetworkCalibration> network_calibrations_for(ClusterSpec const& cluster) {
    static ReadOnce<NetworkCalibration> shipped(embedded_networks(), network_folder, read_network_calibration);
    // A text that never says the name is not for the cluster, one that never says the kind not for its class.
    auto const says = [](std::string_view text, std::string_view word) { return text.find(word) != text.npos; };
    auto const names = [&](std::string_view text) { return says(text, cluster.name); };
    auto named = shipped.where(names);
    if (name_each_network(named, cluster)) return named;
    auto const of_kind = [](std::string_view kind) { return fmt::format("\"kind\": \"{}\"", kind); };
    std::array const kinds{of_kind("*"), of_kind(name_of(cluster.scale_up.kind)),
                           of_kind(cluster.scale_out ? cluster.scale_out->kind : "*")};
    return shipped.where([&](std::string_view text) {
        return names(text) ||
               std::any_of(kinds.begin(), kinds.end(), [&](std::string const& kind) { return says(text, kind); });
    });
}

std::vector<NetworkCalibration> network_calibrations_for_own(ClusterSpec const& cluster) {
    OtherNetworks const other = networks_unlike_shipped(cluster);
    if (!other.up && !other.out) return network_calibrations_for(cluster);
    std::vector<NetworkCalibration> out = all_network_calibrations();
    auto const names = [&](auto const& section) { return section && is_one_of(section->scope.clusters, cluster.name); };
    std::erase_if(out, [&](NetworkCalibration const& c) {
        return (other.up && names(c.scale_up)) || (other.out && names(c.scale_out));
    });
    return out;
}

std::vector<std::string> namesake_notes(ClusterSpec const& cluster) {
    std::vector<std::string> out;
    if (std::string note = namesake_note(cluster.accelerator); !note.empty()) out.push_back(std::move(note));
    OtherNetworks const other = networks_unlike_shipped(cluster);
    if (!other.up && !other.out) return out;
    out.push_back(fmt::format(
        "networks of {}: the file has {}, the shipped cluster of that name {}, so they get the constants of their "
        "class "
        "(another name spares this note; 'sextant calibrate fit --collectives ROWS.csv --cluster FILE.json --out "
        "mine.json' fits its own)",
        cluster.name, other.here, other.there));
    return out;
}

AcceleratorProfile const* known_accelerator(std::string_view name) { return entry_called(all_accelerators(), name); }
ClusterSpec const* known_cluster(std::string_view name) { return entry_called(all_clusters(), name); }
FrameworkProfile const* known_framework(std::string_view name) { return entry_called(all_frameworks(), name); }

AcceleratorProfile find_accelerator(std::string_view given, std::string_view where) {
    std::string_view const name = given_name(given, where);
    static ReadOnce<AcceleratorProfile> shipped(embedded_accelerators(), accelerator_folder, read_accelerator);
    if (name.ends_with(".json")) return read_accelerator(ObjectReader(JsonDocument::from_file(std::string(name))));
    if (auto found = shipped.find(name)) return std::move(*found);
    return find_called(all_accelerators(), name, where, "accelerator");
}

ClusterSpec find_cluster(std::string_view name, std::string_view where) {
    ChangedName const wanted = split_changes(name, where);
    ClusterSpec cluster = unchanged_cluster(wanted.name, where);
    apply_changes(cluster, wanted.changes, where);
    return cluster;
}

FrameworkProfile find_framework(std::string_view name, std::string_view where) {
    ChangedName const wanted = split_changes(name, where);
    FrameworkProfile framework = unchanged_framework(wanted.name, where);
    apply_changes(framework, wanted.changes, where);
    return framework;
}

std::optional<ClusterSpec> cluster_for_device(std::string_view device) {
    auto const* const accelerator = known_accelerator(device);
    if (accelerator == nullptr) {  // tables also write the machine: "p4de.24xlarge"
        auto const* const machine = known_cluster(device);
        return machine == nullptr ? std::nullopt : std::optional(*machine);
    }
    for (auto const& cluster : all_clusters())
        if (cluster.accelerator.name == accelerator->name) return cluster;
    return std::nullopt;
}

}  // namespace sextant
