#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sextant {

/// 0.2 is configured in TOML, 0.3 in Python.
enum class TorchtitanRelease : std::uint8_t { v0_2, v0_3 };

/// One of torchtitan's own models: its names, sizes, and the presets that are it. Debug models and those of other
/// versions are not known. Source: torchtitan 0.2.2 and 0.3.0, torchtitan/models/*/__init__.py.
struct TorchtitanModel {
    std::string_view family, flavor;
    std::int64_t layers, hidden, heads, kv_heads, experts;
    std::array<std::string_view, 3> presets{};
    bool in_0_2 = true, in_0_3 = true;

    [[nodiscard]] constexpr bool is_in(TorchtitanRelease release) const {
        return release == TorchtitanRelease::v0_2 ? in_0_2 : in_0_3;
    }
};

inline constexpr std::array torchtitan_models{
    TorchtitanModel{"llama3", "1B", 16, 2048, 32, 8, 0, {"llama-3.2-1b"}, false},
    TorchtitanModel{"llama3", "3B", 28, 3072, 24, 8, 0, {"llama-3.2-3b"}, false},
    TorchtitanModel{"llama3", "8B", 32, 4096, 32, 8, 0, {"llama-3-8b", "llama-3.1-8b"}},
    TorchtitanModel{"llama3", "70B", 80, 8192, 64, 8, 0, {"llama-3-70b", "llama-3.1-70b", "llama-3.3-70b"}},
    TorchtitanModel{"llama3", "405B", 126, 16384, 128, 8, 0, {"llama-3.1-405b"}},
    TorchtitanModel{"llama4", "17bx16e", 48, 5120, 40, 8, 16, {}, true, false},
    TorchtitanModel{"llama4", "17bx128e", 48, 5120, 40, 8, 128, {}, true, false},
    TorchtitanModel{"llama4", "17bx16e_irope", 48, 5120, 40, 8, 16, {"llama-4-scout-17b-16e"}, true, false},
    TorchtitanModel{"llama4", "17bx128e_irope", 48, 5120, 40, 8, 128, {"llama-4-maverick-17b-128e"}, true, false},
    TorchtitanModel{"deepseek_v3", "16B", 27, 2048, 16, 16, 64, {"deepseek-v2-lite"}},
    TorchtitanModel{"deepseek_v3", "236B", 60, 5120, 128, 128, 160, {"deepseek-v2"}},
    TorchtitanModel{"deepseek_v3", "671B", 61, 7168, 128, 128, 256, {"deepseek-v3"}},
    TorchtitanModel{"qwen3", "0.6B", 28, 1024, 16, 8, 0, {"qwen3-0.6b"}},
    TorchtitanModel{"qwen3", "1.7B", 28, 2048, 16, 8, 0, {"qwen3-1.7b"}},
    TorchtitanModel{"qwen3", "4B", 36, 2560, 32, 8, 0, {"qwen3-4b", "qwen3-4b-2507"}},
    TorchtitanModel{"qwen3", "8B", 36, 4096, 32, 8, 0, {"qwen3-8b"}},
    TorchtitanModel{"qwen3", "14B", 40, 5120, 40, 8, 0, {"qwen3-14b"}},
    TorchtitanModel{"qwen3", "32B", 64, 5120, 64, 8, 0, {"qwen3-32b"}},
    TorchtitanModel{"qwen3", "30B-A3B", 48, 2048, 32, 4, 128, {"qwen3-30b-a3b", "qwen3-30b-a3b-2507"}},
    TorchtitanModel{"qwen3", "235B-A22B", 94, 4096, 64, 4, 128, {"qwen3-235b-a22b", "qwen3-235b-a22b-2507"}},
    TorchtitanModel{"gpt_oss", "20b", 24, 2880, 64, 8, 32, {"gpt-oss-20b"}},
    TorchtitanModel{"gpt_oss", "120b", 36, 2880, 64, 8, 128, {"gpt-oss-120b"}},
};

/// The model of a preset in a release; none: null.
constexpr TorchtitanModel const* torchtitan_model(std::string_view preset, TorchtitanRelease release) {
    for (TorchtitanModel const& model : torchtitan_models)
        for (std::string_view const name : model.presets)
            if (name == preset && model.is_in(release)) return &model;
    return nullptr;
}

}  // namespace sextant
