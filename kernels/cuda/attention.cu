// Attention forward and backward by our own kernels (FlashAttention-2 in outline), bf16 and fp16. flops of the forward
// pass: 4 batch heads head_dim pairs, pairs = seq_q seq_kv, or the pairs that a causal mask leaves; backward 2.5 times
// as many (five products instead of two). Our backward recomputes two products more, which is not counted. bytes: every
// operand once.
#include "kernels/cuda/kernels/attention.cuh"

#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/generated.cuh"
#include "kernels/harness/references.hpp"
#include "kernels/harness/shapes.hpp"

namespace sextant::bench {
namespace {

using device::AttentionShape;
using reference::Values;

unsigned tiles(std::int64_t rows) { return static_cast<unsigned>((rows + device::tile_rows - 1) / device::tile_rows); }

template <class T, int HeadDim>
struct Operands {
    AttentionShape shape;
    std::uint64_t seed;
    DeviceArray<T> q, k, v, d_out, out, dq, dk, dv;
    DeviceArray<float> lse, delta;

    Operands(AttentionShape const& s, std::uint64_t from, bool backward)
        : shape(s),
          seed(from),
          q(device_values<T>(queries(), seed, q_scale)),
          k(device_values<T>(keys(), seed + 1, q_scale)),
          v(device_values<T>(keys(), seed + 2)),
          out(queries()),
          lse(std::int64_t{s.batch} * s.heads * s.seq_q) {
        if (!backward) return;
        d_out = device_values<T>(queries(), seed + 3);
        dq = DeviceArray<T>(queries());
        dk = DeviceArray<T>(keys());
        dv = DeviceArray<T>(keys());
        delta = DeviceArray<float>(lse.count());
    }

    static constexpr float q_scale = 2.0f;
    std::int64_t queries() const { return std::int64_t{shape.batch} * shape.seq_q * shape.heads * HeadDim; }
    std::int64_t keys() const { return std::int64_t{shape.batch} * shape.seq_kv * shape.kv_heads * HeadDim; }

    void forward(cudaStream_t stream) const {
        constexpr int shared = device::attention_forward_shared<T, HeadDim>();
        auto* const kernel = device::attention_forward<T, HeadDim>;
        [[maybe_unused]] static bool const allowed_kernel = allow_shared(kernel, shared);
        dim3 const grid(tiles(shape.seq_q), static_cast<unsigned>(shape.heads), static_cast<unsigned>(shape.batch));
        launch({grid, device::attention_threads, stream, shared}, kernel, shape, q.data(), k.data(), v.data(),
               out.data(), lse.data());
    }

    void backward(cudaStream_t stream) const {
        launch({blocks_for(lse.count() * 32), elementwise_threads, stream}, device::attention_delta<T, HeadDim>, shape,
               out.data(), d_out.data(), delta.data());
        constexpr int kv_shared = device::attention_backward_kv_shared<T, HeadDim>();
        auto* const kv_kernel = device::attention_backward_kv<T, HeadDim>;
        [[maybe_unused]] static bool const allowed_kv_kernel = allow_shared(kv_kernel, kv_shared);
        dim3 const by_keys(tiles(shape.seq_kv), static_cast<unsigned>(shape.kv_heads),
                           static_cast<unsigned>(shape.batch));
        launch({by_keys, device::attention_threads, stream, kv_shared}, kv_kernel, shape, q.data(), k.data(), v.data(),
               d_out.data(), lse.data(), delta.data(), dk.data(), dv.data());
        constexpr int q_shared = device::attention_backward_q_shared<T, HeadDim>();
        auto* const q_kernel = device::attention_backward_q<T, HeadDim>;
        [[maybe_unused]] static bool const allowed_q_kernel = allow_shared(q_kernel, q_shared);
        dim3 const by_queries(tiles(shape.seq_q), static_cast<unsigned>(shape.heads),
                              static_cast<unsigned>(shape.batch));
        launch({by_queries, device::attention_threads, stream, q_shared}, q_kernel, shape, q.data(), k.data(), v.data(),
               d_out.data(), lse.data(), delta.data(), dq.data());
    }

