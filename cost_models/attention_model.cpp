#include "cost_models/attention_model.hpp"

#include "core/ops/work.hpp"
#include "cost_models/memory_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

constexpr double tile = 128;               ///< queries and keys of a tile
constexpr std::int64_t narrow_group = 32;  ///< heads per key-value head that narrow kernels take

template <class Index>
struct Values {
    std::span<double const> all;
    double operator[](Index c) const { return all[static_cast<std::size_t>(c)]; }
};

struct HeadSize {
    double size;
    PrefillConstant constant;
};
constexpr std::array head_sizes{
    HeadSize{64, PrefillConstant::efficiency_64}, HeadSize{128, PrefillConstant::efficiency_128},
    HeadSize{192, PrefillConstant::efficiency_192}, HeadSize{256, PrefillConstant::efficiency_256},
    HeadSize{512, PrefillConstant::efficiency_512}};

double efficiency_at(double head_size, Values<PrefillConstant> c) {
    if (head_size <= head_sizes.front().size) return c[head_sizes.front().constant];
    for (std::size_t i = 1; i < head_sizes.size(); ++i) {
        if (head_size > head_sizes[i].size) continue;
        double const share =
            std::log(head_size / head_sizes[i - 1].size) / std::log(head_sizes[i].size / head_sizes[i - 1].size);
        return std::pow(c[head_sizes[i - 1].constant], 1 - share) * std::pow(c[head_sizes[i].constant], share);
    }
    return c[head_sizes.back().constant];
}

/// (sum of x^norm)^(1 / norm), safe for large and small numbers.
double joined(std::initializer_list<double> times, double norm) {
    double const largest = std::max(times);
    if (largest <= 0) return 0;
    double sum = 0;
    for (double const t : times)
        sum += std::pow(t / largest, norm);
    return largest * std::pow(sum, 1 / norm);
}

double log2_of(double value) { return std::log2(std::max(1.0, value)); }

/// Seconds on the multiprocessors of one call over `keys` keys with `work` flop.
double prefill_compute(Attention const& a, double work, double keys, KernelRates const& rates,
                       Values<PrefillConstant> c, PrefillUse const& use) {
    auto const heads = static_cast<double>(a.batch * a.heads);
    auto const queries = static_cast<double>(a.queries);
    auto const width = static_cast<double>(a.head_dim + a.value_head_dim);
    double const rate = rates.peak * efficiency_at(width / 2, c) * use.rate / rates.processors;
    double const row_blocks = std::ceil(queries / tile);
    double const tile_work = tile * tile * 2 * width * use.work;
    auto const filled = [&](double rows) {
        return std::pow(std::ceil(rows / rates.rows) * rates.rows / tile, c[PrefillConstant::ragged]);
    };
    // Of several blocks the last may be part of one; the only one has tiles that are quicker instead.
    double const last = queries - (row_blocks - 1) * tile;
    double const blocks = row_blocks > 1 && last < tile ? row_blocks - 1 + filled(last) : row_blocks;
    double const rows = blocks * tile;
    // Masked tiles on the diagonal are computed whole: half a tile more per block, and no more than without a mask. So
    // are those on either edge of a window to both sides.
    bool const causal = a.causal == Switch::on;
    bool const masked = causal || attended_keys(a) < a.keys;
    double const cut = causal ? 0.5 : 1;
    double const plain = work * use.work / (heads * tile_work) * (rows / queries);
    double const unmasked = rows * keys / (tile * tile);
    double const tiles = masked ? std::max(plain, std::min(plain + cut * row_blocks, unmasked)) : plain;
    double const per_tile = std::max(tile_work / rate, c[PrefillConstant::tile_latency] * use.work) *
                            (row_blocks > 1 ? 1 : filled(queries));
    double const overhead = c[PrefillConstant::block_overhead];
    // Blocks after a long past, or without a mask, are of about one length.
    double const unlike = causal ? 1 - static_cast<double>(a.past) / static_cast<double>(a.keys) : 0;
    auto const in_waves = [&](double tiles_of, double blocks_of) {
        double const even = heads * (std::max(1.0, tiles_of) * per_tile + blocks_of * overhead) / rates.processors;
        double const share = heads * blocks_of / rates.processors;
        double const idle = std::ceil(share) / share - 1;
        return even * (1 + c[PrefillConstant::wave_rounding] * idle / (1 + std::max(0.0, blocks_of - 2) * unlike));
    };
    double time = std::max(in_waves(tiles, row_blocks), std::ceil(keys / tile) * per_tile + overhead);
    if (blocks < row_blocks) {  // no sooner than the whole ones alone
        double const whole = row_blocks - 1;
        double const past = static_cast<double>(a.past) / tile;
        double const of_whole = causal ? whole * (past + (whole + 1) / 2) : whole * keys / tile;
        time = std::max(time, in_waves(std::min(of_whole, tiles * whole / blocks), whole));
    }
    return time * (1 + (c[PrefillConstant::heat] - 1) * std::log10(1 + std::min(work * use.work, most_heating) / 1e11));
}

