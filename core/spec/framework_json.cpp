#include "core/json/json_text.hpp"
#include "core/spec/framework_fields.hpp"
#include "core/spec/hardware_json.hpp"
#include "core/spec/interval_reader.hpp"
#include "core/spec/value_checks.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace sextant {
namespace {

template <class Q>
Sourced<Q> bounded_quantity(ObjectReader& in, std::string_view key, double most) {
    auto value = in.sourced_quantity<Q>(key);
    if (value.value.base() > most)
        throw InputError("{}: is larger than {}", in.path_to(key), human(Q::from_base(most)));
    return value;
}

/// Values of a profile; where `complete` all that it has to state, else those that are there.
template <class Owner, class Value, std::size_t count>
void read_fields(ObjectReader& in, ProfileField<Owner, Value> const (&fields)[count], Owner& owner, bool complete) {
    for (auto const& field : fields) {
        in.allow(field.key);
        bool const needed = complete && field.presence == Presence::required;
        if (!needed && !in.has(field.key)) continue;
        if constexpr (std::is_same_v<Value, double>)
            owner.*field.member = bounded_number(in, field.key, field.least, field.most);
        else
            owner.*field.member = bounded_quantity<Value>(in, field.key, field.most);
    }
}

/// `base` is the entry for everything, or null while that one is read.
FrameworkTiming read_timing(ObjectReader in, FrameworkTiming const* base) {
    read_default_provenance(in);
    FrameworkTiming timing = base != nullptr ? *base : FrameworkTiming{};
    timing.generation = in.text("generation");
    timing.precision = in.text("precision");
    timing.steps.reset();
    if (in.has("steps")) {
        timing.steps = in.integer("steps");
        if (*timing.steps < 0) throw InputError("{}: is {} (0 or more)", in.path_to("steps"), *timing.steps);
    }
    if (timing.precision != "*") static_cast<void>(precision_from(timing.precision, in.path_to("precision")));
    bool const complete = base == nullptr;
    if (complete && (timing.generation != "*" || timing.precision != "*"))
        throw InputError("{}: is for {}/{} (the first entry is the one for \"*\" and \"*\", which the others build on)",
                         in.where(), timing.generation, timing.precision);
    read_fields(in, timing_numbers, timing, complete);
    read_fields(in, timing_times, timing, complete);
    for (auto const& [key, value] : {std::pair{"early_stop", timing.early_stop.value},
                                     {"casts_weights", timing.casts_weights.value},
                                     {"pads_experts", timing.pads_experts.value},
                                     {"all_reduces_gradients", timing.all_reduces_gradients.value},
                                     {"gathers_after_step", timing.gathers_after_step.value}})
        if (value != 0 && value != 1) throw InputError("{}: is {} (0 or 1)", in.path_to(key), value);
    in.finish();
    return timing;
}

UsualPlan read_usual(ObjectReader in) {
    UsualPlan usual;
    if (in.has("layers")) usual.layers = layer_spread_from(in.text("layers"), in.path_to("layers"));
    std::int64_t const zero = in.integer("zero", usual.zero);
    if (zero < 0 || zero > 3) throw InputError("{}: is {} (a ZeRO stage: 0, 1, 2 or 3)", in.path_to("zero"), zero);
    usual.zero = static_cast<int>(zero);
    if (in.has("cp_mode")) usual.cp_mode = context_parallel_from(in.text("cp_mode"), in.path_to("cp_mode"));
    if (in.has("pipelines")) usual.pipelines = pipelines_from(in.text("pipelines"), in.path_to("pipelines"));
    if (in.has("sends")) usual.sends = stage_sends_from(in.text("sends"), in.path_to("sends"));
    in.finish();
    return usual;
}

FrameworkReleases read_releases(ObjectReader in) {
    auto const release = [&](std::string_view key) { return release_from(in.text(key), in.path_to(key)); };
    FrameworkReleases const releases{.first = release("first"), .last = release("last"), .at = release("at")};
    if (releases.at < releases.first || releases.last < releases.at)
        throw InputError("{}: {} is not between {} and {}", in.path_to("at"), name_of(releases.at),
                         name_of(releases.first), name_of(releases.last));
    in.finish();
    return releases;
}

/// `base`: what an entry for a generation leaves out is taken from.
FrameworkMemory read_memory(ObjectReader in, FrameworkMemory const* base = nullptr) {
    read_default_provenance(in);
    FrameworkMemory memory = base == nullptr ? FrameworkMemory{} : *base;
    read_fields(in, memory_numbers, memory, base == nullptr);
    read_fields(in, memory_sizes, memory, base == nullptr);
    if (memory.reserved_low.value > memory.reserved_typical.value ||
        memory.reserved_typical.value > memory.reserved_high.value)
        throw InputError("{}: reserved_low, reserved_typical and reserved_high do not ascend (they must)", in.where());
    if (!(memory.usable_fraction.value > 0))
        throw InputError("{}: is zero (it must be positive)", in.path_to("usable_fraction"));
    in.finish();
    return memory;
}

using Json = nlohmann::ordered_json;

std::string text_of(double value) { return fmt::format("{:.4g}", value); }
std::string text_of(Seconds value) { return fmt::format("\"{:.4g} us\"", value.in(units::us)); }
std::string text_of(Bytes value) { return fmt::format("\"{:.6g} MB\"", value.in(units::MB)); }

/// The values of an object, as they are written: with the source that most of them share said once.
class ValueLines {
public:
    template <class Value>
    void add(std::string_view key, Sourced<Value> const& value) {
        lines_.push_back({std::string(key), text_of(value.value), {std::string(name_of(value.basis)), value.source}});
    }

