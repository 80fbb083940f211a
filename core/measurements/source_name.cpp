#include "core/measurements/source_name.hpp"

#include "core/text.hpp"
#include "core/words.hpp"

namespace sextant {

bool is_aiconfigurator(std::string_view reference) { return has(lower_case(reference), "aiconfigurator"); }

std::string source_name(std::string_view reference) {
    reference = trimmed(reference);
    if (is_aiconfigurator(reference)) {
        std::string name = "github.com/ai-dynamo/aiconfigurator";
        std::string const lower = lower_case(reference);
        for (char const* engine : {"vllm", "sglang"})
            if (has(lower, engine)) name += std::string(" ") + engine;
        return name;
    }
    constexpr std::string_view bench = "sextant-bench";
    if (reference == bench || reference.starts_with("sextant-bench ")) return std::string(bench);
    return std::string(reference);
}

}  // namespace sextant
