#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sextant {

/// One of torchtitan's own models: its names, sizes, and the presets that are it. Debug models and those of other
/// versions are not known. Source: torchtitan 0.2.2, torchtitan/models/*/__init__.py.
struct TorchtitanModel {
    std::string_view family, flavor;
    std::int64_t layers, hidden, heads, kv_heads, experts;
    std::array<std::string_view, 3> presets{};
};

inline constexpr std::array torchtitan_models{
    TorchtitanModel{"llama3", "8B", 32, 4096, 32, 8, 0, {"llama-3-8b", "llama-3.1-8b"}},
    TorchtitanModel{"llama3", "70B", 80, 8192, 64, 8, 0, {"llama-3-70b", "llama-3.1-70b", "llama-3.3-70b"}},
    TorchtitanModel{"llama3", "405B", 126, 16384, 128, 8, 0, {"llama-3.1-405b"}},
    TorchtitanModel{"llama4", "17bx16e", 48, 5120, 40, 8, 16},
    TorchtitanModel{"llama4", "17bx128e", 48, 5120, 40, 8, 128},
    TorchtitanModel{"llama4", "17bx16e_irope", 48, 5120, 40, 8, 16, {"llama-4-scout-17b-16e"}},
    TorchtitanModel{"llama4", "17bx128e_irope", 48, 5120, 40, 8, 128, {"llama-4-maverick-17b-128e"}},
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

}  // namespace sextant