    /// Members of a JSON object, after its others.
    [[nodiscard]] std::vector<std::string> text(std::string const& indent) const {
        std::map<Source, std::size_t> counts;
        for (Line const& line : lines_)
            ++counts[line.source];
        auto const shared = std::max_element(counts.begin(), counts.end(),
                                             [](auto const& a, auto const& b) { return a.second < b.second; });
        std::vector<std::string> out;
        if (shared == counts.end()) return out;
        out.push_back(fmt::format("{}{}", indent, members(shared->first)));
        for (Line const& line : lines_)
            out.push_back(line.source == shared->first ? fmt::format("{}\"{}\": {}", indent, line.key, line.value)
                                                       : fmt::format("{}\"{}\": {{\"value\": {}, {}}}", indent,
                                                                     line.key, line.value, members(line.source)));
        return out;
    }

private:
    using Source = std::pair<std::string, std::string>;  ///< basis, and where it comes from
    struct Line {
        std::string key, value;
        Source source;
    };
    static std::string members(Source const& source) {
        return fmt::format("\"basis\": \"{}\", \"source\": {}", source.first, json_text(Json(source.second)));
    }

    std::vector<Line> lines_;
};

template <class Value>
bool differs(Sourced<Value> const& a, Sourced<Value> const& b) {
    return text_of(a.value) != text_of(b.value) || a.basis != b.basis || a.source != b.source;
}

/// All that `owner` states; beside a `base` only what differs from that.
template <class Owner, class Fields>
void add_fields(ValueLines& values, Fields const& fields, Owner const& owner, Owner const* base) {
    for (auto const& field : fields)
        if (base == nullptr ? is_stated(field, owner) : differs(owner.*field.member, base->*field.member))
            values.add(field.key, owner.*field.member);
}

/// An entry; of all but the first only what differs from that one.
std::string timing_json(FrameworkTiming const& timing, FrameworkTiming const* base) {
    ValueLines values;
    add_fields(values, timing_numbers, timing, base);
    add_fields(values, timing_times, timing, base);
    std::string out = fmt::format("    {{\n      \"generation\": \"{}\",\n      \"precision\": \"{}\"",
                                  timing.generation, timing.precision);
    if (timing.steps) out += fmt::format(",\n      \"steps\": {}", *timing.steps);
    for (std::string const& line : values.text("      "))
        out += ",\n" + line;
    return out + "\n    }";
}

/// All values; of those for a generation only what differs from `base`.
std::string memory_json(FrameworkMemory const& memory, std::string const& indent,
                        FrameworkMemory const* base = nullptr) {
    ValueLines values;
    add_fields(values, memory_numbers, memory, base);
    add_fields(values, memory_sizes, memory, base);
    return fmt::format("{}", fmt::join(values.text(indent), ",\n"));
}

/// The member `memory_on`, or nothing.
std::string memory_on_json(FrameworkProfile const& framework) {
    if (framework.memory_on.empty()) return "";
    std::vector<std::string> entries;
    for (auto const& [generation, memory] : framework.memory_on)
        entries.push_back(fmt::format("    {{\n      \"generation\": {},\n{}\n    }}", json_text(Json(generation)),
                                      memory_json(memory, "      ", &framework.memory)));
    return fmt::format("  \"memory_on\": [\n{}\n  ],\n", fmt::join(entries, ",\n"));
}

std::vector<GenerationMemory> read_memory_on(ObjectReader& in, FrameworkMemory const& base) {
    std::vector<GenerationMemory> out;
    for (ObjectReader& entry : in.objects("memory_on")) {
        std::string generation = entry.text("generation");
        if (std::any_of(out.begin(), out.end(), [&](auto const& other) { return other.generation == generation; }))
            throw InputError("{}: '{}' has an entry before this one", entry.path_to("generation"), generation);
        FrameworkMemory memory = read_memory(std::move(entry), &base);
        out.push_back({.generation = std::move(generation), .memory = std::move(memory)});
    }
    return out;
}

}  // namespace

