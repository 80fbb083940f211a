#pragma once

#include "core/ops/op.hpp"

namespace sextant {

/// What one pass of an op asks of the machine.
struct Work {
    Flops executed;  ///< what the kernels run: causal kernels skip the masked half of the scores
    Flops model;  ///< as MFU counts it: attention over the full sequence square (PaLM app. B, arXiv:2104.04473 app. A)
    Bytes moved;  ///< read and written in device memory by a kernel that reads each operand once
    Bytes sent;   ///< size of the collective, in nccl-tests' sense

    constexpr Work& operator+=(Work const& other) {
        executed += other.executed;
        model += other.model;
        moved += other.moved;
        sent += other.sent;
        return *this;
    }
};

/// Every FLOP and byte formula of the project.
///
/// GEMM forward: 2 m n k FLOPs, e (m k + k n) + 2 m n bytes (operands of e bytes, 2-byte or wider result); backward:
/// input gradient [m, n] x [n, k] plus, but for a frozen weight, weight gradient [k, m] x [m, n], so 4 m n k or 2.
/// Attention forward: 2 b a q K (d + d_v) FLOPs over K keys; flash kernels run half of it under a causal mask and read
/// q, k, v once; without one the products are run over every key, masked or beyond the window as well, and the scores
/// are moved, 4 bytes each by the products (backward 8) and `softmax_bytes` between them. Backward: 2x the matrix
/// products, 2.5x with flash, which computes the scores again (arXiv:2205.14135). Recurrence forward, per token and
/// value head with keys of d_k and values of d_v, in chunks of C: the decay rule runs 2 C d_v + 4 d_k d_v FLOPs, and
/// 2 C d_k for each head of keys, the delta rule 2 C (3 d_k + 2 d_v) + 2 C^2 / 3 + 6 d_k d_v, which solves a triangular
/// system of each chunk for what it writes; queries, keys, values and the output are moved once, and the states of the
/// chunks in fp32 are written and read. MFU counts 7 d_k d_v and 8 d_k d_v, as Megatron-LM does. Backward: 2.5 times
/// the products and three times the bytes (assumed, as of attention). Streaming ops: their bytes. Collectives: their
/// size.
Work work_of(Op const& op, Pass pass);

/// Products of a fused attention's backward pass against those of its forward pass: five to two, the scores computed
/// again among them. Source: arXiv:2307.08691 sec. 4.1.
inline constexpr double flash_backward_work = 2.5;

/// Mean number of keys a query attends to, counted the way MFU does (no causal saving): min(window, keys), or all.
std::int64_t attended_keys(Attention const& attention);
/// Fraction of `attended_keys` that a kernel which skips masked blocks computes: one half for a full causal square,
/// near one for a window much shorter than the sequence and where most keys lie before the first query; one without a
/// mask.
double causal_fraction(Attention const& attention);

/// Scores of attention that has them in memory: those of every query with every key, whatever the mask and the window
/// leave of them.
double scores_in_memory(Attention const& attention);
/// Bytes of what runs between the products of attention whose scores stand in memory: mask, softmax, dropout. A causal
/// softmax reads the half that the mask leaves and writes all (`scaled_upper_triang_masked_softmax` of Megatron-LM).
Bytes softmax_bytes(Attention const& attention, Pass pass);

/// Bytes of the states that a recurrence carries, of all its sequences, in fp32.
Bytes state_bytes(Recurrence const& recurrence);

}  // namespace sextant
