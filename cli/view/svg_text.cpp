#include "cli/view/svg_text.hpp"

namespace sextant::cli {

std::string xml(std::string_view text) {
    std::string out;
    for (char const c : text) {
        switch (c) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return out;
}

}  // namespace sextant::cli
