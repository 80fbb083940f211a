#include "core/graph/shapes.hpp"

#include <algorithm>

namespace sextant {

void append_recurrence(BlockBuilder& b, RecurrentSpec const& r) {
    std::int64_t const tp = b.plan.tp;
    auto const tokens = static_cast<double>(b.tokens);
    std::int64_t const heads = r.heads / tp;
    std::int64_t const key_heads = std::max<std::int64_t>(1, r.key_heads / tp);
    std::int64_t const keys = 2 * key_heads * r.key_head_dim;
    std::int64_t const values = heads * r.value_head_dim;
    auto const mixed = static_cast<double>(keys + values);
    auto const output = static_cast<double>(values);
    // The delta rule's queries and keys are written once for each value head that they serve. Source:
    // Qwen3NextGatedDeltaNet of transformers 4.57, GatedDeltaNet of Megatron-Core.
    bool const repeats = r.rule == StateRule::delta && heads > key_heads;
    auto const repeated = static_cast<double>(2 * heads * r.key_head_dim);

    b.enter_tensor_region("recurrent in", {}, b.plan.precision);
    b.gemm("recurrent in", Split::output, keys + 2 * values + r.gates() * heads, b.model.hidden);
    b.keep("queries, keys, values and gate", "2 T (2 g d_k + 2 H d_v) / t", 2 * tokens * (mixed + output));
    // Reads and writes every channel, with SiLU; backward reads the input and a gradient and writes one.
    b.streaming("convolution", 4 * tokens * mixed, 1.5);
    if (repeats) b.streaming("repeat queries and keys", 2 * tokens * (static_cast<double>(keys) + repeated), 1.0);
    b.block.ops.push_back({.name = "recurrence",
                           .what = Recurrence{.batch = b.documents,
                                              .tokens = b.document / b.plan.cp,
                                              .heads = heads,
                                              .key_heads = repeats ? heads : key_heads,
                                              .key_dim = r.key_head_dim,
                                              .value_dim = r.value_head_dim,
                                              .chunk = r.chunk,
                                              .rule = r.rule}});
    if (r.rule == StateRule::delta) {
        b.keep("convolved queries, keys, values", "2 T (2 H d_k + H d_v) / t", 2 * tokens * (repeated + output));
        b.keep("what a chunk writes, solved", "2 T H C / t", 2 * tokens * static_cast<double>(heads * r.chunk));
    }
    b.keep("recurrence output", "2 T H d_v / t", 2 * tokens * output);
    // Norm of the output times SiLU of the gate.
    b.streaming("gated norm", 6 * tokens * output, 5.0 / 3);
    if (b.needs_input({})) b.keep_input("gated output", "2 T H d_v / t", 2 * tokens * output);
    b.gemm("recurrent out", Split::input, b.model.hidden, values);
    b.leave_tensor_region("recurrent out", b.plan.precision);
}

}  // namespace sextant
