// Attention of one new token for each of `batch` sequences against seq_kv cached ones, bf16, two kernels (split and
// combine). flops = 4 batch heads head_dim seq_kv; bytes = the cache once, 4 batch seq_kv kv_heads head_dim, and q,
// out.
#include "kernels/cuda/kernels/decode_attention.cuh"

#include <memory>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/generated.cuh"
#include "kernels/harness/references.hpp"
#include "kernels/harness/shapes.hpp"

namespace sextant::bench {
namespace {

using device::bf16;
using device::DecodeShape;
using reference::Values;

constexpr float q_scale = 2.0f;

int chunks_of(DecodeShape const& shape) {
    return (shape.heads / shape.kv_heads + device::decode_rows - 1) / device::decode_rows;
}

/// Enough splits to give every multiprocessor four blocks, but no split under 256 keys.
int splits_for(DecodeShape const& shape) {
    int const blocks = shape.batch * shape.kv_heads * chunks_of(shape);
    int const wanted = (4 * multiprocessors() + blocks - 1) / blocks;
    return std::clamp(wanted, 1, std::max(1, shape.seq_kv / 256));
}

template <int HeadDim>
struct Operands {
    DecodeShape shape;
    DeviceArray<bf16> q, k, v, out;
    DeviceArray<float> part_out, part_largest, part_sum;

    void run(cudaStream_t stream) const {
        constexpr int shared = device::decode_shared<bf16, HeadDim>();
        auto* const kernel = device::decode_attention<bf16, HeadDim>;
        [[maybe_unused]] static bool const allowed_kernel = allow_shared(kernel, shared);
        dim3 const grid(static_cast<unsigned>(shape.splits), static_cast<unsigned>(shape.kv_heads * chunks_of(shape)),
                        static_cast<unsigned>(shape.batch));
        launch({grid, device::attention_threads, stream, shared}, kernel, shape, q.data(), k.data(), v.data(),
               part_out.data(), part_largest.data(), part_sum.data());
        launch({static_cast<unsigned>(shape.batch * shape.heads), HeadDim, stream},
               device::decode_combine<bf16, HeadDim>, shape, part_out.data(), part_largest.data(), part_sum.data(),
               out.data());
    }
};

std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    for (auto const& s : shapes::decode(scope.effort)) {
        Problem problem;
        problem.kernel = "flash_decode";
        problem.dtype = "bf16";
        problem.shape.batch = s.batch;
        problem.shape.seq_q = 1;
        problem.shape.seq_kv = s.seq_kv;
        problem.shape.heads = s.heads;
        problem.shape.kv_heads = s.kv_heads;
        problem.shape.head_dim = s.head_dim;
        problem.shape.causal = 0;
        double const width = static_cast<double>(s.batch * s.head_dim);
        problem.flops = 4 * width * static_cast<double>(s.heads * s.seq_kv);
        problem.bytes = 4 * width * static_cast<double>(s.seq_kv * s.kv_heads + s.heads);
        problem.expected_s = 1e-5 + problem.bytes / 1e12;  // assumed
        problem.variants = device_variants();
        all.push_back(problem);
    }
    return fitting(all, scope);
}

template <int HeadDim>
double worst_error(Operands<HeadDim> const& o, std::uint64_t seed) {
    DecodeShape const& s = o.shape;
    int const batch = s.batch - 1;
    RelativeError error;
    // The reference of a long cache takes seconds on the host: then only the last head.
    for (std::int64_t const head : sampled(s.heads)) {
        if (s.seq_kv > 16384 && head + 1 < s.heads) continue;
        std::int64_t const kv_head = head / (s.heads / s.kv_heads);
        Values k, v;
        for (std::int64_t row = 0; row < s.seq_kv; ++row) {
            std::int64_t const first = ((std::int64_t{batch} * s.seq_kv + row) * s.kv_heads + kv_head) * HeadDim;
            for (double const value : host_values<bf16>(seed + 1, first, HeadDim, q_scale))
                k.push_back(value);
            for (double const value : host_values<bf16>(seed + 2, first, HeadDim))
                v.push_back(value);
        }
        std::int64_t const first = (std::int64_t{batch} * s.heads + head) * HeadDim;
        reference::Head const shape{1, s.seq_kv, HeadDim, false};
        add_all(error, read_values(o.out, first, HeadDim),
                reference::attention_row(shape, 0, host_values<bf16>(seed, first, HeadDim, q_scale), k, v));
    }
    return error.largest();
}

template <int HeadDim>
Prepared prepare_as(Problem const& problem, Scope const& scope) {
    Shape const& s = problem.shape;
    auto o = std::make_shared<Operands<HeadDim>>();
    o->shape = {static_cast<int>(s.batch),
                static_cast<int>(s.seq_kv),
                static_cast<int>(s.heads),
                static_cast<int>(s.kv_heads),
                1,
                1.0f / std::sqrt(static_cast<float>(HeadDim))};
    o->shape.splits = splits_for(o->shape);
    std::int64_t const queries = s.batch * s.heads, keys = s.batch * s.seq_kv * s.kv_heads;
    o->q = device_values<bf16>(queries * HeadDim, scope.seed, q_scale);
    o->k = device_values<bf16>(keys * HeadDim, scope.seed + 1, q_scale);
    o->v = device_values<bf16>(keys * HeadDim, scope.seed + 2);
    o->out = DeviceArray<bf16>(queries * HeadDim);
    o->part_out = DeviceArray<float>(queries * o->shape.splits * HeadDim);
    o->part_largest = DeviceArray<float>(queries * o->shape.splits);
    o->part_sum = DeviceArray<float>(queries * o->shape.splits);
    o->run(work_stream());
    return prepared_on_device(
        worst_error(*o, scope.seed), 0.04, [o](cudaStream_t stream) { o->run(stream); },
        std::to_string(o->shape.splits) + " splits");
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    return problem.shape.head_dim == 128 ? prepare_as<128>(problem, scope) : prepare_as<64>(problem, scope);
}

}  // namespace

extern constinit Bench const cuda_decode_attention{
    .name = "decode",
    .summary = "attention of one new token against a cache (own tensor-core kernel, split over the cache)",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench
