#include "planner/validation/training_row.hpp"

#include "core/is_one_of.hpp"
#include "core/measurements/row_cells.hpp"
#include "core/spec/device_name.hpp"
#include "core/text.hpp"
#include "planner/validation/row_sharding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>

namespace sextant {
namespace {

template <class Value>
struct Column {
    std::string_view name;
    Value TrainingRow::*member;
};

constexpr Column<std::string> text_columns[] = {
    {"source_id", &TrainingRow::source_id},
    {"source_ref", &TrainingRow::source_ref},
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

/// A row says nothing without these; any other column may be missing.
constexpr std::array needed_columns{std::string_view("model"), std::string_view("gpu"), std::string_view("num_gpus")};

/// What a unit behind a number makes of it.
struct Unit {
    std::string_view column;  ///< begins the name of the columns it may stand in
    std::string_view unit;    ///< without blanks; lower case, but where case tells bits from bytes
    double factor;
};

constexpr Unit units_of_cells[] = {
    {"num_gpus", "gpus", 1},
    {"num_gpus", "gpu", 1},
    {"num_gpus", "chips", 1},
    {"seq_len", "tokens", 1},
    {"seq_len", "k", 1024},
    {"global_batch_seqs", "sequences", 1},
    {"global_batch_seqs", "seqs", 1},
    {"inter_node_bw", "GB/s", 8},
    {"inter_node_bw", "GBps", 8},
    {"inter_node_bw", "GB/sec", 8},
    {"inter_node_bw", "GiB/s", 8.589934592},
    {"inter_node_bw", "gbps", 1},
    {"inter_node_bw", "gbit/s", 1},
    {"inter_node_bw", "gb/s", 1},  // the header says bits
    {"inter_node_bw", "gb/sec", 1},
    {"inter_node_bw", "g", 1},
    {"iter_time_s", "s", 1},
    {"iter_time_s", "sec", 1},
    {"iter_time_s", "seconds", 1},
    {"iter_time_s", "ms", 1e-3},
    {"tokens_per_s", "tokens/s", 1},
    {"tokens_per_s", "tok/s", 1},
    {"tokens_per_s", "tokens/sec", 1},
    {"tokens_per_s", "tokens/second", 1},
    {"tokens_per_s", "k", 1e3},
    {"tokens_per_s", "m", 1e6},
    {"model_tflops", "tflops", 1},
    {"model_tflops", "tflop/s", 1},
    {"model_tflops", "tflops/s", 1},
    {"model_tflops", "pflops", 1e3},
    {"model_tflops", "pflop/s", 1e3},
    {"hw_tflops", "tflops", 1},
    {"hw_tflops", "tflop/s", 1},
    {"hw_tflops", "tflops/s", 1},
    {"hw_tflops", "pflops", 1e3},
    {"hw_tflops", "pflop/s", 1e3},
    {"mfu_pct", "%", 1},
    {"peak_mem", "gb", 1},
    {"peak_mem", "gib", 1.073741824},
    {"peak_mem", "mib", 1.048576e-3},
};

/// The unit without what the column says already: "s/it" of a step, "TFLOP/s/GPU" of each accelerator.
std::string_view without_owner(std::string_view unit, std::string_view column) {
    constexpr std::array owners{std::string_view("/gpu"), std::string_view("/device"), std::string_view("/chip")};
    constexpr std::array steps{std::string_view("/it"), std::string_view("/iter"), std::string_view("/iteration"),
                               std::string_view("/step")};
    auto const drop = [&](auto const& ends) {
        std::string const lower = lower_case(unit);
        for (std::string_view const end : ends)
            if (lower.ends_with(end)) return unit.substr(0, unit.size() - end.size());
        return unit;
    };
    if (column.find("per_gpu") != std::string_view::npos) return drop(owners);
    return column == "iter_time_s" ? drop(steps) : unit;
}

/// The number of a cell, times what the unit behind it stands for, if the column knows it.
std::string without_unit(std::string_view cell, std::string_view column) {
    cell = trimmed(cell);
    std::size_t const end = cell.find_last_of("0123456789.");
    if (end == std::string_view::npos || end + 1 == cell.size()) return std::string(cell);
    std::string_view const number = cell.substr(0, end + 1);
    std::string_view const unit = without_owner(trimmed(cell.substr(end + 1)), column);
    std::string const lower = lower_case(unit);
    for (Unit const& known : units_of_cells) {
        if (!column.starts_with(known.column) || (unit != known.unit && lower != known.unit)) continue;
        std::string none;
        auto const value = number_in(number, column, none);
        if (known.factor == 1 || !value) return std::string(number);
        return fmt::format("{}", known.factor * *value);
    }
    return std::string(cell);
}

constexpr std::array yes_words{"yes",   "true", "on",  "y",   "swiglu", "geglu", "reglu",
                               "gated", "fa",   "fa2", "fa3", "sdpa",   "cudnn"};
constexpr std::array no_words{"no", "false", "off", "n", "gelu", "relu", "none", "eager", "unfused"};

/// Columns that are 1 or 0 may say it in words.
std::string without_words(std::string_view cell, std::string_view column) {
    constexpr std::array flags{"gated_mlp", "tied_embed", "sequence_parallel", "flash_attention"};
    std::string const text = lower_case(trimmed(cell));
    if (text == "none" && column != "flash_attention") return "";  // of attention it is an answer
    if (!is_one_of(flags, column)) return std::string(cell);
    if (is_one_of(yes_words, text) || (column == "flash_attention" && text.starts_with("flash"))) return "1";
    if (is_one_of(no_words, text)) return "0";
    return std::string(cell);
}

/// "64 H100" and "64 x H100" of a row whose device is an H100: the number.
std::string_view without_device(std::string_view cell, std::string const& gpu) {
    std::size_t const digits = std::min(cell.find_first_not_of("0123456789"), cell.size());
    if (digits == 0 || digits == cell.size() || gpu.empty()) return cell;
    std::string const wanted = device_name(gpu).chip;
    std::string_view const rest = trimmed(cell.substr(digits));
    bool const times = rest.starts_with("x ") || rest.starts_with("X ") || rest.starts_with("* ");
    return device_name(times ? rest.substr(2) : rest).chip == wanted || device_name(cell).chip == wanted
               ? cell.substr(0, digits)
               : cell;
}

/// Sequences of a batch that is stated in tokens ("4M tokens"), where their length is known: as a number of whole
/// sequences where M may be 2^20 or 10^6.
std::optional<std::string> batch_of_tokens(std::string_view cell, TrainingRow const& row) {
    std::string text = lower_case(trimmed(cell));
    constexpr std::string_view unit = "tokens";
    if (!text.ends_with(unit) || row.seq_len.value_or(0) <= 0) return std::nullopt;
    text = trimmed(std::string_view(text).substr(0, text.size() - unit.size()));
    int const powers = text.ends_with('m') ? 2 : text.ends_with('k') ? 1 : 0;
    if (powers > 0) text.pop_back();
    std::string problem;
    auto const value = number_in(trimmed(text), "global_batch_seqs", problem);
    if (!value || !problem.empty()) return std::nullopt;
    auto const sequence = static_cast<double>(*row.seq_len);
    double const binary = *value * std::pow(1024, powers) / sequence;
    double const decimal = *value * std::pow(1000, powers) / sequence;
    double const sequences = binary == std::floor(binary) ? binary : std::round(decimal);
    return fmt::format("{:.0f}", std::max(1.0, sequences));
}

/// An MFU of less than a per cent that nothing else in the row bears out: a fraction.
bool is_fraction(TrainingRow const& row) {
    bool const alone = !row.iter_time_s && !row.tokens_per_s && !row.tokens_per_s_per_gpu &&
                       !row.model_tflops_per_gpu && !row.hw_tflops_per_gpu;
    return alone && row.mfu_pct && *row.mfu_pct > 0 && *row.mfu_pct <= 1;
}

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

std::optional<std::int64_t> TrainingRow::accumulation_steps() const {
    for (std::string_view const key :
         {"gradient_accumulation_steps=", "grad_accum=", "grad_acc=", "accumulate_grad_batches=", "num_microbatches="})
        if (auto const steps = note_number(key)) return steps;
    return std::nullopt;
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
    require_columns(table, {needed_columns.begin(), needed_columns.end()}, training_columns());
    std::vector<std::optional<std::size_t>> at;
    for (std::string_view const column : training_columns())
        at.push_back(table.find(column));
    std::vector<TrainingRow> rows;
    rows.reserve(table.records.size());
    for (CsvRecord const& record : table.records) {
        TrainingRow row;
        auto position = at.begin();
        auto const next = [&] {
            auto const column = *position++;
            std::string_view const cell = column ? trimmed(record.cells[*column]) : std::string_view();
            return is_blank_cell(cell) ? std::string_view() : cell;
        };
        for (auto const& column : text_columns) {
            std::string_view const cell = next();
            bool const none = column.name != "recompute" && lower_case(cell) == "none";
            row.*column.member = std::string(none ? std::string_view() : cell);
        }
        for (auto const& column : count_columns) {
            std::string_view const cell = column.name == "num_gpus" ? without_device(next(), row.gpu) : next();
            if (column.name == "zero_stage")
                read_zero_stage(cell, row);
            else if (auto const batch = column.name == "global_batch_seqs" ? batch_of_tokens(cell, row) : std::nullopt)
                row.global_batch = count_in(*batch, column.name, row.unreadable);
            else
                row.*column.member =
                    count_in(without_unit(without_words(cell, column.name), column.name), column.name, row.unreadable);
        }
        for (auto const& column : number_columns)
            row.*column.member = number_in(without_unit(next(), column.name), column.name, row.unreadable);
        if (is_fraction(row)) *row.mfu_pct *= 100;
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace sextant