/// Heads that read keys and values from the caches.
std::int64_t readers_of(DecodeAttention const& shape, DecodeSharing sharing) {
    return sharing == DecodeSharing::unshared ? shape.heads : shape.kv_heads;
}

struct DecodeReads {
    double bytes;     ///< that the heads read
    double memory;    ///< seconds for each key and value once to each cache that a group reads through
    double repeated;  ///< seconds for what every head of a group reads, from the cache
};

DecodeReads decode_reads(DecodeAttention const& shape, KernelRates const& rates, Values<DecodeConstant> c,
                         CacheState cache, DecodeSharing sharing) {
    auto const per_head = static_cast<double>(2 * shape.batch * shape.keys * shape.head_dim) * shape.cache_bytes;
    auto const queries = static_cast<double>(4 * shape.batch * shape.heads * shape.head_dim);
    double const speed = c[DecodeConstant::cache_speed];
    bool const repeats = sharing == DecodeSharing::unshared;
    auto const group = static_cast<double>(shape.heads) / static_cast<double>(shape.kv_heads);
    double const copies = repeats ? std::min(group, rates.caches) : 1;
    double const once = copies * per_head * static_cast<double>(shape.kv_heads) + queries;
    // What lies in the cache before the kernel starts: reads of it are among the repeated ones, where there are any.
    CacheTerm const held{.speed = repeats ? std::numeric_limits<double>::infinity() : speed,
                         .share = c[DecodeConstant::cache_share],
                         .edge = c[DecodeConstant::cache_edge]};
    double const memory =
        once / (rates.bandwidth * c[DecodeConstant::memory]) * cached_share_of_time(once, rates, held, cache);
    if (!repeats) return {.bytes = once, .memory = memory, .repeated = 0};
    double const bytes = per_head * static_cast<double>(shape.heads) + queries;
    return {.bytes = bytes, .memory = memory, .repeated = bytes / (rates.bandwidth * speed)};
}

}  // namespace

Seconds prefill_model(Attention const& a, KernelRates const& rates, std::span<double const> constants,
                      PrefillUse const& use) {
    Values<PrefillConstant> const c{constants};
    Work const forward = work_of(Op{.name = "attention", .what = a}, Pass::forward);
    auto const pieces = static_cast<double>(std::max<std::int64_t>(1, a.pieces));
    double const compute = prefill_compute(a, forward.executed.base() / pieces,
                                           static_cast<double>(attended_keys(a)) / pieces, rates, c, use);
    double const bytes = forward.moved.base() / pieces;
    double const memory = bytes / (rates.bandwidth * c[PrefillConstant::memory]);
    double const launch = use.launch ? use.launch->base() : c[PrefillConstant::launch];
    double const preparation = use.library == AttentionLibrary::serving ? c[PrefillConstant::preparation] * memory : 0;
    double const call = launch + preparation + c[PrefillConstant::ramp] * std::log2(1 + bytes / 1e6) +
                        joined({compute, memory * use.work}, c[PrefillConstant::overlap]);
    return pieces * call * units::s;
}

namespace {

bool is_fitted(HeadSize const& head, std::span<double const> constants,
               std::span<std::optional<double> const> spreads) {
    constexpr double written = 1e-4;  // files hold five digits
    auto const c = static_cast<std::size_t>(head.constant);
    double const start = kernel_constants(KernelKind::prefill)[c].start;
    return (c < spreads.size() && spreads[c]) || std::abs(constants[c] / start - 1) > written;
}

}  // namespace

bool needs_fitted_neighbours(Attention const& shape, std::span<double const> constants,
                             std::span<std::optional<double> const> spreads) {
    double const size = static_cast<double>(shape.head_dim + shape.value_head_dim) / 2;
    std::size_t above = 0;
    while (above + 1 < head_sizes.size() && head_sizes[above].size < size)
        ++above;
    std::size_t const below = above > 0 && head_sizes[above].size > size ? above - 1 : above;
    constexpr std::size_t usual = 1;  // what profiles state is of heads of 128
    return !is_fitted(head_sizes[below], constants, spreads) || !is_fitted(head_sizes[above], constants, spreads) ||
           !is_fitted(head_sizes[usual], constants, spreads);
}

void fill_head_sizes(std::span<double> constants, std::span<std::optional<double> const> spreads,
                     std::span<double const> reference) {
    std::array<std::optional<double>, head_sizes.size()> fitted{};  // logarithm against the reference
    for (std::size_t i = 0; i < head_sizes.size(); ++i) {
        auto const c = static_cast<std::size_t>(head_sizes[i].constant);
        if (is_fitted(head_sizes[i], constants, spreads)) fitted[i] = std::log(constants[c] / reference[c]);
    }
    for (std::size_t i = 0; i < head_sizes.size(); ++i) {
        if (fitted[i]) continue;
        std::size_t below = i, above = i;
        while (below > 0 && !fitted[below])
            --below;
        while (above + 1 < head_sizes.size() && !fitted[above])
            ++above;
        if (!fitted[below] && !fitted[above]) continue;
        double const low = fitted[below].value_or(fitted[above].value_or(0));
        double const high = fitted[above].value_or(low);
        double const share = std::log(head_sizes[i].size / head_sizes[below].size) /
                             std::log(head_sizes[above].size / head_sizes[below].size);
        auto const c = static_cast<std::size_t>(head_sizes[i].constant);
        constants[c] = reference[c] * std::exp(low + share * (high - low));
    }
}

