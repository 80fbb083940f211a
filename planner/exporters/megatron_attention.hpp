#pragma once

#include "planner/exporters/exporter.hpp"

namespace sextant {

/// Takes out of a plan what Transformer Engine, whose attention Megatron-Core runs, has no kernel for: a fused one in
/// 32 bits or before Ampere, one that is not fused with context parallelism, latent attention of which the keys do not
/// go round a ring. Source: get_attention_backend of
/// transformer_engine/pytorch/attention/dot_product_attention/utils.py, 2.8.
void translate_megatron_attention(Translation& t, LaunchPlan const& launch);

/// The same for windows and sinks, which only Megatron-LM's arguments have: their keys are gathered or exchanged for
/// heads, those of sinks exchanged alone.
void translate_megatron_windows(Translation& t, ModelSpec const& model);

/// Whether heads are exchanged for parts of the sequence (Ulysses) where the plan has that: tp x cp divides all of
/// them.
bool exchanges_heads(ParallelPlan const& plan, ModelSpec const& model);
/// Notes that context parallelism exchanges heads that its ranks do not divide.
void note_head_exchange(Translation& t, ModelSpec const& model);

/// "flash", "unfused", or "auto" where FlashAttention 2 has no kernel and cuDNN has: sinks, values of another size than
/// keys.
char const* megatron_attention_backend(ParallelPlan const& plan, ModelSpec const& model);

}  // namespace sextant
