#pragma once

#include "core/spec/kernel_constants.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sextant {

struct ModelSpec;

/// How the key-value cache stores a value.
enum class CacheFormat : std::uint8_t { bf16, fp8, int8, int4 };
std::string_view name_of(CacheFormat format);
double bytes_per_value(CacheFormat format);  ///< 2, 1, 1, 0.5, without scales
/// @throws InputError with the known names and the nearest one.
CacheFormat cache_format_from(std::string_view name, std::string_view where);

/// Who chose a number format: who asked, the checkpoint (`read_checkpoint_format`), or nobody: what is usual.
enum class FormatOrigin : std::uint8_t { given, checkpoint, usual };
std::string_view name_of(FormatOrigin origin);
/// @throws InputError with the known names.
FormatOrigin format_origin_from(std::string_view name, std::string_view where);

/// How one replica of a model is split, and how its engine batches.
///
/// A replica takes tp * pp * attention_dp accelerators. With attention data parallelism every group of tp ranks has its
/// own sequences and cache, and the experts of a mixture are shared by all of them (`expert_ranks`).
struct ServingPlan {
    std::int64_t tp = 1;
    std::int64_t pp = 1;
    std::int64_t ep = 1;  ///< experts are divided over this many ranks; 1: each is cut over all of a stage
    std::int64_t attention_dp = 1;
    std::string weights =
        "bf16";  ///< a format of `gemm_formats`: "bf16", "fp8", "fp8-block", "int8", "int4-weights", ...
    CacheFormat cache = CacheFormat::bf16;
    FormatOrigin weights_origin = FormatOrigin::given;
    FormatOrigin cache_origin = FormatOrigin::given;
    std::int64_t max_batch = 256;            ///< sequences decoding at a time, of a replica
    std::int64_t max_batched_tokens = 8192;  ///< tokens of one iteration, prefill chunks included
    std::int64_t block_tokens = 16;          ///< of the paged cache
    double memory_utilisation = 0.9;         ///< share of device memory that the engine takes
    double expert_imbalance = 1;             ///< tokens of the busiest expert rank over the mean

    [[nodiscard]] std::int64_t accelerators() const { return tp * pp * attention_dp; }
    bool operator==(ServingPlan const&) const = default;
};

/// "tp 8", "tp 2, pp 4", "tp 1, ep 16, attention-dp 16": how a replica is cut.
std::string split_words(ServingPlan const& plan);

/// @throws InputError naming what is wrong: sizes below one, tp that does not divide the heads, an unknown format,
/// experts that ep does not divide, shares out of range.
void check_serving_plan(ModelSpec const& model, ServingPlan const& plan);

}  // namespace sextant
