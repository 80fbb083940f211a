#pragma once

#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sextant {

/// Layers of one chunk, or of one pipeline rank over all its chunks: how many of each kind (in the order of
/// `StageLayout::kinds`).
struct StageContent {
    std::vector<std::int64_t> layers_of_kind;
    std::int64_t layers = 0;
    bool embedding = false;  ///< holds the embedding end
    bool head = false;       ///< holds final norm, output matrix, loss
    auto operator<=>(StageContent const&) const = default;
    StageContent& operator+=(StageContent const& other);
};

/// Which layers lie on which pipeline rank.
struct StageLayout {
    std::vector<LayerKind> kinds;            ///< the distinct kinds of the model
    std::vector<std::size_t> layer_kinds;    ///< which of them each layer is, in model order
    std::vector<std::int64_t> chunk_layers;  ///< layers of each of the pp * vpp chunks in model order
    std::vector<StageContent> chunks;        ///< what they hold; where they lie is up to the schedule (`traits_of`)
    std::vector<StageContent> stages;        ///< one per pipeline rank: all that it holds
    std::int64_t copies = 1;                 ///< ranks that hold each chunk
};

/// True if `layers` can be laid on pp x vpp chunks: at least one layer per chunk for vpp = 1; for interleaving equal
/// chunks, where the first and last may be one layer short for embedding and head (Llama 3.1 405B: 126 layers on 16
/// stages, arXiv:2407.21783 sec. 3.3.2), and the last two more for each prediction module.
bool can_split(std::int64_t layers, std::int64_t pp, std::int64_t vpp, std::int64_t mtp_modules = 0);
bool can_split(ModelSpec const& model, std::int64_t pp, std::int64_t vpp);

/// Layers of each chunk where a plan leaves them open.
///
/// Equal chunks where that is possible and nothing asks for others, as frameworks divide them without being told. Else
/// the longest chunk is as short as it can be, where the last counts one more for the head, as Megatron-Core
/// (`account_for_loss_in_pipeline_split`) and torchtitan count it, and for each multi-token-prediction module two, a
/// layer and a head: 61 layers and a module on 16 chunks are 15 times 4 and 1, on 32 they are 1, 30 times 2 and 0. What
/// the others cannot share evenly the last of them hold, which have the fewest microbatches in flight.
/// Source: the pipeline layouts of Megatron-Bridge's DeepSeek-V3 recipes.
/// @pre can_split
std::vector<std::int64_t> balanced_split(std::int64_t layers, std::int64_t pp, std::int64_t vpp,
                                         std::int64_t mtp_modules = 0);
std::vector<std::int64_t> balanced_split(ModelSpec const& model, std::int64_t pp, std::int64_t vpp);

/// @pre the plan is valid for the model.
StageLayout lay_out_stages(ModelSpec const& model, ParallelPlan const& plan);

}  // namespace sextant
