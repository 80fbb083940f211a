#include "core/error.hpp"
#include "core/json/json_text.hpp"
#include "core/spec/network_calibration.hpp"
#include "core/spec/value_checks.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kinds{CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                           CollectiveKind::all_to_all, CollectiveKind::broadcast,  CollectiveKind::send_receive};
constexpr std::array ranges{CalibrationRange::inside, CalibrationRange::outside, CalibrationRange::by_class};

/// The one of these with the name that stands under `key`.
template <class Value, std::size_t n>
Value named(ObjectReader& in, std::string_view key, std::array<Value, n> const& values) {
    std::string const text = in.text(key);
    std::string known;
    for (Value const value : values) {
        if (name_of(value) == text) return value;
        known += (known.empty() ? "" : ", ") + std::string(name_of(value));
    }
    throw InputError("{}: is '{}' (known: {})", in.path_to(key), text.substr(0, 40), known);
}

double value_of(ObjectReader& in, double /*like*/) { return in.number("value"); }
Seconds value_of(ObjectReader& in, Seconds /*like*/) { return in.quantity<Seconds>("value"); }
double base_of(double value) { return value; }
double base_of(Seconds value) { return value.base(); }
Json text_of(double value) { return value; }
Json text_of(Seconds value) { return fmt::format("{} us", value.in(units::us)); }

template <class Constants, class Value, std::size_t n>
void read_fields(ObjectReader& in, NetworkField<Constants, Value> const (&fields)[n],
                 NetworkSection<Constants>& section) {
    for (auto const& field : fields) {
        ObjectReader entry = in.object(field.key);
        ConstantNote note{.key = std::string(field.key), .basis = basis_from(entry.text("basis"), entry.where())};
        Value& value = section.constants.*field.member;
        value = value_of(entry, Value{});
        check_range(base_of(value), field.low, field.high, entry, "value");
        entry.allow("spread");
        if (entry.has("spread")) {
            note.spread = entry.number("spread");
            check_range(*note.spread, 0, 1e3, entry, "spread");
        }
        entry.finish();
        section.notes.push_back(std::move(note));
    }
}

NetworkScope read_scope(ObjectReader& in) {
    NetworkScope scope{.clusters = in.texts("clusters"), .kind = {}, .generation = "*"};
    if (auto of_class = in.optional_object("class")) {
        scope.kind = of_class->text("kind");
        scope.generation = of_class->text("generation", "*");
        if (auto whose = of_class->optional_object("efficiencies_of")) {
            scope.vendor = whose->text("vendor", "");
            scope.with_peer_access = whose->flag("peer_access", false);
            whose->finish();
        }
        of_class->finish();
    }
    if (scope.clusters.empty() == scope.kind.empty())
        throw InputError("{}: needs either clusters or a class", in.where());
    return scope;
}

template <class Constants, class Times, class Numbers>
NetworkSection<Constants> read_section(ObjectReader in, Times const& times, Numbers const& numbers) {
    NetworkSection<Constants> section;
    section.scope = read_scope(in);
    ObjectReader constants = in.object("constants");
    read_fields(constants, times, section);
    read_fields(constants, numbers, section);
    constants.finish();
    in.finish();
    return section;
}

