#include "calibrate/import/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant {

std::string text_in(nlohmann::json const& object, char const* key) {
    if (!object.is_object()) return "";
    auto const found = object.find(key);
    if (found == object.end() || found->is_null()) return "";
    return found->is_string() ? found->get<std::string>() : found->dump();
}

}  // namespace sextant
