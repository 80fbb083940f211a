#pragma once

#include "planner/importers/foreign_plan.hpp"

namespace sextant {

/// What DeepSpeed's JSON says; every "auto" counts as absent.
struct DeepSpeedSettings {
    std::optional<std::int64_t> train_batch, micro_batch, accumulation_steps;
    std::optional<std::int64_t> tensor_parallel, sequence_parallel, shard_group;
    std::optional<int> zero;
    std::optional<Precision> precision;  ///< fp32 where both half formats are off
    std::optional<Optimizer> optimizer;
    std::optional<double> reduce_bucket;  ///< elements
    bool is_auto_bucket = false;          ///< of transformers: as many as a square matrix of the hidden size has
    bool reduces_by_rank = false;         ///< gradients under ZeRO 1 and 2 to the rank that has them, not to all
    bool sums_in_fp32 = false;            ///< gradients over the microbatches
    std::optional<double> sent_bytes, cp_sent_bytes;  ///< of a gradient, and with sequence parallelism
    bool offloads_optimizer = false;
    bool offloads_parameters = false;
    bool offloads_checkpoints = false;
};

/// Reads it; the rest of the keys go to `out.ignored` and `out.warnings`.
/// @throws InputError with `where` and the key.
DeepSpeedSettings read_deepspeed_settings(std::string_view json, std::string_view where, ForeignPlan& out);

/// Adds what the JSON says to a plan of which a launcher's file says how the model is split, in which precision where
/// the JSON leaves that open, and on how many accelerators. @throws InputError likewise.
void add_deepspeed(ForeignPlan& out, std::string_view json, std::string_view where, ModelSpec const& model);

}  // namespace sextant
