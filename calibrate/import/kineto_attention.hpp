#pragma once

#include "calibrate/import/importer.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// A fused attention operator: which axis of its queries and keys is the sequence (the heads are the other of 1 and 2),
/// and which arguments say what drops out, whether there is a causal mask, which window limits the keys and what the
/// scores are capped at (0: none does). The queries are the first argument, of a backward pass the second.
/// Source: PyTorch aten/src/ATen/native/native_functions.yaml; github.com/Dao-AILab/flash-attention
/// flash_attn/flash_attn_interface.py.
struct AttentionOperator {
    std::string_view name;
    std::string_view library;  ///< as kernels/train_step/attention.py calls it
    std::size_t sequence, dropout, causal, window, soft_cap = 0;
    [[nodiscard]] bool backward() const { return name.ends_with("_backward"); }
};

/// The operator of this name; null when there is no model of it.
AttentionOperator const* attention_operator(std::string_view name);

/// Arguments of such an operator, as the trace writes them; empty: not at all.
struct KinetoAttention {
    std::vector<std::vector<std::int64_t>> sizes;
    std::string dtype, cache_dtype;  ///< of queries and keys
    std::string dropout, causal, window, soft_cap;
};

/// The row of such an operator; its source, device and time are left empty.
/// @throws RowSkip where it is no causal attention over the keys of its own sequences, or the shapes are missing.
ImportedAttention kineto_attention(AttentionOperator const& of, KinetoAttention const& arguments);

}  // namespace sextant
