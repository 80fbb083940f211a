// The attention kernels' own source, run thread by thread on the host and compared with the textbook formulas.
#include "kernels/cuda/kernels/attention.cuh"

#include "kernels/cuda/kernels/decode_attention.cuh"
#include "kernels/harness/references.hpp"
#include "kernels/harness/relative_error.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/device_memory.hpp"

namespace sextant::bench {
namespace {

using device::bf16;
using device::fp16;
using reference::Values;

struct Case {
    int batch, seq_q, seq_kv, heads, kv_heads;
    bool causal;
};

unsigned tiles(int rows) { return static_cast<unsigned>((rows + device::tile_rows - 1) / device::tile_rows); }

/// Head `head` of [batch, sequence, heads, head_dim] as [sequence, head_dim].
Values head_of(Values const& all, int batch, int sequence, int heads, int head, int head_dim) {
    Values one;
    for (int row = 0; row < sequence; ++row)
        for (int d = 0; d < head_dim; ++d)
            one.push_back(all[static_cast<std::size_t>(((batch * sequence + row) * heads + head) * head_dim + d)]);
    return one;
}

template <class T, int HeadDim>
struct Run {
    Case shape;
    device::AttentionShape on_device;
    std::vector<T> q, k, v, d_out, out, dq, dk, dv;
    std::vector<float> lse, delta;

    explicit Run(Case const& c)
        : shape(c), on_device{c.batch,
                              c.seq_q,
                              c.seq_kv,
                              c.heads,
                              c.kv_heads,
                              c.causal ? 1 : 0,
                              1.0f / std::sqrt(static_cast<float>(HeadDim))} {
        std::int64_t const queries = std::int64_t{c.batch} * c.seq_q * c.heads * HeadDim;
        std::int64_t const keys = std::int64_t{c.batch} * c.seq_kv * c.kv_heads * HeadDim;
        q = device_array<T>(queries, 1, 2.0f);
        k = device_array<T>(keys, 2, 2.0f);
        v = device_array<T>(keys, 3);
        d_out = device_array<T>(queries, 4);
        out = unwritten<T>(queries);
        dq = unwritten<T>(queries);
        dk = unwritten<T>(keys);
        dv = unwritten<T>(keys);
        lse = unwritten<float>(std::int64_t{c.batch} * c.heads * c.seq_q);
        delta = lse;
    }

    void forward(simt::Order order) {
        simt::Dim3 const grid{tiles(shape.seq_q), static_cast<unsigned>(shape.heads),
                              static_cast<unsigned>(shape.batch)};
        simt::run(grid, device::attention_threads, device::attention_forward_shared<T, HeadDim>(), order, [&] {
            device::attention_forward<T, HeadDim>(on_device, q.data(), k.data(), v.data(), out.data(), lse.data());
        });
    }

    void backward(simt::Order order) {
        simt::run({3, 1, 1}, 64, 0, order,
                  [&] { device::attention_delta<T, HeadDim>(on_device, out.data(), d_out.data(), delta.data()); });
        simt::Dim3 const by_keys{tiles(shape.seq_kv), static_cast<unsigned>(shape.kv_heads),
                                 static_cast<unsigned>(shape.batch)};
        simt::run(by_keys, device::attention_threads, device::attention_backward_kv_shared<T, HeadDim>(), order, [&] {
            device::attention_backward_kv<T, HeadDim>(on_device, q.data(), k.data(), v.data(), d_out.data(), lse.data(),
                                                      delta.data(), dk.data(), dv.data());
        });
        simt::Dim3 const by_queries{tiles(shape.seq_q), static_cast<unsigned>(shape.heads),
                                    static_cast<unsigned>(shape.batch)};
        simt::run(by_queries, device::attention_threads, device::attention_backward_q_shared<T, HeadDim>(), order, [&] {
            device::attention_backward_q<T, HeadDim>(on_device, q.data(), k.data(), v.data(), d_out.data(), lse.data(),
                                                     delta.data(), dq.data());
        });
    }

    reference::Head head() const { return {shape.seq_q, shape.seq_kv, HeadDim, shape.causal}; }
    Values query_head(std::vector<T> const& all, int batch, int head) const {
        return head_of(doubles(all), batch, shape.seq_q, shape.heads, head, HeadDim);
    }
    Values key_head(std::vector<T> const& all, int batch, int head) const {
        return head_of(doubles(all), batch, shape.seq_kv, shape.kv_heads, head, HeadDim);
    }

    void check_forward(double tolerance) const {
        for (int b = 0; b < shape.batch; ++b)
            for (int h = 0; h < shape.heads; ++h) {
                int const kv = h / (shape.heads / shape.kv_heads);
                auto const wanted =
                    reference::attention(head(), query_head(q, b, h), key_head(k, b, kv), key_head(v, b, kv));
                CHECK(relative_error(query_head(out, b, h), wanted.out) < tolerance);
                CHECK(relative_error(part(doubles(lse), (b * shape.heads + h) * shape.seq_q, shape.seq_q), wanted.lse) <
                      1e-3);
            }
    }

