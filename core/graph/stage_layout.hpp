#pragma once

#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

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
    std::vector<std::int64_t> chunk_layers;  ///< layers of each of the pp * vpp chunks in model order
    std::vector<StageContent> chunks;        ///< what they hold; where they lie is up to the schedule (`traits_of`)
    std::vector<StageContent> stages;        ///< one per pipeline rank: all that it holds
    std::int64_t copies = 1;                 ///< ranks that hold each chunk
};

/// True if `layers` can be laid on pp x vpp chunks: at least one layer per chunk for vpp = 1; for interleaving equal
/// chunks, where the first and last may be one layer short for embedding and head (Llama 3.1 405B: 126 layers on 16
/// stages, arXiv:2407.21783 sec. 3.3.2).
bool can_split(std::int64_t layers, std::int64_t pp, std::int64_t vpp);

/// Layers of each chunk: as even as possible. When layers + 2 (or + 1) is a multiple of the chunks, first and last (or
/// last) are one short, since they also hold embedding and head; any other remainder goes to the chunks before the
/// last, which hold the fewest microbatches in flight.
/// @pre can_split
std::vector<std::int64_t> balanced_split(std::int64_t layers, std::int64_t pp, std::int64_t vpp);

/// @pre the plan is valid for the model.
StageLayout lay_out_stages(ModelSpec const& model, ParallelPlan const& plan);

}  // namespace sextant