NetworkCorrection read_correction(ObjectReader in) {
    NetworkCorrection out;
    out.kind = named(in, "collective", kinds);
    out.ranks_per_domain = in.integer("ranks_per_domain");
    out.domains = in.integer("domains");
    check_range(static_cast<double>(out.ranks_per_domain), 1, 1e7, in, "ranks_per_domain");
    check_range(static_cast<double>(out.domains), 1, 1e7, in, "domains");
    out.log2_bytes = in.numbers("log2_bytes");
    out.log_factor = in.numbers("log_factor");
    if (out.log2_bytes.empty() || out.log2_bytes.size() != out.log_factor.size())
        throw InputError("{}: log2_bytes has {} entries and log_factor {} (as many of each, and at least one)",
                         in.where(), out.log2_bytes.size(), out.log_factor.size());
    for (std::size_t i = 0; i < out.log2_bytes.size(); ++i) {
        check_range(out.log2_bytes[i], 0, 64, in, "log2_bytes");
        check_range(out.log_factor[i], -5, 5, in, "log_factor");
        if (i > 0 && out.log2_bytes[i] <= out.log2_bytes[i - 1])
            throw InputError("{}: {} follows {} (ascending values are expected)", in.path_to("log2_bytes"),
                             out.log2_bytes[i], out.log2_bytes[i - 1]);
    }
    for (ObjectReader& entry : in.objects("jumps")) {
        SizeJump const jump{.log2_bytes = entry.number("log2_bytes"), .log_factor = entry.number("log_factor")};
        check_range(jump.log2_bytes, 0, 64, entry, "log2_bytes");
        check_range(jump.log_factor, -5, 5, entry, "log_factor");
        if (!out.jumps.empty() && jump.log2_bytes <= out.jumps.back().log2_bytes)
            throw InputError("{}: {} follows {} (ascending values are expected)", entry.path_to("log2_bytes"),
                             jump.log2_bytes, out.jumps.back().log2_bytes);
        entry.finish();
        out.jumps.push_back(jump);
    }
    in.finish();
    return out;
}

/// What an interval and a held-out error say of where they hold.
template <class Band>
Band read_band(ObjectReader& in) {
    Band band;
    band.range = named(in, "range", ranges);
    band.between_domains = in.flag("between_domains");
    double const from = in.number("from_bytes");
    check_range(from, 0, 1e18, in, "from_bytes");
    band.from = from * units::B;
    band.rows = in.integer("rows");
    check_range(static_cast<double>(band.rows), 0, 1e9, in, "rows");
    return band;
}

NetworkInterval read_interval(ObjectReader in) {
    auto out = read_band<NetworkInterval>(in);
    out.low = in.number("low");
    out.high = in.number("high");
    check_range(out.low, 1e-3, 1, in, "low");
    check_range(out.high, 1, 1e3, in, "high");
    in.finish();
    return out;
}

NetworkHeldOut read_held_out(ObjectReader in) {
    auto out = read_band<NetworkHeldOut>(in);
    out.median_pct = in.number("median_pct");
    out.p95_pct = in.number("p95_pct");
    out.bias_pct = in.number("bias_pct");
    in.finish();
    return out;
}

NetworkProvenance read_provenance(ObjectReader in) {
    NetworkProvenance out{.command = in.text("command"),
                          .sources = in.texts("sources"),
                          .library_versions = in.texts("library_versions"),
                          .runs = in.integer("runs"),
                          .rows = in.integer("rows"),
                          .method = in.text("method"),
                          .held_out = {}};
    for (ObjectReader& entry : in.objects("held_out"))
        out.held_out.push_back(read_held_out(std::move(entry)));
    in.finish();
    return out;
}

template <class Constants, class Value, std::size_t n>
void write_fields(Json& out, NetworkField<Constants, Value> const (&fields)[n],
                  NetworkSection<Constants> const& section) {
    for (auto const& field : fields) {
        Json entry{{"value", text_of(section.constants.*field.member)}, {"basis", "assumed"}};
        for (ConstantNote const& note : section.notes)
            if (note.key == field.key) {
                entry["basis"] = name_of(note.basis);
                if (note.spread) entry["spread"] = *note.spread;
            }
        out[std::string(field.key)] = std::move(entry);
    }
}

Json class_json(NetworkScope const& scope) {
    Json out{{"kind", scope.kind}, {"generation", scope.generation}};
    if (!scope.vendor.empty()) out["efficiencies_of"]["vendor"] = scope.vendor;
    if (scope.with_peer_access) out["efficiencies_of"]["peer_access"] = true;
    return out;
}

template <class Constants, class Times, class Numbers>
Json section_json(NetworkSection<Constants> const& section, Times const& times, Numbers const& numbers) {
    Json out;
    if (section.scope.is_class())
        out["class"] = class_json(section.scope);
    else
        out["clusters"] = section.scope.clusters;
    Json constants;
    write_fields(constants, times, section);
    write_fields(constants, numbers, section);
    out["constants"] = std::move(constants);
    return out;
}

