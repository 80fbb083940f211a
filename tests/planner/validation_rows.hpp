#pragma once

#include "planner/validation/train_validation.hpp"

#include <functional>
#include <string>

namespace sextant {

/// A complete row: Llama-2-7B on 8 A100, pure data parallel with ZeRO-1.
inline TrainingRow complete_row() {
    TrainingRow row;
    row.source_id = "test";
    row.model = "Llama-like-7B";
    row.arch = "dense";
    row.layers = 32;
    row.hidden = 4096;
    row.ffn_hidden = 11008;
    row.heads = 32;
    row.kv_heads = 32;
    row.head_dim = 128;
    row.vocab = 32000;
    row.gated_mlp = 1;
    row.tied_embed = 0;
    row.seq_len = 4096;
    row.gpu = "A100-80GB";
    row.num_gpus = 8;
    row.gpus_per_node = 8;
    row.framework = "Megatron-LM";
    row.precision = "BF16";
    row.dp = 8;
    row.tp = 1;
    row.pp = 1;
    row.cp = 1;
    row.zero_stage = 1;
    row.recompute = "none";
    row.micro_batch = 1;
    row.global_batch = 64;
    row.flash_attention = 1;
    row.iter_time_s = 10.0;
    row.peak_mem_gb = 40.0;
    return row;
}

inline TrainingCase built(TrainingRow const& row) { return CaseBuilder().build(row); }

/// Why the complete row is skipped after a change; empty if it is not.
inline std::string skip_reason(std::function<void(TrainingRow&)> const& change) {
    TrainingRow row = complete_row();
    change(row);
    try {
        built(row);
    } catch (RowSkip const& skip) {
        return skip.what();
    }
    return "";
}

}  // namespace sextant
