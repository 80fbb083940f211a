#pragma once

#include <cstddef>
#include <string_view>

namespace sextant {

/// A fused attention operator of PyTorch: which axis of its queries and keys is the sequence (the heads are the other
/// of 1 and 2), and which argument drops out, after which the mask's follows, and which limits the window (0: none
/// does). The queries are the first argument, of a backward pass the second.
/// Source: PyTorch aten/src/ATen/native/native_functions.yaml.
struct AttentionOperator {
    std::string_view name;
    std::string_view library;  ///< as kernels/train_step/attention.py calls it
    std::size_t sequence, dropout, window;
    [[nodiscard]] bool backward() const { return name.ends_with("_backward"); }
};

/// The operator of this name; null when there is no model of it.
AttentionOperator const* attention_operator(std::string_view name);

}  // namespace sextant