template <class Band>
Json band_json(Band const& band) {
    return {{"range", name_of(band.range)},
            {"between_domains", band.between_domains},
            {"from_bytes", band.from.base()},
            {"rows", band.rows}};
}

Json provenance_json(NetworkProvenance const& p) {
    Json out{{"command", p.command}, {"sources", p.sources}, {"library_versions", p.library_versions},
             {"runs", p.runs},       {"rows", p.rows},       {"method", p.method}};
    out["held_out"] = Json::array();
    for (NetworkHeldOut const& h : p.held_out) {
        Json entry = band_json(h);
        entry["median_pct"] = h.median_pct;
        entry["p95_pct"] = h.p95_pct;
        entry["bias_pct"] = h.bias_pct;
        out["held_out"].push_back(std::move(entry));
    }
    return out;
}

/// Entries of a list of objects one to a line: a file of knots stays readable.
std::string with_flat_entries(Json document, std::vector<std::string> const& lists) {
    std::vector<std::pair<std::string, std::string>> flat;
    for (std::string const& list : lists) {
        std::string lines;
        for (auto const& entry : document[list])
            lines += (lines.empty() ? "\n    " : ",\n    ") + json_text(entry);
        std::string const mark = "@" + list + "@";
        flat.emplace_back("\"" + mark + "\"", lines.empty() ? "[]" : "[" + lines + "\n  ]");
        document[list] = mark;
    }
    std::string text = json_text(document, 2);
    for (auto const& [mark, lines] : flat)
        text.replace(text.find(mark), mark.size(), lines);
    return text + "\n";
}

}  // namespace

NetworkCalibration read_network_calibration(ObjectReader in) {
    in.format("network-calibration", 1);
    NetworkCalibration out;
    out.name = in.text("name");
    out.title = in.text("title", out.name);
    if (auto section = in.optional_object("scale_up"))
        out.scale_up = read_section<ScaleUpConstants>(std::move(*section), scale_up_times, scale_up_numbers);
    if (auto section = in.optional_object("scale_out"))
        out.scale_out = read_section<ScaleOutConstants>(std::move(*section), scale_out_times, scale_out_numbers);
    if (!out.scale_up && !out.scale_out)
        throw InputError("{}: has neither scale_up nor scale_out (at least one is expected)", in.where());
    for (ObjectReader& entry : in.objects("corrections"))
        out.corrections.push_back(read_correction(std::move(entry)));
    for (ObjectReader& entry : in.objects("intervals"))
        out.intervals.push_back(read_interval(std::move(entry)));
    out.provenance = read_provenance(in.object("provenance"));
    in.finish();
    return out;
}

NetworkCalibration read_network_calibration_file(std::string const& path) {
    return read_network_calibration(ObjectReader(JsonDocument::from_file(path)));
}

std::string network_calibration_json(NetworkCalibration const& calibration) {
    Json out{
        {"format", "network-calibration"}, {"version", 1}, {"name", calibration.name}, {"title", calibration.title}};
    if (calibration.scale_up) out["scale_up"] = section_json(*calibration.scale_up, scale_up_times, scale_up_numbers);
    if (calibration.scale_out)
        out["scale_out"] = section_json(*calibration.scale_out, scale_out_times, scale_out_numbers);
    out["corrections"] = Json::array();
    for (NetworkCorrection const& c : calibration.corrections) {
        Json entry{{"collective", name_of(c.kind)},
                   {"ranks_per_domain", c.ranks_per_domain},
                   {"domains", c.domains},
                   {"log2_bytes", c.log2_bytes},
                   {"log_factor", c.log_factor}};
        for (SizeJump const& jump : c.jumps)
            entry["jumps"].push_back({{"log2_bytes", jump.log2_bytes}, {"log_factor", jump.log_factor}});
        out["corrections"].push_back(std::move(entry));
    }
    out["intervals"] = Json::array();
    for (NetworkInterval const& i : calibration.intervals) {
        Json entry = band_json(i);
        entry["low"] = i.low;
        entry["high"] = i.high;
        out["intervals"].push_back(std::move(entry));
    }
    out["provenance"] = provenance_json(calibration.provenance);
    return with_flat_entries(std::move(out), {"corrections", "intervals"});
}

}  // namespace sextant
