#include "cli/page/html_text.hpp"

#include <algorithm>
#include <cassert>

namespace sextant::cli {

std::string html(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (char const c : text) {
        switch (c) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            default: out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
        }
    }
    return out;
}

std::string script_json(std::string_view json) {
    assert(std::all_of(json.begin(), json.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
    std::string out;
    out.reserve(json.size());
    for (char const c : json) {
        switch (c) {
            case '<': out += "\\u003c"; break;
            case '>': out += "\\u003e"; break;
            case '&': out += "\\u0026"; break;
            default: out += c;
        }
    }
    return out;
}

}  // namespace sextant::cli
