#pragma once

#include "core/embedded_text.hpp"

namespace sextant {

/// The style and the scripts of every page.
std::span<EmbeddedText const> embedded_page_assets();

}  // namespace sextant
