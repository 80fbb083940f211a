#include "cli/view/latency_text.hpp"

#include <fmt/format.h>

namespace sextant::cli {

std::string latency_text(Seconds time) {
    double const ms = time.in(units::ms);
    if (ms >= 1000) return fmt::format("{:.3g} s", ms / 1000);
    return ms >= 100 ? fmt::format("{:.0f} ms", ms) : fmt::format("{:.3g} ms", ms);
}

}  // namespace sextant::cli
