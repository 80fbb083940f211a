#include "core/json/object_reader.hpp"
#include "core/json/text_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace sextant {
namespace {

using Json = nlohmann::json;

constexpr int deepest = 100;  // nested lists and objects; nothing we read comes near it

/// "line 3, column 7" of a byte offset counted from one.
std::string place_of(std::string_view text, std::size_t byte) {
    auto const before = text.substr(0, std::min(text.size(), byte > 0 ? byte - 1 : 0));
    auto const line = std::count(before.begin(), before.end(), '\n') + 1;
    auto const line_start = before.rfind('\n');
    auto const column = line_start == std::string_view::npos ? before.size() + 1 : before.size() - line_start;
    return fmt::format("line {}, column {}", line, column);
}

/// What the parser found wrong, without its own prefix and position.
std::string problem_of(std::string_view what) {
    for (std::string_view const separator : {" - ", ": "})
        if (auto const found = what.find(separator); found != std::string_view::npos)
            return std::string(what.substr(found + separator.size()));
    if (auto const end = what.find("] "); what.starts_with('[') && end != std::string_view::npos)
        what.remove_prefix(end + 2);  // the library's name of the error
    return std::string(what);
}

/// What was read last may be a long text.
std::string shortened(std::string problem) {
    constexpr std::size_t longest = 120;
    if (problem.size() <= longest) return problem;
    problem.resize(longest);
    return problem + "...";
}

/// Refuses what the parser would take silently: a key given twice, and nesting that only an attack has.
class StrictnessCheck {
public:
    explicit StrictnessCheck(std::string const& name) : name_(name) {}

    bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
        switch (event) {
            case Json::parse_event_t::object_start:
            case Json::parse_event_t::array_start:
                if (depth > deepest)
                    throw InputError("{}: nested deeper than {} levels (it is not one of our files)", name_, deepest);
                if (event == Json::parse_event_t::object_start) open_.emplace_back();
                break;
            case Json::parse_event_t::key: {
                auto const& key = parsed.get_ref<std::string const&>();
                if (!open_.back().insert(key).second)
                    throw InputError("{}: the key '{}' is given twice in the same object (once is allowed)", name_,
                                     key);
                break;
            }
            case Json::parse_event_t::object_end: open_.pop_back(); break;
            default: break;
        }
        return true;
    }

private:
    std::string const& name_;
    std::vector<std::set<std::string>> open_;
};

}  // namespace

JsonDocument::JsonDocument(std::shared_ptr<Json const> root, std::string name)
    : root_(std::move(root)), name_(std::move(name)) {}

JsonDocument JsonDocument::from_file(std::string const& path) { return from_text(read_text_file(path), path); }

JsonDocument JsonDocument::from_text(std::string_view text, std::string name) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        throw InputError("{}: is empty (a JSON object is expected)", name);
    StrictnessCheck check(name);
    try {
        auto root = std::make_shared<Json const>(Json::parse(
            text,
            [&check](int depth, Json::parse_event_t event, Json& parsed) { return check(depth, event, parsed); }));
        return {std::move(root), std::move(name)};
    } catch (Json::parse_error const& error) {
        if (text.find('\0') != std::string_view::npos)
            throw InputError("{}: is binary, not valid JSON (a JSON file is expected)", name);
        // What is cut off is read to its end; what is no JSON at all fails at its first character.
        std::string_view const remedy = error.byte >= text.size() ? "; the file ends too early: is it whole?"
                                        : error.byte <= 1         ? "; a JSON file is expected here"
                                                                  : "";
        throw InputError("{}: {}: not valid JSON ({}{})", name, place_of(text, error.byte),
                         shortened(problem_of(error.what())), remedy);
    } catch (Json::exception const& error) {  // a number beyond the range of a double
        throw InputError("{}: not readable JSON ({})", name, problem_of(error.what()));
    }
}

JsonDocument JsonDocument::from_embedded(EmbeddedText const& file, std::string_view folder) {
    return {std::make_shared<Json const>(Json::parse(file.text)), fmt::format("{}/{}.json", folder, file.name)};
}

}  // namespace sextant
