#include "kernels/harness/shapes.hpp"

#include <algorithm>

namespace sextant::bench::shapes {

std::vector<Gemm> gemm(Effort effort) {
    std::vector<Gemm> all{
        {256, 4096, 4096}, {4096, 4096, 4096}, {8192, 8192, 8192}, {4096, 28672, 4096}, {1000, 1000, 1000}};
    if (effort == Effort::quick) return all;
    // (n, k): attention and gated MLP projections with hidden 2048, 4096, 8192 and their tensor-parallel slices, and an
    // output head.
    std::vector<std::pair<std::int64_t, std::int64_t>> const weights{
        {3072, 2048},  {2048, 2048}, {16384, 2048}, {2048, 8192}, {6144, 4096},  {4096, 4096},  {28672, 4096},
        {4096, 14336}, {1536, 4096}, {7168, 4096},  {4096, 3584}, {10240, 8192}, {8192, 8192},  {57344, 8192},
        {8192, 28672}, {1280, 8192}, {7168, 8192},  {8192, 3584}, {8192, 1024},  {128256, 4096}};
    auto const add = [&](Gemm const& shape) {
        if (std::find(all.begin(), all.end(), shape) == all.end()) all.push_back(shape);
    };
    for (std::int64_t const m : {1, 16, 64, 128, 512, 1024, 2048, 4096, 8192, 16384})
        for (auto const& [n, k] : weights)
            if (m * n <= (std::int64_t{1} << 31)) add({m, n, k});
    for (std::int64_t const size : {128, 256, 512, 1024, 2048, 3072, 6144, 12288, 16384})
        add({size, size, size});
    for (Gemm const& ragged : {Gemm{129, 4104, 4096}, {1000, 3000, 2000}, {4097, 4104, 4096}, {8191, 8200, 8192}})
        add(ragged);
    return all;
}

std::vector<Grouped> grouped_gemm(Effort effort) {
    std::vector<Grouped> all{{8, 1024, 14336, 4096}, {64, 128, 2048, 2048}};
    if (effort == Effort::quick) return all;
    for (std::int64_t const m : {16, 64, 256, 1024})
        for (Grouped const& expert : {Grouped{8, m, 28672, 4096},
                                      {8, m, 4096, 14336},
                                      {16, m, 1536, 2048},
                                      {128, m, 1536, 2048},
                                      {128, m, 2048, 768},
                                      {32, m, 4096, 7168}})
            all.push_back(expert);
    return all;
}

std::vector<Attention> attention(Effort effort) {
    std::vector<Attention> all{
        {2, 2048, 2048, 16, 16, 64, true}, {1, 4096, 4096, 32, 8, 128, true}, {1, 4096, 4096, 32, 8, 128, false}};
    if (effort == Effort::quick) return all;
    for (std::int64_t const seq : {512, 1024, 2048, 4096, 8192, 16384})
        for (std::int64_t const tokens : {std::int64_t{8192}, std::int64_t{16384}})
            for (bool const causal : {true, false})
                for (Attention shape : {Attention{1, 0, 0, 16, 16, 64, false},
                                        {1, 0, 0, 32, 8, 128, false},
                                        {1, 0, 0, 8, 1, 128, false},
                                        {1, 0, 0, 32, 32, 128, false}}) {
                    if (tokens < seq) continue;
                    shape.batch = tokens / seq;
                    shape.seq_q = shape.seq_kv = seq;
                    shape.causal = causal;
                    all.push_back(shape);
                }
    all.push_back({1, 1024, 8192, 32, 8, 128, true});  // a chunk of a long prompt
    all.push_back({1, 1000, 1000, 32, 8, 128, true});  // no tile divides it
    return all;
}

std::vector<Attention> decode(Effort effort) {
    std::vector<Attention> all{{1, 1, 4096, 32, 8, 128, false}, {32, 1, 4096, 32, 8, 128, false}};
    if (effort == Effort::quick) return all;
    for (std::int64_t const batch : {1, 4, 16, 64, 256})
        for (std::int64_t const seq : {512, 2048, 8192, 32768, 131072})
            for (Attention shape : {Attention{1, 1, 0, 32, 8, 128, false},
                                    {1, 1, 0, 8, 1, 128, false},
                                    {1, 1, 0, 32, 32, 128, false},
                                    {1, 1, 0, 16, 16, 64, false}}) {
                shape.batch = batch;
                shape.seq_kv = seq;
                all.push_back(shape);
            }
    return all;
}

std::vector<Rows> activations(Effort effort) {
    if (effort == Effort::quick) return {{1024, 4096}, {8192, 4096}};
    std::vector<Rows> all;
    for (std::int64_t const rows : {64, 1024, 4096, 8192, 16384})
        for (std::int64_t const columns : {2048, 4096, 8192, 14336})
            all.push_back({rows, columns});
    return all;
}

std::vector<Rows> logits(Effort effort) {
    if (effort == Effort::quick) return {{2048, 32000}};
    return {{1024, 32000}, {4096, 32000}, {8192, 32000}, {1024, 128256}, {4096, 128256}, {8192, 128256}};
}

std::vector<std::int64_t> parameters(Effort effort) {
    if (effort == Effort::quick) return {1 << 20, 1 << 26};
    return {1 << 16, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28};
}

std::vector<std::int64_t> message_bytes(std::int64_t first, std::int64_t last, std::int64_t factor) {
    std::vector<std::int64_t> all;
    for (std::int64_t bytes = first; bytes <= last; bytes *= factor)
        all.push_back(bytes);
    return all;
}

std::vector<std::int64_t> rank_counts(std::int64_t most) {
    std::vector<std::int64_t> all;
    for (std::int64_t ranks = 2; ranks < most; ranks *= 2)
        all.push_back(ranks);
    if (most >= 2) all.push_back(most);
    return all;
}

}  // namespace sextant::bench::shapes