    void check_backward(double tolerance) const {
        int const sharing = shape.heads / shape.kv_heads;
        for (int b = 0; b < shape.batch; ++b)
            for (int kv = 0; kv < shape.kv_heads; ++kv) {
                Values dk_wanted(static_cast<std::size_t>(shape.seq_kv * HeadDim), 0.0), dv_wanted = dk_wanted;
                for (int h = kv * sharing; h < (kv + 1) * sharing; ++h) {
                    auto const one = reference::attention_backward(head(), query_head(q, b, h), key_head(k, b, kv),
                                                                   key_head(v, b, kv), query_head(d_out, b, h));
                    CHECK(relative_error(query_head(dq, b, h), one.dq) < tolerance);
                    for (std::size_t i = 0; i < dk_wanted.size(); ++i) {
                        dk_wanted[i] += one.dk[i];
                        dv_wanted[i] += one.dv[i];
                    }
                }
                CHECK(relative_error(key_head(dk, b, kv), dk_wanted) < tolerance);
                CHECK(relative_error(key_head(dv, b, kv), dv_wanted) < tolerance);
            }
    }
};

}  // namespace

TEMPLATE_TEST_CASE_SIG("attention forward and backward agree with the textbook formulas", "[attention]",
                       ((class T, int HeadDim), T, HeadDim), (bf16, 64), (fp16, 64), (bf16, 128)) {
    Case const shape = GENERATE(Case{1, 64, 64, 1, 1, true},    // exactly one tile
                                Case{1, 70, 70, 2, 1, true},    // a ragged tile, two heads on one key head
                                Case{2, 33, 100, 2, 2, true},   // a chunk at the end of a longer prompt
                                Case{1, 70, 90, 1, 1, true},    // keys whose first query lies within a step
                                Case{1, 20, 200, 1, 1, true},   // four tiles: places in shared memory are used again
                                Case{1, 40, 90, 4, 2, false});  // every query sees every key; two heads on each of two
    Run<T, HeadDim> run(shape);
    run.forward(simt::Order::ascending);
    run.check_forward(0.03);  // bf16 keeps 8 bits of the probabilities and of the result
    run.backward(simt::Order::ascending);
    run.check_backward(0.04);
}

TEST_CASE("attention does not depend on the order in which threads run between barriers", "[attention]") {
    Run<bf16, 64> one({1, 70, 90, 2, 1, true});
    Run<bf16, 64> other = one;
    one.forward(simt::Order::ascending);
    one.backward(simt::Order::ascending);
    other.forward(simt::Order::descending);
    other.backward(simt::Order::descending);
    CHECK(doubles(one.out) == doubles(other.out));
    CHECK(doubles(one.dq) == doubles(other.dq));
    CHECK(doubles(one.dk) == doubles(other.dk));
    CHECK(doubles(one.dv) == doubles(other.dv));
}

TEMPLATE_TEST_CASE_SIG("decode attention agrees with the textbook formula for any number of splits", "[attention]",
                       ((int HeadDim), HeadDim), 64, 128) {
    int const splits = GENERATE(1, 3, 7);  // 7 is more than there are tiles: some splits are empty
    int const heads = GENERATE(4, 20), kv_heads = heads == 4 ? 2 : 1;  // 20 heads on one: two chunks of rows
    device::DecodeShape const shape{2, 200, heads, kv_heads, splits, 1.0f / std::sqrt(static_cast<float>(HeadDim))};
    auto const q = device_array<bf16>(2 * heads * HeadDim, 1, 2.0f);
    auto const k = device_array<bf16>(2 * 200 * kv_heads * HeadDim, 2, 2.0f);
    auto const v = device_array<bf16>(2 * 200 * kv_heads * HeadDim, 3);
    auto part_out = unwritten<float>(std::int64_t{2} * heads * splits * HeadDim);
    auto part_largest = unwritten<float>(std::int64_t{2} * heads * splits), part_sum = part_largest;
    auto out = unwritten<bf16>(std::int64_t{2} * heads * HeadDim);
    unsigned const chunks = heads == 20 ? 2 : 1;
    simt::run({static_cast<unsigned>(splits), static_cast<unsigned>(kv_heads) * chunks, 2}, device::attention_threads,
              device::decode_shared<bf16, HeadDim>(), simt::Order::ascending, [&] {
                  device::decode_attention<bf16, HeadDim>(shape, q.data(), k.data(), v.data(), part_out.data(),
                                                          part_largest.data(), part_sum.data());
              });
    simt::run({static_cast<unsigned>(2 * heads), 1, 1}, HeadDim, 0, simt::Order::ascending, [&] {
        device::decode_combine<bf16, HeadDim>(shape, part_out.data(), part_largest.data(), part_sum.data(), out.data());
    });
    reference::Head const head{1, 200, HeadDim, false};
    for (int b = 0; b < 2; ++b)
        for (int h = 0; h < heads; ++h) {
            int const kv = h / (heads / kv_heads);
            auto const wanted = reference::attention(head, head_of(doubles(q), b, 1, heads, h, HeadDim),
                                                     head_of(doubles(k), b, 200, kv_heads, kv, HeadDim),
                                                     head_of(doubles(v), b, 200, kv_heads, kv, HeadDim));
            CHECK(relative_error(head_of(doubles(out), b, 1, heads, h, HeadDim), wanted.out) < 0.02);
        }
}

}  // namespace sextant::bench
