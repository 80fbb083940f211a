#include "core/json/foreign_fields.hpp"

#include "core/text.hpp"
#include "core/utf8.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>
#include <utility>

namespace sextant {
namespace {

/// Python writes numbers that are none as words, which JSON has not: a request rate without a limit is Infinity.
std::string without_words_of_python(std::string_view text) {
    std::string out(text);
    for (auto const& [word, json] :
         {std::pair{": Infinity", ": \"inf\""}, std::pair{": -Infinity", ": null"}, std::pair{": NaN", ": null"}})
        for (auto at = out.find(word); at != std::string::npos; at = out.find(word, at))
            out.replace(at, std::string_view(word).size(), json);
    return out;
}

}  // namespace

std::optional<double> foreign_number(nlohmann::json const& object, char const* key) {
    if (!object.is_object()) return std::nullopt;
    auto const found = object.find(key);
    if (found == object.end()) return std::nullopt;
    double value = NAN;
    if (found->is_number()) {
        value = found->get<double>();
    } else if (found->is_string()) {
        auto const& text = found->get_ref<std::string const&>();
        auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    }
    return std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

std::string foreign_text(nlohmann::json const& object, char const* key) {
    if (!object.is_object()) return "";
    auto const found = object.find(key);
    if (found == object.end() || found->is_null()) return "";
    if (found->is_number_float()) return fmt::format("{:.7g}", found->get<double>());
    return found->is_string() ? found->get<std::string>() : found->is_number() ? found->dump() : "";
}

std::vector<nlohmann::json> foreign_documents(std::string_view text, std::string const& name) {
    std::string const mended = without_words_of_python(text);
    std::vector<nlohmann::json> out;
    if (nlohmann::json whole = nlohmann::json::parse(mended, nullptr, false); !whole.is_discarded()) {
        out.push_back(std::move(whole));
        return out;
    }
    for (std::size_t begin = 0; begin < mended.size();) {
        std::size_t const end = std::min(mended.find('\n', begin), mended.size());
        std::string_view const line = trimmed(std::string_view(mended).substr(begin, end - begin), " \t\r");
        begin = end + 1;
        if (line.empty()) continue;
        out.push_back(nlohmann::json::parse(line, nullptr, false));
        if (out.back().is_discarded()) throw no_json(text, name);
    }
    if (out.empty()) throw no_json(text, name);
    return out;
}

InputError no_json(std::string_view text, std::string const& name) {
    std::size_t const at = first_byte_outside_utf8(text);
    constexpr std::size_t longest_sequence = 4;  // one that the end cuts off is not wrong
    if (at == std::string_view::npos || text.size() - at < longest_sequence)
        return InputError("{}: is no JSON, or was cut off", name);
    return InputError("{}: line {} has a byte that is no UTF-8 (iconv -c -f UTF-8 -t UTF-8 {} > clean.json drops it)",
                      name, 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'), name);
}

}  // namespace sextant
