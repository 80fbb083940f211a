#include "core/spec/engine_catalog.hpp"

#include "core/embedded_text.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/spec/profile_change.hpp"
#include "core/text.hpp"

#include <algorithm>

namespace sextant {
namespace {

EngineProfile embedded_engine(EmbeddedText const& entry) {
    return read_engine(ObjectReader(JsonDocument::from_embedded(entry, "hardware_profiles/engines")));
}

EngineProfile unchanged_engine(std::string const& name, std::string_view where) {
    if (name.ends_with(".json")) return read_engine(ObjectReader(JsonDocument::from_file(name)));
    for (EmbeddedText const& entry : embedded_engines())
        if (entry.name == name) return embedded_engine(entry);  // the others need not be read
    if (auto const* const known = known_engine(name)) return *known;
    std::vector<std::string> const names = engine_names();
    std::vector<std::string> spellings = names;
    for (EngineProfile const& engine : all_engines())
        spellings.insert(spellings.end(), engine.aliases.begin(), engine.aliases.end());
    throw InputError("{}: unknown engine '{}'{} (known: {})", where, name.substr(0, 60), did_you_mean(name, spellings),
                     join(names));
}

}  // namespace

std::vector<EngineProfile> const& all_engines() {
    static auto const engines = [] {
        std::vector<EngineProfile> out;
        for (EmbeddedText const& entry : embedded_engines()) {
            out.push_back(embedded_engine(entry));
        }
        return out;
    }();
    return engines;
}

std::vector<std::string> engine_names() {
    std::vector<std::string> names;
    for (EngineProfile const& engine : all_engines())
        names.push_back(engine.name);
    return names;
}

EngineProfile const* known_engine(std::string_view name) {
    std::string const wanted = letters_and_digits(name);
    if (wanted.empty()) return nullptr;
    auto const same = [&](std::string const& known) { return letters_and_digits(known) == wanted; };
    for (EngineProfile const& engine : all_engines())
        if (same(engine.name)) return &engine;
    for (EngineProfile const& engine : all_engines())
        if (std::any_of(engine.aliases.begin(), engine.aliases.end(), same)) return &engine;
    return nullptr;
}

void check_engine_vendor(EngineProfile const& engine, std::string_view vendor, std::string_view where) {
    if (!engine.vendor.empty() && !vendor.empty() && engine.vendor != vendor)
        throw InputError("{}: '{}' stands for devices of {} alone, not of {} (known: {})", where, engine.name,
                         engine.vendor, vendor, join(engine_names()));
}

EngineProfile find_engine(std::string_view name, std::string_view where) {
    ChangedName const wanted = split_changes(name, where);
    EngineProfile engine = unchanged_engine(wanted.name, where);
    apply_changes(engine, wanted.changes, where);
    return engine;
}

}  // namespace sextant
