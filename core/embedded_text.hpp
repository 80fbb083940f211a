#pragma once

#include <span>
#include <string_view>

namespace sextant {

/// A data file compiled into the program: its name without folder and extension, and its text.
struct EmbeddedText {
    std::string_view name;
    std::string_view text;
};

std::span<EmbeddedText const> embedded_models();
std::span<EmbeddedText const> embedded_accelerators();
std::span<EmbeddedText const> embedded_clusters();
std::span<EmbeddedText const> embedded_frameworks();
std::span<EmbeddedText const> embedded_engines();
std::span<EmbeddedText const> embedded_networks();
std::span<EmbeddedText const> embedded_kernels();
std::span<EmbeddedText const> embedded_measurements();

}  // namespace sextant
