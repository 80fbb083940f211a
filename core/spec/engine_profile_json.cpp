#include "core/json/json_text.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/engine_fields.hpp"
#include "core/spec/interval_reader.hpp"
#include "core/spec/value_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <array>
#include <span>

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

template <class Q>
Sourced<Q> bounded_quantity(ObjectReader& in, EngineField<Q> const& field) {
    auto value = in.sourced_quantity<Q>(field.key);
    check_range(value.value.base(), field.least, field.most, in, field.key);
    return value;
}

constexpr std::array programs{"other", "vllm", "vllm-v0", "sglang", "tensorrt-llm", "lmdeploy", "deepspeed"};
constexpr std::array prompt_orders{"mixed", "first"};
constexpr std::array plannings{"in-turn", "ahead"};
constexpr std::array admissions{"prompt", "whole"};
constexpr std::array memory_shares{"device", "weights-and-cache", "left-by-weights", "left-by-activations"};
constexpr std::array window_caches{"window", "whole", "pools"};
constexpr std::array grouped_heads{"shared", "narrow", "eights", "apart"};
constexpr std::array longer_stages{"first", "last", "before-last"};

/// The value of an optional key that is one of some names.
template <class Choice>
Choice choice_of(ObjectReader& in, char const* key, std::span<char const* const> names) {
    if (!in.has(key)) return {};
    std::string const name = in.text(key);
    for (std::size_t i = 0; i < names.size(); ++i)
        if (name == names[i]) return static_cast<Choice>(i);
    throw InputError("{}.{}: unknown '{}' (allowed: {})", in.where(), key, name.substr(0, 60), fmt::join(names, ", "));
}

/// Of a file that does not state it: the one whose name the profile's begins with ("vllm-v0", "sglang-patched").
EngineProgram program_named(std::string_view profile) {
    std::size_t found = 0;  // other
    std::size_t longest = 0;
    for (std::size_t i = 0; i < programs.size(); ++i) {
        std::string_view const name = programs.at(i);
        if (!profile.starts_with(name) || name.size() <= longest) continue;
        longest = name.size();
        found = i;
    }
    return static_cast<EngineProgram>(found);
}

std::string text_of(EngineInterval const& interval) {
    return fmt::format("{{\"low\": {:.3g}, \"high\": {:.3g}, \"rows\": {}}}", interval.low, interval.high,
                       interval.rows);
}
std::string text_of(double value) { return fmt::format("{:.4g}", value); }
std::string text_of(Seconds value) { return fmt::format("\"{:.4g} us\"", value.in(units::us)); }
std::string text_of(Bytes value) { return fmt::format("\"{:.6g} MB\"", value.in(units::MB)); }

/// An optional constant that says nothing, as where no file states it, stays out of the file.
template <class Value>
bool is_left_out(EngineProfile const& engine, EngineField<Value> const& field) {
    static EngineProfile const unstated;
    return field.presence == Presence::optional && (engine.*field.member).value == (unstated.*field.member).value;
}

/// One engine alone sets its share by device and plan. @throws InputError where another one has none.
void check_memory_share(EngineProfile const& engine, ObjectReader const& in) {
    if (engine.memory_utilisation.value == 0 && engine.memory_share != MemoryShare::weights_and_cache)
        throw InputError("{}.memory_utilisation: missing (needed but with memory_share \"{}\")", in.where(),
                         memory_shares.at(static_cast<std::size_t>(MemoryShare::weights_and_cache)));
}

}  // namespace

EngineProfile read_engine(ObjectReader in) {
    in.format("engine-profile", 2);
    in.set_default_provenance(Basis::assumed, "the file gives no source");
    read_default_provenance(in);
    EngineProfile engine;
    engine.name = in.text("name");
    engine.title = in.text("title", engine.name);
    engine.aliases = in.texts("aliases");
    engine.program = in.has("program") ? choice_of<EngineProgram>(in, "program", programs) : program_named(engine.name);
    for (auto const& field : engine_numbers)
        if (field.presence == Presence::required || in.has(field.key))
            engine.*field.member = bounded_number(in, field.key, field.least, field.most);
    for (auto const& field : engine_times)
        if (field.presence == Presence::required || in.has(field.key))
            engine.*field.member = bounded_quantity(in, field);
        else
            (engine.*field.member).source = "the file does not state it";
    for (auto const& field : engine_sizes)
        engine.*field.member = bounded_quantity(in, field);
    engine.prompts = choice_of<PromptOrder>(in, "prompts", prompt_orders);
    engine.planning = choice_of<IterationPlanning>(in, "planning", plannings);
    engine.admission = choice_of<Admission>(in, "admission", admissions);
    engine.memory_share = choice_of<MemoryShare>(in, "memory_share", memory_shares);
    check_memory_share(engine, in);
    engine.window_cache = choice_of<WindowCache>(in, "window_cache", window_caches);
    engine.grouped_heads = choice_of<GroupedHeads>(in, "grouped_heads", grouped_heads);
    engine.longer_stages = choice_of<LongerStages>(in, "longer_stages", longer_stages);
    engine.vendor = in.text("vendor", "");
    engine.fitted_on = in.texts("fitted_on");
    read_interval(in, "time_interval", engine.interval);
    read_interval(in, "first_token_interval", engine.first_token_interval);
    in.finish();
    return engine;
}

std::string engine_json(EngineProfile const& engine) {
    std::string lines;
    auto const add = [&](auto const& fields) {
        for (auto const& field : fields) {
            auto const& value = engine.*field.member;
            if (is_left_out(engine, field)) continue;
            lines += fmt::format("  \"{}\": {{\"value\": {}, \"basis\": \"{}\", \"source\": {}}},\n", field.key,
                                 text_of(value.value), name_of(value.basis), json_text(Json(value.source)));
        }
    };
    add(engine_numbers);
    add(engine_times);
    add(engine_sizes);
    std::string const fitted_on =
        engine.fitted_on.empty() ? "" : fmt::format("  \"fitted_on\": {},\n", json_text(Json(engine.fitted_on)));
    return fmt::format(
        "{{\n  \"format\": \"engine-profile\",\n  \"version\": 2,\n  \"name\": {},\n  \"title\": {},\n  "
        "\"aliases\": {},\n  \"program\": \"{}\",\n{}  \"prompts\": \"{}\",\n  \"planning\": \"{}\",\n  \"admission\": "
        "\"{}\",\n  "
        "\"memory_share\": \"{}\",\n  "
        "\"window_cache\": \"{}\",\n  "
        "\"grouped_heads\": \"{}\",\n  \"longer_stages\": \"{}\",\n  \"vendor\": {},\n{}  "
        "\"time_interval\": {},\n  \"first_token_interval\": {}\n}}\n",
        json_text(Json(engine.name)), json_text(Json(engine.title)), json_text(Json(engine.aliases)),
        programs.at(static_cast<std::size_t>(engine.program)), lines,
        prompt_orders.at(static_cast<std::size_t>(engine.prompts)),
        plannings.at(static_cast<std::size_t>(engine.planning)),
        admissions.at(static_cast<std::size_t>(engine.admission)),
        memory_shares.at(static_cast<std::size_t>(engine.memory_share)),
        window_caches.at(static_cast<std::size_t>(engine.window_cache)),
        grouped_heads.at(static_cast<std::size_t>(engine.grouped_heads)),
        longer_stages.at(static_cast<std::size_t>(engine.longer_stages)), json_text(Json(engine.vendor)), fitted_on,
        text_of(engine.interval), text_of(engine.first_token_interval));
}

}  // namespace sextant
