#include "core/spec/model_catalog.hpp"

#include "core/embedded_text.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/nearest.hpp"
#include "core/spec/hf_config.hpp"
#include "core/spec/model_name.hpp"
#include "core/spec/named_format.hpp"
#include "core/spec/not_modelled.hpp"
#include "core/spec/profile_change.hpp"
#include "core/spec/quantisation_file.hpp"
#include "core/text.hpp"
#include "core/words.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

namespace sextant {
namespace {

/// The size that a number in a preset's name stands for: digits at `at`, what follows a decimal point between digits,
/// and a closing m, b or t (millions, billions, trillions). A number without one, a generation, comes before all sizes.
double number_at(std::string_view text, std::size_t& at) {
    double value = 0;
    while (at < text.size() && is_digit(text[at]))
        value = value * 10 + (text[at++] - '0');
    if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
        double scale = 0.1;
        for (++at; at < text.size() && is_digit(text[at]); scale /= 10)
            value += scale * (text[at++] - '0');
    }
    if (at < text.size() &&
        (at + 1 == text.size() || text[at + 1] == '-' || is_digit(text[at + 1]))) {  // 7b1: 7.1 billion
        switch (text[at]) {
            case 'm': return value * 1e6;
            case 'b': return value * 1e9;
            case 't': return value * 1e12;
            default: break;
        }
    }
    return value;
}

/// Alphabetical, but numbers compare by what they stand for.
bool natural_less(std::string_view a, std::string_view b) {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        if (is_digit(a[i]) && is_digit(b[j])) {
            double const x = number_at(a, i);
            double const y = number_at(b, j);
            if (x != y) return x < y;
        } else {
            if (a[i] != b[j]) return a[i] < b[j];
            ++i;
            ++j;
        }
    }
    return a.size() - i < b.size() - j;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
    });
}

EmbeddedText const* find_preset(std::string_view name) {
    for (auto const& entry : embedded_models())
        if (same_ignoring_case(entry.name, name)) return &entry;
    return nullptr;
}

/// The preset of this very name, or, where nothing on disk is called so, the one that the name means.
EmbeddedText const* preset_for(std::string_view name) {
    if (auto const* preset = find_preset(name)) return preset;
    std::error_code ignored;
    if (name.ends_with(".json") || std::filesystem::exists(std::filesystem::path(name), ignored)) return nullptr;
    auto const called = preset_called(name);
    return called ? find_preset(*called) : nullptr;
}

/// "; did you mean gpt3-175b, ... or ...?": presets that have all of a short name ("gpt-3", "70b") as words of theirs.
std::string presets_with(std::string_view name) {
    constexpr std::size_t most = 12;
    std::string const wanted = letters_and_digits(name);
    std::vector<std::string> found;
    for (std::string const& preset : model_names()) {
        auto const at = letters_and_digits(preset).find(wanted);
        bool const begins = at == 0 || preset.find("-" + lower_case(name)) != std::string::npos;
        if (at != std::string::npos && begins) found.push_back(preset);
    }
    if (wanted.size() < 2 || found.empty() || found.size() > most) return {};
    return fmt::format("; did you mean {}?", join(found, found.size() > 2 ? ", " : " or "));
}

[[noreturn]] void refuse_unknown(std::string_view name) {
    if (auto const why = why_not_modelled(name); !why.empty())
        throw InputError("model '{}': {}", name.substr(0, 100), why);
    auto const names = model_names();
    if (std::string const meant = presets_with(name); !meant.empty())
        throw InputError("model '{}': unknown{} ('sextant models' lists all)", name.substr(0, 100), meant);
    throw InputError("model '{}': unknown{} (give one of 'sextant models' or the path of a Hugging Face config.json)",
                     name.substr(0, 100), did_you_mean(name, names));
}

/// "llama/config.json" is called after its folder, "my-model.json" after itself.
std::string name_of_file(std::filesystem::path const& path) {
    if (path.filename() != "config.json") return path.stem().string();
    auto const folder = std::filesystem::absolute(path).lexically_normal().parent_path().filename().string();
    return folder.empty() ? "config" : folder;
}