FrameworkProfile read_framework(ObjectReader in) {
    in.format("framework", 1);
    in.set_default_provenance(Basis::assumed, "the file gives no source");
    read_default_provenance(in);
    FrameworkProfile framework;
    framework.name = in.text("name");
    framework.title = in.text("title", framework.name);
    framework.aliases = in.texts("aliases");
    framework.family = in.text("family", "");
    if (auto usual = in.optional_object("usual")) framework.usual = read_usual(std::move(*usual));
    if (auto releases = in.optional_object("releases")) framework.releases = read_releases(std::move(*releases));
    for (auto& entry : in.objects("timing")) {
        auto const* const base = framework.timing.empty() ? nullptr : &framework.timing.front();
        auto timing = read_timing(std::move(entry), base);
        framework.timing.push_back(std::move(timing));
    }
    if (framework.timing.empty())
        throw InputError("{}: is missing or empty (one entry for \"*\" and \"*\" is needed)", in.path_to("timing"));
    framework.memory = read_memory(in.object("memory"));
    framework.memory_on = read_memory_on(in, framework.memory);
    read_interval(in, "time_interval", framework.interval);
    in.finish();
    return framework;
}

std::string framework_json(FrameworkProfile const& framework) {
    std::string entries;
    for (FrameworkTiming const& timing : framework.timing) {
        bool const first = entries.empty();
        entries += (first ? "" : ",\n") + timing_json(timing, first ? nullptr : &framework.timing.front());
    }
    std::string others;
    if (framework.usual.cp_mode != ContextParallel::ring)
        others += fmt::format(", \"cp_mode\": \"{}\"", name_of(framework.usual.cp_mode));
    if (framework.usual.pipelines != Pipelines::interleaved)
        others += fmt::format(", \"pipelines\": \"{}\"", name_of(framework.usual.pipelines));
    if (framework.usual.sends != StageSends::whole)
        others += fmt::format(", \"sends\": \"{}\"", name_of(framework.usual.sends));
    std::string const family =
        framework.family.empty() ? "" : fmt::format("  \"family\": {},\n", json_text(Json(framework.family)));
    std::string releases;
    if (framework.releases)
        releases = fmt::format("  \"releases\": {{\"first\": \"{}\", \"last\": \"{}\", \"at\": \"{}\"}},\n",
                               name_of(framework.releases->first), name_of(framework.releases->last),
                               name_of(framework.releases->at));
    return fmt::format(
        "{{\n  \"format\": \"framework\",\n  \"version\": 1,\n  \"name\": {},\n  \"title\": {},\n  \"aliases\": {},\n"
        "{}  \"usual\": {{\"layers\": \"{}\", \"zero\": {}{}}},\n{}  \"timing\": [\n{}\n  ],\n  \"memory\": {{\n{}\n  "
        "}},\n{}"
        "  \"time_interval\": {{\"low\": {:.3g}, \"high\": {:.3g}, \"rows\": {}}}\n}}\n",
        json_text(Json(framework.name)), json_text(Json(framework.title)), json_text(Json(framework.aliases)), family,
        name_of(framework.usual.layers), framework.usual.zero, others, releases, entries,
        memory_json(framework.memory, "    "), memory_on_json(framework), framework.interval.low,
        framework.interval.high, framework.interval.rows);
}

}  // namespace sextant
