#pragma once

#include <cstdint>
#include <vector>

/// What each kernel should compute, in double precision and written to be read: one loop per sum, no blocking.
namespace sextant::bench::reference {

using Values = std::vector<double>;

/// sum_i a_i b_i.
double dot(Values const& a, Values const& b);

/// Settings of a normalisation; RMSNorm has no mean and no bias. Source: Zhang and Sennrich, arXiv:1910.07467; Ba et
/// al., arXiv:1607.06450.
enum class Norm { rms, layer };
inline constexpr double norm_epsilon = 1e-5;

/// One row: y = (x - mean) / sqrt(var + epsilon) * w + b, with mean = 0, var = mean(x^2) and no b for RMS.
Values norm(Norm kind, Values const& x, Values const& weight, Values const& bias);
/// dx of one row; `d_weight` and `d_bias` are added to.
Values norm_backward(Norm kind, Values const& x, Values const& weight, Values const& dy, Values& d_weight,
                     Values& d_bias);

/// silu(g) u. Source: Shazeer, arXiv:2002.05202.
double swiglu(double gate, double up);
struct GatedGradient {
    double gate;
    double up;
};
GatedGradient swiglu_backward(double gate, double up, double dy);

/// GELU in its tanh form. Source: Hendrycks and Gimpel, arXiv:1606.08415.
double gelu(double x);
double gelu_backward(double x, double dy);

/// Angle of pair `pair` at `position`: position * base^(-2 pair / head_dim). Source: Su et al., arXiv:2104.09864.
double rotary_angle(std::int64_t position, std::int64_t pair, std::int64_t head_dim, double base = 10000.0);
/// Rotates element `pair` with element `pair + head_dim / 2` (the half-split layout of Llama checkpoints).
void rotate(Values& head, std::int64_t position);

/// -log softmax(logits)[target].
double cross_entropy(Values const& logits, std::int64_t target);
/// softmax(logits) - onehot(target), times `scale`.
Values cross_entropy_backward(Values const& logits, std::int64_t target, double scale);
Values softmax(Values const& logits);

/// Settings of one AdamW step. Source: Loshchilov and Hutter, arXiv:1711.05101, algorithm 2 with decoupled decay.
struct AdamW {
    double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0.1;
    std::int64_t step = 10;
};
/// Updates parameter p and moments m, v with gradient g.
void adamw(AdamW const& settings, double g, double& p, double& m, double& v);

/// One head of attention: q [seq_q, head_dim], k and v [seq_kv, head_dim]. Causal: query i sees keys
/// j <= i + seq_kv - seq_q. scale = 1 / sqrt(head_dim).
struct Head {
    std::int64_t seq_q, seq_kv, head_dim;
    bool causal;
    bool sees(std::int64_t query, std::int64_t key) const { return !causal || key <= query + seq_kv - seq_q; }
};
struct AttentionOutput {
    Values out;  ///< [seq_q, head_dim]
    Values lse;  ///< [seq_q], log of the sum of exponentials
};
AttentionOutput attention(Head const& head, Values const& q, Values const& k, Values const& v);
/// One query row of the same: `q` is [head_dim] of query `query`.
Values attention_row(Head const& head, std::int64_t query, Values const& q, Values const& k, Values const& v);
struct AttentionGradient {
    Values dq, dk, dv;
};
/// Gradients for d_out [seq_q, head_dim]. Source: Dao, arXiv:2307.08691, section 3 (the textbook form of it).
AttentionGradient attention_backward(Head const& head, Values const& q, Values const& k, Values const& v,
                                     Values const& d_out);
/// dq of one query: `q` and `d_out` are [head_dim] of query `query`.
Values attention_row_backward(Head const& head, std::int64_t query, Values const& q, Values const& k, Values const& v,
                              Values const& d_out);
/// One query head as its backward pass has it: q and d_out [seq_q, head_dim], lse and delta = sum(out d_out) [seq_q].
struct QueryHead {
    Values q, d_out, lse, delta;
};
struct KeyGradient {
    Values dk, dv;  ///< [head_dim]
};
/// Adds to the gradient of one key what a query head gives; `k` and `v` are [head_dim] of key `key`.
void add_key_gradient(Head const& head, std::int64_t key, QueryHead const& queries, Values const& k, Values const& v,
                      KeyGradient& gradient);

}  // namespace sextant::bench::reference
