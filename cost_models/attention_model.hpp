#pragma once

#include "core/ops/op.hpp"
#include "core/spec/kernel_constants.hpp"
#include "core/units.hpp"
#include "cost_models/kernel_rates.hpp"

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace sextant {

/// Whose kernel it is: a serving engine's, which the tables measure and which prepares its operands, or a training
/// library's, of which only the level that the profile states is known.
enum class AttentionLibrary : std::uint8_t { serving, training };

/// What is asked of a fused attention kernel over whole sequences beside its shape.
struct PrefillUse {
    AttentionLibrary library = AttentionLibrary::serving;
    double work = 1;                  ///< matrix work against the forward pass of the same shape
    double rate = 1;                  ///< of the multiprocessors, against what the constants say
    bool pads = false;                ///< heads rather than be slower, as kernels that were not measured are taken to
    std::optional<Seconds> launch{};  ///< instead of the constant, which has the preparing kernels in it
};

/// Time of fused attention over whole sequences, as prefill and training run it:
///
///     T = launch + preparation + ramp log2(1 + bytes / 1 MB) + (compute^overlap + memory^overlap)^(1 / overlap)
///
/// `compute`: 128 queries of one head are a block; it takes block_overhead and for each 128 keys that the mask leaves
/// the larger of tile_latency and 128 * 128 * 2 (d + dv) / rate, rate being the head size's efficiency of the bf16 peak
/// over the multiprocessors. Blocks fill the multiprocessors; of the last wave's idle part the share wave_rounding is
/// lost, less for long sequences, whose blocks differ in length (after a long past they do not); nothing ends before
/// its longest block, nor before its whole blocks alone. Tiles of few rows, the only or the last ones of a head, take
/// (rows / 128)^ragged of one. `heat` as in
/// `gemm_model`. `memory` and preparation: q, k, v and the output, in two bytes.
///
/// Efficiencies of other head sizes lie on the line between the logarithms of their neighbours. `constants` in the
/// order of `PrefillConstant`. Source: arXiv:2307.08691 sec. 3 (work partitioning); the form was chosen by its error on
/// held-out shapes of five devices (docs/calibration.md).
Seconds prefill_model(Attention const& shape, KernelRates const& rates, std::span<double const> constants,
                      PrefillUse const& use);

/// Whether the efficiency of a shape's head size, or that of the usual 128, hangs on a size that no row was of.
bool needs_fitted_neighbours(Attention const& shape, std::span<double const> constants,
                             std::span<std::optional<double> const> spreads);

/// Efficiencies of head sizes that no row was of, which hold their starts: what `reference` has for them, times what
/// fitted neighbours are of what it has for these (on the line between the logarithms of two). `spreads` as in
/// `KernelFit`.
void fill_head_sizes(std::span<double> constants, std::span<std::optional<double> const> spreads,
                     std::span<double const> reference);

/// Efficiencies with which no head size takes longer than a larger one, to which a kernel may pad it.
void pad_head_sizes(std::span<double> constants);

/// Where the shape lies on the residual grid of prefill: log2 of batch * heads, of the keys, of the head size and of
/// heads per key-value head.
std::array<double, 4> prefill_coordinates(Attention const& shape);

/// Keys and values that a decode step reads, each once.
Bytes cache_bytes(DecodeAttention const& shape);

/// How many heads share one head of keys and values in a decode kernel: engines have kernels of their own for each.
enum class DecodeSharing : std::uint8_t {
    single,    ///< one
    grouped,   ///< all of a group
    unshared,  ///< none of a group: kernels fall back to reading keys and values once per head
};
/// By default of the kernels that were measured, TensorRT-LLM's.
DecodeSharing sharing_of(DecodeAttention const& shape, GroupedHeads kernels = GroupedHeads::narrow);
std::string_view name_of(DecodeSharing sharing);

/// Time of one decode step of attention, a query per sequence over the keys and values before it:
///
///     T = launch + per_sequence batch + ramp log2(1 + bytes / 1 MB) + merge log2(splits)
///         + (memory^overlap + repeated^overlap + chain^overlap + compute^overlap)^(1 / overlap)
///
/// `memory`: keys and values once per head that holds them, faster where the cache holds them. `repeated`, where
/// unshared: the same once per query head, at cache_speed times the memory bandwidth; the heads of a group run side by
/// side, and what the first brings from memory the others find in the cache. Where the cache is one per chiplet, heads
/// of a group lie on different ones (work is dealt out in turns), and `memory` has a copy for each. `chain`: a block is
/// a head that reads of one sequence, over several blocks when they would not fill the multiprocessors otherwise (not
/// fewer than split_tokens each); it takes block_overhead plus its tokens times token_latency, in waves of
/// blocks_per_processor. `compute`: 4 d flop per head and token, a group of heads padded to the rows of a matrix
/// instruction. `constants` in the order of `DecodeConstant`. Source: FlashDecoding
/// (pytorch.org/blog/flash-decoding); the form was chosen by its error on held-out shapes of five devices
/// (docs/calibration.md).
Seconds decode_model(DecodeAttention const& shape, KernelRates const& rates, std::span<double const> constants,
                     CacheState cache, DecodeSharing sharing);
inline Seconds decode_model(DecodeAttention const& shape, KernelRates const& rates, std::span<double const> constants,
                            CacheState cache) {
    return decode_model(shape, rates, constants, cache, sharing_of(shape));
}

/// Where the shape lies on the residual grid of decode: log2 of batch * heads that read (key-value heads; where
/// unshared all of them), of the keys, of the head size and of heads per key-value head.
std::array<double, 4> decode_coordinates(DecodeAttention const& shape, DecodeSharing sharing);

}  // namespace sextant