    /// Rows [0, sequence) of one head of an input that `heads` heads share, regenerated on the host.
    Values host_head(std::uint64_t of, float scale, int batch, int sequence, int heads, int head) const {
        Values values;
        for (int row = 0; row < sequence; ++row)
            for (double const value :
                 host_values<T>(of, ((std::int64_t{batch} * sequence + row) * heads + head) * HeadDim, HeadDim, scale))
                values.push_back(value);
        return values;
    }
    Values device_head(DeviceArray<T> const& array, int batch, int sequence, int heads, int head) const {
        Values const all = read_values(array, std::int64_t{batch} * sequence * heads * HeadDim,
                                       std::int64_t{sequence} * heads * HeadDim);
        Values values;
        for (int row = 0; row < sequence; ++row)
            for (int d = 0; d < HeadDim; ++d)
                values.push_back(all[static_cast<std::size_t>((row * heads + head) * HeadDim + d)]);
        return values;
    }
    Values q_head(int batch, int head) const { return host_head(seed, q_scale, batch, shape.seq_q, shape.heads, head); }
    Values k_head(int batch, int head) const {
        return host_head(seed + 1, q_scale, batch, shape.seq_kv, shape.kv_heads, head);
    }
    Values v_head(int batch, int head) const {
        return host_head(seed + 2, 1.0f, batch, shape.seq_kv, shape.kv_heads, head);
    }
    Values d_head(int batch, int head) const {
        return host_head(seed + 3, 1.0f, batch, shape.seq_q, shape.heads, head);
    }
};

/// A few queries of one head of one batch, and what each of them sees.
template <class T, int HeadDim>
struct SampledQueries {
    Operands<T, HeadDim> const& o;
    int batch, head;
    reference::Head shape{o.shape.seq_q, o.shape.seq_kv, HeadDim, o.shape.causal != 0};
    Values k = o.k_head(batch, head / (o.shape.heads / o.shape.kv_heads));
    Values v = o.v_head(batch, head / (o.shape.heads / o.shape.kv_heads));

