#pragma once

#include <algorithm>
#include <cstdint>

namespace sextant::bench {

/// C[m, n] = A[m, k] B[k, n], row major, in blocks that fit the caches (64 rows, 256 columns, 128 deep).
template <class T>
void blocked_product(std::int64_t m, std::int64_t n, std::int64_t k, T const* a, T const* b, T* c) {
    constexpr std::int64_t rows = 64, columns = 256, depth = 128;
    std::fill(c, c + m * n, T{});
    for (std::int64_t p0 = 0; p0 < k; p0 += depth)
        for (std::int64_t i0 = 0; i0 < m; i0 += rows)
            for (std::int64_t j0 = 0; j0 < n; j0 += columns)
                for (std::int64_t i = i0; i < std::min(i0 + rows, m); ++i)
                    for (std::int64_t p = p0; p < std::min(p0 + depth, k); ++p) {
                        T const left = a[i * k + p];
                        std::int64_t const end = std::min(j0 + columns, n);
                        for (std::int64_t j = j0; j < end; ++j)
                            c[i * n + j] += left * b[p * n + j];
                    }
}

}  // namespace sextant::bench
