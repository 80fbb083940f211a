#pragma once

#include <string>

namespace sextant {

/// A document of nlohmann's as text: on one line, or indented by so many spaces. Bytes that are no UTF-8, which names
/// of files and cells of tables may hold, become U+FFFD: JSON cannot say them.
template <class Document>
std::string json_text(Document const& document, int indent = -1) {
    return document.dump(indent, ' ', false, Document::error_handler_t::replace);
}

}  // namespace sextant
