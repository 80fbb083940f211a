#pragma once

#include "core/csv.hpp"
#include "core/measurements/row_cells.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// One published training step: cells as typed values. An empty cell is `nullopt` or an empty text: the source does not
/// state it.
struct TrainingRow {
    std::string source_id, source_ref, model, arch, gpu, intra_node_link, inter_node_link, framework, precision,
        pp_schedule, recompute, notes;
    std::optional<std::int64_t> layers, hidden, ffn_hidden, heads, kv_heads, head_dim, vocab, gated_mlp, tied_embed;
    std::optional<std::int64_t> moe_experts, moe_topk, moe_ffn_hidden, moe_shared;
    std::optional<std::int64_t> seq_len, num_gpus, gpus_per_node;
    std::optional<double> inter_node_gbps;  ///< Gbit/s per accelerator, one direction
    std::optional<std::int64_t> dp, tp, pp, cp, ep, vpp, zero_stage, sequence_parallel, micro_batch, global_batch,
        flash_attention;
    std::string sharding;         ///< the cell of `zero_stage` as it stands
    bool shards_in_node = false;  ///< "HYBRID_SHARD": the group of `zero_stage` is one node
    // What was measured.
    std::optional<double> iter_time_s, tokens_per_s, tokens_per_s_per_gpu, model_tflops_per_gpu, hw_tflops_per_gpu,
        mfu_pct, peak_mem_gb;
    std::string
        unreadable;  ///< what is wrong with the first cell that is no number, negative or not finite; empty if none is

    [[nodiscard]] bool framework_has(std::string_view lower_case_word) const;
    [[nodiscard]] bool notes_have(std::string_view phrase) const;
    /// The number after `prefix` in the notes ("mtp-num-layers=1"), or nothing.
    [[nodiscard]] std::optional<std::int64_t> note_number(std::string_view prefix) const;
    /// Microbatches of a step that the notes state, or nothing.
    [[nodiscard]] std::optional<std::int64_t> accumulation_steps() const;
    /// The value of the cell. @throws RowSkip "<name> is not stated".
    [[nodiscard]] static std::int64_t need(std::optional<std::int64_t> const& cell, std::string_view name);
};

/// The columns of a training table, in the order of its header.
std::vector<std::string_view> training_columns();

/// Rows of a table. Columns other than model, gpu and num_gpus may be missing: no row states them. Cells may hold the
/// unit of their column ("53 %", "1.2 s", "8k" tokens), flags also "yes" and "no", a ZeRO stage PyTorch's name for it.
/// @throws InputError when a needed column is missing, or one whose name another column nearly has.
std::vector<TrainingRow> training_rows(CsvTable const& table);

}  // namespace sextant
