#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// The scalars of a YAML file by their dotted names, "fsdp_config.fsdp_version": of block mappings with plain and
/// quoted scalars, which configurations of launchers are. Lists and texts of several lines are passed over. Source:
/// YAML 1.2.2.
class YamlValues {
public:
    /// @throws InputError with `where` and the line: what is none of these, such as mappings in braces.
    YamlValues(std::string_view text, std::string_view where);

    /// Nothing for null, too.
    std::optional<std::string> text(std::string const& name);
    /// @throws InputError: no whole number, or out of range (`least` to 2^31).
    std::optional<std::int64_t> integer(std::string const& name, std::int64_t least);
    /// At least one, one where it is not there.
    std::int64_t degree(std::string const& name) { return integer(name, 1).value_or(1); }
    /// true, yes and on, or false, no and off, as YAML 1.1 has them. @throws InputError: another text.
    std::optional<bool> flag(std::string const& name);

    [[nodiscard]] std::vector<std::string> not_asked() const;
    /// Asked for and not there: what an unknown one may be meant to be.
    [[nodiscard]] std::vector<std::string> const& missing() const { return missing_; }
    [[nodiscard]] std::string const& where() const { return where_; }

private:
    struct Value {
        std::string text;
        bool asked = false;
    };
    friend class YamlReader;
    std::map<std::string, Value> values_;
    std::vector<std::string> missing_;
    std::string where_;
};

}  // namespace sextant
