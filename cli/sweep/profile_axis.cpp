#include "cli/sweep/profile_axis.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/nearest.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/profile_change.hpp"

#include <array>

namespace sextant::cli {
namespace {

/// An option that names something with values that can be changed.
struct Owner {
    std::string_view option;
    std::string_view usual;  ///< the option's value where it is not given; empty: none
    std::vector<std::string> (*keys)(std::string const& name);
};

constexpr std::array owners{
    Owner{"cluster", "", [](std::string const& name) { return changeable_keys(find_cluster(name, "--cluster")); }},
    Owner{"framework", "megatron",
          [](std::string const& name) { return changeable_keys(find_framework(name, "--framework")); }},
    Owner{"engine", "vllm", [](std::string const& name) { return changeable_keys(find_engine(name, "--engine")); }},
    Owner{"model", "", [](std::string const& name) { return changeable_config_keys(model_config(name)); }},
};

/// The first name that an option has; empty when it has none.
std::string first_name(CommandOption const& option, std::vector<std::string> const& arguments, Owner const& owner) {
    auto const places = places_of(option, arguments);
    if (places.empty()) return std::string(owner.usual);
    std::string name = arguments[places.front().index].substr(places.front().offset);
    if (option.delimiter != '\0') name = name.substr(0, name.find(option.delimiter));
    return split_changes(name, "--axis").name;
}

}  // namespace

AxisTarget profile_target(std::string const& name, CommandOptions const& options,
                          std::vector<std::string> const& arguments) {
    std::vector<std::string> known = options.names();
    std::vector<Owner const*> found;
    std::string key;
    for (Owner const& owner : owners) {
        CommandOption const* const option = options.find(owner.option);
        std::string const whose = option != nullptr ? first_name(*option, arguments, owner) : "";
        if (whose.empty()) continue;
        std::vector<std::string> const keys = owner.keys(whose);
        std::string const prefix = std::string(owner.option) + ".";
        std::string const bare = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
        if (is_one_of(keys, bare)) {
            found.push_back(&owner);
            key = bare;
        }
        known.insert(known.end(), keys.begin(), keys.end());
    }
    if (found.empty() && options.find(name) != nullptr)
        throw InputError("--axis: {}: factors (x0.5) are of a profile's values, and it is an option of '{}'", name,
                         join(options.words, " "));
    if (found.empty())
        throw InputError(
            "--axis: '{}' is no option of '{}' and no value of what it names{} (see 'sextant {} --help', "
            "'sextant hardware show' and docs/sweep.md)",
            name, join(options.words, " "), did_you_mean(name, known), join(options.words, " "));
    if (found.size() > 1)
        throw InputError("--axis: '{0}' is a value of the {1} and of the {2} (say {1}.{0} or {2}.{0})", name,
                         found[0]->option, found[1]->option);
    return {.kind = AxisTarget::Kind::profile,
            .option = *options.find(found.front()->option),
            .key = key,
            .usual_value = std::string(found.front()->usual)};
}

void put_change(std::vector<std::string>& arguments, AxisTarget const& target, std::string const& value) {
    std::string const change = ":" + target.key + "=" + value;
    auto const places = places_of(target.option, arguments);
    if (places.empty()) {
        arguments.push_back(target.option.names.front() + "=" + target.usual_value + change);
        return;
    }
    for (ArgumentPlace const& place : places) {
        std::string& text = arguments[place.index];
        std::string out = text.substr(0, place.offset);
        for (std::size_t i = place.offset; i < text.size(); ++i) {
            if (text[i] == target.option.delimiter && target.option.delimiter != '\0') out += change;
            out += text[i];
        }
        text = out + change;
    }
}

}  // namespace sextant::cli
