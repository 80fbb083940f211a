#include "core/measurements/held_out.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sextant {
namespace {

struct Numbers {
    // The first tells the kinds apart.
    std::vector<std::int64_t> operator()(Gemm const& s) const { return {0, s.m, s.n, s.k}; }
    std::vector<std::int64_t> operator()(Attention const& s) const {
        return {1, s.batch, s.heads, s.kv_heads, s.queries, s.keys, s.head_dim};
    }
    std::vector<std::int64_t> operator()(DecodeAttention const& s) const {
        return {2, s.batch, s.heads, s.kv_heads, s.keys, s.head_dim};
    }
    /// Bytes come from a rate in six digits: what differs less than a part in a thousand is one shape.
    std::vector<std::int64_t> operator()(MemoryKernel const& s) const {
        return {3, std::llround(1000 * std::log2(std::max(1.0, s.moved.base())))};
    }
};

}  // namespace

std::uint64_t shape_hash(KernelCase const& row) {
    std::uint64_t hash = 1469598103934665603ULL;
    auto const add = [&](std::uint64_t byte) {
        hash ^= byte;
        hash *= 1099511628211ULL;
    };
    for (std::int64_t const number : std::visit(Numbers{}, row.what))
        for (int byte = 0; byte < 8; ++byte)
            add(static_cast<std::uint64_t>(number) >> (8 * byte) & 0xffU);
    if (row.products > 1)
        for (int byte = 0; byte < 8; ++byte)
            add(static_cast<std::uint64_t>(row.products) >> (8 * byte) & 0xffU);
    if (std::holds_alternative<MemoryKernel>(row.what))
        for (char const c : row.variant)
            add(static_cast<unsigned char>(c));
    return hash ^ hash >> 29;
}

std::uint32_t shape_mark(KernelCase const& row) {
    auto const* attention = std::get_if<Attention>(&row.what);
    bool const has_no_mask = attention != nullptr && attention->causal == Switch::off;
    std::uint64_t const hash = shape_hash(row);
    return static_cast<std::uint32_t>((has_no_mask ? ~hash : hash) % shape_marks);
}

bool is_held_out(KernelCase const& row) { return shape_hash(row) % 10 == 0; }

}  // namespace sextant
