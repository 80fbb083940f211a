#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sextant {

/// The values of a TOML file by their dotted names, "parallelism.tensor_parallel_degree". Each is asked for by name and
/// type; what nobody asked for can be listed.
class TomlValues {
public:
    /// @throws InputError with `where` and the line.
    TomlValues(std::string_view text, std::string_view where);

    [[nodiscard]] bool has(std::string const& name) const { return values_.contains(name); }
    /// @throws InputError: another type, or out of range (`least` to 2^31).
    std::optional<std::int64_t> integer(std::string const& name, std::int64_t least);
    /// At least one, one where it is not there.
    std::int64_t degree(std::string const& name) { return integer(name, 1).value_or(1); }
    std::optional<std::string> text(std::string const& name);
    bool flag(std::string const& name);  ///< false where it is not there
    /// A list of lists of texts; a text where a list could be counts as a list of one.
    std::vector<std::vector<std::string>> lists(std::string const& name);
    /// Whether a list holds this text.
    bool has_text(std::string const& name, std::string_view wanted);

    [[nodiscard]] std::vector<std::string> not_asked() const;
    /// Asked for and not there: what an unknown one may be meant to be.
    [[nodiscard]] std::vector<std::string> const& missing() const { return missing_; }
    [[nodiscard]] std::string const& where() const { return where_; }

private:
    using Lists = std::vector<std::vector<std::string>>;
    /// Numbers with a point, dates and times hold nothing: no importer reads one.
    struct Value {
        std::variant<std::monostate, std::int64_t, std::string, bool, Lists> value;
        bool asked = false;
    };
    /// @throws InputError: there, but of another type.
    template <class T>
    T const* find(std::string const& name, char const* kind);

    friend class TomlReader;
    std::map<std::string, Value> values_;
    std::vector<std::string> missing_;
    std::string where_;
};

}  // namespace sextant
