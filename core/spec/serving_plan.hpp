#pragma once

#include "core/spec/kernel_constants.hpp"
#include "core/spec/parallel_plan.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sextant {

struct ModelSpec;

/// Bytes of scales for each value of weights that are stored in a format of `gemm_formats`, or in "mxfp4": of MXFP4 one
/// for 32 values, of fp4 (NVFP4) one for 16, of int4 two for 128; of others too few to count.
/// Source: OCP Microscaling Formats 1.0; NVIDIA's documentation of NVFP4; groups of 128 as GPTQ's and AWQ's.
double scale_bytes_per_value(std::string_view stored);

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
    double memory_utilisation = 0.9;         ///< the engine's share of memory, of what it is a share (`MemoryShare`)
    double expert_imbalance = 1;             ///< tokens of the busiest expert rank over the mean
    std::int64_t redundant_experts = 0;      ///< copies of experts, divided over the ranks beside these
    std::optional<Dispatcher> dispatcher{};  ///< of routed tokens; nothing: the engine's (`dispatcher_of`)
    std::string stored{};                    ///< as in `scale_bytes_per_value`, where it is not `weights`
    bool released = false;                   ///< the weights are the checkpoint's own: nobody quantises them

    [[nodiscard]] std::int64_t accelerators() const { return tp * pp * attention_dp; }
    bool operator==(ServingPlan const&) const = default;
};

/// "tp 8", "tp 2, pp 4", "tp 1, ep 16, attention-dp 16": how a replica is cut.
std::string split_words(ServingPlan const& plan);

/// @throws InputError naming all formats: `name` is none of `gemm_formats`.
void check_weights_format(std::string_view name, std::string_view where);

/// @throws InputError naming what is wrong: sizes below one, tp that does not divide the heads, an unknown format,
/// experts that ep does not divide, copies of experts that are not divided, shares out of range.
void check_serving_plan(ModelSpec const& model, ServingPlan const& plan);

}  // namespace sextant
