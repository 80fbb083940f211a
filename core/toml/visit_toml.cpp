#include "core/toml/visit_toml.hpp"

#include "core/error.hpp"

namespace sextant {
namespace {

void visit_table(std::string const& section, toml::table const& table, TomlVisitor const& visit) {
    for (auto const& [key, value] : table) {
        if (toml::table const* const inner = value.as_table()) {
            std::string const name(key.str());
            visit_table(section.empty() ? name : section + "." + name, *inner, visit);
        } else {
            visit(section, key, value);
        }
    }
}

}  // namespace

void visit_toml(std::string_view text, std::string_view where, TomlVisitor const& visit) {
    try {
        visit_table("", toml::parse(text), visit);
    } catch (toml::parse_error const& error) {
        throw InputError("{}:{}: {} (TOML is expected: lines such as name = \"value\")", where,
                         error.source().begin.line, error.description());
    } catch (BrokenToml const& error) {
        throw InputError("{}: {}", where, error.what());
    }
}

void refuse_broken_toml() { throw BrokenToml("this is not TOML"); }

}  // namespace sextant