/// A config that a name or a path stands for.
struct Config {
    std::string name;   ///< of the model
    std::string where;  ///< for messages
    std::string text;
};

Config config_in_file(std::filesystem::path const& path) {
    Config config{.name = name_of_file(path), .where = path.string(), .text = read_text_file(path.string())};
    std::error_code ignored;
    if (auto const beside = path.parent_path() / "hf_quant_config.json";
        path.filename() == "config.json" && std::filesystem::exists(beside, ignored))
        config.text = with_quantisation(config.text, read_text_file(beside.string()), beside.string());
    return config;
}

Config find_config(std::string_view name_or_path) {
    if (auto const* preset = preset_for(name_or_path))
        return {
            .name = std::string(preset->name), .where = std::string(preset->name), .text = std::string(preset->text)};
    std::filesystem::path const path(name_or_path);
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        if (std::filesystem::exists(path / "config.json", ignored)) return config_in_file(path / "config.json");
        throw InputError(
            "model '{}': is a folder without config.json (that of a Hugging Face model has one; 'sextant "
            "models' lists the presets)",
            name_or_path.substr(0, 100));
    }
    // "owner/name" that is no file and no folder is the id of a model on the Hub.
    auto const slash = name_or_path.find('/');
    bool const is_id = slash != std::string_view::npos && slash > 0 && name_or_path.rfind('/') == slash &&
                       name_or_path.front() != '.' && !std::filesystem::exists(path.parent_path(), ignored);
    bool const looks_like_path = name_or_path.ends_with(".json") || (slash != std::string_view::npos && !is_id);
    if (looks_like_path || std::filesystem::is_regular_file(path, ignored)) return config_in_file(path);
    refuse_unknown(name_or_path);
}

/// The config under a name, with the changes behind it in its text and in the model's name.
Config changed_config(ChangedName const& wanted) {
    Config config = find_config(wanted.name);
    if (!wanted.changes.empty()) config.text = change_config(config.text, wanted.changes, "model " + config.name);
    for (ProfileChange const& change : wanted.changes)
        config.name += fmt::format(":{}={}", change.key, change.value);
    return config;
}

ModelSpec model_of(Config const& config) {
    ModelSpec model = read_hf_config(config.text, config.where);
    model.name = config.name;
    return model;
}

StoredModel stored_model_of(Config const& config) {
    return {.model = model_of(config), .checkpoint = read_checkpoint_format(config.text, config.where)};
}

/// A preset, read when it is first asked for and then kept.
StoredModel const& read_preset(EmbeddedText const& preset) {
    static std::mutex guard;
    static std::map<std::string_view, StoredModel> kept;  // nodes stay where they are
    std::lock_guard const lock(guard);
    auto found = kept.find(preset.name);
    if (found == kept.end()) {
        std::string const name(preset.name);
        found = kept.emplace(preset.name, stored_model_of({name, name, std::string(preset.text)})).first;
    }
    return found->second;
}

}  // namespace

std::vector<std::string> model_names() {
    std::vector<std::string> names;
    for (auto const& entry : embedded_models())
        names.emplace_back(entry.name);
    std::sort(names.begin(), names.end(), natural_less);
    return names;
}

ModelSpec find_model(std::string_view name_or_path) {
    ChangedName const wanted = split_changes(name_or_path, "model");
    if (auto const* preset = preset_for(wanted.name); preset != nullptr && wanted.changes.empty())
        return read_preset(*preset).model;
    return model_of(changed_config(wanted));  // whatever its checkpoint is stored in
}

StoredModel find_stored_model(std::string_view name_or_path) {
    ChangedName const wanted = split_changes(name_or_path, "model");
    auto const* const preset = preset_for(wanted.name);
    StoredModel stored =
        preset != nullptr && wanted.changes.empty() ? read_preset(*preset) : stored_model_of(changed_config(wanted));
    if (preset != nullptr) stored.checkpoint = checkpoint_called(wanted.name, std::move(stored.checkpoint));
    if (stored.checkpoint.exclusions == Exclusions::all_but_experts)
        stored.model.only_experts_narrow = stored.model.moe.has_value();
    return stored;
}

std::string model_config(std::string_view name_or_path) { return find_config(name_or_path).text; }

}  // namespace sextant