    /// The largest of `error_of(query, its first element, its values)`.
    template <class ErrorOf>
    double worst(ErrorOf error_of) const {
        AttentionShape const& s = o.shape;
        double error = 0;
        for (std::int64_t const query : sampled(s.seq_q)) {
            std::int64_t const first = ((std::int64_t{batch} * s.seq_q + query) * s.heads + head) * HeadDim;
            error = worse(error, error_of(query, first, host_values<T>(o.seed, first, HeadDim, o.q_scale)));
        }
        return error;
    }
};

/// Each row by its own size, since one of one key is as large as its values and one of thousands a mean of them.
template <class T, int HeadDim>
double forward_error(SampledQueries<T, HeadDim> const& of) {
    return of.worst([&](std::int64_t query, std::int64_t first, Values const& q) {
        return relative_error(read_values(of.o.out, first, HeadDim),
                              reference::attention_row(of.shape, query, q, of.k, of.v));
    });
}

/// Gradients of fewer terms are differences of numbers that nearly cancel (of one key: zero), and have no size to
/// compare errors with. Simulated in double precision with the kernel's roundings: 0.011 from 64 terms on.
constexpr std::int64_t least_terms = 64;

template <class T, int HeadDim>
double query_gradient_error(SampledQueries<T, HeadDim> const& of) {
    return of.worst([&](std::int64_t query, std::int64_t first, Values const& q) {
        if (of.o.shape.seq_kv < least_terms || !of.shape.sees(query, least_terms - 1)) return 0.0;
        Values const d_out = host_values<T>(of.o.seed + 3, first, HeadDim);
        return relative_error(read_values(of.o.dq, first, HeadDim),
                              reference::attention_row_backward(of.shape, query, q, of.k, of.v, d_out));
    });
}

/// dk and dv of a few keys of the last key head, with the device's sums over keys: those of some queries are behind dq.
template <class T, int HeadDim>
double key_gradient_error(Operands<T, HeadDim> const& o) {
    AttentionShape const& s = o.shape;
    int const batch = s.batch - 1, kv_head = s.kv_heads - 1, sharing = s.heads / s.kv_heads;
    reference::Head const shape{s.seq_q, s.seq_kv, HeadDim, s.causal != 0};
    std::map<std::int64_t, reference::KeyGradient> of_key;
    for (std::int64_t const key : sampled(s.seq_kv))
        if (s.seq_q >= least_terms && shape.sees(s.seq_q - least_terms, key))
            of_key[key] = {Values(HeadDim, 0.0), Values(HeadDim, 0.0)};
    auto const place = [&](std::int64_t key) {
        return ((std::int64_t{batch} * s.seq_kv + key) * s.kv_heads + kv_head) * HeadDim;
    };
    for (int head = kv_head * sharing; head < s.heads && !of_key.empty(); ++head) {
        std::int64_t const rows = (std::int64_t{batch} * s.heads + head) * s.seq_q;
        reference::QueryHead const queries{o.q_head(batch, head), o.d_head(batch, head),
                                           read_values(o.lse, rows, s.seq_q), read_values(o.delta, rows, s.seq_q)};
        for (auto& [key, gradient] : of_key)
            reference::add_key_gradient(shape, key, queries, host_values<T>(o.seed + 1, place(key), HeadDim, o.q_scale),
                                        host_values<T>(o.seed + 2, place(key), HeadDim), gradient);
    }
    double error = 0;
    for (auto const& [key, gradient] : of_key) {
        error = worse(error, relative_error(read_values(o.dk, place(key), HeadDim), gradient.dk));
        error = worse(error, relative_error(read_values(o.dv, place(key), HeadDim), gradient.dv));
    }
    return error;
}

/// All gradients of a problem of the same kind that is small enough for the textbook formula: two query heads on each
/// of two key heads (or as the problem has them), 150 queries, which no tile divides.
template <class T, int HeadDim>
double backward_error(AttentionShape shape, std::uint64_t seed) {
    int const sharing = std::min(2, shape.heads / shape.kv_heads);
    shape.seq_kv = std::min(shape.seq_kv, 150 + std::min(shape.seq_kv - shape.seq_q, 50));
    shape.seq_q = std::min(shape.seq_q, 150);
    shape.batch = 1;
    shape.kv_heads = std::min(2, shape.kv_heads);
    shape.heads = sharing * shape.kv_heads;
    Operands<T, HeadDim> const o(shape, seed, true);
    o.forward(work_stream());
    o.backward(work_stream());
    reference::Head const head_shape{shape.seq_q, shape.seq_kv, HeadDim, shape.causal != 0};
    RelativeError error;
    for (int kv = 0; kv < shape.kv_heads; ++kv) {
        Values dk(static_cast<std::size_t>(shape.seq_kv * HeadDim), 0.0), dv = dk;
        for (int head = kv * sharing; head < (kv + 1) * sharing; ++head) {
            auto const one = reference::attention_backward(head_shape, o.q_head(0, head), o.k_head(0, kv),
                                                           o.v_head(0, kv), o.d_head(0, head));
            add_all(error, o.device_head(o.dq, 0, shape.seq_q, shape.heads, head), one.dq);
            for (std::size_t i = 0; i < dk.size(); ++i) {
                dk[i] += one.dk[i];
                dv[i] += one.dv[i];
            }
        }
        add_all(error, o.device_head(o.dk, 0, shape.seq_kv, shape.kv_heads, kv), dk);
        add_all(error, o.device_head(o.dv, 0, shape.seq_kv, shape.kv_heads, kv), dv);
    }
    return error.largest();
}

double visible_pairs(shapes::Attention const& s) {
    double const queries = static_cast<double>(s.seq_q), keys = static_cast<double>(s.seq_kv);
    return s.causal ? queries * (keys - queries) + 0.5 * queries * (queries + 1) : queries * keys;
}

std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    for (auto const& s : shapes::attention(scope.effort))
        for (char const* dtype : {"bf16", "fp16"})
            for (bool const backward : {false, true}) {
                if (dtype[0] == 'f' && scope.effort == Effort::quick) continue;
                Problem problem;
                problem.kernel = backward ? "flash_backward" : "flash_forward";
                problem.dtype = dtype;
                problem.shape.batch = s.batch;
                problem.shape.seq_q = s.seq_q;
                problem.shape.seq_kv = s.seq_kv;
                problem.shape.heads = s.heads;
                problem.shape.kv_heads = s.kv_heads;
                problem.shape.head_dim = s.head_dim;
                problem.shape.causal = s.causal ? 1 : 0;
                double const width = static_cast<double>(s.batch * s.head_dim);
                double const q_elements = width * static_cast<double>(s.seq_q * s.heads);
                double const kv_elements = width * static_cast<double>(s.seq_kv * s.kv_heads);
                problem.flops = (backward ? 10.0 : 4.0) * width * static_cast<double>(s.heads) * visible_pairs(s);
                problem.bytes = backward ? 8 * q_elements + 8 * kv_elements : 4 * q_elements + 4 * kv_elements;
                problem.expected_s = 1e-5 + problem.flops / 1e14;  // assumed
                problem.variants = device_variants();
                all.push_back(problem);
            }
    return fitting(all, scope);
}

template <class T, int HeadDim>
Prepared prepare_as(Problem const& problem, Scope const& scope) {
    Shape const& s = problem.shape;
    AttentionShape const shape{static_cast<int>(s.batch),
                               static_cast<int>(s.seq_q),
                               static_cast<int>(s.seq_kv),
                               static_cast<int>(s.heads),
                               static_cast<int>(s.kv_heads),
                               static_cast<int>(s.causal),
                               1.0f / std::sqrt(static_cast<float>(HeadDim))};
    bool const backward = problem.kernel == "flash_backward";
    auto o = std::make_shared<Operands<T, HeadDim>>(shape, scope.seed, backward);
    o->forward(work_stream());
    if (backward) o->backward(work_stream());
    SampledQueries<T, HeadDim> const last{*o, shape.batch - 1, shape.heads - 1};
    double error = forward_error(last);
    // The last head has the last key head however heads are shared out, a middle one has not. Of long sequences, whose
    // values the host makes slowly, nothing else differs.
    if (shape.seq_kv <= 4096)
        for (auto const& [batch, head] : {std::pair{0, 0}, {shape.batch / 2, shape.heads / 2}})
            error = worse(error, forward_error(SampledQueries<T, HeadDim>{*o, batch, head}));
    if (backward) {
        error = worse(error, query_gradient_error(last));
        error = worse(error, key_gradient_error(*o));
        error = worse(error, backward_error<T, HeadDim>(shape, scope.seed));
    }
    // Probabilities and results are rounded to 16 bits; measured on the host emulation: 0.02 and 0.03 in bf16. fp16 has
    // three bits more: 0.001 and 0.003 on H100 and H200.
    double const tolerance = (backward ? 0.06 : 0.04) / (std::is_same_v<T, device::fp16> ? 8 : 1);
    return prepared_on_device(
        error, tolerance, [o, backward](cudaStream_t stream) { backward ? o->backward(stream) : o->forward(stream); });
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    bool const wide = problem.shape.head_dim == 128;
    if (problem.dtype == "fp16")
        return wide ? prepare_as<device::fp16, 128>(problem, scope) : prepare_as<device::fp16, 64>(problem, scope);
    return wide ? prepare_as<device::bf16, 128>(problem, scope) : prepare_as<device::bf16, 64>(problem, scope);
}

}  // namespace

extern constinit Bench const cuda_attention{
    .name = "attention",
    .summary = "attention forward and backward (own tensor-core kernels; causal, grouped queries)",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench
