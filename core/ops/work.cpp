#include "core/ops/work.hpp"

#include "core/spec/working_format.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

using units::B;
using units::flop;

Work gemm_work(double groups, double m, double n, double k, Precision precision, Gradients gradients, Pass pass) {
    double const operand = bytes_per_element(precision);
    double const result = working_bytes(precision);  // of a result or gradient
    double const flops = 2 * m * n * k;
    double const x = m * k;
    double const w = groups * k * n;
    double const y = m * n;
    Work work;
    if (pass == Pass::forward) {
        work.executed = flops * flop;
        work.moved = (operand * (x + w) + result * y) * B;
    } else {
        bool const frozen = gradients == Gradients::input;
        double const weight_gradient = frozen ? 0 : operand * (x + y) + result * w;
        work.executed = (frozen ? 1 : 2) * flops * flop;  // dX = dY W^T and dW = X^T dY
        work.moved = (operand * (y + w) + result * x + weight_gradient) * B;
    }
    work.model = work.executed;
    return work;
}

Work attention_work(Attention const& a, Pass pass) {
    bool const flash = a.kernel == AttentionKernel::flash;
    auto const tokens = static_cast<double>(a.batch * a.queries);
    auto const widths = static_cast<double>(a.head_dim + a.value_head_dim);
    double const width = working_width(a.precision);
    double const query_bytes = 2 * width * tokens * static_cast<double>(a.heads) * widths;
    double const key_bytes =
        2 * width * static_cast<double>(a.batch * a.keys) * static_cast<double>(a.kv_heads) * widths;
    double const attended = 2 * tokens * static_cast<double>(a.heads * attended_keys(a)) * widths;
    double const forward = flash ? attended * causal_fraction(a) : 2 * scores_in_memory(a) * widths;
    Work work;
    if (pass == Pass::forward) {
        work.model = attended * flop;
        work.executed = forward * flop;
        work.moved = (query_bytes + key_bytes) * B;
    } else {
        work.model = 2 * attended * flop;
        work.executed = (flash ? flash_backward_work : 2.0) * forward * flop;
        work.moved = 2 * (query_bytes + key_bytes) * B;
    }
    // Products write and read the scores, backward their gradients too.
    if (!flash)
        work.moved += (pass == Pass::forward ? 4 : 8) * width * scores_in_memory(a) * B + softmax_bytes(a, pass);
    return work;
}

Work recurrence_work(Recurrence const& r, Pass pass) {
    double const tokens = static_cast<double>(r.batch * r.tokens);
    double const steps = tokens * static_cast<double>(r.heads);
    double const key_steps = tokens * static_cast<double>(r.key_heads);
    auto const key = static_cast<double>(r.key_dim);
    auto const value = static_cast<double>(r.value_dim);
    double const state = key * value;
    auto const chunk = static_cast<double>(std::min(r.chunk, r.tokens));
    bool const delta = r.rule == StateRule::delta;
    // Scores C B^T are one product for all heads that share B and C; the decay of each head comes to them after that.
    // Source: state-spaces/mamba, ssd_bmm.py (`_bmm_chunk_fwd` over groups).
    double const scores = delta ? 0 : key_steps * 2 * chunk * key;
    double const products =
        delta ? 2 * chunk * (3 * key + 2 * value) + 2 * chunk * chunk / 3 + 6 * state : 2 * chunk * value + 4 * state;
    double const operands = 2 * 2 * key_steps * key + 4 * steps * value;
    double const chunks = static_cast<double>((r.tokens + r.chunk - 1) / r.chunk);
    Work work;
    work.executed = (scores + steps * products) * flop;
    work.model = steps * (delta ? 8 : 7) * state * flop;
    work.moved = operands * B + 2 * chunks * state_bytes(r);
    if (pass == Pass::backward) {
        work.executed *= 2.5;
        work.model *= 2;
        work.moved *= 3;
    }
    return work;
}

}  // namespace

double scores_in_memory(Attention const& a) {
    return static_cast<double>(a.batch * a.heads) * static_cast<double>(a.queries) * static_cast<double>(a.keys);
}

Bytes softmax_bytes(Attention const& a, Pass pass) {
    double const width = working_width(a.precision);
    // A score read and written, and a byte of its mask.
    double const dropout = a.dropout == Switch::on ? 4 * width + 1 : 0;
    double per_score = 0;
    switch (a.kernel) {
        case AttentionKernel::flash: return {};
        case AttentionKernel::unfused: {
            double const read = a.causal == Switch::on ? 0.5 : 1.0;
            per_score = width * (2 + (pass == Pass::forward ? 2 : 4) * read);
            break;
        }
        // To fp32, scale, mask, softmax, back to 16 bits: each reads and writes what it works on. Casts from two bytes.
        case AttentionKernel::eager:
            per_score = (pass == Pass::forward ? 8 + 8 + 8 : 12 + 8 + 8) + (width > 1 ? 0 : 6 + 6);
            break;
    }
    return (per_score + dropout) * scores_in_memory(a) * B;
}

Bytes state_bytes(Recurrence const& r) {
    return 4.0 * static_cast<double>(r.batch * r.heads) * static_cast<double>(r.key_dim * r.value_dim) * B;
}

std::int64_t attended_keys(Attention const& attention) {
    return attention.window > 0 ? std::min(attention.window, attention.keys) : attention.keys;
}

double causal_fraction(Attention const& attention) {
    double const window = static_cast<double>(attended_keys(attention));
    double const keys = static_cast<double>(attention.keys);
    auto const past = static_cast<double>(attention.past);
    if (keys <= past || attention.causal == Switch::off) return 1;
    // Query i sees min(i, window) keys: the mean over i, divided by the window.
    auto const seen_before = [&](double i) { return i < window ? i * i / (2 * window) : i - window / 2; };
    return (seen_before(keys) - seen_before(past)) / (keys - past);
}

Work work_of(Op const& op, Pass pass) {
    if (!op.in(pass)) return {};
    struct Visitor {
        Pass pass;
        Work operator()(Gemm const& g) const {
            return gemm_work(1, static_cast<double>(g.m), static_cast<double>(g.n), static_cast<double>(g.k),
                             g.precision, g.gradients, pass);
        }
        Work operator()(GroupedGemm const& g) const {
            return gemm_work(static_cast<double>(g.groups), static_cast<double>(g.m), static_cast<double>(g.n),
                             static_cast<double>(g.k), g.precision, g.gradients, pass);
        }
        Work operator()(Attention const& a) const { return attention_work(a, pass); }
        Work operator()(Recurrence const& r) const { return recurrence_work(r, pass); }
        Work operator()(Streaming const& s) const {
            Work work;
            work.moved = pass == Pass::forward ? s.forward : s.backward;
            return work;
        }
        Work operator()(Collective const& c) const {
            Work work;
            work.sent = c.bytes;
            return work;
        }
    };
    return std::visit(Visitor{pass}, op.what);
}

std::int64_t GroupedGemm::busiest_rows() const { return std::llround(static_cast<double>(m) * busiest); }

OpClass Op::op_class() const {
    struct Visitor {
        OpClass operator()(Gemm const&) const { return OpClass::gemm; }
        OpClass operator()(GroupedGemm const&) const { return OpClass::gemm; }
        OpClass operator()(Attention const&) const { return OpClass::attention; }
        OpClass operator()(Recurrence const&) const { return OpClass::attention; }
        OpClass operator()(Streaming const&) const { return OpClass::streaming; }
        OpClass operator()(Collective const&) const { return OpClass::communication; }
    };
    return std::visit(Visitor{}, what);
}

std::string_view name_of(CollectiveKind kind) {
    switch (kind) {
        case CollectiveKind::all_reduce: return "all_reduce";
        case CollectiveKind::all_gather: return "all_gather";
        case CollectiveKind::reduce_scatter: return "reduce_scatter";
        case CollectiveKind::all_to_all: return "alltoall";
        case CollectiveKind::broadcast: return "broadcast";
        case CollectiveKind::send_receive: return "sendrecv";
    }
    return "?";
}

std::string_view name_of(GroupKind group) {
    switch (group) {
        case GroupKind::tensor: return "tp";
        case GroupKind::context: return "cp";
        case GroupKind::expert: return "ep";
        case GroupKind::expert_tensor: return "expert tp";
        case GroupKind::data: return "dp";
        case GroupKind::expert_data: return "expert dp";
        case GroupKind::pipeline: return "pp";
    }
    return "?";
}

}  // namespace sextant
