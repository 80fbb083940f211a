#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sextant {

/// What one chunk of a pipeline holds.
struct LayoutStage {
    std::int64_t embeddings = 0;
    std::int64_t layers = 0;
    std::int64_t predictions = 0;  ///< multi-token-prediction modules
    std::int64_t losses = 0;
    auto operator<=>(LayoutStage const&) const = default;
};

/// Chunks in model order from Megatron-Core's `--pipeline-model-parallel-layout`: E the embedding, t a layer, m a
/// prediction module, L the loss, | the end of a chunk; x*3 and (x|)*3 repeat, commas do nothing.
/// "Et*3|(tt|)*2mL" is E and 3 layers, 2, 2, and m with L.
/// Source: Megatron-Core, docs of custom pipeline layouts.
/// @throws RowSkip for a text that does not read so.
std::vector<LayoutStage> pipeline_layout(std::string_view text);

}  // namespace sextant
