#include "planner/validation/training_row.hpp"

#include "core/text.hpp"

#include <charconv>

namespace sextant {
namespace {

template <class Value>
struct Column {
    std::string_view name;
    Value TrainingRow::*member;
};

constexpr Column<std::string> text_columns[] = {
    {"source_id", &TrainingRow::source_id},
    {"model", &TrainingRow::model},
    {"arch", &TrainingRow::arch},
    {"gpu", &TrainingRow::gpu},
    {"intra_node_link", &TrainingRow::intra_node_link},
    {"inter_node_link", &TrainingRow::inter_node_link},
    {"framework", &TrainingRow::framework},
    {"precision", &TrainingRow::precision},
    {"pp_schedule", &TrainingRow::pp_schedule},
    {"recompute", &TrainingRow::recompute},
    {"notes", &TrainingRow::notes},
};

constexpr Column<std::optional<std::int64_t>> count_columns[] = {
    {"layers", &TrainingRow::layers},
    {"hidden", &TrainingRow::hidden},
    {"ffn_hidden", &TrainingRow::ffn_hidden},
    {"heads", &TrainingRow::heads},
    {"kv_heads", &TrainingRow::kv_heads},
    {"head_dim", &TrainingRow::head_dim},
    {"vocab", &TrainingRow::vocab},
    {"gated_mlp", &TrainingRow::gated_mlp},
    {"tied_embed", &TrainingRow::tied_embed},
    {"moe_experts", &TrainingRow::moe_experts},
    {"moe_topk", &TrainingRow::moe_topk},
    {"moe_ffn_hidden", &TrainingRow::moe_ffn_hidden},
    {"moe_shared", &TrainingRow::moe_shared},
    {"seq_len", &TrainingRow::seq_len},
    {"num_gpus", &TrainingRow::num_gpus},
    {"gpus_per_node", &TrainingRow::gpus_per_node},
    {"dp", &TrainingRow::dp},
    {"tp", &TrainingRow::tp},
    {"pp", &TrainingRow::pp},
    {"cp", &TrainingRow::cp},
    {"ep", &TrainingRow::ep},
    {"vpp", &TrainingRow::vpp},
    {"zero_stage", &TrainingRow::zero_stage},
    {"sequence_parallel", &TrainingRow::sequence_parallel},
    {"micro_batch", &TrainingRow::micro_batch},
    {"global_batch_seqs", &TrainingRow::global_batch},
    {"flash_attention", &TrainingRow::flash_attention},
};

constexpr Column<std::optional<double>> number_columns[] = {
    {"inter_node_bw_gbps_per_gpu", &TrainingRow::inter_node_gbps},
    {"iter_time_s", &TrainingRow::iter_time_s},
    {"tokens_per_s", &TrainingRow::tokens_per_s},
    {"tokens_per_s_per_gpu", &TrainingRow::tokens_per_s_per_gpu},
    {"model_tflops_per_gpu", &TrainingRow::model_tflops_per_gpu},
    {"hw_tflops_per_gpu", &TrainingRow::hw_tflops_per_gpu},
    {"mfu_pct", &TrainingRow::mfu_pct},
    {"peak_mem_gb_per_gpu", &TrainingRow::peak_mem_gb},
};

}  // namespace

bool TrainingRow::framework_has(std::string_view word) const {
    return lower_case(framework).find(word) != std::string::npos;
}

bool TrainingRow::notes_have(std::string_view phrase) const { return notes.find(phrase) != std::string::npos; }

std::optional<std::int64_t> TrainingRow::note_number(std::string_view prefix) const {
    auto const at = notes.find(prefix);
    if (at == std::string::npos) return std::nullopt;
    std::int64_t value = 0;
    char const* const begin = notes.data() + at + prefix.size();
    auto const [end, error] = std::from_chars(begin, notes.data() + notes.size(), value);
    if (error != std::errc{} || end == begin) return std::nullopt;
    return value;
}

std::int64_t TrainingRow::need(std::optional<std::int64_t> const& cell, std::string_view name) {
    return sextant::need(cell, name);
}

std::vector<std::string_view> training_columns() {
    std::vector<std::string_view> columns;
    for (auto const& column : text_columns)
        columns.push_back(column.name);
    for (auto const& column : count_columns)
        columns.push_back(column.name);
    for (auto const& column : number_columns)
        columns.push_back(column.name);
    return columns;
}

std::vector<TrainingRow> training_rows(CsvTable const& table) {
    std::vector<std::size_t> const at = table.require(training_columns());
    std::vector<TrainingRow> rows;
    rows.reserve(table.records.size());
    for (CsvRecord const& record : table.records) {
        TrainingRow row;
        auto position = at.begin();
        for (auto const& column : text_columns)
            row.*column.member = std::string(trimmed(record.cells[*position++]));
        for (auto const& column : count_columns)
            row.*column.member = count_in(record.cells[*position++], column.name, row.unreadable);
        for (auto const& column : number_columns)
            row.*column.member = number_in(record.cells[*position++], column.name, row.unreadable);
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace sextant
