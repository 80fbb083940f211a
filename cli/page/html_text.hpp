#pragma once

#include <string>
#include <string_view>

namespace sextant::cli {

/// A text as it has to stand between tags or inside a quoted attribute; control characters become spaces.
std::string html(std::string_view text);

/// JSON as it has to stand inside a script element: nothing in it can end the element or open a comment. The text must
/// be ASCII, as `Json::dump` writes it on request; `<`, `>` and `&`, which stand in strings only, become their escapes.
std::string script_json(std::string_view json);

}  // namespace sextant::cli
