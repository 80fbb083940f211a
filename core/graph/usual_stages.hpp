#pragma once

#include "core/spec/framework_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace sextant {

/// Layers of each stage as nanotron spreads them: by cost, with the output matrix as a block of its own.
/// A stage is closed by the first block that takes the sum over (`Tie::next_stage`: to) its share.
/// Source: the layer counts of stage 0 in the runs of the Ultra-Scale Playbook.
enum class Tie : std::uint8_t { same_stage, next_stage };
std::vector<std::int64_t> cost_balanced_layers(ModelSpec const& model, std::int64_t pp, Tie tie);

/// Layers of interleaved chunks that cannot be equal, as recipes lay them out: full chunks, and what is short is short
/// at the ends, which hold the embedding, the prediction modules and the loss: the last one alone (61 layers on 16
/// chunks: 15 x 4 and 1), or, where that does not do, nothing on the last and the rest on the first (on 32: 1, 30 x 2
/// and 0). Empty if the ends cannot take it all.
/// Source: the pipeline layouts of Megatron-Bridge's DeepSeek-V3 recipes.
std::vector<std::int64_t> short_ended(std::int64_t layers, std::int64_t chunks);

/// Chunks of a model whose layers no number of chunks up to 16 a rank divides evenly on `pp` ranks (61 layers without a
/// prediction module: Kimi K2), short at their ends. Empty for every other model, where the ends cannot take it, and
/// where an eighth more layers would go into the chunks: ranks would wait for as much.
std::vector<std::int64_t> uneven_chunks(ModelSpec const& model, std::int64_t pp, std::int64_t vpp);

/// Layers of each stage where a framework spreads them in a way of its own and the plan leaves them open; what the plan
/// says where that is not so (empty: `balanced_split`). nanotron spreads dense models by cost; it has no chunks.
/// Megatron interleaves `uneven_chunks`. Source: Megatron-Core, pipeline_model_parallel_layout.
std::vector<std::int64_t> usual_stage_layers(FrameworkProfile const& framework, ModelSpec const& model,
                                             ParallelPlan const& plan);

/// The ZeRO stage that a framework runs with where the plan leaves it open: its usual one, 1 with a pipeline that does
/// not go with that.
int usual_zero_stage(FrameworkProfile const& framework, ParallelPlan plan);

/// Whether any layer has a sliding window.
bool slides(ModelSpec const& model);

/// How the ranks of a context-parallel group share keys and values where the plan leaves it open: in the framework's
/// way, and gathered where layers have sliding windows, which do not go round a ring. Source: Transformer Engine,
/// context_parallel.py.
ContextParallel usual_cp_mode(ContextParallel of_framework, ModelSpec const& model);

/// The only way that Transformer Engine has for a model: heads are exchanged where there are sinks, and keys and values
/// of two sizes go round a ring. Nothing where it has several. Source: context_parallel.py, and
/// `get_attention_backend` of dot_product_attention/utils.py, 2.8.
std::optional<ContextParallel> only_cp_mode(ModelSpec const& model);

/// The same of a framework: Megatron, whose attention is Transformer Engine's, has that one where there is only one.
ContextParallel usual_cp_mode(FrameworkProfile const& framework, ModelSpec const& model);

}  // namespace sextant
