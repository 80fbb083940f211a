#pragma once

#include <cstdint>
#include <vector>

#include "kernels/harness/bench.hpp"

/// The shapes that the benchmarks measure. Quick lists are a part of the full ones.
namespace sextant::bench::shapes {

struct Gemm {
    std::int64_t m, n, k;
    bool operator==(Gemm const&) const = default;
};
/// m tokens times the weight shapes (n outputs, k inputs) of layers of 1 to 70 billion parameter models, squares, and
/// ragged sizes that no tile divides.
std::vector<Gemm> gemm(Effort effort);

struct Grouped {
    std::int64_t groups, m, n, k;  ///< m tokens in each group
};
/// Experts of mixture-of-experts layers.
std::vector<Grouped> grouped_gemm(Effort effort);

struct Attention {
    std::int64_t batch, seq_q, seq_kv, heads, kv_heads, head_dim;
    bool causal;
};
std::vector<Attention> attention(Effort effort);
/// seq_q = 1: one new token against a cache.
std::vector<Attention> decode(Effort effort);

struct Rows {
    std::int64_t rows, columns;
};
/// [tokens, hidden] of the memory-bound kernels.
std::vector<Rows> activations(Effort effort);
/// [tokens, vocabulary].
std::vector<Rows> logits(Effort effort);
/// Elements of an optimizer step.
std::vector<std::int64_t> parameters(Effort effort);

/// Powers of `factor` from `first` to `last` bytes.
std::vector<std::int64_t> message_bytes(std::int64_t first, std::int64_t last, std::int64_t factor);

/// 2, 4, 8 ... below `most`, and `most`; empty under 2.
std::vector<std::int64_t> rank_counts(std::int64_t most);

}  // namespace sextant::bench::shapes