void pad_head_sizes(std::span<double> constants) {
    for (std::size_t i = head_sizes.size() - 1; i-- > 0;) {
        double const padded = constants[static_cast<std::size_t>(head_sizes[i + 1].constant)];
        double& own = constants[static_cast<std::size_t>(head_sizes[i].constant)];
        own = std::max(own, padded * head_sizes[i].size / head_sizes[i + 1].size);
    }
}

std::array<double, 4> prefill_coordinates(Attention const& a) {
    auto const keys = static_cast<double>(a.keys);
    // With a window those of a sequence that is as much work.
    bool const windowed = attended_keys(a) < a.keys;
    double const length =
        windowed ? std::min(keys, std::sqrt(2 * causal_fraction(a) * static_cast<double>(a.queries * attended_keys(a))))
                 : keys;
    return {log2_of(static_cast<double>(a.batch * a.heads)), log2_of(length),
            log2_of(static_cast<double>(a.head_dim + a.value_head_dim) / 2),
            log2_of(static_cast<double>(a.heads) / static_cast<double>(std::max<std::int64_t>(1, a.kv_heads)))};
}

Bytes cache_bytes(DecodeAttention const& shape) {
    return static_cast<double>(2 * shape.batch * shape.kv_heads * shape.keys * shape.head_dim) * shape.cache_bytes *
           units::B;
}

DecodeSharing sharing_of(DecodeAttention const& shape, GroupedHeads kernels) {
    std::int64_t const group = shape.heads / std::max<std::int64_t>(1, shape.kv_heads);
    if (group <= 1) return DecodeSharing::single;
    bool const is_shared = kernels == GroupedHeads::shared ||
                           (kernels == GroupedHeads::narrow && group <= narrow_group) ||
                           (kernels == GroupedHeads::eights && group == 8 && shape.head_dim == 128);
    return is_shared ? DecodeSharing::grouped : DecodeSharing::unshared;
}

std::string_view name_of(DecodeSharing sharing) {
    switch (sharing) {
        case DecodeSharing::single: return "single";
        case DecodeSharing::grouped: return "grouped";
        case DecodeSharing::unshared: return "unshared";
    }
    return "?";
}

Seconds decode_model(DecodeAttention const& shape, KernelRates const& rates, std::span<double const> constants,
                     CacheState cache, DecodeSharing sharing) {
    Values<DecodeConstant> const c{constants};
    auto const batch = static_cast<double>(shape.batch);
    auto const heads = static_cast<double>(shape.heads);
    auto const keys = static_cast<double>(shape.keys);
    auto const width = static_cast<double>(shape.head_dim);
    auto const readers = static_cast<double>(readers_of(shape, sharing));
    double const group = heads / readers;

    auto const [bytes, memory, repeated] = decode_reads(shape, rates, c, cache, sharing);
    double const slots = rates.processors * c[DecodeConstant::blocks_per_processor];
    double const blocks = batch * readers;
    double const splits = std::clamp(slots / blocks, 1.0, std::max(1.0, keys / c[DecodeConstant::split_tokens]));
    double const share = blocks * splits / slots;
    double const rounding = c[DecodeConstant::wave_rounding];
    double const waves = rounding * std::ceil(share) + (1 - rounding) * std::max(1.0, share);
    double const chain =
        waves * (c[DecodeConstant::block_overhead] + keys / splits * c[DecodeConstant::token_latency] * width / 128);
    double const work = 4 * batch * readers * std::max(group, rates.rows) * keys * width;
    double const compute = work / (rates.peak * c[DecodeConstant::efficiency]);
    double const time = c[DecodeConstant::launch] + c[DecodeConstant::per_sequence] * batch +
                        c[DecodeConstant::ramp] * std::log2(1 + bytes / 1e6) +
                        c[DecodeConstant::merge] * std::log2(splits) +
                        joined({memory, repeated, chain, compute}, c[DecodeConstant::overlap]);
    return time * units::s;
}

std::array<double, 4> decode_coordinates(DecodeAttention const& shape, DecodeSharing sharing) {
    return {log2_of(static_cast<double>(shape.batch * readers_of(shape, sharing))),
            log2_of(static_cast<double>(shape.keys)), log2_of(static_cast<double>(shape.head_dim)),
            log2_of(static_cast<double>(shape.heads) / static_cast<double>(std::max<std::int64_t>(1, shape.kv_heads)))};
}

}  // namespace sextant
